"""Speed, memory, start-up, scaling and threads of kdi, side by side with its neighbours: ``python -m benchmarks``."""
