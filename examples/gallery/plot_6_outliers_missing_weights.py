"""
Outliers, missing values and weights
====================================

How KDITransformer treats values that are far from the others, that are missing, or that have different weights.
"""

# %%
# Outliers
# --------
# With min-max scaling, a value a hundred times as large as the others squeezes all others together. The bandwidth of
# the KD-integral is proportional to the standard deviation, which the outlier increases too: the outlier still takes
# some of the range, but not all of it. The plot ends before the outlier and says how far the values reach.
import numpy as np
from matplotlib import pyplot as plt

import kdi

rng = np.random.default_rng(0)
values = np.append(rng.gamma(3, size=500), 300)
display = kdi.KDIDisplay.from_data(values, alpha=[0, 0.1, 1, float("inf")], name="500 values and one outlier")

# %%
# Missing values
# --------------
# NaN is ignored by ``fit``, and stays NaN in the result.
X = np.column_stack([values, rng.normal(size=501)])
X[:3, 0] = np.nan
model = kdi.KDITransformer().fit(X)
print("missing:", [sketch.missing for sketch in model.sketches_])
print(model.transform(X[:5]).round(3))

# %%
# New values beyond the range
# ---------------------------
# ``out_of_range`` chooses how they are treated: they are clipped to 0 or 1, extrapolated linearly, or set to NaN.
small = rng.normal(size=(200, 1))
new = np.array([[-6.0], [0.0], [6.0]])
for choice in ("clip", "linear", "nan"):
    model = kdi.KDITransformer(out_of_range=choice).fit(small)
    print(f"{choice:<7}", model.transform(new).ravel().round(2))

# %%
# Weights
# -------
# A weight of 2 counts a row twice, a weight of 0 removes it. In this sample, one of two groups is drawn ten times too
# often, and the weights correct for that.
sample = np.concatenate([rng.normal(0, 1, 1000), rng.normal(6, 1, 100)])
weights = np.repeat([0.1, 1.0], [1000, 100])
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
kdi.KDIDisplay.from_data(sample, ax=axes[0], name="as drawn")
display = kdi.KDIDisplay.from_data(sample, weights=weights, ax=axes[1], name="weighted")
