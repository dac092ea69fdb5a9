"""The margins of KDIDisplay: densities before and after, and limits of the axes that hold all that is drawn in them.

Whatever is drawn in the same axes later changes the limits, and with them what is cut and has to be said: the margins
are drawn anew for every display.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kdi._plots import style
from kdi._plots.margins import Margins
from kdi._utils.typing import Float64Array

MOST_TIMES = 4.0  # a density after is cut where it is this many times as high as the lowest of them
LINE = 1.25  # from one line of notes to the next, in units of their height


@dataclass(frozen=True, eq=False)
class Drawn:
    """What one display draws, the part of the axis of x that it asks for, and the styles of its curves.

    `note` stands in place of a density that is not known.
    """

    x: Float64Array
    curves: Float64Array
    before: Float64Array | None
    after: list[tuple[Float64Array, Float64Array]]
    shown: tuple[float, float]
    styles: list[dict[str, Any]]
    note: str


def draw_margins(margins: Margins) -> None:
    """Densities and limits for all that is drawn in these axes."""
    margins.clear()
    drawn = [one for one in margins.drawn if one.x.size]
    if drawn:
        _draw_before(margins, drawn)
    _draw_after(margins, drawn)


def _draw_before(margins: Margins, drawn: list[Drawn]) -> None:
    above, ink = margins.above, style.ink(margins.above)
    ends = min(float(one.x[0]) for one in drawn), max(float(one.x[-1]) for one in drawn)
    low, high = min(one.shown[0] for one in drawn), max(one.shown[1] for one in drawn)
    if high > low:
        room = 0.02 * (high - low)
        margins.ax.set_xlim(low - room * (low <= ends[0]), high + room * (high >= ends[1]))
    note = {"fontsize": style.SMALL, "color": ink, "va": "top", "transform": above.transAxes}
    if low > ends[0]:
        above.text(0, 1, f"◂ from {_number(ends[0])}", ha="left", **note)
    if high < ends[1]:
        above.text(1, 1, f"on to {_number(ends[1])} ▸", ha="right", **note)
    known: list[Drawn] = []
    for one in drawn:
        if one.before is not None and not any(_same(one, other) for other in known):
            known.append(one)
    highest = 0.0
    for one in known:
        densities = np.asarray(one.before)
        endless = np.isinf(densities)
        heights = np.where(endless, 0, densities)
        colour = one.styles[0]["color"] if len(known) > 1 and len(one.styles) == 1 else ink
        # The line around it is what is seen of a density that is very narrow.
        above.fill_between(one.x, heights, color=colour, alpha=0.25, linewidth=0.8)
        above.vlines(one.x[endless], 0, 1, color=colour, alpha=0.5, transform=above.get_xaxis_transform())
        highest = max(highest, heights[(one.x >= low) & (one.x <= high)].max(initial=0))
    if not known and drawn[-1].note:
        above.text(0.5, 0.6, drawn[-1].note, ha="center", **note)
    above.set_ylim(0, highest * (1.05 if (low, high) == ends else 1.45) or 1.0)  # room for the notes


def _draw_after(margins: Margins, drawn: list[Drawn]) -> None:
    beside = margins.beside
    everything = [np.array([0.0, 1.0]), *(one.curves.ravel() for one in drawn)]
    everything += [pair[0] for one in drawn for pair in one.after]
    known = np.concatenate([one[np.isfinite(one)] for one in everything])
    low, high = float(known.min()), float(known.max())
    margins.ax.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    pairs = [(*pair, look) for one in drawn for pair, look in zip(one.after, one.styles, strict=False)]
    tops = np.array([heights.max() for _, heights, _ in pairs if np.isfinite(heights).all() and heights.size])
    limit = 1.05 * min(tops.max(), MOST_TIMES * tops.min()) if tops.size else 1.0
    beside.set_xlim(0, limit)
    cut = 0
    for at, heights, look in pairs:
        if not np.isfinite(heights).all():
            beside.hlines(at, 0, 1, color=look["color"], transform=beside.get_yaxis_transform())
            continue
        beside.plot(heights, at, **look | {"linewidth": 1.3})
        if len(pairs) == 1:
            beside.fill_betweenx(at, heights, color=look["color"], alpha=0.3, linewidth=0)
        if heights.max(initial=0) > limit:
            _note_in_the_corner(beside, f"to {_number(heights.max(), digits=2)} ▸", cut, look["color"])
            cut += 1


def _note_in_the_corner(beside: Any, text: str, line: int, colour: Any) -> None:
    """How far a density goes that is cut, in the corner between the margins, where nothing else is.

    It ends with the margin: in a narrow one it begins before it, which is better than to be cut by the figure.
    """
    where = {"xycoords": "axes fraction", "textcoords": "offset fontsize", "xytext": (0, 0.6 + LINE * line)}
    beside.annotate(text, (1, 1), **where, ha="right", color=colour, fontsize=style.SMALL).set_in_layout(False)


def _same(one: Drawn, other: Drawn) -> bool:
    """Whether two displays are of the same values."""
    return np.array_equal(one.x, other.x) and np.array_equal(np.asarray(one.before), np.asarray(other.before))


def _number(value: float, digits: int = 7) -> str:
    """A number as people write it, rounded to so many digits."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e7 else f"{rounded:.4g}"
