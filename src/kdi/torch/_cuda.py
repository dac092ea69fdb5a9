"""fit, scan, fill and look-up by the kernels of kernels.cu.

A fit is four launches, and waits once for the host to allocate cells and knots:

    scan ─▶ plan ─▶ (host: how many cells and knots) ─▶ fill ─▶ build

A look-up is one launch and never waits. Columns that the kernels leave to the host, such as those of alpha = 0, are
copied there and fitted by the core.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from kdi._integral.build import FeatureMaps, fit_table
from kdi._integral.maps import CUBIC, KNOT_TOLERANCE, OUT_OF_RANGE, PER_FEATURE, PackedMaps
from kdi._numerics.kernels import Kernel, get_kernel
from kdi._sketch.sketch import Sketch
from kdi._utils.typing import Float64Array, OutOfRange
from kdi.torch._maps import TENSORS, Maps, Parameters
from kdi.torch._parameters import check_ends
from kdi.torch._sketching import CellPlan, TableStats

NAMES = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
}
# Rows of a plan, as in kernels.cu: numbers, then integers, and then the numbers per column that `build` fills in.
LOW, HIGH, WEIGHT, STD, ALPHA, BANDWIDTH = range(6)
STATUS, CELLS, INTERVALS, SPAN, COUNT, MIDDLE, EXPONENT, STEP = range(6, 14)
BUILT = STEP + 1
N_ROWS = BUILT + len(PER_FEATURE)
N_PARTIAL = 6  # numbers per column that each block of `scan` leaves to `plan`
ON_DEVICE, EMPTY, CONSTANT, ON_HOST = range(4)

MAX_ORDER = 16  # of polyexp kernels, as in kernels.cu
FINE_TAIL = 4e-11  # of the kernel, left out of sums of float64
TAIL = 1e-9  # the same of values that are rounded to 2^-16 cells
THREADS = 1024
QUICK_THREADS = 512  # of a block of the quick look-up
LEAST_ROWS = 8  # that a thread reads at least, where the table has so many
LEAST_FILLED = 24  # the same of `fill`, whose blocks each add up their cells at the end
WINDOW = 512  # cells of a column around its median that a block sums in shared memory, where most values lie in so many
LEAST_COLUMNS = 4  # of a block of `fill`, whose window is wider where the values need that
CELL_SHARE = 64 * 32  # cells of 32 bytes may take a 64th of the device's memory at once
KEPT_CELLS = 2**22  # cells, occupied or not, that maps keep of their data
SHARED_RESERVE = 1024  # bytes of shared memory that kernels have of their own
LEAST_WINDOW = 96  # cubics of a column in shared memory, where it has so many
NARROW = 8  # packets of a row up to which more rows are read at once
LANES = 4  # values that a thread of the quick look-up reads at once, where they lie side by side
SUM_BITS = 60  # of moments that are sums of 64 bits


@cache
def _kernels(index: int) -> Any:
    """Return the kernels of a device, which are compiled or read from disk on first use."""
    from kdi.torch._kernels import load_kernels

    return load_kernels(index)


def kernels_of(device: torch.device) -> Any:
    """Return the launcher of a device."""
    return _kernels(device.index if device.index is not None else torch.cuda.current_device())


def check_available() -> None:
    """Raise ImportError unless the kernels can be compiled and loaded on the current device."""
    try:
        _kernels(torch.cuda.current_device())
    except ImportError:
        raise
    except Exception as error:  # of the driver or the compiler, which have classes of their own
        raise ImportError(f"{type(error).__name__}: {error}") from error


def _on(device: torch.device) -> Any:
    """Return a context in which a device is current; it yields the launcher."""
    launcher = kernels_of(device)
    if device.type != "cuda" or device.index in (None, torch.cuda.current_device()):  # the former: emulated in tests
        return nullcontext(launcher)
    return _current(device, launcher)


@contextmanager
def _current(device: torch.device, launcher: Any) -> Iterator[Any]:
    with torch.cuda.device(device):
        yield launcher


class Tiling(NamedTuple):
    """How a table is divided among blocks: columns per block, threads, blocks, and rows of a block."""

    width: int
    block: int
    grid: tuple[int, int]
    rows: int

    @classmethod
    def of(cls, table: Tensor, n_blocks: int, most_columns: int = 512, least_rows: int = LEAST_ROWS) -> Tiling:
        """Divide a table into about so many blocks, of columns side by side that are no more than `most_columns`."""
        n_rows, n_columns = table.shape
        n_groups = -(-n_columns // most_columns)
        width = -(-n_columns // n_groups)
        height = max(THREADS // width, 1)
        n_groups = -(-n_columns // width)
        wanted = max(-(-n_blocks // n_groups), 1)
        rows = max(-(-n_rows // wanted), least_rows * height, 1)
        return cls(width, width * height, (max(-(-n_rows // rows), 1), n_groups), rows)


def in_rows(table: Tensor) -> Tensor:
    """Return a table whose columns lie side by side in memory."""
    table = table.resolve_neg()
    return table if table.stride(1) == 1 or table.shape[1] == 1 else table.contiguous()


def _table_args(table: Tensor) -> tuple[Any, ...]:
    stride = table.stride(0) if table.shape[0] > 1 else table.shape[1]
    return table, np.int64(table.shape[0]), np.int32(table.shape[1]), np.int64(stride)


def is_fine(table: Tensor, weights: Tensor | None) -> bool:
    """Tell whether moments are sums of 64 bits."""
    return table.dtype == torch.float64 or weights is not None


def _kernel_args(kernel: Kernel, fine: bool) -> tuple[Any, ...]:
    numbers = kernel.scale, kernel.peak, kernel.max_fourth_derivative, reach_of(kernel, fine)
    return np.int32(kernel.order), *numbers


@cache
def reach_of(kernel: Kernel, fine: bool) -> float:
    """Return how far the kernel reaches, in units of its own bandwidth; the tail beyond is part of the error bound."""
    wanted = FINE_TAIL if fine else TAIL
    below, above = 0.0, 1.0
    while kernel.tail_at(above) > wanted:
        above *= 2
    for _ in range(60):
        middle = 0.5 * (below + above)
        below, above = (middle, above) if kernel.tail_at(middle) > wanted else (below, middle)
    return above


# ------------------------------------------------------------------------------------------------------------- fit


def fit(
    table: Tensor,
    weights: Tensor | None,
    factors: Float64Array,
    parameters: Parameters,
    shape: tuple[int, ...],
    skip_infinite: bool,
) -> Maps | None:
    """Fit bounded maps by the kernels; return None where these need more shared memory than the device has."""
    table = in_rows(table)
    kernel = get_kernel(parameters.kernel, parameters.order)
    planned = factors if kernel.order <= MAX_ORDER else np.zeros_like(factors)  # 0 is left to the host
    with _on(table.device) as launcher:
        plan = _plan(launcher, table, weights, planned, kernel, skip_infinite)
        host = Plan(plan)
        maps = _build(launcher, table, weights, plan, host, kernel, parameters, shape)
    by_host = np.flatnonzero(host[STATUS] == ON_HOST)
    if maps is None or not len(by_host):
        return maps
    return _with_host_columns(maps, table, weights, factors, by_host, kernel, skip_infinite)


def _plan(
    launcher: Any, table: Tensor, weights: Tensor | None, factors: Float64Array, kernel: Kernel, skip_infinite: bool
) -> Tensor:
    """Scan the columns and plan their cells and knots; a row of float64 or int64 for each number of all columns."""
    n_columns, name = table.shape[1], NAMES[table.dtype]
    scan = f"{'scan' if weights is None else 'scan_weighted'}_{name}"
    tiling = Tiling.of(table, launcher.resident_blocks(scan, THREADS, 0))
    n_partial = tiling.grid[0]
    # Few allocations: one takes as long as some of the kernels.
    rows = torch.empty((N_ROWS + N_PARTIAL * n_partial, n_columns), dtype=torch.float64, device=table.device)
    partial = rows.data_ptr() + 8 * N_ROWS * n_columns
    mass = () if weights is None else (weights,)
    sizes = np.int32(skip_infinite), np.int32(tiling.width), np.int64(tiling.rows)
    launcher.launch(scan, tiling.grid, tiling.block, 0, *_table_args(table), *mass, *sizes, partial)
    same = bool((factors == factors[0]).all())
    launcher.launch(
        f"plan_{name}",
        (n_columns, 1),
        256,
        0,
        *_table_args(table),
        partial,
        np.int32(n_partial),
        None if same else _put(factors, table.device),
        float(factors[0]),
        *_kernel_args(kernel, is_fine(table, weights)),
        KNOT_TOLERANCE,
        np.int32(table.dtype != torch.float64),
        rows,
        _integers_of(rows, n_columns),
    )
    return rows[:N_ROWS]


def _integers_of(plan: Tensor, n_columns: int) -> int:
    """Return the address of the integers of a plan."""
    return int(plan.data_ptr()) + 8 * n_columns * STATUS


class Plan:
    """A plan on the host."""

    def __init__(self, plan: Tensor) -> None:
        self.numbers: Float64Array = plan[:BUILT].cpu().numpy()
        self.integers = self.numbers.view(np.int64)

    def __getitem__(self, row: int) -> Any:
        return self.numbers[row] if row < STATUS else self.integers[row]


def _table_size(host: Plan, kernel: Kernel, fine: bool) -> int:
    """Return the number of distances between knots and cells that the kernel reaches, of the column with the most."""
    chosen = host[STATUS] == ON_DEVICE
    if not chosen.any():
        return 1
    relative = host[BANDWIDTH][chosen] / np.ldexp(1.0, host[EXPONENT][chosen])
    reach = np.ceil(reach_of(kernel, fine) * relative * kernel.scale) + 1
    return 2 * int(np.minimum(reach, host[CELLS][chosen] + host[STEP][chosen]).max()) + 1


def _build(
    launcher: Any,
    table: Tensor,
    weights: Tensor | None,
    plan: Tensor,
    host: Plan,
    kernel: Kernel,
    parameters: Parameters,
    shape: tuple[int, ...],
) -> Maps | None:
    """Fill the cells of the planned columns, and build their maps; None if shared memory is too small for that."""
    device, n_columns = table.device, table.shape[1]
    n_cells, intervals = host[CELLS], host[INTERVALS]
    groups = _groups(n_cells, launcher.memory_bytes // CELL_SHARE)
    ends = np.concatenate([np.cumsum(n_cells[first:last]) for first, last in groups])
    cell_starts = _put(ends - n_cells, device)

    def fill_group(first: int, last: int) -> tuple[Tensor, int, Tensor]:
        part, own = table, plan
        if last - first < n_columns:
            part, own = table[:, first:last], plan[:, first:last].contiguous()
        integers, starts = _integers_of(own, last - first), cell_starts.data_ptr() + 8 * first
        span = int(host[SPAN][first:last].max())
        return own, starts, _fill(launcher, part, weights, own, integers, starts, n_cells[first:last], span)

    filled = fill_group(*groups[0])  # while the host checks and prepares the rest
    check_ends(host[LOW], host[HIGH], shape)
    fine = is_fine(table, weights)
    table_size = _table_size(host, kernel, fine)
    if 5 * 8 * table_size > launcher.shared_bytes - SHARED_RESERVE:
        return None
    n_knots = np.where(intervals > 0, intervals + 1, 0)
    kind = torch.empty(n_columns, dtype=torch.uint8, device=device)
    coefficients = torch.empty((int(n_knots.sum()), 4), dtype=torch.float64, device=device)
    # One copy to the device: where knots begin, their numbers, and the addresses of all arrays.
    layout = torch.empty(2 * n_columns + len(ARRAYS), dtype=torch.int64, device=device)
    start = layout.data_ptr()
    addresses = {name: plan.data_ptr() + 8 * n_columns * (BUILT + k) for k, name in enumerate(PER_FEATURE)}
    addresses |= {"kind": kind.data_ptr(), "start": start, "n_knots": start + 8 * n_columns}
    addresses["coefficients"] = coefficients.data_ptr()
    pointers = [addresses.get(name, 0) for name in ARRAYS]
    layout.copy_(torch.from_numpy(np.concatenate([np.cumsum(n_knots) - n_knots, n_knots, pointers])), non_blocking=True)
    kept = KernelSketches(host, len(table), is_compact=int(n_cells.sum()) > KEPT_CELLS)
    for first, last in groups:
        own, starts, planes = filled if first == 0 else fill_group(first, last)
        before = torch.empty(planes.shape[1] + last - first, dtype=torch.float64, device=device)
        launcher.launch(
            "build_maps",
            (last - first, 1),
            THREADS,
            5 * 8 * table_size,
            np.int32(last - first),
            own,
            _integers_of(own, last - first),
            starts,
            planes,
            np.int64(planes.shape[1]),
            np.int32(fine),
            before,
            *_kernel_args(kernel, fine),
            *parameters.feature_range,
            np.int32(table_size),
            start + 16 * n_columns,
            np.int32(first),
        )
        kept.add(planes, n_cells[first:last])
    rows = plan.unbind(0)
    knot_starts, knot_numbers, array_addresses = layout.split([n_columns, n_columns, len(ARRAYS)])
    no_points, no_guide = _nothing(device)
    maps = Maps(
        **dict(zip(PER_FEATURE, rows[BUILT:], strict=True)),
        kind=kind,
        start=knot_starts,
        n_knots=knot_numbers,
        coefficients=coefficients,
        knots=no_points,
        levels=no_points,
        guide=no_guide,
        alpha=rows[ALPHA],
        bandwidth=rows[BANDWIDTH],
        shape=shape,
        n_rows=len(table),
        parameters=parameters,
        sketches=kept,
    ).with_sizes(n_knots.tolist(), 0)
    maps.__dict__["_pointers"] = array_addresses
    maps.__dict__["_span"] = int((host[SPAN] // np.maximum(host[STEP], 1)).max())
    return maps


def _put(array: Any, device: torch.device) -> Tensor:
    """Copy an array to a device without waiting for what runs there; it is staged before this returns."""
    return torch.from_numpy(array).to(device, non_blocking=True)


@cache
def _nothing(device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the knots or levels, and the guide, of maps without lines."""
    return torch.empty(0, dtype=torch.float64, device=device), torch.empty(0, dtype=torch.int32, device=device)


def _groups(n_cells: Any, most: int) -> list[tuple[int, int]]:
    """Divide the columns into groups of no more than `most` cells, which are filled at once."""
    if n_cells.sum() <= most:
        return [(0, len(n_cells))]
    groups, first, total = [], 0, 0
    for j, n in enumerate(n_cells.tolist()):
        if total and total + n > most:
            groups.append((first, j))
            first, total = j, 0
        total += n
    return [*groups, (first, len(n_cells))]


def _fill(
    launcher: Any,
    table: Tensor,
    weights: Tensor | None,
    plan: Tensor,
    integers: int,
    starts: Any,
    n_cells: Any,
    span: int = 0,
) -> Tensor:
    """Return the moments of the planned cells as integers: a row per moment, one column after the other.

    `span` is the number of cells in which most values of any column lie, as far as it is known.
    """
    n_all = int(n_cells.sum())
    planes = torch.zeros((4, n_all), dtype=torch.int64, device=table.device)
    if not n_all:
        return planes
    fine = is_fine(table, weights)
    per_cell, capacity = 4 * (8 if fine else 4), launcher.shared_bytes - SHARED_RESERVE
    window = WINDOW
    if span > WINDOW:
        widest = capacity // (per_cell * min(LEAST_COLUMNS, table.shape[1])) - 1
        window = max(min(2 * span, widest), WINDOW)
    window = int(min(window, n_cells.max()))
    per_column = per_cell * (window + 1)
    most = max(1, min(capacity // per_column, table.shape[1]))
    kind = "_weighted" if weights is not None else "_finely" if fine else ""
    name = f"fill{kind}_{NAMES[table.dtype]}"
    n_blocks = launcher.resident_blocks(name, THREADS, per_column * most)
    tiling = Tiling.of(table, n_blocks, most, LEAST_FILLED)
    launcher.launch(
        name,
        tiling.grid,
        tiling.block,
        per_column * tiling.width,
        *_table_args(table),
        *(() if weights is None else (weights,)),
        np.int32(tiling.width),
        np.int64(tiling.rows),
        plan,
        integers,
        starts,
        planes,
        np.int64(n_all),
        np.int32(window),
    )
    return planes


class KernelSketches:
    """The sketches of a fit by kernels: the moments that it leaves on the device, of all cells or the occupied ones."""

    def __init__(self, host: Plan, n_rows: int, *, is_compact: bool) -> None:
        self._host, self._n_rows, self._is_compact = host, n_rows, is_compact
        self._groups: list[tuple[Tensor, Tensor | None, Any]] = []
        self.by_host: dict[int, Sketch] = {}

    def add(self, planes: Tensor, sizes: Any) -> None:
        """Keep the planes of the moments of some columns, which have so many cells."""
        moments, places = planes.view(torch.float64), None
        if self._is_compact:
            places = torch.nonzero(moments[0])[:, 0]
            moments = moments[:, places]
        self._groups.append((moments, places, sizes))

    def to_host(self) -> list[Sketch]:
        """Return the sketches as the CPU's core reads them."""
        host, cells, sketches = self._host, self._cells(), []
        for j, (occupied, moments) in enumerate(cells):
            low, high, weight = (float(host[row][j]) for row in (LOW, HIGH, WEIGHT))
            count, status = int(host[COUNT][j]), int(host[STATUS][j])
            missing = self._n_rows - count
            if j in self.by_host:
                sketches.append(self.by_host[j])
            elif status == EMPTY:
                sketches.append(Sketch(missing=missing))
            elif status == CONSTANT:
                sketches.append(Sketch(low, high, count, missing, None, np.array([low]), np.array([[weight]])))
            else:
                exponent = int(host[EXPONENT][j])
                first = int(np.floor(np.ldexp(low, -exponent)))
                sketches.append(Sketch(low, high, count, missing, exponent, first + occupied, moments))
        return sketches

    def _cells(self) -> Iterator[tuple[Any, Any]]:
        """Yield the indices of the occupied cells of each column, counted from its first one, and their moments."""
        for moments, places, sizes in self._groups:
            own = moments.cpu().numpy()
            found = np.flatnonzero(own[0]) if places is None else places.cpu().numpy()
            own = own[:, found] if places is None else own
            ends = np.cumsum(sizes)
            bounds = np.searchsorted(found, ends)
            for begin, end, start in zip(np.append(0, bounds[:-1]), bounds, ends - sizes, strict=True):
                yield found[begin:end] - start, np.ascontiguousarray(own[:, begin:end].T)


def _with_host_columns(
    maps: Maps,
    table: Tensor,
    weights: Tensor | None,
    factors: Float64Array,
    columns: Any,
    kernel: Kernel,
    skip_infinite: bool,
) -> Maps:
    """Fit the columns that the kernels leave to the host, and put their maps in their places."""
    from kdi.torch._functional import as_array

    array = as_array(table[:, torch.from_numpy(columns).to(table.device)])
    if skip_infinite:
        array = np.where(np.isinf(array), np.nan, array)
    mass = None if weights is None else weights.cpu().numpy()
    options = maps.parameters.options
    sketches, features = fit_table(array, mass, factors[columns], kernel, check=_check_nothing, options=options)
    host, own = maps.to_features(), features.maps
    packed = {one: getattr(host.maps, one).copy() for one in [*PER_FEATURE, "kind", "n_knots", "start"]}
    for name in packed:
        packed[name][columns] = getattr(own, name)
    is_cubic = own.kind == CUBIC
    packed["start"][columns] += np.where(is_cubic, len(host.maps.coefficients), 0)
    rows = {name: np.concatenate([getattr(host.maps, name), getattr(own, name)]) for name in ("coefficients",)}
    rows |= {name: getattr(own, name) for name in ("knots", "levels", "guide")}
    alpha, bandwidth = host.alpha.copy(), host.bandwidth.copy()
    alpha[columns], bandwidth[columns] = features.alpha, features.bandwidth
    merged = FeatureMaps(alpha, bandwidth, PackedMaps(**packed, **rows), options)
    kept: Any = maps.sketches
    kept.by_host = dict(zip(columns.tolist(), sketches, strict=True))
    return Maps.from_features(merged, maps.shape, maps.n_rows, maps.parameters, kept).to(maps.device)


def _check_nothing(stats: Any) -> None:
    """Infinite values were found before."""


# ---------------------------------------------------------------------------------------- the backend of sketches


def scan(x: Tensor, weights: Tensor | None, *, skip_infinite: bool) -> TableStats:
    """Find the extremes and the spread of each column."""
    table = in_rows(x)
    kernel, factors = get_kernel("gaussian"), np.ones(x.shape[1])
    with _on(table.device) as launcher:
        plan = _plan(launcher, table, weights, factors, kernel, skip_infinite)
    rows = plan.unbind(0)
    low, high, weight = rows[LOW], rows[HIGH], rows[WEIGHT]
    std = torch.where((low == high) | torch.isnan(low), 0.0, rows[STD])
    count = rows[COUNT].view(torch.int64).to(torch.float64)
    if weights is None:
        return TableStats(low, high, weight, std, count, len(x) - count)
    unknown = ~torch.isfinite(x) if skip_infinite else torch.isnan(x)
    return TableStats(low, high, weight, std, count, unknown.sum(0).to(torch.float64))


def fill(x: Tensor, weights: Tensor | None, plan: CellPlan) -> Tensor:
    """Sum the moments of all values in the cells of a plan: a row per cell, one column after the other."""
    table = in_rows(x).double()
    numbers = np.zeros((BUILT, x.shape[1]))
    integers = numbers.view(np.int64)
    has_cells = plan.sizes > 0
    # The kernels take the first cell from the minimum, and the unit of weights from their sum.
    numbers[LOW] = np.where(has_cells, (plan.first + 0.5) * np.ldexp(1.0, plan.exponents.clip(-1074, 1000)), 0.0)
    numbers[WEIGHT] = np.ldexp(1.0, SUM_BITS - plan.unit_exponents)
    integers[STATUS] = np.where(has_cells, ON_DEVICE, EMPTY)
    integers[CELLS], integers[EXPONENT] = plan.sizes, np.where(has_cells, plan.exponents, 0)
    integers[MIDDLE] = plan.sizes // 2
    with _on(table.device) as launcher:
        own, starts = _put(numbers, x.device), _put(plan.starts, x.device)
        planes = _fill(launcher, table, weights, own, _integers_of(own, x.shape[1]), starts, plan.sizes)
    units = np.repeat(-plan.unit_exponents, plan.sizes)
    return torch.ldexp(planes.T.to(torch.float64), torch.from_numpy(units).to(x.device)[:, None])


# ---------------------------------------------------------------------------------------------------------- look up


def look_up(table: Tensor, maps: Maps, out_of_range: OutOfRange, back: bool) -> Tensor:
    """Map a table to levels or scores, or back; infinite values become NaN."""
    table = in_rows(table)
    out = torch.empty(table.shape, dtype=table.dtype, device=table.device)
    if not table.numel():
        return out
    with _on(table.device) as launcher:
        is_exact = table.dtype == torch.float64 or maps.parameters.turns_into_scores
        if not back and out_of_range == "clip" and not is_exact:
            _look_up_quickly(launcher, table, maps, out)
            return out
        name = f"{'inverse' if back else 'forward'}_{NAMES[table.dtype]}"
        tiling = Tiling.of(table, 4 * launcher.resident_blocks(name, THREADS, 0))
        launcher.launch(
            name,
            tiling.grid,
            tiling.block,
            0,
            *_table_args(table),
            np.int32(tiling.width),
            np.int64(tiling.rows),
            _pointers(maps),
            np.int32(OUT_OF_RANGE[out_of_range]),
            np.int32(maps.parameters.turns_into_scores),
            out,
        )
    return out


ARRAYS = tuple(name for name in TENSORS if name not in ("alpha", "bandwidth"))  # of Maps in kernels.cu


def _pointers(maps: Maps) -> Tensor:
    """Return the addresses of the arrays of maps, on the device; they are copied there once."""
    if "_pointers" not in maps.__dict__:
        addresses = [getattr(maps, name).data_ptr() for name in ARRAYS]
        maps.__dict__["_pointers"] = _put(np.array(addresses, dtype=np.int64), maps.device)
    pointers: Tensor = maps.__dict__["_pointers"]
    return pointers


class QuickGroups(NamedTuple):
    """Columns whose cubics a block of the quick look-up keeps in shared memory."""

    lanes: int  # values that a thread reads at once
    repeats: int  # rows that are taken for one
    columns: int  # of a block
    most_rows: int  # cubics of a column; where there are more, those that most values need
    table_rows: int  # cubics of the group with most of them


def _quick_groups(table: Tensor, maps: Maps, shared_bytes: int) -> QuickGroups:
    """Divide the columns for the quick look-up."""
    is_aligned = table.data_ptr() % (LANES * table.element_size()) == 0
    key = is_aligned, table.is_contiguous(), table.stride(0) % LANES == 0, shared_bytes
    known: dict[Any, QuickGroups] = maps.__dict__.setdefault("_quick_groups", {})
    if key not in known:
        span = maps.__dict__.get("_span", 0)
        narrow = _divide(maps.sizes[0], LEAST_WINDOW, *key)
        known[key] = narrow if span <= narrow.most_rows else _divide(maps.sizes[0], 2 * span, *key)
    return known[key]


def _divide(
    sizes: list[int], least: int, is_aligned: bool, is_contiguous: bool, strides_fit: bool, shared_bytes: int
) -> QuickGroups:
    """Divide columns with so many cubics into the fewest groups that keep `least` of each, where it has so many."""
    n_columns, largest = len(sizes), max(sizes)
    capacity = shared_bytes - SHARED_RESERVE
    least = max(min(largest, least), 2)
    repeats = next(k for k in (1, 2, 4) if n_columns * k % LANES == 0)
    one_group = n_columns * repeats <= LANES * QUICK_THREADS and _bytes_of(least * n_columns, n_columns) <= capacity
    lanes = LANES if is_aligned and ((is_contiguous and one_group) if repeats > 1 else strides_fit) else 1
    repeats = repeats if lanes > 1 else 1
    for n_groups in range(1, n_columns + 1):
        columns = min(-(-n_columns // (n_groups * lanes)) * lanes, n_columns)  # as even as possible
        fits = columns * repeats <= lanes * QUICK_THREADS and _bytes_of(least * columns, columns) <= capacity
        if fits or columns <= lanes:
            break
    most_rows = max(min((capacity - _bytes_of(0, columns)) // (16 * columns), largest), 2)
    parts = [sizes[k : k + columns] for k in range(0, n_columns, columns)]
    if _bytes_of(most := max(map(sum, parts)), columns) <= capacity:  # tables of different sizes, all of them
        return QuickGroups(lanes, repeats, columns, max(largest, 2), most)
    return QuickGroups(lanes, repeats, columns, most_rows, max(sum(min(n, most_rows) for n in part) for part in parts))


def _bytes_of(n_rows: int, n_columns: int) -> int:
    return 16 * (n_rows + 1) + 8 * n_columns


def _windows(launcher: Any, maps: Maps, most_rows: int) -> Tensor:
    """Return the first cubic of each column that is kept in shared memory."""
    if max(maps.sizes[0]) <= most_rows:
        return _zeros(len(maps), maps.device)
    known: dict[int, Tensor] = maps.__dict__.setdefault("_windows", {})
    if most_rows not in known:
        known[most_rows] = windows = torch.empty(len(maps), dtype=torch.int32, device=maps.device)
        launcher.launch("choose_windows", (len(maps), 1), 256, 0, _pointers(maps), np.int32(most_rows), windows)
    return known[most_rows]


@lru_cache(maxsize=16)
def _zeros(n: int, device: torch.device) -> Tensor:
    return torch.zeros(n, dtype=torch.int32, device=device)


def _look_up_quickly(launcher: Any, table: Tensor, maps: Maps, out: Tensor) -> None:
    lanes, repeats, columns, most_rows, table_rows = _quick_groups(table, maps, launcher.shared_bytes)
    (n_rows, n_columns), stride = table.shape, _table_args(table)[3]
    n_groups = -(-n_columns // columns)
    n_rows = -(-n_rows // repeats)
    packets = columns * repeats // lanes
    height = max(QUICK_THREADS // packets, 1)
    shared = _bytes_of(table_rows, columns)
    kind = "one" if lanes == 1 else "long" if packets <= NARROW else "four"
    name = f"quick_{kind}_{NAMES[table.dtype]}"
    wanted = max(launcher.resident_blocks(name, packets * height, shared) // n_groups, 1)
    rows = max(-(-n_rows // wanted), 2 * height)
    parameters = maps.parameters
    highest = parameters.feature_range[1] if parameters.bounded else np.inf
    launcher.launch(
        name,
        (-(-n_rows // rows), n_groups),
        packets * height,
        shared,
        table,
        np.int64(n_rows),
        np.int64(stride * repeats),
        np.int64(n_columns * repeats),
        np.int64(table.numel()),
        np.int32(n_columns),
        np.int32(columns),
        np.int32(repeats),
        np.int64(rows),
        np.float32(highest),
        np.int32(table_rows),
        np.int32(most_rows),
        _windows(launcher, maps, most_rows),
        _pointers(maps),
        out,
    )
