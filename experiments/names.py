"""Names of the methods in rows, tables and figures."""

MIN_MAX, CLIPPED, Z_SCORE, QUANTILE = "min-max", "min-max, clipped", "z-score", "quantile"
KDI, TUNED, EACH = "KD-integral, α = 1", "KD-integral, α by CV", "KD-integral, α per feature"
OURS = "not in the paper: "  # prefix of our own claims
