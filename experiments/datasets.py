"""Data of the experiments as arrays: from this repository, from scikit-learn, and from the Small Data Benchmarks.

The benchmarks (Feldman 2021) are ARFF files of UCI++, read as their author reads them: numeric columns as numbers, the
others one-hot, labels as integers. Sets in which any class has 15 rows or fewer are left out; from sets with more than
10,000 rows, 10,000 are drawn with seed 0. A missing number is NaN; missing categories form one of their own.
"""

import csv
import gzip
import hashlib
import os
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import arff
from sklearn.datasets import load_iris, load_wine

from kdi.data import california_housing

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

HERE = Path(__file__).parent
CALIFORNIA = Path(california_housing())
REGRESSION = ("california", "abalone")
CLASSIFICATION = ("wine", "iris", "penguins", "hawks")
MISSING = ("", "NA")

VARIABLE = "KDI_UCI_ARCHIVE"
SHA256 = "be5a8e3ee58799ad2c2d3331c2324683cb001f705d604ae6c7645553eebc1242"
SMALLEST = HERE / "data" / "small_data_benchmarks_smallest.tar.xz"  # the twelve smallest files, for quick runs
SMALLEST_SHA256 = "a1dac9fc2b2d7a3dd3c92263067373e5ffe7fa1d43259551f0b43c14160e8f98"
SOURCE = "a tar.xz of 137 ARFF files of UCI++ (doi 10.5281/zenodo.13748)"
FEWEST = 16  # rows of a class
MOST = 10_000  # rows of a set


class NoArchive(FileNotFoundError):
    """The archive of the Small Data Benchmarks is missing, or its path is not given."""


class WrongArchive(ValueError):
    """The file is not the archive that the experiments use."""


# Data of this repository and of scikit-learn.


def regression(name: str) -> tuple[Floats, Floats]:
    """Load features and target of "california" (8 features) or "abalone" (three sexes and seven measurements)."""
    if name == "california":
        with gzip.open(CALIFORNIA, "rt", encoding="utf-8") as file:
            table = np.loadtxt(file, delimiter=",", skiprows=1)
        return table[:, :-1], table[:, -1]
    if name == "abalone":
        rows = shipped("abalone.csv")
        sexes = one_hot([row.pop("Sex") for row in rows])
        table = np.array([list(row.values()) for row in rows], dtype=float)
        return np.column_stack([sexes, table[:, :-1]]), table[:, -1]
    raise ValueError(f"name must be one of {REGRESSION}, got {name!r}")


def classification(name: str) -> tuple[Floats, Labels]:
    """Load measurements and classes of the complete rows of "wine", "iris", "penguins" or "hawks"."""
    if name in ("wine", "iris"):
        table, labels = (load_wine if name == "wine" else load_iris)(return_X_y=True)
        return table, labels.astype(np.int64)
    if name == "penguins":
        # Complete in all columns, sex and island too: the 333 rows that are commonly used.
        features = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")
        return complete(shipped("penguins.csv"), features, "species")
    if name == "hawks":
        return complete(shipped("hawks.csv"), ("Wing", "Weight", "Culmen", "Hallux", "Tail"), "Species")
    raise ValueError(f"name must be one of {CLASSIFICATION}, got {name!r}")


def shipped(name: str) -> list[dict[str, str]]:
    with (HERE / "data" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def complete(rows: Iterable[dict[str, str]], features: Sequence[str], label: str) -> tuple[Floats, Labels]:
    whole = [row for row in rows if not any(value in MISSING for value in row.values())]
    table = np.array([[row[name] for name in features] for row in whole], dtype=float)
    return table, integers([row[label] for row in whole])


# The Small Data Benchmarks.


def benchmarks(
    path: str | os.PathLike[str] | None = None, *, most_rows: int | None = None, most_columns: int | None = None
) -> Iterator[tuple[str, Floats, Labels]]:
    """Yield name, features and labels of each set, the smallest files first.

    Sets with more rows or, after one-hot encoding, more columns than the limits are left out, mostly unread.
    """
    archive = find_archive(path)
    return usable(archive_files(archive), most_rows, most_columns)


def find_archive(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the given path, or that of the environment variable, after checking the file."""
    given = path or os.environ.get(VARIABLE)
    if not given:
        raise NoArchive(f"the Small Data Benchmarks need {SOURCE}; set {VARIABLE} to its path")
    archive = Path(given)
    if not archive.is_file():
        raise NoArchive(f"no file {archive}; set {VARIABLE} to the path of {SOURCE}")
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found not in (SHA256, SMALLEST_SHA256):
        raise WrongArchive(
            f"{archive} is not the archive that these experiments use, {SOURCE}: "
            f"its SHA-256 must be {SHA256}, got {found}; set {VARIABLE} to the path of that archive"
        )
    return archive


def published_scores() -> dict[str, float]:
    """Read the AUC per set that Feldman (2021) published: a linear support vector classifier after min-max scaling."""
    rows = shipped("small_data_benchmarks_published.csv")
    return {row["dataset"]: float(row["linear_svc_minmax_auc"]) for row in rows}


def archive_files(archive: Path) -> list[tuple[str, str]]:
    """Read names and texts of all files, the shortest first."""
    texts = {}
    with tarfile.open(archive, "r:xz") as members:
        for member in members:
            if member.name.lower().endswith(".arff"):
                texts[Path(member.name).stem] = members.extractfile(member).read().decode("utf-8", "replace")
    return sorted(texts.items(), key=lambda item: (len(item[1]), item[0]))


def usable(
    files: Iterable[tuple[str, str]], most_rows: int | None, most_columns: int | None
) -> Iterator[tuple[str, Floats, Labels]]:
    """Yield the sets within the limits whose classes are large enough."""
    for name, text in files:
        if most_rows is not None and text.count("\n") > 2 * most_rows + 1000:  # so that the largest are not read
            continue
        table, labels = arff_arrays(text)
        if most_rows is not None and len(table) > most_rows:
            continue
        if np.bincount(labels).min() < FEWEST or (most_columns is not None and table.shape[1] > most_columns):
            continue
        yield name, *drawn(table, labels)


def drawn(table: Floats, labels: Labels) -> tuple[Floats, Labels]:
    """Draw MOST rows of a set that has more."""
    if len(table) <= MOST:
        return table, labels
    rows = np.random.RandomState(0).choice(len(table), MOST, replace=False)
    return table[rows], labels[rows]


def arff_arrays(text: str, label: str = "class") -> tuple[Floats, Labels]:
    """Read features, in the order of their attributes, and labels of an ARFF file."""
    table, meta = arff.loadarff(StringIO(text))
    columns = {name: table[name] for name in meta.names()}
    (target,) = (name for name in columns if name.lower() == label)
    labels = columns.pop(target)
    features = [values if values.dtype.kind == "f" else one_hot(values) for values in columns.values()]
    return np.column_stack(features).astype(float), integers(labels)


@cache  # for all folds of a set
def as_published(name: str) -> tuple[Floats, Labels]:
    """Read a set as Feldman's program reads it, which differs from the above.

    Categories that are numbers are one numeric column, one-hot columns follow after all numeric ones, and classes are
    numbered in the order of their first rows.
    """
    with tarfile.open(find_archive(), "r:xz") as members:
        (text,) = (members.extractfile(one).read().decode() for one in members if Path(one.name).stem == name)
    table, meta = arff.loadarff(StringIO(text))
    numeric, others, labels = [], [], np.empty(0)
    for column in meta.names():
        if column.lower() == "class":
            _, first, codes = np.unique(np.array(table[column]), return_index=True, return_inverse=True)
            labels = np.argsort(np.argsort(first))[codes]
            continue
        try:
            numeric.append(table[column].astype(float))
        except ValueError:
            others.append(one_hot(table[column]))
    return drawn(np.column_stack([*numeric, *others]), labels.astype(np.int64))


def one_hot(column: Any) -> Floats:
    """Make one column per category that occurs, in sorted order; "?" is one of them."""
    levels, codes = np.unique(np.array(column), return_inverse=True)
    return np.eye(len(levels))[codes]


def integers(labels: Any) -> Labels:
    return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)
