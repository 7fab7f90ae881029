"""Floats are rounded by sums where no instruction does it: with SSE2, where LLVM calls the C library for each lane.

What is added to a float of so many bits that its least one counts for 1, and taken away again, rounds it to the nearest
integer, to an even one in the middle; a comparison tells whether that is on the right side::

    t = (|x| + 2^23) - 2^23, with the sign of x          floor: t - (t > x ? 1 : 0)

Greater numbers are integers, or none. The sign stays, also of a zero. Measured on Zen 3, 8192 floats in the nearest
caches: 2.5 ns each by the library, 0.4 by sums.

Precondition: plain LLVM IR, at the end of all passes on it. Postcondition: without SSE4.1 on x86, no call of
``llvm.floor``, ``ceil``, ``trunc``, ``rint``, ``nearbyint`` or ``roundeven`` of floats of 32 or 64 bits. Preserves what
functions give, in the usual direction of rounding.
"""

from __future__ import annotations

from weft.ir import Builder, Function, Instruction, Value
from weft.ir.builder import const_float
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.constants import ConstSplat
from weft.ir.types import F32, F64, FunctionType, Type, VectorType
from weft.machine.targets import Isa

_NEAREST = ("rint", "nearbyint", "roundeven")
_CALLS = {f"llvm.{name}": name for name in ("floor", "ceil", "trunc", *_NEAREST)}
_INTEGERS: dict[Type, float] = {F32: float(1 << 23), F64: float(1 << 52)}
"""From where on all floats are integers."""


def round_by_sums(function: Function, isa: Isa) -> int:
    """Round by sums; how many calls that were."""
    if isa.arch != "x86_64" or "sse4.1" in isa.features:
        return 0
    found = [i for i in function.instructions() if _rounding(i) and _element(i.type) in _INTEGERS]
    for call in found:
        _replace(call, _rounding(call))
    return len(found)


def _rounding(i: Instruction) -> str:
    """How a call rounds; nothing for other instructions."""
    return _CALLS.get((i.callee_name or "").rpartition(".")[0], "") if i.op == "call" else ""


def _element(type: Type) -> Type:
    return type.element if isinstance(type, VectorType) else type


def _replace(call: Instruction, rounding: str) -> None:
    (x,), type = call.args, call.type
    b = Builder(before=call)
    b.loc = call.loc

    def constant(value: float) -> Value:
        number = const_float(value, _element(type))
        return ConstSplat(type, number) if isinstance(type, VectorType) else number

    def called(name: str, *arguments: Value) -> Value:
        suffix = (call.callee_name or "").rpartition(".")[2]
        function = b.module.declare(
            f"llvm.{name}.{suffix}", FunctionType(type, tuple(a.type for a in arguments))
        )
        return b.call(function, arguments)

    size, integers, one, zero = (
        called("fabs", x),
        constant(_INTEGERS[_element(type)]),
        constant(1.0),
        constant(0.0),
    )
    result: Value = b.binary("fsub", b.binary("fadd", size, integers), integers)
    if rounding == "trunc":
        beyond = b.fcmp("ogt", result, size)
        result = b.binary("fsub", result, b.select(beyond, one, zero))
    elif rounding not in _NEAREST:
        result = called("copysign", result, x)
        beyond = b.fcmp("ogt" if rounding == "floor" else "olt", result, x)
        result = b.binary("fsub" if rounding == "floor" else "fadd", result, b.select(beyond, one, zero))
    result = called("copysign", result, x)
    replace_and_erase(call, b.select(b.fcmp("olt", size, integers), result, x))
