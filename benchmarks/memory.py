"""Peak memory beyond the input while fitting and transforming 1,000,000×10, each contender in its own process."""

import ctypes
import gc
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import fresh
from benchmarks.contenders import CONTENDERS
from benchmarks.data import lognormal_table
from benchmarks.report import Table, Target

SHAPE, QUICK_SHAPE = (1_000_000, 10), (200_000, 10)
NAMES = ["kdi polyexp", "kdi gaussian", "MinMaxScaler", "QuantileTransformer", "QuantileTransformer, all rows"]
NAMES += ["kditransform"]
MEGABYTE = 1e6
FIT_MEGABYTES, TRANSFORM_MEGABYTES = 32, 16


def measure(quick: bool) -> dict[str, Any]:
    rows, features = QUICK_SHAPE if quick else SHAPE
    result: dict[str, Any] = {"rows": rows, "features": features, "contenders": {}}
    for name in NAMES:
        print(f"memory: {name}", flush=True)
        result["contenders"][name] = fresh.call(probe, name, rows, features)
    return result


def probe(name: str, rows: int, features: int) -> dict[str, Any]:
    """Measure one contender; runs in a fresh process."""
    make = CONTENDERS[name].make
    small = lognormal_table(1_000, 2)
    # A warm-up: benchmarks.start measures imports and compilation.
    make(len(small)).fit(small).transform(small)
    table = lognormal_table(rows, features)
    estimator = make(rows)
    fit, _ = peak_growth(estimator.fit, table)
    transform, output = peak_growth(estimator.transform, table)
    return {
        "fit": fit / MEGABYTE,
        "transform": transform / MEGABYTE,
        "input": table.nbytes / MEGABYTE,
        "output": output.nbytes / MEGABYTE,
        "peak_reset": reset_peak(),
    }


def peak_growth(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Return the bytes by which resident memory rose during the call, and the result of the call."""
    gc.collect()
    if sys.platform == "linux":
        # malloc would reuse the freed blocks that it still holds, and hide what the call takes.
        ctypes.CDLL(None).malloc_trim(0)
    reset_peak()
    before = resident("VmRSS")
    result = work(*arguments)
    return resident("VmHWM") - before, result


def reset_peak() -> bool:
    """Lower the recorded peak of the process to its present size, so that a peak below an earlier one is seen."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def resident(field: str) -> float:
    """Return the present (VmRSS) or peak (VmHWM) resident memory of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        entries = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return 1024 * float(entries[field].split()[0])
    # macOS counts bytes here, Linux kilobytes; without /proc the peak is used for the present size too.
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def megabytes(value: float) -> str:
    return f"{max(value, 0.0):.1f}"


def tables(results: dict[str, Any]) -> list[Table]:
    rows = []
    for name, peak in results["contenders"].items():
        beyond = peak["transform"] - peak["output"]
        rows.append([name, *map(megabytes, (peak["fit"], peak["transform"], beyond))])
    first = next(iter(results["contenders"].values()))
    note = f"The input takes {megabytes(first['input'])} MB, as does the output. Fresh processes, after a warm-up."
    if not first["peak_reset"]:
        note += " This system cannot reset the recorded peak, so these are lower limits."
    header = ["", "fit", "transform", "transform beyond its output"]
    return [Table(f"Peak memory beyond the input, {results['rows']:,}×{results['features']}, MB", header, rows, note)]


def targets(results: dict[str, Any]) -> list[Target]:
    found = []
    shape = f"{results['rows']:,}×{results['features']}"
    for name in ("kdi polyexp", "kdi gaussian"):
        peak = results["contenders"][name]
        fit, beyond = peak["fit"], peak["transform"] - peak["output"]
        asked = f"{name}, {shape}: memory beyond the input in fit at most {FIT_MEGABYTES} MB"
        found.append(Target(asked, f"{megabytes(fit)} MB", fit <= FIT_MEGABYTES))
        asked = f"{name}, {shape}: in transform at most the output + {TRANSFORM_MEGABYTES} MB"
        found.append(Target(asked, f"the output + {megabytes(beyond)} MB", beyond <= TRANSFORM_MEGABYTES))
    return found
