"""Tables in memory, of NumPy, pandas or polars, as one array of numbers, and results of the same kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kdi._utils.typing import Float64Array
from kdi._utils.validation import as_numbers, is_numeric_dtype, non_numeric_columns, non_numeric_error

LEAVE_OUT = "pass numeric_only=True to leave such columns out"


@dataclass(frozen=True)
class NumericFrame:
    """The numbers of a table, the names of its columns, and the library it came from."""

    values: Float64Array
    names: Any  # a list or a pandas index; None for arrays
    library: str

    @property
    def labels(self) -> list[Any]:
        """Names of the columns, or their positions in an array."""
        return list(range(self.values.shape[1]) if self.names is None else self.names)

    def square(self, matrix: Float64Array) -> Any:
        """Return a matrix of columns × columns in the kind of the table."""
        if self.library == "pandas":
            import pandas as pd

            # The index itself, not a list of labels: it has a type, and may have levels and a name.
            return pd.DataFrame(matrix, index=self.names, columns=self.names)
        if self.library == "polars":
            import polars as pl

            return pl.DataFrame(matrix, schema=self.names)
        return matrix

    def records(self, columns: dict[str, Any]) -> Any:
        """Return named columns in the kind of the table; a structured array if that is an array."""
        if self.library == "pandas":
            import pandas as pd

            return pd.DataFrame(columns)
        if self.library == "polars":
            import polars as pl

            return pl.DataFrame(columns)
        arrays = {name: np.asarray(column) for name, column in columns.items()}
        result = np.empty(
            len(next(iter(arrays.values()))), dtype=[(name, array.dtype) for name, array in arrays.items()]
        )
        for name, array in arrays.items():
            result[name] = array
        return result


def read_frame(table: Any, *, numeric_only: bool = False) -> NumericFrame:
    """Read a table as float64, without a copy if possible; missing values are NaN."""
    library = type(table).__module__.split(".")[0]
    if library == "polars" and hasattr(table, "collect"):
        raise TypeError(f"table must be in memory, got a polars {type(table).__name__}; call collect() first.")
    if library == "polars" and hasattr(table, "get_columns"):
        return _from_polars(table, numeric_only)
    if hasattr(table, "iloc") and hasattr(table, "columns"):
        return _from_pandas(table, numeric_only)
    array, mask = np.asarray(np.ma.getdata(table)), np.ma.getmask(table)
    if array.ndim != 2:
        raise ValueError(f"table must have two dimensions (rows and columns), got shape {array.shape}.")
    wrong = non_numeric_columns(array)
    if wrong and not numeric_only:
        raise non_numeric_error(wrong, None, LEAVE_OUT)
    chosen = [j for j in range(array.shape[1]) if j not in wrong]
    values = as_numbers(array[:, chosen] if wrong else array, "table")
    if mask is not np.ma.nomask:
        values = np.where(mask[:, chosen], np.nan, values)
    return NumericFrame(np.require(values, requirements="A"), None, "numpy")


def _from_pandas(table: Any, numeric_only: bool) -> NumericFrame:
    table = _select_numeric(table, table.dtypes, numeric_only, lambda chosen: table.loc[:, chosen])
    if any(dtype.kind == "O" and dtype.name == "object" for dtype in table.dtypes):
        columns = [as_numbers(table.iloc[:, j], str(name)) for j, name in enumerate(table.columns)]
        values = np.column_stack(columns)
    else:
        values = table.to_numpy(dtype=float, na_value=np.nan)
    return NumericFrame(np.require(values, requirements="A"), table.columns, "pandas")


def _from_polars(table: Any, numeric_only: bool) -> NumericFrame:
    import polars as pl

    table = _select_numeric(table, table.dtypes, numeric_only, lambda chosen: table[:, chosen])
    values = table.cast(pl.Float64).to_numpy() if table.width else np.empty((table.height, 0))
    return NumericFrame(values, table.columns, "polars")


def _select_numeric(table: Any, dtypes: Any, numeric_only: bool, select: Callable[[list[bool]], Any]) -> Any:
    """Select the numeric columns of a frame; without numeric_only, others are an error."""
    if numeric_only:
        return select([is_numeric_dtype(dtype) for dtype in dtypes])
    wrong = non_numeric_columns(table)
    if wrong:
        raise non_numeric_error(wrong, table.columns, LEAVE_OUT)
    return table
