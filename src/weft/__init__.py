"""Weft compiles data-parallel kernels: written for one thread, run as SIMD code on all cores.

The front doors are modules: ``from weft import cuda`` for kernels in the CUDA-Python dialect.
Importing ``weft`` itself is cheap; LLVM is loaded when the first kernel is compiled.
"""

from weft.runtime.settings import get_num_threads, set_num_threads

__all__ = ["get_num_threads", "set_num_threads"]
__version__ = "0.1.0"
