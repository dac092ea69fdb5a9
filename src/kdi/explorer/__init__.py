"""The explorer: one HTML page on which a table's features, their T at every alpha and their correlations are looked at.

The page holds sketches, not data, so that it is as large for many millions of rows as for some thousands:

    table ──▶ Readings ──▶ sketches ──▶ features  ┐
                      └──▶ products ──▶ matrices  ├──▶ contents (JSON) ──▶ page
                      └──▶ a sample ──▶ densities ┘

A browser evaluates the integral from the sketches; it needs no network and no server.
"""

from kdi.explorer._page import ExplorerPage, explore

__all__ = ["ExplorerPage", "explore"]
