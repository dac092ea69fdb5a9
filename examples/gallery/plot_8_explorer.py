"""
A page to explore a table
=========================

``kdi.explore`` makes an HTML page with the features, groups and correlations of a table. The page is a single file,
opens in any browser without a server, and sends nothing anywhere.
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
# In a notebook, ``page`` as the last line of a cell shows it. As a file, it can be sent to others, who need only a
# browser.
with tempfile.TemporaryDirectory() as folder:
    path = Path(page.save(Path(folder) / "housing.html"))
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB")
print(page.rows, "rows of", ", ".join(page.features))

# %%
# Alpha is a slider on the page. It changes the integrals of the sketches, which the page holds instead of the rows. On
# the command line, ``kdi explore housing.csv -o housing.html`` writes the same page.
#
# This is the first curve on the page.
display = kdi.KDIDisplay.from_data(housing[page.features[0]], alpha=1)
