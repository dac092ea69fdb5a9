"""
A table in parts
================

What is learnt of a column is a sketch: sums over narrow cells, which add up. Parts of a table can be sketched one after
the other, on several machines or on several days, and give the transformer that the whole table gives.
"""

# %%
# Four parts of California housing, sketched each by itself.
import pandas as pd

import kdi

housing = pd.read_csv(kdi.data.california_housing())
parts = [housing[start::4] for start in range(4)]
sketches = [kdi.sketch_table(part) for part in parts]
print(sketches[0]["MedInc"])

# %%
# Sketches of the same column add up with a plus sign.
total = {name: sum(one[name] for one in sketches) for name in housing}
print(total["MedInc"])

together = kdi.KDITransformer().fit_sketches(total)
whole = kdi.KDITransformer().fit(housing)
difference = abs(together.transform(housing) - whole.transform(housing)).max()
print(f"largest difference: {difference:.1e}")

# %%
# The transformer from the sketches can be drawn without the data: the sketches know the densities.
display = kdi.KDIDisplay.from_estimator(together, feature="MedInc")

# %%
# Batches
# -------
# ``partial_fit`` takes one part after the other, and files and Arrow streams are read batch by batch.
batches = kdi.KDITransformer()
for part in parts:
    batches.partial_fit(part)
from_file = kdi.KDITransformer().fit(kdi.data.california_housing())
for name, model in {"batches": batches, "file": from_file}.items():
    print(f"{name}: {abs(model.transform(housing) - whole.transform(housing)).max():.1e}")

# %%
# Small enough to send
# --------------------
# Once the bandwidth is known, cells need not be narrower than it calls for, and a column is some kilobytes, however
# many rows there were. Sketches are saved as bytes with a checksum, transformers as JSON.
income = together.sketches_[0]
print(income)
print(f"{len(income.to_bytes()):,} bytes")
again = kdi.KDITransformer.from_json(together.to_json())
print("the same after JSON:", (again.transform(housing) == together.transform(housing)).all())

# %%
# Every alpha from one reading
# ----------------------------
# A sketch does not know the bandwidth: transformers at many alphas follow from the same one.
path = kdi.alpha_path(housing, [0, 0.1, 1, 10])
for alpha, levels in zip(path.alphas, path.transform(housing), strict=True):
    print(f"alpha = {alpha:<4g} median of MedInc at {pd.Series(levels[:, 0]).median():.3f}")
