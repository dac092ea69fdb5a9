"""
In a pipeline, beside min-max and quantiles
===========================================

KDITransformer stands where MinMaxScaler or QuantileTransformer stand in a pipeline. Which of them is best depends on
the data; ``alpha`` makes that one number, which a grid search can choose.
"""

# %%
# California housing comes with the package: the median value of houses in 20,640 districts, and eight features, some of
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
# What the scalers make of two features
# -------------------------------------
# The average household of most districts has three people, and that of one has 1,243: min-max scaling leaves next to
# nothing of the differences between all others. Of the latitude, which has two peaks, the quantile transform leaves
# none.
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
# One alpha for each feature does better than that: the next example has the same split.
