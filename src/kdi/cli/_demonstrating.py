"""kdi demo: show what kdi finds in California housing, which the package includes, and run the commands on it."""

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
from kdi._plots.style import new_figure
from kdi._sketch.partitions import ArrayPartitions
from kdi._tables.sources import require_pyarrow
from kdi._transformer.transformer import KDITransformer
from kdi._utils.atomic_write import atomic_write, target_path
from kdi._utils.names import format_names
from kdi._utils.typing import Float64Array
from kdi.cli._arguments import parse
from kdi.cli._correlating import pair_text
from kdi.cli._drawing import require_matplotlib, save_plot
from kdi.cli._errors import CommandError
from kdi.cli._outputs import print_text
from kdi.cli._text import aligned
from kdi.data import california_housing

TARGET = "MedHouseVal"
TABLE = "housing.csv.gz"
PRINTED_PAIRS = 5
DRAWN_FEATURES = ["MedInc", "AveRooms", "Population", "Latitude"]
SUMMARY_HEADER = ["", "min", "median", "max", "skewness", "after", "error bound"]
WRITTEN = {
    "explorer.html": "a page with everything; open it in a browser",
    "features.png": "four features before and after the transformation",
    "correlations.png": "all correlations by three coefficients",
    "correlations.csv": "the same as numbers",
    "clusters.png": "the natural groups of the latitudes",
    "scaled.csv": "the transformed table",
    "model.json": "the model, for kdi apply and kdi inverse",
    TABLE: "the table itself",
}


def demo(options: argparse.Namespace) -> None:
    """Print what kdi finds in the table, run the commands on it, and list the files that they wrote."""
    require_pyarrow()
    require_matplotlib()  # before the first file is written
    folder = os.path.expanduser(options.output)
    try:
        os.makedirs(folder, exist_ok=True)
    except FileExistsError as error:
        raise CommandError(f"--output must be a folder, got the file {folder!r}.") from error
    paths = {name: os.path.join(folder, name) for name in WRITTEN}
    _check_folder(folder, paths)
    with atomic_write(target_path(paths[TABLE], "a table")) as temporary:
        shutil.copyfile(california_housing(), temporary)
    names, table = read_housing()
    features, values = names[:-1], table[:, :-1]
    print_text(f"California housing: {len(values):,} districts, {len(features)} features, and a value to predict.\n\n")
    print_text(f"{summary(features, values)}\n")
    pairs = compare_partitioned(ArrayPartitions(values, None, names=features))
    print_text(f"Correlations that differ most:\n{pair_text({k: v[:PRINTED_PAIRS] for k, v in pairs.items()})}\n")
    with save_plot(paths["features.png"], lambda: draw(features, values)):
        pass
    for command in commands(paths, features):
        print_text(f"$ kdi {shlex.join(command)}\n")
        parsed = parse(command)
        parsed.run(parsed)
    lines = aligned(["wrote", ""], [[f"  {paths[name]}", what] for name, what in WRITTEN.items()], left=2)
    print_text(f"\n{lines}\nThe same commands work on your own tables; kdi COMMAND --help shows more examples.\n")


def _check_folder(folder: str, paths: dict[str, str]) -> None:
    """Raise if files of the user would be replaced; files of an earlier demo, which wrote the table first, may be."""
    existing = [name for name in paths if os.path.lexists(paths[name])]
    is_demo = os.path.isfile(paths[TABLE]) and filecmp.cmp(paths[TABLE], california_housing(), shallow=False)
    if existing and not is_demo:
        raise CommandError(
            f"{folder!r} is not the folder of an earlier demo, and its {format_names(existing)} would be replaced; "
            "name another folder with -o."
        )


def read_housing() -> tuple[list[str], Float64Array]:
    """Read the names and values of the columns; the last one is the target."""
    with gzip.open(california_housing(), "rt") as lines:
        names = next(lines).strip().split(",")
        return names, np.loadtxt(lines, delimiter=",")


def summary(features: list[str], values: Float64Array) -> str:
    """Format one line per feature: its range, its skewness before and after, and the error bound of T."""
    transformer = KDITransformer().fit(values)
    before, after = (np.asarray(skew(one)) for one in (values, transformer.transform(values)))
    quantiles = np.quantile(values, [0, 0.5, 1], axis=0)
    rows = [
        [name, *(f"{one:.4g}" for one in quantiles[:, j]), f"{before[j]:.2f}", f"{after[j]:.2f}", f"{bound:.1e}"]
        for j, (name, bound) in enumerate(zip(features, transformer.error_bound_, strict=True))
    ]
    return aligned(SUMMARY_HEADER, rows)


def commands(paths: dict[str, str], features: list[str]) -> list[list[str]]:
    """Return the arguments of each command of the demo."""
    housing, columns = paths[TABLE], ["--columns", ",".join(features)]
    return [
        ["transform", housing, "-o", paths["scaled.csv"], "--save", paths["model.json"], *columns],
        ["corr", housing, "--compare", "-o", paths["correlations.csv"], "--plot", paths["correlations.png"], *columns],
        ["cluster", housing, "--column", "Latitude", "--plot", paths["clusters.png"]],
        ["explore", housing, "-o", paths["explorer.html"], "--title", "California housing"],
    ]


def draw(features: list[str], values: Float64Array) -> Any:
    """Draw four features before and after, at alpha = 1, 0 and infinity."""
    from kdi._plots.kdi_display import KDIDisplay

    figure = new_figure(12, 10)
    for axes, name in zip(figure.subplots(2, 2).flat, DRAWN_FEATURES, strict=True):
        KDIDisplay.from_data(values[:, features.index(name)], name=name, ax=axes)
    return figure
