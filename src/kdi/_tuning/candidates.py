"""Candidates: what every alpha makes of every feature, for the rows that a model is fitted to and judged by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kdi._integral.maps import ColumnMap
from kdi._utils.typing import Float64Array, FloatArray, Int64Array

Apply = Callable[
    [ColumnMap, Float64Array, Float64Array], None
]  # a map, values, and where to write what it makes of them


class CandidateColumns:
    """Columns at every alpha, of rows the first `n_fitted` of which the maps were fitted to.

    Parameters
    ----------
    tables : list of list of table
        By alpha, then by feature.
    apply : callable
        Writes what a table makes of some values.
    table : ndarray of shape (n_table_rows, n_features)
    rows : ndarray of int, optional
        Which rows of the table; all by default.
    n_fitted : int
    mass : ndarray of shape (n_fitted,), optional
        Weights of the fitted rows. Where they are given, NaN becomes the mean of the fitted rows, which says nothing.
    keep : bool
        Whether columns are kept for the next visit or made anew.
    """

    def __init__(
        self,
        tables: list[list[ColumnMap]],
        apply: Apply,
        table: FloatArray,
        rows: Int64Array | None,
        n_fitted: int,
        mass: Float64Array | None,
        keep: bool,
    ) -> None:
        self.tables, self.apply, self.table, self.rows = tables, apply, table, rows
        self.n_fitted, self.mass = n_fitted, mass
        self.n_rows = len(table) if rows is None else len(rows)
        self.n_alphas, self.n_features = len(tables), table.shape[1]
        self._kept: dict[int, Float64Array] | None = {} if keep else None

    def column(self, j: int) -> Float64Array:
        """Feature j at every alpha, of shape (n_alphas, n_rows)."""
        if self._kept is None:
            return self._transformed(j, range(self.n_alphas))
        if j not in self._kept:
            self._kept[j] = self._transformed(j, range(self.n_alphas))
        return self._kept[j]

    def design(self, choice: Int64Array) -> Float64Array:
        """All features, each at the alpha that was chosen for it, of shape (n_rows, n_features)."""
        out = np.empty((self.n_rows, self.n_features), order="F")
        for j, place in enumerate(choice.tolist()):
            out[:, j] = self.at(j, place)
        return out

    def at(self, j: int, place: int) -> Float64Array:
        """Feature j at one alpha."""
        return np.asarray(self._transformed(j, [place])[0] if self._kept is None else self.column(j)[place])

    def _transformed(self, j: int, places: range | list[int]) -> Float64Array:
        column = self.table[:, j] if self.rows is None else self.table[self.rows, j]
        values: Float64Array = np.ascontiguousarray(column, dtype=float)
        out = np.empty((len(places), self.n_rows))
        for place, levels in zip(places, out, strict=True):
            self.apply(self.tables[place][j], values, levels)
            if self.mass is not None:
                _fill(levels, self.n_fitted, self.mass)
        return out


def _fill(levels: Float64Array, n_fitted: int, mass: Float64Array) -> None:
    """NaN becomes the mean of the fitted rows, in place."""
    missing = np.isnan(levels)
    if missing.any():
        known = mass * ~missing[:n_fitted]
        total = known.sum()
        levels[missing] = np.nan_to_num(levels[:n_fitted]) @ known / total if total else 0.0
