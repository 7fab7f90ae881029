"""`cuda.bf16`: conversions, and the product that is added before it is rounded.

The rest of it is written in the kernel language (`weft.frontend.python.device_bfloat`).
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING

from weft.frontend.python import device_bfloat
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.bfloat import bits_of, of_bits, rounded
from weft.frontend.python.lowering.numbers.casts import cast, to_real
from weft.frontend.python.lowering.numbers.complexes import floats_of
from weft.frontend.python.lowering.numbers.rounding import rounded as whole
from weft.frontend.python.types import Scalar, bfloat16, float64, scalar_named
from weft.ir.builder import const_int
from weft.ir.types import F64, I64
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

_TO_WHOLE = {"rn": "rint", "rz": "trunc", "rd": "floor", "ru": "ceil"}


def _conversion(source: Scalar, how: str, target: Scalar, mode: str) -> CallHandler:
    """``source_to_target_mode``, or ``source_as_target``, which takes the bits."""

    def lower(low: Lowering, args: Arguments) -> Typed:
        (given,) = args.bind("x")
        value = Typed(source, (to_real(low, given, source),))
        if how == "as":
            bits = bits_of(low, value.value) if source is bfloat16 else of_bits(low, value.value)
            return Typed(target, (bits,), low=0 if target.kind == "u" else None)
        if target is bfloat16:
            return Typed(bfloat16, (rounded(low, value.value, source, mode),))
        return cast(
            low, value if target.kind == "f" else whole(low, _TO_WHOLE[mode], value, to_int=False), target
        )

    return lower


for _name, (_source, _how, _target, _mode) in device_bfloat.CONVERSIONS.items():
    call(CudaName(f"bf16.{_name}"))(_conversion(scalar_named(_source), _how, scalar_named(_target), _mode))


def _fused(low: Lowering, args: Arguments) -> Typed:
    """``a * b + c``, rounded once."""
    a, b, c = (to_real(low, cast(low, value, bfloat16), float64) for value in args.bind("a", "b", "c"))
    f = floats_of(low, a)
    product = f.mul(a, b)
    total = _odd_sum(low, product, c, f.add(product, c))
    return Typed(bfloat16, (rounded(low, total, float64),))


def _fused_and(after: FunctionType) -> CallHandler:
    def lower(low: Lowering, args: Arguments) -> Typed:
        from weft.frontend.python.lowering.calls.calls import call_function

        return call_function(low, after, Arguments(after.__name__, [_fused(low, args)], {}))

    return lower


call(CudaName("bf16.hfma"))(_fused)
call(CudaName("bf16.hfma_sat"))(_fused_and(device_bfloat.saturated))
call(CudaName("bf16.hfma_relu"))(_fused_and(device_bfloat.rectified))


def _odd_sum(low: Lowering, a: Value, b: Value, total: Value) -> Value:
    """A sum of doubles whose last bit is set where digits were lost, so that it can be rounded again."""
    f, builder = floats_of(low, total), low.builder
    part = f.sub(total, a)
    lost = f.add(f.sub(a, f.sub(total, part)), f.sub(b, part))
    bits = builder.cast("bitcast", total, I64)
    # What was lost points away from the sum, or back to zero, where the sum is one step too far.
    zero = f.const(0.0)
    back = builder.binary("xor", builder.fcmp("olt", lost, zero), builder.fcmp("olt", total, zero))
    inexact = builder.fcmp("one", lost, zero)
    truncated = builder.binary("sub", bits, builder.select(back, const_int(1), const_int(0)))
    odd = builder.binary("or", truncated, const_int(1))
    return builder.cast("bitcast", builder.select(inexact, odd, bits), F64)
