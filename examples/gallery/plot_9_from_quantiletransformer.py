"""
Moving from QuantileTransformer
===============================

``KDITransformer(alpha=0)`` is the quantile transform, exact and without a random sample. From there alpha = 1 is a
change of one number, which gives the shape of a distribution back.
"""

# %%
# With as many quantiles as rows the two are the same.
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
# With more rows than ``subsample``, QuantileTransformer looks at some of them. The difference is the error of that
# sample; kdi looks at all rows.
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
# Normal scores work as they do there.
normal = kdi.KDITransformer(alpha=0, output_distribution="normal").fit(income)
scores = normal.transform(income)
print(f"mean {scores.mean():.2f}, standard deviation {scores.std():.2f}, from {scores.min():.1f} to {scores.max():.1f}")

# %%
# The step that is worth it
# -------------------------
# At alpha = 1 the latitude has its two peaks again, Los Angeles and the Bay Area, which quantiles had made level.
display = kdi.KDIDisplay.from_data(housing["Latitude"], alpha=[0, 1])
