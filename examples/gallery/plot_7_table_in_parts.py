"""
A table in partitions
=====================

A sketch is everything a fit needs of a column: sums over narrow cells, which can be added. The partitions of a table
can be sketched one after the other, on several machines or on several days, and give the same transformer as the whole
table.
"""

# %%
# Sketch each of four partitions of California housing by itself.
import pandas as pd

import kdi

housing = pd.read_csv(kdi.data.california_housing())
partitions = [housing[start::4] for start in range(4)]
sketches = [kdi.sketch_table(partition) for partition in partitions]
print(sketches[0]["MedInc"])

# %%
# Add the sketches of each column.
total = {name: sum(sketch[name] for sketch in sketches) for name in housing}
print(total["MedInc"])

from_sketches = kdi.KDITransformer().fit_sketches(total)
whole = kdi.KDITransformer().fit(housing)
difference = abs(from_sketches.transform(housing) - whole.transform(housing)).max()
print(f"largest difference: {difference:.1e}")

# %%
# The transformer can be drawn without the data, because its sketches contain the densities.
display = kdi.KDIDisplay.from_estimator(from_sketches, feature="MedInc")

# %%
# Batches
# -------
# ``partial_fit`` learns from one partition after the other. Files and Arrow streams are read batch by batch.
from_batches = kdi.KDITransformer()
for partition in partitions:
    from_batches.partial_fit(partition)
from_file = kdi.KDITransformer().fit(kdi.data.california_housing())
for name, model in {"batches": from_batches, "file": from_file}.items():
    print(f"{name}: {abs(model.transform(housing) - whole.transform(housing)).max():.1e}")

# %%
# Small enough to send
# --------------------
# A fitted transformer keeps only cells as narrow as its bandwidth needs, so that a column takes a few kilobytes for any
# number of rows. Sketches are saved as bytes with a checksum, transformers as JSON.
income = from_sketches.sketches_[0]
print(income)
print(f"{len(income.to_bytes()):,} bytes")
restored = kdi.KDITransformer.from_json(from_sketches.to_json())
print("the same after JSON:", (restored.transform(housing) == from_sketches.transform(housing)).all())

# %%
# Every alpha from one reading
# ----------------------------
# A sketch does not depend on alpha, so that transformers at many alphas follow from one reading of the table.
path = kdi.alpha_path(housing, [0, 0.1, 1, 10])
for alpha, levels in zip(path.alphas, path.transform(housing), strict=True):
    print(f"alpha = {alpha:<4g} median of MedInc at {pd.Series(levels[:, 0]).median():.3f}")
