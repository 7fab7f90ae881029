"""The rules of memory instructions."""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir.instruction import Instruction
from weft.ir.keywords import ORDERINGS
from weft.ir.opcodes import RMW_OPERATIONS
from weft.ir.result_types import cmpxchg_type
from weft.ir.types import VOID, PointerType, StructType, Type

_FLOAT_RMW = frozenset(("fadd", "fsub", "fmax", "fmin", "fmaximum", "fminimum"))


def _pointer_problems(pointer: Type) -> Iterator[str]:
    if not pointer.is_pointer:
        yield f"the address has type {pointer}"


def _align_problems(i: Instruction) -> Iterator[str]:
    align = i.attrs.get("align") or 0
    if align < 0 or align & (align - 1):
        yield f"the alignment {align} is no power of two"


def _has_size(type: Type) -> bool:
    if isinstance(type, StructType):
        return type.fields is not None and all(_has_size(f) for f in type.fields)
    return type.is_integer or type.is_float or type.is_pointer or type.is_vector or type.is_aggregate


def access_problems(i: Instruction) -> Iterator[str]:
    """A load or a store."""
    load = i.op == "load"
    accessed = i.type if load else i.operands[0].type
    yield from _pointer_problems(i.operands[-1].type)
    yield from _align_problems(i)
    if not _has_size(accessed):
        yield f"a value of type {accessed} cannot be in memory"
    if not load and i.type is not VOID:
        yield "a store has no result"
    ordering = i.attrs.get("ordering")
    if ordering is None:
        return
    if ordering not in ORDERINGS or ordering in ("acq_rel", "release" if load else "acquire"):
        yield f"{ordering} is no ordering of a {i.op}"
    if not i.attrs.get("align"):
        yield f"an atomic {i.op} states its alignment"
    if not (accessed.is_integer or accessed.is_float or accessed.is_pointer):
        yield f"a value of type {accessed} cannot be accessed atomically"


def alloca_problems(i: Instruction) -> Iterator[str]:
    """A stack object of a type that has a size."""
    type = i.attrs.get("allocated_type")
    yield from _align_problems(i)
    if not isinstance(type, Type) or not _has_size(type):
        yield f"an object of type {type} cannot be on the stack"
    if not i.operands[0].type.is_integer:
        yield f"the number of elements has type {i.operands[0].type}"
    if i.type != PointerType(i.attrs.get("space") or 0):
        yield f"the result has type {i.type}"


def atomicrmw_problems(i: Instruction) -> Iterator[str]:
    """Operation, ordering and types that go together."""
    pointer, value = i.operands
    yield from _pointer_problems(pointer.type)
    yield from _align_problems(i)
    operation = i.attrs.get("rmw")
    if operation not in RMW_OPERATIONS:
        yield f"{operation!r} is no operation of atomicrmw"
    elif operation in _FLOAT_RMW:
        if not value.type.scalar.is_float:
            yield f"{operation} needs a float, not {value.type}"
    elif not (
        value.type.is_integer or (operation == "xchg" and (value.type.is_float or value.type.is_pointer))
    ):
        yield f"{operation} needs an integer, not {value.type}"
    if i.attrs.get("ordering") not in ORDERINGS - {"unordered"}:
        yield f"{i.attrs.get('ordering')} is no ordering of atomicrmw"
    if i.type != value.type:
        yield f"the result has type {i.type}, not {value.type}"


def cmpxchg_problems(i: Instruction) -> Iterator[str]:
    """Types, and an order of failure that does not write."""
    pointer, expected, new = i.operands
    yield from _pointer_problems(pointer.type)
    yield from _align_problems(i)
    if expected.type != new.type:
        yield f"the new value has type {new.type}, the expected one {expected.type}"
    if not (expected.type.is_integer or expected.type.is_pointer):
        yield f"cmpxchg needs integers or pointers, not {expected.type}"
    if i.type != cmpxchg_type(expected.type):
        yield f"the result has type {i.type}"
    if i.attrs.get("success") not in ORDERINGS - {"unordered"}:
        yield f"{i.attrs.get('success')} is no ordering of cmpxchg"
    if i.attrs.get("failure") not in ("monotonic", "acquire", "seq_cst"):
        yield f"{i.attrs.get('failure')} is no ordering of a failing cmpxchg"


def fence_problems(i: Instruction) -> Iterator[str]:
    """An ordering that orders something."""
    if i.attrs.get("ordering") not in ("acquire", "release", "acq_rel", "seq_cst"):
        yield f"{i.attrs.get('ordering')} is no ordering of a fence"
