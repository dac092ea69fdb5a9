"""CandidateColumns: every feature transformed with every alpha, for the rows a model is fitted to and scored on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kdi._integral.maps import ColumnMap
from kdi._utils.typing import Float64Array, FloatArray, Int64Array

Apply = Callable[[ColumnMap, Float64Array, Float64Array], None]  # a map, values, and the array for the result


class CandidateColumns:
    """Columns of some rows, transformed with every alpha; the maps were fitted to the first `n_fitted` of these rows.

    Parameters
    ----------
    maps : sequence of sequence of ColumnMap
        By alpha, then by feature.
    apply : callable
        Writes the mapped values into an array.
    table : ndarray of shape (n_table_rows, n_features)
    rows : ndarray of int, optional
        Indices of the rows; by default all rows of the table.
    n_fitted : int
    mass : ndarray of shape (n_fitted,), optional
        Weights of the fitted rows. If given, NaN is replaced by the mean of the fitted rows, so that a linear model
        learns nothing from it.
    keep : bool
        Whether to cache the columns of a feature for its next visit.
    """

    def __init__(
        self,
        maps: Sequence[Sequence[ColumnMap]],
        apply: Apply,
        table: FloatArray,
        rows: Int64Array | None,
        n_fitted: int,
        mass: Float64Array | None,
        keep: bool,
    ) -> None:
        self.maps, self.apply, self.table, self.rows = maps, apply, table, rows
        self.n_fitted, self.mass = n_fitted, mass
        self.n_rows = len(table) if rows is None else len(rows)
        self.n_alphas, self.n_features = len(maps), table.shape[1]
        self._cache: dict[int, Float64Array] | None = {} if keep else None

    def column(self, j: int) -> Float64Array:
        """Return feature j with every alpha, of shape (n_alphas, n_rows)."""
        if self._cache is None:
            return self._transformed(j, range(self.n_alphas))
        if j not in self._cache:
            self._cache[j] = self._transformed(j, range(self.n_alphas))
        return self._cache[j]

    def design(self, choice: Int64Array) -> Float64Array:
        """Return all features, each with the alpha at its index in `choice`, of shape (n_rows, n_features)."""
        out = np.empty((self.n_rows, self.n_features), order="F")
        for j, place in enumerate(choice.tolist()):
            out[:, j] = self.at(j, place)
        return out

    def at(self, j: int, place: int) -> Float64Array:
        """Return feature j with one alpha."""
        return np.asarray(self._transformed(j, [place])[0] if self._cache is None else self.column(j)[place])

    def _transformed(self, j: int, places: range | list[int]) -> Float64Array:
        column = self.table[:, j] if self.rows is None else self.table[self.rows, j]
        values: Float64Array = np.ascontiguousarray(column, dtype=float)
        out = np.empty((len(places), self.n_rows))
        for place, levels in zip(places, out, strict=True):
            self.apply(self.maps[place][j], values, levels)
            if self.mass is not None:
                _fill_missing(levels, self.n_fitted, self.mass)
        return out


def _fill_missing(levels: Float64Array, n_fitted: int, mass: Float64Array) -> None:
    """Replace NaN by the weighted mean of the fitted rows, in place."""
    missing = np.isnan(levels)
    if missing.any():
        known = mass * ~missing[:n_fitted]
        total = known.sum()
        levels[missing] = np.nan_to_num(levels[:n_fitted]) @ known / total if total else 0.0
