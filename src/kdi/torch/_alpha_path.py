"""T as a function of x and of log alpha: maps at regular steps of log alpha, and a smooth curve through them.

    log alpha    -2    -1     0     1     2  …  n-1     n   n+1   n+2      nodes; 0 is LEAST, n is MOST
    maps          |     |     |--t--|     |       |     |     |     |
                  \\_________ T(x) of six maps _______/  enter at a t from node 0 to node 1

Between two nodes, T(x) at a fixed x is the polynomial of degree five with the values, the slopes and the curvatures at
both; these two come from differences of fourth order. The six maps therefore enter with weights w_k(t), whose sum is 1,
and the curve has two continuous derivatives. Everything is a lookup and a sum: autograd gives the derivatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np
import torch
from torch import Tensor

from kdi._integral import maps as core_maps
from kdi._integral.build import FeatureMaps, maps_by_alpha
from kdi._integral.maps import CUBIC, PackedMaps
from kdi._numerics.kernels import get_kernel
from kdi._sketch.packed import PackedSketches
from kdi._sketch.sketch import Sketch
from kdi._utils.threads import count_threads
from kdi._utils.typing import Float64Array, OutOfRange
from kdi.torch import _lookup
from kdi.torch._maps import ROWS, Maps, Parameters

LEAST, MOST = 0.05, 50.0  # the alphas of a path
N_INTERVALS = 70
STEP = log(MOST / LEAST) / N_INTERVALS  # of log alpha: 0.099
BEFORE, AFTER = 2, 3  # neighbours on both sides that have a weight in an interval
NEIGHBOURS = BEFORE + 1 + AFTER
CHECKED_AT = 0.28  # of an interval: where errors of slopes at both ends add up most
CHECKED_POINTS = 64  # of each column, for each of four alphas
SAFETY = 2.0  # between the largest error at the points that are checked, and that of all others
LARGEST_SCORE = 6.0  # errors of normal scores are stated up to here, as by `error_bound`
ROUNDING = 1e-14  # of weighted sums of levels
WORK = 2**18  # building the maps of a column takes as long as reading so many values

PER_COLUMN = tuple(name for name in ROWS if name not in ("coefficients", "knots", "levels", "guide"))


def weights_matrix() -> Float64Array:
    """Return the powers of t (rows) in the weights of the six neighbours (columns)."""
    # Powers 0 to 5 of the polynomials with value, slope or curvature 1 at one end, and 0 otherwise.
    value = [1, 0, 0, -10, 15, -6]
    slope, slope_after = [0, 1, 0, -6, 8, -3], [0, 0, 0, -4, 7, -3]
    curvature, curvature_after = [0, 0, 0.5, -1.5, 1.5, -0.5], [0, 0, 0, 0.5, -1, 0.5]
    first, second = np.array([1, -8, 0, 8, -1]) / 12, np.array([-1, 16, -30, 16, -1]) / 12
    matrix = np.zeros((6, NEIGHBOURS))
    matrix[:, BEFORE] += value
    matrix[:, BEFORE + 1] += np.array([1, 0, 0, 0, 0, 0]) - value
    matrix[:, :5] += np.outer(slope, first) + np.outer(curvature, second)
    matrix[:, 1:] += np.outer(slope_after, first) + np.outer(curvature_after, second)
    return matrix


MATRIX = weights_matrix().tolist()


def path_alphas(place: float, n: int) -> Float64Array:
    """Return n alphas at regular steps from a place on the path; node 0 is LEAST."""
    alphas: Float64Array = LEAST * np.exp(STEP * (place + np.arange(n)))
    return alphas


@dataclass(frozen=True, eq=False)
class AlphaMaps:
    """The maps of all nodes, of shape (nodes, columns), and the error of the curve through them for each column."""

    maps: Maps
    error: Tensor


def build_path(sketches: Sequence[Sketch], parameters: Parameters) -> AlphaMaps:
    """Build the maps of all nodes, and measure how far the curve through them is from exact maps between nodes."""
    kernel, options = get_kernel(parameters.kernel, parameters.order), parameters.options
    packed = PackedSketches.pack(sketches)
    n_threads = count_threads(None, WORK * len(packed))
    alphas = path_alphas(-BEFORE, N_INTERVALS + NEIGHBOURS - 1)
    nodes = maps_by_alpha(packed, alphas, kernel, options, n_threads)
    checks = maps_by_alpha(packed, path_alphas(CHECKED_AT, N_INTERVALS), kernel, options, n_threads)
    error = SAFETY * measured_error(nodes, checks, checked_points(nodes, parameters, n_threads), n_threads)
    bounds = [np.nan_to_num(one.error) for one in (*nodes, *checks)]
    rounding = ROUNDING * max(abs(end) for end in stated_range(parameters))
    joined = join_maps(nodes)
    columns = np.repeat(alphas, len(packed))
    features = FeatureMaps(columns, np.full_like(columns, np.nan), joined, options)
    maps = Maps.from_features(features, (len(alphas), len(packed)), 0, parameters)
    return AlphaMaps(maps, torch.from_numpy(error + np.max(bounds, axis=0) + rounding))


def measured_error(
    nodes: Sequence[PackedMaps], checks: Sequence[PackedMaps], points: Float64Array, n_threads: int
) -> Float64Array:
    """Return the largest error of the curve at one place of each interval, at some points of each column."""

    def levels_of(maps: PackedMaps) -> Float64Array:
        out = np.empty_like(points)
        core_maps.forward(maps, points, out, "clip", n_threads)
        return out

    weights = CHECKED_AT ** np.arange(6) @ np.array(MATRIX)
    window = [levels_of(maps) for maps in nodes[: NEIGHBOURS - 1]]
    worst = np.zeros(points.shape[1])
    for i, check in enumerate(checks):
        window.append(levels_of(nodes[i + NEIGHBOURS - 1]))
        curve = sum(weight * levels for weight, levels in zip(weights, window, strict=True))
        exact = levels_of(check)
        error = np.where(abs(exact) <= LARGEST_SCORE, abs(curve - exact), 0.0)
        worst = np.fmax(worst, np.fmax.reduce(error, axis=0))
        window.pop(0)
    return worst


def checked_points(nodes: Sequence[PackedMaps], parameters: Parameters, n_threads: int) -> Float64Array:
    """Return points of each column at even steps of T, for some alphas; the largest gives nearly even steps of x."""
    low, high = stated_range(parameters)
    share = np.linspace(0, 1, CHECKED_POINTS)[:, None]
    levels = np.repeat(low * (1 - share) + high * share, len(nodes[0]), axis=1)
    points = []
    for place in (0, len(nodes) // 3, 2 * len(nodes) // 3, -1):
        found = np.empty_like(levels)
        core_maps.inverse(nodes[place], levels, found, "clip", n_threads)
        points.append(np.nan_to_num(found))
    return np.ascontiguousarray(np.vstack(points))


def stated_range(parameters: Parameters) -> tuple[float, float]:
    """Return the range of levels, or of the scores that open maps hold, in which errors are stated."""
    is_score = not parameters.bounded and parameters.output_distribution == "normal"
    return (-LARGEST_SCORE, LARGEST_SCORE) if is_score else parameters.feature_range


def join_maps(nodes: Sequence[PackedMaps]) -> PackedMaps:
    """Join the packed maps of all nodes, those of one after those of the other."""
    arrays = {name: np.concatenate([getattr(maps, name) for maps in nodes]) for name in ROWS}
    sizes = np.array([[len(maps.coefficients), len(maps.knots)] for maps in nodes])
    cubic_start, line_start = (np.cumsum(sizes, axis=0) - sizes).T
    starts = [
        maps.start + np.where(maps.kind == CUBIC, cubic, line)
        for maps, cubic, line in zip(nodes, cubic_start, line_start, strict=True)
    ]
    return PackedMaps(**(arrays | {"start": np.concatenate(starts)}))


def clamped(log_alpha: Tensor) -> Tensor:
    """Return log alpha in float64, limited to the path; the gradient is 0 beyond its ends."""
    ends = torch.tensor([log(LEAST), log(MOST)], dtype=torch.float64, device=log_alpha.device)
    return log_alpha.to(torch.float64).clamp(*ends)


def forward(x: Tensor, path: Maps, log_alpha: Tensor, out_of_range: OutOfRange, steps: int) -> Tensor:
    """Map a table of shape (rows, columns) by the curve at one log alpha per column, in float64."""
    n_columns = x.shape[1]
    # Numbers as tensors, since the exporter to ONNX rounds plain ones to float32.
    start, step = torch.tensor([log(LEAST), STEP], dtype=torch.float64, device=x.device)
    place = (clamped(log_alpha) - start) / step
    # The result of a log alpha that is NaN is NaN; as an index it would be an error, on CUDA a fatal one.
    first = place.detach().nan_to_num(0.0).floor().clamp(0, N_INTERVALS - 1).to(torch.int64)
    weights = _weights(place - first)
    neighbours = torch.arange(NEIGHBOURS, device=x.device)
    columns = (first[:, None] + neighbours) * n_columns + torch.arange(n_columns, device=x.device)[:, None]
    levels = _lookup.levels_of(_repeated(x), _columns_of(path, columns.reshape(-1)), out_of_range, steps)
    levels = levels.reshape(x.shape[0], n_columns, NEIGHBOURS)
    known = ~torch.isnan(levels).any(-1)
    # Weights times NaN would make the gradient of log alpha NaN, whatever becomes of the result.
    result = (torch.where(known[..., None], levels, 0.0) * weights).sum(-1)
    low, high, floor, ceiling = (one[:n_columns] for one in (path.low, path.high, path.floor, path.ceiling))
    limited = result.clamp(floor, ceiling)  # rounding, and negative weights
    continues = path.parameters.bounded and out_of_range == "linear"
    result = torch.where((x >= low) & (x <= high), limited, result) if continues else limited
    if path.parameters.turns_into_scores:
        result = _lookup.to_scores(result)
    return torch.where(known, result, torch.nan)


def _weights(t: Tensor) -> Tensor:
    """Return the weights of the six neighbours at a place t of each column's interval, by Horner's scheme."""
    powers = torch.tensor(MATRIX, dtype=torch.float64, device=t.device)
    weights = powers[5].expand(len(t), NEIGHBOURS)
    for power in (4, 3, 2, 1, 0):
        weights = powers[power] + t[:, None] * weights
    return weights


def _repeated(x: Tensor) -> Tensor:
    """Return a table with each column repeated for its neighbours."""
    return x[..., None].expand(-1, -1, NEIGHBOURS).reshape(x.shape[0], x.shape[1] * NEIGHBOURS)


def _columns_of(path: Maps, columns: Tensor) -> Maps:
    """Return the maps of some columns, which share the rows of all."""
    chosen = {name: tensor[columns] if name in PER_COLUMN else tensor for name, tensor in path.tensors().items()}
    return Maps(**chosen, parameters=path.parameters)
