"""kdi corr and kdi cluster give what kdi.corr, kdi.compare_correlations and kdi.cluster give."""

import io

import numpy as np
import pandas as pd
import pytest
from cli_runs import files_in, houses, refused, run
from pandas.api.types import is_numeric_dtype

import kdi
import kdi.cli._clustering

FEATURES = ["income", "rooms", "households"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    houses().to_csv("houses.csv", index=False)
    return tmp_path


@pytest.fixture
def frame():
    return houses()


def printed(capsys):
    return pd.read_csv(io.StringIO(capsys.readouterr().out))


# Correlations


def test_the_matrix(folder, frame, capsys):
    run("corr", "houses.csv")
    found = printed(capsys).set_index("column")
    expected = kdi.corr(frame[FEATURES])
    assert list(found) == list(found.index) == FEATURES
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_alpha_weights_and_columns(folder, frame):
    run("corr", "houses.csv", "--columns", "income,rooms", "--alpha", "0", "--weights", "households", "-o", "a.parquet")
    found = pd.read_parquet("a.parquet").set_index("column")
    expected = kdi.corr(frame[["income", "rooms"]], alpha=0, weights=frame["households"])
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("compare, correlate", [([], kdi.corr), (["--compare"], kdi.compare_correlations)])
def test_the_order_of_the_kernel(folder, frame, compare, correlate):
    run("corr", "houses.csv", "--order", "1", "-o", "a.parquet", *compare)
    found, expected = pd.read_parquet("a.parquet"), correlate(frame[FEATURES], order=1)
    default = correlate(frame[FEATURES])
    numbers = [name for name in expected if is_numeric_dtype(expected[name])]
    np.testing.assert_allclose(found[numbers], expected[numbers], rtol=0, atol=1e-9)
    assert abs(expected[numbers] - default[numbers]).max(axis=None) > 1e-4


def test_pair_by_pair(folder, frame, capsys):
    run("corr", "houses.csv", "--compare", "--alpha", "0.5")
    pd.testing.assert_frame_equal(
        printed(capsys), kdi.compare_correlations(frame[FEATURES], alpha=0.5), rtol=0, atol=1e-9
    )


def test_a_column_that_is_called_column(folder, frame, capsys):
    frame[["income", "rooms"]].set_axis(["column", "column_"], axis=1).to_csv("odd.csv", index=False)
    run("corr", "odd.csv")
    assert list(printed(capsys)) == ["column__", "column", "column_"]


@pytest.mark.parametrize("suffix, start", [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
@pytest.mark.parametrize("compare", [[], ["--compare"]])
def test_pictures_of_correlations(folder, suffix, start, compare, capsys):
    run("corr", "houses.csv", "--plot", f"a.{suffix}", *compare)
    assert (folder / f"a.{suffix}").read_bytes().startswith(start)


@pytest.mark.slow
def test_pictures_of_many_columns(folder, rng):
    for n in (2, 20, 70):
        pd.DataFrame(rng.normal(size=(30, n))).to_csv("many.csv", index=False)
        run("corr", "many.csv", "--plot", f"{n}.png", "-o", "out.csv")
    assert {"2.png", "20.png", "70.png"} < set(files_in(folder))


def test_a_picture_that_cannot_be_drawn_leaves_no_table(folder, capsys, monkeypatch):
    def fail(*_):
        raise ValueError("no ink")

    monkeypatch.setattr("kdi.cli._correlating.draw_matrix", fail)
    assert "no ink" in refused(capsys, "corr", "houses.csv", "-o", "out.csv", "--plot", "out.png")
    assert files_in(folder) == ["houses.csv"]


def test_comparisons_need_two_columns(folder, capsys):
    assert "--compare needs at least two numeric columns, got only 'income'" in refused(
        capsys, "corr", "houses.csv", "--compare", "--columns", "income"
    )


# Clusters


@pytest.mark.parametrize(
    "options, parameters",
    [
        ([], {}),
        (["--n-clusters", "3", "--bandwidth", "0.2"], {"n_clusters": 3, "bandwidth": 0.2}),
        (["--alpha", "0.3", "--bandwidth", "0.1"], {"alpha": 0.3, "bandwidth": 0.1}),
        (["--kernel", "gaussian", "--min-size", "0.2"], {"kernel": "gaussian", "min_size": 0.2}),
        (["--order", "1", "--bandwidth", "0.1"], {"order": 1, "bandwidth": 0.1}),
        (["--bandwidth", "0.05", "--significance", "0.01"], {"bandwidth": 0.05, "significance": 0.01}),
    ],
)
def test_groups(folder, frame, capsys, options, parameters):
    run("cluster", "houses.csv", "--column", "income", *options)
    found, expected = printed(capsys), kdi.cluster(frame["income"], **parameters)
    assert found["cluster"].tolist() == list(range(expected.n_clusters))
    ends = [frame["income"].min(), *expected.boundaries, frame["income"].max()]
    np.testing.assert_allclose(found["from"], ends[:-1], rtol=1e-9)
    np.testing.assert_allclose(found["to"], ends[1:], rtol=1e-9)
    np.testing.assert_allclose(found["center"], expected.centers, rtol=1e-9)
    np.testing.assert_array_equal(found["size"], expected.sizes)
    np.testing.assert_allclose(found["depth"], [*expected.depths, np.nan], atol=1e-9)


def test_weights_of_clusters(folder, frame, capsys):
    run("cluster", "houses.csv", "--column", "income", "--weights", "households", "--plot", "a.png")
    expected = kdi.cluster(frame["income"], weights=frame["households"])
    np.testing.assert_allclose(printed(capsys)["size"], expected.sizes)
    assert (folder / "a.png").exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_the_table_with_its_groups(folder, frame, suffix):
    run("cluster", "houses.csv", "--column", "rooms", "-o", f"a.{suffix}", "--bandwidth", "0.1")
    found = pd.read_parquet("a.parquet") if suffix == "parquet" else pd.read_csv("a.csv", dtype={"key": str})
    expected = kdi.cluster(frame["rooms"], bandwidth=0.1)
    assert found["rooms_cluster"].tolist() == expected.labels.tolist()
    assert found["rooms_cluster"][3] == -1
    assert found.drop(columns="rooms_cluster").equals(frame)


def test_the_clustered_column_stays_as_it_is_written(folder):
    (folder / "a.csv").write_text("x,y\n1.50,a\n 2.0,b\n1e2,c\nNA,d\n007,e\n")
    run("cluster", "a.csv", "--column", "x", "-o", "b.csv", "--n-clusters", "2", "--bandwidth", "0.3")
    assert (folder / "b.csv").read_text() == "x,y,x_cluster\n1.50,a,0\n 2.0,b,0\n1e2,c,1\nNA,d,-1\n007,e,0\n"


def test_groups_beside_a_table_on_standard_output(folder, capsys):
    run("cluster", "houses.csv", "--column", "income", "-o", "-")
    out, err = capsys.readouterr()
    assert out.startswith("key,city,income,rooms,households,income_cluster\n")
    assert err.split()[:6] == ["cluster", "from", "to", "center", "size", "depth"]


@pytest.mark.slow
def test_pictures_of_more_values_than_are_drawn(folder, monkeypatch, capsys, rng):
    monkeypatch.setattr(kdi.cli._clustering, "MAX_DRAWN", 100)
    for values in (rng.normal(size=300), rng.normal(size=50_000), rng.integers(0, 5, 300)):
        pd.DataFrame({"x": values}).to_csv("a.csv", index=False)
        run("cluster", "a.csv", "--column", "x", "--plot", "a.png")
    assert (folder / "a.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_clustered(folder, capsys):
    (folder / "taken.csv").write_text("x,x_cluster\n1,0\n2,1\n")
    cases = {
        ("houses.csv", "--column", "city"): "column 'city' of houses.csv must be numeric",
        ("houses.csv", "--column", "income,rooms"): "houses.csv has no column 'income,rooms'",
        ("houses.csv", "--column", "income", "--format", "parquet"): "--format parquet needs -o -",
        ("taken.csv", "--column", "x", "-o", "a.csv"): "already has a column 'x_cluster', which -o would add",
        ("houses.csv", "--column", "income", "--n-clusters", "500"): "500",
    }
    for arguments, message in cases.items():
        assert message in refused(capsys, "cluster", *arguments)
    assert files_in(folder) == ["houses.csv", "taken.csv"]
