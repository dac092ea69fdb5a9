"""Measure speed, memory, start-up, scaling and threads of kdi beside similar libraries: ``python -m benchmarks``."""
