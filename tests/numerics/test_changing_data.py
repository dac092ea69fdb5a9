"""Arrays that change between the passes of a fit: an error, and never values that are lost in silence."""

import threading

import numpy as np
import pytest

from kdi._integral.maps import DEFAULT_OPTIONS
from kdi._numerics import _core, numpy_core
from kdi._numerics.kernels import get_kernel
from kdi._sketch import columns
from kdi._sketch.columns import scan_columns, sketch_array

OTHERS = [np.nan, np.inf, -np.inf, 1e300, -1e300, 9.3e18, 5.2, -5.2]


@pytest.mark.parametrize("module", [_core, numpy_core])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("other", OTHERS)
def test_values_outside_of_the_grid_are_not_counted(module, n_threads, weighted, other):
    table = np.stack([np.linspace(-5, 5, 1000)] * 3, axis=1)
    weights = np.full(1000, 0.5) if weighted else None
    table[[3, 700], 1] = other
    filled = module.fill(table, weights, np.full(3, 8.0), [-40] * 3, [81, 81, 0], n_threads)  # from -5 to 5.125
    assert [count for *_, count in filled] == [1000, 998, 0]
    for _, moments, count in filled:
        assert moments[:, 0].sum() == (count / 2 if weighted else count)


IN_CELLS, BY_VALUES = 2.0**-6, 2.0**-40


@pytest.mark.parametrize(
    ("width", "row", "other"),
    [(IN_CELLS, 4000, other) for other in OTHERS]
    + [(IN_CELLS, 0, 0.0), (BY_VALUES, 4000, np.nan), (BY_VALUES, 0, 0.0)],
)
def test_sketches_of_an_array_that_changes(width, row, other, monkeypatch):
    monkeypatch.setattr(columns, "cell_widths", lambda *_: np.full(2, width))
    table, kernel = np.random.default_rng(0).normal(size=(5000, 2)), get_kernel("gaussian")
    table[:10] = np.nan
    stats = scan_columns(table, None)
    sketches = sketch_array(table, None, kernel, np.zeros_like, stats=stats)
    assert [(one.count, one.is_exact) for one in sketches] == [(4990, width == BY_VALUES)] * 2
    table[row, 1] = other
    with pytest.raises(RuntimeError, match="the data changed while it was read"):
        sketch_array(table, None, kernel, np.zeros_like, stats=stats)


@pytest.mark.parametrize("alpha", [1.0, 1e-9])  # in cells, and by the values
@pytest.mark.parametrize("n_threads", [1, 2])
def test_fit_of_an_array_that_changes(alpha, n_threads):
    """While another thread writes, a fit succeeds or says that the data changed."""
    table, alphas, stop = np.random.default_rng(0).normal(size=(20_000, 4)), np.full(4, alpha), threading.Event()

    def write():
        while not stop.is_set():
            table[10_000] = np.nan
            table[10_000] = 0.0

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with pytest.raises(RuntimeError, match="the data changed while it was read"):
            for _ in range(10_000):
                _core.fit(table, None, alphas, DEFAULT_OPTIONS.with_kernel(get_kernel("gaussian")), n_threads)
    finally:
        stop.set()
        writer.join()
