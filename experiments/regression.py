"""Root mean squared error (rMSE) of linear regression after each transformer (the paper's 3.1.2).

experiments/sweeps.py says how splits are made and alpha is chosen; experiments/sweep_pages.py defines "ahead".
"""

from collections.abc import Sequence

from matplotlib.figure import Figure

from benchmarks.report import Table
from experiments import datasets, sweep_pages, sweeps
from experiments.claims import Claim
from experiments.names import CLIPPED, KDI, MIN_MAX, QUANTILE, TUNED, Z_SCORE
from experiments.progress import Size
from experiments.rows import Row
from experiments.sweep_pages import Expected, amount, lead

TITLE = "Regression: linear regression"
QUICK = ("abalone",)
RULES = f"{sweep_pages.RULE} The gain, the lead over the better one of min-max and quantile, is judged by its mean."
COMPARED = [(data, method, "ahead of") for data in datasets.REGRESSION for method in (KDI, TUNED)]
EXPECTED = (
    *(Expected(*one, (MIN_MAX, Z_SCORE, QUANTILE)) for one in COMPARED),
    Expected("california", QUANTILE, "ahead of", (MIN_MAX,)),
    *(Expected(*one, (CLIPPED,), ours=True) for one in COMPARED),
)


def measure(size: Size) -> list[Row]:
    names = QUICK if size == "quick" else datasets.REGRESSION
    return sweeps.measure(sweeps.REGRESSION, map(sweeps.Sample, names), size)


def tables(rows: list[Row]) -> list[Table]:
    note = f"{sweep_pages.STRAIGHT} {sweep_pages.BESIDE} {sweep_pages.BARS}"
    return [sweep_pages.score_table(rows, note), sweep_pages.lead_table(rows)]


def claims(rows: list[Row]) -> list[Claim]:
    gains = [gain_claim(sample, method) for sample in sweep_pages.samples(rows) for method in (KDI, TUNED)]
    return [*sweep_pages.judged(rows, EXPECTED), *gains]


def gain_claim(sample: Sequence[Row], method: str) -> Claim:
    apart = lead(sample, QUANTILE, MIN_MAX)
    better = QUANTILE if apart.mean > 0 else MIN_MAX
    gain = lead(sample, method, better)
    name = sweep_pages.NAMES[sample[0]["data"]]
    claimed = f"{name}: the gain of {method} exceeds the difference between {MIN_MAX} and {QUANTILE}"
    found = f"{amount(sample[0], *gain)} against {better}; {QUANTILE} against {MIN_MAX} {amount(sample[0], *apart)}"
    return Claim(claimed, found, gain.mean > abs(apart.mean))


def figures(rows: list[Row]) -> dict[str, Figure]:
    return {"regression": sweep_pages.figure(rows)}
