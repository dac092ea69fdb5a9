"""Axes with margins: one pair of axes gives some of its room to others above it and at its right, and to a legend."""

from __future__ import annotations

from typing import Any

from kdi._plots import style

MARGIN = 0.22  # of a margin, in units of the axes
GAP = 0.03
NO_ROOF = 1e-3
ROOM = 1.15  # of a roof, in units of the height of its legend


class Margins:
    """What stands around `ax`, in the room that it had.

    `above` shares its x and `beside` its y; `roof` is over both, for a legend. Where `ax` stands in a grid they all
    stay in its place, so that the figure's own layout goes on working. `drawn` is what is shown in them, `named` what
    the legend names.
    """

    def __init__(self, ax: Any) -> None:
        self.ax, self.figure = ax, ax.figure
        self.drawn: list[Any] = []
        self.named: tuple[list[Any], list[str]] = [], []
        self.legend_size: tuple[float, float] | None = None
        self.in_grid = ax.get_subplotspec() is not None
        engine = self.figure.canvas.figure.get_layout_engine()
        gap = GAP if engine is None or engine.adjust_compatible else 0.0  # which a constrained layout adds some to
        shape = {"width_ratios": (1, MARGIN), "height_ratios": (NO_ROOF, MARGIN, 1), "wspace": gap, "hspace": gap}
        if self.in_grid:
            self.grid = ax.get_subplotspec().subgridspec(3, 2, **shape)
        else:
            box = ax.get_position()
            self.grid = _grid(left=box.x0, right=box.x1, bottom=box.y0, top=box.y1, **shape)
        self._place(ax, self.grid[2, 0])
        self.above = self._added(self.grid[1, 0], sharex=ax)
        self.beside = self._added(self.grid[2, 1], sharey=ax)
        self.roof = self._added(self.grid[0, :])
        self.roof.set(facecolor="none")  # all of them stand on the ground of the figure
        self.roof.set_axis_off()
        for margin, base in ((self.above, "bottom"), (self.beside, "left")):
            margin.tick_params(which="both", bottom=False, left=False, labelbottom=False, labelleft=False)
            margin.spines[["top", "right", "left", "bottom"]].set_visible(False)
            margin.set(facecolor="none")
            margin.spines[base].set(visible=True, color=style.ink(margin))

    @classmethod
    def of(cls, ax: Any) -> Margins:
        """The margins of these axes: those of an earlier call, unless they were taken away, or new ones."""
        known = _intact(ax)
        if known is None:
            ax._kdi_margins = known = cls(ax)
        elif not ax.has_data():  # the axes were cleared since
            known.drawn.clear()
        return known

    def clear(self) -> None:
        """Take away what was drawn in the margins."""
        for margin in (self.above, self.beside):
            for artist in [*margin.lines, *margin.collections, *margin.texts]:
                artist.remove()

    def legend(self, handles: list[Any], labels: list[str]) -> None:
        """A legend under the roof, in as many columns as there is room for.

        It has no say in the layout, which would narrow the axes for it, and it then has less room: the roof is made as
        high as it needs instead. As every display in a figure changes its layout, all roofs are measured anew, in the
        figure as it is without any: they do not depend on which was drawn first.
        """
        self.named, self.legend_size = (handles, labels), None
        style.legend(self.roof, handles, labels)
        known = [margins for one in self.figure.canvas.figure.axes if (margins := _intact(one))]
        roofs = [margins for margins in known if margins.roof.get_legend()]  # and not taken away since
        for margins in roofs:
            margins._set_roof(NO_ROOF)
        style.update_layout(self.ax)
        shares = [margins._fit_legend() for margins in roofs]
        for margins, share in zip(roofs, shares, strict=True):
            margins._set_roof((1 + MARGIN) * share / (1 - share))

    def _fit_legend(self) -> float:
        """Bring the legend into as many columns as there is room for; the share of the height that it needs."""
        earlier = self.roof.get_legend()
        found = style.legend_in_columns(self.roof, *self.named, loc="upper left")
        size = found.get_window_extent().size
        if self.legend_size == (*size,):  # it may have been given a title, or colours, since
            self.roof.legend_ = found = earlier
        self.legend_size = (*size,)
        return float(min(ROOM * found.get_window_extent().height / (self.roof.bbox.y1 - self.ax.bbox.y0), 0.5))

    def _set_roof(self, height: float) -> None:
        """Make the roof so high, in units of the axes."""
        self.grid.set_height_ratios((height, MARGIN, 1))
        places = {self.ax: (2, 0), self.above: (1, 0), self.beside: (2, 1), self.roof: (0, slice(None))}
        for axes, cell in places.items():
            self._place(axes, self.grid[cell])

    def _place(self, axes: Any, cell: Any) -> None:
        if self.in_grid:
            axes.set_subplotspec(cell)
        else:
            axes.set_position(cell.get_position(self.figure))

    def _added(self, cell: Any, **sharing: Any) -> Any:
        if self.in_grid:
            return self.figure.add_subplot(cell, **sharing)
        return self.figure.add_axes(cell.get_position(self.figure), **sharing)


def _intact(ax: Any) -> Margins | None:
    """The margins that these axes have, unless one of them was taken away."""
    known: Margins | None = getattr(ax, "_kdi_margins", None)
    return known if known and {known.above, known.beside, known.roof} <= {*ax.figure.axes} else None


def _grid(**options: Any) -> Any:
    from matplotlib.gridspec import GridSpec

    return GridSpec(3, 2, **options)
