"""Root mean squared error (rMSE) of linear regression after each transformer (the paper's 3.1.2).

How splits are made and how alpha is chosen: experiments/sweeps.py. What "ahead" means: experiments/sweep_pages.py. The
gain of the KD-integral is its lead over the better one of min-max and quantile, by their means.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from benchmarks.report import Table
from experiments import datasets, sweep_pages, sweeps
from experiments.claims import Claim
from experiments.drawing import CLIPPED, KDI, MIN_MAX, QUANTILE, TUNED, Z_SCORE
from experiments.progress import Size
from experiments.sweep_pages import Expected, amount, lead, of_method

TITLE = "Regression: linear regression"
QUICK = ("abalone",)
COMPARED = [(data, method, "ahead of") for data in datasets.REGRESSION for method in (KDI, TUNED)]
EXPECTED = (
    *(Expected(*one, (MIN_MAX, Z_SCORE, QUANTILE)) for one in COMPARED),
    *(Expected(*one, (CLIPPED,), ours=True) for one in COMPARED),
)


def measure(size: Size) -> list[dict[str, Any]]:
    names = QUICK if size == "quick" else datasets.REGRESSION
    return sweeps.measure(sweeps.REGRESSION, map(sweeps.Sample, names), size)


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    note = f"{sweep_pages.STRAIGHT} {sweep_pages.BESIDE} {sweep_pages.BARS}"
    return [sweep_pages.score_table(rows, note), sweep_pages.lead_table(rows)]


def claims(rows: list[dict[str, Any]]) -> list[Claim]:
    gains = [gain_claim(sample, method) for sample in sweep_pages.samples(rows) for method in (KDI, TUNED)]
    skewed = [skew_claim(sample) for sample in sweep_pages.samples(rows) if sample[0]["data"] == "california"]
    return [*sweep_pages.judged(rows, EXPECTED), *gains, *skewed]


def gain_claim(sample: Sequence[dict[str, Any]], method: str) -> Claim:
    errors = {other: float(of_method(sample, other)["value"]) for other in (MIN_MAX, QUANTILE)}
    better, worse = sorted(errors, key=errors.__getitem__)
    gain, apart = lead(sample, method, better), errors[worse] - errors[better]
    name = sweep_pages.NAMES[sample[0]["data"]]
    claimed = f"{name}: the gain of {method} exceeds the difference between {MIN_MAX} and {QUANTILE}"
    found = f"{amount(sample[0], *gain)} over {better}; {better} over {worse} {apart:+.4f}"
    return Claim(claimed, found, gain.mean > apart)


def skew_claim(sample: Sequence[dict[str, Any]]) -> Claim:
    """What the paper says in passing; by the means, which a few splits may make."""
    found = {other: of_method(sample, other) for other in (MIN_MAX, QUANTILE)}
    claimed = f"{sweep_pages.NAMES[sample[0]['data']]}: {QUANTILE} better than {MIN_MAX}, features being skewed"
    said = [f"{other} {float(row['value']):.4f} (median {float(row['median']):.4f})" for other, row in found.items()]
    return Claim(claimed, ", ".join(said), float(found[QUANTILE]["value"]) < float(found[MIN_MAX]["value"]))


def figures(rows: list[dict[str, Any]]) -> dict[str, Figure]:
    return {"regression": sweep_pages.figure(rows)}
