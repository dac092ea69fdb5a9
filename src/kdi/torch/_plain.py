"""Scan and fill in plain torch operations, for devices without kernels of their own.

Moments are sums of integers, as in kernels.cu: they do not depend on the order of additions, so every run and every
device gives the same bits.
"""

from __future__ import annotations

import torch
from torch import Tensor

from kdi.torch._sketching import CellPlan, TableStats

BLOCK_VALUES = 2**22  # values that are summed at once, to bound the temporary tensors


def scan(x: Tensor, weights: Tensor | None, *, skip_infinite: bool) -> TableStats:
    """Find the extremes and the spread of each column."""
    n_columns, device = x.shape[1], x.device
    low = torch.full((n_columns,), torch.inf, dtype=torch.float64, device=device)
    high, weight, mean, square, count, missing = -low, *(torch.zeros_like(low) for _ in range(5))
    for block, mass in _blocks(x, weights):
        unknown = ~torch.isfinite(block) if skip_infinite else torch.isnan(block)
        mass = (~unknown).to(torch.float64) if mass is None else torch.where(unknown, 0.0, mass[:, None])
        valid = mass > 0
        low = torch.minimum(low, torch.where(valid, block, torch.inf).amin(0))
        high = torch.maximum(high, torch.where(valid, block, -torch.inf).amax(0))
        count, missing = count + valid.sum(0), missing + unknown.sum(0)
        # The pairwise formula of Chan, Golub and LeVeque; infinite values give NaN, and are an error later.
        own = mass.sum(0)
        values = torch.where(valid, block, 0.0)
        centre = ((values * (mass / own.clamp(min=torch.finfo(torch.float64).tiny))).sum(0)).nan_to_num(0.0)
        squares = torch.where(valid, (values - centre) ** 2 * mass, 0.0).sum(0)
        total = weight + own
        share = torch.where(total > 0, own / total, 0.0)
        distance = torch.where(weight > 0, centre - mean, centre)
        square = square + squares + torch.where(weight > 0, distance**2 * weight * share, 0.0)
        mean = torch.where(weight > 0, mean + distance * share, centre)
        weight = total
    low, high = (torch.where(count > 0, end, torch.nan) for end in (low, high))
    std = torch.minimum((square / weight).sqrt(), 0.5 * (high - low))
    return TableStats(low, high, weight, std, count, missing)


def fill(x: Tensor, weights: Tensor | None, plan: CellPlan) -> Tensor:
    """Sum the moments of all values in the cells of a plan: a row per cell, one column after the other."""
    device = x.device
    exponents = torch.tensor(plan.exponents, device=device)
    # In two steps, so that neither factor overflows.
    halves = [
        torch.ldexp(torch.ones(len(exponents), dtype=torch.float64, device=device), -part)
        for part in (exponents // 2, exponents - exponents // 2)
    ]
    first, sizes, starts = (torch.tensor(one, device=device) for one in (plan.first, plan.sizes, plan.starts))
    unit_exponents = torch.tensor(plan.unit_exponents, device=device)
    unit = torch.ldexp(torch.ones_like(halves[0]), unit_exponents)
    sums = torch.zeros((plan.n_cells, 4), dtype=torch.int64, device=device)
    for block, mass in _blocks(x, weights):
        place = block * halves[0] * halves[1]
        cell = place.floor()
        z = place - cell - 0.5
        index = cell - first
        valid = (index >= 0) & (index < sizes)
        amount = unit.expand_as(z) if mass is None else mass[:, None] * unit
        if mass is not None:
            valid &= mass[:, None] > 0
        at = (starts + index.nan_to_num(0.0).clamp(-1, 2**40).to(torch.int64))[valid]
        amounts = torch.stack([amount[valid] * z[valid] ** k for k in range(4)], 1)
        sums.index_add_(0, at, amounts.round().to(torch.int64))
    columns = torch.repeat_interleave(torch.arange(len(sizes), device=device), sizes)
    return torch.ldexp(sums.to(torch.float64), -unit_exponents[columns][:, None])


def _blocks(x: Tensor, weights: Tensor | None) -> list[tuple[Tensor, Tensor | None]]:
    """Return blocks of rows as float64, with their weights; they are made when they are needed."""
    height = max(1, BLOCK_VALUES // max(x.shape[1], 1))
    rows = [slice(start, start + height) for start in range(0, len(x), height)]
    return ((x[part].to(torch.float64), None if weights is None else weights[part]) for part in rows)  # type: ignore[return-value]
