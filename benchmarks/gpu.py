"""``python -m benchmarks.gpu [--quick] [--out DIR] [--tabpfn FILE]``: fit + transform on a GPU.

Contenders are torch's own min-max scaling and copy, and TabPFN's TorchQuantileTransformer. It needs torch with CUDA,
cuda-core, NumPy, scikit-learn and kdi, whose core build_in_place.sh builds without pip. TabPFN's class is imported
from `tabpfn`, or from a copy of its module, which needs torch alone. All contenders of a shape take turns in one
process, on the same tensors; times are medians of CUDA events around fit + transform.
"""

import argparse
import importlib.util
import json
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import kdi
import kdi.torch
from benchmarks import rounds
from benchmarks.answers import require
from benchmarks.data import shape_name
from benchmarks.gpu_tables import (
    COPY,
    GRAPH,
    KDI,
    KDI_FIT,
    KDI_TRANSFORM,
    MINMAX,
    MINMAX_FIT,
    MINMAX_TRANSFORM,
    QUANTILES,
    tables,
    targets,
)
from benchmarks.machine import described, machine
from benchmarks.report import number, target_table

ALLOWED = 4e-7  # of float32: its own rounding, and that of evaluating cubics in it, for levels from 0 to 1
CHECKED_ROWS = 20_000
BUDGET_MS, QUICK_BUDGET_MS = 4000.0, 400.0

# name, shape, distribution, dtype, share of NaN, options of the fit
CASES: dict[str, tuple[tuple[int, int], str, torch.dtype, float, dict[str, Any]]] = {
    "normal": ((1_000_000, 100), "normal", torch.float32, 0.0, {}),
    "lognormal": ((1_000_000, 100), "lognormal", torch.float32, 0.0, {}),
    "small": ((10_000, 100), "normal", torch.float32, 0.0, {}),
    "tall": ((100_000_000, 10), "normal", torch.float32, 0.0, {}),
    "Gaussian kernel": ((1_000_000, 100), "normal", torch.float32, 0.0, {"kernel": "gaussian"}),
    "alpha 0.1": ((1_000_000, 100), "normal", torch.float32, 0.0, {"alpha": 0.1}),
    "Cauchy": ((1_000_000, 100), "cauchy", torch.float32, 0.0, {}),
    "Cauchy, alpha 0.1": ((1_000_000, 100), "cauchy", torch.float32, 0.0, {"alpha": 0.1}),
    "5 % NaN": ((1_000_000, 100), "normal", torch.float32, 0.05, {}),
    "float64": ((1_000_000, 100), "normal", torch.float64, 0.0, {}),
    "bfloat16": ((1_000_000, 100), "normal", torch.bfloat16, 0.0, {}),
    "500 columns": ((200_000, 500), "normal", torch.float32, 0.0, {}),
    "unbounded": ((1_000_000, 100), "normal", torch.float32, 0.0, {"bounded": False}),
    "robust spread": ((1_000_000, 100), "lognormal", torch.float32, 0.0, {"spread": "robust"}),
}


def make_table(shape: tuple[int, int], distribution: str, dtype: torch.dtype, missing: float) -> torch.Tensor:
    """Make a seeded table on the GPU."""
    generator = torch.Generator("cuda").manual_seed(7)
    table = torch.empty(shape, device="cuda", dtype=dtype if dtype == torch.float64 else torch.float32)
    table.cauchy_(generator=generator) if distribution == "cauchy" else table.normal_(generator=generator)
    if distribution == "lognormal":
        table.exp_()
    if missing:
        table[torch.rand(shape, device="cuda", generator=generator) < missing] = torch.nan
    return table.to(dtype)


def fit_transform(x: torch.Tensor, options: dict[str, Any]) -> torch.Tensor:
    return kdi.torch.transform(x, kdi.torch.fit(x, **options))


def fit_minmax(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.amin(0), x.amax(0)


def transform_minmax(x: torch.Tensor, ends: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    low, high = ends
    return (x - low) / (high - low)


def load_quantiles(file: Path | None) -> Any:
    """Return TabPFN's TorchQuantileTransformer, or None."""
    if file is not None:
        specification = importlib.util.spec_from_file_location("torch_quantile_transformer", file)
        assert specification is not None and specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        return module.TorchQuantileTransformer
    try:
        from tabpfn.preprocessing.torch.torch_quantile_transformer import TorchQuantileTransformer
    except ImportError:
        return None
    return TorchQuantileTransformer


def contenders(x: torch.Tensor, options: dict[str, Any], quantiles: Any) -> dict[str, Callable[[], Any]]:
    maps, ends, out = kdi.torch.fit(x, **options), fit_minmax(x), torch.empty_like(x)
    work: dict[str, Callable[[], Any]] = {
        KDI: partial(fit_transform, x, options),
        KDI_FIT: partial(kdi.torch.fit, x, **options),
        KDI_TRANSFORM: partial(kdi.torch.transform, x, maps),
        MINMAX: lambda: transform_minmax(x, fit_minmax(x)),
        MINMAX_FIT: partial(fit_minmax, x),
        MINMAX_TRANSFORM: partial(transform_minmax, x, ends),
        COPY: lambda: out.copy_(x),
        GRAPH: capture(partial(kdi.torch.transform, x, maps)),
    }
    if quantiles is not None and x.numel() <= 200_000_000:
        work[QUANTILES] = partial(quantiles(), x)
    return work


def capture(call: Callable[[], Any]) -> Callable[[], Any]:
    """Return the replay of a call as a CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())  # what made the maps
    with torch.cuda.stream(stream):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = call()
    return lambda: (graph.replay(), kept)


def milliseconds(call: Callable[[], Any]) -> float:
    """Time one call by events, on an idle device."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    result = call()
    end.record()
    end.synchronize()
    del result
    return begin.elapsed_time(end)


def measure(quick: bool, quantiles: Any) -> dict[str, Any]:
    results = {}
    for name, case in CASES.items():
        (rows, columns), *rest = case
        shape = (max(rows // 10, 1000), columns) if quick else (rows, columns)
        results[name] = measure_case(name, shape, *rest, quick, quantiles)
        torch.cuda.empty_cache()
    return results


def measure_case(
    name: str,
    shape: tuple[int, int],
    distribution: str,
    dtype: torch.dtype,
    missing: float,
    options: dict[str, Any],
    quick: bool,
    quantiles: Any,
) -> dict[str, Any]:
    print(f"gpu: {name}, {shape_name(*shape)}", flush=True)
    x = make_table(shape, distribution, dtype, missing)
    maps = kdi.torch.fit(x, **options)
    check(name, x, maps, options)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = fit_transform(x, options)
    again = fit_transform(x, options)
    beside = torch.cuda.max_memory_allocated() - before - 2 * x.numel() * x.element_size()
    repeats = torch.equal(result.nan_to_num(-1.0), again.nan_to_num(-1.0))
    del result, again
    work = contenders(x, options, quantiles)
    for call in work.values():
        call()
    costs = {one: milliseconds(call) for one, call in work.items()}
    budget = QUICK_BUDGET_MS if quick else BUDGET_MS
    found = rounds.interleaved(
        {one: partial(milliseconds, call) for one, call in work.items()}, rounds.turns(costs, budget)
    )
    times = {one: {"median": float(np.median(own)), "min": min(own), "rounds": len(own)} for one, own in found.items()}
    print(", ".join(f"{one} {number(own['median'])} ms" for one, own in times.items()), flush=True)
    return {
        "shape": list(shape),
        "dtype": str(dtype).removeprefix("torch."),
        "bytes": x.numel() * x.element_size(),
        "times": times,
        "beside_mb": beside / 1e6,
        "repeats": repeats,
        "knots": int(maps.n_knots.max()),
        "error_bound": float(maps.error.max()),
    }


def check(name: str, x: torch.Tensor, maps: Any, options: dict[str, Any]) -> None:
    """Compare with the CPU: its maps of a few columns of all rows, at some rows."""
    columns = x[:, :2].cpu()
    on_host = kdi.torch.fit(columns, **options)
    step = max(len(x) // CHECKED_ROWS, 1)
    expected = kdi.torch.transform(columns[::step].double(), on_host)
    got = kdi.torch.transform(x[::step].contiguous(), maps)[:, :2].cpu().double()
    rounding = {torch.float64: 1e-12, torch.float32: ALLOWED, torch.bfloat16: 2.0**-8}[x.dtype]
    allowed = float(on_host.error.max() + maps.error[:2].max()) + rounding
    require(f"{name} against the CPU", float((got - expected).abs().nan_to_num(0.0).max()), allowed)
    assert torch.equal(got.isnan(), expected.isnan())


def versions() -> str:
    names = ["torch", "cuda-core", "cuda-bindings", "tabpfn"]
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, " + ", ".join(map(" ".join, found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables and fewer rounds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder to write to")
    parser.add_argument("--tabpfn", type=Path, help="TabPFN's torch_quantile_transformer.py, if it is not installed")
    arguments = parser.parse_args()
    before = machine() | {"gpu": versions()}
    seconds, results = rounds.timed(measure, arguments.quick, load_quantiles(arguments.tabpfn))
    measured = {"machine": before, "quick": arguments.quick, "seconds": round(seconds)}
    arguments.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(measured | {"results": results}, indent=1, ensure_ascii=False)
    (arguments.out / "gpu.json").write_text(text + "\n")
    found = [*tables(results), target_table(targets(results))]
    page = "\n\n".join([described(before), *(table.markdown() for table in found)])
    (arguments.out / "gpu.md").write_text(f"# On a GPU\n\n{page}\n")
    print(page)


if __name__ == "__main__":
    main()
