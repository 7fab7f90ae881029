"""Kernels in CUDA C++ from Python."""
