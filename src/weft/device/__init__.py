"""What doors for kernels in C dialects share: arguments, code from the cache, memory of a program, reports, debugging.

`weft.opencl` and `weft.cuda.Module` are such doors. What kernels are compiled from is an `weft.device.origin.Origin`.
"""
