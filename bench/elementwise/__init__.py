"""Elementwise functions beside numba's `vectorize`, NumPy and loops in C: `python -m bench.elementwise`."""
