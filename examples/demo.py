"""`kdi demo` into the folder out, and the table that the pictures of the README are drawn from."""

import sys
from pathlib import Path

import numpy as np

import kdi
from kdi.cli import main
from kdi.cli.demonstrating import read_housing

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(kdi.data.california_housing())


def read_table(_: Path = DATA) -> tuple[list[str], np.ndarray]:
    """Column names and values."""
    return read_housing()


def named_comparison(names: list[str], raw: np.ndarray, **options: object) -> dict[str, np.ndarray]:
    """kdi.compare_correlations of an array, with names of columns instead of their numbers; frames have them anyway."""
    pairs = kdi.compare_correlations(raw, **options)
    found = {column: pairs[column] for column in pairs.dtype.names}
    return found | {column: np.array(names)[pairs[column]] for column in ("first", "second")}


if __name__ == "__main__":
    sys.exit(main(["demo", "-o", str(ROOT / "out")]))
