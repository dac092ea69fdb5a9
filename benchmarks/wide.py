"""``python -m benchmarks.wide [--quick] [--out DIR] [--other PYTHON]``: what a cluster sends for wide tables.

Four questions: how many bytes a partition sends per column; what encoding, decoding and merging cost; how much memory
the last process of a merge tree needs for 1,000 columns; and how long a fit of 2,000 columns in 200 partitions takes on
a Dask cluster of two processes, how many bytes cross the loopback device and how much memory they need. With --other,
the last question is asked of another version of kdi too, whose interpreter is given.
"""

import argparse
import json
import pickle
import resource
import subprocess
import sys
import timeit
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks import fresh, rounds
from benchmarks.machine import described, machine
from benchmarks.report import Table, Target, number, target_table

ROWS, QUICK_ROWS = (1_000, 3_584, 10_000, 100_000, 1_000_000, 10_000_000), (1_000, 10_000, 100_000)
ALPHAS = {1.0: 32_000, 0.1: 128_000}  # and the bytes that a column may take
TREE_COLUMNS, TREE_FAN_IN, TREE_PARTITIONS = 1_000, 16, 10_000
WIDE = {"columns": 2_000, "partitions": 200, "rows": 5_000}
QUICK_WIDE = {"columns": 100, "partitions": 16, "rows": 10_000}
KINDS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "lognormal": lambda rng, n: rng.lognormal(size=n),
    "Cauchy": lambda rng, n: rng.standard_cauchy(size=n),
    "bimodal": lambda rng, n: rng.normal(size=n) + 1000.0 * (rng.random(n) < 0.5),
    "integers": lambda rng, n: rng.poisson(4, size=n).astype(float),
}

# What runs in each version: it fits and answers with what the scheduler and the workers say of themselves.
CLUSTER = """
import json, sys, logging, warnings
warnings.simplefilter("ignore")
from time import perf_counter

def peak_memory():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))

def loopback_bytes():
    with open("/proc/net/dev") as devices:
        return next(int(line.split(":")[1].split()[0]) for line in devices if line.strip().startswith("lo:"))

def make_block(rows, columns, block_info=None):
    import numpy as np
    place = block_info[None]["chunk-location"][0]
    return np.random.default_rng(place).standard_normal((rows, columns), dtype=np.float32)

def main(columns, partitions, rows):
    import dask, dask.array as da, kdi, kdi.dask
    from functools import partial
    from distributed import Client, LocalCluster
    settings = {"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False,
                "distributed.worker.memory.pause": False, "distributed.worker.memory.terminate": False}
    with dask.config.set(settings), LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None, silence_logs=logging.CRITICAL
    ) as cluster, Client(cluster) as client:
        x = da.map_blocks(partial(make_block, rows, columns), chunks=((rows,) * partitions, (columns,)), dtype="f4",
                          meta=da.zeros((0, 0), dtype="f4")._meta)
        kdi.dask.fit(kdi.KDITransformer(), x[:rows])
        sent = loopback_bytes()
        begin = perf_counter()
        model = kdi.dask.fit(kdi.KDITransformer(), x)
        seconds = perf_counter() - begin
        peaks = client.run(peak_memory)
        print(json.dumps({"seconds": seconds, "sent_mb": (loopback_bytes() - sent) / 1e6,
                          "worker_mb": max(peaks.values()), "client_mb": peak_memory(),
                          "checked": float(model.bandwidth_.sum())}), flush=True)

if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
"""


def measure(quick: bool, other: str | None = None) -> dict[str, Any]:
    result = {"sizes": measure_sizes(QUICK_ROWS if quick else ROWS), "costs": measure_costs()}
    columns = 100 if quick else TREE_COLUMNS
    code = f"import json; from benchmarks.wide import measure_tree; print(json.dumps(measure_tree({columns})))"
    result["tree"] = fresh.run(code)
    wide = QUICK_WIDE if quick else WIDE
    result["wide"] = {"table": wide, "versions": {}}
    for name, python in (("before", other), ("now", sys.executable)):
        if python is not None:
            result["wide"]["versions"][name] = on_cluster(python, **wide)
            print(f"wide: {name}, {result['wide']['versions'][name]}", flush=True)
    return result


def measure_sizes(all_rows: tuple[int, ...]) -> list[dict[str, Any]]:
    """Sketch partitions of one column, as a fit on an engine does, and count the bytes that they are sent as."""
    from kdi._numerics.kernels import get_kernel
    from kdi._sketch.partitions import sketch_reducer

    found = []
    for alpha in ALPHAS:
        summarise, _ = sketch_reducer(get_kernel("polyexp"), np.array([alpha]), 1, is_sent=True)
        for n in all_rows:
            for name, make in KINDS.items():
                column = make(np.random.default_rng(n), n)
                summary = summarise([([column], None)])
                found.append(
                    {
                        "alpha": alpha,
                        "rows": n,
                        "kind": name,
                        "sent": len(pickle.dumps(summary, protocol=5)),
                        "exact": len(summary.sketches[0].to_bytes()),
                        "keys": len(summary.sketches[0]),
                    }
                )
    return found


def some_summaries(n_summaries: int, n_columns: int) -> tuple[list[Any], Any]:
    """Return summaries of partitions of 20,000 normal values per column, and how they are merged."""
    from kdi._numerics.kernels import get_kernel
    from kdi._sketch.partitions import sketch_reducer

    summarise, merge = sketch_reducer(get_kernel("polyexp"), np.ones(n_columns), 1, is_sent=True)
    rng = np.random.default_rng(0)
    columns = [rng.normal(size=20_000) for _ in range(20)]
    tables = [[columns[int(j)] for j in rng.integers(0, 20, n_columns)] for _ in range(n_summaries)]
    return [summarise([(table, None)]) for table in tables], merge


def measure_costs() -> dict[str, float]:
    """Microseconds per sketch of encoding, decoding and merging."""
    (one, other), merge = some_summaries(2, 100)
    data = pickle.dumps(one, protocol=5)
    work = {
        "encode": lambda: pickle.dumps(one, protocol=5),
        "decode": lambda: pickle.loads(data),
        "merge": lambda: merge(one, other),
    }
    return {name: 1e4 * min(timeit.repeat(call, number=1, repeat=10)) for name, call in work.items()}


def measure_tree(n_columns: int) -> dict[str, float]:
    """Merge summaries from their bytes, a few at a time, as the last process of a tree does; return its peak memory."""
    summaries, merge = some_summaries(4, n_columns)
    data = [pickle.dumps(one, protocol=5) for one in summaries]
    del summaries
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    merged = pickle.loads(data[0])
    begin = perf_counter()
    for k in range(1, TREE_FAN_IN):
        merged = merge(merged, pickle.loads(data[k % 4]))
    seconds = perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "columns": n_columns,
        "sent_mb": TREE_FAN_IN * len(data[0]) / 1e6,
        "peak_mb": after,
        "added_mb": after - before,
        "ms_per_summary": 1e3 * seconds / (TREE_FAN_IN - 1),
    }


def on_cluster(python: str, columns: int, partitions: int, rows: int) -> dict[str, float]:
    """Fit on a Dask cluster of two processes, with the kdi of an interpreter."""
    with TemporaryDirectory() as folder:  # a file, because the cluster's processes import it again
        file = Path(folder) / "kdi_wide.py"
        file.write_text(CLUSTER)
        command = [python, "-W", "ignore", str(file), str(columns), str(partitions), str(rows)]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def tables(results: dict[str, Any]) -> list[Table]:
    sizes = results["sizes"]
    rows = []
    for alpha in ALPHAS:
        for n in sorted({one["rows"] for one in sizes}):
            own = [one for one in sizes if one["alpha"] == alpha and one["rows"] == n]
            rows.append([f"alpha {alpha:g}, {n:,} rows", *(number(one["sent"] / 1e3) for one in own)])
    note = "kB that a partition sends for one column, at most; it is read again where that is not enough."
    costs, tree = results["costs"], results["tree"]
    wide = results["wide"]
    names = {"seconds": "s", "sent_mb": "MB over the network", "worker_mb": "peak of a worker, MB"}
    names |= {"client_mb": "peak of the client, MB"}
    found = wide["versions"].items()
    shape = "{columns:,} columns, {partitions} partitions of {rows:,} rows".format(**wide["table"])
    return [
        Table("Bytes per column of a partition, kB", ["", *KINDS], rows, note),
        Table(
            "Sketches between processes",
            ["", "encode, µs", "decode, µs", "merge, µs"],
            [["per sketch of some 1,500 cells", *(number(costs[name]) for name in ("encode", "decode", "merge"))]],
            "",
        ),
        Table(
            f"The last merge of a tree, {TREE_FAN_IN} summaries of {tree['columns']:,} columns",
            ["", "sent to it, MB", "memory that it adds, MB", "peak of the process, MB", "ms per summary"],
            [["", *(number(tree[name]) for name in ("sent_mb", "added_mb", "peak_mb", "ms_per_summary"))]],
            "However many partitions there are, no process merges more at once: their number adds levels.",
        ),
        Table(
            f"Dask, two processes: {shape}, float32",
            ["", *names.values()],
            [[version, *(number(own[name]) for name in names)] for version, own in found],
            "",
        ),
    ]


def targets(results: dict[str, Any]) -> list[Target]:
    found = []
    for alpha, allowed in ALPHAS.items():
        most = max(one["sent"] for one in results["sizes"] if one["alpha"] == alpha)
        text = f"a partition at alpha {alpha:g}: at most {allowed // 1000} kB per column"
        found.append(Target(text, f"{number(most / 1e3)} kB", most <= allowed))
    share = max(one["sent"] / (8 * one["rows"]) for one in results["sizes"])
    found.append(Target("no more than the partition's own data", number(share), share <= 1))
    peak = results["tree"]["peak_mb"]
    found.append(Target("memory of the last merge: at most 1 GB", f"{number(peak)} MB", peak <= 1000))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows, columns and partitions")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder to write to")
    parser.add_argument("--other", help="an interpreter with another version of kdi, to compare with")
    arguments = parser.parse_args()
    before = machine()
    seconds, results = rounds.timed(partial(measure, other=arguments.other), arguments.quick)
    measured = {"machine": before, "quick": arguments.quick, "seconds": round(seconds), "results": results}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "wide.json").write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    found = [*tables(results), target_table(targets(results))]
    print("\n\n".join([described(before), *(table.markdown() for table in found)]))


if __name__ == "__main__":
    main()
