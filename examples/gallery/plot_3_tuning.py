"""
One alpha for each feature
==========================

A feature that matters by its rank wants a small alpha, one that matters by its size a large one. KDITransformerCV
chooses an alpha for each, by the errors of a ridge model in rows left out, and AlphaDisplay shows what it chose by.
"""

# %%
# California housing, with the same split as in the example before; the candidates are quantiles, min-max scaling, and
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
# Each panel is a feature, with the score at every alpha of its own and the others as they are. Grey lines cross at the
# alpha that is best for all of them alike. A feature leaves it where that improves the score by more than a standard
# error: the dot is what was chosen.
#
# The numbers of rooms and of occupants and the longitude want quantiles; the income, which has a straight effect on
# prices, a large alpha. All panels share one axis, so that a flat curve is a feature whose alpha matters little.
for name, alpha in zip(X, tuned.alpha_, strict=True):
    print(f"{name:<11} alpha = {alpha:g}")

# %%
# In a pipeline
# -------------
# There it is tuned by the training part alone, as every transformer should be.
models = {
    "alpha = 1": kdi.KDITransformer(),
    "one alpha": kdi.KDITransformerCV(alphas, per_feature=False),
    "one for each": kdi.KDITransformerCV(alphas),
}
for name, transformer in models.items():
    model = make_pipeline(transformer, Ridge()).fit(X_train, y_train)
    print(f"{name:<13} R² = {model.score(X_test, y_test):.3f}")

# %%
# The curves of two features, each at its own alpha.
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, name in zip(axes, ["MedInc", "AveOccup"], strict=True):
    kdi.KDIDisplay.from_estimator(tuned, feature=name, ax=ax)
