"""Loads and stores of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.components import memory_scalar
from weft.frontend.python.lowering.arrays.array_parts import element_type
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.lowering.numbers.bfloat import bits_of, of_bits
from weft.frontend.python.lowering.numbers.casts import convert
from weft.frontend.python.typeof import lowest_bit
from weft.frontend.python.types import Field, Record, Scalar, Text, bfloat16
from weft.frontend.python.typing_rules import real_type
from weft.ir.builder import address_space, const_int
from weft.ir.types import I8, I32, PTR, int_type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def load_element(low: Lowering, address: Value, type: Scalar | Record, align: int) -> Typed:
    """The element at an address; a record stays where it is."""
    if isinstance(type, Record):
        if address_space(address):
            address = low.builder.cast("addrspacecast", address, PTR)
        return Typed(type, (address,))
    if type.kind == "c":
        part = memory_scalar(real_type(type))
        addresses = _complex_addresses(low, address, type)
        return Typed(type, tuple(low.builder.load(part, a, align) for a in addresses))
    value: Value = low.builder.load(memory_scalar(type), address, align)
    if type.kind == "b":
        value = low.builder.icmp("ne", value, const_int(0, I8))
    if type is bfloat16:
        value = of_bits(low, value)
    return Typed(type, (value,), low=0 if type.kind == "u" else None)


def store_element(low: Lowering, value: Typed, address: Value, type: Scalar | Record, align: int) -> None:
    """Convert a value to the element's type and store it."""
    builder = low.builder
    if isinstance(type, Text):
        from weft.frontend.python.lowering.arrays.texts import store_text

        store_text(low, value, address, type)
    elif isinstance(type, Record):
        _copy_record(low, value, address, type)
    elif type.kind == "c":
        parts = convert(low, value, type)
        for part, place in zip(parts, _complex_addresses(low, address, type), strict=True):
            builder.store(part, place, align)
    else:
        (part,) = convert(low, value, type)
        if type.kind == "b":
            part = builder.cast("zext", part, I8)
        builder.store(bits_of(low, part) if type is bfloat16 else part, address, align)


def _complex_addresses(low: Lowering, address: Value, type: Scalar) -> tuple[Value, Value]:
    pair, zero = element_type(type), const_int(0, I32)
    imag = low.builder.gep(pair, address, (zero, const_int(1, I32)), ("inbounds",))
    return address, imag


def scalar_align(type: Scalar, aligned: bool = True) -> int:
    """The alignment of a scalar in memory: that of its parts if it is complex."""
    return real_type(type).size if aligned else 1


def field_address(low: Lowering, record: Value, field: Field) -> Value:
    """The address of a field of the record at an address."""
    if field.offset == 0:
        return record
    return low.builder.gep(I8, record, (const_int(field.offset),), ("inbounds",))


def field_align(record: Record, field: Field) -> int:
    """The alignment that is known of a field."""
    return lowest_bit(record.align | field.offset) if field.offset else record.align


def _copy_record(low: Lowering, value: Typed, address: Value, type: Record) -> None:
    """Copy field by field, everything loaded first since source and target may overlap."""
    source = value.type
    if not isinstance(source, Record) or source.numpy_dtype != type.numpy_dtype:
        raise TypingError(f"{source} cannot become {type}", hint="assign the fields one by one")
    step = min(type.align, 8)
    word, offsets = int_type(8 * step), range(0, type.size, step)
    words = [low.builder.load(word, _byte_address(low, value.parts[0], at), step) for at in offsets]
    for at, part in zip(offsets, words, strict=True):
        low.builder.store(part, _byte_address(low, address, at), step)


def _byte_address(low: Lowering, base: Value, offset: int) -> Value:
    return low.builder.gep(I8, base, (const_int(offset),), ("inbounds",)) if offset else base
