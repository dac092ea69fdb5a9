"""Tables and targets of benchmarks.gpu: without torch, so that the report of all benchmarks can show its last run."""

from typing import Any

from benchmarks.data import shape_name
from benchmarks.report import Table, Target, number

KDI, MINMAX, COPY, QUANTILES = "kdi.torch", "torch min-max", "copy", "TabPFN quantiles"
KDI_FIT, KDI_TRANSFORM, MINMAX_FIT, MINMAX_TRANSFORM = "kdi fit", "kdi transform", "min-max fit", "min-max transform"
GRAPH = "kdi transform, CUDA graph"
ON_HOST = ("unbounded", "robust spread")  # whose maps are built by the CPU, from sketches made on the GPU
BARS = {"normal": 1.2, "lognormal": 1.2, "tall": 6.5, "small": 0.5}  # milliseconds, fit + transform


def tables(results: dict[str, Any]) -> list[Table]:
    note = (
        "Milliseconds, medians of CUDA events over interleaved rounds in one process. GB/s counts bytes read and "
        "written by kdi's transform, and its share is that of the copy of the same tensor."
    )
    names = [KDI, KDI_FIT, KDI_TRANSFORM, GRAPH, MINMAX, MINMAX_FIT, MINMAX_TRANSFORM, COPY, QUANTILES]
    rows, details = [], []
    for name, case in results.items():
        times = {one: own["median"] for one, own in case["times"].items()}
        label = f"{name}, {shape_name(*case['shape'])}"
        rows.append([label, *(number(times.get(one)) for one in names)])
        rate = 2 * case["bytes"] / times[KDI_TRANSFORM] / 1e6
        share, ratio = times[COPY] / times[KDI_TRANSFORM], times[KDI] / times[MINMAX]
        quantiles = number(times[QUANTILES] / times[KDI]) if QUANTILES in times else "–"
        kept = [number(case["beside_mb"]), number(case["knots"]), number(case["error_bound"])]
        details.append([label, number(ratio), quantiles, number(rate), number(share), *kept])
    header = ["", "kdi / min-max", "TabPFN / kdi", "transform, GB/s", "share of copy"]
    return [
        Table("Fit + transform on a GPU", ["", *names], rows, note),
        Table("Ratios and memory", [*header, "MB beside the output", "knots", "error bound"], details, ""),
    ]


def targets(results: dict[str, Any]) -> list[Target]:
    """Compare with what was asked for."""
    found = []
    for name, bar in BARS.items():
        times = {one: own["median"] for one, own in results[name]["times"].items()}
        found.append(Target(f"GPU, {name}: at most {bar} ms", f"{number(times[KDI])} ms", times[KDI] <= bar))
        if name in ("normal", "lognormal"):
            beside = results[name]["beside_mb"]
            found.append(
                Target(f"GPU, {name}: at most 100 MB beside the output", f"{number(beside)} MB", beside <= 100)
            )
            if QUANTILES in times:
                ratio = times[QUANTILES] / times[KDI]
                found.append(Target(f"GPU, {name}: 25 times faster than {QUANTILES}", number(ratio), ratio >= 25))
        if name == "tall":
            share = times[COPY] / times[KDI_TRANSFORM]
            found.append(Target("GPU, tall: transform at 0.8 of a copy's rate", number(share), share >= 0.8))
            ratio = times[KDI] / times[MINMAX]
            found.append(Target("GPU, tall: faster than min-max", f"{number(ratio)} of its time", ratio < 1))
    unit = results["normal"]["times"][KDI]["median"] / results["normal"]["bytes"]
    for name, case in results.items():
        if case["shape"][0] >= 20_000 and name not in ON_HOST:
            ratio = case["times"][KDI]["median"] / case["bytes"] / unit
            found.append(Target(f"GPU, {name}: at most 10 × normal data, per byte", number(ratio), ratio <= 10))
    same = all(case["repeats"] for case in results.values())
    found.append(Target("GPU: two runs equal to the bit", str(same), same))
    return found
