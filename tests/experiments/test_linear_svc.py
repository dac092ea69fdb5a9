"""The classifier that is solved by interior points is that of libsvm."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from experiments import linear_svc


def sample(rng, rows, columns, classes):
    labels = np.arange(rows) % classes
    table = rng.normal(size=(rows, columns)) + rng.normal(size=(classes, columns))[labels]
    return table, labels.astype(np.int64)


@pytest.mark.filterwarnings("ignore:.*probability.*:FutureWarning")
@pytest.mark.parametrize("penalty", [0.1, 1.0, 100.0])
@pytest.mark.parametrize(
    ("rows", "columns", "classes"), [(60, 3, 2), (200, 2, 2), (90, 5, 3), (30, 40, 2), (60, 100, 4), (41, 1, 2)]
)
def test_probabilities_are_those_of_libsvm(rng, monkeypatch, rows, columns, classes, penalty):
    """Fewer rows than columns, two classes and more, of different sizes; pairs are coupled to within 0.005 by both."""
    table, labels = sample(rng, rows, columns, classes)
    table, labels = np.delete(table, slice(0, 10, classes), axis=0), np.delete(labels, slice(0, 10, classes))
    test = sample(rng, 50, columns, classes)[0]
    model = SVC(kernel="linear", C=penalty, class_weight="balanced", probability=True, tol=1e-7, random_state=0)
    expected = model.fit(table, labels).predict_proba(test)
    monkeypatch.setattr(linear_svc, "TOLERANCE", 1e-9)  # both are solved to many digits
    tolerance = 1e-4 if classes == 2 else 5e-3
    assert_allclose(linear_svc.probabilities(table, labels, test, penalty), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("penalty", [1e-4, 1.0, 100.0])
@pytest.mark.parametrize(("rows", "columns"), [(50, 2), (400, 6), (20, 30)])
def test_planes_are_the_best(rng, rows, columns, penalty):
    """The objective is convex: no point nearby is better, in any direction."""
    table, labels = sample(rng, rows, columns, 2)
    one = linear_svc.Problem(table, 2.0 * labels - 1, np.full(rows, penalty) * (1 + labels))

    def objective(slope, shift):
        loss = np.maximum(0, 1 - one.signs * (table @ slope + shift))
        return slope @ slope / 2 + one.penalties @ loss

    ((slope, shift),) = linear_svc.solve([one])
    best = objective(slope, shift)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(50):
            change = size * rng.normal(size=columns + 1)
            assert objective(slope + change[:-1], shift + change[-1]) >= best * (1 - 2e-6)


def test_problems_of_all_lengths_are_solved_as_alone(rng):
    problems = []
    for rows in (500, 40, 41, 39, 300, 7, 450):
        table, labels = sample(rng, rows, 4, 2)
        problems.append(linear_svc.Problem(table, 2.0 * labels - 1, np.ones(rows)))
    alone = [linear_svc.solve([one])[0] for one in problems]
    for (slope, shift), (expected, expected_shift) in zip(linear_svc.solve(problems), alone, strict=True):
        assert_allclose(slope, expected, rtol=0, atol=1e-3)
        assert shift == pytest.approx(expected_shift, abs=1e-3)


def test_one_class_alone_is_its_own_decision(rng):
    one = linear_svc.Problem(rng.normal(size=(5, 2)), -np.ones(5), np.ones(5))
    ((slope, shift),) = linear_svc.solve([one])
    assert_array_equal(slope, [0, 0])
    assert shift == -1


def test_middle_of_the_best_intercepts():
    """Two rows inside the margin, whatever the slope: every intercept between the kinks is best."""
    one = linear_svc.Problem(np.array([[0.1], [-0.1]]), np.array([1.0, -1.0]), np.ones(2))
    assert linear_svc.intercept(one, np.array([1.0])) == pytest.approx(0.0)
    assert linear_svc.intercept(one._replace(penalties=np.array([2.0, 1.0])), np.array([1.0])) == pytest.approx(0.9)


def test_shuffle_is_a_permutation():
    for count in (1, 2, 7, 1000):
        assert_array_equal(np.sort(linear_svc.libsvm_permutation(count)), np.arange(count))
