"""Fields of records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.lowering.arrays.memory import (
    field_address,
    field_align,
    load_element,
    store_element,
)
from weft.frontend.python.lowering.calls.typed import Typed
from weft.frontend.python.types import Array, Field, Record, Scalar, array_type
from weft.frontend.python.typing_rules import real_type

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _field(record: Typed, name: str) -> tuple[Record, Field]:
    type = record.type
    assert isinstance(type, Record)
    if name not in type.fields:
        raise TypingError(f"{type} has no field '{name}'", hint=f"it has {', '.join(type.fields)}")
    return type, type.fields[name]


def field_name(record: Typed, key: Typed) -> str:
    """The field that a subscript names, by a string or by its number."""
    type = record.type
    assert isinstance(type, Record)
    if isinstance(key.static, str):
        return key.static
    number, names = key.int_literal, list(type.fields)
    if number is None or not -len(names) <= number < len(names):
        raise TypingError(
            "a field of a record is named by a string literal", hint=f"it has {', '.join(names)}"
        )
    return names[number]


def record_field(low: Lowering, record: Typed, name: str) -> Typed:
    """The value of a field; an array or record inside is a view."""
    type, field = _field(record, name)
    align = field_align(type, field)
    address = field_address(low, record.value, field)
    if field.shape:
        own = real_type(field.type).size if isinstance(field.type, Scalar) else field.type.align
        view = array_type(field.type, len(field.shape), "C", aligned=align >= own, shape=field.shape)
        return Typed(view, (address,))
    return load_element(low, address, field.type, align)


def _store_array(low: Lowering, array: Typed, value: Typed) -> None:
    from weft.frontend.python.lowering.arrays.elementwise import assign_elements
    from weft.frontend.python.lowering.arrays.whole_arrays import fill

    if isinstance(value.type, Array):
        assign_elements(low, array, value)
    else:
        fill(low, array, value)


def store_field(low: Lowering, record: Typed, name: str, value: Typed) -> None:
    """Assign to a field."""
    type, field = _field(record, name)
    if field.shape:
        _store_array(low, record_field(low, record, name), value)
        return
    address = field_address(low, record.value, field)
    store_element(low, value, address, field.type, field_align(type, field))
