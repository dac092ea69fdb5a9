"""The experiments on the curve itself: precision against runtime, Wine's malic acid, and the two theorems."""

import numpy as np
import oracle
import pytest

from experiments import limits, limits_tables, precision, precision_methods, wine
from experiments.drawing import KDI, MIN_MAX, QUANTILE
from experiments.precision_methods import (
    EXACT,
    INTERPOLATED,
    OUR_GAUSSIAN,
    OUR_POLYEXP,
    SUBSAMPLED,
    THEIR_EXACT,
    THEIR_GAUSSIAN,
    THEIR_POLYEXP,
    THEIRS,
)


def held(claims, words):
    """Whether the one claim with these words holds, and what was found."""
    (claim,) = [one for one in claims if words in one.claimed]
    return claim.holds, claim.found


def texts_outside(figure):
    """Texts that are cut off by the edge of the figure."""
    figure.draw_without_rendering()  # places what is laid out
    width, height = figure.bbox.size
    found = []
    for axes in figure.axes:
        box = axes.get_tightbbox()
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            found.append(axes.get_title() or axes.get_ylabel())
    for legend in figure.legends:
        box = legend.get_window_extent()
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            found.append("legend")
    return found


class TestContenders:
    def run(self, alpha=1.0, points=300):
        values = np.random.RandomState(0).lognormal(size=points)
        at = np.linspace(values.min(), values.max(), 100)
        for one in precision_methods.contenders(points):
            yield one, one.make(alpha, 0)(values.copy())(at.copy()), values, at

    @pytest.mark.parametrize("alpha", precision.ALPHAS)
    def test_each_against_the_integral_that_it_says_it_computes(self, alpha):
        allowed = {EXACT: 1e-12, THEIR_EXACT: 1e-12, OUR_POLYEXP: 1e-6, OUR_GAUSSIAN: 1e-6}
        met = set()
        for one, answer, values, at in self.run(alpha):
            kernel = "polyexp" if one.own == "polyexp" else "gaussian"
            factor = np.sqrt(300 / 299) if one.own == "ddof" else 1.0
            exact = oracle.transform(values, at, alpha * factor, kernel)
            assert abs(answer - exact).max() < allowed.get(one.method, 0.3), one
            met.add(one.method)
        assert met >= {EXACT, SUBSAMPLED, INTERPOLATED, OUR_POLYEXP, OUR_GAUSSIAN}

    def test_exact_integrals_that_errors_are_taken_from(self):
        values = np.random.RandomState(1).lognormal(size=200)
        at = np.linspace(values.min(), values.max(), 50)
        found = precision.integrals(0.5, 200)
        for name, kernel in (("", "gaussian"), ("polyexp", "polyexp")):
            exact = oracle.transform(values, at, 0.5, kernel)
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
        monkeypatch.setattr(precision_methods, "MISSING", ["kditransform"])
        assert not {one.method for one in precision_methods.contenders(100)} & {*THEIRS}

    def test_measured_rows(self, monkeypatch):
        monkeypatch.setattr(precision, "contenders", lambda points: [c for c in self.few() if c.method not in THEIRS])
        rows = precision.compared(1.0, 300, 0.01)
        assert {one["method"] for one in rows} == {EXACT, SUBSAMPLED, OUR_POLYEXP, OUR_GAUSSIAN}
        errors = {one["method"]: (float(one["error"]), float(one["own_error"])) for one in rows}
        assert errors[OUR_GAUSSIAN][0] < 1e-6 and errors[OUR_POLYEXP][1] < 1e-6
        assert errors[OUR_POLYEXP][0] > 1e-4  # another kernel
        assert all(float(one["total_ms"]) > 0 and one["rounds"] >= 3 for one in rows)

    def few(self):
        return [
            one for one in precision_methods.contenders(300) if one.count in (None, 30) and one.method != INTERPOLATED
        ]


def precision_row(alpha, method, fit, total, error, count=""):
    numbers = {"fit_ms": f"{fit}", "transform_ms": "0", "total_ms": f"{total}", "error": f"{error}"}
    head = {"alpha": alpha, "points": 1000, "method": method, "count": count, "rounds": 3}
    return head | numbers | {"own_error": f"{error}"}


def precision_rows(error=1e-7, fit=1.0, theirs=True):
    rows = []
    for alpha in ("0.1", "1", "10"):
        rows += [precision_row(alpha, EXACT, 0.1, 1000 * fit, 0.0)]
        rows += [precision_row(alpha, SUBSAMPLED, 5, 5, 1e-2, 30), precision_row(alpha, SUBSAMPLED, 50, 50, 1e-3, 300)]
        rows += [precision_row(alpha, INTERPOLATED, 80, 80, 1e-5, 300)]
        rows += [precision_row(alpha, OUR_POLYEXP, 1, 1, 5e-3), precision_row(alpha, OUR_GAUSSIAN, 1, 1, error)]
        if theirs:
            rows += [precision_row(alpha, THEIR_EXACT, 0.1, 3000, 1e-6)]
            rows += [
                precision_row(alpha, THEIR_POLYEXP, 10, 10, 6e-3),
                precision_row(alpha, THEIR_GAUSSIAN, 90, 90, 2e-3),
            ]
    return rows


class TestPrecisionClaims:
    def test_speedup_is_judged_at_every_alpha(self):
        rows = precision_rows()
        assert held(precision.claims(rows), "evaluation: kdi gaussian")[0]
        assert not held(precision.claims(rows), "evaluation: kditransform polyexp")[0]  # 300x
        slow = next(one for one in rows if (one["alpha"], one["method"]) == ("10", OUR_GAUSSIAN))
        slow["total_ms"] = "3"
        holds, found = held(precision.claims(rows), "evaluation: kdi gaussian")
        assert not holds and "1,000x (α = 1), 333x (α = 10)" in found

    def test_fixed_precision_takes_the_fastest_that_is_as_precise(self):
        claims = precision.claims(precision_rows())
        holds, found = held(claims, "kdi polyexp against the subsampled")
        assert holds and "50.0x (α = 0.1; S = 300)" in found
        holds, found = held(claims, "kditransform polyexp against the subsampled")
        assert not holds and "5.00x" in found
        holds, found = held(claims, "kdi gaussian against the interpolated")
        assert holds and "over 80.0x (α = 1; R = 300 is not as precise)" in found

    def test_orders_of_error(self):
        holds, found = held(precision.claims(precision_rows(1e-7)), "several orders")
        assert holds and "4.0 and 50x faster than subsampled Gaussian, S = 300" in found
        assert not held(precision.claims(precision_rows(1e-5)), "several orders")[0]  # two orders are not several
        slow = precision_rows(1e-7)
        for one in slow:
            if one["method"] == OUR_GAUSSIAN:
                one["total_ms"] = "60"
        assert not held(precision.claims(slow), "several orders")[0]

    @pytest.mark.parametrize("theirs", [True, False])
    def test_page_and_figure(self, theirs):
        rows = precision_rows(theirs=theirs)
        assert any("kditransform" in one.claimed for one in precision.claims(rows)[:-1]) == theirs
        assert [len(table.rows) for table in precision.tables(rows)] == [len(rows) // 3] * 3
        assert "no imprecision" in precision.tables(rows)[0].note
        figure = precision.figures(rows)["precision"]
        (axes,) = figure.axes
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        stars = [line for line in axes.lines if line.get_marker() == "*"]
        assert [float(line.get_xdata()[0]) for line in stars] == [1000.0] * 3
        named = [text.get_text() for text in figure.legends[0].get_texts()]
        assert ("kditransform polyexp" in named) == theirs and "kdi gaussian" in named
        assert not texts_outside(figure)


@pytest.fixture(scope="module")
def wine_rows():
    return wine.measured()


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
        x, y = wine.points(wine_rows, wine.CURVE, MIN_MAX)
        np.testing.assert_allclose(y, (x - 0.74) / (5.8 - 0.74), atol=1e-4)
        values, levels = wine.points(wine_rows, wine.POINT, KDI)
        assert len(values) == 178
        np.testing.assert_allclose(levels, oracle.transform(values, values, 1.0, "polyexp"), atol=1e-5)
        x, density = wine.points(wine_rows, wine.SLOPE, KDI)
        np.testing.assert_allclose(density, oracle.pdf(values, x, values.std(), "polyexp"), atol=1e-5)
        assert (np.diff(density[x > 3]) < 0).all() == bool(wine.number(wine_rows, wine.FALLS, KDI))

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

    def test_page_and_figure(self, wine_rows):
        (table,) = wine.tables(wine_rows)
        assert [line[0] for line in table.rows] == ["original", MIN_MAX, QUANTILE, KDI]
        figure = wine.figures(wine_rows)["wine"]
        assert len(figure.axes) == 9
        assert [axes.get_title(loc="left") for axes in figure.axes[1::3]] == [
            f"(A) {MIN_MAX}",
            f"(B) {QUANTILE}",
            f"(C) {KDI}",
        ]
        assert not texts_outside(figure)


@pytest.fixture(scope="module")
def limit_rows():
    alphas = [1e4, 1e5**0.5, 100.0, 1e3**0.5, 1.0, 1e-10]
    names = ("normal", "Poisson, ties", "malic acid")
    return [row for name in names for kernel in limits.KERNELS for row in limits.measured(name, kernel, 40, alphas)]


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
        found = {key: limits_tables.rate(group) for key, group in limits_tables.series(limit_rows).items()}
        for (_, kernel), power in found.items():
            assert power == pytest.approx(limits.KERNELS[kernel], rel=0.1)

    def test_claims_follow_the_rows(self, limit_rows):
        claims = limits.claims(limit_rows)
        assert [claim.claimed for claim in claims if not claim.holds] == [
            "theorem 2: T tends to the empirical cdf as α → 0 (within 1e-06)"
        ]
        assert "1.000 / N away at the values" in held(claims, "theorem 2")[1]
        for what, words in [
            ("to_min_max", "theorem 1"),
            ("to_limit_between", "step function"),
            ("to_quantile_at_values", "scikit-learn"),
            ("to_kdi_zero_at_values", "α = 0 of kdi"),
            ("kdi_error", "error_bound_"),
        ]:
            assert held(claims, words)[0]
            assert not held(limits.claims([one | {what: "0.5"} for one in limit_rows[:6]] + limit_rows[6:]), words)[0]
        near = [one | {"to_ecdf_at_values": "1e-9", "to_ecdf_between": "1e-9"} for one in limit_rows]
        assert held(limits.claims(near), "theorem 2")[0]

    def test_page_and_figure(self, limit_rows, monkeypatch):
        monkeypatch.setattr(limits_tables, "COLOURS", limits_tables.COLOURS[:3])
        assert [len(table.rows) for table in limits.tables(limit_rows)] == [6, 6]
        figure = limits.figures(limit_rows)["limits"]
        assert len(figure.axes) == 6 and all(len(axes.lines) == 3 for axes in figure.axes)
        assert {axes.get_xscale() for axes in figure.axes} == {axes.get_yscale() for axes in figure.axes} == {"log"}
        lowest = min(line.get_ydata().min() for axes in figure.axes for line in axes.lines)
        assert lowest >= limits_tables.FLOOR
        assert not texts_outside(figure)
