"""Errors about values of a table: they carry the column and the row, so that nobody has to read them from the message."""

from __future__ import annotations


class TableError(ValueError):
    """A value of a table that cannot be used.

    The message is `problem` and, where the row is known, the row, followed by `advice`:

        column 'age': 'unknown' is not a number in row 17; pass columns= to leave the column out.

    Attributes
    ----------
    problem : str
        The message without the row and the advice.
    column : str or None
        Name of the column.
    row : int or None
        The row, counted as the message counts it.
    advice : str
        What helps, if anything is known to.
    """

    def __init__(self, problem: str, *, column: str | None = None, row: int | None = None, advice: str = "") -> None:
        self.problem, self.column, self.row, self.advice = problem, column, row, advice
        where = "" if row is None else f" in row {row}"
        super().__init__(f"{problem}{where}{f'; {advice}' if advice else ''}.")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.column, self.row, self.advice)

    def after(self, n_rows: int) -> TableError:
        """The same error for a chunk that begins after so many rows of its source."""
        return self._with(row=None if self.row is None else self.row + n_rows)

    def without_row(self) -> TableError:
        """The same error for rows that have no number."""
        return self._with(row=None)

    def with_advice(self, advice: str) -> TableError:
        """The same error with advice."""
        return self._with(row=self.row, advice=advice)

    def _with(self, *, row: int | None, advice: str | None = None) -> TableError:
        advice = self.advice if advice is None else advice
        return type(self)(self.problem, column=self.column, row=row, advice=advice)


def _rebuild(kind: type[TableError], problem: str, column: str | None, row: int | None, advice: str) -> TableError:
    """Unpickle an error, which may come from a worker."""
    return kind(problem, column=column, row=row, advice=advice)
