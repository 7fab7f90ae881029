"""Loops that may run as kernels, written out as source: CUDA-Python and OpenCL C.

`nests` chooses the loops and how threads share them, `combining` says what iterations hand on, `variables` which values
of a nest have a name; `structure` finds the statements behind its control flow, `values` the expressions. `grids`,
`reductions`, `elements`, `scans`, `searches` and `host_loops` make plans of kernels and of what the host does, which
`cuda_file` and `opencl_file` write; `tiles` puts what threads share into shared memory.
"""
