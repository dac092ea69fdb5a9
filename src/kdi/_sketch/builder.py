"""Growing: the sketch of a column that comes in parts, read once, in the time of a few additions a value.

The values themselves are kept while there is room for them; where they repeat, they are only counted. Then most of them
fall into a window of cells that lie side by side, where adding a value is a multiplication and four additions; the few
outside are kept as the cells that a Sketch has. Where there is no more room for cells, all are coarsened.

    ─·────·──┃┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┃───·─────·──
      far    ┃          window           ┃     far

The result does not depend on how the column was divided: it is the sketch of the whole, brought down to the same room.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kdi._numerics.backend import core
from kdi._sketch.cells import CAPACITY, SketchCapacity, finest_exponent
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray

REACH = 2  # cells of the window, for each that may be occupied
PATIENCE = 2  # values that wait to be sorted together, for each cell that there is room for
REPEATED = 4  # how often a value must have come, on average, for counting to be faster than sorting
STRAY = 0.75  # share of a part's values outside the window from which on it is worth moving
EXPONENTS = range(-1000, 1000)  # beyond, 1/width is no number to multiply values by


class SketchBuilder:
    """A column's sketch while the column is read; `infinite` counts the values that no sketch can hold."""

    def __init__(self, room: SketchCapacity) -> None:
        self.room = room
        self.infinite = 0
        self._minimum, self._maximum, self._count, self._missing = np.inf, -np.inf, 0, 0
        self._window: CellWindow | None = None
        self._far = Sketch()  # what lies outside the window: everything, while there is none
        self._waiting: list[tuple[Float64Array, Float64Array | None]] = []  # to be sorted together, and then to be far
        self._n_waiting = 0

    def add(self, column: FloatArray, weights: Float64Array | None = None) -> None:
        """Take in more values; NaN is counted and left out."""
        start = 0
        while self._window is None and start < len(column):
            stop = len(column) if self._repeats else start + self._worth_sorting - self._n_waiting
            self._keep(column[start:stop], None if weights is None else weights[start:stop])
            start = stop
        if self._window is not None and start < len(column):
            self._add_to_window(self._window, column[start:], None if weights is None else weights[start:])

    def sketch(self) -> Sketch:
        """The sketch of everything so far."""
        self._sort()
        if not self._count:
            return Sketch(missing=self._missing)
        whole = self._far if self._window is None else self._far.merged(self._window.sketch())
        whole = replace(whole, minimum=self._minimum, maximum=self._maximum, count=self._count, missing=self._missing)
        return whole.limited_to(self.room)

    @property
    def _worth_sorting(self) -> int:
        """As many as were sorted already, so that each value is moved few times only."""
        return max(PATIENCE * self.room.cells, len(self._far))

    @property
    def _repeats(self) -> bool:
        few = self._far.is_exact and len(self._far) <= CAPACITY  # for more, looking them up costs more than sorting
        return few and self._count >= REPEATED * max(len(self._far), self.room.cells)

    def _keep(self, column: FloatArray, weights: Float64Array | None) -> None:
        """Take in values while there is no window."""
        known = self._far if self._repeats else Sketch()
        masses = known.moments[:, 0].copy()  # a sketch that was given away must not change
        told, values, mass = core.tally(column, weights, known.places, masses)
        self._note(*told)
        if len(known):
            self._far = replace(known, moments=masses[:, None])
        self._wait(values, None if weights is None else mass)
        if self._n_waiting >= self._worth_sorting:
            self._sort()
            if not self._far.is_exact:
                self._open(self._far)

    def _add_to_window(self, window: CellWindow, column: FloatArray, weights: Float64Array | None) -> None:
        told, values, mass = core.accumulate(column, weights, 2.0**-window.exponent, window.first, window.moments)
        window.n_occupied += self._note(*told)
        self._wait(values, None if weights is None else mass)
        stray = len(values) > STRAY * max(len(column), self.room.cells)
        if stray or window.n_occupied + len(self._far) + self._n_waiting > self.room.cells:
            self._sort()
            crowded = window.n_occupied + len(self._far) > self.room.cells
            if stray or crowded or self._far.exponent not in (None, window.exponent):
                self._open(self.sketch())

    def _wait(self, values: Float64Array, mass: Float64Array | None) -> None:
        if len(values):
            self._waiting.append((values, mass))
            self._n_waiting += len(values)

    def _sort(self) -> None:
        """Take in the values that wait."""
        if not self._n_waiting:
            return
        values = np.concatenate([values for values, _ in self._waiting])
        mass = None
        if any(mass is not None for _, mass in self._waiting):
            mass = np.concatenate([np.ones(len(one)) if mass is None else mass for one, mass in self._waiting])
        self._waiting, self._n_waiting = [], 0
        sorted_ones = Sketch.sorted(values, mass)
        if self._window is not None:
            # However far out they lie, the numbers of their cells must be whole numbers still.
            largest = max(abs(sorted_ones.minimum), abs(sorted_ones.maximum))
            sorted_ones = sorted_ones.coarsened(max(self._window.exponent, finest_exponent(largest)))
        self._far = self._far.merged(sorted_ones).limited_to(self.room)

    def _open(self, sketch: Sketch) -> None:
        """Put a sketch that has cells into a window; cells that it does not reach are the far ones."""
        if self._window is None:
            moments = np.zeros((REACH * self.room.cells, 4))
        else:
            moments = self._window.moments  # its memory again: fresh pages cost more than the cells that are in them
            moments.fill(0)
        self._far, self._window = sketch, None
        if sketch.exponent in EXPONENTS:
            self._window, self._far = CellWindow.over(sketch, moments)

    def _note(self, low: float, high: float, count: float, missing: float, infinite: float, new: float) -> int:
        """Keep what the core tells of a part; returns the number of cells that it found empty."""
        self._minimum, self._maximum = min(self._minimum, low), max(self._maximum, high)
        self._count += int(count)
        self._missing += int(missing)
        self.infinite += int(infinite)
        return int(new)


class CellWindow:
    """Cells that lie side by side, of which most are empty at first."""

    def __init__(self, exponent: int, first: int, moments: Float64Array) -> None:
        self.exponent, self.first, self.moments = exponent, first, moments
        self.n_occupied = 0

    @classmethod
    def over(cls, sketch: Sketch, moments: Float64Array) -> tuple[CellWindow, Sketch]:
        """A window where a sketch is heaviest, and the cells of the sketch that lie outside; `moments` are all 0."""
        assert sketch.exponent is not None
        n_cells = len(moments)
        cells = np.asarray(sketch.places, dtype=np.int64)
        mass = np.append(0.0, np.cumsum(sketch.moments[:, 0]))
        ends = np.searchsorted(cells, cells + n_cells)
        start = int(np.argmax(mass[ends] - mass[:-1]))
        slack = n_cells - int(cells[ends[start] - 1] - cells[start]) - 1
        window = cls(sketch.exponent, int(cells[start]) - slack // 2, moments)
        inside = (cells >= window.first) & (cells < window.first + n_cells)
        window.moments[cells[inside] - window.first] = sketch.moments[inside]
        window.n_occupied = int(inside.sum())
        if inside.all():
            return window, Sketch()
        return window, replace(sketch, places=cells[~inside], moments=sketch.moments[~inside])

    def sketch(self) -> Sketch:
        """Its occupied cells; extremes and counts are for whoever keeps them."""
        occupied = np.flatnonzero(self.moments[:, 0])
        if not len(occupied):
            return Sketch()
        low, high = np.ldexp((occupied[[0, -1]] + self.first + 0.5).astype(float), self.exponent).tolist()
        return Sketch(low, high, len(occupied), 0, self.exponent, occupied + self.first, self.moments[occupied])
