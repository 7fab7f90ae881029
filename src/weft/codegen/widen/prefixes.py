"""``weft.prefix``: each lane gets the values of the lanes up to its own, combined, in log₂ W steps.

In step s a lane combines what it has with what the lane 2ˢ before it has. Passive lanes bring what changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.widen.context import Widening
from weft.codegen.widen.masked import mangled
from weft.ir import ConstFloat, ConstInt, Instruction, Value
from weft.ir.constants import Constant
from weft.ir.intrinsics import PREFIX
from weft.ir.types import FloatType, IntType, Type, VectorType


def widen_prefix(w: Widening, call: Instruction) -> None:
    """Widen the call."""
    assert call.callee_name is not None
    operation = call.callee_name.removeprefix(PREFIX).partition(".")[0]
    identity = _identity(operation, call.type)
    value = w.vector(call.args[0])
    if w.mask is not None:
        value = w.builder.select(w.mask, value, w.lanes.splat(identity))
    w.set_vector(call, running(w, value, identity, lambda a, b: _combined(w, operation, a, b)))


def running(
    w: Widening, vector: Value, identity: Constant, combine: Callable[[Value, Value], Value]
) -> Value:
    """Each element combined with those before it."""
    step = 1
    while step < w.lanes.width:
        vector = combine(moved_up(w, vector, step, identity), vector)
        step *= 2
    return vector


def moved_up(w: Widening, vector: Value, by: int, fill: Constant) -> Value:
    """Lane t gets the value of lane ``t - by``, the first lanes `fill`."""
    assert isinstance(vector.type, VectorType)
    width = w.lanes.width
    lanes = [t - by if t >= by else width for t in range(width)]
    return w.builder.shuffle(vector, w.lanes.splat(fill), lanes)


def _identity(operation: str, type: Type) -> Constant:
    """The value that changes nothing."""
    if isinstance(type, FloatType):
        return ConstFloat.of(type, 1.0 if operation == "fmul" else -0.0)
    assert isinstance(type, IntType)
    highest = 1 << (type.bits - 1)
    number = {"mul": 1, "and": -1, "umin": -1, "smax": highest, "smin": highest - 1}.get(operation, 0)
    return ConstInt(type, number)


def _combined(w: Widening, operation: str, a: Value, b: Value) -> Value:
    if operation in ("smin", "smax", "umin", "umax"):
        name = f"llvm.{operation}.{mangled(a.type)}"
        return w.builder.call(w.intrinsic(name, a.type, (a.type, a.type)), (a, b))
    return w.builder.binary(operation, a, b)
