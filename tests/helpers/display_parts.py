"""What is seen in a KDIDisplay and in a ClusterDisplay, for tests of them."""

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_hex


def legend(display):
    return [text.get_text() for text in display.legend_.get_texts()]


def notes(display):
    return [text.get_text() for text in [*display.above_.texts, *display.beside_.texts]]


def outline(collection):
    """Places and heights of what is filled from zero."""
    corners = collection.get_paths()[0].vertices
    places = np.unique(corners[:, 0])
    return places, np.array([corners[corners[:, 0] == x, 1].max() for x in places])


def density_above(display):
    (found,) = [one for one in display.above_.collections if isinstance(one, PolyCollection)]
    return outline(found)


def spikes(margin):
    """The straight lines of densities that are infinite."""
    found = [one for one in margin.collections if isinstance(one, LineCollection)]
    return [segment.tolist() for one in found for segment in one.get_segments()]


def vertical_lines(ax):
    """The x of every line that goes straight up."""
    ends = [(np.asarray(line.get_xdata(), dtype=float), np.asarray(line.get_ydata())) for line in ax.lines]
    return sorted(float(x[0]) for x, y in ends if len(x) == 2 and x[0] == x[1] and y[0] != y[1])


def bars(ax):
    """Left end, right end, height and colour of every bar that can be seen."""
    return [
        (bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height(), to_hex(bar.get_facecolor()))
        for container in ax.containers
        for bar in container
        if bar.get_height() > 0
    ]


def axes_legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
