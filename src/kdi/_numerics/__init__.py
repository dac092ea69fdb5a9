"""Kernels, the direct sum, and the numeric functions in C++ and NumPy."""
