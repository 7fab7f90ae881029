"""What doors share: device arrays and streams, and what kernels in C dialects have in common.

The latter is arguments, code from the cache, memory of a program, reports, debugging; `weft.opencl` and
`weft.cuda.Module` are doors of that kind. What their kernels are compiled from is an `weft.device.origin.Origin`.
"""
