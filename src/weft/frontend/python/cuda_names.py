"""The names of `cuda` that mean something inside kernels, as objects that can be told from all others.

`weft.cuda` re-exports them. On the host they only say what they are for.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from weft.diag.errors import UnsupportedError
from weft.frontend.python import device_bfloat, device_half, device_libdevice
from weft.frontend.python.vector_types import VECTOR_TYPES

_ATOMICS = "add sub min max nanmin nanmax and_ or_ xor exch cas compare_and_swap inc dec"
_PLAIN = """
grid gridsize threadIdx blockIdx blockDim gridDim laneid warpsize
syncthreads syncthreads_count syncthreads_and syncthreads_or threadfence threadfence_block threadfence_system
fma popc clz brev ffs selp cbrt
ldca ldcg ldcs ldlu ldcv stcg stcs stwb stwt
libdevice libdevice.fma libdevice.fmaf libdevice.popc libdevice.popcll libdevice.clz libdevice.clzll
libdevice.brev libdevice.brevll libdevice.ffs libdevice.ffsll
local shared const atomic random fp16 bf16 cg cg.this_grid cg.GridGroup cg.GridGroup.sync
local.array shared.array const.array_like
activemask lanemask_lt syncwarp shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync
all_sync any_sync eq_sync ballot_sync match_any_sync match_all_sync
"""
_AXES = [f"{name}.{axis}" for name in ("threadIdx", "blockIdx", "blockDim", "gridDim") for axis in "xyz"]
_RANDOM = [
    f"random.xoroshiro128p_{name}"
    for name in ("next", "jump", "uniform_float32", "uniform_float64", "normal_float32", "normal_float64")
]
_HALF = [f"fp16.{name}" for name in device_half.FUNCTIONS]
_BFLOAT = [
    f"bf16.{name}" for name in (*device_bfloat.FUNCTIONS, *device_bfloat.FUSED, *device_bfloat.CONVERSIONS)
]
NAMES = frozenset(
    [
        *_PLAIN.split(),
        *_AXES,
        *_RANDOM,
        *_HALF,
        *_BFLOAT,
        *(f"libdevice.{name}" for name in device_libdevice.FUNCTIONS),
        *VECTOR_TYPES,
        *(f"atomic.{name}" for name in _ATOMICS.split()),
    ]
)
"""Every path of a name below `cuda`."""


_INTERNED: dict[str, CudaName] = {}


class CudaName:
    """A name of `cuda` by its path, such as ``atomic.add``; there is one object per path."""

    __slots__ = ("path",)

    path: str

    def __new__(cls, path: str) -> CudaName:
        found = _INTERNED.get(path)
        if found is None:
            found = _INTERNED[path] = super().__new__(cls)
            found.path = path
        return found

    def __repr__(self) -> str:
        return f"cuda.{self.path}" if self.path else "cuda"

    def __reduce__(self) -> tuple[Any, ...]:
        return CudaName, (self.path,)

    @property
    def __name__(self) -> str:
        return repr(self)

    def child(self, name: str) -> CudaName | None:
        """The name one level down, or None when there is none."""
        path = f"{self.path}.{name}" if self.path else name
        return CudaName(path) if path in NAMES else None

    def __getattr__(self, name: str) -> CudaName:
        found = None if name.startswith("__") else self.child(name)
        if found is None:
            raise AttributeError(f"{self!r} has no '{name}'")
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(
            f"{self!r} has a meaning inside kernels only", hint="call it from a function with @cuda.jit"
        )


CUDA = CudaName("")


def cuda_name_of(value: Any) -> CudaName | None:
    """The name that an object stands for: one of ours, or numba's of the same path."""
    if isinstance(value, CudaName):
        return value
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    if not isinstance(module, str) or not module.startswith("numba.cuda"):
        return None
    if isinstance(value, ModuleType):
        if module.endswith(".bf16"):
            # It holds a type as well, so it is a module like others.
            return None
        return CUDA.child(module.rpartition(".")[2]) if module.endswith((".random", ".libdevice")) else CUDA
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__
    if module.endswith("bf16"):
        # Numba's functions carry the names that CUDA's headers give them.
        path = f"bf16.{str(name).lstrip('_')}"
        return CudaName(path) if path in NAMES else None
    below = "libdevice" if module.endswith(".libdevice") else "random"
    for path in (f"{below}.{name}", str(name), type(value).__name__):
        if path in NAMES:
            return CudaName(path)
    return None
