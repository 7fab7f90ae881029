"""``memset``, ``memcpy`` and ``memmove`` of a few bytes become loads and stores, which have vector forms.

A block write has none: widening would run it lane after lane. It is made in pieces of the elements of the stack object
that it touches, so that this stays an object of elements (`weft.codegen.widen.stack_objects`), else of up to 8 bytes.
All is loaded before anything is stored, as blocks may overlap.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no block write of at most `MAX_BYTES` bytes
in at most `MAX_PIECES` pieces is left, unless it is volatile. Preserves the program under FR.
"""

from __future__ import annotations

import re

from weft.analysis.memory.alias import locate
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import ArrayType, IntType, int_type
from weft.transform.aggregates.memory import alignment_at, at_offset
from weft.transform.aggregates.types import components_of

MAX_BYTES = 256
MAX_PIECES = 64
_CALLEE = re.compile(r"llvm\.(memset|memcpy|memmove)\.")
_ALIGN = re.compile(r"align (\d+)")


def expand_block_writes(function: Function) -> bool:
    """Take apart the block writes of constant size that are small enough; whether there were any."""
    layout = function.layout
    found = [call for call in function.instructions() if _CALLEE.match(call.callee_name or "")]
    expanded = [_expand(call, layout) for call in found]
    return any(expanded)


def _expand(call: Instruction, layout: DataLayout) -> bool:
    target, source, size, volatile = call.args
    if not isinstance(size, ConstInt) or volatile != ConstInt(IntType(1), 0):
        return False
    copies = source.type.is_pointer
    unit = unit_of(size.value, [target, source] if copies else [target], layout)
    if size.value > MAX_BYTES or size.value // unit > MAX_PIECES:
        return False
    builder = Builder(before=call)
    builder.loc = call.loc
    type = int_type(8 * unit)
    offsets = range(0, size.value, unit)
    if copies:
        align = alignment_of(call, 1)
        pieces: list[Value] = [
            builder.load(type, at_offset(builder, source, offset), align=alignment_at(align, offset))
            for offset in offsets
        ]
    else:
        pieces = [repeated(builder, source, unit)] * len(offsets)
    align = alignment_of(call, 0)
    for offset, piece in zip(offsets, pieces, strict=True):
        builder.store(piece, at_offset(builder, target, offset), align=alignment_at(align, offset))
    call.erase()
    return True


def unit_of(size: int, pointers: list[Value], layout: DataLayout) -> int:
    """Bytes of a piece: a power of two that divides the size."""
    unit = min(8, size & -size) if size else 8
    for pointer in pointers:
        base = locate(pointer, layout).base
        if isinstance(base, Instruction) and base.op == "alloca":
            type = base.allocated_type
            while isinstance(type, ArrayType):
                type = type.element
            unit = min(unit, *(layout.store_size(c.type) for c in components_of(type) or ()), 8)
    return 1 << (unit.bit_length() - 1)


def repeated(builder: Builder, byte: Value, times: int) -> Value:
    """A number all of whose bytes are the same."""
    type = int_type(8 * times)
    ones = sum(1 << (8 * k) for k in range(times))
    if isinstance(byte, ConstInt):
        return ConstInt(type, byte.value * ones)
    if times == 1:
        return byte
    return builder.binary("mul", builder.cast("zext", byte, type), ConstInt(type, ones))


def alignment_of(call: Instruction, argument: int) -> int:
    """The alignment that is promised of a pointer argument."""
    attributes = call.attrs.get("arg_attrs", ())
    texts = attributes[argument] if argument < len(attributes) else ()
    return max((int(m[1]) for text in texts if (m := _ALIGN.fullmatch(text))), default=1)
