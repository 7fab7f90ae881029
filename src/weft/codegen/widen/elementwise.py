"""Instructions that work lane by lane: arithmetic, casts, compares, selects, addresses."""

from __future__ import annotations

from weft.analysis.divergence.row_divisions import DIVISIONS
from weft.codegen.widen.context import Widening, broadcast
from weft.codegen.widen.division import divides_as_floats, widen_division
from weft.codegen.widen.near_bounds import compare_near
from weft.codegen.widen.row_division import divide_along_rows
from weft.codegen.widen.shared_lanes import widen_shared
from weft.ir import ConstFloat, ConstInt, Instruction, Value
from weft.ir.constants import Constant
from weft.ir.opcodes import OPCODES
from weft.ir.types import I64, FloatType, IntType, PointerType

_POISON_FLAGS = frozenset({"nsw", "nuw", "exact", "disjoint", "nneg", "inbounds", "nusw", "samesign"})


def widen_scalar(w: Widening, instruction: Instruction) -> None:
    """Compute the value in lane 0.

    Where not all lanes are active, or the instruction runs beyond its mask, lane 0 may be passive: its value is
    extrapolated, and flags that hold for active lanes only would make it poison.
    """
    copy = Instruction(
        instruction.op,
        instruction.type,
        [w.scalar(v) for v in instruction.operands],
        flags=instruction.flags,
        attrs=instruction.attrs,
        name=instruction.name,
        loc=instruction.loc,
    )
    if w.mask is not None or instruction.total:
        copy.flags = tuple(f for f in copy.flags if f not in _POISON_FLAGS)
        if copy.op in DIVISIONS:
            _guard_scalar_divisor(w, copy)
    w.set_scalar(instruction, w.builder.insert(copy))


def _guard_scalar_divisor(w: Widening, copy: Instruction) -> None:
    """No lane may be active, and the divisor then is any number."""
    divisor = copy.operands[1]
    if isinstance(divisor, ConstInt) and divisor.value not in (0, (1 << divisor.type.bits) - 1):  # type: ignore[attr-defined]
        return
    some = w.some_active()
    assert some is not None
    assert isinstance(divisor.type, IntType)
    frozen = w.builder.unary("freeze", divisor)
    copy.set_operand(1, w.builder.select(some, frozen, ConstInt(divisor.type, 1)))


def widen_vector(w: Widening, instruction: Instruction) -> None:
    """Compute the values of all lanes with one vector instruction."""
    result: Value | None
    if instruction.op == "getelementptr":
        result = _vector_gep(w, instruction)
    elif instruction.op in DIVISIONS:
        result = divide_along_rows(w, instruction, lambda: _divided(w, instruction))
        if result is None:
            result = _divided(w, instruction)
    elif instruction.op == "select":
        result = _vector_select(w, instruction)
    elif _is_by_shared(w, instruction):
        result = _times_inverse(w, instruction)
    else:
        result = compare_near(w, instruction) or widen_shared(w, instruction)
        if result is None:
            result = _each_lane(w, instruction, [w.vector(v) for v in instruction.operands])
    w.set_vector(instruction, result)


def _is_by_shared(w: Widening, instruction: Instruction) -> bool:
    """Whether floats are divided by what all lanes share, and may be multiplied by its inverse instead."""
    if instruction.op != "fdiv" or not {"arcp", "fast"} & set(instruction.flags):
        return False
    divisor = instruction.operands[1]
    # LLVM knows the inverse of constants.
    return not isinstance(divisor, Constant) and w.is_uniform(divisor)


def _times_inverse(w: Widening, division: Instruction) -> Value:
    """One division for all lanes; LLVM makes it before the loops that do not change the divisor."""
    number, divisor = division.operands
    assert isinstance(division.type, FloatType)
    one = ConstFloat.of(division.type, 1.0)
    inverse = w.builder.binary("fdiv", one, w.scalar(divisor), division.flags)
    shared = broadcast(w.builder, inverse, w.lanes)
    return w.builder.binary("fmul", w.vector(number), shared, division.flags, division.name)


def _divided(w: Widening, division: Instruction) -> Value:
    if divides_as_floats(w, division):
        return widen_division(w, division)
    by = division.operands[1]
    if w.mask is not None and division.type == I64 and w.is_uniform(by) and not isinstance(by, Constant):
        return _each_lane(w, division, _harmless_numbers(w, division))
    operands = [w.vector(v) for v in division.operands]
    if w.mask is not None:
        operands[1] = _harmless_divisor(w, division.operands[1], operands[1])
    return _each_lane(w, division, operands)


def _each_lane(w: Widening, instruction: Instruction, operands: list[Value]) -> Instruction:
    """The instruction on vectors."""
    return w.builder.insert(
        Instruction(
            instruction.op,
            w.lanes.vector(instruction.type),
            operands,
            flags=instruction.flags,
            attrs=instruction.attrs,
            name=instruction.name,
            loc=instruction.loc,
        )
    )


def _harmless_divisor(w: Widening, original: Value, divisor: Value) -> Value:
    """Passive lanes divide by one."""
    if isinstance(original, ConstInt) and original.value not in (0, (1 << original.type.bits) - 1):  # type: ignore[attr-defined]
        return divisor
    assert isinstance(original.type, IntType)
    return w.builder.select(w.active(), divisor, w.lanes.splat(ConstInt(original.type, 1)))


def _harmless_numbers(w: Widening, division: Instruction) -> list[Value]:
    """What is divided by a number that all lanes share: passive lanes divide zero, so that all have the same divisor.

    What they hold may have more bits than what active lanes divide (`weft.target.rewrites.divided_lanes`).
    """
    number, by = division.operands
    b = w.builder
    assert b.block is not None and isinstance(by.type, IntType)
    key = (b.block, w.mask, number, by)
    known = w.divided.get(key)
    if known is None:
        zeros = w.lanes.splat(ConstInt(by.type, 0))
        divisor = b.unary("freeze", w.scalar(by))
        divisor = b.select(b.icmp("eq", divisor, ConstInt(by.type, 0)), ConstInt(by.type, 1), divisor)
        own = b.select(w.active(), w.vector(number), zeros)
        known = w.divided[key] = [own, broadcast(b, divisor, w.lanes)]
    return list(known)


def _vector_gep(w: Widening, gep: Instruction) -> Instruction:
    """Keep base and uniform indices scalar: a gather then has one base register."""
    operands = [w.scalar(v) if w.is_uniform(v) else w.vector(v) for v in gep.operands]
    if all(map(w.is_uniform, gep.operands)):
        operands[0] = w.vector(gep.operands[0])
    type = w.lanes.vector(gep.type)
    return w.builder.insert(
        Instruction(
            "getelementptr", type, operands, flags=gep.flags, attrs=gep.attrs, name=gep.name, loc=gep.loc
        )
    )


def _vector_select(w: Widening, select: Instruction) -> Instruction:
    """A uniform condition selects whole vectors."""
    condition, then, otherwise = select.operands
    chosen = w.scalar(condition) if w.is_uniform(condition) else w.vector(condition)
    operands = [chosen, w.vector(then), w.vector(otherwise)]
    type = w.lanes.vector(select.type)
    return w.builder.insert(
        Instruction("select", type, operands, flags=select.flags, name=select.name, loc=select.loc)
    )


def is_elementwise(instruction: Instruction) -> bool:
    """Whether LLVM has the instruction on vectors with the same meaning in each element."""
    if OPCODES[instruction.op].form not in ("binary", "unary", "cast", "compare", "select", "gep"):
        return False
    return all(isinstance(v, Constant) or v.type.is_integer or v.type.is_float or isinstance(v.type, PointerType)
               for v in instruction.operands)  # fmt: skip
