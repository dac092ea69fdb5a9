"""
Moving from QuantileTransformer
===============================

``KDITransformer(alpha=0)`` is the quantile transform, exact and without a random subsample. Changing a single number,
to alpha = 1, then restores some of the shape of a distribution.
"""

# %%
# With as many quantiles as rows, the two are equal.
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.preprocessing import QuantileTransformer

import kdi

X = np.random.default_rng(0).lognormal(size=(1000, 1))
theirs = QuantileTransformer(n_quantiles=1000).fit(X)
ours = kdi.KDITransformer(alpha=0).fit(X)
print(f"{abs(theirs.transform(X) - ours.transform(X)).max():.0e}")

# %%
# With more rows than ``subsample``, QuantileTransformer uses only some of them. The difference is the error of that
# subsample; kdi uses all rows.
housing = pd.read_csv(kdi.data.california_housing())
income = housing[["MedInc"]]
sampled = QuantileTransformer(random_state=0).fit(income)
exact = kdi.KDITransformer(alpha=0).fit(income)
difference = sampled.transform(income)[:, 0] - exact.transform(income)[:, 0]
_, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(income, difference, ".", markersize=2, color="#d97706")
ax.set(xlabel="MedInc", ylabel="error of the subsample")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Normal scores work as in QuantileTransformer.
normal = kdi.KDITransformer(alpha=0, output_distribution="normal").fit(income)
scores = normal.transform(income)
print(f"mean {scores.mean():.2f}, standard deviation {scores.std():.2f}, from {scores.min():.1f} to {scores.max():.1f}")

# %%
# From quantiles to alpha = 1
# ---------------------------
# At alpha = 1, the latitude keeps its two peaks, Los Angeles and the Bay Area, which quantiles flatten.
display = kdi.KDIDisplay.from_data(housing["Latitude"], alpha=[0, 1])
