"""The margins of KDIDisplay: densities before and after, and the limits of all axes.

A later display in the same axes changes the limits, and with them what is cut off and must be noted: all margins are
drawn again for every display.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kdi._plots import style
from kdi._plots.margins import Margins
from kdi._utils.typing import Float64Array

MAX_RATIO = 4.0  # a density after is cut off at this many times the height of the lowest of them
LINE_SPACING = 1.25  # of notes, in units of their height


@dataclass(frozen=True, eq=False)
class DrawnCurves:
    """The curves and densities of one display, the styles of its curves, and the range of x that it shows.

    `note` is written in place of an unknown density.
    """

    x: Float64Array
    curves: Float64Array
    before: Float64Array | None
    after: list[tuple[Float64Array, Float64Array]]
    shown: tuple[float, float]
    styles: list[dict[str, Any]]
    note: str


def draw_margins(margins: Margins) -> None:
    """Draw the densities and set the limits for all displays in these axes."""
    margins.clear()
    drawn = [one for one in margins.drawn if one.x.size]
    if drawn:
        _draw_before(margins, drawn)
    _draw_after(margins, drawn)


def _draw_before(margins: Margins, drawn: list[DrawnCurves]) -> None:
    """Draw the densities before above the curves, with notes on what lies outside."""
    above, text_colour = margins.above, style.text_colour(margins.above)
    ends = min(float(one.x[0]) for one in drawn), max(float(one.x[-1]) for one in drawn)
    low, high = min(one.shown[0] for one in drawn), max(one.shown[1] for one in drawn)
    if high > low:
        padding = 0.02 * (high - low)
        margins.ax.set_xlim(low - padding * (low <= ends[0]), high + padding * (high >= ends[1]))
    note = {"fontsize": style.SMALL, "color": text_colour, "va": "top", "transform": above.transAxes}
    if low > ends[0]:
        above.text(0, 1, f"◂ from {_format_number(ends[0])}", ha="left", **note)
    if high < ends[1]:
        above.text(1, 1, f"on to {_format_number(ends[1])} ▸", ha="right", **note)
    known: list[DrawnCurves] = []
    for one in drawn:
        if one.before is not None and not any(_have_same_values(one, other) for other in known):
            known.append(one)
    highest = 0.0
    for one in known:
        densities = np.asarray(one.before)
        is_infinite = np.isinf(densities)
        heights = np.where(is_infinite, 0, densities)
        colour = one.styles[0]["color"] if len(known) > 1 and len(one.styles) == 1 else text_colour
        # The outline keeps a very narrow density visible.
        above.fill_between(one.x, heights, color=colour, alpha=0.25, linewidth=0.8)
        above.vlines(one.x[is_infinite], 0, 1, color=colour, alpha=0.5, transform=above.get_xaxis_transform())
        highest = max(highest, heights[(one.x >= low) & (one.x <= high)].max(initial=0))
    if not known and drawn[-1].note:
        above.text(0.5, 0.6, drawn[-1].note, ha="center", **note)
    above.set_ylim(0, highest * (1.05 if (low, high) == ends else 1.45) or 1.0)  # space for the notes


def _draw_after(margins: Margins, drawn: list[DrawnCurves]) -> None:
    """Draw the densities after to the right of the curves; densities that are too high are cut off."""
    beside = margins.beside
    arrays = [one.curves.ravel() for one in drawn] + [levels for one in drawn for levels, _ in one.after]
    levels = np.concatenate([np.empty(0), *arrays])
    known = levels[np.isfinite(levels)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    if not high > low:
        high = low + max(abs(low), 1.0)
    margins.ax.set_ylim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    densities = [(*pair, options) for one in drawn for pair, options in zip(one.after, one.styles, strict=False)]
    tops = np.array([heights.max() for _, heights, _ in densities if np.isfinite(heights).all() and heights.size])
    limit = 1.05 * min(tops.max(), MAX_RATIO * tops.min()) if tops.size else 1.0
    beside.set_xlim(0, limit)
    n_notes = 0
    for at, heights, options in densities:
        if not np.isfinite(heights).all():
            beside.hlines(at, 0, 1, color=options["color"], transform=beside.get_yaxis_transform())
            continue
        beside.plot(heights, at, **options | {"linewidth": 1.3})
        if len(densities) == 1:
            beside.fill_betweenx(at, heights, color=options["color"], alpha=0.3, linewidth=0)
        if heights.max(initial=0) > limit:
            _add_corner_note(beside, f"to {_format_number(heights.max(), digits=2)} ▸", n_notes, options["color"])
            n_notes += 1


def _add_corner_note(beside: Any, text: str, line: int, colour: Any) -> None:
    """Write how high a density is that is cut off, in the empty corner between the margins.

    The text is aligned with the right end of the margin: where it is too long, it extends into the margin above, since
    the figure would cut it off at the right.
    """
    where = {"xycoords": "axes fraction", "textcoords": "offset fontsize", "xytext": (0, 0.6 + LINE_SPACING * line)}
    beside.annotate(text, (1, 1), **where, ha="right", color=colour, fontsize=style.SMALL).set_in_layout(False)


def _have_same_values(one: DrawnCurves, other: DrawnCurves) -> bool:
    """Tell whether two displays show the same values."""
    return np.array_equal(one.x, other.x) and np.array_equal(np.asarray(one.before), np.asarray(other.before))


def _format_number(value: float, digits: int = 7) -> str:
    """Write a number, rounded to so many digits, with thousands separators."""
    rounded = float(f"{value:.{digits}g}")
    return f"{rounded:,.0f}" if 1000 <= abs(rounded) < 1e7 else f"{rounded:.4g}"
