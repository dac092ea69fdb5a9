"""
The curve, and what alpha does
==============================

The kernel density integral transformation maps a value x to T(x), the share of a kernel density estimate that lies
below x. Its parameter ``alpha`` is the width of the kernel in units of the standard deviation: at 0, T is the quantile
transform, and at infinity, T is min-max scaling.
"""

# %%
# Malic acid in 178 wines is the example of the paper's figure. Its density, in grey above the curves, has a peak at
# little acid and a long shoulder. The densities after each transformation are at the right.
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

import kdi

wine = load_wine(as_frame=True).data
display = kdi.KDIDisplay.from_data(wine["malic_acid"])

# %%
# The quantile transform makes the density flat: the shoulder disappears, and the curve follows each step of the sample.
# Min-max scaling keeps the shape, but half of the wines fill only a quarter of the range. The KD-integral lies between
# them: the shoulder becomes a clear peak, and distant values move closer.
#
# Other alphas
# ------------
# A sequence of alphas shows the transition from one limit to the other.
display = kdi.KDIDisplay.from_data(wine["malic_acid"], alpha=[0, 0.1, 0.3, 1, 3, float("inf")])

# %%
# A fitted transformer
# --------------------
# ``from_estimator`` plots a feature of a fitted transformer, by name or position. The densities are those of the
# training data, which the transformer's sketches contain, or of other data: here of the wines of a single cultivar,
# with the curve that was fitted to all wines.
cultivar = load_wine().target
model = kdi.KDITransformer().set_output(transform="pandas").fit(wine)
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
kdi.KDIDisplay.from_estimator(model, feature="malic_acid", ax=axes[0])
display = kdi.KDIDisplay.from_estimator(model, feature="malic_acid", X=wine[cultivar == 2], ax=axes[1])

# %%
# ``transform`` and ``inverse_transform`` work as in scikit-learn; ``error_bound_`` bounds the error of T.
levels = model.transform(wine)
print(levels.iloc[:3, :4].round(3))
print("largest error after a round trip:", f"{abs(model.inverse_transform(levels) - wine).to_numpy().max():.1e}")
print("largest bound on the error of T:", f"{model.error_bound_.max():.1e}")
