"""Tables on disk: columns of all kinds, drawn and written some rows at a time, which needs little memory."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

Generator = np.random.Generator
MISSING = 0.01


def bimodal(generator: Generator, n: int) -> Any:
    """Two bumps a long way from zero."""
    return 1e6 + np.where(generator.random(n) < 0.3, -5.0, 5.0) + generator.standard_normal(n)


def zeros(generator: Generator, n: int) -> Any:
    """Half of it nothing, as rain and expenses are."""
    return np.maximum(generator.laplace(size=n), 0.0)


def missing(generator: Generator, n: int) -> Any:
    values = generator.standard_normal(n)
    values[generator.random(n) < MISSING] = np.nan
    return values


KINDS: dict[str, Callable[[Generator, int], Any]] = {
    "normal": Generator.standard_normal,
    "lognormal": lambda generator, n: generator.lognormal(size=n),
    "cauchy": Generator.standard_cauchy,
    "uniform": Generator.random,
    "integers": lambda generator, n: generator.integers(0, 1000, n).astype(float),
    "bimodal": bimodal,
    "zeros": zeros,
    "prices": lambda generator, n: np.round(generator.lognormal(3, 1, n), 2),
    "tiny": lambda generator, n: 1e-9 * generator.standard_normal(n),
    "missing": missing,
}


def write(path: Path, kinds: Iterable[str], groups: Iterable[int], group_rows: int) -> None:
    """Write row groups, each the same whichever file it is in; with pyarrow's own settings, so compressed by snappy."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(kinds)
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for group in groups:
            generator = np.random.default_rng(group)
            columns = [pa.array(KINDS[name](generator, group_rows), from_pandas=True) for name in names]  # NaN is null
            writer.write_table(pa.table(columns, names), row_group_size=group_rows)


def as_array(table: Any) -> Any:
    """A table of Arrow as one of NumPy, column-major; null is NaN."""
    result = np.empty(table.shape, order="F")
    for j, column in enumerate(table.columns):
        result[:, j] = column.to_numpy()
    return result
