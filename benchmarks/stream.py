"""200,000,000 values in a Parquet file: kdi's fit beside pyarrow's own scan for the extremes and variances, and memory.

The file is written to a temporary directory and read once before anything is timed, so that all read it from the
system's cache.
"""

import pickle
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks import fresh, parquet, rounds
from benchmarks.answers import require
from benchmarks.correlation import ratio, run_once, seconds
from benchmarks.direct import exact_answer
from benchmarks.memory import MEGABYTE, megabytes, resident
from benchmarks.report import Table, Target, number
from benchmarks.rounds import timed

GROUPS, GROUP_ROWS, QUICK_GROUP_ROWS = 20, 1_000_000, 50_000
PART = [0, 1]  # row groups on which the fit to a stream is compared with the fit in memory
BUDGET_SECONDS, QUICK_BUDGET_SECONDS = 75.0, 5.0
FEWEST = 5
WRITES, QUICK_WRITES = 3, 1  # times that the whole file is transformed
COMPARED_POINTS, CHECKED_POINTS = 1_000, 4
BATCH_ROWS = 131_072  # the default of pyarrow's datasets
SEED = 0
FIT_MEGABYTES, OF_SCAN = 600, 1.5
SAME, CLOSE = 1e-9, 1e-6


def kdi_fit(path: str) -> Any:
    from kdi import KDITransformer

    return KDITransformer().fit(path)


def acero_scan(path: str) -> Any:
    """Find minimum, maximum and variance of all columns by pyarrow's own query engine, on all cores."""
    import pyarrow.acero as acero
    import pyarrow.dataset as ds

    dataset = ds.dataset(path)
    names = dataset.schema.names
    asked = [(name, what, None, f"{name} {what}") for name in names for what in ("min_max", "variance")]
    scan = acero.Declaration("scan", acero.ScanNodeOptions(dataset, columns=names))
    aggregate = acero.Declaration("aggregate", acero.AggregateNodeOptions(asked))
    return acero.Declaration.from_sequence([scan, aggregate]).to_table(use_threads=True)


def batch_scan(path: str) -> None:
    """Find the same per batch; to combine the batches would take no time."""
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    for batch in ds.dataset(path).to_batches():
        for column in batch.columns:
            pc.min_max(column)
            pc.variance(column)


def read_batches(path: str) -> None:
    import pyarrow.dataset as ds

    for _ in ds.dataset(path).to_batches():
        pass


def read_file(path: str) -> None:
    import pyarrow.parquet as pq

    for _ in pq.ParquetFile(path).iter_batches(BATCH_ROWS):
        pass


def imports_only(path: str) -> None:
    """Import the libraries, for the memory of a process that has done nothing yet."""
    import pyarrow.dataset  # noqa: F401

    from kdi import KDITransformer  # noqa: F401


FIT = "kdi.KDITransformer().fit(path)"
SCANS = ["pyarrow Acero: min, max, variance", "pyarrow to_batches: min, max, variance"]
CONTENDERS: dict[str, Callable[[str], Any]] = {
    FIT: kdi_fit,
    SCANS[0]: acero_scan,
    SCANS[1]: batch_scan,
    "reading only, Dataset.to_batches": read_batches,
    "reading only, ParquetFile.iter_batches": read_file,
}
IMPORTS = "imports of kdi and pyarrow"


def kdi_write(path: str, model: str, sink: str) -> None:
    pickle.loads(Path(model).read_bytes()).transform_stream(path, sink)


def plain_copy(path: str, model: str, sink: str) -> None:
    """Read and write the same amount of data without a transformation."""
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    dataset = ds.dataset(path)
    with pq.ParquetWriter(sink, dataset.schema, use_dictionary=False) as writer:
        for batch in dataset.to_batches(batch_size=2**20):
            writer.write_batch(batch)


WRITERS: dict[str, Callable[[str, str, str], None]] = {
    "kdi transform_stream": kdi_write,
    "pyarrow, to_batches and write": plain_copy,
}


def measure(quick: bool) -> dict[str, Any]:
    warnings.simplefilter("ignore")  # printing them takes time that is not the algorithm's
    group_rows = QUICK_GROUP_ROWS if quick else GROUP_ROWS
    with TemporaryDirectory() as directory:
        path = Path(directory) / "table.parquet"
        print(f"stream: writing {GROUPS * group_rows:,}×{len(parquet.KINDS)}", flush=True)
        parquet.write(path, parquet.KINDS, range(GROUPS), group_rows)
        read_file(str(path))
        result: dict[str, Any] = {
            "rows": GROUPS * group_rows,
            "columns": len(parquet.KINDS),
            "groups": GROUPS,
            "megabytes": path.stat().st_size / MEGABYTE,
        }
        result["accuracy"] = measure_accuracy(str(path))
        peaks = measure_peaks(str(path))
        result["imports"] = peaks.pop(IMPORTS)["peak"]
        times = measure_times(str(path), quick)
        result["times"] = {name: {**peaks[name], **figures} for name, figures in times.items()}
        result["writes"] = measure_writes(path, QUICK_WRITES if quick else WRITES)
    return result


def measure_peaks(path: str) -> dict[str, Any]:
    """Measure the peak memory of each in its own process."""
    peaks = {}
    for name in [IMPORTS, *CONTENDERS]:
        print(f"stream: memory, {name}", flush=True)
        peaks[name] = fresh.call(probe, name, path)
    return peaks


def probe(name: str, path: str) -> dict[str, float]:
    """Run one contender in a fresh process; the peak includes imports."""
    first, _ = timed(CONTENDERS.get(name, imports_only), path)
    return {"first": 1e3 * first, "peak": resident("VmHWM") / MEGABYTE}


def measure_times(path: str, quick: bool) -> dict[str, Any]:
    print("stream: times", flush=True)
    work = {name: partial(contender, path) for name, contender in CONTENDERS.items()}
    outputs, costs = run_once(work)
    check(outputs[FIT], outputs[SCANS[0]].to_pylist()[0])
    clocked = {name: partial(seconds, call) for name, call in work.items()}
    budget, fewest = (QUICK_BUDGET_SECONDS, 1) if quick else (BUDGET_SECONDS, FEWEST)
    # Equally many turns for each: none is so slow that it would have to skip rounds.
    turns = max(fewest, int(budget / sum(costs.values())))
    times = rounds.interleaved(clocked, dict.fromkeys(clocked, turns))
    return {name: {**rounds.summary(taken), "rounds": len(taken)} for name, taken in times.items()}


def check(transformer: Any, scanned: dict[str, Any]) -> None:
    """Raise AssertionError unless extremes and variances are those of pyarrow."""
    for j, name in enumerate(transformer.feature_names_in_):
        extremes, variance = scanned[f"{name} min_max"], scanned[f"{name} variance"]
        require(f"minimum of {name}", abs(transformer.data_min_[j] - extremes["min"]), 0)
        require(f"maximum of {name}", abs(transformer.data_max_[j] - extremes["max"]), 0)
        require(f"variance of {name}", abs(transformer.bandwidth_[j] ** 2 / variance - 1), CLOSE)


def measure_accuracy(path: str) -> dict[str, float]:
    """Compare a fit to a stream that can be read once with a fit in memory and with the direct sum, on some row groups.

    The error bound is that of a fit to the whole file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from kdi import KDITransformer

    print("stream: accuracy", flush=True)
    file = pq.ParquetFile(path)
    table = parquet.as_array(file.read_row_groups(PART))
    batches = file.iter_batches(BATCH_ROWS, row_groups=PART)
    streamed = KDITransformer().fit(pa.RecordBatchReader.from_batches(file.schema_arrow, batches))
    points = table[np.random.default_rng(SEED).choice(len(table), COMPARED_POINTS, replace=False)]
    levels = streamed.transform(points)
    difference = float(np.nanmax(abs(levels - KDITransformer().fit(table).transform(points))))
    require("the fit to a stream against the fit in memory", difference, SAME)
    error = 0.0
    for values, points_of, levels_of in zip(table.T, points.T, levels.T, strict=True):
        checked = np.flatnonzero(~np.isnan(points_of))[:CHECKED_POINTS]
        exact = exact_answer("polyexp", values[~np.isnan(values)], points_of[checked])
        error = max(error, float(abs(levels_of[checked] - exact).max()))
    require("the fit to a stream against the direct sum", error, CLOSE)
    whole = kdi_fit(path)
    return {"part_rows": len(table), "difference": difference, "error": error, "bound": whole.error_bound_.max()}


def measure_writes(path: Path, times: int) -> dict[str, Any]:
    """Time the writers in fresh processes, interleaved."""
    model, sink = path.with_name("model"), path.with_name("transformed.parquet")
    model.write_bytes(pickle.dumps(kdi_fit(str(path))))
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in WRITERS}
    for _ in range(times):
        for name in WRITERS:
            print(f"stream: {name}", flush=True)
            taken[name].append(fresh.call(probe_write, name, str(path), str(model), str(sink)))
            sink.unlink()
    return {
        name: {**rounds.summary([run["seconds"] for run in runs]), "peak": max(run["peak"] for run in runs)}
        for name, runs in taken.items()
    }


def probe_write(name: str, path: str, model: str, sink: str) -> dict[str, float]:
    """Run one writer in a fresh process."""
    taken, _ = timed(WRITERS[name], path, model, sink)
    return {"seconds": taken, "peak": resident("VmHWM") / MEGABYTE}


def faster_scan(times: dict[str, Any], kind: str = "min") -> str:
    return min(SCANS, key=lambda name: times[name][kind])


def tables(results: dict[str, Any]) -> list[Table]:
    times, values = results["times"], results["rows"] * results["columns"]
    scan = faster_scan(times)
    rows = []
    for name, figures in times.items():
        cells = [number(figures[kind] / 1e3) for kind in ("min", "median")]
        cells += [number(1e6 * figures["min"] / values), number(ratio(times, name, scan))]
        cells += [number(figures["first"] / 1e3), megabytes(figures["peak"]), str(figures["rounds"])]
        rows.append([name, *cells])
    shape = f"{results['rows']:,}×{results['columns']}"
    header = ["", "minimum", "median", "ns per value", "of the faster scan", "first", "peak, MB", "rounds"]
    accuracy = results["accuracy"]
    note = (
        f"One file of {results['groups']} row groups, compressed by snappy, {number(results['megabytes'])} MB, in the "
        "system's cache. Interleaved rounds in one process; ratios are of the minima. First and peak are those of a "
        f"fresh process, imports included; the imports of kdi and pyarrow alone take {megabytes(results['imports'])} "
        f"MB. On {accuracy['part_rows']:,} rows, the fit to a stream that is read once differs by "
        f"{number(accuracy['difference'])} from the fit in memory and by {number(accuracy['error'])} from the direct "
        f"sum; error_bound_ for the whole file is {number(accuracy['bound'])}."
    )
    written = []
    for name, figures in results["writes"].items():
        cells = [number(figures["min"] / 1e3), number(figures["median"] / 1e3)]
        written.append([name, *cells, number(1e3 * results["rows"] / figures["min"]), megabytes(figures["peak"])])
    return [
        Table(f"{shape} values in Parquet, fitted, seconds", header, rows, note),
        Table(
            f"{shape} values from Parquet to Parquet, seconds",
            ["", "minimum", "median", "rows per second", "peak, MB"],
            written,
            "Fresh processes, interleaved; the time includes loading the model and writing the result to disk.",
        ),
    ]


def targets(results: dict[str, Any]) -> list[Target]:
    times, what = results["times"], f"kdi, {results['rows']:,}×{results['columns']} in Parquet"
    peak = times[FIT]["peak"]
    least, median = (ratio(times, FIT, faster_scan(times, kind), kind) for kind in ("min", "median"))
    asked = f"{what}: fit at most {OF_SCAN} times pyarrow's faster scan for min, max and variance"
    return [
        Target(f"{what}: fit within {FIT_MEGABYTES} MB", f"{megabytes(peak)} MB", peak <= FIT_MEGABYTES),
        Target(asked, f"{number(least)} (by medians {number(median)})", least <= OF_SCAN),
    ]
