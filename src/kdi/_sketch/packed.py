"""PackedSketches: the sketches of a table as flat arrays, as the compiled core makes and reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, Int64Array

CELLS, DISTINCT, UNSORTED = range(3)  # what a sketch keeps: cells, ascending distinct values, or values as they came


@dataclass(frozen=True, eq=False)
class PackedSketches(Sequence[Sketch]):
    """Sequence of sketches, each created when it is asked for.

    Attributes
    ----------
    minimum, maximum, counts, missing : ndarray of shape (n_columns,)
    keys : ndarray of uint8
        CELLS, DISTINCT or UNSORTED.
    exponents : ndarray of int64
        The cells of a column are 2**exponent wide.
    sizes : ndarray of int64
        Number of cells or values of each column.
    cells, moments : ndarray of shape (n_cells,) and (n_cells, 4)
        Cells and moments of the columns that have cells, one column after the other.
    values, masses : ndarray of shape (n_values,)
        Values and weights of the others.
    """

    minimum: Float64Array
    maximum: Float64Array
    counts: Float64Array
    missing: Float64Array
    keys: NDArray[np.uint8]
    exponents: Int64Array
    sizes: Int64Array
    cells: Int64Array
    moments: Float64Array
    values: Float64Array
    masses: Float64Array

    @classmethod
    def pack(cls, sketches: Sequence[Sketch]) -> PackedSketches:
        """Pack sketches; those that are packed already remain as they are, but for unsorted values."""
        if isinstance(sketches, PackedSketches) and not (sketches.keys == UNSORTED).any():
            return sketches
        sketches = list(sketches)
        exact = [sketch for sketch in sketches if sketch.is_exact]
        others = [sketch for sketch in sketches if not sketch.is_exact]
        numbers = np.array([[s.minimum, s.maximum, s.count, s.missing] for s in sketches], dtype=float).reshape(-1, 4)
        minimum, maximum, counts, missing = numbers.T.copy()
        return cls(
            minimum,
            maximum,
            counts,
            missing,
            keys=np.array([DISTINCT if sketch.is_exact else CELLS for sketch in sketches], dtype=np.uint8),
            exponents=np.array([sketch.exponent or 0 for sketch in sketches], dtype=np.int64),
            sizes=np.array([len(sketch) for sketch in sketches], dtype=np.int64),
            cells=_joined([sketch.keys for sketch in others], np.empty(0, dtype=np.int64)),
            moments=_joined([sketch.moments for sketch in others], np.empty((0, 4))),
            values=_joined([sketch.keys for sketch in exact], np.empty(0)),
            masses=_joined([sketch.moments[:, 0] for sketch in exact], np.empty(0)),
        )

    def take(self, columns: Int64Array) -> PackedSketches:
        """Return the sketches of some columns, which may repeat."""
        names = ("minimum", "maximum", "counts", "missing", "keys", "exponents", "sizes")
        per_column = {name: getattr(self, name)[columns] for name in names}
        has_cells = self.keys[columns] == CELLS
        cells, values = (
            _places(self._starts[some], self.sizes[some]) for some in (columns[has_cells], columns[~has_cells])
        )
        return PackedSketches(
            **per_column,
            cells=self.cells[cells],
            moments=self.moments[cells],
            values=self.values[values],
            masses=self.masses[values],
        )

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The arrays that the compiled core takes together."""
        return self.keys, self.exponents, self.sizes, self.cells, self.moments, self.values, self.masses

    @cached_property
    def _starts(self) -> Int64Array:
        """The place of the first cell or value of each column."""
        starts = np.zeros(len(self.sizes), dtype=np.int64)
        for chosen in (self.keys == CELLS, self.keys != CELLS):
            starts[chosen] = np.cumsum(self.sizes[chosen]) - self.sizes[chosen]
        return starts

    @cached_property
    def as_list(self) -> list[Sketch]:
        """The sketches, made once."""
        return list(self)

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}  # without cached properties

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> Sketch: ...
    @overload
    def __getitem__(self, index: slice) -> list[Sketch]: ...
    def __getitem__(self, index: int | slice) -> Sketch | list[Sketch]:
        if isinstance(index, slice):
            return [self[j] for j in range(len(self))[index]]
        j = range(len(self))[index]
        part = slice(int(self._starts[j]), int(self._starts[j] + self.sizes[j]))
        missing, count = int(self.missing[j]), int(self.counts[j])
        if not count:
            return Sketch(missing=missing)
        if self.keys[j] == UNSORTED:
            return replace(Sketch.sorted(self.values[part].copy(), self.masses[part]), missing=missing)
        ends = float(self.minimum[j]), float(self.maximum[j])
        if self.keys[j] == DISTINCT:
            return Sketch(*ends, count, missing, None, self.values[part], self.masses[part, None])
        return Sketch(*ends, count, missing, int(self.exponents[j]), self.cells[part], self.moments[part])

    def __iter__(self) -> Iterator[Sketch]:
        return (self[j] for j in range(len(self)))


def are_exact(sketches: Sequence[Sketch]) -> NDArray[np.bool_]:
    """Tell which sketches keep values, not cells."""
    if isinstance(sketches, PackedSketches):
        return np.asarray(sketches.keys != CELLS)
    return np.array([sketch.is_exact for sketch in sketches], dtype=bool)


def _places(starts: Int64Array, sizes: Int64Array) -> Int64Array:
    """Return the indices start, …, start + size - 1 of each pair, one after the other."""
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


def _joined(arrays: list[Any], empty: Any) -> Any:
    """Join arrays; a single one is not copied."""
    if len(arrays) == 1:
        return np.ascontiguousarray(arrays[0], dtype=empty.dtype)
    return np.concatenate([empty, *arrays])
