"""Experiments: what the documentation says of kdi's statistics, measured anew by ``python -m experiments``."""
