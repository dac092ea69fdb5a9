"""
Natural groups of one variable
==============================

Where the density of the transformed values has valleys, a variable falls into groups. ``kdi.cluster`` finds them, and
how many there are; KDIDiscretizer makes bins of them for a model.
"""

# %%
# Two normal bumps over a thin layer of scattered values, one of the mixtures of the paper. Dashed lines are the
# boundaries.
import numpy as np
import pandas as pd

import kdi

rng = np.random.default_rng(0)
values = np.concatenate([rng.normal(1, 0.75, 275), rng.normal(4, 1, 150), rng.uniform(0, 20, 75)])
display = kdi.ClusterDisplay.from_data(values)

# %%
# The result has labels, boundaries, centers, sizes, and how deep each valley is beside the peaks around it.
groups = display.clusters
print("sizes:     ", groups.sizes)
print("boundaries:", groups.boundaries.round(2))
print("depths:    ", groups.depths.round(2))
print("groups of 2 and 9:", groups.predict([2.0, 9.0]))

# %%
# Fewer groups
# ------------
# A number of groups can be asked for: the deepest valleys stay.
display = kdi.ClusterDisplay.from_data(values, n_clusters=2)

# %%
# Bins for a model
# ----------------
# The latitude of California's districts has its valleys where few people live. From south to north there are San Diego,
# up to 33.09°; Los Angeles, up to the mountains at 35.08°; a small group around Bakersfield, up to 35.82°; and the
# north with the Bay Area.
housing = pd.read_csv(kdi.data.california_housing())
display = kdi.ClusterDisplay.from_data(housing["Latitude"])

# %%
# KDIDiscretizer has the conventions of KBinsDiscretizer, and finds the number of bins of each feature itself. Its edges
# are these boundaries, with the smallest and the largest value around them.
bins = kdi.KDIDiscretizer(encode="ordinal").fit(housing[["Latitude", "Longitude"]])
for name, edges in zip(bins.feature_names_in_, bins.bin_edges_, strict=True):
    print(name, edges.round(2))
