"""Tables on disk with columns of all kinds, drawn and written in row groups, which needs little memory."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

Generator = np.random.Generator
MISSING = 0.01


def bimodal(generator: Generator, n: int) -> Any:
    """Draw from two modes far from zero."""
    return 1e6 + np.where(generator.random(n) < 0.3, -5.0, 5.0) + generator.standard_normal(n)


def zeros(generator: Generator, n: int) -> Any:
    """Draw values of which half are zero, like rainfall and expenses."""
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
    """Write row groups, seeded by their number; with pyarrow's default settings, so compressed by snappy."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(kinds)
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for group in groups:
            generator = np.random.default_rng(group)
            columns = [pa.array(KINDS[name](generator, group_rows), from_pandas=True) for name in names]  # NaN is null
            writer.write_table(pa.table(columns, names), row_group_size=group_rows)


def as_array(table: Any) -> Any:
    """Convert an Arrow table to a column-major NumPy array; null becomes NaN."""
    result = np.empty(table.shape, order="F")
    for j, column in enumerate(table.columns):
        result[:, j] = column.to_numpy()
    return result
