"""Valleys of the density of a KD-integral: `cluster` and `KDIDiscretizer`."""
