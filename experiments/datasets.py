"""Data of the experiments as arrays: what is shipped, what comes with scikit-learn, and the Small Data Benchmarks.

The benchmarks (Feldman 2021) are ARFF files of UCI++, read as their author reads them: numeric columns as numbers, the
others one-hot, labels as integers; sets in which any class has 15 rows or fewer are left out, and of more than 10,000
rows that many are drawn with seed 0. A number that is missing is NaN; a category that is missing is one of its own.
"""

import csv
import gzip
import hashlib
import os
import re
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

HERE = Path(__file__).parent
CALIFORNIA = HERE.parent / "examples" / "data" / "california_housing.csv.gz"
REGRESSION = ("california", "abalone")
CLASSIFICATION = ("wine", "iris", "penguins", "hawks")
MISSING = ("", "NA")

VARIABLE = "KDI_UCI_ARCHIVE"
SHA256 = "be5a8e3ee58799ad2c2d3331c2324683cb001f705d604ae6c7645553eebc1242"
SOURCE = "a tar.xz of 137 ARFF files of UCI++ (doi 10.5281/zenodo.13748)"
FEWEST = 16  # rows of a class
MOST = 10_000  # rows of a set

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{]+)\s*(.*)", re.IGNORECASE)
VALUE = re.compile(rf"\s*({QUOTED}|[^,]*?)\s*(,|$)")
ENTRY = re.compile(rf"(\d+)\s+({QUOTED}|[^,}}\s]+)")  # of a sparse row: index and value


# What is shipped or comes with scikit-learn.


def regression(name: str) -> tuple[Floats, Floats]:
    """Features and target: "california" (8 features) or "abalone" (three sexes and seven measurements)."""
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
    """Measurements and classes of "wine", "iris", "penguins" or "hawks", of rows that are complete."""
    if name in ("wine", "iris"):
        table, labels = (load_wine if name == "wine" else load_iris)(return_X_y=True)
        return table, labels.astype(np.int64)
    if name == "penguins":
        # Complete in all columns, sex and island too: the 333 rows that others take.
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
    """Name, features and labels of each set, the smallest files first.

    Sets with more rows, or with more columns after one-hot, than asked for are left out, mostly without being read.
    """
    archive = find_archive(path)
    return usable(archive_files(archive), most_rows, most_columns)


def find_archive(path: str | os.PathLike[str] | None = None) -> Path:
    """The path that was given, or that of the environment, once it is known to be the right file."""
    given = path or os.environ.get(VARIABLE)
    if not given:
        raise FileNotFoundError(f"the Small Data Benchmarks need {SOURCE}; set {VARIABLE} to its path")
    archive = Path(given)
    if not archive.is_file():
        raise FileNotFoundError(f"no file {archive}; set {VARIABLE} to the path of {SOURCE}")
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise ValueError(
            f"{archive} is not the archive that these experiments use, {SOURCE}: "
            f"its SHA-256 is {found}, not {SHA256}; set {VARIABLE} to the path of that one"
        )
    return archive


def archive_files(archive: Path) -> list[tuple[str, "Arff"]]:
    """All files by name, the shortest first; their rows are still text."""
    texts = {}
    with tarfile.open(archive, "r:xz") as members:
        for member in members:
            if member.name.lower().endswith(".arff"):
                texts[Path(member.name).stem] = members.extractfile(member).read().decode("utf-8", "replace")
    ordered = sorted(texts.items(), key=lambda item: (len(item[1]), item[0]))
    return [(name, Arff.parse(text)) for name, text in ordered]


def usable(
    files: Iterable[tuple[str, "Arff"]], most_rows: int | None, most_columns: int | None
) -> Iterator[tuple[str, Floats, Labels]]:
    for name, file in files:
        if most_rows is not None and len(file.lines) > most_rows:
            continue
        table, labels = file.arrays()
        if np.bincount(labels).min() < FEWEST or (most_columns is not None and table.shape[1] > most_columns):
            continue
        if len(table) > MOST:
            rows = np.random.RandomState(0).choice(len(table), MOST, replace=False)
            table, labels = table[rows], labels[rows]
        yield name, table, labels


# ARFF.


@dataclass(frozen=True)
class Arff:
    """What a file declares, and the lines of its rows."""

    attributes: list[tuple[str, str]]  # name and type
    lines: list[str]

    @classmethod
    def parse(cls, text: str) -> "Arff":
        lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("%")]
        start = next((index for index, line in enumerate(lines) if line.lower().startswith("@data")), None)
        if start is None:
            raise ValueError("no @data in this ARFF file")
        declared = [ATTRIBUTE.match(line) for line in lines[:start]]
        return cls([(unquoted(one[1]), one[2].strip()) for one in declared if one], lines[start + 1 :])

    def columns(self) -> list[tuple[str, ...]]:
        """The values of each attribute as text, "?" where they are missing."""
        rows = [self._sparse(line) if line.startswith("{") else split(line) for line in self.lines]
        wrong = next((index for index, row in enumerate(rows) if len(row) != len(self.attributes)), None)
        if wrong is not None:
            raise ValueError(f"row {wrong} has {len(rows[wrong])} values for {len(self.attributes)} attributes")
        return list(zip(*rows, strict=True))

    def arrays(self, label: str = "Class") -> tuple[Floats, Labels]:
        """Features and labels of the rows whose label is there; the order is that of the attributes."""
        names = [name.lower() for name, _ in self.attributes]
        place = names.index(label.lower())
        columns = self.columns()
        known = np.array(columns[place]) != "?"
        tables = [
            numbers(column) if is_numeric(kind) else one_hot(column)
            for index, (column, (_, kind)) in enumerate(zip(columns, self.attributes, strict=True))
            if index != place
        ]
        return np.column_stack(tables)[known], integers([one for one in columns[place] if one != "?"])

    def _sparse(self, line: str) -> list[str]:
        """What a sparse row leaves out is 0, or the first of the categories; of a text nobody knows."""
        row = [left_out(kind) for _, kind in self.attributes]
        for index, value in ENTRY.findall(line):
            row[int(index)] = unquoted(value)
        return row


def left_out(kind: str) -> str:
    if is_numeric(kind):
        return "0"
    return split(kind.strip("{} "))[0] if kind.startswith("{") else "?"


def is_numeric(kind: str) -> bool:
    return kind.lower().startswith(("numeric", "real", "integer"))


def split(line: str) -> list[str]:
    if "'" not in line and '"' not in line:  # nearly always, and much faster
        return [value.strip() for value in line.split(",")]
    values, position, more = [], 0, True
    while more:
        found = VALUE.match(line, position)
        values.append(unquoted(found[1]))
        position, more = found.end(), found[2] == ","
    return values


def unquoted(value: str) -> str:
    if len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]:
        return re.sub(r"\\(.)", r"\1", value[1:-1])
    return value


def numbers(column: Sequence[str]) -> Floats:
    return np.array(["nan" if value == "?" else value for value in column]).astype(float)


def one_hot(column: Sequence[str]) -> Floats:
    """A column for each category that occurs, sorted; "?" is one of them."""
    levels, codes = np.unique(np.array(column), return_inverse=True)
    return np.eye(len(levels))[codes]


def integers(labels: Sequence[str]) -> Labels:
    return np.unique(np.array(labels), return_inverse=True)[1].astype(np.int64)
