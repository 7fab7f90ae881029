"""Reading memory instructions."""

from __future__ import annotations

from typing import Any

from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.keywords import ORDERINGS
from weft.ir.opcodes import RMW_OPERATIONS
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.operands import read_pointer, read_typed_value
from weft.ir.reader.types import read_first_class_type
from weft.ir.result_types import cmpxchg_type
from weft.ir.types import I32, PTR, VOID, pointer

_RMW_OPERATIONS = frozenset(RMW_OPERATIONS)


def _read_align(c: Cursor) -> int:
    """``, align 8`` where it stands, else 0."""
    if c.tokens[c.pos] != "," or c.tokens[c.pos + 1] != "align":
        return 0
    c.pos += 2
    at = c.pos
    align = c.integer()
    if align <= 0 or align & (align - 1):
        raise c.error("an alignment is a power of two", at=at)
    return align


def _read_syncscope(c: Cursor) -> str | None:
    if not c.accept("syncscope"):
        return None
    c.expect("(")
    scope = c.string()
    c.expect(")")
    return scope


def _read_ordering(c: Cursor) -> str:
    if c.token not in ORDERINGS:
        raise c.error(f"expected a memory ordering, found {c.shown()}")
    return c.take()


def _access_prefix(c: Cursor) -> tuple[bool, bool]:
    """Whether ``atomic`` and ``volatile`` stand here."""
    atomic = c.tokens[c.pos] == "atomic" and c.accept("atomic")
    volatile = c.tokens[c.pos] == "volatile" and c.accept("volatile")
    return atomic, volatile


def _access_suffix(c: Cursor, atomic: bool, volatile: bool) -> dict[str, Any]:
    attrs: dict[str, Any] = {"align": 0, "volatile": volatile}
    if atomic:
        attrs["syncscope"] = _read_syncscope(c)
        attrs["ordering"] = _read_ordering(c)
    attrs["align"] = _read_align(c)
    return attrs


def read_load(c: Cursor, op: str) -> Instruction:
    """``load atomic volatile T, ptr %p syncscope("s") ordering, align n``."""
    atomic, volatile = _access_prefix(c)
    type = read_first_class_type(c)
    c.expect(",")
    address = read_pointer(c)
    return Instruction(op, type, (address,), attrs=_access_suffix(c, atomic, volatile))


def read_store(c: Cursor, op: str) -> Instruction:
    """``store``, with the same words around it as a load."""
    atomic, volatile = _access_prefix(c)
    value = read_typed_value(c)
    c.expect(",")
    address = read_pointer(c)
    return Instruction(op, VOID, (value, address), attrs=_access_suffix(c, atomic, volatile))


def read_alloca(c: Cursor, op: str) -> Instruction:
    """``alloca inalloca T, i32 %count, align n, addrspace(n)``."""
    inalloca = c.accept("inalloca")
    if c.token == "swifterror":
        raise c.error("swifterror is not supported")
    type = read_first_class_type(c)
    count = ConstInt(I32, 1)
    attrs: dict[str, Any] = {"allocated_type": type, "align": 0, "space": 0}
    if inalloca:
        attrs["inalloca"] = True
    tokens = c.tokens
    if tokens[c.pos] == "," and tokens[c.pos + 1][0] not in "!a":
        c.pos += 1
        count = read_typed_value(c)
    attrs["align"] = _read_align(c)
    if tokens[c.pos] == "," and tokens[c.pos + 1] == "addrspace":
        c.pos += 2
        attrs["space"] = c.parenthesized_integer()
    space = attrs["space"]
    return Instruction(op, pointer(space) if space else PTR, (count,), attrs=attrs)


def read_atomicrmw(c: Cursor, op: str) -> Instruction:
    """``atomicrmw volatile operation ptr %p, T %x syncscope("s") ordering, align n``."""
    volatile = c.accept("volatile")
    rmw = c.token
    if rmw not in _RMW_OPERATIONS:
        raise c.error(f"{c.shown()} is no operation of atomicrmw that weft knows")
    c.pos += 1
    address = read_pointer(c)
    c.expect(",")
    value = read_typed_value(c)
    attrs: dict[str, Any] = {"rmw": rmw, "syncscope": _read_syncscope(c), "ordering": _read_ordering(c)}
    attrs["align"] = _read_align(c)
    attrs["volatile"] = volatile
    return Instruction(op, value.type, (address, value), attrs=attrs)


def read_cmpxchg(c: Cursor, op: str) -> Instruction:
    """``cmpxchg weak volatile ptr %p, T %expected, T %new syncscope("s") success failure, align n``."""
    weak = c.accept("weak")
    volatile = c.accept("volatile")
    address = read_pointer(c)
    c.expect(",")
    expected = read_typed_value(c)
    c.expect(",")
    new = read_typed_value(c)
    attrs: dict[str, Any] = {"syncscope": _read_syncscope(c), "success": _read_ordering(c)}
    attrs["failure"] = _read_ordering(c)
    attrs["align"] = _read_align(c)
    attrs["volatile"], attrs["weak"] = volatile, weak
    return Instruction(op, cmpxchg_type(expected.type), (address, expected, new), attrs=attrs)


def read_fence(c: Cursor, op: str) -> Instruction:
    """``fence syncscope("s") ordering``."""
    attrs = {"syncscope": _read_syncscope(c), "ordering": _read_ordering(c)}
    return Instruction(op, VOID, attrs=attrs)
