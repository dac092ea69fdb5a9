"""Transformers before a simple model, on random splits: alpha = 1, alpha by cross-validation, and a sweep of alphas.

The setting is that of the notebooks of the paper's author: 20 alphas from 0.1 to 10; 70/30 splits, not stratified; in
each, 30 random 70/30 splits of the training part to choose one alpha. For these the transformer (and the PCA) is fitted
to the whole training part, and only the model to each inner training part; the alpha with the best mean score is
chosen, the smallest of ties. alpha = 1 is not among the 20, and is measured separately.

The inner models are fitted all at once, from sums over the rows of each inner part: they equal scikit-learn's up to
rounding.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, root_mean_squared_error
from sklearn.model_selection import ShuffleSplit, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler
from threadpoolctl import threadpool_limits

import kdi
from experiments import datasets
from experiments.names import CLIPPED, EACH, KDI, MIN_MAX, QUANTILE, TUNED, Z_SCORE
from experiments.progress import Size, Task, run, task_key
from experiments.rows import Row, grouped

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SWEPT = "KD-integral"  # at the alpha of the row
METHODS = (MIN_MAX, CLIPPED, Z_SCORE, QUANTILE, KDI, TUNED, EACH)
SWEEP_ALPHAS = np.geomspace(0.1, 10, 20)
SPLITS, INNER = 100, 30
QUICK_SPLITS, QUICK_INNER = 3, 5
SHARE = 0.3  # of the rows, for testing; of the training part, too
CHUNK = 10  # splits per task
JOBS = 2
QUANTILES = 1000  # QuantileTransformer's default, which it lowers to the number of rows with a warning
SMOOTHING = 1e-9  # share of the largest variance that GaussianNB adds to all
NO_DIRECTION = 1e-10  # singular values below this share of the largest are 0, as for indicators of all categories


@dataclass(frozen=True)
class Setting:
    """The way in which data is loaded, reduced, modelled and scored."""

    metric: str
    sign: int  # 1 where higher is better, -1 where lower is
    load: Callable[[str], tuple[Any, Any]]
    reduce: Callable[[Floats, Floats], tuple[Floats, Floats]]
    model: Callable[[], Any]
    score: Callable[[Any, Any], float]
    inner_scores: Callable[[Floats, Any, Flags], Floats]


@dataclass(frozen=True)
class Sample:
    """A data set, or a number of its rows, drawn anew for every split."""

    data: str
    rows: int | None = None


# Measuring.


def measure(setting: Setting, samples: Iterable[Sample], size: Size) -> list[Row]:
    """Measure a row per sample and method, and per alpha of the sweep."""
    n_splits, inner = (QUICK_SPLITS, QUICK_INNER) if size == "quick" else (SPLITS, INNER)
    chunks = [range(first, min(first + CHUNK, n_splits)) for first in range(0, n_splits, CHUNK)]
    tasks = [chunk_task(setting, sample, seeds, inner) for sample in samples for seeds in chunks]
    return summarised(run(tasks, JOBS))


def chunk_task(setting: Setting, sample: Sample, seeds: range, inner: int) -> Task:
    table, _ = setting.load(sample.data)
    rows = sample.rows or len(table)
    label = f"{sample.data}, N = {rows:,}, splits {seeds.start} to {seeds.stop - 1}"
    key = task_key(
        __file__, setting.metric, sample.data, rows, [*seeds], inner, SHARE, [*SWEEP_ALPHAS], QUANTILES, METHODS
    )
    work = len(seeds) * (500 + rows) * table.shape[1]
    return Task(label, work, partial(chunk, setting, sample, seeds, inner), key)


def chunk(setting: Setting, sample: Sample, seeds: Sequence[int], inner: int) -> list[Row]:
    # One thread: tasks run in parallel, and small matrix products are slowed by threads that wait for each other.
    with threadpool_limits(1):
        return [split_scores(setting, sample, seed, inner) for seed in seeds]


def split_scores(setting: Setting, sample: Sample, seed: int, inner: int) -> Row:
    """Score all methods on one split, and record the alpha that was chosen."""
    table, target = drawn(setting, sample, seed)
    train, test, target_train, target_test = train_test_split(table, target, test_size=SHARE, random_state=seed)
    inside = inner_parts(len(train), seed, inner)

    def scored(fitted: Any) -> tuple[float, Floats]:
        """Return the score on the test part, and the features that the model is fitted to."""
        reduced, reduced_test = setting.reduce(fitted.transform(train), fitted.transform(test))
        model = setting.model().fit(reduced, target_train)
        return float(setting.score(target_test, model.predict(reduced_test))), reduced

    plain = {
        MIN_MAX: MinMaxScaler(),
        CLIPPED: MinMaxScaler(clip=True),
        Z_SCORE: StandardScaler(),
        QUANTILE: QuantileTransformer(n_quantiles=min(QUANTILES, len(train)), random_state=0),
        KDI: kdi.KDITransformer(n_jobs=1),
        EACH: kdi.KDITransformerCV(n_jobs=1),
    }
    scores = {name: scored(transformer.fit(train, target_train))[0] for name, transformer in plain.items()}
    sweep, within = [], []
    for fitted in kdi.alpha_path(train, SWEEP_ALPHAS, n_jobs=1):
        score, reduced = scored(fitted)
        sweep.append(score)
        within.append(setting.sign * setting.inner_scores(reduced, target_train, inside).mean())
    chosen = int(np.argmax(np.round(within, 12)))  # scores that differ by rounding only are ties: the first is taken
    scores[TUNED] = sweep[chosen]
    return {
        "data": sample.data,
        "rows": len(table),
        "columns": table.shape[1],
        "metric": setting.metric,
        "scores": scores,
        "sweep": sweep,
        "chosen": float(SWEEP_ALPHAS[chosen]),
    }


def drawn(setting: Setting, sample: Sample, seed: int) -> tuple[Any, Any]:
    table, target = setting.load(sample.data)
    if sample.rows is None:
        return table, target
    # Seeded by size and seed, so that samples of different sizes are independent.
    rows = np.random.default_rng([sample.rows, seed]).choice(len(table), sample.rows, replace=False)
    return table[rows], target[rows]


def inner_parts(rows: int, seed: int, count: int) -> Flags:
    """Choose the rows that each inner model is fitted to, one line per split; it is scored on the others."""
    inside = np.zeros((count, rows), dtype=bool)
    splits = ShuffleSplit(n_splits=count, test_size=SHARE, random_state=seed).split(np.empty((rows, 1)))
    for line, (train, _) in zip(inside, splits, strict=True):
        line[train] = True
    return inside


# Models of all inner parts, fitted at once.


def bayes_accuracies(values: Floats, labels: Any, inside: Flags) -> Floats:
    """Score Gaussian naive Bayes, fitted to the rows that are inside and scored on the others, per line."""
    weights = inside.astype(float)
    values = values - values.mean(axis=0)  # so that squares do not lose digits
    classes, codes = np.unique(labels, return_inverse=True)
    members = np.eye(len(classes))[codes]
    counts = weights @ members
    present = np.maximum(counts, 1)[:, :, None]
    own = members[:, :, None] * values[:, None, :]  # rows, classes, features
    means = np.tensordot(weights, own, 1) / present
    variances = np.tensordot(weights, own * values[:, None, :], 1) / present - means**2
    share = weights / weights.sum(axis=1, keepdims=True)
    variances += SMOOTHING * (share @ values**2 - (share @ values) ** 2).max(axis=1)[:, None, None]
    with np.errstate(divide="ignore"):  # a class without rows inside is never predicted
        logs = np.log(counts) - np.log(variances).sum(axis=2) / 2
    apart = (values[None, :, None, :] - means[:, None]) ** 2 / variances[:, None]
    hits = np.argmax(logs[:, None] - apart.sum(axis=3) / 2, axis=2) == codes
    return np.asarray((hits & ~inside).sum(axis=1) / (~inside).sum(axis=1))


def linear_errors(values: Floats, target: Any, inside: Flags) -> Floats:
    """Compute the rMSE of least squares, fitted to the rows that are inside and scored on the others, per line."""
    deviations = values.std(axis=0)
    standard = (values - values.mean(axis=0)) / np.where(deviations > 0, deviations, 1)
    columns = np.column_stack([np.ones(len(values)), standard, target - np.mean(target)])
    width = columns.shape[1]
    products = (columns[:, :, None] * columns[:, None, :]).reshape(len(values), -1)
    fitted = (inside.astype(float) @ products).reshape(-1, width, width)
    rest = products.sum(axis=0).reshape(width, width) - fitted
    inverse = np.linalg.pinv(fitted[:, :-1, :-1], rcond=NO_DIRECTION, hermitian=True)
    coefficients = (inverse @ fitted[:, :-1, -1:])[:, :, 0]
    signed = np.column_stack([coefficients, np.full(len(inside), -1.0)])  # errors are columns @ signed
    squares = np.einsum("ki,kij,kj->k", signed, rest, signed)
    return np.asarray(np.sqrt(squares / (~inside).sum(axis=1)))


# Settings.


def principal(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    projection = PCA(2).fit(train)
    return projection.transform(train), projection.transform(test)


def unchanged(train: Floats, test: Floats) -> tuple[Floats, Floats]:
    return train, test


@cache
def labelled(data: str) -> tuple[Any, Any]:
    return datasets.classification(data)


@cache
def measured(data: str) -> tuple[Any, Any]:
    return datasets.regression(data)


CLASSIFICATION = Setting("accuracy", 1, labelled, principal, GaussianNB, accuracy_score, bayes_accuracies)
REGRESSION = Setting("rMSE", -1, measured, unchanged, LinearRegression, root_mean_squared_error, linear_errors)
SETTINGS = {setting.metric: setting for setting in (CLASSIFICATION, REGRESSION)}


# Summaries.


def summarised(found: Iterable[Row]) -> list[Row]:
    """Combine the splits into one row per method and per alpha.

    The rows contain the differences to alpha = 1, to the tuned alpha and to quantiles on the same splits.
    """
    return [row for splits in grouped(found, "data", "rows").values() for row in group_rows(splits)]


def group_rows(splits: list[Row]) -> list[Row]:
    scores = {name: np.array([split["scores"][name] for split in splits]) for name in METHODS}
    sweep = np.array([split["sweep"] for split in splits])
    chosen = np.array([split["chosen"] for split in splits])
    head = {name: splits[0][name] for name in ("data", "rows", "columns", "metric")}
    picked = {"mean_alpha": f"{chosen.mean():.4g}", "median_alpha": f"{np.median(chosen):.4g}"}  # split by split
    fixed, unpicked = {KDI: "1"}, dict.fromkeys(picked, "")
    series = [(name, fixed.get(name, ""), scores[name]) for name in METHODS]
    series += [(SWEPT, f"{alpha:.6g}", sweep[:, place]) for place, alpha in enumerate(SWEEP_ALPHAS)]
    return [
        head
        | {"method": method, "alpha": alpha}
        | (picked if method == TUNED else unpicked)
        | {"value": f"{values.mean():.6f}"}
        | {"deviation": f"{values.std(ddof=1):.6f}", "standard_error": f"{standard_error(values):.6f}"}
        | paired("", values - scores[KDI])
        | paired("tuned_", values - scores[TUNED])
        | paired("quantile_", values - scores[QUANTILE])
        | {"splits": len(values)}
        for method, alpha, values in series
    ]


def paired(prefix: str, differences: Floats) -> Row:
    return {
        f"{prefix}difference": f"{differences.mean():.6f}",
        f"{prefix}difference_error": f"{standard_error(differences):.6f}",
    }


def standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))
