"""The NumPy twins: function by function against the compiled core, whole models, and the core tests once more."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paths import HELPERS
from samples import ALPHAS, KERNELS, SAMPLES, sample

from kdi import Sketch
from kdi._integral.build import build_map
from kdi._integral.integral import rounding_error
from kdi._integral.maps import PackedMaps
from kdi._numerics import _core, numpy_core
from kdi._numerics.kernels import get_kernel
from kdi._sketch.cells import LINEAR_RANGE

IN_PURE_PYTHON = os.environ.get("KDI_PURE_PYTHON", "0") not in ("", "0")


def some_table(dtype, layout="C", n=3000):
    names = [name for name in SAMPLES if name != "offset-1e9" or dtype == np.float64]  # one number in float32
    table = np.array([sample(name, n) for name in names]).T.astype(dtype, order=layout)
    table[::17, 2] = np.nan
    return table


EVERY_TYPE = pytest.mark.parametrize("dtype", [np.float64, np.float32])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True])


def weights_for(table, weighted):
    return np.random.default_rng(0).integers(0, 3, size=len(table)).astype(float) if weighted else None


@WEIGHTED
@EVERY_TYPE
@pytest.mark.parametrize("layout", ["C", "F"])
def test_scan(layout, dtype, weighted):
    table = some_table(dtype, layout)
    weights = weights_for(table, weighted)
    pure = numpy_core.scan(table, weights, 1)
    for n_threads in (1, 3):
        compiled = _core.scan(table, weights, n_threads)
        assert_array_equal(compiled[[0, 1, 2, 5, 6]], pure[[0, 1, 2, 5, 6]])  # extremes and counts
        assert_allclose(compiled[3], pure[3], rtol=1e-12)
        assert_allclose(compiled[4], pure[4], rtol=1e-6)  # the spread, to a few digits


@pytest.mark.parametrize("weights", [None, np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])])
def test_scan_counts_values_that_are_not_finite(weights):
    table = np.array([[1.0, np.nan, np.inf], [np.nan, np.nan, -np.inf], [2.0, np.nan, 1.0]])
    compiled, pure = _core.scan(table, weights, 1), numpy_core.scan(table, weights, 1)
    assert_array_equal(compiled[[0, 1, 2, 5]], pure[[0, 1, 2, 5]])
    for scan in (compiled, pure):  # by the extremes or by the count
        assert_array_equal(
            np.isin(scan[:2], [np.inf, -np.inf]).any(axis=0)[[0, 2]] | (scan[6, [0, 2]] > 0), [False, True]
        )


@WEIGHTED
@EVERY_TYPE
@pytest.mark.parametrize("layout", ["C", "F"])
def test_fill(layout, dtype, weighted):
    table = some_table(dtype, layout)
    weights = weights_for(table, weighted)
    stats = numpy_core.scan(table, weights, 1)
    width = 2.0 ** np.floor(np.log2((stats[1] - stats[0]) / 500))
    scale, first = 1 / width, np.floor(stats[0] / width).astype(int)
    n_cells = [int(n) for n in np.floor(stats[1] / width) - first + 1]
    pure = numpy_core.fill(table, weights, scale, first.tolist(), n_cells, 1)
    for n_threads in (1, 3):
        compiled = _core.fill(table, weights, scale, first.tolist(), n_cells, n_threads)
        for (keys, moments, n), (expected_keys, expected_moments, expected_n) in zip(compiled, pure, strict=True):
            assert_array_equal(keys, expected_keys)
            assert n == expected_n
            assert_allclose(moments, expected_moments, rtol=0, atol=1e-12 * len(table))


@WEIGHTED
@EVERY_TYPE
@pytest.mark.parametrize("name", ["normal", "cauchy", "poisson"])
def test_accumulate(name, dtype, weighted):
    column = np.repeat(sample(name, 3000).astype(dtype), 2)[::2]  # with a stride
    column[[5, 6, 7, 8]] = np.nan, np.inf, -np.inf, 1e30
    weights = weights_for(column, weighted)
    results = []
    for module in (_core, numpy_core):
        moments = np.zeros((64, 4))
        moments[3] = 1.0  # what was there stays
        results.append((*module.accumulate(column, weights, 8.0, -20, moments), moments))
    (compiled, outside, mass, moments), (expected, far, far_mass, expected_moments) = results
    assert compiled == expected
    assert_array_equal(outside, far)
    assert_array_equal(mass, far_mass)
    assert len(mass) == (len(outside) if weighted else 0)
    assert_allclose(moments, expected_moments, rtol=0, atol=1e-10)
    total = np.isfinite(column).sum() if weights is None else weights[np.isfinite(column)].sum()
    assert moments[:, 0].sum() - 1 + (mass.sum() if weighted else len(outside)) == total


@WEIGHTED
@EVERY_TYPE
@pytest.mark.parametrize("n_known", [0, 1, 7, 500])
def test_tally(n_known, dtype, weighted, rng):
    column = (rng.integers(-300, 300, size=3000) / 4).astype(dtype)
    column[[5, 6, 7, 8]] = np.nan, np.inf, -np.inf, -0.0
    weights = weights_for(column, weighted)
    known_values = np.unique(rng.integers(-300, 300, size=n_known) / 4)
    results = []
    for module in (_core, numpy_core):
        masses = np.ones(len(known_values))
        results.append((*module.tally(column, weights, known_values, masses), masses))
    for one, other in zip(*results, strict=True):
        assert_array_equal(one, other)
    summary, outside, _, masses = results[0]
    assert not set(outside) & set(known_values)
    counted = np.isin(column, known_values)
    assert masses.sum() - len(known_values) == (counted.sum() if weights is None else weights[counted].sum())
    assert summary[2:] == [
        np.isfinite(column).sum() if weights is None else (weights[np.isfinite(column)] > 0).sum(),
        *(1, 2, 0),
    ]


@pytest.mark.parametrize("name", ["normal", "cauchy", "poisson", "offset-1e9"])
@pytest.mark.parametrize("exponent", [-1040, -8, 0, 700])
def test_sorted_cells(name, exponent, rng):
    values = np.unique(np.ldexp(sample(name, 3000) if name != "offset-1e9" else 1e4 + sample(name, 3000) % 1, exponent))
    weights = rng.exponential(size=len(values))
    results = []
    for module in (_core, numpy_core):
        cells, moments = module.cut(values, weights, exponent - 6)
        wider, wider_moments = module.widen(cells, moments, 3)
        keys, both = module.merge(cells, moments, wider[::2].copy(), wider_moments[::2].copy())
        masses = module.merge(values, weights[:, None], values[::3].copy(), weights[::3, None].copy())
        times = [module.doublings(cells, 0, most) for most in (1, 2, 7, 100, len(cells))]
        times += [module.doublings(values, exponent - 6, most) for most in (2, 100, len(values))]
        far = module.widen(cells, moments, 900)
        results.append([cells, moments, wider, wider_moments, keys, both, *masses, times, *far])
    for one, other in zip(*results, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(("kernel", "order"), KERNELS)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("name", SAMPLES)
def test_integrate(name, exact, kernel, order, alpha):
    values = sample(name, 800)
    chosen, bandwidth = get_kernel(kernel, order), alpha * values.std()
    sketch = Sketch.from_values(values, cell_width=None if exact else bandwidth / 16)
    positions, moments = sketch.offsets, sketch.moments / sketch.weight
    knots = np.linspace(0, sketch.range, 300)
    arguments = (positions, moments, sketch.cell_width, chosen.order, bandwidth * chosen.scale, knots)
    for one, other, unit in zip(
        _core.integrate(*arguments), numpy_core.integrate(*arguments), (1, bandwidth), strict=True
    ):
        assert_allclose(one * unit, other * unit, rtol=0, atol=1e-11)
    if kernel == "gaussian" or order > 2 or exact:  # else the slope's expansion meets a jump
        units = (bandwidth, bandwidth**2)
        for one, other, unit in zip(_core.slopes(*arguments), numpy_core.slopes(*arguments), units, strict=True):
            assert_allclose(one * unit, other * unit, rtol=0, atol=1e-9)  # the exponentials turn fast


@WEIGHTED
@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("alpha", [0.0, 1e-300, 0.05, 1.0, 10.0, 1e5, np.inf])
@pytest.mark.parametrize("kernel", ["gaussian", "polyexp"])
def test_levels(kernel, alpha, layout, weighted):
    extra = np.zeros((3000, 4))
    extra[:, 0], extra[:, 1], extra[7, 2] = 3.0, np.nan, np.inf  # a constant, nothing, an infinite value
    extra[:, 3] = 1.7e308 * np.linspace(-1, 1, 3000)  # a range beyond float64
    table = np.asarray(np.c_[some_table(np.float64), extra][::7], order=layout)
    weights = np.random.default_rng(0).uniform(0.5, 3, size=len(table)) if weighted else None
    chosen, alphas = get_kernel(kernel), np.full(table.shape[1], alpha)
    kernel_arguments = (chosen.order, chosen.scale, LINEAR_RANGE, rounding_error(chosen, len(table)))
    pure, compiled = np.empty_like(table), np.empty_like(table)
    errors = numpy_core.levels(table, weights, pure, alphas, *kernel_arguments, 1)
    for n_threads in (1, 3):
        bounds = _core.levels(table, weights, compiled, alphas, *kernel_arguments, n_threads)
        assert_array_equal(np.isnan(compiled), np.isnan(pure))
        assert (np.nan_to_num(abs(compiled - pure)).max(axis=0) <= bounds + 1e-14).all()
        assert_allclose(bounds, errors, rtol=1e-6, atol=1e-15)


def test_cubics(rng):
    levels = np.cumsum(rng.exponential(size=200) ** 3)
    levels = np.r_[0, levels] / levels[-1]
    for slopes in (np.gradient(levels), np.zeros(201), rng.exponential(size=201), np.full(201, 5.0)):
        compiled, pure = _core.cubics(levels, slopes, 1e-8), numpy_core.cubics(levels, slopes, 1e-8)
        assert_allclose(compiled[0], pure[0], rtol=0, atol=1e-15)
        assert compiled[1] == pytest.approx(pure[1], abs=1e-15)


@EVERY_TYPE
@pytest.mark.parametrize("policy", [0, 1, 2])
@pytest.mark.parametrize("relative_bandwidth", [0, 0.1, 1.0, np.inf])
@pytest.mark.parametrize("name", [*SAMPLES, "constant", "missing"])
def test_forward_and_inverse(name, relative_bandwidth, policy, dtype):
    rng = np.random.default_rng(1)
    column = {"constant": np.full(500, 3.0), "missing": np.full(500, np.nan)}.get(name)
    column = sample(name, 500) if column is None else column
    low, high = np.nan_to_num([column.min(), column.max()])
    bandwidth = relative_bandwidth * (high - low) / 5 if high > low else 0.0
    column_map = build_map(Sketch.from_values(column), get_kernel("polyexp"), bandwidth)
    packed = [module.PackedMaps(*PackedMaps.pack([column_map]).arrays) for module in (_core, numpy_core)]
    around = low + (high - low + 1) * rng.uniform(-0.5, 1.5, size=300)
    levels = np.r_[rng.uniform(-0.3, 1.3, size=300), 0, 1, np.nan]
    for function, given in [("forward", np.r_[column, around, low, high, np.nan]), ("inverse", levels)]:
        given = given[:, None].astype(dtype)
        compiled, pure = np.empty_like(given), np.empty_like(given)
        assert getattr(_core, function)(packed[0], given, compiled, policy, 2) == -1
        assert getattr(numpy_core, function)(packed[1], given, pure, policy, 1) == -1
        assert_array_equal(np.isnan(compiled), np.isnan(pure))
        unit = 1 if function == "forward" else max(high - low, 1)
        if dtype == np.float64:
            assert_allclose(compiled, pure, rtol=1e-12, atol=1e-10 * unit)
        else:
            assert_allclose(compiled, pure, rtol=2e-7, atol=1e-10 * unit)


@pytest.mark.parametrize("name", ["forward", "inverse"])
def test_both_name_the_column_of_an_infinite_value(name):
    maps = [build_map(Sketch.from_values([0.0, 1.0]), get_kernel("gaussian"), 0.3)] * 3
    values = np.zeros((4, 3))
    values[2, 1] = -np.inf
    for module in (_core, numpy_core):
        packed = module.PackedMaps(*PackedMaps.pack(maps).arrays)
        assert getattr(module, name)(packed, values, np.empty_like(values), 0, 1) == 1


@pytest.mark.parametrize("name", ["forward", "inverse"])
@pytest.mark.parametrize("module", [_core, numpy_core])
def test_the_leftmost_of_several_infinite_columns_is_returned(module, name):
    maps = [build_map(Sketch.from_values([0.0, 1.0]), get_kernel("gaussian"), 0.3)] * 4
    values = np.zeros((4000, 4))
    values[3999, 1], values[0, 3] = np.inf, -np.inf
    packed = module.PackedMaps(*PackedMaps.pack(maps).arrays)
    assert {getattr(module, name)(packed, values, np.empty_like(values), 0, n_threads) for n_threads in (1, 2, 3)} == {
        1
    }


@EVERY_TYPE
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("policy", [0, 1, 2])
@pytest.mark.parametrize("name", ["forward", "inverse"])
def test_stored_values_are_mapped_as_in_a_table(name, policy, index, dtype):
    rng = np.random.default_rng(4)
    sketches = [Sketch.from_values(column) for column in rng.lognormal(size=(4, 50))]
    maps = [build_map(one, get_kernel("polyexp"), h) for one, h in zip(sketches, (0.0, 0.1, 1.0, np.inf), strict=True)]
    maps += [
        build_map(Sketch(), get_kernel("polyexp"), 1.0),
        build_map(Sketch.from_values([3.0]), get_kernel("polyexp"), 1),
    ]
    table = rng.uniform(-1, 4, size=(700, len(maps))).astype(dtype)
    table[rng.uniform(size=table.shape) < 0.1] = np.nan
    rows, columns = np.nonzero(rng.uniform(size=table.shape) < 0.3)
    order = np.argsort(columns, kind="stable") if index == np.int32 else slice(None)  # as in CSC, and as in CSR
    rows, columns = rows[order], columns[order].astype(index)
    for module in (_core, numpy_core):
        packed, expected = module.PackedMaps(*PackedMaps.pack(maps).arrays), np.empty_like(table)
        assert getattr(module, name)(packed, table, expected, policy, 1) == -1
        for n_threads in (1, 3):
            values = table[rows, columns]
            assert getattr(module, f"{name}_stored")(packed, columns, values, values, policy, n_threads) == -1
            assert_array_equal(values, expected[rows, columns])
            values[[-1, 3]] = np.inf
            found = getattr(module, f"{name}_stored")(packed, columns, values, values.copy(), policy, n_threads)
            assert found == min(columns[-1], columns[3])


@pytest.mark.slow
def test_the_switch():
    code = "from kdi._numerics.backend import core; print(core.__name__)"
    for value, expected in [
        ("1", "kdi._numerics.numpy_core"),
        ("0", "kdi._numerics._core"),
        ("", "kdi._numerics._core"),
    ]:
        environment = {**os.environ, "KDI_PURE_PYTHON": value}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


@pytest.mark.slow
def test_a_missing_extension_is_replaced(tmp_path):
    code = """
import sys
sys.modules["kdi._numerics._core"] = None  # what an import of it then meets is an ImportError
import kdi, numpy as np
from kdi._numerics.backend import core
assert core.__name__ == "kdi._numerics.numpy_core"
print(kdi.KDITransformer().fit_transform(np.arange(5.0)[:, None])[-1, 0])
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "1.0"


WHOLE_MODELS = """
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from samples import SAMPLES, sample
from kdi import KDE1D, KDITransformer, Sketch
result = {}
table = np.column_stack([sample(name, 4000) for name in SAMPLES])
weights = np.arange(4000) % 3
for alpha in (0, 0.05, 0.3, 1.0, 10.0, np.inf):
    for kernel in ("gaussian", "polyexp"):
        for output in ("uniform", "normal"):
            model = KDITransformer(alpha, kernel=kernel, output_distribution=output, out_of_range="linear")
            key = f"{alpha}-{kernel}-{output}"
            result["whole " + key] = model.fit(table).transform(table * 1.1)
            result["weighted " + key] = model.fit(table, sample_weight=weights).transform(table)
            if output == "uniform":
                model.fit(table[:1000]).partial_fit(table[1000:])
                result["chunks " + key] = model.transform(table)
                levels = np.tile(np.linspace(0, 1, 200)[:, None], table.shape[1])
                result["inverse " + key] = model.inverse_transform(levels) / np.ptp(table, axis=0)
                result["bound " + key] = model.error_bound_
large = np.random.default_rng(0).lognormal(size=(60_000, 1))
result["large"] = KDITransformer().fit(large).transform(large[:5000])
result["float32"] = KDITransformer().fit(large.astype(np.float32)).transform(large[:5000])
for kernel in ("gaussian", "polyexp"):
    kde = KDE1D(table[:, 1], kernel=kernel)
    at = np.linspace(-1, 20, 300)
    result[f"pdf {kernel}"], result[f"cdf {kernel}"] = kde.pdf(at), kde.cdf(at)
    result[f"ppf {kernel}"] = kde.ppf(np.linspace(0.01, 0.99, 50))
np.savez(sys.argv[2], **result)
"""


@pytest.mark.slow
def test_whole_models_are_the_same(tmp_path):
    results = []
    for pure in ("0", "1"):
        environment = {**os.environ, "KDI_PURE_PYTHON": pure}
        target = tmp_path / f"{pure}.npz"
        command = [sys.executable, "-W", "error", "-c", WHOLE_MODELS, str(HELPERS), str(target)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        results.append(np.load(target))
    assert results[0].files == results[1].files
    for key in results[0].files:
        compiled, pure = (one[key] for one in results)
        if "normal" in key:  # a score is steep where a level is near 0 or 1
            middle = abs(compiled) < 3
            compiled, pure = compiled[middle], pure[middle]
            assert_allclose(compiled, pure, rtol=0, atol=1e-7, err_msg=key)
        else:
            assert_allclose(compiled, pure, rtol=1e-10, atol=1e-10, err_msg=key)
