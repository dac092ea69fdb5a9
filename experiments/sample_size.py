"""The best alpha against the number of rows: California housing, drawn anew for each split (the paper's A.3).

The setting is that of the regression, on rows drawn without replacement. The best alpha is that of the sweep with the
smallest mean rMSE over the splits. By Scott's rule, bandwidths shrink as N^(-1/5). The best alpha does not vanish if
the slope of its logarithm on that of N, by least squares, is above half of that power, -1/10. It stays constant if no
two N differ in it by more than one step of the sweep (a factor of 1.27).
"""

import numpy as np
from matplotlib.figure import Figure

from benchmarks.report import Table
from experiments import sweep_pages, sweeps
from experiments.claims import Claim
from experiments.names import KDI, TUNED
from experiments.progress import Size
from experiments.rows import Row
from experiments.sweep_pages import alpha, best, of_method, value

TITLE = "The best α against the number of rows"
SIZES = (1000, 2000, 5000, 10_000)
QUICK = SIZES[:2]  # a slope needs two
SCOTT = -0.2
LEAST = SCOTT / 2
STEP = float(sweeps.SWEEP_ALPHAS[1] / sweeps.SWEEP_ALPHAS[0])
ROUNDING = 1.001  # tolerance for alphas that are rounded in the rows

RULES = (
    f"An α vanishes if it falls faster than N^{LEAST}, half of Scott's power, by least squares on logarithms. The "
    f"steps of the sweep are factors of {STEP:.2f}: smaller changes would not be seen."
)


def measure(size: Size) -> list[Row]:
    sizes = QUICK if size == "quick" else SIZES
    samples = [sweeps.Sample("california", rows) for rows in sizes]
    return sweeps.measure(sweeps.REGRESSION, samples, size)


def tables(rows: list[Row]) -> list[Table]:
    header = ["N", "best α of the sweep", "rMSE there", f"rMSE, {KDI}", f"rMSE, {TUNED}", "chosen α, mean", "median"]
    lines = [
        [f"{int(sample[0]['rows']):,}", alpha(best(sample)), value(best(sample))]
        + [value(of_method(sample, method)) for method in (KDI, TUNED)]
        + [of_method(sample, TUNED)[name] for name in ("mean_alpha", "median_alpha")]
        for sample in sweep_pages.samples(rows)
    ]
    note = f"Mean ± standard error over {rows[0]['splits']} splits. The steps of the sweep are factors of {STEP:.3f}. "
    note += f"Chosen: by the inner cross-validation of each split. {sweep_pages.BARS}"
    found = Table("Best α", header, lines, note)
    return [found, sweep_pages.score_table(rows, f"{sweep_pages.STRAIGHT} {sweep_pages.BESIDE}")]


def claims(rows: list[Row]) -> list[Claim]:
    samples = sweep_pages.samples(rows)
    counts = [int(sample[0]["rows"]) for sample in samples]
    places = [float(best(sample)["alpha"]) for sample in samples]
    medians = [float(of_method(sample, TUNED)["median_alpha"]) for sample in samples]
    spread = max(places) / min(places)
    span = f"from N = {counts[0]:,} to {counts[-1]:,}"
    return [
        vanishing(f"The best α does not vanish {span}", counts, places),
        vanishing(f"The median of the chosen α does not vanish {span}", counts, medians),
        Claim(
            f"The best α stays constant {span}, within one step of the sweep",
            f"between {min(places):.3g} and {max(places):.3g}, steps apart: {np.log(spread) / np.log(STEP):.0f}",
            spread <= STEP * ROUNDING,
        ),
    ]


def vanishing(claimed: str, counts: list[int], alphas: list[float]) -> Claim:
    slope = float(np.polynomial.Polynomial.fit(np.log(counts), np.log(alphas), 1).convert().coef[-1])
    said = f"{', '.join(f'{one:.3g}' for one in alphas)}: as N^{slope:+.3f}, Scott's rule as N^{SCOTT}"
    return Claim(claimed, said, slope > LEAST)


def figures(rows: list[Row]) -> dict[str, Figure]:
    return {"sample_size": sweep_pages.figure(rows, mark_best=True)}
