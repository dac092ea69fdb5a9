"""
Correlations that disagree
==========================

Pearson's correlation is dominated by a few far values, and Spearman's by the order of many values that hardly differ.
The KD-integral correlation is Pearson's correlation of the transformed columns: far values count, but do not dominate.
"""

# %%
# Every pair of columns of California housing is placed at its Pearson correlation; a line joins its Spearman and its
# KD-integral correlation. The pairs that are furthest from the diagonal are labelled. Bars are bootstrap standard
# errors.
import pandas as pd
from matplotlib import pyplot as plt
from scipy.stats import rankdata

import kdi

housing = pd.read_csv(kdi.data.california_housing()).drop(columns="MedHouseVal")
display = kdi.CorrelationDisplay.from_data(housing, n_resamples=20, rng=0)

# %%
# The table behind the picture lists the largest disagreements first.
print(display.comparison.head(3).round(2).to_string(index=False))

# %%
# Why rooms and bedrooms disagree
# -------------------------------
# One percent of the districts have many rooms and many bedrooms per household, as places with holiday homes do, and
# determine Pearson's correlation. Among the others, the ranks of the two are almost unrelated.
pair = housing[["AveRooms", "AveBedrms"]]
tables = {
    "Pearson: values": pair.to_numpy(),
    "KD-integral: T, alpha = 1": kdi.KDITransformer().fit_transform(pair),
    "Spearman: ranks": rankdata(pair.to_numpy(), axis=0) / len(pair),
}
_, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
for ax, (title, table) in zip(axes, tables.items(), strict=True):
    ax.plot(*table.T, ",", color="#1f6fb8", alpha=0.6)
    ax.set_title(title, fontsize="medium")
    ax.set(xlabel="AveRooms", ylabel="AveBedrms")

# %%
# One coefficient with its test
# -----------------------------
# Results are like those of scipy.stats: a statistic, a p-value and a confidence interval, here of a hundred districts.
some = pair.sample(100, random_state=0)
result = kdi.correlation(some["AveRooms"], some["AveBedrms"])
low, high = result.confidence_interval()
print(f"{result.statistic:.3f}, from {low:.3f} to {high:.3f}, p = {result.pvalue:.2g}")

# %%
# For all pairs of columns, ``corr_test`` gives a matrix of correlations and one of p-values; ``corr`` gives the first.
statistic, pvalue = kdi.corr_test(housing[["MedInc", "AveRooms", "AveBedrms"]].head(100))
print(statistic.round(2), pvalue.round(2), sep="\n")
