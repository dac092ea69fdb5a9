"""Tables of the correlation experiment."""

import numpy as np

from benchmarks.report import Table
from experiments.correlation_data import (
    ALPHAS,
    NAMES,
    PERCENTILE,
    N,
    largest,
    nearer_spearman,
    outside,
    pair_name,
    papers_draw,
    values,
)
from experiments.rows import Row, grouped


def tables(rows: list[Row]) -> list[Table]:
    parts = {part: own for (part,), own in grouped(rows, "part").items()}
    features, target, less = (parts[part] for part in ("california", "with target", "outliers excluded"))
    note = "In order of the disagreement of KD-integral with Pearson; ± the standard deviation over "
    note += f"{features[0]['bootstraps']} bootstraps."
    moved = [NAMES[against] for against in ("pearson", "spearman") if moves(features, target, against)]
    said = f"change the top two disagreements with {' and '.join(moved)}" if moved else "leave all top two as they are"
    whole, *most, last = (f"{int(one['rows']):,}" for one in (features[0], *less))
    left = f"Of {whole} rows, {', '.join(most)} and {last} are left."
    return [
        samples_table(parts["simulated"]),
        pairs_table("California housing, all pairs of features", features, note),
        pairs_table("California housing, features and target", target, f"Not in the paper; they {said}."),
        pairs_table(
            f"Without outliers: rows up to the {PERCENTILE}th percentile of both columns",
            less,
            f"{left} Coefficients and deviations are of these rows alone.",
        ),
    ]


def moves(features: list[Row], target: list[Row], against: str) -> bool:
    """Check whether the two largest disagreements change when pairs with the target are included."""
    return largest(features, against, 2) != largest([*features, *target], against, 2)


def samples_table(rows: list[Row]) -> Table:
    body = []
    for (case,), own in grouped(rows, "case").items():
        drawn = papers_draw(own)
        found = dict(zip(ALPHAS, values(own), strict=True))
        cells = [f"{float(drawn[name]):.3f}" for name in ALPHAS]
        cells += [f"{found[name].mean():.3f} ± {found[name].std(ddof=1):.3f}" for name in ALPHAS]
        three = tuple(found.values())
        cells += [f"{np.mean(holds):.0%}" for holds in (nearer_spearman(*three), outside(*three) == 0)]
        body.append([case, *cells])
    count = len({one["seed"] for one in rows})
    header = ["", *(f"{NAMES[name]}, paper's draw" for name in ALPHAS), *(f"{NAMES[name]}, mean" for name in ALPHAS)]
    header += ["KD-integral nearer to Spearman", "between"]
    note = f"Means ± standard deviations over {count} samples of {N} pairs, the paper's among them."
    return Table("Simulated cases", header, body, note)


def pairs_table(title: str, rows: list[Row], note: str) -> Table:
    body = []
    for one in rows:
        cells = [f"{float(one[name]):.3f} ± {float(one[f'{name}_deviation']):.3f}" for name in ALPHAS]
        ours = float(one["kdi"])
        cells += [f"{ours - float(one[name]):+.3f}" for name in ("pearson", "spearman")]
        apart = outside(*values([one]))[0]
        body.append([pair_name(one["first"], one["second"]), *cells, "yes" if apart == 0 else f"{apart:.3f} outside"])
    header = ["", *NAMES.values(), "minus Pearson", "minus Spearman", "between"]
    return Table(title, header, body, note)
