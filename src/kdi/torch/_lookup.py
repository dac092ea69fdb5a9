"""The maps and their inverses in plain torch operations: on any device, compiled, exported, and differentiable in x.

The formulas are those of cpp/lookup.hpp, in the same order; docs/packed-model.md explains them.
"""

from __future__ import annotations

from math import exp, nextafter, pi, sqrt
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from kdi._integral.maps import CONSTANT, CUBIC, EMPTY, LINEAR
from kdi._numerics.numpy_lookup import CLIPPED_SCORE, POSITION_ROUNDING
from kdi._utils.typing import OutOfRange
from kdi.torch._maps import Maps

NEWTON_STEPS = 50
BISECTIONS = 18  # of the interval of a level, among at most 2^18 knots, and as many more as maps have knots
LEAST_TAIL = 1e-8  # of scores, which are clipped at 1e-7: the derivative of smaller tails overflows


def forward(x: Tensor, maps: Maps, out_of_range: OutOfRange, steps: int) -> Tensor:
    """Map a table of shape (rows, columns) to levels or scores, in float64; infinite values become NaN.

    `steps` is what `search_steps` returns for the maps.
    """
    result = levels_of(x, maps, out_of_range, steps)
    return to_scores(result) if maps.parameters.turns_into_scores else result


def levels_of(x: Tensor, maps: Maps, out_of_range: OutOfRange, steps: int) -> Tensor:
    """Return what the maps hold: levels, or for open maps with scores these."""
    x = x.to(torch.float64)
    finite = torch.isfinite(x)
    known = finite & (maps.kind != EMPTY)
    x = torch.where(known, x, maps.low.nan_to_num(0.0))  # so that no gradient is NaN where the value is not
    inside = _cubics(x, maps)
    if steps:
        inside = torch.where(maps.kind == LINEAR, _lines(x, maps, steps), inside)
    result = torch.where((x >= maps.low) & (x < maps.high), inside, _ends(x, maps, out_of_range))
    return torch.where(known, result, torch.nan)


def is_transformed(x: Tensor) -> bool:
    """Tell whether torch.func wraps a tensor, such as vmap or jvp, or whether it has a tangent."""
    if torch._C._functorch.is_functorch_wrapped_tensor(x):
        return True
    return forward_ad.unpack_dual(x).tangent is not None


def search_steps(maps: Maps) -> int:
    """Return how many bisections find an interval among straight lines; 0 if no column has lines."""
    return maps.sizes[1].bit_length()


def most_steps(maps: Maps) -> int:
    """Return as many bisections as `search_steps` or more, from the shapes of the tensors alone."""
    return len(maps.knots).bit_length()


def _cubics(x: Tensor, maps: Maps) -> Tensor:
    position = ((x - maps.low) * maps.unit * maps.scale + POSITION_ROUNDING) - POSITION_ROUNDING
    is_cubic = maps.kind == CUBIC
    last = torch.where(is_cubic, maps.n_knots - 1, 0)
    i = torch.minimum(position.detach().nan_to_num(0.0).clamp(min=0), last.to(torch.float64)).to(torch.int64)
    t = (position - i).clamp(0, 1)  # far beyond the ends, powers would overflow and derivatives would be NaN
    rows = torch.where(is_cubic, maps.start + i, 0)
    c = _rows_of(maps.coefficients, rows)
    level = c[0] + t * (c[1] + t * (c[2] + t * c[3]))
    return torch.minimum(level, maps.high_level)


def _rows_of(coefficients: Tensor, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the four coefficients at `rows`; zeros where there are no cubics at all."""
    if not len(coefficients):
        zero = torch.zeros(rows.shape, dtype=torch.float64, device=rows.device)
        return zero, zero, zero, zero
    c0, c1, c2, c3 = coefficients[rows].unbind(-1)
    return c0, c1, c2, c3


def _interval_of(x: Tensor, points: Tensor, starts: Tensor, n_intervals: Tensor, stride: int, steps: int) -> Tensor:
    """Return the last interval of each column whose first point is not above x, by bisection."""
    first = torch.zeros(x.shape, dtype=torch.int64, device=x.device)
    last = torch.broadcast_to(n_intervals, x.shape)
    for _ in range(steps):
        middle = (first + last) // 2
        is_below = points[(starts + middle) * stride] <= x
        wide = last - first > 1
        first, last = torch.where(wide & is_below, middle, first), torch.where(wide & ~is_below, middle, last)
    return first


def _lines(x: Tensor, maps: Maps, steps: int) -> Tensor:
    is_line = maps.kind == LINEAR
    starts = torch.where(is_line, maps.start, 0)
    i = starts + _interval_of(x.detach(), maps.knots, starts, torch.where(is_line, maps.n_knots - 1, 1), 1, steps)
    left, right, low, high = maps.knots[i], maps.knots[i + 1], maps.levels[i], maps.levels[i + 1]
    return torch.minimum(low + (x - left) / (right - left) * (high - low), high)


def _ends(x: Tensor, maps: Maps, out_of_range: OutOfRange) -> Tensor:
    """Return the levels at and beyond the ends, where x is not inside."""
    top = torch.where(maps.low == maps.high, maps.low_level, maps.high_level)
    below, above = (x - maps.low).clamp(max=0), (x - maps.high).clamp(min=0)
    if out_of_range == "clip":
        ends = torch.broadcast_to(maps.low_level, x.shape), torch.broadcast_to(maps.high_level, x.shape)
    elif out_of_range == "linear":
        ends = maps.low_level + below * maps.low_slope, top + above * maps.high_slope
    else:
        missing = torch.full_like(x, torch.nan)
        ends = missing, missing
    if not maps.parameters.bounded:
        least, most = maps.parameters.feature_range
        ends = (
            _level_beyond(maps.low_level, maps.low_slope, maps.floor, nextafter(least, most), below, maps),
            _level_beyond(maps.high_level, maps.high_slope, maps.ceiling, nextafter(most, least), above, maps),
        )
    return torch.where(x == maps.high, top, torch.where(x < maps.low, *ends))


def _level_beyond(level: Tensor, slope: Tensor, limit: Tensor, nearest: float, distance: Tensor, maps: Maps) -> Tensor:
    """Return the level at a distance beyond an end: on a straight line of scores, or between level and limit."""
    if maps.parameters.output_distribution == "normal":
        return level + distance * slope
    gap = level - limit
    curve = limit + gap * torch.exp((distance * slope / gap).clamp(max=0.0))
    end = _number(nearest, level)
    return torch.minimum(torch.maximum(curve, torch.minimum(end, level)), torch.maximum(end, level))


def inverse(y: Tensor, maps: Maps, out_of_range: OutOfRange, steps: int) -> Tensor:
    """Map levels or scores of shape (rows, columns) back to values, in float64; infinite ones become NaN."""
    y = y.to(torch.float64)
    known = torch.isfinite(y) & (maps.kind != EMPTY)
    y = torch.where(known, y, 0.0)
    if maps.parameters.turns_into_scores:
        y = _to_levels(y)
    is_constant = maps.kind == CONSTANT
    inner = torch.maximum(torch.minimum(y, maps.high_level), maps.low_level)
    x = _inverse_cubics(inner, maps)
    if steps:
        x = torch.where(maps.kind == LINEAR, _inverse_lines(inner, maps, steps), x)
    x = torch.where(is_constant, maps.low + (inner - maps.low_level) * (out_of_range == "linear"), x)
    is_below, is_above = y <= maps.low_level, (y >= maps.high_level) & (y > maps.low_level)
    x = torch.where(is_below, maps.low, torch.where(is_above, maps.high, x))
    if not maps.parameters.bounded:
        least, most = maps.parameters.feature_range
        low_y, high_y = y.clamp(max=maps.low_level), y.clamp(min=maps.high_level)
        below = maps.low + _distance_beyond(maps.low_level, maps.low_slope, least, nextafter(least, most), low_y, maps)
        above = maps.high + _distance_beyond(
            maps.high_level, maps.high_slope, most, nextafter(most, least), high_y, maps
        )
        x = torch.where(y < maps.low_level, below, torch.where(is_above, above, x))
        outside = (y < maps.floor) | (y > maps.ceiling)
    elif out_of_range == "linear":
        start = torch.where(is_constant, maps.low_level, maps.high_level)
        x = torch.where(y < maps.low_level, maps.low + (y - maps.low_level) / maps.low_slope, x)
        x = torch.where(y > maps.high_level, maps.high + (y - start) / maps.high_slope, x)
        outside = torch.zeros_like(known)
    else:
        outside = (y < maps.low_level) | (y > maps.high_level)
    if out_of_range == "nan":
        known = known & ~outside
    return torch.where(known, x, torch.nan)


def _inverse_cubics(y: Tensor, maps: Maps) -> Tensor:
    """Solve for x by Newton's method within a bracket; one more step makes the result differentiable in y."""
    if not len(maps.coefficients):
        return torch.zeros_like(y)
    is_eager = not torch.compiler.is_compiling()
    transformed = is_eager and is_transformed(y)
    is_cubic = maps.kind == CUBIC
    starts, n = torch.where(is_cubic, maps.start, 0), torch.where(is_cubic, maps.n_knots - 1, 1)
    flat, level = maps.coefficients.reshape(-1), y.detach()
    most = int(maps.n_knots.max()) if is_eager else 2**BISECTIONS
    i = _interval_of(level, flat, starts, n, 4, most.bit_length())
    c0, c1, c2, c3 = _rows_of(maps.coefficients, starts + i)
    rise = flat[(starts + i + 1) * 4] - c0
    wanted = level - c0
    t = wanted / rise
    below, above = torch.zeros_like(t), torch.ones_like(t)
    for _ in range(NEWTON_STEPS):
        miss = t * (c1 + t * (c2 + t * c3)) - wanted
        above, below = torch.where(miss > 0, t, above), torch.where(miss > 0, below, t)
        following = t - miss / (c1 + t * (2 * c2 + 3 * t * c3))
        following = torch.where((following > below) & (following < above), following, 0.5 * (below + above))
        settled = (following - t).abs() < 1e-15
        t = torch.where(settled, t, following)
        if is_eager and not transformed and bool(settled.all()):
            break
    if y.requires_grad or transformed:
        t = t + (y - level) / (c1 + t * (2 * c2 + 3 * t * c3))
    return torch.minimum(maps.low + (i + t) / maps.scale / maps.unit, maps.high)


def _inverse_lines(y: Tensor, maps: Maps, steps: int) -> Tensor:
    is_line = maps.kind == LINEAR
    starts = torch.where(is_line, maps.start, 0)
    i = starts + _interval_of(y.detach(), maps.levels, starts, torch.where(is_line, maps.n_knots - 1, 1), 1, steps)
    offset, rise, gap = y - maps.levels[i], maps.levels[i + 1] - maps.levels[i], maps.knots[i + 1] - maps.knots[i]
    slope = gap / rise
    is_normal = torch.isfinite(slope) & (slope >= torch.finfo(torch.float64).tiny)
    x = maps.knots[i] + torch.where(is_normal, offset * slope, offset / rise * gap)
    return torch.minimum(x, maps.knots[i + 1])


def _distance_beyond(level: Tensor, slope: Tensor, limit: float, nearest: float, y: Tensor, maps: Maps) -> Tensor:
    """Return the distance from an end at which the level is y."""
    if maps.parameters.output_distribution == "normal":
        return (y - level) / slope
    gap, least = level - limit, abs(nearest - limit)
    left = torch.where(gap > 0, (y - limit).clamp(min=least), (y - limit).clamp(max=-least))
    length = (gap / slope).abs().clamp(max=torch.finfo(torch.float64).max)
    return torch.log(left / gap).clamp(max=0.0) * length * torch.sign(gap)


def to_scores(levels: Tensor) -> Tensor:
    """Turn levels into normal scores, clipped as in QuantileTransformer; those beyond 0 and 1 go on in a line."""
    inner = levels.clamp(0, 1)
    is_upper = inner > 0.5
    tail = torch.where(is_upper, 1 - inner, inner).clamp(min=LEAST_TAIL)
    ndtri = _exported_ndtri if torch.compiler.is_exporting() else torch.special.ndtri
    scores = ndtri(tail).clamp(_number(CLIPPED_SCORE, levels), _number(0.0, levels))
    return torch.where(is_upper, -scores, scores) + (levels - inner)


def _exported_ndtri(tail: Tensor) -> Tensor:
    """Compute the normal quantiles of tails up to 1/2 as Cephes does; ONNX has no such function."""
    centre = tail - 0.5
    square = centre**2
    inner = (centre + centre * (square * _polynomial(square, CENTRE_P) / _polynomial(square, CENTRE_Q))) * _number(
        sqrt(2 * pi), tail
    )
    x = torch.sqrt(-2 * torch.log(tail.clamp(min=1e-12, max=0.25)))  # smaller tails are clipped
    z = 1 / x
    outer = torch.log(x) / x - x + z * _polynomial(z, TAIL_P) / _polynomial(z, TAIL_Q)
    return torch.where(tail > exp(-2), inner, outer)


def _polynomial(x: Tensor, coefficients: tuple[float, ...]) -> Tensor:
    total = torch.zeros_like(x)
    for coefficient in coefficients:
        total = _number(coefficient, x) + x * total
    return total


def _number(value: float, like: Tensor) -> Tensor:
    """Return a number as a tensor of one dimension: the exporter to ONNX rounds others to float32."""
    return torch.tensor([value], dtype=torch.float64, device=like.device)


# Cephes, ndtri.c: the highest power first.
CENTRE_P = (
    -5.99633501014107895267e1,
    9.80010754185999661536e1,
    -5.66762857469070293439e1,
    1.39312609387279679503e1,
    -1.23916583867381258016e0,
)
CENTRE_Q = (
    1.0,
    1.95448858338141759834e0,
    4.67627912898881538453e0,
    8.63602421390890590575e1,
    -2.25462687854119370527e2,
    2.00260212380060660359e2,
    -8.20372256168333339912e1,
    1.59056225126211695515e1,
    -1.18331621121330003142e0,
)
TAIL_P = (
    4.05544892305962419923e0,
    3.15251094599893866154e1,
    5.71628192246421288162e1,
    4.40805073893200834700e1,
    1.46849561928858024014e1,
    2.18663306850790267539e0,
    -1.40256079171354495875e-1,
    -3.50424626827848203418e-2,
    -8.57456785154685413611e-4,
)
TAIL_Q = (
    1.0,
    1.57799883256466749731e1,
    4.53907635128879210584e1,
    4.13172038254672030440e1,
    1.50425385692907503408e1,
    2.50464946208309415979e0,
    -1.42182922854787788574e-1,
    -3.80806407691578277194e-2,
    -9.33259480895457427372e-4,
)


def _to_levels(scores: Tensor) -> Tensor:
    """Turn normal scores into levels: clipped ones are the ends, also where they were rounded to float32."""
    inner = scores.clamp(CLIPPED_SCORE, -CLIPPED_SCORE)
    is_end = inner.abs() >= -CLIPPED_SCORE * (1 - 1e-7)
    return scores - inner + torch.where(is_end, (inner > 0).to(torch.float64), torch.special.ndtr(inner))


def limited(result: Tensor, dtype: Any) -> Tensor:
    """Convert results to a dtype; where a line leaves its range, they are the largest number of the dtype."""
    largest = torch.finfo(dtype).max
    return result.clamp(-largest, largest).to(dtype)
