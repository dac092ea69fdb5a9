"""The models of the experiment on networks, and the score of every method on one split.

The network: two hidden layers of 128 rectified linear units with dropout, trained by AdamW on batches of 64 rows for
500 steps with a cosine schedule. A fifth of the training part is held out, and the weights are those with the
smallest loss there, as RealMLP does. Nothing of this depends on the transformer, and one seed gives all transformers of
a split the same first weights, batches and dropout. Tables of one shape are trained together, as one network with a
leading dimension: each has weights of its own, and the sum of their losses has the gradients of each. That is many
times faster than one after another. Two or four times the steps, or another learning rate, made little difference to
standard and quantile preprocessing, with which this recipe was tried.

The linear models: logistic and ridge regression, with a penalty chosen by cross-validation from the same values.

A split is 75/25, stratified by class. Missing values become the median of the training part, and a target without
classes is standardised by its training part. All columns go through the transformer, those with two values too.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.rounds import timed
from experiments.datasets import Floats
from experiments.networks_data import Data
from experiments.networks_names import NETWORK
from experiments.rows import Row

TEST = 0.25

WIDTH = 128  # of both hidden layers
DROPOUT = 0.15  # RealMLP's
RATE = 2e-3
DECAY = 1e-2
BATCH = 64
STEPS, QUICK_STEPS = 500, 50
CHECKS = 10  # steps between looks at the rows that are held out
HELD_OUT = 0.2

PENALTIES = tuple(10.0**power for power in range(-2, 4))  # C of the logistic regression
RIDGES = tuple(10.0**power for power in np.arange(-3, 4.5, 0.5))
FOLDS = 3
DENSE = 150  # columns × classes up to which Newton's method is the faster way to the same minimum


class Split(NamedTuple):
    """Both parts of a table under one transformer."""

    train: Floats
    test: Floats


def split_rows(
    data: Data, methods: Mapping[str, Callable[[int, int], Any]], models: tuple[str, ...], seed: int, steps: int
) -> list[Row]:
    """Score every method with every model on one split."""
    stratify = data.target if data.n_classes else None
    table, new, target, new_target = train_test_split(
        data.table, data.target, test_size=TEST, random_state=seed, stratify=stratify
    )
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(table)
    table, new = imputer.transform(table), imputer.transform(new)
    if not data.n_classes:
        mean, deviation = target.mean(), target.std()
        target, new_target = (target - mean) / deviation, (new_target - mean) / deviation
    parts, prepared, rows = {}, {}, []
    with threadpool_limits(1):
        for method, make in methods.items():
            prepared[method], parts[method] = timed(transformed, make(len(table), seed), table, new, target)
        for model in models:
            fit = networks if model == NETWORK else linear_models
            for method, (seconds, found) in fit(parts, target, data.n_classes, seed, steps).items():
                head = {"data": data.name, "split": seed, "model": model, "method": method}
                times = {"preparation": prepared[method], "fit": seconds}
                rows.append(head | scores(found, new_target, data.n_classes) | times)
    return rows


def transformed(transformer: Any, table: Floats, new: Floats, target: Any) -> Split:
    transformer.fit(table, target)
    return Split(transformer.transform(table), transformer.transform(new))


def scores(found: Floats, target: Any, n_classes: int) -> Row:
    """Return the weighted one-vs-rest ROC AUC and the share of errors, or the root of the mean squared error."""
    if not n_classes:
        return {"value": float(np.sqrt(np.mean((found - target) ** 2))), "error": ""}
    ranked = found if n_classes > 2 else found[:, 1]
    auc = roc_auc_score(target, ranked, multi_class="ovr", average="weighted")
    return {"value": float(auc), "error": float(np.mean(found.argmax(1) != target))}


def networks(
    parts: dict[str, Split], target: Any, n_classes: int, seed: int, steps: int
) -> dict[str, tuple[float, Floats]]:
    """Train the networks of all tables with as many columns together; each is said to take its share of the time."""
    by_columns: dict[int, list[str]] = {}
    for method, part in parts.items():
        by_columns.setdefault(part.train.shape[1], []).append(method)
    results = {}
    for own in by_columns.values():
        seconds, found = timed(network, [parts[method] for method in own], target, n_classes, seed, steps)
        results |= {method: (seconds / len(own), one) for method, one in zip(own, found, strict=True)}
    return {method: results[method] for method in parts}


def linear_models(
    parts: dict[str, Split], target: Any, n_classes: int, seed: int, steps: int
) -> dict[str, tuple[float, Floats]]:
    return {method: timed(linear, part, target, n_classes) for method, part in parts.items()}


def network(parts: list[Split], target: Any, n_classes: int, seed: int, steps: int) -> list[Floats]:
    """Train one network per transformed table, all of one shape; return probabilities or values of the test rows."""
    import torch

    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(seed)
    table = torch.tensor(np.array([part.train for part in parts]), dtype=torch.float32)
    labels = torch.tensor(target, dtype=torch.int64 if n_classes else torch.float32)
    stratify = target if n_classes else None
    held_in, held_out = train_test_split(
        np.arange(len(target)), test_size=HELD_OUT, random_state=seed, stratify=stratify
    )
    inputs, outputs = table[:, held_in], labels[held_in]
    weights = first_weights(len(parts), table.shape[2], n_classes or 1, generator)
    best, least = [weight.detach().clone() for weight in weights], torch.full((len(parts),), torch.inf)
    optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=DECAY, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step, rows in zip(range(1, steps + 1), batches(len(held_in), generator), strict=False):
        optimizer.zero_grad()
        losses(forward(weights, inputs[:, rows], generator), outputs[rows], n_classes).sum().backward()
        optimizer.step()
        schedule.step()
        if step % CHECKS == 0:
            with torch.no_grad():
                found = losses(forward(weights, table[:, held_out]), labels[held_out], n_classes)
                better = found < least
                least = torch.where(better, found, least)
                for kept, weight in zip(best, weights, strict=True):
                    kept[better] = weight[better]
    with torch.no_grad():
        found = forward(best, torch.tensor(np.array([part.test for part in parts]), dtype=torch.float32))
        found = found.softmax(-1) if n_classes else found[..., 0]
    return list(found.double().numpy())


def batches(rows: int, generator: Any) -> Iterator[Any]:
    """Yield batches of row numbers without end; each epoch has an order of its own, and batches of nearly one size."""
    import torch

    while True:
        yield from torch.tensor_split(torch.randperm(rows, generator=generator), max(1, round(rows / BATCH)))


def first_weights(members: int, columns: int, outputs: int, generator: Any) -> list[Any]:
    """Draw weights and biases as torch's linear layers do, the same for every member."""
    import torch

    found = []
    for n_in, n_out in ((columns, WIDTH), (WIDTH, WIDTH), (WIDTH, outputs)):
        for rows in (n_in, 1):
            drawn = (2 * torch.rand((1, rows, n_out), generator=generator) - 1) / n_in**0.5
            found.append(drawn.repeat(members, 1, 1).requires_grad_())
    return found


def forward(weights: list[Any], inputs: Any, generator: Any = None) -> Any:
    """Evaluate the networks; with a generator, drop the same units in all of them."""
    import torch

    hidden = inputs
    for layer in range(0, len(weights), 2):
        if layer:
            hidden = hidden.relu()
            if generator is not None:
                kept = torch.rand((1, *hidden.shape[1:]), generator=generator) >= DROPOUT
                hidden = hidden * (kept / (1 - DROPOUT))
        hidden = torch.baddbmm(weights[layer + 1], hidden, weights[layer])
    return hidden


def losses(outputs: Any, target: Any, n_classes: int) -> Any:
    """Return the mean loss of each network: cross-entropy, or the squared error."""
    import torch

    if not n_classes:
        return ((outputs[..., 0] - target) ** 2).mean(1)
    every = torch.nn.functional.cross_entropy(outputs.flatten(0, 1), target.repeat(len(outputs)), reduction="none")
    return every.reshape(len(outputs), -1).mean(1)


def linear(part: Split, target: Any, n_classes: int) -> Floats:
    """Fit a logistic or ridge regression; return probabilities or values of the test rows."""
    if not n_classes:
        return RidgeCV(alphas=RIDGES).fit(part.train, target).predict(part.test)
    solver = "newton-cholesky" if part.train.shape[1] * n_classes <= DENSE else "lbfgs"
    options = {"l1_ratios": (0,), "use_legacy_attributes": False}  # future defaults, set here to avoid their warning
    model = LogisticRegressionCV(
        Cs=PENALTIES, cv=FOLDS, scoring="neg_log_loss", solver=solver, tol=1e-3, max_iter=1_000, **options
    )
    return model.fit(part.train, target).predict_proba(part.test)
