"""Loops that may run as kernels, written out as source: CUDA-Python and OpenCL C.

`nests` chooses the loops and their grid, `variables` says which values of a nest have a name, `structure` finds the
statements behind its control flow, `values` the expressions, and `cuda_python` and `opencl_c` print them.
"""
