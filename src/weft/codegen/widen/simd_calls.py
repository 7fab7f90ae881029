"""Calls of functions that are vectorized themselves: once for all active lanes."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.codegen.simd_functions.simd_signature import UNIFORM, VARYING, SimdSignature
from weft.codegen.widen.active_lane import of_an_active_lane
from weft.codegen.widen.context import Widening, broadcast
from weft.codegen.widen.once import build_once
from weft.ir import Function, Instruction, Value


class SimdFunction(Struct, frozen=True):
    """A function for W lanes, made of one for one lane, and the signature that it has; its body may come later."""

    function: Function
    signature: SimdSignature

    @property
    def uniform_result(self) -> bool:
        """Whether it returns one value for all lanes."""
        return not self.function.fn_type.result.is_vector


FindSimd = Callable[[Function, SimdSignature], SimdFunction | None]
"""Looks up, or orders, the SIMD function of a defined function for calls with this signature or a more general one."""


def signature_of_call(w: Widening, call: Instruction) -> SimdSignature:
    """The most special signature that serves a call."""
    return SimdSignature(w.lanes.width, tuple(_step(w, a) for a in call.args), w.mask is not None)


def _step(w: Widening, value: Value) -> int | None:
    if w.is_uniform(value):
        return UNIFORM
    if not w.is_scalar(value) or len(w.lanes.extents) != 1:
        return VARYING
    stride = w.divergence.shape(value).stride
    return stride if isinstance(stride, int) else VARYING


def simd_arguments(w: Widening, call: Instruction, simd: SimdFunction) -> list[Value]:
    """The arguments of a call as the SIMD function takes them, but for the mask."""
    return [
        w.vector(a) if step is None else w.scalar(a)
        for a, step in zip(call.args, simd.signature.steps, strict=True)
    ]


def call_simd(w: Widening, call: Instruction, simd: SimdFunction) -> None:
    """Call it once; not at all where no lane is active, so that a recursion ends."""
    args = simd_arguments(w, call, simd)
    if simd.signature.masked:
        args.append(w.active())

    def build() -> Instruction:
        result = w.builder.call(simd.function, args)
        result.loc = call.loc
        return result

    result = build_once(w, "call", build, not call.type.is_void)
    if call.type.is_void:
        return
    if not simd.uniform_result:
        w.set_vector(call, result)
        if call in w.kept:
            w.set_scalar(call, of_an_active_lane(w, call))
    elif call in w.kept:
        w.set_scalar(call, result)
    else:
        w.set_vector(call, broadcast(w.builder, result, w.lanes))
