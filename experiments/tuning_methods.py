"""The transformers that the experiment on tuning compares, in pipelines with the same models."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

import kdi
from experiments.libraries import installed
from experiments.progress import kdi_sources

THEIRS = "kditransform, alpha 1"
BASE = "kdi, alpha 1"
SEARCHED = "kdi, one alpha by inner CV"
SINGLE = "kdi, one alpha tuned"
EACH = "kdi, alpha per feature"
FOLDS = 5
SOLVER = "newton-cholesky"  # the fastest for few columns
PENALTIES = np.logspace(-2, 3, 6)  # C of the logistic regression
QUANTILES = 1000  # QuantileTransformer's default, which it lowers to the number of rows with a warning


class SearchedKDITransformer(TransformerMixin, BaseEstimator):
    """A transformer with one alpha for all features, chosen by cross-validation of a model."""

    def __init__(self, model: str = "", scoring: str | None = None) -> None:
        self.model = model
        self.scoring = scoring

    def fit(self, X: Any, y: Any) -> Self:
        chain = make_pipeline(kdi.KDITransformer(), *MODELS[self.model].searched())
        self.fitted_ = search(chain, self.scoring).fit(X, y).best_estimator_[0]
        return self

    def transform(self, X: Any) -> Any:
        return self.fitted_.transform(X)


class CopyingKDITransformer(TransformerMixin, BaseEstimator):
    """The class of kditransform, fitted to copies, since its fit alters the caller's array."""

    def fit(self, X: Any, y: Any = None) -> Self:
        from kditransform import KDITransformer

        self.fitted_ = KDITransformer(alpha=1.0).fit(np.array(X))
        return self

    def transform(self, X: Any) -> Any:
        return self.fitted_.transform(np.array(X))


def squashing() -> Any:
    from skrub import SquashingScaler

    return SquashingScaler()


# Each makes a transformer for a number of rows.
TRANSFORMERS: dict[str, Callable[[int], Any]] = {
    THEIRS: lambda rows: CopyingKDITransformer(),
    BASE: lambda rows: kdi.KDITransformer(alpha=1.0),
    SEARCHED: lambda rows: SearchedKDITransformer(),
    SINGLE: lambda rows: kdi.KDITransformerCV(per_feature=False),
    EACH: lambda rows: kdi.KDITransformerCV(),
    "QuantileTransformer": lambda rows: QuantileTransformer(n_quantiles=min(QUANTILES, rows), random_state=0),
    "MinMaxScaler": lambda rows: MinMaxScaler(),
    "StandardScaler": lambda rows: StandardScaler(),
    "PowerTransformer": lambda rows: PowerTransformer(),
    "SquashingScaler": lambda rows: squashing(),
    "SplineTransformer": lambda rows: SplineTransformer(),
}
NEEDED = {THEIRS: "kditransform", "SquashingScaler": "skrub"}  # optional libraries
MISSING = [library for library in NEEDED.values() if not installed(library)]
METHODS = tuple(name for name in TRANSFORMERS if NEEDED.get(name) not in MISSING)


@dataclass(frozen=True)
class Model:
    """A model after the transformer, as steps of a pipeline."""

    name: str
    steps: Callable[[], list[Any]]
    stand_in: Callable[[], list[Any]] | None = None  # a cheaper model to search alpha with

    def searched(self) -> list[Any]:
        return (self.stand_in or self.steps)()


def logistic() -> list[Any]:
    return [LogisticRegression(max_iter=10_000)]


def of_one_penalty() -> list[Any]:
    return [LogisticRegression(C=10, solver=SOLVER, max_iter=10_000)]


def penalised() -> list[Any]:
    """Choose the penalty too: transformers scale features differently, so no single penalty is fair to all."""
    options = {"l1_ratios": (0,), "use_legacy_attributes": False}  # future defaults, set here to avoid their warning
    return [LogisticRegressionCV(Cs=PENALTIES, cv=4, scoring="neg_log_loss", solver=SOLVER, max_iter=10_000, **options)]


LINEAR = Model("linear regression", lambda: [LinearRegression()])
BAYES = Model("PCA + naive Bayes", lambda: [PCA(2), GaussianNB()])
LOGISTIC = Model("logistic regression", logistic)
PENALISED = Model("logistic regression, C by CV", penalised, of_one_penalty)
MODELS = {model.name: model for model in (LINEAR, BAYES, LOGISTIC, PENALISED)}


def pipeline(method: str, model: str, scoring: str, rows: int) -> Pipeline:
    """Make a pipeline: imputation by the median of the training part, the method, the model."""
    transformer = TRANSFORMERS[method](rows)
    if method == SEARCHED:
        transformer.set_params(model=model, scoring=scoring)
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(imputer, transformer, *MODELS[model].steps())


def search(chain: Pipeline, scoring: str | None = None, n_jobs: int | None = None) -> GridSearchCV:
    """Make a grid search for one alpha for all features, by cross-validation of the model itself."""
    return GridSearchCV(chain, {"kditransformer__alpha": list(kdi.ALPHAS)}, scoring=scoring, cv=FOLDS, n_jobs=n_jobs)


def fingerprint(method: str, model: str, scoring: str) -> str:
    """Hash everything that the scores of a method depend on except the data, for the key of cached rows."""
    libraries = ["kdi", "numpy", "scipy", "scikit-learn"]
    libraries += [NEEDED[method]] if method in NEEDED else []
    # The version of kdi does not change with every edit of its sources.
    code = [f"sources {kdi_sources()}"] if method in (BASE, SEARCHED, SINGLE, EACH) else []
    versions = [f"{library} {version(library)}" for library in libraries]
    text = "; ".join([*versions, *code, scoring, repr(pipeline(method, model, scoring, QUANTILES))])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
