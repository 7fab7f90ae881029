"""The rules of casts."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.instruction import Instruction
from weft.ir.layout import DataLayout
from weft.ir.types import FloatType, IntType, PointerType, Type, VectorType

_KINDS: dict[str, tuple[type, type]] = {
    "trunc": (IntType, IntType),
    "zext": (IntType, IntType),
    "sext": (IntType, IntType),
    "fptrunc": (FloatType, FloatType),
    "fpext": (FloatType, FloatType),
    "fptoui": (FloatType, IntType),
    "fptosi": (FloatType, IntType),
    "uitofp": (IntType, FloatType),
    "sitofp": (IntType, FloatType),
    "ptrtoint": (PointerType, IntType),
    "ptrtoaddr": (PointerType, IntType),
    "inttoptr": (IntType, PointerType),
    "addrspacecast": (PointerType, PointerType),
}
_NARROWING = frozenset(("trunc", "fptrunc"))
_WIDENING = frozenset(("zext", "sext", "fpext"))


def cast_problems(i: Instruction) -> Iterator[str]:
    """Source and target kinds, widths, and the same number of lanes."""
    source, target = i.operands[0].type, i.type
    if i.op == "bitcast":
        yield from _bitcast_problems(source, target)
        return
    if _lanes(source) != _lanes(target):
        yield f"{i.op} does not change the number of lanes: {source} to {target}"
        return
    a, b = source.scalar, target.scalar
    wanted_source, wanted_target = _KINDS[i.op]
    if not (isinstance(a, wanted_source) and isinstance(b, wanted_target)):
        yield f"{i.op} does not go from {source} to {target}"
    elif isinstance(a, (IntType, FloatType)) and isinstance(b, (IntType, FloatType)):
        if i.op in _NARROWING and a.bits <= b.bits:
            yield f"{i.op} goes to a narrower type, not from {source} to {target}"
        if i.op in _WIDENING and a.bits >= b.bits:
            yield f"{i.op} goes to a wider type, not from {source} to {target}"
    elif i.op == "addrspacecast" and a == b:
        yield f"addrspacecast goes to another address space than that of {source}"


def _lanes(type: Type) -> int:
    return type.count if isinstance(type, VectorType) else 0


def _bitcast_problems(source: Type, target: Type) -> Iterator[str]:
    if source.is_aggregate or target.is_aggregate or source.is_void or target.is_void:
        yield f"bitcast does not go from {source} to {target}"
    elif source.scalar.is_pointer or target.scalar.is_pointer:
        if source.scalar != target.scalar:
            yield f"bitcast does not turn {source} into {target}"
    elif DataLayout().bit_size(source) != DataLayout().bit_size(target):
        yield f"bitcast keeps the number of bits: {source} to {target}"
