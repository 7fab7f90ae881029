"""Data classes that cost little to define: hundreds are, whenever the compiler is imported.

`dataclasses.dataclass` writes, compiles and runs the text of up to seven methods for each class, which was a third of
the first compilation. Here only `__init__` is made so; the others are closures. That ``frozen`` objects stay as they
are is up to the type checker, which sees the original: a check at run time also makes them slower to create.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True, kw_only: bool = False):
        """Return a decorator that makes a data class; the options are those of `dataclasses.dataclass`."""

        def decorate(cls: type[T]) -> type[T]:
            defined = vars(cls).copy()
            made = dataclasses.dataclass(cls, repr=False, eq=False, slots=slots, kw_only=kw_only)
            fields = dataclasses.fields(made)
            if "__repr__" not in defined:
                made.__repr__ = _representation([f.name for f in fields if f.repr])
            if eq:
                _compare(made, defined, [f for f in fields if f.compare], frozen=frozen)
            return made

        return decorate


def _compare(
    made: Any, defined: dict[str, Any], fields: list[dataclasses.Field[Any]], *, frozen: bool
) -> None:
    """Objects of a class are equal where these fields are; only frozen ones have a hash."""
    if "__eq__" not in defined:
        made.__eq__ = _equality(_values([f.name for f in fields]))
    if defined.get("__hash__") is None:
        hashed = [f.name for f in fields if f.hash is not False]
        made.__hash__ = _hash(_values(hashed)) if frozen else None


def _values(names: list[str]) -> Callable[[object], object]:
    return attrgetter(*names) if names else lambda _: ()


def _representation(names: list[str]) -> Callable[[object], str]:
    def shown(self: object) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({parts})"

    return shown


def _equality(values: Callable[[object], object]) -> Callable[[object, object], bool]:
    def equal(self: object, other: object) -> bool:
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    return equal


def _hash(values: Callable[[object], object]) -> Callable[[object], int]:
    def hashed(self: object) -> int:
        return hash(values(self))

    return hashed
