"""Column names: check them, select features among them, and format them for messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def format_names(names: Iterable[Any], most: int = 5) -> str:
    """Format at most the first `most` names for a message."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + " …" * (len(shown) > most)


def as_name_list(columns: Iterable[str] | str) -> list[str]:
    """Return column names as a list, where a single name may be given as it is."""
    return [columns] if isinstance(columns, str) else list(columns)


def check_columns(chosen: list[Any], available: list[Any]) -> None:
    """Raise unless the chosen columns are available, different from each other, and at least one."""
    there = set(available)
    missing = [name for name in chosen if name not in there]
    if missing:
        raise ValueError(f"there is no column {format_names(missing)}; the columns are {format_names(available, 20)}.")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"columns must be different from each other, got {format_names(chosen, 20)}.")
    if not chosen:
        raise ValueError("there are no columns to read.")


def check_unique(names: list[Any], where: str = "") -> None:
    """Raise if a name occurs twice; `where` is appended to the message."""
    if len(set(names)) < len(names):
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"names of columns must be unique, but {format_names(repeated)} occurs more than once{where}.")


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
        raise ValueError(f"column {weight_column!r} holds the weights and cannot be a feature too.")
    check_columns(features if weight_column is None else [*features, weight_column], available)
    if not features:
        raise ValueError(f"there is no feature: the only column, {weight_column!r}, holds the weights.")
    return features, weight_column
