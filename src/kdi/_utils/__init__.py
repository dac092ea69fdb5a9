"""Validation, names, threads, progress and file writing: what every other package may use."""
