"""kdi demo: what kdi finds in California housing, which comes with the package, and the commands that write it."""

from __future__ import annotations

import argparse
import filecmp
import gzip
import os
import shlex
import shutil
from typing import Any

import numpy as np
from scipy.stats import skew

from kdi._correlation.comparison import compare_partitioned
from kdi._sketch.partitions import ArrayPartitions
from kdi._tables.sources import require_pyarrow
from kdi._transformer.transformer import KDITransformer
from kdi._utils.atomic_write import atomic_write, target_path
from kdi._utils.names import format_names
from kdi._utils.typing import Float64Array
from kdi.cli._arguments import parse
from kdi.cli._correlating import pair_text
from kdi.cli._drawing import new_figure, picture_beside
from kdi.cli._errors import CommandError
from kdi.cli._outputs import print_text
from kdi.cli._text import aligned
from kdi.data import california_housing

TARGET = "MedHouseVal"
TABLE = "housing.csv.gz"
PAIRS = 5  # that are printed
DRAWN = ["MedInc", "AveRooms", "Population", "Latitude"]
HEADER = ["", "min", "median", "max", "skewness", "after", "error bound"]
WRITTEN = {
    "explorer.html": "all of it to look at; open it in a browser",
    "features.png": "four features before and after",
    "correlations.png": "all correlations by three coefficients",
    "correlations.csv": "the same in numbers",
    "clusters.png": "the natural groups of the latitudes",
    "scaled.csv": "the table transformed",
    "model.json": "the model, for kdi apply and kdi inverse",
    TABLE: "the table itself",
}


def demo(options: argparse.Namespace) -> None:
    """Print what kdi finds in the table, run the commands on it, and say what they wrote."""
    require_pyarrow()
    new_figure((1, 1))  # which needs matplotlib: what is missing is known before the first file is written
    folder = os.path.expanduser(options.output)
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError as error:
        raise CommandError(f"{folder!r} is a file, and no folder to write to.") from error
    path = {name: os.path.join(folder, name) for name in WRITTEN}
    _refuse_what_is_not_ours(folder, path)
    with atomic_write(target_path(path[TABLE], "a table")) as aside:
        shutil.copyfile(california_housing(), aside)
    names, table = read_housing()
    features, values = names[:-1], table[:, :-1]
    print_text(f"California housing: {len(values):,} districts, {len(features)} features, and a value to predict.\n\n")
    print_text(f"{summary(features, values)}\n")
    pairs = compare_partitioned(ArrayPartitions(values, None, names=features))
    print_text(f"Correlations that differ most:\n{pair_text({k: v[:PAIRS] for k, v in pairs.items()})}\n")
    with picture_beside(path["features.png"], lambda: draw(features, values)):
        pass
    for command in commands(path, features):
        print_text(f"$ kdi {shlex.join(command)}\n")
        parsed = parse(command)
        parsed.run(parsed)
    lines = aligned(["wrote", ""], [[f"  {path[name]}", what] for name, what in WRITTEN.items()], left=2)
    print_text(f"\n{lines}\nThe same commands take a table of yours; kdi COMMAND --help has more of them.\n")


def _refuse_what_is_not_ours(folder: str, path: dict[str, str]) -> None:
    """Raise where files of a user would be replaced: only an earlier demo, which starts with the table, is."""
    there = [name for name in path if os.path.lexists(path[name])]
    ours = os.path.isfile(path[TABLE]) and filecmp.cmp(path[TABLE], california_housing(), shallow=False)
    if there and not ours:
        raise CommandError(
            f"{folder!r} is not the folder of an earlier demo, but has {format_names(there)}, which would be replaced; -o "
            "names another."
        )


def read_housing() -> tuple[list[str], Float64Array]:
    """Names and values of the columns; the target is the last."""
    with gzip.open(california_housing(), "rt") as lines:
        names = next(lines).strip().split(",")
        return names, np.loadtxt(lines, delimiter=",")


def summary(features: list[str], values: Float64Array) -> str:
    """A line for each feature: its range, how lopsided it is before and after, and how exact T is."""
    transformer = KDITransformer().fit(values)
    before, after = (np.asarray(skew(one)) for one in (values, transformer.transform(values)))
    quantiles = np.quantile(values, [0, 0.5, 1], axis=0)
    rows = [
        [name, *(f"{one:.4g}" for one in quantiles[:, j]), f"{before[j]:.2f}", f"{after[j]:.2f}", f"{bound:.1e}"]
        for j, (name, bound) in enumerate(zip(features, transformer.error_bound_, strict=True))
    ]
    return aligned(HEADER, rows)


def commands(path: dict[str, str], features: list[str]) -> list[list[str]]:
    """What a person would type after `kdi`."""
    housing, columns = path[TABLE], ["--columns", ",".join(features)]
    return [
        ["transform", housing, "-o", path["scaled.csv"], "--save", path["model.json"], *columns],
        ["corr", housing, "--compare", "-o", path["correlations.csv"], "--plot", path["correlations.png"], *columns],
        ["cluster", housing, "--column", "Latitude", "--plot", path["clusters.png"]],
        ["explore", housing, "-o", path["explorer.html"], "--title", "California housing"],
    ]


def draw(features: list[str], values: Float64Array) -> Any:
    """Four features before and after, at alpha = 1 and in its two limits."""
    from kdi._plots.kdi_display import KDIDisplay

    figure = new_figure((12, 10))
    for axes, name in zip(figure.subplots(2, 2).flat, DRAWN, strict=True):
        KDIDisplay.from_data(values[:, features.index(name)], name=name, ax=axes)
    return figure
