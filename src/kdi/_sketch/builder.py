"""SketchBuilder: the sketch of a column that comes in chunks, in one pass and a few additions per value.

The values themselves are kept while the capacity allows; where they repeat, they are only counted. After that, most of
them fall into a window of cells that lie side by side, where adding a value takes a multiplication and four additions.
The few values outside are kept as the cells of a Sketch. Once the cells exceed the capacity, all are coarsened.

    ─·────·──┃┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┬┃───·─────·──
    outside  ┃          window           ┃   outside

The result does not depend on how the column was divided: it is the sketch of the whole, limited to the same capacity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kdi._numerics.backend import core
from kdi._sketch.cells import DEFAULT_CAPACITY, FILLED_EXPONENTS, SketchCapacity, finest_exponent
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, FloatArray

WINDOW_FACTOR = 2  # cells of the window, per cell of the capacity
PENDING_FACTOR = 2  # values that are collected before they are sorted together, per cell of the capacity
REPEAT_FACTOR = 4  # occurrences per distinct value from which on counting is faster than sorting
MAX_OUTSIDE_SHARE = 0.75  # share of a chunk's values outside the window from which on the window is moved


class SketchBuilder:
    """A column's sketch while the column is read; `infinite` counts the values that no sketch can hold."""

    def __init__(self, capacity: SketchCapacity) -> None:
        self.capacity = capacity
        self.infinite = 0
        self._minimum, self._maximum, self._count, self._missing = np.inf, -np.inf, 0, 0
        self._window: CellWindow | None = None
        self._outside = Sketch()  # what lies outside the window: everything, while there is none
        self._pending: list[tuple[Float64Array, Float64Array | None]] = []  # to be sorted together into `_outside`
        self._n_pending = 0

    def add(self, column: FloatArray, weights: Float64Array | None = None) -> None:
        """Add more values; NaN is counted and left out."""
        start = 0
        while self._window is None and start < len(column):
            stop = len(column) if self._counts_repeats else start + self._max_pending - self._n_pending
            self._add_without_window(column[start:stop], None if weights is None else weights[start:stop])
            start = stop
        if self._window is not None and start < len(column):
            self._add_to_window(self._window, column[start:], None if weights is None else weights[start:])

    def sketch(self) -> Sketch:
        """Return the sketch of everything added so far."""
        self._sort_pending()
        if not self._count:
            return Sketch(missing=self._missing)
        whole = self._outside if self._window is None else self._outside.merged(self._window.sketch())
        whole = replace(whole, minimum=self._minimum, maximum=self._maximum, count=self._count, missing=self._missing)
        return whole.limited_to(self.capacity)

    @property
    def _max_pending(self) -> int:
        """At least as many values as are sorted already, so that each value is moved few times only."""
        return max(PENDING_FACTOR * self.capacity.cells, len(self._outside))

    @property
    def _counts_repeats(self) -> bool:
        n_known = len(self._outside)
        if not self._outside.is_exact or n_known > DEFAULT_CAPACITY:  # looking up more costs more than sorting
            return False
        return self._count >= REPEAT_FACTOR * max(n_known, self.capacity.cells)

    def _add_without_window(self, column: FloatArray, weights: Float64Array | None) -> None:
        known = self._outside if self._counts_repeats else Sketch()
        masses = known.moments[:, 0].copy()  # a sketch that was returned earlier must not change
        summary, values, mass = core.tally(column, weights, known.keys, masses)
        self._add_summary(*summary)
        if len(known):
            self._outside = replace(known, moments=masses[:, None])
        self._add_pending(values, None if weights is None else mass)
        if self._n_pending >= self._max_pending:
            self._sort_pending()
            if not self._outside.is_exact:
                self._open_window(self._outside)

    def _add_to_window(self, window: CellWindow, column: FloatArray, weights: Float64Array | None) -> None:
        summary, values, mass = core.accumulate(column, weights, 2.0**-window.exponent, window.first, window.moments)
        window.n_occupied += self._add_summary(*summary)
        self._add_pending(values, None if weights is None else mass)
        misplaced = len(values) > MAX_OUTSIDE_SHARE * max(len(column), self.capacity.cells)
        if misplaced or window.n_occupied + len(self._outside) + self._n_pending > self.capacity.cells:
            self._sort_pending()
            full = window.n_occupied + len(self._outside) > self.capacity.cells
            if misplaced or full or self._outside.exponent not in (None, window.exponent):
                self._open_window(self.sketch())

    def _add_pending(self, values: Float64Array, mass: Float64Array | None) -> None:
        if len(values):
            self._pending.append((values, mass))
            self._n_pending += len(values)

    def _sort_pending(self) -> None:
        """Merge the pending values into `_outside`."""
        if not self._n_pending:
            return
        values = np.concatenate([values for values, _ in self._pending])
        mass = None
        if any(mass is not None for _, mass in self._pending):
            mass = np.concatenate([np.ones(len(one)) if mass is None else mass for one, mass in self._pending])
        self._pending, self._n_pending = [], 0
        pending = Sketch.sorted(values, mass)
        if self._window is not None:
            # However far out the values lie, the indices of their cells must remain exact integers.
            largest = max(abs(pending.minimum), abs(pending.maximum))
            pending = pending.coarsened(max(self._window.exponent, finest_exponent(largest)))
        self._outside = self._outside.merged(pending).limited_to(self.capacity)

    def _open_window(self, sketch: Sketch) -> None:
        """Move the cells of a sketch into a window; those that do not fit into it remain outside."""
        if self._window is None:
            moments = np.zeros((WINDOW_FACTOR * self.capacity.cells, 4))
        else:
            moments = self._window.moments  # reused: fresh memory pages cost more than clearing these cells
            moments.fill(0)
        self._outside, self._window = sketch, None
        if sketch.exponent in FILLED_EXPONENTS:
            self._window, self._outside = CellWindow.over(sketch, moments)

    def _add_summary(
        self, low: float, high: float, count: float, missing: float, infinite: float, newly_occupied: float
    ) -> int:
        """Add what the core counted in a chunk; return the number of cells that were empty before."""
        self._minimum, self._maximum = min(self._minimum, low), max(self._maximum, high)
        self._count += int(count)
        self._missing += int(missing)
        self.infinite += int(infinite)
        return int(newly_occupied)


class CellWindow:
    """Cells that lie side by side, most of them empty at first."""

    def __init__(self, exponent: int, first: int, moments: Float64Array) -> None:
        self.exponent, self.first, self.moments = exponent, first, moments
        self.n_occupied = 0

    @classmethod
    def over(cls, sketch: Sketch, moments: Float64Array) -> tuple[CellWindow, Sketch]:
        """Place a window where a sketch has the most weight; return it and the sketch's cells outside.

        `moments`, all 0, is the memory of the window.
        """
        assert sketch.exponent is not None
        n_cells = len(moments)
        cells = np.asarray(sketch.keys, dtype=np.int64)
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
        return window, replace(sketch, keys=cells[~inside], moments=sketch.moments[~inside])

    def sketch(self) -> Sketch:
        """Return the occupied cells as a sketch; its extremes and counts are placeholders, replaced by the builder."""
        occupied = np.flatnonzero(self.moments[:, 0])
        if not len(occupied):
            return Sketch()
        low, high = np.ldexp((occupied[[0, -1]] + self.first + 0.5).astype(float), self.exponent).tolist()
        return Sketch(low, high, len(occupied), 0, self.exponent, occupied + self.first, self.moments[occupied])
