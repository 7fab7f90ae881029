"""Ahead of time: shared libraries of kernels and functions, which need neither weft nor a compiler when they run."""
