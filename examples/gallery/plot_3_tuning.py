"""
One alpha per feature
=====================

A feature whose ranks predict the target needs a small alpha, a feature whose values do needs a large one.
KDITransformerCV chooses an alpha per feature, by the errors of a ridge model on left-out rows, and AlphaDisplay shows
the scores behind the choice.
"""

# %%
# California housing, with the same split as in the previous example. The candidates are quantiles, min-max scaling, and
# ten alphas between them.
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

import kdi

housing = pd.read_csv(kdi.data.california_housing())
X, y = housing.drop(columns="MedHouseVal"), housing["MedHouseVal"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

alphas = (0, *kdi.ALPHAS[::2], float("inf"))
tuned = kdi.KDITransformerCV(alphas).fit(X_train, y_train)
display = kdi.AlphaDisplay.from_estimator(tuned)

# %%
# Each panel shows the score of a feature at every alpha, with the alphas of the other features fixed. Grey lines cross
# at the alpha that is best if all features have the same. A feature gets a different alpha if that improves the score
# by more than a standard error: the dot is the choice.
#
# The numbers of rooms and of occupants and the longitude get quantiles; the income, which has a linear effect on
# prices, a large alpha. All panels share one axis, so a flat curve belongs to a feature whose alpha matters little.
for name, alpha in zip(X, tuned.alpha_, strict=True):
    print(f"{name:<11} alpha = {alpha:g}")

# %%
# In a pipeline
# -------------
# In a pipeline, the alphas are tuned on the training part only, as they should be.
models = {
    "alpha = 1": kdi.KDITransformer(),
    "one alpha": kdi.KDITransformerCV(alphas, per_feature=False),
    "one per feature": kdi.KDITransformerCV(alphas),
}
for name, transformer in models.items():
    model = make_pipeline(transformer, Ridge()).fit(X_train, y_train)
    print(f"{name:<16} R² = {model.score(X_test, y_test):.3f}")

# %%
# The curves of two features, each with its own alpha.
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, name in zip(axes, ["MedInc", "AveOccup"], strict=True):
    kdi.KDIDisplay.from_estimator(tuned, feature=name, ax=ax)
