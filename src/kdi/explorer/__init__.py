"""The explorer: one HTML page that shows the features of a table, their T at every alpha and their correlations.

The page holds sketches, not data, so its size hardly depends on the number of rows:

    table ──▶ NumericColumns ──▶ sketches ──▶ features  ┐
                            └──▶ products ──▶ matrices  ├──▶ contents (JSON) ──▶ page
                            └──▶ a sample ──▶ densities ┘

The browser evaluates the integral from the sketches; it needs no network and no server.
"""

from kdi.explorer._page import ExplorerPage, explore

__all__ = ["ExplorerPage", "explore"]


def __dir__() -> list[str]:
    return __all__
