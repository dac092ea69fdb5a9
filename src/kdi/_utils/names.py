"""Column names: check them, select features among them, and format them for messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from kdi._utils.errors import TableError


def format_names(names: Iterable[Any], most: int = 5) -> str:
    """Format at most the first `most` names for a message."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + " …" * (len(shown) > most)


def as_name_list(columns: Iterable[str] | str) -> list[str]:
    """Return column names as a list, where a single name may be given as it is."""
    return [columns] if isinstance(columns, str) else list(columns)


def check_columns(chosen: list[Any], available: list[Any]) -> None:
    """Raise unless the chosen columns are available, different from each other, and at least one."""
    check_available(chosen, available)
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"columns must be different from each other, got {format_names(chosen, 20)}.")
    if not chosen:
        raise ValueError("there are no columns to read.")


def check_available(names: Iterable[Any], available: list[Any], reason: str = "") -> None:
    """Raise unless the names are available; `reason` says in the message why they must be."""
    there = set(available)
    missing = [name for name in names if name not in there]
    if missing:
        raise TableError(
            f"there is no column {format_names(missing)}{reason}",
            column=str(missing[0]),
            advice=f"the columns are {format_names(available, 20)}",
        )


def check_unique(names: list[Any], where: str = "") -> None:
    """Raise if a name occurs twice; `where` is appended to the message."""
    repeated = [name for name, n_times in Counter(names).items() if n_times > 1]
    if repeated:
        raise not_unique_error(repeated, where)


def not_unique_error(repeated: list[Any], where: str = "", advice: str = "") -> TableError:
    """Return the error for names of columns that occur more than once."""
    problem = f"names of columns must be unique, but {format_names(repeated)} occurs more than once{where}"
    return TableError(problem, column=str(repeated[0]), advice=advice)


def features_and_weights(
    columns: Iterable[str] | str | None, weights: Any, available: list[str], default: list[str] | None = None
) -> tuple[list[str], str | None]:
    """Return the names of the features, and that of the weight column where `weights` is a name.

    Without `columns`, the features are those of `default`, or else of `available`, except the weight column.
    """
    weight_column = weights if isinstance(weights, str) else None
    default = available if default is None else default
    features = [name for name in default if name != weight_column] if columns is None else as_name_list(columns)
    if weight_column in features:
        raise TableError(
            f"column {weight_column!r} holds the weights and cannot be a feature too", column=weight_column
        )
    check_columns(features if weight_column is None else [*features, weight_column], available)
    if not features:
        raise TableError(
            f"there is no feature: the only column, {weight_column!r}, holds the weights", column=weight_column
        )
    return features, weight_column
