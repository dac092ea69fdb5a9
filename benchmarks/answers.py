"""Are the answers right? Every contender against the definition, and kdi against kditransform on the whole table."""

from typing import Any

import numpy as np

from benchmarks.contenders import CONTENDERS, Contender
from benchmarks.direct import exact_answer
from benchmarks.rounds import fit_and_transform, timed

# The direct sum costs N evaluations of the kernel a point; these many points keep it to seconds at N = 1,000,000.
CHECKED_COLUMNS, CHECKED_POINTS = 3, 24
# kditransform integrates by trapezoids and interpolates between 1,000 quantiles: it is off by up to 1.4e-3 itself.
AGREEMENT = 2e-3


def check_answers(original: Any, tables: dict[str, Any]) -> tuple[dict[str, float | None], dict[str, float]]:
    """Run each once; raise AssertionError at a wrong answer, else return the errors and the seconds that each took."""
    points = Points(original)
    errors, costs, whole = {}, {}, {}
    for name, contender in CONTENDERS.items():
        estimator = contender.make(len(original))
        fit, _ = timed(estimator.fit, tables[name])
        transform, output = timed(estimator.transform, tables[name])
        # A second, warm run where it costs next to nothing: the first says little about how many rounds to plan.
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
    """Some rows of a table and some points evenly spread over its range, with the exact answers for both."""

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
        # The rows come from the whole table's output, so that what is timed is what is checked.
        given = np.concatenate([output[self.rows], estimator.transform(self.spread.copy())])
        columns = range(min(CHECKED_COLUMNS, self.table.shape[1]))
        error = max(np.abs(given[:, column] - self._exact(contender.answer, column)).max() for column in columns)
        require(f"{contender.name} against the direct sum", error, contender.tolerance)
        return float(error)

    def _exact(self, answer: str, column: int) -> Any:
        key = f"{answer} {column}"
        if key not in self.exact:  # several contenders share an answer
            self.exact[key] = exact_answer(answer, self.table[:, column], self.points[:, column])
        return self.exact[key]


def require(what: str, difference: float, tolerance: float) -> None:
    # Not an assert statement: python -O would let a wrong answer pass. And a NaN fails here, as it should.
    if not difference <= tolerance:
        raise AssertionError(f"{what}: off by {difference:.2e}, more than the {tolerance:.0e} allowed")
