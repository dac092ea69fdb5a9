"""Decodes the data that a page of the explorer embeds, without a browser."""

import gzip
import json
import re
from base64 import b64decode

import numpy as np

from kdi._numerics.direct_sum import cell_sum
from kdi.explorer._features import KERNEL

DATA = re.compile(r'<script id="data" type="text/plain">([A-Za-z0-9+/=]*)</script>')


def contents_of(page):
    """The contents that a page embeds."""
    (data,) = DATA.findall(page.html)
    return json.loads(gzip.decompress(b64decode(data)))


def positions_of(feature, ranks=None):
    """Positions relative to the minimum: of the values, of the centres of cells, or of the knots of ranks."""
    part = feature if ranks is None else ranks
    places = np.array(part["places"], dtype=float)
    if not part["width"]:
        return places - feature["minimum"]
    return np.cumsum(places) * part["width"] + part["start"]


def moments_of(feature):
    return np.array(feature["moments"], dtype=float).T * feature["units"]


def levels_of(feature, at, alpha):
    """T at some x, at an alpha that is neither 0 nor infinite: the sum over the embedded cells."""
    bandwidth = alpha * feature["std"] * KERNEL.scale
    reach = feature["maximum"] - feature["minimum"]
    knots = np.concatenate([[0.0], np.clip(np.asarray(at) - feature["minimum"], 0, reach), [reach]])
    sums, _ = cell_sum(positions_of(feature), moments_of(feature), feature["width"], KERNEL, bandwidth, knots)
    return np.clip((sums - sums[0]) / (sums[-1] - sums[0]), 0, 1)[1:-1]


def ranks_of(feature, at):
    """T at alpha = 0 from the embedded ranks."""
    ranks = feature["ranks"]
    if ranks is None:
        mass = moments_of(feature)[:, 0]
        knots, levels = positions_of(feature), np.cumsum(mass) - 0.5 * mass
        levels = (levels - levels[0]) / (levels[-1] - levels[0])
    else:
        knots, levels = positions_of(feature, ranks), np.cumsum(ranks["levels"]) * ranks["unit"]
    knots[0], knots[-1] = 0.0, feature["maximum"] - feature["minimum"]
    return np.interp(np.asarray(at) - feature["minimum"], knots, levels)
