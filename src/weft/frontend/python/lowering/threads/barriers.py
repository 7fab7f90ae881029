"""Barriers and memory fences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import NONE, Typed, literal, static
from weft.frontend.python.lowering.numbers.casts import cast_value
from weft.frontend.python.lowering.numbers.comparisons import condition
from weft.frontend.python.types import pyint, uint32
from weft.ir.intrinsics import GRID_BARRIER

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


@call(CudaName("syncthreads"))
def _syncthreads(low: Lowering, args: Arguments) -> Typed:
    args.bind()
    low.builder.call(low.unit.intrinsic("weft.barrier"), ())
    return NONE


def _with_predicate(intrinsic: str) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        (predicate,) = args.bind("predicate")
        test = condition(low, predicate)
        value = low.builder.call(low.unit.intrinsic(intrinsic), (test,))
        return Typed(pyint, (cast_value(low, value, uint32, pyint),), low=0)

    return lower


for _suffix in ("count", "and", "or"):
    call(CudaName(f"syncthreads_{_suffix}"))(_with_predicate(f"weft.barrier.{_suffix}"))


@call(CudaName("cg.this_grid"))
def _this_grid(low: Lowering, args: Arguments) -> Typed:
    """The group of all threads, of which there is one."""
    args.bind()
    return static(CudaName("cg.GridGroup"))


@call(CudaName("cg.GridGroup.sync"))
def _grid_sync(low: Lowering, args: Arguments) -> Typed:
    args.bind()
    low.builder.call(low.unit.intrinsic(GRID_BARRIER), ())
    return literal(0)


_SCOPES = {"cuda.threadfence": "device", "block": "block", "system": None}
"""LLVM's name of each fence's scope; the whole system has none."""


@call(CudaName("threadfence"), CudaName("threadfence_block"), CudaName("threadfence_system"))
def _threadfence(low: Lowering, args: Arguments) -> Typed:
    args.bind()
    fence = low.builder.fence("seq_cst")
    if low.unit.options.gpu:
        fence.attrs["syncscope"] = _SCOPES[args.name.rpartition("_")[2]]
    return NONE
