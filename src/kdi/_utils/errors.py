"""Errors about a user's table, with the column, row or argument as attributes, so that nobody parses messages."""

from __future__ import annotations

from typing import ClassVar, Self


class TableError(ValueError):
    """A value of a table that cannot be used.

    The message is `problem` and, where the row is known, the row, followed by `advice`:

        column 'age': 'unknown' is not a number in row 17; pass columns= to leave the column out.

    Attributes
    ----------
    problem : str
        The message without the row and the advice.
    column : str or None
        Name of the column, or its position as text where columns have no names.
    row : int or None
        The row, counted as the message counts it.
    advice : str
        How to avoid the error; empty where nothing is known to help.
    """

    row_format: ClassVar[str] = " in row {}"  # subclasses may count rows otherwise

    def __init__(self, problem: str, *, column: str | None = None, row: int | None = None, advice: str = "") -> None:
        self.problem, self.column, self.row, self.advice = problem, column, row, advice
        where = "" if row is None else self.row_format.format(row)
        super().__init__(f"{problem}{where}{f'; {advice}' if advice else ''}.")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.problem, self.column, self.row, self.advice)

    def after(self, n_rows: int) -> Self:
        """Return the same error for a chunk that begins after so many rows of its source."""
        return self._with(row=None if self.row is None else self.row + n_rows)

    def without_row(self) -> Self:
        """Return the same error without the row, for sources whose rows have no numbers."""
        return self._with(row=None)

    def with_advice(self, advice: str) -> Self:
        """Return the same error with other advice."""
        return self._with(row=self.row, advice=advice)

    def _with(self, *, row: int | None, advice: str | None = None) -> Self:
        advice = self.advice if advice is None else advice
        return type(self)(self.problem, column=self.column, row=row, advice=advice)


def _rebuild(kind: type[TableError], problem: str, column: str | None, row: int | None, advice: str) -> TableError:
    """Unpickle an error, which may come from a worker."""
    return kind(problem, column=column, row=row, advice=advice)


class InfiniteValuesError(TableError):
    """Infinite values in a column that must hold finite numbers or NaN."""


class WeightsError(ValueError):
    """Weights that cannot be used as a whole: of the wrong shape, all zero, or of infinite sum.

    The message is the argument followed by `text`: "sample_weight must not be zero in every row."

    Attributes
    ----------
    argument : str
        The parameter that the weights were passed as.
    text : str
        The rest of the message, with its full stop.
    """

    def __init__(self, argument: str, text: str) -> None:
        self.argument, self.text = argument, text
        super().__init__(f"{argument} {text}")

    @classmethod
    def all_zero(cls, argument: str) -> WeightsError:
        """Return the error for weights that leave no row."""
        return cls(argument, "must not be zero in every row.")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.argument, self.text)


class NoSketchesError(ValueError, AttributeError):
    """A model that has maps without the sketches that they came from; an AttributeError too, as for any attribute."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        super().__init__(
            f"{wanted} needs the sketches of the features, which this transformer does not have: its maps came from "
            "kdi.torch without them, as those of a state_dict do. Fit it to the data."
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.wanted,)


class SourceChangedError(ValueError):
    """A source whose second reading found something else than the first."""

    def __init__(self, difference: str) -> None:
        self.difference = difference
        super().__init__(f"the source changed while it was read: {difference}; read a copy that nothing writes to.")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.difference,)
