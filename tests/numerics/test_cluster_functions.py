"""The core functions of clustering: `turning_points`, `assign` and `weights_between`, compiled and in NumPy."""

import numpy as np
import pytest
from cluster_oracle import Density
from numpy.testing import assert_allclose, assert_array_equal
from samples import SAMPLES, sample

from kdi import Sketch
from kdi._integral.integral import Integral
from kdi._numerics import numpy_core
from kdi._numerics.kernels import get_kernel

_core = pytest.importorskip("kdi._numerics._core")
MODULES = pytest.mark.parametrize("module", [_core, numpy_core], ids=["compiled", "numpy"])


def density_of(values, bandwidth, cell_width=None):
    sketch = Sketch.from_values(values, cell_width=cell_width)
    return Integral.from_sketch(sketch, get_kernel("gaussian"), bandwidth, finer=4.0)


def turning_points(module, *densities, n_threads=1):
    return module.turning_points(
        [one.positions for one in densities],
        [one.moments for one in densities],
        np.array([one.width for one in densities]),
        np.array([one.bandwidth for one in densities]),
        np.array([one.high - one.low for one in densities]),
        n_threads,
    )


class TestTurningPoints:
    @pytest.mark.parametrize("cells", [None, 20, 100, 300])
    @pytest.mark.parametrize("factor", [0.3, 1.0, 3.0, 1e8])
    @pytest.mark.parametrize("name", SAMPLES)
    def test_both_find_the_same(self, name, factor, cells):
        values = sample(name, 400)
        values = (values - values.min()) / np.ptp(values)
        bandwidth = factor * 0.2 * values.std()
        density = density_of(values, bandwidth, cells and min(bandwidth / cells, 0.1))
        ((found, heights),) = turning_points(_core, density)
        ((expected, expected_heights),) = turning_points(numpy_core, density)
        assert len(found) == len(expected)
        exact = Density(values, bandwidth)
        flat = np.maximum(1, exact.value(expected) / np.maximum(abs(exact.curve(expected)) * bandwidth**2, 1e-300))
        clear = expected_heights > 1e-8 * expected_heights.max()  # a valley of an empty region may lie anywhere in it
        assert (abs(found - expected) <= 1e-12 * np.minimum(bandwidth, 1) * flat)[clear].all()
        assert_allclose(heights[clear], expected_heights[clear], rtol=1e-10)

    @MODULES
    @pytest.mark.parametrize("bandwidth", [1e9, 1e150, 1e300])
    def test_a_bandwidth_wider_than_the_range_has_its_peak_at_the_mean(self, module, bandwidth):
        values = np.array([0.0, 0.1, 0.2, 0.9, 1.0])
        ((at, heights),) = turning_points(module, density_of(values, bandwidth))
        assert_allclose(at, [values.mean()], rtol=1e-12)
        assert_allclose(heights, 1 / (bandwidth * np.sqrt(2 * np.pi)), rtol=1e-12)

    @MODULES
    def test_narrow_kernels_are_evaluated_near_the_values_only(self, module):
        values = np.array([0.0, 0.25, 0.5, 1.0])
        ((at, _),) = turning_points(module, density_of(values, 1e-8))
        assert_allclose(at[::2], values, rtol=0, atol=1e-15)

    @pytest.mark.parametrize("beyond", [-1.0, -0.5, 0.0, 0.5])
    def test_positions_may_lie_a_cell_beyond_the_ends(self, beyond):
        """Whatever the cells: one per knot here, which is the hardest case for the bounds of the loops."""
        width, n = 2.0**-7, 129
        positions = np.append(beyond * width, np.linspace(0.2, 1 + width, n - 1))
        moments = np.column_stack([np.full(n, 1 / n), np.zeros((n, 3))])
        for bandwidth in (32 * width, 40 * width, 63.9 * width):
            given = [positions], [moments], np.array([width]), np.array([bandwidth]), np.ones(1), 1
            ((found, _),) = _core.turning_points(*given)
            assert len(found) % 2 == 1
            assert (np.diff(found) > 0).all()
            assert 0 <= found[0] <= found[-1] <= 1

    @pytest.mark.parametrize("n_threads", [1, 2, 8])
    def test_several_densities(self, n_threads, rng):
        densities = [density_of(np.sort(rng.random(n)), 0.05) for n in (2, 50, 300)]
        together = turning_points(_core, *densities, n_threads=n_threads)
        for pair, density in zip(together, densities, strict=True):
            for found, alone in zip(pair, turning_points(_core, density)[0], strict=True):
                assert_array_equal(found, alone)

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"moments": [np.ones((2, 1))]}, "one row per position"),
            ({"moments": [np.ones((3, 2))]}, "four columns for cells and one for values"),
            ({"moments": []}, "one entry per density"),
            ({"widths": np.array([0.5])}, "four columns for cells and one for values"),
            ({"widths": np.array([-1.0])}, "four columns for cells and one for values"),
            ({"bandwidths": np.array([0.0])}, "positive and finite"),
            ({"bandwidths": np.array([np.nan])}, "positive and finite"),
            ({"lengths": np.array([np.inf])}, "positive and finite"),
            ({"positions": [np.array([0.0, 2.0, 1.0])]}, "ascend from 0 to the length"),
            ({"positions": [np.array([0.0, 0.5, 7.0])]}, "ascend from 0 to the length"),
            ({"positions": [np.array([0.0, np.nan, 1.0])]}, "ascend from 0 to the length"),
            ({"positions": [np.empty(0)], "moments": [np.empty((0, 1))]}, "one row per position"),
        ],
    )
    def test_wrong_arguments(self, change, said):
        given = {
            "positions": [np.array([0.0, 0.5, 1.0])],
            "moments": [np.full((3, 1), 1 / 3)],
            "widths": np.zeros(1),
            "bandwidths": np.full(1, 0.1),
            "lengths": np.ones(1),
        }
        _core.turning_points(**given, n_threads=1)
        with pytest.raises(ValueError, match=said):
            _core.turning_points(**(given | change), n_threads=1)


@pytest.fixture(params=[0, 1, 3, 5, 16, 17, 60])
def cuts(request):
    generator = np.random.default_rng(request.param)
    return [np.sort(generator.normal(size=request.param)), np.array([0.5]), np.array([-np.inf, 0.0, 0.0, np.inf])]


def some_columns(dtype, order, n=5000):
    table = np.random.default_rng(1).normal(size=(n, 3)).astype(dtype, order=order)
    table[::7, 0], table[::3, 1], table[::5, 2] = np.nan, 0.5, [np.inf, -np.inf, 0.0, -0.0] * (n // 20)
    return table


class TestAssign:
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_labels_are_numbers_of_cuts(self, cuts, dtype, order):
        table = some_columns(dtype, order)
        expected = np.column_stack(
            [np.searchsorted(own, column, "right") for own, column in zip(cuts, table.T.astype(float), strict=True)]
        )
        expected[np.isnan(table)] = -1
        for module, n_threads in ((numpy_core, 1), (_core, 1), (_core, 3)):
            for out in (np.empty(table.shape, dtype=np.int64), np.empty(table.shape[::-1], dtype=np.int64).T):
                module.assign(table, cuts, out, n_threads)
                assert_array_equal(out, expected)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_weights_between_cuts(self, cuts, dtype, weighted, rng):
        table = some_columns(dtype, "C")
        weights = rng.exponential(size=len(table)) if weighted else None
        labels = np.empty(table.shape, dtype=np.int64)
        _core.assign(table, cuts, labels, 1)
        for module, n_threads in ((numpy_core, 1), (_core, 1), (_core, 3)):
            for j, found in enumerate(module.weights_between(table, weights, cuts, n_threads)):
                assert len(found) == len(cuts[j]) + 1
                for k, total in enumerate(found.tolist()):
                    mass = (labels[:, j] == k) * (1.0 if weights is None else weights)
                    assert total == pytest.approx(mass.sum(), rel=1e-12)

    @MODULES
    @pytest.mark.parametrize(
        ("cuts", "said"),
        [
            ([np.zeros(1)], "one entry per column"),
            ([np.array([1.0, 0.0])] * 3, "ascend"),
            ([np.array([0, np.nan])] * 3, "ascend"),
        ],
    )
    def test_wrong_cuts(self, module, cuts, said):
        table = some_columns(np.float64, "C")
        with pytest.raises(ValueError, match=said):
            module.assign(table, cuts, np.empty(table.shape, dtype=np.int64), 1)
        with pytest.raises(ValueError, match=said):
            module.weights_between(table, None, cuts, 1)

    @MODULES
    def test_wrong_shapes(self, module):
        table, cuts = some_columns(np.float64, "C"), [np.zeros(1)] * 3
        with pytest.raises(ValueError, match="same shape"):
            module.assign(table, cuts, np.empty((len(table) - 1, 3), dtype=np.int64), 1)
        with pytest.raises(ValueError, match="per row"):
            module.weights_between(table, np.ones(len(table) - 1), cuts, 1)
