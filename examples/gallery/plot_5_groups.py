"""
Natural groups of one variable
==============================

The valleys of the density of the transformed values separate groups. ``kdi.cluster`` finds the groups and their number;
``KDIDiscretizer`` turns them into bins for a model.
"""

# %%
# One of the mixtures of the paper: two normal bumps and a few scattered values. Dashed lines are the boundaries.
import numpy as np
import pandas as pd

import kdi

rng = np.random.default_rng(0)
values = np.concatenate([rng.normal(1, 0.75, 275), rng.normal(4, 1, 150), rng.uniform(0, 20, 75)])
display = kdi.ClusterDisplay.from_data(values)

# %%
# The result has labels, boundaries, centers, sizes, and the depth of each valley relative to the peaks beside it.
groups = display.clusters
print("sizes:     ", groups.sizes)
print("boundaries:", groups.boundaries.round(2))
print("depths:    ", groups.depths.round(2))
print("groups of 2 and 9:", groups.predict([2.0, 9.0]))

# %%
# Fewer groups
# ------------
# With a given number of groups, only the deepest valleys are kept.
display = kdi.ClusterDisplay.from_data(values, n_clusters=2)

# %%
# Bins for a model
# ----------------
# ``KDIDiscretizer`` follows the conventions of KBinsDiscretizer, and finds the number of bins of each feature itself.
# The edges are the boundaries, with the smallest and the largest value at the ends.
housing = pd.read_csv(kdi.data.california_housing())
bins = kdi.KDIDiscretizer(encode="ordinal").fit(housing[["Latitude", "Longitude"]])
for name, edges in zip(bins.feature_names_in_, bins.bin_edges_, strict=True):
    print(name, edges.round(2))

# %%
# The latitude of California's districts has valleys where few people live. From south to north, the bins are San Diego,
# up to 33.09°; Los Angeles, up to the mountains at 35.08°; a small group around Bakersfield, up to 35.82°; and the
# north with the Bay Area.
display = kdi.ClusterDisplay.from_estimator(bins, feature="Latitude")
