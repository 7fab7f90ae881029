"""Atomic operations of all lanes on one address: the lanes first combine what they bring.

Atomics of a lane group happen in some order, here lane after lane: one atomic operation with all lanes' values
combined does to memory what they all do. A lane's own result is what it would have seen: the old value, combined with
what the lanes before it bring (an exclusive prefix, in log₂ W steps). So W locked operations become one.

Integer operations are associative; float ones are combined only where the kernel may be reassociated (fastmath), and
only where their results are not used. Operations at addresses of each lane's own run lane by lane (`lane_loop`).
"""

from __future__ import annotations

from msgspec import Struct

from weft.codegen.widen.context import Widening, broadcast, mask_bits
from weft.codegen.widen.masked import mangled
from weft.codegen.widen.once import build_once
from weft.codegen.widen.prefixes import moved_up, running
from weft.ir import ConstFloat, ConstInt, Instruction, Value
from weft.ir.constants import Constant
from weft.ir.intrinsics import REASSOCIATE_ATTRIBUTE
from weft.ir.types import I64, FloatType, IntType, Type


class _Combination(Struct, frozen=True):
    """How values of an operation are combined: an opcode, or the name of LLVM's intrinsic."""

    name: str
    is_opcode: bool = True


_INTEGER = {
    "add": _Combination("add"), "sub": _Combination("add"), "and": _Combination("and"), "or": _Combination("or"),
    "xor": _Combination("xor"), "max": _Combination("smax", False), "min": _Combination("smin", False),
    "umax": _Combination("umax", False), "umin": _Combination("umin", False),
}  # fmt: skip
_FLOAT = {"fadd": "fadd", "fsub": "fadd", "fmax": "fmax", "fmin": "fmin"}


def widen_atomic(w: Widening, atomic: Instruction) -> bool:
    """Widen an ``atomicrmw`` of all lanes on one address; False when it is none, or cannot be combined."""
    pointer, value = atomic.operands
    rmw = atomic.attrs["rmw"]
    if atomic.attrs.get("volatile") or not (w.is_scalar(pointer) and w.is_uniform(pointer)):
        return False
    if isinstance(value.type, IntType) and rmw in _INTEGER and value.type.bits >= 8:
        if atomic.users:
            _widen_used(w, atomic)
        else:
            _once(w, atomic, total_of(w, atomic))
        return True
    if isinstance(value.type, FloatType) and rmw in _FLOAT and not atomic.users and _may_reassociate(w):
        _once(w, atomic, _float_total(w, atomic))
        return True
    return False


def _may_reassociate(w: Widening) -> bool:
    return w.source.attribute(REASSOCIATE_ATTRIBUTE) is not None


def total_of(w: Widening, atomic: Instruction) -> Value:
    """What all active lanes bring, combined."""
    value = atomic.operands[1]
    combination = _INTEGER[atomic.attrs["rmw"]]
    if w.is_uniform(value):
        return _repeated(w, w.scalar(value), combination)
    type = w.lanes.vector(value.type)
    reduce = w.intrinsic(f"llvm.vector.reduce.{combination.name}.{mangled(type)}", value.type, (type,))
    return w.builder.call(reduce, (_masked(w, value, _identity(atomic)),))


def _repeated(w: Widening, value: Value, combination: _Combination) -> Value:
    """A value combined with itself as often as there are active lanes: at least once."""
    if combination.name not in ("add", "xor"):
        return value
    count = _active_count(w, value.type)
    assert isinstance(value.type, IntType)
    if combination.name == "xor":
        count = w.builder.binary("and", count, ConstInt(value.type, 1))
    return w.builder.binary("mul", value, count)


def _active_count(w: Widening, type: Type) -> Value:
    assert isinstance(type, IntType)
    if w.mask is None:
        return ConstInt(type, w.lanes.width)
    bits = mask_bits(w.builder, w.mask)
    assert isinstance(bits.type, IntType)
    count = w.builder.call(w.intrinsic(f"llvm.ctpop.i{bits.type.bits}", bits.type, (bits.type,)), (bits,))
    if bits.type.bits == type.bits:
        return count
    return w.builder.cast("zext" if bits.type.bits < type.bits else "trunc", count, type)


def _identity(atomic: Instruction) -> Constant:
    """The value that changes nothing."""
    type = atomic.accessed_type
    assert isinstance(type, IntType)
    highest = 1 << (type.bits - 1)
    number = {"and": -1, "umin": -1, "max": highest, "min": highest - 1}.get(atomic.attrs["rmw"], 0)
    return ConstInt(type, number)


def _masked(w: Widening, value: Value, identity: Constant) -> Value:
    """What lanes bring; passive ones nothing."""
    vector = w.vector(value)
    return vector if w.mask is None else w.builder.select(w.mask, vector, w.lanes.splat(identity))


def _float_total(w: Widening, atomic: Instruction) -> Value:
    value = atomic.operands[1]
    assert isinstance(value.type, FloatType)
    name = _FLOAT[atomic.attrs["rmw"]]
    neutral = {"fadd": -0.0, "fmax": float("-inf"), "fmin": float("inf")}[name]
    start = ConstFloat.of(value.type, neutral)
    type = w.lanes.vector(value.type)
    params = (value.type, type) if name == "fadd" else (type,)
    reduce = w.intrinsic(f"llvm.vector.reduce.{name}.{mangled(type)}", value.type, params)
    args = [start] if name == "fadd" else []
    return w.builder.call(reduce, [*args, _masked(w, value, start)], flags=("reassoc",))


def _once(w: Widening, atomic: Instruction, total: Value) -> Value:
    """One atomic operation with `total`, none where no lane is active; the old value."""
    operands = [w.scalar(atomic.pointer), total]
    copy = Instruction(atomic.op, atomic.type, operands, attrs=atomic.attrs, name=atomic.name, loc=atomic.loc)
    return build_once(w, "atomic", lambda: w.builder.insert(copy), atomic.is_used)


def _widen_used(w: Widening, atomic: Instruction) -> None:
    """Each lane's result from the old value and what the lanes before it bring."""
    builder, identity = w.builder, _identity(atomic)
    combination = _INTEGER[atomic.attrs["rmw"]]
    brought = _masked(w, atomic.operands[1], identity)
    brought = running(w, brought, identity, lambda a, b: _combined(w, combination, a, b))
    total = builder.extract_element(brought, ConstInt(I64, w.lanes.width - 1))
    before = moved_up(w, brought, 1, identity)
    old = _once(w, atomic, total)

    spread = broadcast(builder, old, w.lanes)
    if atomic.attrs["rmw"] == "sub":
        result: Value = builder.binary("sub", spread, before)
    else:
        result = _combined(w, combination, spread, before)
    w.set_vector(atomic, result)


def _combined(w: Widening, combination: _Combination, a: Value, b: Value) -> Value:
    if combination.is_opcode:
        return w.builder.binary(combination.name, a, b)
    name = f"llvm.{combination.name}.{mangled(a.type)}"
    return w.builder.call(w.intrinsic(name, a.type, (a.type, a.type)), (a, b))
