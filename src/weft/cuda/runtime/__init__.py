"""A CUDA runtime for the CPU: a ``libcudart`` by which programs of nvcc run their kernels through weft.

It is a shared library in C (``c/``) that `library` makes and the loader finds before NVIDIA's. Kernels are compiled by
a process of its own (`compiler`) from the PTX in the program (`fatbin`). ``docs/cuda_runtime.md`` has what it has.
"""
