"""What an expression evaluates to while a function is lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.frontend.python.components import tuple_offsets
from weft.frontend.python.types import (
    KernelType,
    Scalar,
    Static,
    Tuple,
    boolean,
    none,
    pycomplex,
    pyfloat,
    pyint,
    tuple_type,
)
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


class Typed:
    """A value with its type.

    Parameters
    ----------
    type
        Its kernel type.
    parts
        Its scalar IR values (see `components`); empty for a literal.
    literal
        The number, when it is known at compile time.
    low
        A lower bound of an integer, when one is known.
    sure
        Whether the bound holds even if int64 arithmetic wrapped on the way to the value. One that does not
        serves only to leave out the wrapping of negative indices.
    """

    __slots__ = ("literal", "low", "parts", "sure", "type")

    def __init__(
        self,
        type: KernelType,
        parts: tuple[Value, ...] = (),
        literal: bool | int | float | complex | None = None,
        low: int | None = None,
        sure: bool = True,
    ) -> None:
        self.type = type
        self.parts = parts
        self.literal = literal
        self.low = low
        self.sure = sure

    def settled(self, low: Lowering) -> Typed:
        """The value for all uses; that of an array expression is an array in memory."""
        return self

    @property
    def least(self) -> int | None:
        """A lower bound that always holds."""
        return self.low if self.sure else None

    @property
    def value(self) -> Value:
        """The one IR value of a scalar that is no literal."""
        return self.parts[0]

    @property
    def is_literal(self) -> bool:
        return self.literal is not None

    @property
    def static(self) -> object:
        """The compile-time object, or None."""
        return self.type.value if isinstance(self.type, Static) else None

    @property
    def int_literal(self) -> int | None:
        """The value of an integer literal."""
        return self.literal if self.type is pyint and isinstance(self.literal, int) else None

    def __repr__(self) -> str:
        return f"<{self.type} {self.literal if self.is_literal else self.parts}>"


NONE = Typed(none)


def literal(value: bool | int | float | complex) -> Typed:
    """A number written in the source, or a Python number from outside: weak."""
    if isinstance(value, bool):
        return Typed(boolean, literal=value, low=int(value))
    if isinstance(value, int):
        return Typed(pyint, literal=value, low=value)
    return Typed(pyfloat if isinstance(value, float) else pycomplex, literal=value)


def static(value: object) -> Typed:
    """A compile-time object."""
    return Typed(Static(value))


def scalar_type(value: Typed) -> Scalar | None:
    """The type of a number, or None when the value is none."""
    return value.type if isinstance(value.type, Scalar) else None


class TupleValue(Typed):
    """A tuple by its items, so that literals and compile-time objects among them stay what they are."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Typed, ...], cls: type | None = None) -> None:
        super().__init__(tuple_type(tuple(item.type for item in items), cls))
        self.items = items


def items_of(value: Typed) -> tuple[Typed, ...]:
    """The items of a tuple."""
    if isinstance(value, TupleValue):
        return value.items
    assert isinstance(value.type, Tuple)
    offsets = tuple_offsets(value.type)
    return tuple(
        Typed(item, value.parts[offsets[i] : offsets[i + 1]]) for i, item in enumerate(value.type.items)
    )
