"""A linear support vector classifier with probabilities: the one of libsvm, solved by interior points.

Per pair of classes it minimises |w|^2 / 2 + sum_i c_i max(0, 1 - y_i (w x_i + b)), as `SVC(kernel="linear")` does, and
turns decisions into probabilities in libsvm's way: a sigmoid is fitted to the decisions of five folds, which are those
that libsvm draws, and the pairs are coupled (Wu, Lin and Weng 2004). Only the solver differs. libsvm changes two dual
variables at a time, which for thousands of rows and a large C takes millions of steps; here Mehrotra's
predictor-corrector method takes some 15 Newton steps, each with a matrix of columns x columns. All pairs and folds of
similar length are solved at once.
"""

from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

TOLERANCE = 1e-6  # of the duality gap, divided by the objective
STEPS = 100
CORRECTED = 25  # steps with Mehrotra's correction, with which the rare problem goes round in circles
SHORTEN = 0.995  # of the step to the boundary
BATCH = 25_000  # rows that are solved at once
PARTS = 5  # of the cross-validation behind the sigmoid
SEED = 0
LEAST = 1e-7  # probability of a class of a pair


class Problem(NamedTuple):
    """Rows of two classes, signs of their classes, and the penalty per row."""

    rows: Floats
    signs: Floats
    penalties: Floats


def probabilities(train: Floats, labels: Labels, test: Floats, penalty: float) -> Floats:
    """Return the probability of each class per row of ``test``; classes are weighted by their rarity."""
    counts = np.bincount(labels)
    penalties = penalty * len(labels) / (len(counts) * counts)
    problems, decided = [], []
    for first, second in combinations(range(len(counts)), 2):
        order = np.concatenate([np.flatnonzero(labels == one) for one in (first, second)])
        whole = Problem(train[order], np.where(labels[order] == first, 1.0, -1.0), penalties[labels[order]])
        shuffled = libsvm_permutation(len(order))
        held_out = [shuffled[part * len(order) // PARTS : (part + 1) * len(order) // PARTS] for part in range(PARTS)]
        problems += [Problem(*(np.delete(one, part, axis=0) for one in whole)) for part in held_out] + [whole]
        decided.append((whole, held_out))
    planes = solve(problems)
    pairs = np.empty((len(test), len(decided)))
    for index, (whole, held_out) in enumerate(decided):
        *planes_of_parts, (slope, shift) = planes[index * (PARTS + 1) : (index + 1) * (PARTS + 1)]
        decisions = np.empty(len(whole.rows))
        for part, (part_slope, part_shift) in zip(held_out, planes_of_parts, strict=True):
            decisions[part] = whole.rows[part] @ part_slope + part_shift
        scale, offset = sigmoid(decisions, whole.signs)
        with np.errstate(over="ignore"):
            pairs[:, index] = 1 / (1 + np.exp(scale * (test @ slope + shift) + offset))
    return coupled(np.clip(pairs, LEAST, 1 - LEAST), len(counts))


@cache  # the same for all penalties and scalings
def libsvm_permutation(count: int) -> NDArray[np.intp]:
    """Shuffle as libsvm does in scikit-learn: Fisher-Yates with Lemire's bounded integers of a Mersenne twister."""
    seed = np.random.RandomState(SEED).randint(np.iinfo("i").max)
    words = np.random.RandomState(seed)
    order = np.arange(count)
    for place in range(count):
        left = count - place
        word = int(words.randint(2**32, dtype=np.uint64)) * left
        while word % 2**32 < 2**32 % left:
            word = int(words.randint(2**32, dtype=np.uint64)) * left
        other = place + (word >> 32)
        order[[place, other]] = order[[other, place]]
    return order


# The separating planes.


def solve(problems: list[Problem]) -> list[tuple[Floats, float]]:
    """Return coefficients and intercept of each problem; those of similar length are solved at once."""
    found: dict[int, Floats] = {}
    waiting = [index for index, one in enumerate(problems) if abs(one.signs.sum()) < len(one.signs)]
    waiting.sort(key=lambda index: -len(problems[index].signs))
    while waiting:
        length = len(problems[waiting[0]].signs)
        batch = [index for index in waiting[: max(1, BATCH // length)] if len(problems[index].signs) >= 0.8 * length]
        waiting = waiting[len(batch) :]
        found.update(zip(batch, coefficients([problems[index] for index in batch]), strict=True))
    return [
        # Rows of one class alone, which is then the decision, as in libsvm.
        (found[index], intercept(one, found[index])) if index in found else (np.zeros(one.rows.shape[1]), one.signs[0])
        for index, one in enumerate(problems)
    ]


def coefficients(problems: list[Problem]) -> Floats:
    """Return the coefficients of each problem, padded to the length of the first."""
    longest, columns = problems[0].rows.shape
    rows, limits = np.zeros((len(problems), longest, columns + 1)), np.ones((len(problems), longest))
    for index, one in enumerate(problems):
        count = len(one.signs)
        rows[index, :count, :columns] = one.rows * one.signs[:, None]
        rows[index, :count, columns] = one.signs
        limits[index, :count] = one.penalties
        limits[index, count:] = one.penalties.min()
    if columns <= longest:
        return interior(rows, limits)
    # Fewer rows than columns: in the space of the rows.
    basis, triangle = np.linalg.qr(rows[:, :, :columns].transpose(0, 2, 1))
    return from_right(
        basis, interior(np.concatenate([triangle.transpose(0, 2, 1), rows[:, :, columns:]], axis=2), limits)
    )


def interior(rows: Floats, limits: Floats) -> Floats:
    """Return the coefficients of each problem by Mehrotra's method.

    Rows are y_i (x_i, 1), so that their margins are their products with the plane (w, b); a row of zeros changes
    nothing. With slacks s_i = margin_i - 1 + e_i >= 0, excesses e_i >= 0 and duals 0 <= a_i <= c_i, the solution has
    w = sum a_i y_i x_i, sum a_i y_i = 0, a_i s_i = 0 and (c_i - a_i) e_i = 0. A step solves these linearised, with mu
    in place of the last two zeros.
    """
    planes = np.zeros((len(rows), rows.shape[2]))
    result, active = planes[:, :-1].copy(), np.arange(len(rows))
    identity = np.eye(rows.shape[2])
    identity[-1, -1] = 1e-12  # the intercept is not penalised
    slacks, excess = np.ones(limits.shape), np.ones(limits.shape)
    duals, rest = limits / 2, limits / 2  # the rest, c - a, is kept too: the difference loses its digits near 0
    violated = np.ones((len(rows), 1))  # slacks + 1 - margins - excess: the same in all rows of a problem
    before = np.full(len(rows), np.inf)
    for step in range(STEPS):
        gap = (np.einsum("bn,bn->b", duals, slacks) + np.einsum("bn,bn->b", rest, excess))[:, None]
        balance = from_left(duals, rows)
        balance[:, :-1] -= planes[:, :-1]
        objective = np.einsum("bn,bn->b", limits, excess) + (planes[:, :-1] ** 2).sum(axis=1) / 2
        missing = abs(balance).max(axis=1)
        # Balanced, or as well as rounding lets it be: it has become worse.
        unbalanced = (missing >= 10 * TOLERANCE * (1 + abs(planes).max(axis=1))) & (missing < before)
        before = missing
        keep = (gap[:, 0] >= TOLERANCE * objective) | (violated[:, 0] >= TOLERANCE) | unbalanced
        if not keep.all():
            result[active[~keep]] = planes[~keep, :-1]
            if not keep.any():
                return result
            active, rows, limits, planes, slacks, excess, duals, rest, violated, before, gap, balance = (
                one[keep]
                for one in (active, rows, limits, planes, slacks, excess, duals, rest, violated, before, gap, balance)
            )
        ratio = excess / rest
        weights = 1 / (slacks / duals + ratio)
        matrix = (rows * weights[:, :, None]).transpose(0, 2, 1) @ rows + identity
        system = System(rows, weights, matrix, np.linalg.inv(matrix), balance)
        # Towards mu = 0, and then with what is known of the second order.
        towards = excess - slacks + violated
        plane, margin, dual = system.direction(towards)
        over = ratio * dual - excess
        slack = margin + over - violated
        length = longest_step((slacks, slack), (excess, over), (duals, dual), (rest, -dual))
        slack *= dual
        over *= -dual
        reached = gap * (1 - length) + length**2 * (slack + over).sum(axis=1, keepdims=True)
        if step < CORRECTED:
            mu = (reached / gap) ** 3 * gap / (2 * limits.shape[1])
        else:
            mu, slack[:], over[:] = 0.1 * gap / (2 * limits.shape[1]), 0.0, 0.0
        beyond = (mu - over) / rest
        plane, margin, dual = system.direction(towards + (mu - slack) / duals - beyond)
        over = beyond - excess + ratio * dual
        slack = margin + over - violated
        length = SHORTEN * longest_step((slacks, slack), (excess, over), (duals, dual), (rest, -dual))
        planes = planes + length * plane
        violated = violated * (1 - length)
        for value, change in ((slacks, slack), (excess, over), (duals, dual), (rest, -dual)):
            value += length * change
    raise ArithmeticError(f"no solution within {STEPS} steps: the gap is {gap.max():.1e}")


class System(NamedTuple):
    """The linear equations of a step."""

    rows: Floats
    weights: Floats
    matrix: Floats
    inverse: Floats
    balance: Floats

    def direction(self, wanted: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the changes of planes, margins and duals."""
        own = self.weights * wanted
        right = from_left(own, self.rows) + self.balance
        plane = from_right(self.inverse, right)
        plane += from_right(self.inverse, right - from_right(self.matrix, plane))  # refined
        margin = from_right(self.rows, plane)
        return plane, margin, own - self.weights * margin


def from_left(vectors: Floats, matrices: Floats) -> Floats:
    return (vectors[:, None, :] @ matrices)[:, 0]


def from_right(matrices: Floats, vectors: Floats) -> Floats:
    return (matrices @ vectors[:, :, None])[:, :, 0]


def longest_step(*moves: tuple[Floats, Floats]) -> Floats:
    """Return the longest step per problem, at most 1, that keeps all of these values above 0."""
    inverse = np.max([np.max(-change / value, axis=1, keepdims=True) for value, change in moves], axis=0)
    return 1 / np.maximum(inverse, 1.0)


def intercept(problem: Problem, slope: Floats) -> float:
    """Return the best intercept; where an interval is best, as it is if no row is on the margin, its middle."""
    kinks = problem.signs - problem.rows @ slope  # where a row enters or leaves the margin
    order = np.argsort(kinks)
    gradient = np.cumsum(problem.penalties[order]) - problem.penalties[problem.signs > 0].sum()
    level = 1e-9 * problem.penalties.sum()
    low = int(np.argmax(gradient >= -level))
    high = int(np.argmax(gradient > level)) if gradient[-1] > level else low
    return float(kinks[order[low]] + kinks[order[high]]) / 2


# Probabilities.


def sigmoid(values: Floats, signs: Floats) -> tuple[float, float]:
    """Fit 1 / (1 + exp(scale f + offset)) to the decisions f of a pair (Platt 2000; Lin, Lin and Weng 2007).

    Newton's method with halved steps minimises the cross entropy, with libsvm's targets, start and tolerance.
    """
    above, below = int((signs > 0).sum()), int((signs < 0).sum())
    targets = np.where(signs > 0, (above + 1) / (above + 2), 1 / (below + 2))
    design = np.column_stack([values, np.ones(len(values))])

    def loss(point: Floats) -> float:
        exponent = design @ point
        return float((targets * exponent + np.logaddexp(0, -exponent)).sum())

    point = np.array([0.0, np.log((below + 1) / (above + 1))])
    least = loss(point)
    for _ in range(100):
        probability = 1 / (1 + np.exp(design @ point))
        gradient = design.T @ (targets - probability)
        if abs(gradient).max() < 1e-5:
            break
        curvature = (design * (probability * (1 - probability))[:, None]).T @ design + 1e-12 * np.eye(2)
        step = -np.linalg.solve(curvature, gradient)
        length = 1.0
        while (new := loss(point + length * step)) >= least + 1e-4 * length * (gradient @ step) and length >= 1e-10:
            length /= 2
        if length < 1e-10:
            break
        point, least = point + length * step, new
    return float(point[0]), float(point[1])


def coupled(pairs: Floats, classes: int) -> Floats:
    """Combine probabilities of pairs into those of classes, by libsvm's iteration and with its tolerance."""
    first, second = np.array(list(combinations(range(classes), 2))).T
    won = np.zeros((len(pairs), classes, classes))
    won[:, first, second], won[:, second, first] = pairs, 1 - pairs
    matrix = -won * won.transpose(0, 2, 1)
    diagonal = np.arange(classes)
    matrix[:, diagonal, diagonal] = (won**2).sum(axis=1)
    result = np.full((len(pairs), classes), 1 / classes)
    active = np.arange(len(pairs))
    for _ in range(max(100, classes)):
        own, quadratic = result[active], matrix[active]
        product = np.einsum("rij,rj->ri", quadratic, own)
        total = (own * product).sum(axis=1)
        keep = abs(product - total[:, None]).max(axis=1) >= 0.005 / classes
        active, own, quadratic, product, total = active[keep], own[keep], quadratic[keep], product[keep], total[keep]
        if not len(active):
            break
        for one in range(classes):
            corner = quadratic[:, one, one]
            change = (total - product[:, one]) / corner
            own[:, one] += change
            total = (total + change * (change * corner + 2 * product[:, one])) / (1 + change) ** 2
            product = (product + change[:, None] * quadratic[:, one]) / (1 + change)[:, None]
            own /= (1 + change)[:, None]
        result[active] = own
    return result
