"""Saved models: to_json and from_json give the same model to the last bit, as pickle does."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_models import SMALL, assert_same, quietly, saved_and_read
from sklearn.exceptions import NotFittedError

import kdi
from kdi import KDIDiscretizer, KDITransformer

numbers = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True).filter(lambda x: abs(x) < 1e307)
columns = st.one_of(
    st.lists(numbers, min_size=8, max_size=8),
    st.lists(st.one_of(st.floats(-10, 10), st.just(float("nan"))), min_size=8, max_size=8),
    st.lists(st.sampled_from([-0.0, 0.0, 1.0, 0.1, 1e9 + 0.1]), min_size=8, max_size=8),
    st.floats(-1e9, 1e9).map(lambda x: [x] * 8),
    st.just([float("nan")] * 8),
)
factors = st.one_of(st.sampled_from([0, 0.0, 1.0, 0.3, 1e-3, 50, np.inf, "scott", "silverman"]), st.floats(0, 1e6))
weights = st.none() | st.lists(st.sampled_from([0.0, 0.1, 1.0, 3.0]), min_size=8, max_size=8).filter(any)


@st.composite
def tables(draw):
    table = np.array(draw(st.lists(columns, min_size=1, max_size=3))).T
    kind = draw(st.sampled_from(["array", "narrow", "frame"]))
    if kind == "narrow":
        return np.clip(table, -1e30, 1e30).astype(np.float32)
    return pd.DataFrame(table, columns=["größe", 'a "name"', "\n"][: table.shape[1]]) if kind == "frame" else table


@st.composite
def alphas(draw, table):
    n_features = table.shape[1]
    kind = draw(st.sampled_from(["one", "list", "array", "dict"]))
    if kind == "list":
        return draw(st.lists(factors, min_size=n_features, max_size=n_features))
    if kind == "array":
        return np.array(draw(st.lists(st.sampled_from([0, 1, np.inf]), min_size=n_features, max_size=n_features)))
    if kind == "dict" and hasattr(table, "columns"):
        return draw(st.dictionaries(st.sampled_from(list(table.columns)), factors))
    return draw(factors)


@pytest.mark.slow
@settings(max_examples=150)
@given(st.data())
def test_transformers(data):
    table = data.draw(tables())
    model = KDITransformer(
        data.draw(alphas(table)),
        kernel=data.draw(st.sampled_from(["polyexp", "gaussian"])),
        order=data.draw(st.sampled_from([1, 4, np.int64(2)])),
        output_distribution=data.draw(st.sampled_from(["uniform", "normal"])),
        out_of_range=data.draw(st.sampled_from(["clip", "linear", "nan"])),
        max_knots=data.draw(st.sampled_from([None, 2, 5, np.int32(20)])),
        n_jobs=data.draw(st.sampled_from([None, 1, -1])),
        copy=data.draw(st.sampled_from([True, False, np.True_])),
    )
    mass = data.draw(weights)
    quietly(model.fit, table, sample_weight=mass)
    result = saved_and_read(model)
    assert_same(model, result)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(table[::-1] if isinstance(table, np.ndarray) else table.iloc[::-1])
        result.partial_fit(table[::-1] if isinstance(table, np.ndarray) else table.iloc[::-1])
        assert_same(model, result)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_discretizers(data):
    table = data.draw(tables())
    model = KDIDiscretizer(
        data.draw(alphas(table)),
        n_bins=data.draw(st.sampled_from(["auto"] * 6 + [2, np.int64(3)])),
        bandwidth=data.draw(st.sampled_from(["scott", "silverman", 0.1, np.float32(0.5)])),
        encode=data.draw(st.sampled_from(["onehot", "onehot-dense", "ordinal"])),
        missing="bin",
        strategy=data.draw(st.sampled_from(["valley", "uniform"])),
        kernel=data.draw(st.sampled_from(["polyexp", "gaussian"])),
        order=data.draw(st.sampled_from([1, 4, np.int64(2)])),
        min_size=data.draw(st.sampled_from([None, 0.2, 2])),
        significance=data.draw(st.sampled_from([None, 0.05])),
        inverse_strategy=data.draw(st.sampled_from(["center", "median", "midpoint"])),
    )
    try:
        quietly(model.fit, table, sample_weight=data.draw(weights))
    except ValueError:  # no so many clusters
        return
    assert_same(model, saved_and_read(model))


def large(n=20_000, seed=3):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.normal(size=n), 1e9 + rng.exponential(size=n), -rng.lognormal(sigma=3, size=n), rng.poisson(3, size=n)]
    )


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0, 1e-7, 0.01, 1.0, 1e3, np.inf])
@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
def test_cells(alpha, kernel):
    model = KDITransformer(alpha, kernel=kernel).fit(large())
    result = saved_and_read(model)
    assert_same(model, result)
    more = large(40_000, seed=4)
    assert_same(model.partial_fit(more), result.partial_fit(more))


@pytest.mark.slow
def test_what_came_in_parts():
    model = KDITransformer()
    for seed in range(3):
        model.partial_fit(large(seed=seed))
    assert_same(model, saved_and_read(model))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"strategy": "uniform", "alpha": 0.1}, {"alpha": 0}])
def test_discretizer_of_cells(options):
    model = KDIDiscretizer(**options).fit(large(5000)[:, :3])
    assert_same(model, saved_and_read(model))


def test_parameters_come_back_plain():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 5.0, 4.0]})
    model = KDITransformer(
        {"b": np.float32(0.5), "a": np.inf}, order=np.int64(3), max_knots=np.uint8(9), copy=np.False_
    )
    parameters = saved_and_read(model.fit(frame)).get_params()
    assert parameters == model.get_params()
    kinds = {type(value) for value in [*parameters.values(), *parameters["alpha"].values()]}
    assert kinds == {dict, str, int, bool, float, tuple, type(None)}
    for alpha in (np.array([0.5, np.inf]), (0.5, np.inf), pd.Series([0.5, np.inf])):
        assert saved_and_read(KDITransformer(alpha).fit(frame)).alpha == [0.5, np.inf]
    assert saved_and_read(KDITransformer([0.5, "scott"]).fit(frame)).alpha == [0.5, "scott"]
    assert saved_and_read(KDITransformer(10**30).fit(frame)).alpha == 10**30


def test_parameters_changed_after_fit_are_kept():
    model = KDITransformer().fit([[1.0], [2.0]]).set_params(alpha=3.0, out_of_range="linear")
    assert_same(model, saved_and_read(model))
    assert saved_and_read(model).alpha == 3
    with pytest.raises(ValueError, match="out_of_range"):
        model.set_params(out_of_range="wrap").to_json()
    with pytest.raises(ValueError, match="alpha"):
        KDITransformer().fit([[1.0]]).set_params(alpha=object()).to_json()


def test_subclasses():
    class Own(KDITransformer):
        pass

    model = Own(0.5).fit([[1.0], [2.0], [4.0]])
    assert_same(model, saved_and_read(model))
    assert type(Own.from_json(KDITransformer().fit([[1.0]]).to_json())) is Own


@pytest.mark.parametrize("model", [KDITransformer(), KDIDiscretizer()])
def test_not_fitted(model):
    with pytest.raises(NotFittedError):
        model.to_json()


def test_it_can_be_read_by_people():
    model = KDITransformer(max_knots=4, out_of_range="linear")
    text = model.fit(pd.DataFrame({"height": [1.5, 1.6, 1.9], "weight": [50.0, 60.1, np.nan]})).to_json()
    assert text.isascii()
    assert len(text.splitlines()) < 70
    lines = [line.strip() for line in text.splitlines()]
    assert lines[1] == '"format": "kdi.KDITransformer",'
    assert f'"kdi": "{kdi.__version__}",' in lines
    assert '"values": [50.0, 60.1],' in lines
    document = json.loads(text)
    assert [feature["name"] for feature in document["features"]] == ["height", "weight"]
    assert list(document) == ["format", "version", "kdi", "parameters", "n_samples_seen", "maps", "features"]


def test_there_is_no_code_inside():
    text = KDITransformer().fit([[1.0], [2.0]]).to_json()
    assert "import" not in text
    assert "numpy" not in text


@pytest.mark.parametrize("name", SMALL)
def test_pickles(name):
    assert_same(pickle.loads(pickle.dumps(SMALL[name])), SMALL[name])


@pytest.mark.slow
def test_a_new_process_reads_what_this_one_wrote(tmp_path):
    model = KDITransformer(0.5).fit(large()[:, :2])
    (tmp_path / "model.json").write_text(model.to_json())
    code = (
        "import sys, kdi, numpy as np; model = kdi.KDITransformer.from_json(open(sys.argv[1]).read()); "
        "print(model.transform([[0.3, 1e9 + 1]]).tobytes().hex())"
    )
    found = subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.json")], capture_output=True, text=True)
    assert found.stdout.strip() == model.transform([[0.3, 1e9 + 1]]).tobytes().hex(), found.stderr
