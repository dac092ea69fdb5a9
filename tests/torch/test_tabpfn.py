"""TabPFNStep: a step of TabPFN's torch preprocessing, in TabPFN's own pipeline where that is installed."""

import copy
import inspect
import json
import pickle
import re
import warnings
from dataclasses import fields

import numpy as np
import pytest
from engines import missing, needed
from numpy.testing import assert_allclose, assert_array_equal
from pages import read

import kdi
from benchmarks import tabpfn as benchmark
from benchmarks.report import number

try:
    import torch
except ImportError as error:
    missing(f"torch is not installed ({error})")

import kdi.torch
from kdi.torch import TABPFN_ALPHAS, TabPFNStep
from kdi.torch._tabpfn import PRESETS, StepResult

pytestmark = pytest.mark.numpy_core

ROWS, TRAINED = 300, 200
OPTIONS = [
    {},
    {"output_distribution": "normal"},
    {"kernel": "gaussian", "feature_range": (-1, 1)},
    {"kernel": "polyexp", "order": 2, "spread": "robust"},
    {"output_distribution": "normal", "bounded": False, "out_of_range": "linear"},
]
CLOSE = 2e-3  # to kditransform, whose own error is up to 1.4e-3
DEVICES = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


@pytest.fixture(params=DEVICES)
def x(request, rng):
    """Rows, two batches and five columns: three distributions, ties with holes, and a constant."""
    shape = (ROWS, 2)
    columns = [rng.normal(size=shape), rng.lognormal(size=shape), rng.standard_cauchy(size=shape)]
    columns += [np.where(rng.uniform(size=shape) < 0.1, np.nan, rng.poisson(3, size=shape)), np.full(shape, 7.0)]
    return torch.from_numpy(np.stack(columns, axis=-1)).to(request.param)


def assert_close(found, wanted, tolerance):
    """Compare tensors or arrays; the sums of a GPU are rounded more coarsely than those of the CPU."""
    on_gpu = isinstance(found, torch.Tensor) and found.device.type == "cuda"
    found, wanted = (one.cpu().double() if isinstance(one, torch.Tensor) else one for one in (found, wanted))
    assert_allclose(found, wanted, rtol=0, atol=max(tolerance, 1e-6 if on_gpu else 0))


def assert_same(found, wanted):
    """Compare tensors that must be equal, NaN included."""
    assert_array_equal(found.detach().cpu().double(), wanted.detach().cpu().double())


def moved(cache, device="cpu"):
    """The cache as TabPFN's pipeline moves it."""
    return {name: tensor.to(device, copy=True) for name, tensor in cache.items()}


def expected(x, options, trained=TRAINED):
    """What KDITransformer gives for each batch."""
    columns = []
    for batch in x.cpu().double().numpy().swapaxes(0, 1):
        model = kdi.KDITransformer(**options).fit(batch[:trained])
        columns.append(model.transform(batch))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_is_the_transformer_of_each_batch(options, x):
    step = TabPFNStep(0.5, **options)
    cache = moved(step.fit(x[:TRAINED]))
    assert_close(step.transform(x, fitted_cache=cache), expected(x, {"alpha": 0.5} | options), 1e-9)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_and_missing_values_are_kept(dtype, x):
    x = x.to(getattr(torch, dtype))
    before = x.clone()
    step = TabPFNStep()
    found = step.transform(x, step.fit(x[:TRAINED]))
    assert found.dtype == x.dtype and found.shape == x.shape
    assert_same(torch.isnan(found), torch.isnan(x))
    assert_same(x.float(), before.float())
    tolerance = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-12}[dtype]
    assert_close(found.double(), expected(x, {}), tolerance)


def test_the_cache_is_a_dict_of_tensors_without_float64(x):
    cache = TabPFNStep().fit(x)
    assert all(isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in cache.items())
    assert {tensor.dtype for tensor in cache.values()} <= {torch.int64, torch.int32}
    assert len(cache) == 5


def test_columns_without_values_and_infinite_ones(x):
    x[:, 0, 0], x[::3, :, 1], x[0, :, 2] = torch.nan, torch.inf, -torch.inf
    step = TabPFNStep("scott")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = step(x, TRAINED)
    assert (
        torch.isnan(found[:, 0, 0]).all() and torch.isnan(found[::3, :, 1]).all() and torch.isnan(found[0, :, 2]).all()
    )
    finite = torch.where(torch.isinf(x), torch.nan, x)
    assert_same(found, step(finite, TRAINED))


def test_some_columns_of_a_step_and_its_cache_for_later_rows(x):
    before, step = x.clone(), TabPFNStep(2.0)
    result = step.fit_transform(x, column_indices=[3, 0], num_train_rows=TRAINED)
    assert_same(x, before)
    assert (result.added_columns, result.added_modality, result.schema_permutation) == (None, None, None)
    whole = expected(x, {"alpha": 2.0})
    assert_close(result.x[..., [0, 3]], whole[..., [0, 3]], 1e-12)
    assert_same(result.x[..., [1, 2, 4]], before[..., [1, 2, 4]])
    cache = moved(result.fitted_cache)
    later = step.fit_transform(x[TRAINED:], column_indices=[3, 0], num_train_rows=0, fitted_cache=cache)
    assert_same(later.x, result.x[TRAINED:])
    assert later.fitted_cache is cache


def test_target_columns_are_those_of_the_step(x):
    step = TabPFNStep(target_column_indices=[1])
    result = step.fit_transform(x, column_indices=[0, 1, 2, 3, 4], num_train_rows=TRAINED)
    assert_same(result.x[..., 1:2], step(x[..., 1:2], TRAINED))
    assert_same(result.x[..., [0, 2, 3, 4]], x[..., [0, 2, 3, 4]])


def test_no_column_to_transform(x):
    step = TabPFNStep(target_column_indices=[])
    result = step.fit_transform(x, column_indices=[0, 1], num_train_rows=TRAINED)
    assert_same(result.x, x)
    later = step.fit_transform(x, column_indices=[0, 1], num_train_rows=0, fitted_cache=moved(result.fitted_cache))
    assert_same(later.x, x)


@pytest.mark.parametrize(("output", "value"), [("uniform", 0.0), ("normal", -5.199337582605575)])
def test_a_constant_column(output, value, x):
    transformer = kdi.KDITransformer(output_distribution=output).fit(x[:, 0].cpu().numpy())
    assert_allclose(transformer.transform(x[:, 0].cpu().numpy())[:, 4], value)
    assert_close(TabPFNStep(1.0, output)(x)[..., 4], np.full((ROWS, 2), value), 1e-12)


def test_compiled(x):
    """Its checks break the graph; the results are the same."""
    step = TabPFNStep()
    cache = step.fit(x[:TRAINED])
    torch._dynamo.reset()
    compiled = torch.compile(step.transform, backend="eager")
    assert_close(compiled(x, cache), step.transform(x, cache).cpu(), 1e-10)


def test_methods_of_the_abstract_class(x):
    step = TabPFNStep()
    cache = step._fit(x[:TRAINED])
    transformed, *others = step._transform(x, fitted_cache=cache)
    assert others == [None, None]
    assert_same(transformed, step(x, TRAINED))
    assert_same(step(x), step(x, num_train_rows=len(x)))
    assert step.added_feature_prefix() == "TabPFNStep"
    assert repr(step) == "TabPFNStep(alpha=1.0, output_distribution='uniform')"


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda step: pickle.loads(pickle.dumps(step))], ids=["copy", "pickle"]
)
def test_copies_and_pickles(copied, x):
    step = TabPFNStep(0.3, "normal", target_column_indices=[2])
    assert vars(copied(step)) == vars(step)
    assert_same(copied(step)(x), step(x))


def test_results_are_differentiable(x):
    rows = x[:20, :, :3].clone().requires_grad_()
    step = TabPFNStep()
    result = step.fit_transform(rows, column_indices=[0, 1], num_train_rows=20).x
    result.sum().backward()
    assert (rows.grad[..., :2] >= 0).all() and (rows.grad[..., :2] > 0).any() and (rows.grad[..., 2] == 1).all()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_all_alphas_from_one_pass(options, x):
    step = TabPFNStep(**options)
    caches = step.fit_alphas(x[:TRAINED])
    assert list(caches) == list(TABPFN_ALPHAS) and len(TABPFN_ALPHAS) == 17
    for alpha, cache in caches.items():
        alone = TabPFNStep(alpha, **options)
        separate = alone.transform(x, alone.fit(x[:TRAINED]))
        assert_close(step.transform(x, moved(cache)), separate, 1e-6)
        assert_close(alone.transform(x, moved(cache)), separate, 1e-6)


def test_all_alphas_of_a_longer_table(rng):
    x = torch.from_numpy(rng.lognormal(size=(20_000, 1, 3)))
    step = TabPFNStep()
    for alpha, cache in step.fit_alphas(x, [3.0, 0.05, 1.0]).items():
        assert_close(step.transform(x, cache), TabPFNStep(alpha)(x), 1e-6)


def test_presets():
    assert len(PRESETS) == 36
    for name, (alpha, output) in PRESETS.items():
        step = TabPFNStep.from_preset(name, target_column_indices=[0])
        assert (step.alpha, step.output_distribution, step.target_column_indices) == (alpha, output, [0])
    for name in ("norm_and_kdi", "kdi_alpha_0.7", "quantile_uni"):
        with pytest.raises(ValueError, match="name must be one of TabPFN's presets"):
            TabPFNStep.from_preset(name)


def test_wrong_calls(x):
    step = TabPFNStep()
    cache = step.fit(x)
    with pytest.raises(ValueError, match="fitted_cache must be what fit returned, 'columns' is missing"):
        step.transform(x, {"quantiles": x})
    with pytest.raises(ValueError, match="10 columns in total, got"):
        step.transform(x[..., :3], cache)
    with pytest.raises(ValueError, match="alphas must be numbers above 0"):
        step.fit_alphas(x, [0.0, 1.0])
    with pytest.raises(ValueError, match="kernel must be"):
        TabPFNStep(kernel="box").fit(x)


def test_the_page_shows_the_measured_times():
    results = json.loads(read("benchmarks/results/tabpfn.json"))["results"]
    one, every, first, differences = (results[part] for part in ("one", "all", "first", "differences"))
    page = read("docs/adopting.md")
    rows = {
        "TabPFN 9.2, `KDITransformerWithNaN`": (benchmark.UNIT, benchmark.UNIT),
        "the same with the loops of": (benchmark.FORKED, benchmark.FORKED),
        "the same class on": (benchmark.COMPAT, benchmark.COMPAT),
        "`kdi.torch.TabPFNStep`, float32": (benchmark.STEP_32, None),
        "`kdi.KDITransformer` (step 2)": (benchmark.NATIVE, benchmark.NATIVE),
    }
    for start, (name, in_all) in rows.items():
        times = [number(one[output][name]["both"]["min"]) for output in ("uniform", "normal")]
        times.append("–" if in_all is None else number(every[in_all]["min"]))
        (line,) = [line for line in page.splitlines() if line.startswith(f"| {start}")]
        assert line.endswith(f"| {' | '.join(times)} |"), f"{start}: measured {times}"
    for name, import_and_fit in first.items():
        for part in ("import", "fit"):
            assert re.search(rf"\b{measured_number(import_and_fit[part]['min'])}\b", page), (name, part)
    compared = {
        "levels, alpha = 1": differences["alpha"]["1.0"],
        "levels, alpha = 0.05": differences["alpha"]["0.05"],
        "normal scores between −2 and 2, alpha = 1": differences["scores"][benchmark.INNER],
        "all normal scores, alpha = 1": differences["scores"][benchmark.OUTER],
    }
    for start, found in compared.items():
        assert f"| {start} | {number(found[benchmark.COMPAT])} | {number(found[benchmark.NATIVE])} |" in page
    assert [round(differences["missing"][share], 2) for share in ("0.05", "0.2")] == [0.01, 0.04]


def measured_number(milliseconds):
    """A time as the text gives it: two significant digits."""
    return f"{float(f'{milliseconds:.2g}'):g}"


# TabPFN itself: pip install tabpfn==9.2.0 kditransform==1.2.0, beside a torch that is there already. No weights.


@pytest.fixture(scope="module")
def tabpfn():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return needed("tabpfn.preprocessing.torch")


@pytest.fixture
def schema(tabpfn):
    """Five columns, of which the fourth is categorical."""
    return tabpfn.FeatureSchema.from_only_categorical_indices([3], 5)


def modality(name):
    from tabpfn.preprocessing.datamodel import FeatureModality

    return {FeatureModality[name]}


def test_contract(tabpfn):
    theirs, ours = tabpfn.TorchPreprocessingStep, TabPFNStep
    assert theirs.__abstractmethods__ == {"_fit", "_transform"}
    for name in ("fit_transform", "_fit", "_transform", "added_feature_prefix"):
        assert list(inspect.signature(getattr(ours, name)).parameters) == list(
            inspect.signature(getattr(theirs, name)).parameters
        )
    stateless = tabpfn.TorchQuantileTransformer
    for name in ("fit", "transform", "__call__"):
        assert list(inspect.signature(getattr(ours, name)).parameters) == list(
            inspect.signature(getattr(stateless, name)).parameters
        )
    assert [one.name for one in fields(StepResult)] == [one.name for one in fields(tabpfn.TorchPreprocessingStepResult)]


def test_in_the_pipeline(tabpfn, schema, x):
    pipeline = tabpfn.TorchPreprocessingPipeline([(TabPFNStep(0.5), modality("NUMERICAL"))], keep_fitted_cache=True)
    found = pipeline(x.clone(), schema, num_train_rows=TRAINED)
    whole = expected(x, {"alpha": 0.5})
    assert_close(found.x[..., [0, 1, 2, 4]], whole[..., [0, 1, 2, 4]], 1e-12)
    assert_same(found.x[..., 3], x[..., 3])
    assert found.feature_schema.feature_names == schema.feature_names
    assert all(tensor.device.type == "cpu" for tensor in pipeline.fitted_cache[0].values())
    later = pipeline(x[TRAINED:].clone(), schema, use_fitted_cache=True)
    assert_same(later.x, found.x[TRAINED:])
    copied = pickle.loads(pickle.dumps(pipeline))
    assert_same(copied(x[TRAINED:].clone(), schema, use_fitted_cache=True).x, later.x)


def test_tables_without_a_batch(tabpfn, schema, x):
    pipeline = tabpfn.TorchPreprocessingPipeline([(TabPFNStep(), None)])
    found = pipeline(x[:, 0].clone(), schema, num_train_rows=TRAINED).x
    assert_close(found, expected(x[:, :1], {})[:, 0], 1e-12)


def test_beside_steps_of_tabpfn(tabpfn, schema, x):
    x[5, 0, 0], x[7, 1, 2] = torch.inf, -torch.inf
    steps = [
        (TabPFNStep(target_column_indices=[0, 1, 2]), None),
        (tabpfn.TorchAddFingerprintFeaturesStep(), None),
        (tabpfn.TorchShuffleFeaturesStep("rotate", 1), None),
        (tabpfn.TorchSoftClipOutliersStep(n_sigma=12.0), modality("NUMERICAL")),
    ]
    pipeline = tabpfn.TorchPreprocessingPipeline(steps, keep_fitted_cache=True)
    found = pipeline(x.clone(), schema, num_train_rows=TRAINED)
    places = [found.feature_schema.feature_names.index(name) for name in schema.feature_names]
    assert found.x.shape == (ROWS, 2, 6) and places == [1, 2, 3, 4, 5]
    assert found.x[5, 0, places[0]] == torch.inf and found.x[7, 1, places[2]] == -torch.inf
    finite = torch.where(torch.isinf(x), torch.nan, x)
    inside = torch.isfinite(x[..., 0])
    assert_close(found.x[..., places[0]][inside], expected(finite, {})[..., 0][inside], 1e-9)


def test_caches_of_all_alphas_in_pipelines(tabpfn, schema, x):
    for alpha, cache in TabPFNStep().fit_alphas(x[:TRAINED]).items():
        pipeline = tabpfn.TorchPreprocessingPipeline([(TabPFNStep(alpha), None)], keep_fitted_cache=True)
        pipeline.fitted_cache[0] = cache
        found = pipeline(x[TRAINED:].clone(), schema, use_fitted_cache=True).x
        assert_close(found, TabPFNStep(alpha)(x, TRAINED)[TRAINED:], 1e-6)


def test_presets_are_those_of_tabpfn(tabpfn):
    from tabpfn.preprocessing.steps import kdi_transformer

    assert kdi_transformer.ALPHAS == TABPFN_ALPHAS
    presets = {
        name: (one.alpha, one.output_distribution) for name, one in kdi_transformer.get_all_kdi_transformers().items()
    }
    assert presets == PRESETS


@pytest.mark.parametrize("package", ["kditransform", "kdi.compat.kditransform"])
@pytest.mark.parametrize("preset", ["kdi_uni", "kdi", "kdi_alpha_0.3_uni", "kdi_alpha_5.0"])
def test_agrees_with_the_transformer_of_tabpfn(tabpfn, package, preset, rng):
    if package == "kditransform":
        pytest.importorskip("kditransform")
    table = benchmark.wine_table(1500)
    step = TabPFNStep.from_preset(preset)
    theirs = benchmark.wrapper_class(package)(alpha=step.alpha, output_distribution=step.output_distribution)
    reference = theirs.fit(table[:1200]).transform(table)
    found = step(torch.from_numpy(table)[:, None], 1200)[:, 0].numpy()
    inner = np.abs(reference) < 2
    assert_close(found[inner], reference[inner], CLOSE)
    holes = np.where(rng.uniform(size=table.shape) < 0.02, np.nan, table)
    assert_array_equal(np.isnan(theirs.transform(holes)), np.isnan(holes))
