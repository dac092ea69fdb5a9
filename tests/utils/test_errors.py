"""Errors about a table: what they carry, and that it survives a pickle."""

import pickle
from copy import copy

import pytest

from kdi._utils.errors import InfiniteValuesError, TableError, WeightsError


class RowOfFileError(TableError):
    row_format = ", in row {:,}"


FULL = {"column": "age", "row": 17, "advice": "pass columns= to leave the column out"}
MESSAGES = [
    (TableError("it is wrong"), "it is wrong."),
    (
        TableError("column 'age': 'unknown' is not a number", **FULL),
        "column 'age': 'unknown' is not a number in row 17; pass columns= to leave the column out.",
    ),
    (TableError("it is wrong", row=0), "it is wrong in row 0."),
    (
        InfiniteValuesError("there is infinity", **FULL),
        "there is infinity in row 17; pass columns= to leave the column out.",
    ),
    (RowOfFileError("it is wrong", row=12_345), "it is wrong, in row 12,345."),
]


@pytest.mark.parametrize(("error", "message"), MESSAGES)
def test_message(error, message):
    assert str(error) == message
    assert isinstance(error, ValueError)


def fields(error):
    return type(error), error.problem, error.column, error.row, error.advice, str(error)


@pytest.mark.parametrize("error", [error for error, _ in MESSAGES], ids=str)
def test_pickles_and_copies(error):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert fields(pickle.loads(pickle.dumps(error, protocol))) == fields(error)
    assert fields(copy(error)) == fields(error)


@pytest.mark.parametrize("kind", [TableError, InfiniteValuesError, RowOfFileError])
def test_other_rows_and_advice(kind):
    error = kind("it is wrong", **FULL)
    later = error.after(1000)
    assert fields(later) == fields(kind("it is wrong", **FULL | {"row": 1017}))
    assert error.after(0).row == error.row == 17  # the error itself stays
    assert fields(error.without_row()) == fields(kind("it is wrong", **FULL | {"row": None}))
    assert fields(error.with_advice("")) == fields(kind("it is wrong", **FULL | {"advice": ""}))
    assert fields(later.without_row().with_advice("b")) == fields(kind("it is wrong", column="age", advice="b"))


def test_a_row_that_is_not_known_stays_so():
    assert TableError("it is wrong").after(1000).row is None
    assert str(TableError("it is wrong").after(1000)) == "it is wrong."


class TestWeightsError:
    def test_message(self):
        error = WeightsError("sample_weight", "must have shape (3,), got (2,).")
        assert str(error) == "sample_weight must have shape (3,), got (2,)."
        assert (error.argument, error.text) == ("sample_weight", "must have shape (3,), got (2,).")
        assert isinstance(error, ValueError)

    def test_all_zero(self):
        assert str(WeightsError.all_zero("weights")) == "weights must not be zero in every row."

    def test_pickles_and_copies(self):
        error = WeightsError.all_zero("weights")
        for again in (*(pickle.loads(pickle.dumps(error, protocol)) for protocol in range(6)), copy(error)):
            assert type(again) is WeightsError
            assert (again.argument, again.text, str(again)) == (error.argument, error.text, str(error))
