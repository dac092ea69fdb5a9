"""Names of the methods in rows, tables and figures."""

MIN_MAX, CLIPPED, Z_SCORE, QUANTILE = "min-max", "min-max, clipped", "z-score", "quantile"
KDI, TUNED, EACH = "KD-integral, α = 1", "KD-integral, α by CV", "KD-integral, α per feature"
LIBSVM, INTERIOR = "libsvm", "interior point"  # solvers of the support vector classifier
OURS = "not in the paper: "  # prefix of our own claims
