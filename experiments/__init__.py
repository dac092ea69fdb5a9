"""Experiments that measure what the documentation says about kdi's statistics: ``python -m experiments``."""
