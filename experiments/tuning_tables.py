"""Tables of the experiment on tuning, and which of its targets were reached."""

from collections.abc import Iterable

import numpy as np

from benchmarks.report import Table, Target, number, target_table
from experiments.contests import Contest, contest, p_value
from experiments.rows import Row, chosen
from experiments.tuning_methods import BASE, BAYES, EACH, LOGISTIC, PENALISED, SEARCHED, SINGLE

TIMED = "KDITransformerCV, alpha per feature"
ASKED = {"california": 0.655, "abalone": 2.170}  # targets: the largest rMSE
SETS = 40  # target: the smallest number of benchmarks
DATA = {"california": "California", "abalone": "Abalone"}
PENALTY_NOTE = "C is chosen by cross-validation on the training part; one alpha by inner CV is chosen at C = 10. "
SPLINES = "SplineTransformer makes seven features of each feature."
ERRORS = "In brackets, the difference to kdi at alpha 1 on the same splits, ± one standard error."


def tables(rows: list[Row]) -> list[Table]:
    found = [target_table(targets(rows)), regression_table(chosen(rows, part="regression"))]
    found += [
        classification_table(chosen(rows, part="classification", model=model), model)
        for model in (BAYES.name, LOGISTIC.name)
    ]
    by_model = benchmarks(rows)
    found += [benchmark_table(own, model) for model, own in by_model.items()]
    found += [time_table(chosen(rows, part="time")), seconds_table(rows)]
    return [*found, *(set_table(own, model) for model, own in by_model.items())]


def benchmarks(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Select the rows of the Small Data Benchmarks, by model."""
    found = chosen(rows, part="benchmarks")
    return {model: chosen(found, model=model) for model in dict.fromkeys(row["model"] for row in found)}


def names(rows: Iterable[Row]) -> list[str]:
    """Return the names of the data sets, in the order of the rows."""
    return list(dict.fromkeys(row["data"] for row in rows))


def methods(rows: Iterable[Row]) -> list[str]:
    """Return the methods, in the order of the rows."""
    return list(dict.fromkeys(row["method"] for row in rows))


def value(rows: Iterable[Row], **fields: str) -> float:
    (row,) = chosen(rows, **fields)
    return float(row["value"])


# Targets.


def targets(rows: list[Row]) -> list[Target]:
    found = []
    regression = chosen(rows, part="regression", method=EACH)
    for row in regression:
        most, error = ASKED[row["data"]], float(row["value"])
        title = f"{DATA[row['data']]}, rMSE with an alpha per feature at most {most:.3f}"
        found.append(Target(title, f"{error:.4f}", error <= most))
    for model in (BAYES.name, LOGISTIC.name):
        found += classification_targets(chosen(rows, part="classification", model=model), model)
    by_model = benchmarks(rows)
    for model, own in by_model.items():
        found += benchmark_targets(own, model)
    found += [] if by_model else [Target("Small Data Benchmarks", "not run", False)]
    return found + time_targets(chosen(rows, part="time"))


def classification_targets(rows: list[Row], model: str) -> list[Target]:
    """Judge by two standard errors: of the accuracy at alpha 1, and the smaller one of the paired differences."""
    own, base = chosen(rows, method=EACH), chosen(rows, method=BASE)
    differences = {row["data"]: float(row["difference"]) for row in own}
    paired = {row["data"]: float(row["standard_error"]) for row in own}
    plain = {row["data"]: float(row["deviation"]) / np.sqrt(float(row["runs"])) for row in base}
    better = [data for data, difference in differences.items() if difference > 0]
    clearly = [data for data in better if differences[data] > paired[data]]
    said = f"{len(better)} of {len(own)} ({listed(better)}); by more than one paired standard error {len(clearly)}"
    return [
        *(
            never_worse(f"{model}: never worse than alpha 1 by more than one standard error {kind}", differences, error)
            for kind, error in (("of its accuracy", plain), ("of the paired difference", paired))
        ),
        Target(f"{model}: better than alpha 1 on at least two sets", said, len(better) >= 2),
    ]


def never_worse(title: str, differences: dict[str, float], errors: dict[str, float]) -> Target:
    worst = min(differences, key=lambda data: differences[data] + errors[data])
    said = f"the worst is {worst}: {100 * differences[worst]:+.2f} ± {100 * errors[worst]:.2f} points"
    return Target(title, said, all(differences[data] >= -errors[data] for data in differences))


def benchmark_targets(rows: list[Row], model: str) -> list[Target]:
    count = len(names(rows))
    found = [Target(f"{model}: at least {SETS} Small Data Benchmarks", f"{count}", count >= SETS)]
    own = mean_value(rows, EACH)
    for other in (BASE, SINGLE, SEARCHED):
        theirs, contest = mean_value(rows, other), compared(rows, other)
        said = f"{own:.4f} against {theirs:.4f}; {contest.wins} wins, {contest.losses} losses, {contest.ties} ties; "
        said += f"Wilcoxon p = {p_value(contest.two_sided)}"
        found.append(Target(f"{model}: mean AUC with an alpha per feature above that of {other}", said, own > theirs))
    return found


def time_targets(rows: list[Row]) -> list[Target]:
    own = value(rows, method=TIMED)
    return [
        Target(
            f"tuning California housing takes less time than {row['method']}",
            f"{own:.2f} s against {float(row['value']):.2f} s; the median ratio is {float(row['ratio']):.1f}",
            float(row["ratio"]) > 1,
        )
        for row in rows
        if row["method"].startswith("GridSearchCV")
    ]


# Tables.


def regression_table(rows: list[Row]) -> Table:
    body = [[method, *(cell(rows, data, method, 1, 4) for data in names(rows))] for method in methods(rows)]
    note = f"Mean over {rows[0]['runs']} random 70/30 splits; lower is better. {ERRORS} {SPLINES}"
    return Table("rMSE of a linear regression", ["", *(DATA[data] for data in names(rows))], body, note)


def classification_table(rows: list[Row], model: str) -> Table:
    body = [[method, *(cell(rows, data, method, 100, 2) for data in names(rows))] for method in methods(rows)]
    note = f"Mean over {rows[0]['runs']} stratified 70/30 splits. {ERRORS} {SPLINES}"
    return Table(f"Accuracy in percent, {model}", ["", *(data.capitalize() for data in names(rows))], body, note)


def cell(rows: list[Row], data: str, method: str, scale: float, digits: int) -> str:
    (row,) = chosen(rows, data=data, method=method)
    mean, difference, error = (scale * float(row[name]) for name in ("value", "difference", "standard_error"))
    if method == BASE:
        return f"{mean:.{digits}f}"
    return f"{mean:.{digits}f} ({difference:+.{digits}f} ± {error:.{digits}f})"


def benchmark_table(rows: list[Row], model: str) -> Table:
    body = []
    for method in methods(rows):
        line = [method, f"{mean_value(rows, method):.4f}"]
        if method == EACH:
            body.append([*line, "–", "–", "–"])
            continue
        contest = compared(rows, method)
        counts = f"{contest.wins} – {contest.losses} – {contest.ties}"
        body.append([*line, counts, p_value(contest.two_sided), p_value(contest.one_sided)])
    header = ["", "mean AUC", "alpha per feature wins – loses – ties", "p", "p, one-sided"]
    note = f"Weighted one-vs-rest ROC AUC on {len(names(rows))} sets, each a mean over {rows[0]['runs']} stratified "
    note += "75/25 splits. " + PENALTY_NOTE * (model == PENALISED.name) + "p-values are Wilcoxon's, of an alpha per "
    note += "feature against the method of the row; one-sided: whether the alpha per feature is better. " + SPLINES
    return Table(f"Small Data Benchmarks, {model}", header, body, note)


def time_table(rows: list[Row]) -> Table:
    body = [[row["method"], f"{float(row['value']):.3f}", f"{float(row['ratio']):.2f}"] for row in rows]
    note = f"Median over {rows[0]['runs']} interleaved rounds, {int(rows[0]['rows']):,} × {rows[0]['columns']}, 20 "
    note += "alphas, 5 folds where folds are used. The ratio to the first row is a median over rounds too. "
    note += "Where n_jobs is not named, it is the default of the class."
    return Table("Seconds to tune California housing", ["", "seconds", "ratio"], body, note)


def seconds_table(rows: list[Row]) -> Table:
    regression = chosen(rows, part="regression")
    places = {DATA[data]: chosen(regression, data=data) for data in names(regression)}
    places |= {f"Small Data Benchmarks, {model}": own for model, own in benchmarks(rows).items()}
    body = [
        [
            method,
            *(
                number(np.mean([float(row["seconds"]) for row in chosen(place, method=method)]))
                for place in places.values()
            ),
        ]
        for method in methods(regression)
    ]
    note = "Median over splits (averaged over sets), on one thread, while another process runs other fits."
    return Table("Seconds to fit the method and the model", ["", *places], body, note)


def set_table(rows: list[Row], model: str) -> Table:
    body = []
    for data in names(rows):
        own = {row["method"]: row for row in chosen(rows, data=data)}
        scores = [f"{float(own[method]['value']):.4f}" for method in methods(rows)]
        body.append([data, f"{int(own[BASE]['rows']):,}", f"{own[BASE]['columns']}", *scores])
    return Table(f"AUC on each of the Small Data Benchmarks, {model}", ["", "rows", "columns", *methods(rows)], body)


def mean_value(rows: list[Row], method: str) -> float:
    return float(np.mean([float(row["value"]) for row in chosen(rows, method=method)]))


def compared(rows: list[Row], other: str) -> Contest:
    """Compare an alpha per feature with another method, over all benchmarks."""
    scores = ([float(row["value"]) for row in chosen(rows, method=method)] for method in (EACH, other))
    return contest(*scores)


def listed(words: list[str]) -> str:
    return ", ".join(words) or "none"
