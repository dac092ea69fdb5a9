"""Accuracy of PCA to two components and Gaussian naive Bayes after each transformer (the paper's 3.1.1).

experiments/sweeps.py says how splits are made and alpha is chosen; experiments/sweep_pages.py defines "ahead", "behind"
and "tied". "Between" two methods is ahead of one and behind the other, and the tuned alpha is "non-inferior or better"
where it is not behind. The ranks are those of the means, however close these are.
"""

from matplotlib.figure import Figure

from benchmarks.report import Table
from experiments import datasets, sweep_pages, sweeps
from experiments.claims import Claim
from experiments.names import KDI, MIN_MAX, QUANTILE, TUNED, Z_SCORE
from experiments.progress import Size
from experiments.rows import Row
from experiments.sweep_pages import Expected

TITLE = "Classification: PCA and naive Bayes"
QUICK = ("wine", "iris")
TUNING_FREE = (MIN_MAX, Z_SCORE, QUANTILE, KDI)
ORDINALS = ("first", "second", "third", "last")
RANKS = {"wine": 0, "iris": 1, "penguins": 1, "hawks": 1}  # how many of the tuning-free methods beat alpha = 1
RULES = f'{sweep_pages.RULE} "Between" two methods: ahead of one, behind the other.'
EXPECTED = (
    Expected("wine", KDI, "ahead of", (MIN_MAX, QUANTILE)),
    Expected("iris", KDI, "between", (MIN_MAX, QUANTILE)),
    Expected("penguins", KDI, "ahead of", (MIN_MAX, QUANTILE)),
    Expected("hawks", KDI, "tied with", (MIN_MAX,)),
    Expected("hawks", KDI, "ahead of", (QUANTILE,)),
    Expected("wine", KDI, "ahead of", (Z_SCORE,)),
    Expected("iris", KDI, "ahead of", (Z_SCORE,)),
    Expected("penguins", KDI, "behind", (Z_SCORE,)),
    Expected("hawks", KDI, "tied with", (Z_SCORE,)),
    *(Expected(data, TUNED, "not behind", (MIN_MAX, QUANTILE)) for data in datasets.CLASSIFICATION),
    Expected("penguins", TUNED, "behind", (Z_SCORE,)),
)


def measure(size: Size) -> list[Row]:
    names = QUICK if size == "quick" else datasets.CLASSIFICATION
    return sweeps.measure(sweeps.CLASSIFICATION, map(sweeps.Sample, names), size)


def tables(rows: list[Row]) -> list[Table]:
    note = f"{sweep_pages.BESIDE} {sweep_pages.BARS}"
    return [sweep_pages.score_table(rows, note), sweep_pages.lead_table(rows)]


def claims(rows: list[Row]) -> list[Claim]:
    return [*sweep_pages.judged(rows, EXPECTED), rank_claim(rows)]


def rank_claim(rows: list[Row]) -> Claim:
    found = {}
    for sample in sweep_pages.samples(rows):
        values = {method: float(sweep_pages.of_method(sample, method)["value"]) for method in TUNING_FREE}
        found[sample[0]["data"]] = sum(value > values[KDI] for value in values.values())
    wanted = {data: RANKS[data] for data in found}
    claimed = f"rank of {KDI} among the four methods without tuning, by their means: {ranked(wanted)}"
    return Claim(claimed, ranked(found), found == wanted)


def ranked(places: dict[str, int]) -> str:
    return ", ".join(f"{sweep_pages.NAMES[data]} {ORDINALS[place]}" for data, place in places.items())


def figures(rows: list[Row]) -> dict[str, Figure]:
    return {"classification": sweep_pages.figure(rows)}
