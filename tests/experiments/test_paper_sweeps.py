"""The paper's classification and regression: inner models are scikit-learn's, and claims are judged by the rows."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, root_mean_squared_error
from sklearn.model_selection import ShuffleSplit, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

import kdi
from experiments import classification, datasets, regression, sample_size, sweep_pages, sweeps
from experiments.drawing import style
from experiments.names import CLIPPED, EACH, KDI, MIN_MAX, QUANTILE, TUNED, Z_SCORE
from experiments.sweep_pages import Expected, Lead
from experiments.sweeps import METHODS, SWEEP_ALPHAS, SWEPT

pytestmark = pytest.mark.slow


def one_by_one(model, score, values, target, inside):
    return [score(target[~line], model.fit(values[line], target[line]).predict(values[~line])) for line in inside]


class TestInnerModels:
    @pytest.mark.parametrize("data", datasets.CLASSIFICATION)
    def test_naive_bayes(self, data):
        table, labels = datasets.classification(data)
        values = PCA(2).fit_transform(kdi.KDITransformer(0.3).fit_transform(table))
        inside = sweeps.inner_parts(len(values), 3, 30)
        expected = one_by_one(GaussianNB(), accuracy_score, values, labels, inside)
        assert min(expected) < 1
        np.testing.assert_array_equal(sweeps.bayes_accuracies(values, labels, inside), expected)

    def test_naive_bayes_far_from_zero_and_with_classes_that_are_missing(self):
        rng = np.random.default_rng(0)
        labels = np.r_[np.zeros(20, int), np.full(20, 5), [7, 7, 9]]
        values = 1e6 + rng.normal(size=(43, 2)) + labels[:, None] / 3
        inside = sweeps.inner_parts(43, 0, 40)
        assert {0, 1, 2, 3} <= set(inside[:, 40:].sum(axis=1))
        expected = one_by_one(GaussianNB(), accuracy_score, values, labels, inside)
        np.testing.assert_array_equal(sweeps.bayes_accuracies(values, labels, inside), expected)

    @pytest.mark.parametrize("alpha", [0.1, 1.0, 10.0])
    @pytest.mark.parametrize("data", datasets.REGRESSION)
    def test_least_squares(self, data, alpha):
        table, target = (part[::4] for part in datasets.regression(data))
        values = kdi.KDITransformer(alpha).fit_transform(table)
        inside = sweeps.inner_parts(len(values), 1, 10)
        expected = one_by_one(LinearRegression(), root_mean_squared_error, values, target, inside)
        np.testing.assert_allclose(sweeps.linear_errors(values, target, inside), expected, rtol=1e-9)

    def test_least_squares_with_a_constant_column(self):
        rng = np.random.default_rng(0)
        values = np.column_stack([rng.normal(size=50), np.ones(50), 1e-3 * rng.normal(size=50)])
        target = values @ [1.0, 2.0, 3.0] + rng.normal(size=50)
        inside = sweeps.inner_parts(50, 1, 10)
        expected = one_by_one(LinearRegression(), root_mean_squared_error, values, target, inside)
        np.testing.assert_allclose(sweeps.linear_errors(values, target, inside), expected, rtol=1e-9)

    def test_inner_parts_are_those_of_shuffle_split(self):
        splits = ShuffleSplit(n_splits=4, test_size=0.3, random_state=7).split(np.empty(31))
        for line, (train, test) in zip(sweeps.inner_parts(31, 7, 4), splits, strict=True):
            assert set(np.flatnonzero(line)) == set(train)
            assert set(np.flatnonzero(~line)) == set(test)


class TestSplit:
    @pytest.mark.parametrize(
        ("setting", "sample", "steps", "score"),
        [
            (sweeps.CLASSIFICATION, sweeps.Sample("iris"), lambda: [PCA(2), GaussianNB()], accuracy_score),
            (sweeps.REGRESSION, sweeps.Sample("abalone", 500), lambda: [LinearRegression()], root_mean_squared_error),
        ],
    )
    def test_every_method_is_its_pipeline(self, setting, sample, steps, score):
        found = sweeps.split_scores(setting, sample, seed := 5, 4)
        split = train_test_split(*sweeps.drawn(setting, sample, seed), test_size=0.3, random_state=seed)
        X_train, X_test, y_train, y_test = split

        def pipeline_score(transformer):
            return score(y_test, make_pipeline(transformer, *steps()).fit(X_train, y_train).predict(X_test))

        chosen = self.searched(setting, X_train, y_train, steps, seed)
        transformers = {
            MIN_MAX: MinMaxScaler(),
            CLIPPED: MinMaxScaler(clip=True),
            Z_SCORE: StandardScaler(),
            QUANTILE: QuantileTransformer(n_quantiles=min(1000, len(X_train))),
            KDI: kdi.KDITransformer(alpha=1),
            TUNED: kdi.KDITransformer(alpha=chosen),
            EACH: kdi.KDITransformerCV(),
        }
        assert found["chosen"] == chosen
        assert found["scores"].keys() == transformers.keys() == set(METHODS)
        for name, transformer in transformers.items():
            assert found["scores"][name] == pytest.approx(pipeline_score(transformer), rel=1e-9), name
        sweep = [pipeline_score(kdi.KDITransformer(alpha=alpha)) for alpha in SWEEP_ALPHAS]
        np.testing.assert_allclose(found["sweep"], sweep, rtol=1e-9)

    @staticmethod
    def searched(setting, X_train, y_train, steps, seed):
        """As the paper's author searches: one fit an alpha and inner split."""
        means = []
        for alpha in SWEEP_ALPHAS:
            *before, model = make_pipeline(kdi.KDITransformer(alpha=alpha), *steps())
            values = make_pipeline(*before).fit_transform(X_train)
            splits = ShuffleSplit(n_splits=4, test_size=0.3, random_state=seed).split(values)
            scores = [
                setting.score(y_train[rest], model.fit(values[own], y_train[own]).predict(values[rest]))
                for own, rest in splits
            ]
            means.append(setting.sign * np.mean(scores))
        return SWEEP_ALPHAS[np.argmax(np.round(means, 12))]

    def test_the_first_of_equal_alphas_is_chosen(self):
        flat = replace(sweeps.CLASSIFICATION, inner_scores=lambda *_: np.ones(2))
        assert sweeps.split_scores(flat, sweeps.Sample("iris"), 0, 2)["chosen"] == SWEEP_ALPHAS[0]

    def test_samples_are_drawn_without_replacement_anew_for_every_seed(self):
        def rows(*parts):
            return len(np.unique(np.vstack(parts), axis=0))  # rows of California housing are distinct

        draws = [(1000, 0), (1000, 1), (2000, 0)]
        one, two, three = (sweeps.drawn(sweeps.REGRESSION, sweeps.Sample("california", n), s)[0] for n, s in draws)
        assert [rows(one), rows(two), rows(three)] == [1000, 1000, 2000]
        assert 1900 < rows(one, two) < 2000  # 48 in common are expected
        assert 2850 < rows(one, three) < 3000  # 97

    def test_cached_rows_are_for_one_setting_only(self):
        settings = [(1000, range(5), 30), (2000, range(5), 30), (1000, range(6), 30), (1000, range(5), 9)]
        samples = [(sweeps.Sample("california", rows), *others) for rows, *others in settings]
        assert len({sweeps.chunk_task(sweeps.REGRESSION, *sample).key for sample in samples}) == 4


def made_up(data="wine", rows=100, metric="accuracy", best=10, chosen=1.0, **shifts):
    """Splits in which methods differ from 0.5 by shifts, and by a little noise of their own."""
    names = {"min_max": MIN_MAX, "z_score": Z_SCORE, "quantile": QUANTILE, "kdi": KDI, "tuned": TUNED, "each": EACH}
    names["clipped"] = CLIPPED
    rng = np.random.default_rng(0)
    levels = 0.5 + rng.normal(scale=0.1, size=20)  # which all share: only paired differences see through them
    scores = {}
    for key, name in names.items():
        noise = rng.normal(scale=1e-3, size=20)
        scores[name] = levels + shifts.get(key, 0) + noise - noise.mean()
    head = {"data": data, "rows": rows, "columns": 4, "metric": metric, "chosen": chosen}
    curve = 0.01 * np.abs(np.arange(len(SWEEP_ALPHAS)) - best)
    return [
        head | {"scores": {name: own[place] for name, own in scores.items()}, "sweep": [*(level + curve)]}
        for place, level in enumerate(levels)
    ]


class TestRows:
    def test_what_a_row_says(self):
        splits = made_up(kdi=0.1)
        rows = sweeps.summarised(splits)
        assert len(rows) == len(METHODS) + len(SWEEP_ALPHAS)
        assert len({tuple(row) for row in rows}) == 1
        own = np.array([split["scores"][MIN_MAX] for split in splits])
        apart = own - [split["scores"][KDI] for split in splits]
        row = sweep_pages.of_method(rows, MIN_MAX)
        assert float(row["value"]) == pytest.approx(own.mean(), abs=1e-6)
        assert float(row["deviation"]) == pytest.approx(own.std(ddof=1), abs=1e-6)
        assert float(row["standard_error"]) == pytest.approx(own.std(ddof=1) / np.sqrt(20), abs=1e-6)
        found = [float(row["difference"]), float(row["difference_error"])]
        assert found == pytest.approx([apart.mean(), apart.std(ddof=1) / np.sqrt(20)], abs=1e-6)
        assert row["splits"] == 20
        assert [float(row["alpha"]) for row in sweep_pages.swept(rows)] == pytest.approx(SWEEP_ALPHAS, rel=1e-5)
        assert (sweep_pages.of_method(rows, TUNED)["median_alpha"], row["median_alpha"]) == ("1", "")

    def test_samples_stay_apart(self):
        rows = sweeps.summarised(made_up("iris", 10) + made_up("iris", 20) + made_up("wine", 10))
        found = [(group[0]["data"], group[0]["rows"]) for group in sweep_pages.samples(rows)]
        assert found == [("iris", 10), ("iris", 20), ("wine", 10)]

    def test_leads_have_the_sign_of_the_metric(self):
        for metric, expected in [("accuracy", 0.1), ("rMSE", -0.1)]:
            rows = sweeps.summarised(made_up(metric=metric, kdi=0.1, tuned=0.2))
            assert sweep_pages.lead(rows, KDI, MIN_MAX).mean == pytest.approx(expected, abs=1e-3)
            assert sweep_pages.lead(rows, TUNED, MIN_MAX).mean == pytest.approx(2 * expected, abs=1e-3)
            assert sweep_pages.lead(rows, KDI, MIN_MAX).error < 1e-3


class TestJudging:
    @pytest.mark.parametrize(
        ("means", "holding"),
        [
            ([3, 3], {"ahead of", "not behind"}),
            ([3, -3], {"between"}),
            ([3, -1], {"not behind"}),
            ([1, 2], {"tied with", "not behind"}),
            ([-3, -3], {"behind"}),
            ([0, 0], {"tied with", "not behind"}),
        ],
    )
    def test_relations(self, means, holding):
        leads = [Lead(mean, 1) for mean in means]
        assert {name for name, holds in sweep_pages.RELATIONS.items() if holds(leads)} == holding

    def test_a_claim_says_what_was_found(self):
        rows = sweeps.summarised(made_up("wine", kdi=0.1))
        expected = [
            Expected("wine", KDI, "ahead of", (MIN_MAX, QUANTILE)),
            Expected("hawks", KDI, "behind", (MIN_MAX,)),
        ]
        (claim,) = sweep_pages.judged(rows, expected)  # Hawks were not measured
        assert claim.claimed == "Wine: KD-integral, α = 1, ahead of min-max and quantile"
        said = r"\+10.00 ± 0.0\d points against"
        assert re.fullmatch(rf"{said} min-max \(ahead\); {said} quantile \(ahead\)", claim.found)
        assert claim.holds

    def test_classification_as_the_paper_has_it(self):
        shifts = {
            "wine": {"kdi": 0.1, "tuned": 0.1},
            "iris": {"min_max": 0.1, "z_score": -0.1, "quantile": -0.1, "tuned": 0.1},
            "penguins": {"z_score": 0.1, "min_max": -0.1, "quantile": -0.1},
            "hawks": {"quantile": -0.1, "min_max": 0.0001, "z_score": -0.0001},
        }
        rows = [row for data, own in shifts.items() for row in sweeps.summarised(made_up(data, **own))]
        claims = classification.claims(rows)
        assert len(claims) == len(classification.EXPECTED) + 1
        assert [claim.claimed for claim in claims if not claim.holds] == []
        assert claims[-1].found == "Wine first, Iris second, Penguins second, Hawks second"
        worse = [row for data in shifts for row in sweeps.summarised(made_up(data, kdi=-0.1, tuned=-0.1))]
        held = [claim.claimed for claim in classification.claims(worse) if claim.holds]
        assert held == [f"Penguins: {KDI}, behind z-score", f"Penguins: {TUNED}, behind z-score"]

    def test_regression(self):
        def held(**shifts):
            return [
                c.holds for c in regression.claims(sweeps.summarised(made_up("california", metric="rMSE", **shifts)))
            ]

        # Ahead at 1, tuned; quantile of min-max; at 1, tuned, of what is clipped; the gain at 1, tuned.
        assert held(kdi=-0.3, tuned=-0.4, quantile=-0.1) == [True] * 7
        assert held(kdi=-0.15, tuned=-0.4, quantile=-0.1) == [True, True, True, True, True, False, True]
        assert held(kdi=-0.05, tuned=-0.4, quantile=-0.1) == [False, True, True, True, True, False, True]
        assert held(kdi=-0.3, tuned=-0.4, quantile=-0.1, clipped=-0.35) == [True, True, True, False, True, True, True]
        assert held(kdi=0.3, tuned=0.4, quantile=0.1) == [False] * 7
        # The gain is over the better of the two, whichever that is.
        assert held(kdi=-0.3, tuned=-0.15, quantile=0.2)[2:] == [False, True, True, True, False]

    def test_sample_size(self):
        def held(places, chosen):
            groups = zip(sample_size.SIZES, places, chosen, strict=True)
            splits = [s for n, b, c in groups for s in made_up("california", n, "rMSE", best=b, chosen=c)]
            return [claim.holds for claim in sample_size.claims(sweeps.summarised(splits))]

        assert held([12, 12, 12, 12], [2, 2, 2, 2]) == [True, True, True]
        assert held([12, 13, 12, 13], [2, 2, 2, 1.9]) == [True, True, True]
        assert held([12, 12, 11, 10], [2, 1.7, 1.5, 1.2]) == [False, False, False]  # as by Scott's rule
        assert held([10, 11, 12, 13], [1, 2, 3, 4]) == [True, True, False]


class TestPages:
    @pytest.fixture(params=[classification, regression, sample_size], ids=["classification", "regression", "sizes"])
    def shown(self, request):
        names = {classification: ["wine", "iris", "hawks"], regression: ["california", "abalone"]}
        samples = [(data, 500) for data in names.get(request.param, [])] or [("california", n) for n in (1000, 10_000)]
        metric = "accuracy" if request.param is classification else "rMSE"
        splits = [one for data, rows in samples for one in made_up(data, rows, metric, kdi=0.1)]
        return request.param, sweeps.summarised(splits), len(samples)

    def test_tables_are_markdown(self, shown):
        module, rows, _ = shown
        for table in module.tables(rows):
            assert {len(line) for line in [table.header, *table.rows]} == {len(table.header)}
            assert not any("|" in cell for line in [table.header, *table.rows] for cell in line)
        assert not any("|" in claim.claimed + claim.found for claim in module.claims(rows))

    def test_figure(self, shown):
        module, rows, count = shown
        with style():
            ((name, figure),) = module.figures(rows).items()
            figure.draw_without_rendering()
            box = figure.legends[0].get_window_extent()
            extents = [panel.get_tightbbox() for panel in figure.axes]
        assert module.__name__.endswith(name)
        assert len(figure.axes) == count
        assert all(panel.get_xscale() == "log" for panel in figure.axes)
        assert "N = " in figure.axes[0].get_title(loc="left")
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert {*METHODS, "KD-integral, at each α"} <= set(labels)
        assert box.x0 >= 0 and box.x1 <= figure.bbox.width
        for extent in extents:  # beside the legend, and nothing cut off
            assert not extent.overlaps(box)
            assert extent.x0 >= 0 and extent.x1 <= figure.bbox.width and extent.y1 <= figure.bbox.height

    def test_the_sweep_is_drawn_at_its_alphas(self, shown):
        module, rows, _ = shown
        (figure,) = module.figures(rows).values()
        drawn, sample = figure.axes[0].containers[0].lines[0], sweep_pages.samples(rows)[0]
        expected = [(float(row["alpha"]), float(row["value"])) for row in sample if row["method"] == SWEPT]
        np.testing.assert_allclose(drawn.get_xydata(), expected)

    @pytest.mark.parametrize(("shift", "words"), [(0.02, 0), (3.0, 1)])
    def test_a_scaler_that_is_far_off_is_said_in_words(self, shift, words):
        figure = sweep_pages.figure(sweeps.summarised(made_up(min_max=shift)))
        said = [text.get_text()[:24] for text in figure.axes[0].texts]
        assert (said, figure.axes[0].get_ylim()[1] < 1) == (["min-max, off the scale: "] * words, True)
