"""Tuples, members of enumerations, and what exists at compile time only."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

from weft.frontend.python.types.scalars import KernelType, Scalar


class Tuple(KernelType):
    """A tuple, or a named tuple when `cls` is its class."""

    __slots__ = ("cls", "items")

    items: tuple[KernelType, ...]
    cls: type | None

    def __new__(cls, items: Iterable[KernelType], named: type | None = None) -> Tuple:
        key = tuple(items), named
        found = _tuples.get(key)
        if found is None:
            made = super().__new__(cls)
            made.items, made.cls = key
            found = _tuples.setdefault(key, made)
        return found

    @property
    def fields(self) -> tuple[str, ...]:
        return getattr(self.cls, "_fields", ())

    def __str__(self) -> str:
        inner = ", ".join(map(str, self.items))
        return f"{self.cls.__name__}({inner})" if self.cls else f"({inner})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Tuple, (self.items, self.cls)


class Computed(Tuple):
    """The elements of an array expression that are computed when they are asked for, within one compilation.

    It is a tuple of their number and of what they are computed from (`weft.frontend.python.lowering.arrays.fused`).

    Parameters
    ----------
    items
        The types of these.
    dtype
        The type of an element.
    number
        Of the expression.
    """

    __slots__ = ("dtype", "number")

    dtype: Scalar
    number: int

    def __new__(cls, items: Iterable[KernelType], dtype: Scalar, number: int) -> Computed:
        key = tuple(items), (dtype, number)
        found = _tuples.get(key)
        if found is None:
            made = KernelType.__new__(cls)
            made.items, made.cls, made.dtype, made.number = key[0], None, dtype, number
            found = _tuples.setdefault(key, made)
        assert isinstance(found, Computed)
        return found


class Enumeration(KernelType):
    """A class of `enum.Enum` members that are no numbers; a value is the position of the member in the class."""

    __slots__ = ("cls", "members")

    cls: type[enum.Enum]
    members: tuple[enum.Enum, ...]

    def __new__(cls, named: type[enum.Enum]) -> Enumeration:
        found = _enumerations.get(named)
        if found is None:
            made = super().__new__(cls)
            made.cls, made.members = named, tuple(named)
            found = _enumerations.setdefault(named, made)
        return found

    def __str__(self) -> str:
        return self.cls.__qualname__

    def __reduce__(self) -> tuple[Any, ...]:
        return Enumeration, (self.cls,)


class Static(KernelType):
    """The type of a value that exists at compile time only: a function, module, dtype or string."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __str__(self) -> str:
        name = getattr(self.value, "__qualname__", None) or getattr(self.value, "__name__", None)
        return str(name or repr(self.value))


class Callee(Static):
    """The type of one function, or of one text, that is an argument: code is compiled for that one.

    Parameters
    ----------
    value
        The function, or what has it as ``py_func``, or the text.
    digest
        The fingerprint of all that the function reaches (`weft.frontend.python.fingerprint`); functions that have one
        digest have one type. None where it has none: then each object has a type of its own, in this process. Of a
        text, how Python writes it, in quotes.
    """

    __slots__ = ("digest",)

    def __init__(self, value: object, digest: str | None) -> None:
        super().__init__(value)
        self.digest = digest


_tuples: dict[tuple[Any, ...], Tuple] = {}
_enumerations: dict[type[enum.Enum], Enumeration] = {}

tuple_type = Tuple


def callees_of(types: Iterable[KernelType]) -> tuple[Any, ...]:
    """The functions and texts that arguments of these types are, those in tuples included."""
    found: list[Any] = []
    for type in types:
        if isinstance(type, Callee):
            found.append(type.value)
        elif isinstance(type, Tuple):
            found += callees_of(type.items)
    return tuple(found)


def uni_tuple(item: KernelType, count: int) -> Tuple:
    """The type of a tuple of `count` items of one type."""
    return Tuple((item,) * count)
