"""Columns and alphas as they are written on the command line: names with commas between them.

A name that holds commas stands in double quotes, as in a CSV file. What is a column as it stands is that column, so
that any single name, however odd, can be given alone.
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


def as_columns(given: list[str] | None, available: Iterable[str]) -> list[str] | None:
    """The columns that texts name; None where none were given."""
    if given is None:
        return None
    there = set(available)
    return [name for text in given for name in ([text] if text in there else _split(text))]


def as_rule(text: str) -> float | str:
    """A bandwidth factor, for argparse."""
    if text in RULES:
        return text
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if isnan(value) or value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not {ALPHA}.")
    return value


def as_bandwidth(text: str) -> float | str:
    """The bandwidth of a density, for argparse."""
    if text in RULES:
        return text
    value: float = limited(float, lambda value: 0 < value < inf, BANDWIDTH)(text)
    return value


def limited(kind: type[Any], allows: Callable[[Any], bool], what: str) -> Callable[[str], Any]:
    """A type for argparse: numbers within limits, and what they are called."""

    def number(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not allows(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}.")
        return value

    return number


def alpha_text(text: str) -> str:
    """An alpha, or pairs of names and alphas, the last of which is checked already, for argparse."""
    as_rule(text.rpartition("=")[2])
    return text


def as_alpha(given: list[str] | None, features: list[str]) -> Any:
    """One alpha for all features, or a dict by name; 0.5 and a=0.3 together leave 0.5 to the others."""
    default: float | str | None = None
    own: dict[str, float | str] = {}
    for text in given or []:
        if "=" not in text:
            default = as_rule(text)
            continue
        name, _, value = text.rpartition("=")
        for pair in [text] if name in features else _split(text):
            name, sign, value = pair.rpartition("=")
            if not sign:
                raise CommandError(f"--alpha takes one value, or NAME=VALUE pairs; {pair!r} among pairs has no name.")
            try:
                own[name] = as_rule(value)
            except argparse.ArgumentTypeError as error:
                raise CommandError(f"--alpha of {name!r}: {error}") from error
    there = set(features)
    unknown = [name for name in own if name not in there]
    if unknown:
        raise CommandError(
            f"--alpha names {format_names(unknown)}, which is no feature; the features are {format_names(features, 20)}."
        )
    if not own:
        return 1.0 if default is None else default
    return own if default is None else {name: own.get(name, default) for name in features}


def _split(text: str) -> list[str]:
    try:
        return next(csv.reader([text]), []) or [""]
    except csv.Error as error:
        raise CommandError(f"{text!r} is no list of names with commas between them: {error}.") from error
