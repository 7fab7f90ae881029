"""PTX from Python: modules, their kernels and variables (`weft.ptx.Module`)."""
