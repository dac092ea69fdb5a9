"""What is seen in a KDIDisplay, for tests of it."""

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection


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
