"""KDITransformerCV: the transformation with an alpha for each feature, chosen by what predicts y."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from kdi._integral.feature_maps import maps_by_alpha
from kdi._integral.maps import ColumnMap, forward
from kdi._numerics.kernels import Kernel
from kdi._sketch.sketch import Sketch
from kdi._tables.sources import is_source
from kdi._transformer.base import BaseKDITransformer, to_normal
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
from kdi._utils.typing import Float64Array, FloatArray, Int64Array, KernelName, OutOfRange
from kdi._utils.validation import check_finite, is_integer

MOST_WEIGHT = 1e100  # squares of sums of them are numbers still
KEPT_VALUES = 2**25  # values of candidate columns that are kept between visits: 256 MB


@public_in("kdi")
class KDITransformerCV(BaseKDITransformer):
    """KDITransformer with an alpha for each feature, chosen by cross-validation of a model of y.

    The alpha that is best for all features alike is found first, then each feature in turn takes the alpha that is best
    for it with the others as they are. Alphas leave 1, and then the common alpha, only where that improves the score by
    more than the standard error of the improvement.

    Parameters
    ----------
    alphas : sequence of float, default=kdi.ALPHAS
        What to choose from; by default 20 from 0.05 to 10. 0 (the quantile transform) and inf (min-max scaling) are
        allowed. Where 1 is not among them, the nearest takes its place.
    per_feature : bool, default=True
        Whether each feature has an alpha of its own, or all have the same.
    criterion : {"auto", "loo", "cv"}, default="auto"
        Errors of the ridge model: each row left out in turn, or the folds of `cv`. "auto" leaves out rows, unless `cv`
        is a splitter or a list of splits, as groups and time series need them.
    cv : int, splitter or iterable of splits, default=5
        Folds of "cv", and of an estimator.
    task : {"auto", "regression", "classification"}, default="auto"
        What y is. "auto" takes for labels what is not a number, two whole numbers, and whole numbers that are numbered
        through from 0 or 1, at most 100, of which each occurs in five rows or more; `task_` says what it took.
    ridge : float, default=10.0
        Penalty of the ridge model on squared coefficients, as in `sklearn.linear_model.Ridge`; at least a millionth of
        the number of rows. Features lie in [0, 1], or are normal scores.
    estimator : scikit-learn estimator, optional
        A model to judge by instead of the ridge model. It is fitted for every alpha, feature, fold and pass.
    scoring : str or callable, optional
        Score of the estimator; its own by default.
    max_passes : int, default=3
        How often features are visited, at most.
    kernel, order, output_distribution, out_of_range, n_quantiles, n_jobs, copy
        As in `KDITransformer`.

    Attributes
    ----------
    alpha_ : ndarray of shape (n_features,)
        The alphas that were chosen.
    common_alpha_ : float
        The alpha that was chosen for all features alike, from which they set out.
    alphas_ : ndarray of shape (n_alphas,)
        What was chosen from, ascending.
    scores_ : ndarray of shape (n_alphas, n_features), or (n_alphas, 1) with per_feature=False
        The score with a feature at each alpha and the others as they were when it was visited last. Of the ridge model,
        the share of the variance of y (of the indicators of classes) that is explained in rows left out.
    standard_errors_ : ndarray of the shape of `scores_`
        Standard errors of the differences to the score at `reference_alpha_`.
    reference_alpha_ : float
        `common_alpha_`, or 1 (the nearest to it) with per_feature=False.
    best_score_, base_score_ : float
        The score with the alphas that were chosen, and with all at 1. The first is too good, being the best of many.
    task_ : {"regression", "classification"}
    n_passes_ : int
        How often features were visited.
    bandwidth_, data_min_, data_max_, error_bound_, n_knots_, references_, quantiles_, sketches_, maps_
        As in `KDITransformer`.
    n_samples_seen_, n_features_in_, feature_names_in_

    Notes
    -----
    The data is read once, for all alphas and, where these divide the rows, for all folds: the sketch of a training fold
    is the sum of the sketches of the other folds. Folds that overlap otherwise, and more than 61, are sketched each by
    itself. NaN takes the mean of the feature in the ridge model; an estimator is given NaN.

    Memory is needed for the features once more (once a fold), some three times rows × alphas, and up to 256 MB for
    candidate columns that are kept.

    A sample weight of 2 is a repetition, of which one is left out at a time ("cv" leaves out both). The penalty is in
    units of rows, so that weights had better not sum to 1.

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

    def __init__(
        self,
        alphas: Any = None,
        *,
        per_feature: bool = True,
        criterion: Literal["auto", "loo", "cv"] = "auto",
        cv: Any = 5,
        task: Task = "auto",
        ridge: float = 10.0,
        estimator: Any = None,
        scoring: Any = None,
        max_passes: int = 3,
        kernel: KernelName = "polyexp",
        order: int = 4,
        output_distribution: str = "uniform",
        out_of_range: OutOfRange = "clip",
        n_quantiles: int | None = None,
        n_jobs: int | None = None,
        copy: bool = True,
    ) -> None:
        self.alphas = alphas
        self.per_feature = per_feature
        self.criterion = criterion
        self.cv = cv
        self.task = task
        self.ridge = ridge
        self.estimator = estimator
        self.scoring = scoring
        self.max_passes = max_passes
        self.kernel = kernel
        self.order = order
        self.output_distribution = output_distribution
        self.out_of_range = out_of_range
        self.n_quantiles = n_quantiles
        self.n_jobs = n_jobs
        self.copy = copy

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the alphas, and learn the transformation of each feature.

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
        X = _in_memory(X, type(self).__name__)
        table, weights = self._read_whole(X, sample_weight)
        target = as_target(type(self).__name__, y, table)
        self._check_weights(weights)
        mass = np.ones(len(table)) if weights is None else weights
        labels = self._has_labels(target, mass)
        splits = self._splits(X, target, mass, labels)
        every_fold = [fitted for fitted, _ in splits] + [np.arange(len(table))]
        sketches, seen = sketch_folds(table, weights, every_fold, kernel, float(alphas[0]), self.n_jobs)
        check_finite(self, seen.infinite_columns)
        for fold in sketches:
            self._check_ranges(fold)
        folds = self._candidates(table, mass, alphas, kernel, splits, sketches)
        criterion: Criterion
        if self.estimator is None:
            criterion = self._ridge_criterion(folds, target_matrix(target, labels, mass), mass, splits)
        else:
            criterion = self._estimator_criterion(folds, target, weights, splits)
        found = descend(
            criterion,
            _nearest_to_one(alphas),
            per_feature=self.per_feature,
            idle=np.flatnonzero([sketch.is_exact and len(sketch) <= 2 for sketch in sketches[-1]]),
            max_passes=self.max_passes,
        )
        self.task_ = "classification" if labels else "regression"
        self._keep(found, alphas)
        self._set_sketches(self._coarsen(sketches[-1], kernel), len(table), kernel)
        return self._build_maps()

    def to_transformer(self) -> KDITransformer:
        """The fitted KDITransformer with the alphas that were chosen; it can learn from more data."""
        check_is_fitted(self)
        names = set(KDITransformer._get_param_names()) - {"alpha"}
        model = KDITransformer(self.alpha_.tolist(), **{name: getattr(self, name) for name in names})
        for name in ("n_features_in_", "feature_names_in_", "sketches_", "n_samples_seen_", "_maps"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def to_json(self) -> str:
        """The fitted transformer as JSON text, without its scores; `KDITransformer.from_json` reads it."""
        return self.to_transformer().to_json()

    def _has_labels(self, target: Any, mass: Float64Array) -> bool:
        if self.estimator is not None and self.task == "auto":
            return bool(is_classifier(self.estimator))
        return are_labels(target, self.task, mass)

    def _splits(self, X: Any, target: Any, mass: Float64Array, labels: bool) -> list[tuple[Int64Array, Int64Array]]:
        """Rows to fit to and rows to judge by, of each fold; none where each row is left out in turn."""
        plain = self.cv is None or is_integer(self.cv)
        if self.estimator is None and (self.criterion == "loo" or (self.criterion == "auto" and plain)):
            return []
        every = np.arange(len(target))
        splits = check_cv(self.cv, target, classifier=labels).split(X, target)
        found = [(every[fitted], every[tested]) for fitted, tested in splits]
        if not found:
            raise ValueError("cv has no folds; an iterator of splits has none left after one use.")
        for k, split in enumerate(found):
            if not all(mass[rows].any() for rows in split):
                raise ValueError(f"cv must leave rows to fit to and rows to judge by, and its fold {k} has none.")
        return found

    def _candidates(
        self,
        table: FloatArray,
        mass: Float64Array,
        alphas: Float64Array,
        kernel: Kernel,
        splits: list[tuple[Int64Array, Int64Array]],
        sketches: list[list[Sketch]],
    ) -> list[CandidateColumns]:
        """What every alpha makes of the rows of each fold, or of all rows where there are no folds."""
        n_threads = count_threads(self.n_jobs, len(table))
        keep = max(len(splits), 1) * table.size * len(alphas) <= KEPT_VALUES

        def apply(one: ColumnMap, values: Float64Array, out: Float64Array) -> None:
            forward([one], values[:, None], out[:, None], self.out_of_range, n_threads)
            if self.output_distribution == "normal":
                to_normal(out)

        found = []
        for k, fold in enumerate(sketches[:-1] or sketches):  # the last are those of all rows
            rows, fitted = (np.concatenate(splits[k]), mass[splits[k][0]]) if splits else (None, mass)
            tables = maps_by_alpha(fold, alphas, kernel, self.n_quantiles)
            known = fitted if self.estimator is None else None
            found.append(CandidateColumns(tables, apply, table, rows, len(fitted), known, keep))
        return found

    def _ridge_criterion(
        self,
        folds: list[CandidateColumns],
        targets: Float64Array,
        mass: Float64Array,
        splits: list[tuple[Int64Array, Int64Array]],
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
        splits: list[tuple[Int64Array, Int64Array]],
    ) -> EstimatorCriterion:
        orders = [np.concatenate(split) for split in splits]
        return EstimatorCriterion(
            folds,
            [target[order] for order in orders],
            None if weights is None else [weights[order] for order in orders],
            self.estimator,
            check_scoring(self.estimator, self.scoring),
        )

    def _keep(self, found: Descent, alphas: Float64Array) -> None:
        self._chosen = alphas[found.choice]
        self.alphas_, self.common_alpha_ = alphas, float(alphas[found.common])
        self.reference_alpha_ = float(alphas[found.reference])
        self.scores_, self.standard_errors_ = found.scores, found.errors
        self.base_score_, self.best_score_, self.n_passes_ = found.base_score, found.best_score, found.n_passes

    def _check_weights(self, weights: Float64Array | None) -> None:
        if weights is None:
            return
        if weights.max() > MOST_WEIGHT:
            raise ValueError(f"sample_weight must be at most {MOST_WEIGHT:g} to tune, got {weights.max()}.")
        if self.estimator is None:
            return
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                "sample_weight was given, so that estimator must take it in fit, which "
                f"{type(self.estimator).__name__} does not."
            )
        if callable(self.scoring) and not hasattr(self.scoring, "set_score_request"):
            raise ValueError(
                "sample_weight was given, so that scoring must be a name or made by make_scorer, got a plain function."
            )

    def _resolve_alpha(self, weights: Float64Array) -> Float64Array:
        return self._chosen

    def _check_parameters(self) -> Kernel:
        if self.criterion not in ("auto", "loo", "cv"):
            raise ValueError(f"criterion must be 'auto', 'loo' or 'cv', got {self.criterion!r}.")
        if self.task not in TASKS:
            raise ValueError(f"task must be one of {list(TASKS)}, got {self.task!r}.")
        if not isinstance(self.ridge, Real) or isinstance(self.ridge, bool) or not 0 < self.ridge < np.inf:
            raise ValueError(f"ridge must be a positive number, got {self.ridge!r}.")
        if not isinstance(self.per_feature, bool | np.bool_):
            raise ValueError(f"per_feature must be True or False, got {self.per_feature!r}.")
        if not is_integer(self.max_passes) or self.max_passes < 1:
            raise ValueError(f"max_passes must be a whole number >= 1, got {self.max_passes!r}.")
        if is_integer(self.cv) and self.cv < 2:
            raise ValueError(f"cv must be at least 2 folds, got {self.cv!r}.")
        if self.estimator is not None and not hasattr(self.estimator, "fit"):
            raise ValueError(f"estimator must be a scikit-learn estimator, got {self.estimator!r}.")
        if self.estimator is None and self.scoring is not None:
            raise ValueError(f"scoring is for an estimator, and none was given; got {self.scoring!r}.")
        if self.estimator is not None and self.criterion == "loo":
            raise ValueError("an estimator is judged by the folds of cv; criterion must be 'auto' or 'cv', got 'loo'.")
        return super()._check_parameters()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.estimator is not None:  # it is given NaN
            tags.input_tags.allow_nan = get_tags(self.estimator).input_tags.allow_nan
        return tags


def _nearest_to_one(alphas: Float64Array) -> int:
    with np.errstate(divide="ignore"):
        return int(np.abs(np.log(alphas)).argmin())


def _in_memory(X: Any, name: str) -> Any:
    """X as it is, where it is a frame or an array; a Table of Arrow as a frame. What has no rows at hand is refused."""
    try:
        stream = is_source(X)
    except TypeError:  # a table of an engine
        stream = True
    if stream and type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        return X.to_pandas()
    if stream:
        raise TypeError(
            f"{name} learns from a table in memory, whose rows are those of y, and got {type(X).__name__}. Tune on a "
            "sample, and give its alpha_ to KDITransformer for the rest."
        )
    return X
