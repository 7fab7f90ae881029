"""How fast vectorized kernels are, beside gcc, clang and numba on the same computation written as loops.

``python -m bench.speed`` runs all rows, ``python -m bench.speed mandelbrot collatz --rounds 15`` some of them.
"""
