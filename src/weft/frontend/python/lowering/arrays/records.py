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
from weft.frontend.python.types import Field, Record, Scalar, array_type
from weft.frontend.python.typing_rules import real_type

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _field(record: Typed, name: str) -> tuple[Record, Field]:
    type = record.type
    assert isinstance(type, Record)
    if name not in type.fields:
        raise TypingError(f"{type} has no field '{name}'", hint=f"it has {', '.join(type.fields)}")
    return type, type.fields[name]


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


def store_field(low: Lowering, record: Typed, name: str, value: Typed) -> None:
    """Assign to a field."""
    type, field = _field(record, name)
    if field.shape:
        raise TypingError(f"the field '{name}' is an array", hint="assign its elements")
    address = field_address(low, record.value, field)
    store_element(low, value, address, field.type, field_align(type, field))
