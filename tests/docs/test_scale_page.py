"""docs/scale.md: every block of code runs, on files and engines, and its numbers are those of the benchmarks.

The examples of kdi.spark run here too, since these need a session.
"""

import inspect

import numpy as np
import pandas as pd
import pytest
from engines import missing
from pages import blocks, read, run_text

import kdi
from kdi._numerics.kernels import get_kernel
from kdi._sketch.cells import (
    DEFAULT_CAPACITY,
    LARGE_COUNT,
    MAX_CELLS,
    MAX_TABLE_CELLS,
    MIN_COLUMN_CELLS,
    capacity_for,
    cell_width_for,
)

PAGE = read("docs/scale.md")
BLOCKS = blocks(PAGE, "python")
ENGINES = ("kdi.dask", "kdi.spark")


@pytest.fixture
def frame(rng):
    height = np.concatenate([rng.normal(size=200), rng.normal(9, 1, size=100)])
    return pd.DataFrame({"height": height, "width": rng.lognormal(size=300)})


def block_with(word):
    (block,) = [block for block in BLOCKS if word in block]
    return block


def test_there_are_blocks():
    assert len(BLOCKS) == 5  # files, sketches, Dask, Spark, saved models


def test_files(frame, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "measurements").mkdir()
    for name in ("measurements/a", "measurements/b", "monday", "tuesday"):
        frame.to_parquet(f"{name}.parquet")
    names = {}
    for block in BLOCKS:
        if not any(engine in block for engine in ENGINES):
            exec(block, names)
    written = pd.read_parquet("scaled.parquet")
    assert written.shape == (600, 2)
    assert written["height"].between(0, 1).all()
    assert names["both"]["height"].count == 600
    assert names["same"].transform(frame).tolist() == names["transformer"].transform(frame).tolist()
    assert "600" in capsys.readouterr().err


def test_dask(frame):
    try:
        import dask.dataframe as dd
    except ImportError:
        missing("dask is not installed")
    names = {"kdi": kdi, "frame": dd.from_pandas(frame, npartitions=3)}
    exec(block_with("kdi.dask.fit"), names)
    expected = kdi.KDITransformer().fit_transform(frame)
    assert abs(names["scaled"].compute().to_numpy() - expected).max() < 1e-9


def test_spark(frame, spark):
    names = {"kdi": kdi, "df": spark.createDataFrame(frame.assign(label="a")).repartition(3)}
    exec(block_with("kdi.spark.fit"), names)
    assert names["scaled"].columns == ["height", "width", "label"]
    assert {row["cluster"] for row in names["labelled"].collect()} == {0, 1}


def test_examples_of_spark(spark):
    """Those of the docstrings, which are skipped where there is no session."""
    names = {"kdi": kdi, "spark": spark}
    for name in kdi.spark.__all__:
        text = inspect.getdoc(getattr(kdi.spark, name)).replace("  # doctest: +SKIP", "")
        assert run_text(text, f"kdi.spark.{name}", dict(names)) > 0


def test_limits_are_as_said():
    kernel = get_kernel("polyexp")
    assert (DEFAULT_CAPACITY, MAX_CELLS, MAX_TABLE_CELLS, MIN_COLUMN_CELLS, LARGE_COUNT) == (
        32_768,
        2**19,
        2**23,
        2048,
        200e6,
    )
    assert MAX_TABLE_CELLS // DEFAULT_CAPACITY == 256
    assert capacity_for(kernel, 1.0, 256).cells == capacity_for(kernel, 1.0, 1).cells == DEFAULT_CAPACITY
    assert capacity_for(kernel, 0.0, 1).values == 2**25
    width = cell_width_for(kernel, 1.0, LARGE_COUNT)
    assert width == pytest.approx(0.028, abs=5e-4)
    assert 3 * (LARGE_COUNT / (width / 2) ** 2) ** (1 / 3) < DEFAULT_CAPACITY


def test_numbers_are_those_of_the_benchmarks():
    results = read("benchmarks/results/results.md").splitlines()
    shown = [line for line in PAGE.split("## Numbers")[1].splitlines() if line.startswith("|")]
    assert len(shown) > 12
    assert not [line for line in shown if line not in results]
