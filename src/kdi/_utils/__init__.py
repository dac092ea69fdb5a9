"""Validation, errors, names, threads, progress and file writing: shared by all other packages."""
