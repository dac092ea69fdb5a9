"""docs/sparse-tables.md shows the numbers of the benchmark."""

import json

from pages import ROOT, read

from benchmarks.report import number
from benchmarks.sparse import CASES, KDI, MAX_ABS, QUANTILES, RANKS


def cost_lines():
    results = json.loads((ROOT / "benchmarks/results/sparse.json").read_text())["results"]
    for case, contenders in results.items():
        rows, columns = contenders[KDI]["shape"]
        cells = [f"{rows:,} × {columns:,}, {CASES[case].title}", f"{contenders[KDI]['stored']:,}"]
        for name in (KDI, RANKS, QUANTILES, MAX_ABS):
            measured = contenders.get(name)
            cells.append(f"{number(sum(measured['seconds'].values()), 2)} s" if measured else "–")
        cells.append(f"{contenders[KDI]['bytes']['fit'] / contenders[KDI]['stored']:,.0f}")
        yield f"| {' | '.join(cells)} |"


def test_the_numbers_are_those_of_the_benchmark():
    page = read("docs/sparse-tables.md")
    for line in cost_lines():
        assert line in page, line
