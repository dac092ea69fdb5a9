"""
A page to explore a table
=========================

``kdi.explore`` writes a table's features, correlations and groups to one HTML page. It holds all that it needs, opens
in any browser without a server, and sends nothing anywhere.
"""

# %%
import tempfile
from pathlib import Path

import pandas as pd

import kdi

housing = pd.read_csv(kdi.data.california_housing())
page = kdi.explore(housing, title="California housing")
print(page)

# %%
# In a notebook, ``page`` in a line of its own shows it. As a file it can be sent to others, who need nothing but a
# browser.
with tempfile.TemporaryDirectory() as folder:
    path = Path(page.save(Path(folder) / "housing.html"))
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
print(page.rows, "rows of", ", ".join(page.features))

# %%
# Alpha is a slider there: what moves are the integrals of the sketches, which the page holds instead of the rows. From
# a shell, ``kdi explore housing.csv -o housing.html`` writes the same page.
#
# This is the curve that the page opens with.
display = kdi.KDIDisplay.from_data(housing[page.features[0]], alpha=1)
