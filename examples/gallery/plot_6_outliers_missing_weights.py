"""
Outliers, missing values and weights
====================================

What happens to values that are far away, not there, or worth more than others.
"""

# %%
# Outliers
# --------
# One value that is a hundred times as large as the others pushes these together under min-max scaling. The KD-integral
# has its bandwidth from the standard deviation, which that value widens too: an outlier still costs some of the range,
# but not all of it. The picture ends before it and says how far it goes.
import numpy as np
from matplotlib import pyplot as plt

import kdi

rng = np.random.default_rng(0)
values = np.append(rng.gamma(3, size=500), 300)
display = kdi.KDIDisplay.from_data(values, alpha=[0, 0.1, 1, float("inf")], name="500 values and one outlier")

# %%
# Missing values
# --------------
# NaN is left out of the fit, and stays NaN in what is transformed.
X = np.column_stack([values, rng.normal(size=501)])
X[:3, 0] = np.nan
model = kdi.KDITransformer().fit(X)
print("missing:", [sketch.missing for sketch in model.sketches_])
print(model.transform(X[:5]).round(3))

# %%
# New values beyond the range
# ---------------------------
# ``out_of_range`` says what becomes of them: they get 0 or 1, go on in a straight line, or become NaN.
small = rng.normal(size=(200, 1))
new = np.array([[-6.0], [0.0], [6.0]])
for choice in ("clip", "linear", "nan"):
    model = kdi.KDITransformer(out_of_range=choice).fit(small)
    print(f"{choice:<7}", model.transform(new).ravel().round(2))

# %%
# Weights
# -------
# A weight of 2 is a repetition, a weight of 0 a removal. Here a sample in which one of two groups is drawn ten times
# too often is weighted back.
sample = np.concatenate([rng.normal(0, 1, 1000), rng.normal(6, 1, 100)])
weights = np.repeat([0.1, 1.0], [1000, 100])
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
kdi.KDIDisplay.from_data(sample, ax=axes[0], name="as drawn")
display = kdi.KDIDisplay.from_data(sample, weights=weights, ax=axes[1], name="weighted")
