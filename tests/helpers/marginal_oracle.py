"""Densities on an interval as plain sums, with the kernels reflected at its ends."""

import numpy as np
from oracle import distinct, spread


def reflected(values, bandwidth, low, high, at, weights=None):
    """The sum of Gaussians over the values and many of their mirror images, one by one."""
    points, masses = distinct(values, weights)
    turn = 2 * (high - low)
    total = np.zeros(len(at))
    for k in range(-4, 5):
        for images in (points + k * turn, 2 * low - points + k * turn):
            u = (at[:, None] - images) / bandwidth
            total += np.exp(-(u**2) / 2) @ masses
    return total / masses.sum() / bandwidth / np.sqrt(2 * np.pi)


def scott(values, weights=None):
    """Scott's bandwidth, of the narrower of two measures of spread."""
    points, masses = distinct(values, weights)
    shares = np.cumsum(masses) / masses.sum()
    first, last = (points[np.flatnonzero(shares >= share - 1e-15)[0]] for share in (0.25, 0.75))
    narrower = min(spread(values, weights), (last - first) / 1.349) or spread(values, weights)
    return narrower * np.size(values) ** -0.2
