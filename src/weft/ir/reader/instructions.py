"""Reading instructions: one function for each printed form of the opcode table.

Each takes the cursor behind the opcode and returns the instruction, without name, attachments and P-LLVM
marks, which `weft.ir.reader.body` reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir.constants import ConstAggregate, ConstInt, ConstSplat, ConstZero, Poison, Undef
from weft.ir.instruction import Instruction
from weft.ir.opcodes import FLOAT_PREDICATES, INT_PREDICATES, OPCODES
from weft.ir.reader.blocks import block_of
from weft.ir.reader.calls import read_call
from weft.ir.reader.constants import read_constant
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.memory import (
    read_alloca,
    read_atomicrmw,
    read_cmpxchg,
    read_fence,
    read_load,
    read_store,
)
from weft.ir.reader.operands import read_typed_value, read_value
from weft.ir.reader.types import read_first_class_type, read_type
from weft.ir.result_types import compare_type, gep_type, member_type
from weft.ir.types import I1, VOID, IntType, Type, VectorType
from weft.ir.values import Value

_INT_PREDICATES = frozenset(INT_PREDICATES)
_FLOAT_PREDICATES = frozenset(FLOAT_PREDICATES)


def read_flags(c: Cursor, op: str) -> tuple[str, ...]:
    """The flags that the opcode may carry, in written order."""
    tokens, pos = c.tokens, c.pos
    allowed = OPCODES[op].flags
    while tokens[pos] in allowed:
        pos += 1
    flags = tuple(tokens[c.pos : pos])
    c.pos = pos
    return flags


def _read_binary(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op) if c.tokens[c.pos] in OPCODES[op].flags else ()
    type = read_type(c)
    a = read_value(c, type)
    c.expect(",")
    return Instruction(op, type, (a, read_value(c, type)), flags=flags)


def _read_unary(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op)
    type = read_first_class_type(c)
    return Instruction(op, type, (read_value(c, type),), flags=flags)


def _read_cast(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op)
    value = read_typed_value(c)
    c.expect("to")
    return Instruction(op, read_first_class_type(c), (value,), flags=flags)


def _read_compare(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op)
    predicate = c.tokens[c.pos]
    if predicate not in (_INT_PREDICATES if op == "icmp" else _FLOAT_PREDICATES):
        raise c.error(f"{c.shown()} is no predicate of {op}")
    c.pos += 1
    type = read_type(c)
    a = read_value(c, type)
    c.expect(",")
    b = read_value(c, type)
    return Instruction(op, compare_type(type), (a, b), flags=flags, attrs={"predicate": predicate})


def _read_select(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op)
    condition = read_typed_value(c)
    c.expect(",")
    then = read_typed_value(c)
    c.expect(",")
    otherwise = read_typed_value(c)
    return Instruction(op, then.type, (condition, then, otherwise), flags=flags)


def _read_phi(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op)
    type = read_first_class_type(c)
    values: list[Value] = []
    blocks = []
    tokens = c.tokens
    while True:
        c.expect("[")
        values.append(read_value(c, type))
        c.expect(",")
        blocks.append(block_of(c))
        c.expect("]")
        if tokens[c.pos] != "," or tokens[c.pos + 1] != "[":
            break
        c.pos += 1
    shadow = None
    if tokens[c.pos] == "shadow":
        c.pos += 1
        c.expect("(")
        shadow = read_value(c, type)
        c.expect(")")
    return Instruction(op, type, values, blocks=blocks, flags=flags, shadow=shadow)


def _read_gep(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op)
    source_type = read_first_class_type(c)
    c.expect(",")
    operands = [read_typed_value(c)]
    tokens = c.tokens
    while tokens[c.pos] == "," and tokens[c.pos + 1][0] != "!":
        c.pos += 1
        operands.append(read_typed_value(c))
    return Instruction(op, gep_type(operands), operands, flags=flags, attrs={"source_type": source_type})


def _read_target(c: Cursor) -> Any:
    c.expect("label")
    return block_of(c)


def _read_br(c: Cursor, op: str) -> Instruction:
    if c.token == "label":
        return Instruction(op, VOID, blocks=(_read_target(c),))
    if c.token != "i1":
        raise c.error(f"expected a label or an i1 condition, found {c.shown()}")
    c.pos += 1
    condition = read_value(c, I1)
    c.expect(",")
    then = _read_target(c)
    c.expect(",")
    return Instruction(op, VOID, (condition,), blocks=(then, _read_target(c)))


def _read_switch(c: Cursor, op: str) -> Instruction:
    start = c.pos
    type = read_type(c)
    if not isinstance(type, IntType):
        raise c.error(f"switch needs an integer, not {type}", at=start)
    value = read_value(c, type)
    c.expect(",")
    blocks = [_read_target(c)]
    cases: list[int] = []
    c.expect("[")
    while not c.accept("]"):
        at = c.pos
        case = read_constant(c, read_first_class_type(c))
        if not isinstance(case, ConstInt) or case.type != type:
            raise c.error(f"a case is an integer of type {type}", at=at)
        cases.append(case.value)
        c.expect(",")
        blocks.append(_read_target(c))
    return Instruction(op, VOID, (value,), blocks=blocks, attrs={"cases": tuple(cases)})


def _read_ret(c: Cursor, op: str) -> Instruction:
    type = read_type(c)
    return Instruction(op, VOID, () if type is VOID else (read_value(c, type),))


def _read_unreachable(c: Cursor, op: str) -> Instruction:
    return Instruction(op, VOID)


def _read_indices(c: Cursor) -> tuple[int, ...]:
    indices: list[int] = []
    while c.tokens[c.pos] == "," and c.tokens[c.pos + 1].isdigit():
        c.pos += 1
        indices.append(c.integer())
    if not indices:
        raise c.error(f"expected an index, found {c.shown()}")
    return tuple(indices)


def _read_extractvalue(c: Cursor, op: str) -> Instruction:
    aggregate = read_typed_value(c)
    at = c.pos
    indices = _read_indices(c)
    type = member_type(aggregate.type, indices)
    if type is None:
        raise c.error(f"{aggregate.type} has no such member", at=at)
    return Instruction(op, type, (aggregate,), attrs={"indices": indices})


def _read_insertvalue(c: Cursor, op: str) -> Instruction:
    aggregate = read_typed_value(c)
    c.expect(",")
    value = read_typed_value(c)
    at = c.pos
    indices = _read_indices(c)
    if member_type(aggregate.type, indices) != value.type:
        raise c.error(f"{aggregate.type} has no such member of type {value.type}", at=at)
    return Instruction(op, aggregate.type, (aggregate, value), attrs={"indices": indices})


def _read_vector(c: Cursor) -> tuple[Value, VectorType]:
    start = c.pos
    vector = read_typed_value(c)
    if not isinstance(vector.type, VectorType):
        raise c.error(f"expected a vector, found a value of type {vector.type}", at=start)
    return vector, vector.type


def _read_extractelement(c: Cursor, op: str) -> Instruction:
    vector, type = _read_vector(c)
    c.expect(",")
    return Instruction(op, type.element, (vector, read_typed_value(c)))


def _read_insertelement(c: Cursor, op: str) -> Instruction:
    vector, type = _read_vector(c)
    c.expect(",")
    value = read_typed_value(c)
    c.expect(",")
    return Instruction(op, type, (vector, value, read_typed_value(c)))


def _read_shufflevector(c: Cursor, op: str) -> Instruction:
    flags = read_flags(c, op)
    a, type = _read_vector(c)
    c.expect(",")
    b = read_typed_value(c)
    c.expect(",")
    at = c.pos
    mask, mask_type = _read_vector(c)
    lanes = _mask_lanes(mask, mask_type)
    if lanes is None:
        raise c.error("the mask of a shufflevector is a constant vector of integers", at=at)
    result: Type = VectorType(type.element, len(lanes))
    return Instruction(op, result, (a, b), flags=flags, attrs={"mask": lanes})


def _mask_lanes(mask: Value, type: VectorType) -> tuple[int, ...] | None:
    """The lanes that a shuffle's mask names, -1 for poison."""
    if isinstance(mask, ConstAggregate):
        return tuple(e.value if isinstance(e, ConstInt) else -1 for e in mask.elements)
    if isinstance(mask, ConstSplat) and isinstance(mask.element, ConstInt):
        return (mask.element.value,) * type.count
    if isinstance(mask, ConstZero):
        return (0,) * type.count
    if isinstance(mask, (Poison, Undef)):
        return (-1,) * type.count
    return None


FORMS: dict[str, Callable[[Cursor, str], Instruction]] = {
    "binary": _read_binary,
    "unary": _read_unary,
    "cast": _read_cast,
    "compare": _read_compare,
    "select": _read_select,
    "phi": _read_phi,
    "gep": _read_gep,
    "load": read_load,
    "store": read_store,
    "alloca": read_alloca,
    "call": read_call,
    "br": _read_br,
    "switch": _read_switch,
    "ret": _read_ret,
    "unreachable": _read_unreachable,
    "extractvalue": _read_extractvalue,
    "insertvalue": _read_insertvalue,
    "extractelement": _read_extractelement,
    "insertelement": _read_insertelement,
    "shufflevector": _read_shufflevector,
    "freeze": _read_unary,
    "atomicrmw": read_atomicrmw,
    "cmpxchg": read_cmpxchg,
    "fence": read_fence,
}

REFUSED = {
    "indirectbr": "use a switch: computed gotos are not supported",
    "invoke": "compile without exceptions (-fno-exceptions)",
    "landingpad": "compile without exceptions (-fno-exceptions)",
    "resume": "compile without exceptions (-fno-exceptions)",
    "catchswitch": "compile without exceptions (-fno-exceptions)",
    "catchpad": "compile without exceptions (-fno-exceptions)",
    "cleanuppad": "compile without exceptions (-fno-exceptions)",
    "catchret": "compile without exceptions (-fno-exceptions)",
    "cleanupret": "compile without exceptions (-fno-exceptions)",
    "callbr": "use inline assembly without jump targets",
    "uselistorder": "print the module without -preserve-ll-uselistorder",
    "va_arg": "pass an array instead of variable arguments",
}
