"""KDITransformerCV: the transformation with one alpha per feature, chosen by how well it predicts y."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from kdi._integral.build import maps_by_alpha
from kdi._integral.maps import ColumnMap, forward
from kdi._numerics.kernels import Kernel
from kdi._sketch.sketch import Sketch
from kdi._tables.sources import is_source
from kdi._transformer.base import BaseKDITransformer, check_open_alphas, to_normal
from kdi._transformer.paths import check_alphas
from kdi._transformer.transformer import KDITransformer
from kdi._tuning.candidates import CandidateColumns
from kdi._tuning.criteria import EstimatorCriterion, RidgeCriterion
from kdi._tuning.descent import Criterion, Descent, descend
from kdi._tuning.folds import sketch_folds
from kdi._tuning.ridge import RidgeFold
from kdi._tuning.targets import TASKS, Task, are_labels, as_target, target_matrix
from kdi._utils.public import public_in
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, FloatArray, Int64Array, KernelName, OutOfRange, Spread
from kdi._utils.validation import check_finite, is_integer

MOST_WEIGHT = 1e100  # squares of sums of larger weights could overflow
KEPT_VALUES = 2**25  # values of candidate columns that may be cached: 256 MB
ESTIMATOR_FOLDS = 5  # of an estimator if cv is None, as in scikit-learn

Split = tuple[Int64Array, Int64Array]  # rows to fit to, rows to score


@public_in("kdi")
class KDITransformerCV(BaseKDITransformer):
    """KDITransformer with one alpha per feature, chosen by cross-validation of a model of y.

    First the alpha that is best for all features together is found; then each feature in turn takes the alpha that is
    best for it while the others keep theirs. An alpha leaves 1, and then the common alpha, only if that improves the
    score by more than the standard error of the improvement.

    Parameters
    ----------
    alphas : sequence of float, default=kdi.ALPHAS
        Candidates; by default 20 from 0.05 to 10. 0 (the quantile transform) and inf (min-max scaling) are allowed. If
        1 is not among them, the nearest takes its place.
    per_feature : bool, default=True
        If False, all features share one alpha.
    cv : int, splitter or iterable of splits, optional
        None leaves out each row in turn, which costs no more than one fit of the ridge model. An integer is a number of
        folds, stratified if y holds labels. A splitter or a list of splits is used as it is: groups and time series
        need one. With `estimator`, None means 5 folds, since leaving out each row would take a fit per row.
    task : {"auto", "regression", "classification"}, default="auto"
        Kind of y. "auto" takes as labels: values that are not numbers, two integers, and consecutive integers from 0 or
        1, at most 100, if each occurs in at least five rows. `task_` tells the result.
    ridge : float, default=10.0
        Penalty of the ridge model on squared coefficients, as in `sklearn.linear_model.Ridge`; at least a millionth of
        the number of rows. Features lie in [0, 1], or are normal scores.
    estimator : scikit-learn estimator, optional
        A model to score alphas by instead of the ridge model. It is fitted once per alpha, feature, fold and pass.
    scoring : str or callable, optional
        Score of the estimator; its own by default.
    max_passes : int, default=3
        Maximum number of passes over all features.
    spread : {"std", "robust", "auto"}, default="std"
        As in `KDITransformer`; "auto" chooses alphas with both, and takes the spread with the better score.
    kernel, order, output_distribution, bounded, feature_range, out_of_range, max_knots, n_jobs, copy
        As in `KDITransformer`.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        The chosen alphas.
    common_alpha_ : float
        The alpha chosen for all features together, from which each feature starts.
    alphas_ : ndarray of shape (n_alphas,)
        The candidates, ascending.
    scores_ : ndarray of shape (n_alphas, n_features), or (n_alphas, 1) with per_feature=False
        The score with a feature at each alpha, the others as they were at its last visit. For the ridge model, the
        explained share of the variance of y (or of the indicators of classes) in rows left out.
    standard_errors_ : ndarray of the shape of `scores_`
        Standard errors of the differences to the score at `reference_alpha_`.
    reference_alpha_ : float
        `common_alpha_`, or 1 (the nearest to it) with per_feature=False.
    best_score_, base_score_ : float
        The score with the chosen alphas, and with all at 1. `best_score_` is optimistically biased, as the maximum over
        many choices.
    spread_ : {"std", "robust"}
        The spread that alphas are in units of.
    task_ : {"regression", "classification"}
    n_passes_ : int
        Number of passes over all features.
    bandwidth_, data_min_, data_max_, error_bound_, n_knots_, references_, quantiles_, sketches_, maps_
        As in `KDITransformer`.
    n_samples_seen_, n_features_in_, feature_names_in_

    Notes
    -----
    The data is read once for all alphas and, if the folds partition the rows, for all folds: the sketch of a training
    fold is the sum of the sketches of the other folds. Folds that overlap otherwise, and more than 61 folds, are
    sketched one by one. If each row is left out in turn, the maps are those of all rows; with folds, the maps of a fold
    have not seen its rows. The ridge model takes the mean of the feature for NaN; an estimator gets NaN.

    Memory is needed for the features once more (once per fold), about three times rows × alphas, and up to 256 MB for
    candidate columns that are cached.

    A sample weight of 2 is a repetition: one of the two is left out at a time, but folds leave out both. The penalty is
    in units of rows: do not normalise weights to sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import kdi
    >>> rng = np.random.default_rng(0)
    >>> X = rng.lognormal(sigma=2, size=(500, 2))
    >>> y = np.log(X[:, 0]) + X[:, 1] / 10 + rng.normal(size=500)
    >>> model = kdi.KDITransformerCV().fit(X, y)
    >>> model.alpha_
    array([0.05, 2.2 ])
    """

    _spreads = ("std", "robust", "auto")

    def __init__(
        self,
        alphas: Any = None,
        *,
        per_feature: bool = True,
        cv: Any = None,
        task: Task = "auto",
        ridge: float = 10.0,
        estimator: Any = None,
        scoring: Any = None,
        max_passes: int = 3,
        kernel: KernelName = "polyexp",
        order: int = 4,
        output_distribution: str = "uniform",
        bounded: bool = True,
        spread: Spread | Literal["auto"] = "std",
        feature_range: tuple[float, float] = (0, 1),
        out_of_range: OutOfRange = "clip",
        max_knots: int | None = None,
        n_jobs: int | None = None,
        copy: bool = True,
    ) -> None:
        self.alphas = alphas
        self.per_feature = per_feature
        self.cv = cv
        self.task = task
        self.ridge = ridge
        self.estimator = estimator
        self.scoring = scoring
        self.max_passes = max_passes
        self.kernel = kernel
        self.order = order
        self.output_distribution = output_distribution
        self.bounded = bounded
        self.spread = spread
        self.feature_range = feature_range
        self.out_of_range = out_of_range
        self.max_knots = max_knots
        self.n_jobs = n_jobs
        self.copy = copy

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the alphas and learn the transformation of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Numbers or labels.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is a repetition, a weight of 0 a removal.
        """
        kernel = self._check_parameters()
        alphas = check_alphas(self.alphas)
        X = _in_memory(X)
        table, weights = self._read_anew(X, sample_weight)
        target = as_target(type(self).__name__, y, table)
        self._check_weights(weights)
        mass = np.ones(len(table)) if weights is None else weights
        labels = self._has_labels(target, mass)
        splits = self._splits(X, target, mass, labels)
        every_fold = [fitted for fitted, _ in splits] + [np.arange(len(table))]

        def choose(spread: Spread) -> tuple[Descent, list[Sketch]]:
            """Choose the alphas; return what led there, and the sketches of all rows."""
            self.spread_ = spread
            sketches, stats = sketch_folds(
                table, weights, every_fold, kernel, float(alphas[0]), self.n_jobs, robust=spread == "robust"
            )
            check_finite(self, stats.infinite_columns)
            for fold in sketches:
                self._check_ranges(np.array([sketch.range for sketch in fold]))
            folds = self._candidates(table, mass, alphas, kernel, splits, sketches)
            criterion: Criterion
            if self.estimator is None:
                criterion = self._ridge_criterion(folds, target_matrix(target, labels, mass), mass, splits)
            else:
                criterion = self._estimator_criterion(folds, target, weights, splits)
            descent = descend(
                criterion,
                _nearest_to_one(alphas),
                per_feature=self.per_feature,
                idle=np.flatnonzero([sketch.is_exact and len(sketch) <= 2 for sketch in sketches[-1]]),
                max_passes=self.max_passes,
            )
            return descent, sketches[-1]

        spreads: list[Any] = ["std", "robust"] if self.spread == "auto" else [self.spread]
        descents = [choose(spread) for spread in spreads]
        best = int(np.argmax([descent.best_score for descent, _ in descents]))  # the standard deviation if all agree
        (descent, sketches), self.spread_ = descents[best], spreads[best]
        self.task_ = "classification" if labels else "regression"
        self._set_scores(descent, alphas)
        chosen = alphas[descent.choice]
        return self._set_sketches(sketches, len(table), chosen, kernel, merge=True)._build_maps()

    def to_transformer(self) -> KDITransformer:
        """Return a fitted KDITransformer with the chosen alphas, which can learn from more data."""
        check_is_fitted(self)
        names = set(KDITransformer._get_param_names()) - {"alpha", "spread"}
        parameters = {name: getattr(self, name) for name in names}
        model = KDITransformer(self.alpha_.tolist(), spread=self.spread_, **parameters)
        for name in ("n_features_in_", "feature_names_in_", "n_samples_seen_", "_sketches", "_maps"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def to_json(self) -> str:
        """Return the fitted transformer as JSON text, without its scores; `KDITransformer.from_json` reads it."""
        return self.to_transformer().to_json()

    def _has_labels(self, target: Any, mass: Float64Array) -> bool:
        if self.estimator is not None and self.task == "auto":
            return bool(is_classifier(self.estimator))
        return are_labels(target, self.task, mass)

    def _splits(self, X: Any, target: Any, mass: Float64Array, labels: bool) -> list[Split]:
        """Return the splits of the rows into folds; none if each row is left out in turn."""
        if self.cv is None and self.estimator is None:
            return []
        cv = ESTIMATOR_FOLDS if self.cv is None else self.cv
        rows = np.arange(len(target))
        splits = [
            (rows[fitted], rows[tested])  # splits may be masks
            for fitted, tested in check_cv(cv, target, classifier=labels).split(X, target)
        ]
        if not splits:
            raise ValueError("cv must have at least one split, got none; an iterator is exhausted after one fit.")
        for k, split in enumerate(splits):
            if not all(mass[part].any() for part in split):
                raise ValueError(
                    f"cv must leave rows of positive weight both to fit to and to score, but split {k} does not."
                )
        return splits

    def _candidates(
        self,
        table: FloatArray,
        mass: Float64Array,
        alphas: Float64Array,
        kernel: Kernel,
        splits: list[Split],
        sketches: list[list[Sketch]],
    ) -> list[CandidateColumns]:
        """Return the rows of each fold transformed with every alpha; all rows if there are no folds."""
        n_threads = count_threads(self.n_jobs, len(table))
        keep = max(len(splits), 1) * table.size * len(alphas) <= KEPT_VALUES

        def apply(column_map: ColumnMap, values: Float64Array, out: Float64Array) -> None:
            forward([column_map], values[:, None], out[:, None], self.out_of_range, n_threads)
            if self.output_distribution == "normal" and not self._holds_scores:
                to_normal(out)

        found = []
        for k, fold in enumerate(sketches[:-1] or sketches):  # the last ones are of all rows
            rows, fitted = (np.concatenate(splits[k]), mass[splits[k][0]]) if splits else (None, mass)
            maps = maps_by_alpha(fold, alphas, kernel, self._map_options(), n_threads)
            filling = fitted if self.estimator is None else None
            found.append(CandidateColumns(maps, apply, table, rows, len(fitted), filling, keep))
        return found

    def _ridge_criterion(
        self,
        folds: list[CandidateColumns],
        targets: Float64Array,
        mass: Float64Array,
        splits: list[Split],
    ) -> RidgeCriterion:
        every = np.arange(len(mass))
        orders = [every if fold.rows is None else fold.rows for fold in folds]
        models = [
            RidgeFold(fold, targets[order], mass[order[: fold.n_fitted]], self.ridge)
            for fold, order in zip(folds, orders, strict=True)
        ]
        variance = float(mass / mass.sum() @ np.einsum("nk,nk->n", targets, targets))
        return RidgeCriterion(models, [tested for _, tested in splits] or [every], mass, variance or 1.0)

    def _estimator_criterion(
        self,
        folds: list[CandidateColumns],
        target: Any,
        weights: Float64Array | None,
        splits: list[Split],
    ) -> EstimatorCriterion:
        orders = [np.concatenate(split) for split in splits]
        return EstimatorCriterion(
            folds,
            [target[order] for order in orders],
            None if weights is None else [weights[order] for order in orders],
            self.estimator,
            check_scoring(self.estimator, self.scoring),
        )

    def _set_scores(self, descent: Descent, alphas: Float64Array) -> None:
        self.alphas_, self.common_alpha_ = alphas, float(alphas[descent.common])
        self.reference_alpha_ = float(alphas[descent.reference])
        self.scores_, self.standard_errors_ = descent.scores, descent.errors
        self.base_score_, self.best_score_ = descent.base_score, descent.best_score
        self.n_passes_ = descent.n_passes

    def _check_weights(self, weights: Float64Array | None) -> None:
        if weights is None:
            return
        if weights.max() > MOST_WEIGHT:
            raise ValueError(f"sample_weight must be at most {MOST_WEIGHT:g}, got {weights.max()}.")
        if self.estimator is None:
            return
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                "estimator must accept sample_weight in fit when sample_weight is given, got a "
                f"{type(self.estimator).__name__}."
            )
        if callable(self.scoring) and not hasattr(self.scoring, "set_score_request"):
            raise ValueError(
                "scoring must be a name or a scorer made by make_scorer when sample_weight is given, got a function."
            )

    @property
    def _chosen_spread(self) -> Spread:
        return self.spread_

    def _check_parameters(self) -> Kernel:
        check_open_alphas(self.bounded, check_alphas(self.alphas), "alphas")
        if self.task not in TASKS:
            raise ValueError(f"task must be one of {list(TASKS)}, got {self.task!r}.")
        if not isinstance(self.ridge, Real) or isinstance(self.ridge, bool) or not 0 < self.ridge < np.inf:
            raise ValueError(f"ridge must be a positive number, got {self.ridge!r}.")
        if not isinstance(self.per_feature, bool | np.bool_):
            raise ValueError(f"per_feature must be True or False, got {self.per_feature!r}.")
        if not is_integer(self.max_passes) or self.max_passes < 1:
            raise ValueError(f"max_passes must be an integer >= 1, got {self.max_passes!r}.")
        if not _is_cv(self.cv):
            raise ValueError(f"cv must be None, an integer >= 2, a splitter or an iterable of splits, got {self.cv!r}.")
        if self.estimator is not None and not hasattr(self.estimator, "fit"):
            raise ValueError(f"estimator must be a scikit-learn estimator, got {self.estimator!r}.")
        if self.estimator is None and self.scoring is not None:
            raise ValueError(f"scoring must be None if estimator is None, got {self.scoring!r}.")
        return super()._check_parameters()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.estimator is not None:  # it gets NaN
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def _is_cv(cv: Any) -> bool:
    """Tell whether `cv` is None, a number of folds, a splitter or an iterable of splits."""
    if cv is None or isinstance(cv, str):
        return cv is None
    return bool(cv >= 2) if is_integer(cv) else hasattr(cv, "split") or isinstance(cv, Iterable)


def _nearest_to_one(alphas: Float64Array) -> int:
    """Return the index of the alpha that is nearest to 1 by their ratio."""
    with np.errstate(divide="ignore"):
        return int(np.abs(np.log(alphas)).argmin())


def _in_memory(X: Any) -> Any:
    """Return frames and arrays as they are and a table of Arrow as a frame; raise for tables of unknown rows."""
    try:
        stream = is_source(X)
    except TypeError:  # a table of an engine
        stream = True
    if stream and type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if stream:
        raise TypeError(
            f"X must be a table in memory, got {type(X).__name__}. Tune on a sample in memory and pass its alpha_ to "
            "KDITransformer."
        )
    return X
