"""Every backend beside the CPU's core: fits, look-ups, sketches, all options, all dtypes, messy columns."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from oracle import transform as direct_sum
from torch_backends import BACKENDS, choose, emulated_kernels, on_core

import kdi
import kdi.torch
from kdi.torch import _cuda

ROUNDING = {torch.float64: 1e-9, torch.float32: 4e-7, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
FITS = [
    {},
    {"alpha": 0.1, "kernel": "gaussian"},
    {"alpha": np.inf},
    {"alpha": [0.0, 0.1, 0.2, 1, 1, 1, 1, 1]},
    {"alpha": "scott", "order": 1},
    {"bounded": False},
    {"bounded": False, "output_distribution": "normal", "alpha": 0.5},
    {"bounded": False, "alpha": 0},
    {"spread": "robust", "alpha": 2},
    {"output_distribution": "normal"},
    {"feature_range": (-1, 1), "alpha": [0.1, 0.2, 0.3, 1, 2, 3, "silverman", 1]},
    {"max_knots": 20},
]


def messy_table(n=3000, seed=0):
    """Normal with NaN, lognormal, Cauchy, Poisson, constant, empty, an offset, and uniform with a single outlier."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n), rng.lognormal(size=n), rng.standard_cauchy(size=n), rng.poisson(4, size=n)]
    columns += [np.full(n, 7.5), np.full(n, np.nan), rng.normal(size=n) + 1000, rng.uniform(size=n)]
    table = np.column_stack(columns)
    table[::17, 0] = np.nan
    table[-1, 7] = 50.0
    return torch.from_numpy(table)


def describe(options):
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "default"


def fit_both(backend, monkeypatch, x, **options):
    """Return the maps of the CPU's core and of a backend, the latter on the CPU."""
    with on_core(monkeypatch):
        expected = kdi.torch.fit(x.cpu(), **options)
    maps = kdi.torch.fit(backend.put(x), **options)
    return expected, maps


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("options", FITS, ids=describe)
def test_fits_as_the_core_does(backend, monkeypatch, options, dtype):
    x = messy_table().to(dtype)
    expected, maps = fit_both(backend, monkeypatch, x, **options)
    assert maps.device == backend.device
    torch.testing.assert_close(maps.bandwidth.cpu(), expected.bandwidth, rtol=1e-9, atol=0, equal_nan=True)
    with on_core(monkeypatch):
        queries = torch.cat([x, x * 1.5, x - 3]).double()
        want, got = (kdi.torch.transform(queries, one) for one in (expected, maps.to("cpu")))
    assert torch.equal(want.isnan(), got.isnan())
    difference = (want - got).abs().nan_to_num(0.0).amax(0)
    if options.get("max_knots") or options.get("spread") == "robust" or "normal" in options.values():
        allowed = expected.error + maps.error.cpu() + 1e-8  # scores: errors of levels over their density
    else:
        allowed = torch.full_like(difference, 1e-9 if dtype == torch.float64 else 2e-9)
    assert (difference <= allowed).all(), (difference, allowed)


@pytest.mark.parametrize("dtype", list(ROUNDING))
@pytest.mark.parametrize("out_of_range", ["clip", "linear", "nan"])
@pytest.mark.parametrize("options", FITS, ids=describe)
def test_looks_up_as_the_core_does(backend, monkeypatch, options, out_of_range, dtype):
    x = messy_table(700)
    queries = torch.cat([x, x * 1.5, x - 3]).to(dtype)
    with on_core(monkeypatch):
        maps = kdi.torch.fit(x, **options)
        want = kdi.torch.transform(queries.double(), maps, out_of_range=out_of_range)
        levels = want.to(dtype)
        back = kdi.torch.inverse_transform(levels.double(), maps, out_of_range=out_of_range)
    maps = maps.to(backend.device)
    got = kdi.torch.transform(backend.put(queries), maps, out_of_range=out_of_range)
    assert got.dtype == dtype
    assert got.device == backend.device
    tolerance = ROUNDING[dtype]
    limit = torch.finfo(dtype).max  # of a steep line far beyond the ends
    torch.testing.assert_close(
        got.cpu().double(), want.clamp(-limit, limit), rtol=tolerance, atol=tolerance, equal_nan=True
    )
    found = kdi.torch.inverse_transform(backend.put(levels), maps, out_of_range=out_of_range).cpu()
    # Normal scores of levels near the ends are inverted to some digits only: compare what they are mapped to.
    if options.get("output_distribution") == "normal" and options.get("bounded", True):
        assert torch.equal(found.isnan(), back.isnan())
        return
    torch.testing.assert_close(
        found.double(), back.clamp(-limit, limit), rtol=tolerance, atol=tolerance, equal_nan=True
    )


@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 10.0])
def test_is_within_its_bound_of_the_direct_sum(backend, kernel, alpha):
    x = messy_table(2000)[:, [0, 1, 2, 3, 6]]
    maps = kdi.torch.fit(backend.put(x), alpha=alpha, kernel=kernel)
    for j, column in enumerate(x.T.numpy()):
        points = np.quantile(column[~np.isnan(column)], np.linspace(0, 1, 101))
        row = x[:101].clone()
        row[:, j] = torch.from_numpy(points)
        got = kdi.torch.transform(backend.put(row), maps)[:, j].cpu().numpy()
        exact = direct_sum(column, points, alpha, kernel)
        assert np.abs(got - exact).max() <= float(maps.error[j])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("options", [{}, {"bounded": False}, {"alpha": 0}], ids=describe)
def test_weights_repeat_and_remove_rows(backend, dtype, options):
    x = messy_table(500).to(dtype)
    weights = torch.arange(500) % 4
    repeated = backend.put(x.repeat_interleave(weights, 0))
    weighted = kdi.torch.fit(backend.put(x), weights=weights.double(), **options)
    expected = kdi.torch.fit(repeated, **options)
    got, want = (kdi.torch.transform(repeated.double(), maps) for maps in (weighted, expected))
    assert torch.equal(got.isnan(), want.isnan())
    assert ((got - want).abs().nan_to_num(0.0) <= weighted.error + expected.error + 1e-9).all()


def test_batches_are_fitted_independently(backend):
    x = backend.put(torch.randn(300, 3, 4, generator=torch.Generator().manual_seed(1)))
    maps = kdi.torch.fit(x, alpha=[0.5, 1, 2, 3])
    result = kdi.torch.transform(x, maps)
    assert maps.error_bound.shape == (3, 4)
    for batch in range(3):
        own = kdi.torch.fit(x[:, batch], alpha=[0.5, 1, 2, 3])
        assert torch.equal(result[:, batch], kdi.torch.transform(x[:, batch], own))


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 3), (7, 1), (65, 129), (40, 700), (3, 1030)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_shape(backend, monkeypatch, shape, dtype):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(shape[1])).to(dtype)
    expected, maps = fit_both(backend, monkeypatch, x)
    with on_core(monkeypatch):
        want = kdi.torch.transform(x.double(), expected)
    got = kdi.torch.transform(backend.put(x), maps).cpu()
    torch.testing.assert_close(got.double(), want, rtol=0, atol=ROUNDING[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tables_that_are_parts_of_others(backend, dtype):
    whole = backend.put(torch.randn(200, 24, generator=torch.Generator().manual_seed(2)).to(dtype))
    for part in (whole[:, 3:9], whole[::2], whole[:, ::3], whole.T[:24], whole[5:, 1:5], whole[10:11], whole.flip(0)):
        got = kdi.torch.transform(part, kdi.torch.fit(part))
        copied = part.clone(memory_format=torch.contiguous_format)
        assert torch.equal(got, kdi.torch.transform(copied, kdi.torch.fit(copied)))


@pytest.mark.parametrize("columns", [1, 3, 8, 10, 100, 130])
@pytest.mark.parametrize("options", [{"alpha": 0.1}, {"bounded": False, "output_distribution": "normal"}], ids=describe)
@pytest.mark.parametrize("shared_bytes", [3_000, 20_000, 60_000])
def test_tables_that_shared_memory_cannot_hold(monkeypatch, columns, options, shared_bytes):
    """Some columns per block, and some cubics per column: those outside are looked up elsewhere."""
    backend = choose("emulator", monkeypatch)
    x = torch.from_numpy(np.random.default_rng(4).lognormal(size=(400, columns))).float()
    expected, _ = fit_both(backend, monkeypatch, x, **options)
    with on_core(monkeypatch):
        want = kdi.torch.transform(torch.cat([x, x * 1.1]).double(), expected)
    monkeypatch.setattr(emulated_kernels(), "shared_bytes", shared_bytes)
    got = kdi.torch.transform(torch.cat([x, x * 1.1]), expected)
    torch.testing.assert_close(got.double(), want, rtol=4e-7, atol=4e-7)


@pytest.mark.parametrize("memory_bytes", [2**16 * 2048, 2**11 * 2048])
def test_columns_whose_cells_do_not_fit_at_once(monkeypatch, memory_bytes):
    """They are filled in groups, and the sketches that are left are the same."""
    backend = choose("emulator", monkeypatch)
    x = messy_table(1000)
    whole = kdi.torch.fit(backend.put(x), alpha=0.2)
    monkeypatch.setattr(emulated_kernels(), "memory_bytes", memory_bytes)
    monkeypatch.setattr(_cuda, "KEPT_CELLS", 100)
    parts = kdi.torch.fit(backend.put(x), alpha=0.2)
    for name, tensor in whole.tensors().items():
        assert torch.equal(tensor.nan_to_num(-1.0), parts.tensors()[name].nan_to_num(-1.0)), name
    for one, other in zip(whole.sketches.to_host(), parts.sketches.to_host(), strict=True):
        assert one.to_bytes() == other.to_bytes()


def test_no_rows_to_transform(backend):
    maps = kdi.torch.fit(backend.put(torch.randn(20, 3)))
    assert kdi.torch.transform(backend.put(torch.empty(0, 3)), maps).shape == (0, 3)
    assert kdi.torch.inverse_transform(backend.put(torch.empty(0, 3)), maps).shape == (0, 3)


def test_the_highest_value_is_exactly_the_top(backend):
    x = backend.put(messy_table(800).float())
    result = kdi.torch.transform(x, kdi.torch.fit(x, order=1))
    for j in (0, 1, 2, 3, 6, 7):
        known = result[:, j][~result[:, j].isnan()]
        assert known.max() == 1.0
        assert known.min() == 0.0


@pytest.mark.parametrize(
    "options",
    [{}, {"bounded": False}, {"spread": "robust"}, {"max_knots": 50}, {"alpha": [0.0, 1.0, 0.5, 2.0]}],
    ids=str,
)
def test_a_transform_need_not_ask_the_device_for_sizes(options, kernels):
    x = kernels.put(messy_table())[:, :4]
    assert "_sizes" in vars(kdi.torch.fit(x, **options))
    assert "_sizes" in vars(kdi.torch.Maps.from_sklearn(kdi.KDITransformer().fit(x.cpu().numpy()), x.device))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_most_values_lie_in_many_cells(dtype, kernels):
    x = kernels.put(torch.from_numpy(np.random.default_rng(0).normal(size=(3000, 6)))).to(dtype)
    maps = kdi.torch.fit(x, alpha=0.02, kernel="gaussian")
    assert vars(maps)["_span"] > _cuda.WINDOW
    got = kdi.torch.transform(x, maps).double().cpu().numpy()
    expected = kdi.KDITransformer(0.02, kernel="gaussian").fit(x.double().cpu().numpy())
    allowed = float(maps.error_bound.max()) + expected.error_bound_.max() + ROUNDING[dtype]
    np.testing.assert_allclose(got, expected.transform(x.double().cpu().numpy()), rtol=0, atol=allowed)


def test_two_runs_are_equal_to_the_bit(backend):
    x = backend.put(messy_table(5000).float())
    first, second = (kdi.torch.fit(x, alpha=0.3) for _ in range(2))
    for name, tensor in first.tensors().items():
        assert torch.equal(tensor.nan_to_num(-1.0), second.tensors()[name].nan_to_num(-1.0)), name


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
@pytest.mark.parametrize("bounded", [True, False])
def test_infinite_values(backend, infinite, bounded):
    x = messy_table(300)
    x[7, 2] = infinite
    given = backend.put(x)
    with pytest.raises(ValueError, match="infinity or a value too large for its dtype, in column 2"):
        kdi.torch.fit(given, bounded=bounded)
    maps = kdi.torch.fit(given, bounded=bounded, infinite="nan")
    missing = x.clone()
    missing[7, 2] = np.nan
    expected = kdi.torch.transform(backend.put(missing), kdi.torch.fit(backend.put(missing), bounded=bounded))
    got = kdi.torch.transform(given, maps)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-15, equal_nan=True)
    assert got[7, 2].isnan()
    with pytest.raises(ValueError, match="in column 2; finite numbers and NaN are allowed"):
        kdi.torch.transform(given, maps, infinite="error")


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-40, 1e-12, 1e12, 1e150, 1e290])
@pytest.mark.parametrize("options", [{}, {"bounded": False}], ids=describe)
def test_no_magnitude_is_special(backend, monkeypatch, scale, options):
    x = torch.from_numpy(np.random.default_rng(3).normal(size=(400, 2)) * scale)
    expected, maps = fit_both(backend, monkeypatch, x, **options)
    with on_core(monkeypatch):
        want = kdi.torch.transform(x, expected)
    got = kdi.torch.transform(backend.put(x), maps).cpu()
    allowed = (expected.error + maps.error.cpu()).clamp(min=1e-9)
    assert ((got - want).abs() <= allowed).all()


def test_a_range_that_overflows_is_an_error(backend):
    x = messy_table(100)
    x[0, 2], x[1, 2] = 1.7e308, -1.7e308
    with pytest.raises(ValueError, match="range of column 2 is too large for float64"):
        kdi.torch.fit(backend.put(x))
    with pytest.raises(ValueError, match="range of column 2 is too large for float64"):
        kdi.torch.fit(backend.put(x), bounded=False)


@pytest.mark.parametrize("kernel", ["polyexp", "gaussian"])
def test_a_kernel_of_high_order(backend, monkeypatch, kernel):
    x = messy_table(300)
    expected, maps = fit_both(backend, monkeypatch, x, kernel=kernel, order=20)
    with on_core(monkeypatch):
        want, got = (kdi.torch.transform(x, one) for one in (expected, maps.to("cpu")))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-9, equal_nan=True)


COLUMNS = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 60), st.integers(1, 3)),
    elements=st.one_of(
        st.just(np.nan), st.integers(-3, 3).map(float), st.floats(-1e6, 1e6), st.floats(-1e-6, 1e-6), st.just(1e9)
    ),
)


@settings(max_examples=60)
@given(table=COLUMNS, alpha=st.sampled_from([0.02, 0.3, 1.0, 7.0, 1e5]), is_float=st.booleans())
def test_any_table(table, alpha, is_float):
    """Kernels and plain operations agree with the core on tables that hypothesis makes."""
    x = torch.from_numpy(table).to(torch.float32 if is_float else torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        for name in BACKENDS:
            backend = choose(name, patch)
            expected, maps = fit_both(backend, patch, x, alpha=alpha)
            with on_core(patch):
                want, got = (kdi.torch.transform(x.double(), one) for one in (expected, maps.to("cpu")))
            assert torch.equal(want.isnan(), got.isnan()), name
            allowed = expected.error + maps.error.cpu()
            assert ((want - got).abs().nan_to_num(0.0) <= allowed + 1e-12).all(), name
            back = kdi.torch.inverse_transform(backend.put(got), maps)
            assert torch.equal(back.cpu().isnan(), got.isnan()), name


def with_outlier(largest, n=4000):
    x = np.random.default_rng(1).normal(size=(n + 1, 2))
    x[n, 0], x[5, 1] = largest, np.nan
    return torch.from_numpy(x)


LONG_TAILS = {
    "outlier": with_outlier(1e6),
    "sentinel": with_outlier(1e15),
    "lognormal": torch.from_numpy(np.random.default_rng(2).lognormal(sigma=4, size=(4000, 2))),
    "mostly zeros": with_outlier(1e6) * (torch.arange(4001) % 4 == 0)[:, None],
}


@pytest.mark.parametrize("x", LONG_TAILS.values(), ids=LONG_TAILS)
def test_robust_spreads_that_show_only_in_the_values(backend, monkeypatch, x):
    """No fit takes the standard deviation in silence."""
    expected, maps = fit_both(backend, monkeypatch, x, spread="robust")
    torch.testing.assert_close(maps.bandwidth.cpu(), expected.bandwidth, rtol=1e-9, atol=0)
    with on_core(monkeypatch):
        want, got = (kdi.torch.transform(x, one) for one in (expected, maps.to("cpu")))
    allowed = expected.error + maps.error.cpu() + 1e-9
    assert ((want - got).abs().nan_to_num(0.0) <= allowed).all()


@pytest.mark.parametrize("x", [LONG_TAILS[name] for name in ("outlier", "lognormal", "mostly zeros")])
def test_sketches_of_robust_spreads_that_show_only_in_the_values(backend, monkeypatch, x):
    with on_core(monkeypatch):
        expected = kdi.torch.fit(x, spread="robust")
    parts = [backend.put(x), backend.put(x[:2000]), backend.put(x[2000:])]
    whole, *halves = (kdi.torch.sketch(part, spread="robust") for part in parts)
    for sketches in (whole, sum(halves)):
        maps = sketches.maps(spread="robust")
        torch.testing.assert_close(maps.bandwidth.cpu(), expected.bandwidth, rtol=1e-3, atol=0)
        assert (maps.error.cpu() < 1e-3).all()


def test_sketches_that_cannot_show_a_robust_spread(backend):
    x = backend.put(LONG_TAILS["sentinel"])
    with pytest.warns(UserWarning, match=r"values of columns \[0\] are too far apart for sketches"):
        kdi.torch.sketch(x, spread="robust")


def test_the_scan_of_nearly_equal_values(backend, monkeypatch):
    x = torch.full((4000, 1), 3.0, dtype=torch.float64)
    x[0] = 3.0000002384
    expected, maps = fit_both(backend, monkeypatch, x)
    queries = torch.linspace(3.0, 3.0000002384, 999, dtype=torch.float64)[:, None]
    with on_core(monkeypatch):
        want, got = (kdi.torch.transform(queries, one) for one in (expected, maps.to("cpu")))
    torch.testing.assert_close(got, want, rtol=0, atol=1e-6)


def test_a_view_that_negates(backend):
    pairs = torch.complex(torch.zeros(40, 2), torch.randn(40, 2, generator=torch.Generator().manual_seed(0)))
    negated = backend.put(pairs).conj().imag
    assert negated.is_neg()
    copied = negated.resolve_neg()
    maps = kdi.torch.fit(negated, weights=(-copied).square()[:, 0])
    assert torch.equal(kdi.torch.transform(negated, maps), kdi.torch.transform(copied, maps))
    assert torch.equal(maps.low, copied.double().amin(0))


def test_states_of_another_dtype_or_layout(backend, monkeypatch):
    """Kernels read memory without looking: a state is converted, and its shapes are checked."""
    x = messy_table(300)[:, [0, 1, 6]]
    with on_core(monkeypatch):
        maps = kdi.torch.fit(x, alpha=[0.0, 0.5, 1.0])
        want = kdi.torch.transform(x, maps)
    state = maps.state_dict()
    narrow = {name: one.float() if one.is_floating_point() else one.int() for name, one in state.items()}
    strided = {name: torch.stack([one, one], -1)[..., 0] for name, one in state.items()}
    for changed, tolerance in ((narrow, 1e-4), (strided, 1e-9)):
        loaded = kdi.torch.Maps.from_state_dict({name: backend.put(one) for name, one in changed.items()})
        got = kdi.torch.transform(backend.put(x), loaded).cpu()
        torch.testing.assert_close(got[1:-1, 1:], want[1:-1, 1:], rtol=0, atol=tolerance, equal_nan=True)
    for name in ("high", "coefficients", "levels", "guide", "error"):
        with pytest.raises(
            ValueError, match=f"state must have .* '{name}' of the wrong shape|state must have all rows"
        ):
            kdi.torch.Maps.from_state_dict(state | {name: state[name][:-1]})
    with pytest.raises(ValueError, match="all rows of its maps"):
        kdi.torch.Maps.from_state_dict(state | {"start": state["start"] + 1})
