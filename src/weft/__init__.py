"""Weft compiles data-parallel kernels: written for one thread, run as SIMD code on all cores.

The front doors are modules: ``from weft import cuda`` for kernels in the CUDA-Python dialect.
Importing ``weft`` itself is cheap; LLVM is loaded when the first kernel is compiled.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any

from weft.machine.platforms import require_platform

require_platform(sys.platform)

from weft.runtime.settings import get_num_threads, set_num_threads  # noqa: E402

__all__ = ["get_num_threads", "set_num_threads"]
__version__ = "0.1.0"

_MODULES = ("cuda", "dask", "errors", "loops", "opencl", "ptx", "types")
_NAMES = {
    "guvectorize": "weft.loops.generalized",
    "jit": "weft.loops.jit",
    "log": "weft.logs",
    "keep_exec_source": "weft.frontend.python.unfiled_text",
    "njit": "weft.loops.jit",
    "TiledArray": "weft.tiled_arrays",
    "profile": "weft.profiling",
    "prange": "weft.frontend.python.prange",
    "tiled": "weft.tiled_arrays",
    "vectorize": "weft.loops.vectorize",
    "vectorize_ir": "weft.loops.llvm_ir",
}


def __getattr__(name: str) -> Any:
    """The front doors as attributes, imported when they are asked for."""
    if name in _MODULES:
        return import_module(f"weft.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    if not name.startswith("_"):
        # Types have their names here too (``weft.float32``), as numba's have.
        types = import_module("weft.types")
        if name in types.__all__:
            return getattr(types, name)
    raise AttributeError(f"module 'weft' has no attribute '{name}'")


if os.environ.get("WEFT_LOG"):
    import_module("weft.logs").log_as_the_environment_says()
