"""The paper's claims about clustering univariate data, judged by the rows of the experiment according to RULES."""

from collections.abc import Iterable

import numpy as np

from experiments.claims import Claim
from experiments.clustering_methods import MIXTURES, OURS, PAPER, SHOWN_SEED
from experiments.rows import Row, chosen

HALF = 0.5  # share of samples above which a method is right
HIGH = 0.9
SLIGHT, AGGRESSIVE = 1.5, 2.0  # times the true number
ERRORS = 2  # standard errors that a difference must exceed
SHOWN_SIZE, LARGE = 500, 1000
GMM, BAYESIAN, KMEANS = "GMM, BIC", "Bayesian GMM", "KMeans, silhouette"
FIRST_TWO = ("mixture 1", "mixture 2")

RULES = f"""K̂ is the number of clusters that a method finds, K the number of components of the mixture, and *accuracy*
the share of samples with K̂ = K. At N = {SHOWN_SIZE}, a method *infers K*, or *is right* on a mixture, if it does so in
more than half of the samples, and *fails* otherwise; the paper shows one sample per mixture, whose K̂ is given, too.
A method *overestimates slightly* if the mean of K̂ / K over samples and mixtures is above 1 and below {SLIGHT:g}, and
*aggressively* if that is at least {AGGRESSIVE:g}. Accuracy is *high* from {HIGH:g} on, and a method *struggles* if its
accuracy is below {HIGH:g} on each of the mixtures named. A method *outperforms* another if its mean accuracy is higher
by more than {ERRORS} standard errors (after ±), and its mean adjusted Rand index (ARI) is higher as well; the standard
error takes the samples of the two methods to be independent, although both see the same ones. A method alone *comes
close* to KD-integral if its mean accuracy over all N and mixtures is the second highest, next to that of KD-integral.
*Small N* is below {SHOWN_SIZE}, and *large N* the largest. A quick run, which has neither N = {SHOWN_SIZE} nor
N > {LARGE}, takes its largest N for both. In the tables KD-integral is called `kdi`."""


def claims(rows: list[Row]) -> list[Claim]:
    return [*at_one_size(Cells(rows)), *over_sizes(Cells(rows))]


def shown_size(rows: Iterable[Row]) -> int:
    """Return N = 500, or the largest N of a quick run."""
    sizes = {int(one["n"]) for one in rows}
    return SHOWN_SIZE if SHOWN_SIZE in sizes else max(sizes)


class Cells:
    """The rows of methods, by mixture, size and method."""

    def __init__(self, rows: list[Row]) -> None:
        own = chosen(rows, measured="all methods")
        self.found = {(one["data"], int(one["n"]), one["method"]): one for one in own}
        self.sizes = sorted({int(one["n"]) for one in own})
        self.shown_size = shown_size(own)
        self.small = [n for n in self.sizes if n < SHOWN_SIZE]
        self.large = [n for n in self.sizes if n > LARGE] or self.sizes[-1:]
        self.runs = int(own[0]["runs"])

    def numbers(
        self, what: str, method: str, sizes: Iterable[int] | None = None, data: Iterable[str] = tuple(MIXTURES)
    ) -> list[float]:
        """Return one number per size and mixture, by default for all mixtures at N = 500."""
        sizes = [self.shown_size] if sizes is None else sizes
        return [float(self.found[name, n, method][what]) for n in sizes for name in data]

    def mean(self, what: str, method: str, sizes: Iterable[int], data: Iterable[str] = tuple(MIXTURES)) -> float:
        return float(np.mean(self.numbers(what, method, sizes, data)))


# One size: the paper's first figure.


def at_one_size(cells: Cells) -> list[Claim]:
    n = f"N = {cells.shown_size:,}"
    return [
        only_right(f"At {n}, KD-integral is the only method to infer K on all five mixtures", cells),
        pattern(f"At {n}, GMM + BIC is right on the first three mixtures, not on the last two", cells, GMM, "+++--"),
        pattern(f"At {n}, KMeans is right on the last three mixtures, not on the first two", cells, KMEANS, "--+++"),
        excess(f"At {n}, Bayesian GMM slightly overestimates K", cells, BAYESIAN, 1.0, SLIGHT),
        excess(f"At {n}, MeanShift aggressively overestimates K", cells, "MeanShift", AGGRESSIVE, np.inf),
        excess(f"At {n}, HDBSCAN aggressively overestimates K", cells, "HDBSCAN", AGGRESSIVE, np.inf),
        pattern(f"At {n}, KDE minima fail on the first, second and fourth mixture", cells, "KDE minima", "--+-+"),
        pattern(
            f"At {n}, adaptive KDE minima mend the second and fourth mixture, not the first",
            cells,
            "adaptive KDE minima",
            "-+.+.",
        ),
    ]


def only_right(claimed: str, cells: Cells) -> Claim:
    right = {method: sum(share > HALF for share in cells.numbers("right", method)) for method in PAPER}
    others = ", ".join(f"{PAPER[method]} {count}" for method, count in right.items() if method != OURS)
    found = f"{described(cells, OURS)}. Mixtures on which others are right: {others}"
    return Claim(claimed, found, [method for method, count in right.items() if count == len(MIXTURES)] == [OURS])


def pattern(claimed: str, cells: Cells, method: str, expected: str) -> Claim:
    """Compare with the claim for each mixture: + is right, - is wrong, . is not claimed."""
    signs = ["+" if share > HALF else "-" for share in cells.numbers("right", method)]
    holds = all(sign in (own, ".") for sign, own in zip(expected, signs, strict=True))
    return Claim(claimed, described(cells, method), holds)


def described(cells: Cells, method: str) -> str:
    shares = ", ".join(f"{share:.2f}" for share in cells.numbers("right", method))
    return f"right in {shares} of {cells.runs} samples per mixture; {shown(cells, method)}"


def shown(cells: Cells, method: str) -> str:
    numbers = ", ".join(f"{number:.0f}" for number in cells.numbers("clusters_shown", method))
    return f"K̂ = {numbers} in the one that is drawn (seed {SHOWN_SEED})"


def excess(claimed: str, cells: Cells, method: str, least: float, most: float) -> Claim:
    means = cells.numbers("mean_clusters", method)
    ratio = float(np.mean([mean / len(parts) for mean, parts in zip(means, MIXTURES.values(), strict=True)]))
    true = ", ".join(str(len(parts)) for parts in MIXTURES.values())
    found = f"{ratio:.2f} times as many: {', '.join(f'{mean:.2f}' for mean in means)} instead of {true}"
    holds = least <= ratio < most and ratio > 1
    return Claim(claimed, f"{found}; {shown(cells, method)}", holds)


# All sizes: the paper's second figure.


def over_sizes(cells: Cells) -> list[Claim]:
    return [
        only_high(cells),
        outperformed(cells, GMM),
        outperformed(cells, BAYESIAN),
        gmm_struggles(cells),
        bayesian_struggles(cells),
        nearest(cells),
        adaptive_struggles(cells),
    ]


def only_high(cells: Cells) -> Claim:
    worst = {method: min(cells.numbers("right", method, cells.large)) for method in PAPER}
    others = ", ".join(f"{PAPER[method]} {share:.2f}" for method, share in worst.items() if method != OURS)
    found = f"worst accuracy at {listed(cells.large)}: KD-integral {worst[OURS]:.2f}; {others}"
    holds = [method for method, share in worst.items() if share >= HIGH] == [OURS]
    return Claim(f"For N > 1000, only KD-integral has a high accuracy (≥ {HIGH}) in all settings", found, holds)


def outperformed(cells: Cells, method: str) -> Claim:
    """Compare a method with KD-integral on the first two mixtures at small N."""
    ours, theirs = (cells.numbers("right", name, cells.small, FIRST_TWO) for name in (OURS, method))
    variances = [share * (1 - share) / cells.runs for share in (*ours, *theirs)]
    error = float(np.sqrt(np.sum(variances))) / len(ours)
    gain = float(np.mean(theirs) - np.mean(ours))
    ari = [cells.mean("ari", name, cells.small, FIRST_TWO) for name in (OURS, method)]
    found = f"accuracy {np.mean(theirs):.2f} against {np.mean(ours):.2f} at {listed(cells.small)}, "
    found += f"{gain:+.2f} ± {error:.2f}; ARI {ari[1]:.3f} against {ari[0]:.3f}"
    claimed = f"{PAPER[method]} outperforms KD-integral on the first two mixtures at small N"
    return Claim(claimed, found, gain > ERRORS * error and ari[1] > ari[0])


def gmm_struggles(cells: Cells) -> Claim:
    first = cells.numbers("right", GMM, cells.sizes[-1:], FIRST_TWO)
    last = cells.numbers("right", GMM, cells.sizes, ("mixture 4", "mixture 5"))
    found = f"accuracy {first[0]:.2f} and {first[1]:.2f} on the first two at {listed(cells.sizes[-1:])}; "
    found += f"at most {max(last):.2f} on the last two, at any N"
    claimed = "GMM + BIC struggles on the first two mixtures at large N, and on the fourth and fifth"
    return Claim(claimed, found, max(*first, *last) < HIGH)


def bayesian_struggles(cells: Cells) -> Claim:
    shares = cells.numbers("right", BAYESIAN, cells.sizes[-1:])
    found = f"accuracy {', '.join(f'{share:.2f}' for share in shares)} at {listed(cells.sizes[-1:])}"
    return Claim("Bayesian GMM struggles on all mixtures at large N", found, max(shares) < HIGH)


def nearest(cells: Cells) -> Claim:
    means = {method: cells.mean("right", method, cells.sizes) for method in PAPER}
    order = sorted(means, key=lambda method: -means[method])
    found = "mean accuracy: " + ", ".join(f"{PAPER[method]} {means[method]:.3f}" for method in order)
    claimed = "Only adaptive KDE minima come close to KD-integral (best of the others, all N and mixtures)"
    return Claim(claimed, found, order[:2] == [OURS, "adaptive KDE minima"])


def adaptive_struggles(cells: Cells) -> Claim:
    shares = [cells.numbers("right", "adaptive KDE minima", [n], FIRST_TWO) for n in cells.small]
    pairs = zip(cells.small, shares, strict=True)
    found = "; ".join(f"accuracy {own[0]:.2f} and {own[1]:.2f} at N = {n:,}" for n, own in pairs)
    claimed = "Adaptive KDE minima struggle on the first two mixtures at small N"
    return Claim(claimed, found, max(map(max, shares)) < HIGH)


def listed(sizes: list[int]) -> str:
    return "N = " + " and ".join(f"{n:,}" for n in sizes)
