"""A network for many preprocessed tables at once: the multilayer perceptron of the experiment on networks.

Two hidden layers of 128 rectified linear units with dropout, trained by AdamW on batches of 64 rows for 500 steps with
a cosine schedule. A fifth of the training part is held out, and the weights are those with the smallest loss there, as
RealMLP does. Nothing of this depends on the transformer, and one seed gives all transformers of a split the same first
weights, batches and dropout. Tables of one shape are trained together, as one network with a leading dimension: each
has weights of its own, and the sum of their losses has the gradients of each. That is many times faster than one after
another. Two or four times the steps, or another learning rate, made little difference to standard and quantile
preprocessing, with which this recipe was tried.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from experiments.datasets import Floats

WIDTH = 128  # of both hidden layers
DROPOUT = 0.15  # RealMLP's
RATE = 2e-3
DECAY = 1e-2
BATCH = 64
STEPS, QUICK_STEPS = 500, 50
CHECKS = 10  # steps between looks at the rows that are held out
HELD_OUT = 0.2


class Split(NamedTuple):
    """Both parts of a table under one transformer."""

    train: Floats
    test: Floats


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
