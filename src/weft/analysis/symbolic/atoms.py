"""What expressions are made of: symbols, floor divisions, minima and maxima (Juravle, §7.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

if TYPE_CHECKING:
    from weft.analysis.symbolic.expression import Expression


class Symbol(Struct, eq=False):
    """An integer of which no more is known than its range.

    Parameters
    ----------
    name
        What people call it.
    rank
        Symbols are eliminated from the highest rank down: inner loops before outer ones before parameters.
    loop
        The innermost loop in whose iterations it may differ, None for one value for all.
    low, high
        Its range; None where it is open.
    is_pointer
        Whether it is the address where an object begins.
    origin
        What it stands for in the program.
    """

    name: str
    rank: int = 0
    loop: Any = None
    low: int | None = None
    high: int | None = None
    is_pointer: bool = False
    origin: Any = None

    def __repr__(self) -> str:
        return self.name

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.rank, self.name)


class Floor(Struct, frozen=True):
    """``floor(value / divisor)``, of a divisor greater than 0."""

    value: Expression
    divisor: Expression

    def __repr__(self) -> str:
        return f"floor({_operand(self.value)} / {_operand(self.divisor)})"

    @property
    def key(self) -> tuple[Any, ...]:
        return (1 << 30, "floor", *self.value.key, *self.divisor.key)


class Minimum(Struct, frozen=True):
    """The least of several."""

    values: tuple[Expression, ...]

    def __repr__(self) -> str:
        return f"min({', '.join(map(str, self.values))})"

    @property
    def key(self) -> tuple[Any, ...]:
        return (1 << 30, "min", *(k for v in self.values for k in v.key))


class Maximum(Struct, frozen=True):
    """The greatest of several."""

    values: tuple[Expression, ...]

    def __repr__(self) -> str:
        return f"max({', '.join(map(str, self.values))})"

    @property
    def key(self) -> tuple[Any, ...]:
        return (1 << 30, "max", *(k for v in self.values for k in v.key))


Atom = Symbol | Floor | Minimum | Maximum
Monomial = tuple[Atom, ...]
"""A product of atoms in the order of their keys; empty for 1."""


def parts(atom: Atom) -> tuple[Expression, ...]:
    """The operands of an atom that is an operation."""
    if isinstance(atom, Floor):
        return (atom.value, atom.divisor)
    return atom.values if isinstance(atom, Minimum | Maximum) else ()


def evaluated(atom: Atom, values: Callable[[Symbol], int]) -> int:
    """The number that an atom is for numbers in the place of symbols."""
    if isinstance(atom, Symbol):
        return values(atom)
    operands = [operand.evaluate(values) for operand in parts(atom)]
    if isinstance(atom, Floor):
        return operands[0] // operands[1]
    return min(operands) if isinstance(atom, Minimum) else max(operands)


def _operand(value: Expression) -> str:
    text = str(value)
    return f"({text})" if len(value.terms) > 1 or "*" in text else text
