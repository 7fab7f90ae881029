"""Where a thread is: ids and sizes of groups and grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import ATTRIBUTES, Arguments, call
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, literal
from weft.frontend.python.types import pyint
from weft.ir.builder import const_int
from weft.ir.types import I32, I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

WARP_SIZE = 32
_INTRINSICS = {
    "threadIdx": ("weft.local.id", 0),
    "blockIdx": ("weft.group.id", 0),
    "blockDim": ("weft.local.size", 1),
    "gridDim": ("weft.num.groups", 1),
}


def _read(low: Lowering, intrinsic: str, dim: int) -> Value:
    return low.builder.call(low.unit.intrinsic(intrinsic), (const_int(dim, I32),))


def _reader(intrinsic: str, least: int, dim: int) -> Callable[[Lowering], Typed]:
    return lambda low: Typed(pyint, (_read(low, intrinsic, dim),), low=least)


for _name, (_intrinsic, _least) in _INTRINSICS.items():
    for _dim, _axis in enumerate("xyz"):
        ATTRIBUTES[f"{_name}.{_axis}"] = _reader(_intrinsic, _least, _dim)

ATTRIBUTES["warpsize"] = lambda low: literal(WARP_SIZE)


def lane_id(low: Lowering) -> Typed:
    """``cuda.laneid``: the position in the warp; kernels that ask for it run in lane groups that are warps."""
    lane = low.builder.call(low.unit.intrinsic("weft.lane.id"), ())
    return Typed(pyint, (low.builder.cast("zext", lane, I64),), low=0)


ATTRIBUTES["laneid"] = lane_id


def _dimensions(args: Arguments) -> int:
    (ndim,) = args.bind("ndim")
    if ndim.int_literal not in (1, 2, 3):
        raise TypingError(f"{args.name}() takes 1, 2 or 3 as a literal")
    return ndim.int_literal


def _per_dimension(count: int, value: Callable[[int], Typed]) -> Typed:
    return value(0) if count == 1 else TupleValue(tuple(value(dim) for dim in range(count)))


@call(CudaName("grid"))
def _call_grid(low: Lowering, args: Arguments) -> Typed:
    """The position in the grid; no launch is so large that it wraps."""

    def position(dim: int) -> Typed:
        first = low.builder.binary(
            "mul", _read(low, "weft.group.id", dim), _read(low, "weft.local.size", dim), ("nuw", "nsw")
        )
        value = low.builder.binary("add", first, _read(low, "weft.local.id", dim), ("nuw", "nsw"))
        return Typed(pyint, (value,), low=0)

    return _per_dimension(_dimensions(args), position)


@call(CudaName("gridsize"))
def _call_gridsize(low: Lowering, args: Arguments) -> Typed:
    def size(dim: int) -> Typed:
        value = low.builder.binary(
            "mul", _read(low, "weft.num.groups", dim), _read(low, "weft.local.size", dim), ("nuw", "nsw")
        )
        return Typed(pyint, (value,), low=1)

    return _per_dimension(_dimensions(args), size)
