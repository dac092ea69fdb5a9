"""The options of clustering: the same names, order and defaults in memory, with Dask and with Spark."""

import dataclasses
import importlib
import inspect

import pytest
from engines import missing

import kdi
from kdi._clustering.clusters import ClusterOptions

FIELDS = {field.name: field.default for field in dataclasses.fields(ClusterOptions)}


def keyword_options(function):
    """The keyword-only parameters of a function and their defaults, without weights."""
    parameters = inspect.signature(function).parameters.values()
    found = {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}
    assert found.pop("weights") is None
    return list(found.items())


def test_cluster_has_the_fields_and_defaults_of_its_options():
    assert keyword_options(kdi.cluster) == list(FIELDS.items())


@pytest.mark.parametrize(("engine", "package"), [("dask", "dask.dataframe"), ("spark", "pyspark")])
def test_engines_have_them_too(engine, package):
    try:
        importlib.import_module(package)
    except ImportError:
        missing(f"{package} is not installed")
    module = importlib.import_module(f"kdi.{engine}")
    assert keyword_options(module.cluster) == list(FIELDS.items())


def test_the_fields_are_in_the_decided_order():
    assert list(FIELDS) == ["alpha", "bandwidth", "kernel", "order", "n_clusters", "min_size", "significance"]


def test_they_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ClusterOptions().alpha = 2.0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alpha", -1.0),
        ("bandwidth", 0.0),
        ("kernel", "box"),
        ("order", 0),
        ("order", 2.5),
        ("n_clusters", 0),
        ("n_clusters", 2.5),
        ("n_clusters", True),
        ("min_size", -1),
        ("significance", 1.0),
    ],
)
def test_wrong_values_are_refused_before_anything_is_read(name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*, got {value!r}"):
        ClusterOptions(**{name: value})
    with pytest.raises(ValueError, match=f"{name} must be .*, got {value!r}"):
        kdi.cluster([], **{name: value})
