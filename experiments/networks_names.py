"""Names of the contenders of the experiment on networks."""

CLIP = "robust scale + smooth clip"
STANDARD, MIN_MAX, SQUASHED = "standard", "min-max", "squashing scaler"
UNIFORM, NORMAL, NOISY = "quantile, uniform", "quantile, normal", "quantile, normal, with noise"
PIECES, YEO_JOHNSON, THEIRS = "piecewise-linear encoding", "Yeo-Johnson", "kditransform, normal, α = 1"
PAPER = "kdi, uniform, α = 1 (the paper's)"
BEST_UNIFORM, BEST_NORMAL = "kdi, recommended uniform", "kdi, recommended normal"
TUNED = "kdi, uniform, α per feature"
OURS = (PAPER, BEST_UNIFORM, BEST_NORMAL, TUNED)

NETWORK, LINEAR = "network", "linear"
