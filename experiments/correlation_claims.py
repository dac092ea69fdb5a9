"""The paper's claims about correlations, judged by the rows."""

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
    largest,
    nearer_spearman,
    of_pair,
    outside,
    pair_name,
    papers_draw,
    shown,
    values,
)
from experiments.rows import Row, chosen

HALF = 0.5  # share of samples or pairs that a claim has to exceed
CLOSE = 0.1
SAME = 1e-6  # one unit of the last digit of the rows
DEVIATIONS = 2
PAPER = {"pearson": "0.85", "spearman": "0.08", "kdi": "0.31"}  # of BEDROOMS

RULES = f"""A claim about a simulated case holds if it is true of the paper's sample (seed {PAPER_SEED}) and of more
than half of all samples. KD-integral *behaves like* or *agrees with* one of the other two coefficients if it is nearer
to that one than to the other; it *interpolates*, or is *between* them, if it is in the closed range of the two. Pearson
is *reduced* by the outliers if it is lower than in the same sample before them; Spearman is not if it is the same to
six decimals. Three coefficients are *close* if no two of them differ by more than {CLOSE:g}. *Typically* means for more
than half of the pairs of features, and *not always* for fewer than all. A *disagreement* is the absolute difference of
two coefficients; the top two may come in either order. Coefficients are those of the paper if they are the same when
rounded to its two decimals. Two features are *correlated* if Pearson exceeds {DEVIATIONS} of its standard deviations;
these, after ±, are taken over bootstraps of the rows."""


def claims(rows: list[Row]) -> list[Claim]:
    pairs = chosen(rows, part="california")
    return [*simulated_claims(rows), *overall_claims(pairs), *pair_claims(rows)]


def simulated_claims(rows: list[Row]) -> list[Claim]:
    samples = {case: chosen(rows, part="simulated", case=case) for case in (CURVE, NOISY, CLEAN, OUTLIERS)}
    drawn = {case: papers_draw(own) for case, own in samples.items()}
    found = {case: values(own) for case, own in samples.items()}

    def claim(case: str, text: str, holds: Floats, more: str = "") -> Claim:
        at_seed = bool(holds[samples[case].index(drawn[case])])
        means = dict(zip(ALPHAS, (one.mean() for one in found[case]), strict=True))
        said = f"the paper's draw: {shown(drawn[case])}{more}; "
        said += f"{len(holds)} samples: holds in {np.mean(holds):.0%}, means {shown(means)}"
        return Claim(f"{case}: {text}", said, at_seed and bool(np.mean(holds) > HALF))

    pearson, spearman, _ = found[CURVE]
    before = float(drawn[CLEAN]["pearson"])
    # Outliers leave the order of values as it was, and Spearman's coefficient with it.
    reduced = (found[OUTLIERS][0] < found[CLEAN][0]) & (abs(found[OUTLIERS][1] - found[CLEAN][1]) < SAME)
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
    found.append(Claim("the three are typically close, with few exceptions", said, bool(close.mean() > HALF)))
    apart = outside(pearson, spearman, ours)
    inside = apart == 0
    deviations = np.array([float(one["kdi_deviation"]) for one in pairs])
    beyond = np.sum(apart > DEVIATIONS * deviations)
    said = f"{inside.sum()} of {count} pairs; of the others {beyond} are outside by more than {DEVIATIONS} standard "
    said += f"deviations of KD-integral, {np.sum(apart > 0.01)} by more than 0.01, none by more than {apart.max():.3f}"
    text = "KD-integral is typically, but not always, between Pearson and Spearman"
    return [*found, Claim(text, said, bool(HALF < inside.mean() < 1))]


def top_claim(pairs: list[Row], against: str, *expected: tuple[str, str]) -> Claim:
    *top, third = largest(pairs, against, len(expected) + 1)
    said = ", ".join(f"({pair_name(*pair)}) {gap:.2f}" for pair, gap in top)
    said += f"; the next is ({pair_name(*third[0])}) {third[1]:.2f}"
    text = " and ".join(f"({pair_name(*pair)})" for pair in expected)
    text = f"top two disagreements with {NAMES[against]}: {text}"
    return Claim(text, said, {pair for pair, _ in top} == set(expected))


def pair_claims(rows: list[Row]) -> list[Claim]:
    full, less = (
        {pair: of_pair(rows, part, pair) for pair in HIGHLIGHTED} for part in ("california", "outliers excluded")
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
    holds = all(value > DEVIATIONS * error for value, error in zip(both, errors, strict=True))
    found.append(Claim(f"{name}: correlated, with outliers and without", said, holds))

    text = f"({pair_name(*INCOME)}): KD-integral agrees with Spearman"
    found.append(Claim(text, shown(full[INCOME]), bool(nearer_spearman(*values([full[INCOME]]))[0])))

    population = full[POPULATION]
    pearson, spearman, ours = (one[0] for one in values([population]))
    said = f"{shown(population)}; without outliers {shown(less[POPULATION])}"
    text = f"({pair_name(*POPULATION)}): KD-integral agrees with Pearson, and is negative"
    return [*found, Claim(text, said, bool(ours < 0 and abs(ours - pearson) < abs(ours - spearman)))]
