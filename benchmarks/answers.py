"""Check the answers: every contender against the definition, and kdi against kditransform on the whole table."""

from typing import Any

import numpy as np

from benchmarks.contenders import CONTENDERS, Contender
from benchmarks.direct import exact_answer
from benchmarks.rounds import fit_and_transform, timed

# The direct sum costs N evaluations of the kernel per point; with so few points it takes seconds at N = 1,000,000.
CHECKED_COLUMNS, CHECKED_POINTS = 3, 24
# kditransform integrates by trapezoids and interpolates between 1,000 quantiles: its own error is up to 1.4e-3.
AGREEMENT = 2e-3


def check_answers(original: Any, tables: dict[str, Any]) -> tuple[dict[str, float | None], dict[str, float]]:
    """Run each contender once; return its errors and seconds, or raise AssertionError at a wrong answer."""
    points = Points(original)
    errors, costs, whole = {}, {}, {}
    for name, contender in CONTENDERS.items():
        estimator = contender.make(len(original))
        fit, _ = timed(estimator.fit, tables[name])
        transform, output = timed(estimator.transform, tables[name])
        # Fast contenders run again, warm: the first run says little about how many rounds to plan.
        costs[name] = sum(fit_and_transform(contender.make, tables[name])) if fit + transform < 0.5 else fit + transform
        errors[name] = points.largest_error(contender, estimator, output)
        if contender.reaches_ends:
            ends = np.abs([output.min(axis=0) - 0, output.max(axis=0) - 1]).max()
            require(f"{name} at the smallest and largest values", ends, 0.0)
        if name in ("kdi polyexp", "kditransform"):
            whole[name] = output
    difference = np.abs(whole["kdi polyexp"] - whole["kditransform"]).max()
    require("kdi polyexp against kditransform", difference, AGREEMENT)
    return errors, costs


class Points:
    """Random rows of a table and points evenly spread over its range, with the exact answers for both."""

    def __init__(self, table: Any) -> None:
        half = CHECKED_POINTS // 2
        self.rows = np.random.default_rng(1).choice(len(table), half, replace=False)
        self.spread = np.linspace(table.min(axis=0), table.max(axis=0), half)
        self.points = np.concatenate([table[self.rows], self.spread])
        self.table = table
        self.exact: dict[str, Any] = {}

    def largest_error(self, contender: Contender, estimator: Any, output: Any) -> float | None:
        if contender.answer is None:
            return None
        # Rows are checked in the output of the whole table: the output whose computation is timed.
        given = np.concatenate([output[self.rows], estimator.transform(self.spread.copy())])
        columns = range(min(CHECKED_COLUMNS, self.table.shape[1]))
        error = max(np.abs(given[:, column] - self._exact(contender.answer, column)).max() for column in columns)
        require(f"{contender.name} against the direct sum", error, contender.tolerance)
        return float(error)

    def _exact(self, answer: str, column: int) -> Any:
        key = f"{answer} {column}"
        if key not in self.exact:  # contenders with the same definition share it
            self.exact[key] = exact_answer(answer, self.table[:, column], self.points[:, column])
        return self.exact[key]


def require(what: str, difference: float, tolerance: float) -> None:
    """Raise AssertionError unless the difference is within the tolerance."""
    # Not an assert statement, which python -O removes. The condition is negated so that NaN fails.
    if not difference <= tolerance:
        raise AssertionError(f"{what}: off by {difference:.2e}, more than the {tolerance:.0e} allowed")
