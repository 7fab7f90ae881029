"""How fast work-group kernels are: beside OpenCL runtimes, and beside gcc, clang and numba on loops.

``python -m bench.groups`` runs all rows, ``python -m bench.groups scan --threads 1 --cpu-time`` some of them.
"""
