"""CUDA C++ from Python: programs, their kernels and variables."""
