"""The experiments on the curve itself: precision against runtime, Wine's malic acid, and the two theorems."""

import numpy as np
import oracle
import pytest
from experiment_runs import cut_off

from experiments import limits, limits_tables, precision, precision_methods, precision_tables, wine
from experiments.drawing import style
from experiments.names import KDI, MIN_MAX, OURS, QUANTILE
from experiments.precision_methods import (
    DDOF_ONE,
    EXACT,
    GAUSSIAN,
    INTERPOLATED,
    OUR_GAUSSIAN,
    OUR_POLYEXP,
    POLYEXP,
    SUBSAMPLED,
    THEIR_EXACT,
    THEIR_GAUSSIAN,
    THEIR_POLYEXP,
    THEIRS,
)
from experiments.rows import chosen

pytestmark = pytest.mark.slow


def as_text(rows):
    """Rows as an experiment gets them for its page, read from a file."""
    return [{name: str(value) for name, value in one.items()} for one in rows]


def held(claims, words):
    """Whether the one claim with these words holds, and what was found."""
    (claim,) = [one for one in claims if words in one.claimed]
    return claim.holds, claim.found


def drawn(experiment, rows):
    """Its one figure, of which nothing may be cut off."""
    with style():
        (figure,) = experiment.figures(rows).values()
        assert not cut_off(figure)
    return figure


class TestContenders:
    @pytest.mark.parametrize("alpha", precision.PRECISION_ALPHAS)
    def test_each_computes_what_it_says(self, alpha):
        # kditransform interpolates in ways of its own: some three times what was measured, which falls with alpha.
        allowed = {THEIR_POLYEXP: 4e-4 / alpha, THEIR_GAUSSIAN: 9e-3 / max(1, alpha)}
        allowed |= {OUR_POLYEXP: 1e-6, OUR_GAUSSIAN: 1e-6}
        allowed |= dict.fromkeys((EXACT, THEIR_EXACT, SUBSAMPLED, INTERPOLATED), 1e-12)
        values = np.random.RandomState(0).lognormal(size=300)
        at, met = np.linspace(values.min(), values.max(), 100), set()
        for one in precision_methods.contenders(300):
            kernel = "polyexp" if one.own == POLYEXP else "gaussian"
            factor = np.sqrt(300 / 299) if one.own == DDOF_ONE else 1.0
            references = {SUBSAMPLED: 1000, INTERPOLATED: one.count}.get(one.method)
            knots = np.quantile(values, np.linspace(0, 1, references)) if references else at
            expected = np.interp(at, knots, oracle.transform(values, knots, alpha * factor, kernel))
            error = abs(one.make(alpha, 0)(values.copy())(at.copy()) - expected).max()
            # A mean over S of the points: twice the largest deviation that a share in them can have.
            some = one.method == SUBSAMPLED and one.count < 300
            assert error < (one.count**-0.5 if some else allowed[one.method]), one
            met.add(one.method)
        assert met >= {EXACT, SUBSAMPLED, INTERPOLATED, OUR_POLYEXP, OUR_GAUSSIAN}

    def test_exact_integrals_that_errors_are_taken_from(self):
        values = np.random.RandomState(1).lognormal(size=200)
        at = np.linspace(values.min(), values.max(), 50)
        found = precision.integrals(0.5, 200)
        for name, kernel, ddof in ((GAUSSIAN, "gaussian", 0), (POLYEXP, "polyexp", 0), (DDOF_ONE, "gaussian", 1)):
            exact = oracle.transform(values, at, 0.5 * values.std(ddof=ddof) / values.std(), kernel)
            np.testing.assert_allclose(found[name](values, at), exact, rtol=0, atol=1e-12)

    def test_more_points_and_more_references_are_more_precise(self):
        values = np.random.RandomState(0).lognormal(size=3000)
        at = np.linspace(values.min(), values.max(), 500)
        exact = oracle.transform(values, at, 1.0, "gaussian")

        def error(**options):
            return abs(precision_methods.subsampled(1.0, 0, **options)(values)(at) - exact).max()

        assert error(drawn=30) > error(drawn=1000) > error(drawn=3000) == error()
        assert error(references=30) > error(references=300) > error(references=3000)

    def test_without_kditransform(self, monkeypatch):
        monkeypatch.setattr(precision_methods, "installed", lambda library: False)
        assert not {one.method for one in precision_methods.contenders(100)} & {*THEIRS}

    def test_measured_rows(self, monkeypatch):
        every = precision_methods.contenders(300)
        few = [one for one in every if one.count in (None, 30) and one.method not in (INTERPOLATED, *THEIRS)]
        monkeypatch.setattr(precision, "contenders", lambda points: few)
        rows = precision.compared(1.0, 300, 0.01)
        assert {one["method"] for one in rows} == {EXACT, SUBSAMPLED, OUR_POLYEXP, OUR_GAUSSIAN}
        errors = {one["method"]: (float(one["error"]), float(one["own_error"])) for one in rows}
        assert errors[OUR_GAUSSIAN][0] < 1e-6 and errors[OUR_POLYEXP][1] < 1e-6
        assert errors[OUR_POLYEXP][0] > 1e-4  # another kernel
        assert all(float(one["total_ms"]) > 0 and one["rounds"] >= 3 for one in rows)


def precision_row(alpha, method, fit, total, error, count=""):
    numbers = {"fit_ms": fit, "transform_ms": 0, "total_ms": total, "error": error, "own_error": error}
    return {"alpha": alpha, "points": 1000, "method": method, "count": count, "rounds": 3} | numbers


def precision_rows(error=1e-7, theirs=True):
    rows = []
    for alpha in ("0.1", "1", "10"):
        rows += [precision_row(alpha, EXACT, 0.1, 1000, 0.0)]
        rows += [precision_row(alpha, SUBSAMPLED, 5, 5, 1e-2, 30), precision_row(alpha, SUBSAMPLED, 50, 50, 1e-3, 300)]
        rows += [precision_row(alpha, INTERPOLATED, 80, 80, 1e-5, 300)]
        rows += [precision_row(alpha, OUR_POLYEXP, 1, 1, 5e-3), precision_row(alpha, OUR_GAUSSIAN, 1, 1, error)]
        rows += [precision_row(alpha, THEIR_EXACT, 0.1, 3000, 1e-6)]
        rows += [precision_row(alpha, THEIR_POLYEXP, 10, 10, 6e-3), precision_row(alpha, THEIR_GAUSSIAN, 90, 90, 2e-3)]
    return as_text(one for one in rows if theirs or one["method"] not in THEIRS)


class TestPrecisionClaims:
    def test_speedup_is_judged_at_every_alpha(self):
        rows = precision_rows()
        assert held(precision.claims(rows), "kdi gaussian is almost 1000x")[0]
        assert not held(precision.claims(rows), "kditransform polyexp is almost 1000x")[0]  # 300x
        (slow,) = chosen(rows, alpha="10", method=OUR_GAUSSIAN)
        slow["total_ms"] = "3"
        holds, found = held(precision.claims(rows), "kdi gaussian is almost 1000x")
        assert not holds and "direct sum: 1,000x (α = 0.1), 1,000x (α = 1), 333x (α = 10)" in found

    def test_fixed_precision_takes_the_fastest_that_is_as_precise(self):
        claims = precision.claims(precision_rows())
        holds, found = held(claims, "kdi polyexp takes 10x to 100x less training time than the subsampled")
        assert holds and found.startswith("α = 0.1: 50.0x (S = 300); α = 1: ")
        holds, found = held(claims, "kditransform polyexp takes 10x to 100x less training time than the subsampled")
        assert not holds and "5.0x" in found
        holds, found = held(claims, "kdi gaussian takes 10x to 100x less training time than the interpolated")
        assert holds and "α = 1: at least 80.0x (R = 300 is not as precise)" in found

    def test_orders_of_error(self):
        holds, found = held(precision.claims(precision_rows(1e-7)), "several orders")
        assert holds and "α = 1: error 10^4.0 times less and 50.0x faster than subsampled Gaussian, S = 300" in found
        assert "and 10^2.0 times less and 80.0x faster than interpolated Gaussian, R = 300" in found
        assert not held(precision.claims(precision_rows(1e-5)), "several orders")[0]  # two orders are not several
        assert "error 10^1.0 times more" in held(precision.claims(precision_rows(1e-2)), "several orders")[1]
        slow = precision_rows(1e-7)
        for one in chosen(slow, method=OUR_GAUSSIAN):
            one["total_ms"] = "60"
        holds, found = held(precision.claims(slow), "several orders")
        assert not holds and "10^4.0 times less and 0.83x as fast as subsampled Gaussian" in found

    def test_digits_of_factors(self):
        said = " ".join(map(precision_tables.times, (0.814, 1.23, 9.97, 24.94, 226.6, 1234.5)))
        assert said == "0.81x 1.2x 10.0x 24.9x 227x 1,234x"

    @pytest.mark.parametrize("theirs", [True, False])
    def test_page_and_figure(self, theirs):
        rows = precision_rows(theirs=theirs)
        claims = precision.claims(rows)
        assert any(one.claimed.startswith("kditransform") for one in claims) == theirs
        assert all(one.claimed.startswith(OURS) == ("kdi gaussian" in one.claimed) for one in claims)
        assert [len(table.rows) for table in precision.tables(rows)] == [len(rows) // 3] * 3
        assert "not imprecision" in precision.tables(rows)[0].note
        figure = drawn(precision, rows)
        (axes,) = figure.axes
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        stars = [line for line in axes.lines if line.get_marker() == "*"]
        assert [float(line.get_xdata()[0]) for line in stars] == [1000.0] * 3
        named = [text.get_text() for text in figure.legends[0].get_texts()]
        assert ("kditransform polyexp" in named) == theirs and "kdi gaussian" in named


@pytest.fixture(scope="module")
def wine_rows():
    return as_text(wine.measured())


class TestWine:
    def test_peaks(self, rng):
        left, right = rng.normal(0, 1, 500), rng.normal(8, 1, 500)
        assert wine.peaks(left) == 1
        assert wine.peaks(np.r_[left, right]) == 2
        assert wine.peaks(np.r_[left, right[:2]]) == 1  # less than one in a hundred

    def test_roughness(self):
        steps = np.linspace(0, 1, 201)
        assert wine.roughness(steps) < 1e-9
        bent = np.interp(steps, [0, 0.5, 1], [0, 0.75, 1])  # slopes 1.5 and 0.5
        assert wine.roughness(bent) == pytest.approx(1.0)

    def test_curves_are_those_of_the_transformations(self, wine_rows):
        x, y = wine.line(wine_rows, wine.CURVE, MIN_MAX)
        np.testing.assert_allclose(y, (x - 0.74) / (5.8 - 0.74), atol=1e-4)
        values, levels = wine.line(wine_rows, wine.POINT, KDI)
        assert len(values) == 178
        np.testing.assert_allclose(levels, oracle.transform(values, values, 1.0, "polyexp"), atol=1e-5)
        slope = oracle.pdf(values, x, values.std(), "polyexp")
        assert (np.diff(slope[x > 3]) < 0).all() == bool(wine.number(wine_rows, wine.FALLS, KDI))
        assert wine.number(wine_rows, wine.HIGHEST, KDI) == pytest.approx(x[slope.argmax()], abs=0.03)

    def test_claims_follow_the_rows(self, wine_rows):
        assert len(wine.claims(wine_rows)) == 4 and all(claim.holds for claim in wine.claims(wine_rows))
        for what, method, y, words in [
            (wine.FALLS, KDI, "0", "concave"),
            (wine.SHARE, KDI, "0.6", "outliers"),
            (wine.PEAKS, KDI, "1", "bimodal"),
            (wine.PEAKS, QUANTILE, "2", "bimodal"),
            (wine.ROUGHNESS, QUANTILE, "9", "smoother"),
        ]:
            changed = [one | {"y": y} if (one["what"], one["method"]) == (what, method) else one for one in wine_rows]
            assert not held(wine.claims(changed), words)[0]
            assert sum(claim.holds for claim in wine.claims(changed)) == 3

    def test_peaks_of_the_original_are_said(self, wine_rows):
        _, found = held(wine.claims(wine_rows), "bimodal")
        assert found.startswith("peaks: KD-integral 2, quantile 1, min-max 1, and the original itself has 1; at half")
        assert "prominence" in wine.RULES and "1%" in wine.RULES

    def test_page_and_figure(self, wine_rows):
        (table,) = wine.tables(wine_rows)
        assert [line[0] for line in table.rows] == ["original", MIN_MAX, QUANTILE, KDI]
        figure = drawn(wine, wine_rows)
        assert len(figure.axes) == 9
        titles = [axes.get_title(loc="left") for axes in figure.axes[1::3]]
        assert titles == [f"(A) {MIN_MAX}", f"(B) {QUANTILE}", f"(C) {KDI}"]
        assert [axes.get_ylabel() for axes in figure.axes[::3]] == ["after the transformation", "", ""]


@pytest.fixture(scope="module")
def limit_rows():
    alphas = [1e4, 1e5**0.5, 100.0, 1e3**0.5, 1.0, 1e-10]
    pairs = [(name, kernel) for name in ("normal", "Poisson, ties", "malic acid") for kernel in limits.KERNELS]
    return as_text(row for pair in pairs for row in limits.measured(*pair, 178, alphas))


class TestLimits:
    def test_without_ties(self):
        at, between = limits.limits(np.ones(7, dtype=int))
        np.testing.assert_allclose(at, np.arange(7) / 6)
        np.testing.assert_allclose(between, (np.arange(6) + 0.5) / 6)

    @pytest.mark.parametrize("kernel", limits.KERNELS)
    def test_is_what_the_integral_tends_to(self, kernel):
        values = np.array([1.0, 1.0, 1.0, 2.0, 4.0, 4.0, 5.0, 9.0, 9.0])
        distinct, counts = np.unique(values, return_counts=True)
        at, between = limits.limits(counts)
        middles = (distinct[1:] + distinct[:-1]) / 2
        np.testing.assert_allclose(at, oracle.transform(values, distinct, 1e-4, kernel), atol=1e-12)
        np.testing.assert_allclose(between, oracle.transform(values, middles, 1e-4, kernel), atol=1e-12)
        np.testing.assert_allclose(at, oracle.quantile_limit(values, distinct), atol=1e-12)

    def test_distances_that_stay(self):
        n = 50
        rows = limits.measured("normal", "polyexp", n, [1.0, 1e-10])
        assert float(rows[-1]["to_ecdf_at_values"]) == pytest.approx(1 / n, rel=1e-3)
        assert float(rows[-1]["to_ecdf_between"]) == pytest.approx((n - 2) / (2 * n * (n - 1)), rel=1e-3)
        assert float(rows[-1]["to_quantile_at_values"]) < 1e-12 < 1e-3 < float(rows[0]["to_quantile_at_values"])
        assert all(float(one["kdi_error"]) <= float(one["kdi_bound"]) for one in rows)

    def test_tied_extremes_are_not_scikit_learns(self, monkeypatch):
        values = np.array([0.0, 0.0, 0.0, 1.0, 2.0])
        monkeypatch.setitem(limits.SAMPLES, "tied", lambda n: values)
        (row,) = limits.measured("tied", "gaussian", 5, [1e-8])
        # L(1) = (4 - 0.5 - 1.5) / (5 - 2) = 2/3, and scikit-learn has 3/4.
        assert float(row["to_quantile_at_values"]) == pytest.approx(3 / 4 - 2 / 3, rel=1e-3)
        assert float(row["to_limit_at_values"]) < 1e-12
        assert float(row["to_ecdf_at_values"]) == pytest.approx(3 / 5, rel=1e-3)

    def test_rates(self, limit_rows):
        for (_, kernel), group in limits_tables.series(limit_rows).items():
            assert limits_tables.rate(group) == pytest.approx(limits.KERNELS[kernel], rel=0.1)

    def test_claims_follow_the_rows(self, limit_rows):
        claims = limits.claims(limit_rows)
        (broken,) = [claim.claimed for claim in claims if not claim.holds]
        assert broken == "theorem 2: T tends to the empirical cdf as α → 0 (within 1e-06)"
        assert all(one.claimed.startswith((OURS, "theorem")) for one in claims)
        assert "1.000 / N away at the values" in held(claims, "theorem 2")[1]
        for what, words in [
            ("to_min_max", "theorem 1"),
            ("to_min_max", "falls like α^-2"),
            ("to_limit_between", "step function"),
            ("to_quantile_at_values", "scikit-learn"),
            ("to_kdi_zero_at_values", "kdi computes at α = 0"),
            ("kdi_error", "error_bound_"),
        ]:
            assert held(claims, words)[0]
            assert not held(limits.claims([one | {what: "0.5"} for one in limit_rows[:6]] + limit_rows[6:]), words)[0]
        near = [one | {"to_ecdf_at_values": "1e-9", "to_ecdf_between": "1e-9"} for one in limit_rows]
        assert held(limits.claims(near), "theorem 2")[0]

    def test_page_and_figure(self, limit_rows, monkeypatch):
        monkeypatch.setattr(limits_tables, "COLOURS", limits_tables.COLOURS[:3])
        assert [len(table.rows) for table in limits.tables(limit_rows)] == [6, 6]
        figure = drawn(limits, limit_rows)
        assert len(figure.axes) == 6 and all(len(axes.lines) == 3 for axes in figure.axes)
        assert {axes.get_xscale() for axes in figure.axes} == {axes.get_yscale() for axes in figure.axes} == {"log"}
        assert min(line.get_ydata().min() for axes in figure.axes for line in axes.lines) >= limits_tables.FLOOR
        assert all("1e-13 if less" in axes.get_ylabel() for axes in figure.axes[::3])
