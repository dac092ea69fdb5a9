"""Dask's side of ``benchmarks.engines``: a cluster of one or two processes of one thread each."""

import logging
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import contest


def lacking() -> str | None:
    """Say what is not installed; None if nothing is missing."""
    absent = [name for name in ("dask", "distributed") if find_spec(name) is None]
    return f"{' and '.join(absent)} not installed" if absent else None


class Tables:
    """The same files as a dataframe and as an array."""

    def __init__(self, path: Path) -> None:
        import dask.dataframe as dd
        import pyarrow.parquet as pq

        self.frame = dd.read_parquet(path)
        lengths = [pq.read_metadata(file).num_rows for file in sorted(path.iterdir())]
        self.array = self.frame.to_dask_array(lengths=lengths)
        self.path = path


def kdi_levels(tables: Tables, alpha: float) -> Any:
    import kdi
    import kdi.dask

    fitted = kdi.dask.fit(kdi.KDITransformer(alpha=alpha), tables.frame)
    return fitted.set_output(transform="default").transform(contest.points(tables.path)).tolist()


def dask_ml_quantiles(tables: Tables) -> Any:
    from dask_ml.preprocessing import QuantileTransformer

    return QuantileTransformer(n_quantiles=contest.LEVELS).fit(tables.array).quantiles_.T.tolist()


def frame_quantiles(tables: Tables) -> Any:
    return tables.frame.quantile(contest.levels()).compute().to_numpy().T.tolist()


def array_percentiles(tables: Tables) -> Any:
    import dask
    import dask.array as da

    percent = [100 * level for level in contest.levels()]
    found = dask.compute(*(da.percentile(column, percent) for column in tables.array.T))
    return [column.tolist() for column in found]


CONTENDERS = {name: partial(kdi_levels, alpha=alpha) for name, alpha in contest.ALPHA.items()} | {
    "dask-ml QuantileTransformer": dask_ml_quantiles,
    "dask.array.percentile": array_percentiles,
    "dask DataFrame.quantile": frame_quantiles,
}


def probe(place: str, n_workers: int, budget: float) -> dict[str, Any]:
    """Measure all contenders; runs in a fresh process."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=logging.ERROR,
    )
    with cluster, Client(cluster):
        tables = {folder: Tables(Path(place) / folder) for folder in contest.FOLDERS}
        return contest.race(CONTENDERS, tables, budget)
