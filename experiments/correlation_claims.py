"""What the paper claims of the correlations, and what the rows say; experiments/correlation.py says in what sense."""

import numpy as np

from experiments.claims import Claim
from experiments.correlation_data import (
    ALPHAS,
    BEDROOMS,
    CLEAN,
    CURVE,
    HIGHLIGHTED,
    INCOME,
    NAMES,
    NOISY,
    OUTLIERS,
    PAPER_SEED,
    POPULATION,
    Floats,
    Row,
    largest,
    nearer_spearman,
    of_part,
    outside,
    pair_name,
    shown,
    values,
)

CLOSE = 0.1
PAPER = {"pearson": "0.85", "spearman": "0.08", "kdi": "0.31"}  # of BEDROOMS


def claims(rows: list[Row]) -> list[Claim]:
    pairs = of_part(rows, "california")
    return [*simulated_claims(rows), *overall_claims(pairs), *pair_claims(rows)]


def simulated_claims(rows: list[Row]) -> list[Claim]:
    samples = {case: of_part(rows, "simulated", case) for case in (CURVE, NOISY, CLEAN, OUTLIERS)}
    drawn = {case: next(one for one in own if one["seed"] == PAPER_SEED) for case, own in samples.items()}
    found = {case: values(own) for case, own in samples.items()}

    def claim(case: str, text: str, holds: Floats, more: str = "") -> Claim:
        at_seed = bool(holds[samples[case].index(drawn[case])])
        means = dict(zip(ALPHAS, (one.mean() for one in found[case]), strict=True))
        said = f"the paper's draw: {shown(drawn[case])}{more}; "
        said += f"{len(holds)} samples: holds in {np.mean(holds):.0%}, means {shown(means)}"
        return Claim(f"{case}: {text}", said, at_seed and bool(np.mean(holds) > 0.5))

    pearson, spearman, _ = found[CURVE]
    before = float(drawn[CLEAN]["pearson"])
    # The order of values stays as it was, and Spearman's coefficient with it.
    reduced = (found[OUTLIERS][0] < found[CLEAN][0]) & (abs(found[OUTLIERS][1] - found[CLEAN][1]) < 1e-6)
    return [
        claim(CURVE, "Spearman exceeds Pearson", spearman > pearson),
        claim(CURVE, "KD-integral behaves like Spearman", nearer_spearman(*found[CURVE])),
        claim(NOISY, "KD-integral interpolates between Pearson and Spearman", outside(*found[NOISY]) == 0),
        claim(OUTLIERS, "Pearson is reduced, Spearman is not", reduced, f" (Pearson before them {before:.2f})"),
        claim(OUTLIERS, "KD-integral behaves like Spearman", nearer_spearman(*found[OUTLIERS])),
    ]


def overall_claims(pairs: list[Row]) -> list[Claim]:
    found = [top_claim(pairs, "pearson", BEDROOMS, INCOME), top_claim(pairs, "spearman", BEDROOMS, POPULATION)]
    pearson, spearman, ours = values(pairs)
    count = len(pairs)
    close = np.ptp([pearson, spearman, ours], axis=0) <= CLOSE
    said = f"all three within {CLOSE:g} for {close.sum()} of {count} pairs; KD-integral is further than that "
    said += f"from Pearson for {np.sum(abs(ours - pearson) > CLOSE)}, "
    said += f"from Spearman for {np.sum(abs(ours - spearman) > CLOSE)}"
    found.append(Claim("the three are typically close, with few exceptions", said, bool(close.mean() > 0.5)))
    apart = outside(pearson, spearman, ours)
    inside = apart == 0
    deviations = np.array([float(one["kdi_deviation"]) for one in pairs])
    said = f"{inside.sum()} of {count} pairs; {np.sum(apart > 2 * deviations)} of the others are outside by more than "
    said += (
        f"two deviations of KD-integral, {np.sum(apart > 0.01)} by more than 0.01, none by more than {apart.max():.3f}"
    )
    text = "KD-integral is typically, but not always, between Pearson and Spearman"
    return [*found, Claim(text, said, bool(0.5 < inside.mean() < 1))]


def top_claim(pairs: list[Row], against: str, *expected: tuple[str, str]) -> Claim:
    *top, third = largest(pairs, against, len(expected) + 1)
    said = ", ".join(f"({pair_name(*pair)}) {gap:.2f}" for pair, gap in top)
    said += f"; the next is ({pair_name(*third[0])}) {third[1]:.2f}"
    text = " and ".join(f"({pair_name(*pair)})" for pair in expected)
    text = f"top two disagreements with {NAMES[against]}: {text}"
    return Claim(text, said, {pair for pair, _ in top} == set(expected))


def pair_claims(rows: list[Row]) -> list[Claim]:
    full, less = (
        {pair: of_part(rows, part, pair_name(*pair))[0] for pair in HIGHLIGHTED}
        for part in ("california", "outliers excluded")
    )
    bedrooms, name = full[BEDROOMS], f"({pair_name(*BEDROOMS)})"
    wanted = ", ".join(f"{NAMES[coefficient]} {value}" for coefficient, value in PAPER.items())
    said = ", ".join(
        f"{NAMES[one]} {float(bedrooms[one]):.3f} ± {float(bedrooms[f'{one}_deviation']):.3f}" for one in ALPHAS
    )
    same = all(f"{float(bedrooms[one]):.2f}" == value for one, value in PAPER.items())
    found = [Claim(f"{name}: {wanted}", said, same)]

    both = [float(one["pearson"]) for one in (bedrooms, less[BEDROOMS])]
    errors = [float(one["pearson_deviation"]) for one in (bedrooms, less[BEDROOMS])]
    said = f"Pearson {both[0]:.2f} ± {errors[0]:.2f} with them, {both[1]:.2f} ± {errors[1]:.2f} without"
    holds = all(value > 2 * error for value, error in zip(both, errors, strict=True))
    found.append(Claim(f"{name}: correlated, with outliers and without", said, holds))

    text = f"({pair_name(*INCOME)}): KD-integral agrees with Spearman"
    found.append(Claim(text, shown(full[INCOME]), bool(nearer_spearman(*values([full[INCOME]]))[0])))

    population = full[POPULATION]
    pearson, spearman, ours = (one[0] for one in values([population]))
    said = f"{shown(population)}; without outliers {shown(less[POPULATION])}"
    text = f"({pair_name(*POPULATION)}): KD-integral agrees with Pearson, and is negative"
    return [*found, Claim(text, said, bool(ours < 0 and abs(ours - pearson) < abs(ours - spearman)))]
