"""
In a pipeline, compared with min-max and quantiles
==================================================

KDITransformer replaces MinMaxScaler or QuantileTransformer in a pipeline. Which of them is best depends on the data;
``alpha`` turns that choice into a number, which a grid search can tune.
"""

# %%
# California housing comes with the package: the median house value of 20,640 districts, and eight features, some of
# which have far outliers.
import pandas as pd
from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer

import kdi

housing = pd.read_csv(kdi.data.california_housing())
X, y = housing.drop(columns="MedHouseVal"), housing["MedHouseVal"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

scalers = {
    "min-max": MinMaxScaler(),
    "quantiles": QuantileTransformer(random_state=0),
    "KD-integral": kdi.KDITransformer(),
}
for name, scaler in scalers.items():
    model = make_pipeline(scaler, Ridge()).fit(X_train, y_train)
    print(f"{name:<12} R² = {model.score(X_test, y_test):.3f}")

# %%
# The curves of two features
# --------------------------
# The average household has three people in most districts, but 1,243 in one of them: min-max scaling leaves almost no
# differences between the other districts. The latitude has two peaks, and the quantile transform removes both.
_, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, name in zip(axes, ["AveOccup", "Latitude"], strict=True):
    kdi.KDIDisplay.from_data(X[name], ax=ax)

# %%
# Alpha in a grid search
# ----------------------
search = GridSearchCV(
    make_pipeline(kdi.KDITransformer(), Ridge()), {"kditransformer__alpha": [0, 0.1, 0.3, 1, 3, 10, float("inf")]}, cv=3
)
search.fit(X_train, y_train)
print("alpha =", search.best_params_["kditransformer__alpha"])
print(f"R² = {search.score(X_test, y_test):.3f}")

# %%
# One alpha per feature does better: the next example uses the same split.
