"""Axes with margins: axes are made smaller for two others, above and to the right, and for a legend on top."""

from __future__ import annotations

from typing import Any

from kdi._plots import style

# Sizes are in units of the axes, unless said otherwise.
MARGIN = 0.22
GAP = 0.03
NO_LEGEND = 1e-3  # height of the legend's axes while there is no legend: a grid has no rows of height 0
LEGEND_HEIGHT = 1.15  # height of the legend's axes in units of the height of the legend


class Margins:
    """The axes around `ax`, within the space that `ax` had.

    `above` shares its x axis and `beside` its y axis; `legend_axes` is above both, for a legend. Where `ax` is part of
    a grid, all of them stay in its cell, so that the layout of the figure keeps working. `drawn` holds the displays
    that are shown, `legend_entries` the handles and labels of the legend.
    """

    def __init__(self, ax: Any) -> None:
        self.ax, self.figure = ax, ax.figure
        self.drawn: list[Any] = []
        self.legend_entries: tuple[list[Any], list[str]] = [], []
        self.legend_size: tuple[float, float] | None = None
        self.in_grid = ax.get_subplotspec() is not None
        engine = style.root_figure(ax).get_layout_engine()
        gap = GAP if engine is None or engine.adjust_compatible else 0.0  # a constrained layout adds its own gaps
        shape = {"width_ratios": (1, MARGIN), "height_ratios": (NO_LEGEND, MARGIN, 1), "wspace": gap, "hspace": gap}
        if self.in_grid:
            self.grid = ax.get_subplotspec().subgridspec(3, 2, **shape)
        else:
            box = ax.get_position()
            self.grid = _grid(left=box.x0, right=box.x1, bottom=box.y0, top=box.y1, **shape)
        self._move(ax, self.grid[2, 0])
        self.above = self._add_axes(self.grid[1, 0], sharex=ax)
        self.beside = self._add_axes(self.grid[2, 1], sharey=ax)
        self.legend_axes = self._add_axes(self.grid[0, :])
        self.legend_axes.set(facecolor="none")  # all of them show the background of the figure
        self.legend_axes.set_axis_off()
        for margin, base in ((self.above, "bottom"), (self.beside, "left")):
            margin.tick_params(which="both", bottom=False, left=False, labelbottom=False, labelleft=False)
            margin.spines[["top", "right", "left", "bottom"]].set_visible(False)
            margin.set(facecolor="none")
            margin.spines[base].set(visible=True, color=style.text_colour(margin))

    @classmethod
    def of(cls, ax: Any) -> Margins:
        """Return the margins of these axes, or create them where they are missing or were removed."""
        margins = _existing_margins(ax)
        if margins is None:
            ax._kdi_margins = margins = cls(ax)
        elif not ax.has_data():  # the user has cleared the axes
            margins.drawn.clear()
        return margins

    def clear(self) -> None:
        """Remove everything drawn in the margins."""
        for margin in (self.above, self.beside):
            for artist in [*margin.lines, *margin.collections, *margin.texts]:
                artist.remove()

    def legend(self, handles: list[Any], labels: list[str]) -> None:
        """Draw a legend on top, in as many columns as fit.

        The layout of the figure ignores the legend, since it would narrow the axes for it, and then fewer columns fit.
        Instead, the axes of the legend are made as high as it needs. Every display changes the layout of its figure:
        all legends of the figure are measured again, in a layout without any, so that their heights do not depend on
        which display was drawn first.
        """
        self.legend_entries, self.legend_size = (handles, labels), None
        style.add_legend(self.legend_axes, handles, labels)
        existing = [margins for one in style.root_figure(self.ax).axes if (margins := _existing_margins(one))]
        with_legend = [margins for margins in existing if margins.legend_axes.get_legend()]  # users may remove one
        for margins in with_legend:
            margins._set_legend_height(NO_LEGEND)
        style.update_layout(self.ax)
        shares = [margins._fit_legend() for margins in with_legend]
        for margins, share in zip(with_legend, shares, strict=True):
            margins._set_legend_height((1 + MARGIN) * share / (1 - share))

    def _fit_legend(self) -> float:
        """Set the legend in as many columns as fit; return the share of the height that it needs."""
        earlier = self.legend_axes.get_legend()
        legend = style.add_legend_in_columns(self.legend_axes, *self.legend_entries, loc="upper left")
        size = legend.get_window_extent().size
        if self.legend_size == (*size,):  # keep the earlier one, which users may have changed
            self.legend_axes.legend_ = legend = earlier
        self.legend_size = (*size,)
        available = self.legend_axes.bbox.y1 - self.ax.bbox.y0
        return float(min(LEGEND_HEIGHT * legend.get_window_extent().height / available, 0.5))

    def _set_legend_height(self, height: float) -> None:
        """Set the height of the legend's axes."""
        self.grid.set_height_ratios((height, MARGIN, 1))
        cells = {self.ax: (2, 0), self.above: (1, 0), self.beside: (2, 1), self.legend_axes: (0, slice(None))}
        for axes, cell in cells.items():
            self._move(axes, self.grid[cell])

    def _move(self, axes: Any, cell: Any) -> None:
        if self.in_grid:
            axes.set_subplotspec(cell)
        else:
            axes.set_position(cell.get_position(self.figure))

    def _add_axes(self, cell: Any, **sharing: Any) -> Any:
        if self.in_grid:
            return self.figure.add_subplot(cell, **sharing)
        return self.figure.add_axes(cell.get_position(self.figure), **sharing)


def _existing_margins(ax: Any) -> Margins | None:
    """Return the margins of these axes, unless one of them was removed."""
    margins: Margins | None = getattr(ax, "_kdi_margins", None)
    if margins and {margins.above, margins.beside, margins.legend_axes} <= {*ax.figure.axes}:
        return margins
    return None


def _grid(**options: Any) -> Any:
    from matplotlib.gridspec import GridSpec

    return GridSpec(3, 2, **options)
