"""Names of columns: which there are, which are chosen, and how messages show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def format_names(names: Iterable[Any], most: int = 5) -> str:
    """The first few names, as a message shows them."""
    shown = [repr(name) for name in names]
    return ", ".join(shown[:most]) + " …" * (len(shown) > most)


def as_name_list(columns: Iterable[str] | str) -> list[str]:
    """Names of columns, of which a single one may stand alone."""
    return [columns] if isinstance(columns, str) else list(columns)


def check_columns(chosen: list[Any], available: list[Any]) -> None:
    """Raise unless some columns are chosen that are there, each once."""
    there = set(available)
    missing = [name for name in chosen if name not in there]
    if missing:
        raise ValueError(f"there is no column {format_names(missing)}; the columns are {format_names(available, 20)}.")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"columns must be different from each other, got {format_names(chosen, 20)}.")
    if not chosen:
        raise ValueError("there are no columns to read.")


def check_unique(names: list[Any], where: str = "") -> None:
    """Raise if a name occurs twice."""
    if len(set(names)) < len(names):
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        raise ValueError(f"names of columns must be unique, but {format_names(repeated)} occurs more than once{where}.")


def features_and_weights(
    columns: Iterable[str] | str | None, weights: Any, available: list[str], usual: list[str] | None = None
) -> tuple[list[str], str | None]:
    """The features, by default the usual columns but that of the weights, and its name, where weights are a name."""
    name = weights if isinstance(weights, str) else None
    usual = available if usual is None else usual
    features = [one for one in usual if one != name] if columns is None else as_name_list(columns)
    if name in features:
        raise ValueError(f"column {name!r} holds the weights and cannot be a feature too.")
    check_columns(features if name is None else [*features, name], available)
    if not features:
        raise ValueError(f"there is no column but {name!r}, which holds the weights.")
    return features, name
