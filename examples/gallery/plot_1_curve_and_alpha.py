"""
The curve, and what alpha does
==============================

The kernel density integral transformation maps a value x to the share T(x) of a kernel density estimate that lies below
it. One number, ``alpha``, is the width of the kernel in units of the standard deviation: 0 makes T the quantile
transform, infinity makes it min-max scaling.
"""

# %%
# Malic acid in 178 wines is the figure of the paper. Its density, in grey above the curves, has a peak of wines with
# little acid and a long shoulder. At the right is the density after each transformation.
from matplotlib import pyplot as plt
from sklearn.datasets import load_wine

import kdi

wine = load_wine(as_frame=True).data
display = kdi.KDIDisplay.from_data(wine["malic_acid"])

# %%
# The quantile transform makes every density level: the shoulder is gone, and its curve follows each step of the sample.
# Min-max scaling keeps the shape as it is, and half of the wines in a quarter of the range. The KD-integral lies
# between them: the shoulder, which was hardly a peak, has become a clear one, and the far values are drawn in.
#
# Other alphas
# ------------
# A sequence of alphas shows the way from one end to the other.
display = kdi.KDIDisplay.from_data(wine["malic_acid"], alpha=[0, 0.1, 0.3, 1, 3, float("inf")])

# %%
# A fitted transformer
# --------------------
# ``from_estimator`` draws a feature of a transformer, by name or position. The densities are those of the data of the
# fit, which the transformer knows by its sketches, or of other data: here the wines of one cultivar, in the curve that
# was fitted to all.
cultivar = load_wine().target
model = kdi.KDITransformer().set_output(transform="pandas").fit(wine)
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
kdi.KDIDisplay.from_estimator(model, feature="malic_acid", ax=axes[0])
display = kdi.KDIDisplay.from_estimator(model, feature="malic_acid", X=wine[cultivar == 2], ax=axes[1])

# %%
# The transformation itself is a method like any other of scikit-learn, with an inverse, and with a bound on its error.
levels = model.transform(wine)
print(levels.iloc[:3, :4].round(3))
print("largest error after a round trip:", f"{abs(model.inverse_transform(levels) - wine).to_numpy().max():.1e}")
print("largest bound on the error of T:", f"{model.error_bound_.max():.1e}")
