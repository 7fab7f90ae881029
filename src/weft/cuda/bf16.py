"""Functions of bfloat16 numbers in kernels, as ``numba.cuda.bf16`` has them, and the type `bfloat16` itself.

The functions are names for kernels (`weft.frontend.python.device_bfloat`): arithmetic, comparisons and mathematics
(``hadd``, ``hlt``, ``hexp``, ...) and conversions (``float32_to_bfloat16_rz``, ``bfloat16_as_int16``, ...).
"""

from __future__ import annotations

from weft.frontend.python.cuda_names import NAMES, CudaName
from weft.frontend.python.types import bfloat16

_FUNCTIONS = sorted(path.removeprefix("bf16.") for path in NAMES if path.startswith("bf16."))
__all__ = ["bfloat16", *_FUNCTIONS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> CudaName:
    """A function, by its name."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"cuda.bf16 has no '{name}'")
    return CudaName(f"bf16.{name}")


def __dir__() -> list[str]:
    return __all__
