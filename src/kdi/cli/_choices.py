"""Parse columns and alphas as they are written on the command line: names separated by commas.

A name that contains commas is written in double quotes, as in a CSV file. A text that is the name of a column is that
column, so that any name, whatever it contains, can be given alone.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable
from math import inf, isnan
from typing import Any

from kdi._utils.names import format_names
from kdi.cli._errors import CommandError

RULES = ("scott", "silverman")
ALPHA = "a number >= 0, inf, scott or silverman"
BANDWIDTH = "a positive number, scott or silverman"


def parse_columns(texts: list[str] | None, available: Iterable[str]) -> list[str] | None:
    """Return the columns that the texts name, or None if there are no texts."""
    if texts is None:
        return None
    names = set(available)
    return [name for text in texts for name in ([text] if text in names else _split_names(text))]


def parse_factor(text: str) -> float | str:
    """Parse a bandwidth factor; a type for argparse."""
    if text in RULES:
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if isnan(value) or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not {ALPHA}.")
    return value


def parse_bandwidth(text: str) -> float | str:
    """Parse the bandwidth of a density; a type for argparse."""
    if text in RULES:
        return text
    value: float = number_type(float, lambda value: 0 < value < inf, BANDWIDTH)(text)
    return value


def number_type(kind: type[Any], is_allowed: Callable[[Any], bool], description: str) -> Callable[[str], Any]:
    """Make a type for argparse: numbers that are allowed, and how messages describe them."""

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not is_allowed(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {description}.")
        return value

    return parse


def check_alpha(text: str) -> str:
    """Check an alpha, or the last alpha of NAME=ALPHA pairs, and return the text unchanged; a type for argparse."""
    parse_factor(text.rpartition("=")[2])
    return text


def parse_alpha(texts: list[str] | None, features: list[str]) -> Any:
    """Return one alpha for all features, or a dict by name; 0.5 and a=0.3 together mean 0.5 for all others."""
    default: float | str | None = None
    by_name: dict[str, float | str] = {}
    for text in texts or []:
        if "=" not in text:
            default = parse_factor(text)
            continue
        name, _, value = text.rpartition("=")
        for pair in [text] if name in features else _split_names(text):
            name, sign, value = pair.rpartition("=")
            if not sign:
                raise CommandError(f"--alpha must be one value or NAME=VALUE pairs, got {pair!r} among pairs.")
            try:
                by_name[name] = parse_factor(value)
            except argparse.ArgumentTypeError as error:
                raise CommandError(f"--alpha of {name!r}: {error}") from error
    available = set(features)
    unknown = [name for name in by_name if name not in available]
    if unknown:
        raise CommandError(
            f"--alpha must name features, got {format_names(unknown)}; the features are {format_names(features, 20)}."
        )
    if not by_name:
        return 1.0 if default is None else default
    return by_name if default is None else {name: by_name.get(name, default) for name in features}


def check_open_alpha(alpha: Any, unbounded: bool) -> None:
    """Raise where a map without bounds would have an infinite alpha, as `parse_alpha` returns it."""
    by_name = alpha if isinstance(alpha, dict) else {None: alpha}
    infinite = [name for name, value in by_name.items() if value == inf]
    if unbounded and infinite:
        of_features = "" if infinite == [None] else f" of {format_names(infinite)}"
        raise CommandError(
            f"--alpha{of_features} must be finite with --unbounded, got inf: an infinitely wide kernel has half of its "
            "weight on either side of every value. Without --unbounded, alpha = inf is min-max scaling."
        )


def parse_feature_range(given: list[float] | None, is_normal: bool) -> tuple[float, float]:
    """Return the range of the result, [0, 1] where none is given."""
    if given is None:
        return 0.0, 1.0
    low, high = given
    if not 0 < high - low < inf:
        raise CommandError(f"--feature-range must be two numbers, the smaller first, got {low:g} {high:g}.")
    if is_normal:
        raise CommandError("--feature-range cannot be combined with --normal: normal scores have no range.")
    return low, high


def _split_names(text: str) -> list[str]:
    try:
        return next(csv.reader([text]), []) or [""]
    except csv.Error as error:
        raise CommandError(f"{text!r} is not a list of names separated by commas: {error}.") from error
