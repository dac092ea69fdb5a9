"""T, its inverse and the boundaries of clusters as the explorer's page computes them, in a real browser.

Each is computed by the page of a table, at every alpha of its slider, and compared with KDITransformer of the table and
the direct sum of `oracle.py`.
"""

import numpy as np
import oracle
import pytest
from cluster_oracle import mixture
from numpy.testing import assert_allclose, assert_array_equal
from samples import probes, sample

import kdi
from kdi.explorer._contents import slider_alphas
from kdi.explorer._features import MIN_VALUES, max_values_for

AGREED = 1e-6
ALPHAS = slider_alphas()
SOME = np.append(ALPHAS[::12], ALPHAS[-1])  # for the direct sum, which takes its time
LEVELS = np.linspace(0, 1, 41)

# At every alpha of the slider: T of some x, and where T has some levels, as offsets from the minimum and as T again.
ASK = """
const [xs, levels, place] = arguments;
const cells = new Cells(kdiPage.contents.features[place]);
return kdiPage.alphas.map((alpha) => {
  const curve = makeCurve(cells, alpha, kdiPage.kernel);
  const offsets = curve ? levels.map((level) => curve.offset(level)) : [];
  return [xs.map((x) => levelAt(cells, curve, x)), offsets, offsets.map((offset) => curve.level(offset))];
});
"""
BOUNDARIES = """
const cells = new Cells(kdiPage.contents.features[0]);
return arguments[0].map((alpha) => findBoundaries(cells, makeCurve(cells, alpha ?? Infinity, kdiPage.kernel)));
"""


def ask(browser, at, place=0):
    """T at some x, a row an alpha, then offsets of LEVELS and T of these."""
    answers = browser.run(ASK, np.asarray(at, dtype=float).tolist(), LEVELS.tolist(), place)
    return [np.array(one, dtype=float) for one in zip(*answers, strict=True)]


def opened(browser, values, weights=None):
    return browser.page(kdi.explore(np.asarray(values)[:, None], weights=weights).html)


def stated(browser, name):
    return browser.run("return kdiPage.contents.features[0][arguments[0]]", name)


def python_levels(values, at, weights=None):
    """T by KDITransformer, a row an alpha."""
    models = kdi.alpha_path(np.asarray(values)[:, None], ALPHAS, sample_weight=weights)
    return np.array([model.transform(np.asarray(at, dtype=float)[:, None])[:, 0] for model in models])


def oracle_levels(values, at, weights=None):
    # T does not depend on the unit of x, but the oracle squares it.
    unit = 2.0 ** np.floor(np.log2(np.nanmax(abs(values))))
    values, at = values / unit, at / unit
    return np.array([oracle.transform(values, at, alpha, "polyexp", weights=weights) for alpha in SOME])


def with_ties(rng):
    return rng.poisson(4, size=1500).astype(float)


SMALL = {
    "normal": lambda rng: sample("normal", 1500),
    "lognormal": lambda rng: sample("lognormal-2", 1500),
    "cauchy": lambda rng: sample("cauchy", 1500),
    "offset 1e9": lambda rng: sample("offset-1e9", 1500),
    "ties": with_ties,
    "outlier": lambda rng: sample("outlier", 1500),
    "2 values": lambda rng: np.array([1.0, 4.0]),
    "10 values": lambda rng: rng.normal(size=10),
    "float32": lambda rng: rng.lognormal(size=1000).astype(np.float32),
    "1e-300": lambda rng: 1e-300 * rng.normal(size=400),
    "1e300": lambda rng: 1e300 * rng.normal(size=400),
    "one fewer than are embedded in any case": lambda rng: np.arange(MIN_VALUES - 1.0) ** 2,
    "one more": lambda rng: np.arange(MIN_VALUES + 1.0) ** 2,
    "NaN": lambda rng: np.where(rng.random(1500) < 0.2, np.nan, rng.normal(size=1500)),
}


@pytest.mark.parametrize("name", SMALL)
def test_levels_of_values_that_are_embedded(browser, rng, name):
    values = SMALL[name](rng)
    at = probes(values.astype(float))
    with opened(browser, values):
        found, _, _ = ask(browser, at)
        error, rank_error = stated(browser, "error"), stated(browser, "rank_error")
    assert error <= 1e-9 and rank_error <= 1e-9
    assert_allclose(found, python_levels(values, at), atol=AGREED, rtol=0)
    exact = oracle_levels(values, at)
    # Beside what the page states: rounding of the oracle itself, and of its deviation at an offset of 1e9.
    assert_allclose(found[[*range(0, len(ALPHAS), 12), -1]], exact, atol=error + 1e-9, rtol=0)
    assert np.all(np.diff(found, axis=1) >= -1e-12)


@pytest.mark.parametrize("name", [name for name in SMALL if name != "offset 1e9"])
def test_the_way_back(browser, rng, name):
    values = SMALL[name](rng).astype(float)
    with opened(browser, values):
        _, offsets, levels = ask(browser, [])
    low, high = np.nanmin(values), np.nanmax(values)
    assert_array_equal(offsets[:, [0, -1]], [[0.0, high - low]] * len(ALPHAS))
    assert_allclose(levels, np.tile(LEVELS, (len(ALPHAS), 1)), atol=1e-10, rtol=0)
    models = kdi.alpha_path(values[:, None], ALPHAS)
    again = [model.transform((low + one)[:, None])[:, 0] for model, one in zip(models, offsets, strict=True)]
    assert_allclose(again, levels, atol=AGREED, rtol=0)


def test_the_way_back_far_from_zero(browser):
    values = sample("offset-1e9", 1500)
    with opened(browser, values):
        _, offsets, levels = ask(browser, [])
    assert_allclose(levels, np.tile(LEVELS, (len(ALPHAS), 1)), atol=1e-10, rtol=0)
    # As a number near 1e9, an offset has an error of 6e-8: small beside bandwidths, not beside the gaps between values.
    models = list(kdi.alpha_path(values[:, None], ALPHAS))[1:]
    again = [
        model.transform((values.min() + one)[:, None])[:, 0] for model, one in zip(models, offsets[1:], strict=True)
    ]
    assert_allclose(again, levels[1:], atol=AGREED, rtol=0)


@pytest.mark.parametrize("whole", [True, False])
def test_weights(browser, rng, whole):
    values = rng.lognormal(size=1200)
    weights = rng.integers(0, 5, size=1200).astype(float) if whole else rng.exponential(size=1200)
    at = probes(values[weights > 0])
    with opened(browser, values, weights):
        found, _, _ = ask(browser, at)
    assert_allclose(found, python_levels(values, at, weights), atol=AGREED, rtol=0)
    assert_allclose(found[[*range(0, len(ALPHAS), 12), -1]], oracle_levels(values, at, weights), atol=2e-9, rtol=0)


@pytest.mark.parametrize("values", [[3.0], [3.0] * 7, [np.nan, 3.0, np.nan]])
def test_one_value(browser, values):
    with opened(browser, values):
        found, offsets, _ = ask(browser, [-np.pi, 3.0, np.nextafter(3.0, 4.0), 1e9])
    assert_array_equal(found, [[0.0, 0.0, 1.0, 1.0]] * len(ALPHAS))
    assert offsets.shape == (len(ALPHAS), 0)


def test_a_column_without_values_beside_another(browser, rng):
    table = np.column_stack([np.full(50, np.nan), rng.normal(size=50)])
    with browser.page(kdi.explore(table).html):
        nothing, _, _ = ask(browser, [0.0, 1.0])
        other, _, _ = ask(browser, [0.0, 1.0], place=1)
    assert np.isnan(nothing).all()
    assert_allclose(other, python_levels(table[:, 1], [0.0, 1.0]), atol=AGREED, rtol=0)


@pytest.mark.parametrize("scale", [5e-324, 1e-310])
def test_ranges_that_are_next_to_nothing(browser, scale):
    values = scale * np.arange(1, 200.0)
    with opened(browser, values):
        found, _, _ = ask(browser, np.append(values, [0.0, 1.0]))
        error, rank_error = stated(browser, "error"), stated(browser, "rank_error")
    assert error == rank_error == 1  # the page says that it only draws a line
    assert_allclose(found, [[*np.linspace(0, 1, 199), 0.0, 1.0]] * len(ALPHAS), atol=1e-9, rtol=0)


def test_outside_of_the_values(browser, rng):
    values = rng.normal(size=300)
    with opened(browser, values):
        found, _, _ = ask(browser, [values.min() - 1e-9, -1e300, values.max() + 1e-9, 1e300])
    assert_array_equal(found, [[0.0, 0.0, 1.0, 1.0]] * len(ALPHAS))


LARGE = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(sigma=2, size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "offset 1e9": lambda rng, n: 1e9 + rng.normal(size=n) + 6 * (np.arange(n) % 2),
    "outlier": lambda rng, n: np.append(rng.normal(size=n - 1), 1e9),
    "zeros": lambda rng, n: np.where(np.arange(n) % 3, rng.lognormal(sigma=2, size=n), 0.0),
}


@pytest.mark.parametrize("name", LARGE)
def test_levels_of_cells(browser, rng, name):
    """More values than are embedded: errors of ranks are then some thousandths (2e-4 as measured), others 1e-6."""
    values = LARGE[name](rng, 100_000)
    at = probes(values, 100)
    with opened(browser, values):
        found, _, levels = ask(browser, at)
        error, rank_error, width = (stated(browser, one) for one in ("error", "rank_error", "width"))
    assert width > 0
    assert error <= 5e-7 and rank_error <= 5e-3
    expected = python_levels(values, at)
    assert_allclose(found[1:], expected[1:], atol=AGREED, rtol=0)
    assert_allclose(found[0], expected[0], atol=min(rank_error, 3e-4), rtol=0)
    # The direct sum takes long: a few alphas, among them the smallest, at which cells are widest beside the bandwidth.
    for alpha in ALPHAS[[1, 30, 61, -2]]:
        exact = oracle.transform(values, at[::4], alpha, "polyexp")
        place = ALPHAS.tolist().index(alpha)
        assert_allclose(found[place, ::4], exact, atol=error, rtol=0)
    assert_allclose(levels, np.tile(LEVELS, (len(ALPHAS), 1)), atol=1e-9, rtol=0)


def test_a_million_rows(browser, rng):
    table = np.column_stack([rng.lognormal(size=1_000_000), rng.normal(size=1_000_000).astype(np.float32)])
    with browser.page(kdi.explore(table).html):
        for place, values in enumerate(table.T):
            at = probes(values)
            found, _, _ = ask(browser, at, place)
            expected = python_levels(values, at)
            assert_allclose(found[1:], expected[1:], atol=AGREED, rtol=0)
            assert_allclose(found[0], expected[0], atol=3e-4, rtol=0)


def test_ranks_beside_a_third_of_equal_values(browser, rng):
    """No cell may hold so many: a sketch that keeps the values is used for ranks."""
    values = np.where(np.arange(400_000) % 3, rng.lognormal(sigma=2, size=400_000), 1.0)
    at = np.append(np.quantile(values, np.linspace(0.01, 0.99, 50)), 1.0)
    with opened(browser, values):
        found, _, _ = ask(browser, at)
        assert stated(browser, "rank_error") < 1e-3
    assert_allclose(found[0], python_levels(values, at)[0], atol=1e-3, rtol=0)


def test_as_many_values_as_a_page_embeds(browser, rng):
    most = max_values_for(1)
    widths = []
    for n in (most, most + 1):
        with opened(browser, rng.permutation(n) ** 1.5):
            widths.append(stated(browser, "width"))
    assert widths[0] == 0 and widths[1] > 0


def boundaries(browser, values, alphas):
    with opened(browser, values):
        found = browser.run(BOUNDARIES, [None if alpha == np.inf else alpha for alpha in alphas])
    return [np.array(one, dtype=float) for one in found]


def check_boundaries(browser, values, alphas, tolerance):
    """As many as kdi.cluster finds, as close to them in T as `tolerance`; returns the largest number of clusters."""
    most = 0
    for alpha, found in zip(alphas, boundaries(browser, values, alphas), strict=True):
        expected = kdi.cluster(values, alpha=alpha).boundaries
        assert found.shape == expected.shape
        model = kdi.KDITransformer(alpha).fit(values[:, None])
        levels = [model.transform(one[:, None])[:, 0] if len(one) else one for one in (found, expected)]
        assert_allclose(*levels, atol=tolerance, rtol=0)
        most = max(most, len(found) + 1)
    return most


@pytest.mark.parametrize("number", range(1, 6))
def test_boundaries_of_the_papers_mixtures(browser, number):
    values, _ = mixture(number, 1000)
    # T itself is as close as the tables of Python are.
    assert check_boundaries(browser, values, [0.0, 0.05, 0.3, 1.0, 3.0, np.inf], AGREED) >= 2


@pytest.mark.parametrize("number", range(1, 6))
def test_boundaries_from_cells(browser, number):
    values, _ = mixture(number, 40_000)
    assert check_boundaries(browser, values, [0.0, 0.05, 0.3, 1.0, 3.0, np.inf], 1e-5) >= 2


@pytest.mark.parametrize(
    "values",
    [np.array([1.0, 2.0, 3.0, 101.0, 102.0, 103.0]), np.array([0.0, 1.0]), np.repeat([1.0, 2.0, 5.0], [50, 30, 20])],
    ids=["six values", "two values", "ties"],
)
def test_boundaries_of_few_values(browser, values):
    check_boundaries(browser, values, [0.0, 0.3, 1.0, np.inf], AGREED)


def test_boundaries_beside_many_equal_values(browser, rng):
    values = LARGE["zeros"](rng, 100_000)
    assert check_boundaries(browser, values, [0.0, 0.3, 1.0], 1e-5) >= 2


def test_ranks_alone_have_no_boundaries(browser, rng):
    for n in (1000, 100_000):
        assert len(boundaries(browser, rng.lognormal(size=n), [0.0])[0]) == 0


def test_a_constant_has_no_boundaries(browser):
    assert len(boundaries(browser, np.full(9, 2.0), [1.0])[0]) == 0
