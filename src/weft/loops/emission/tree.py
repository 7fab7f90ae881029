"""Kernels as trees of statements and expressions, which each language prints its own way.

An expression of integers stands for the exact number that a machine integer is, in its signed or its unsigned
*reading*. Conversions between the two are nodes, so that languages with one kind of integer (Python's dialect computes
in int64) and with several (C) print the same tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.ir.types import I1, FloatType, Type


@dataclass(frozen=True, slots=True)
class Node:
    """An expression.

    Parameters
    ----------
    op
        ``name``, ``thread``, ``int``, ``float``, ``index``, ``call``, ``select``, a binary or unary operator by its
        sign, ``//`` and ``%`` (rounded down), ``/t`` and ``%t`` (rounded toward zero), ``and``, ``or``, ``not``;
        ``wrap`` (the unsigned reading of what may have left its width), ``signed`` and ``unsigned`` (readings of each
        other), ``widen``, ``narrow``, ``as_float``, ``as_int``.
    type
        The type of the value.
    args
        Operands.
    text
        The name of what is named or called.
    number
        Of ``int`` and ``float``.
    reading
        ``s`` or ``u``, of integers.
    is_nonnegative
        Whether it is known not to be negative as a signed number, so that both readings agree.
    """

    op: str
    type: Type
    args: tuple[Node, ...] = ()
    text: str = ""
    number: int | float = 0
    reading: str = "s"
    is_nonnegative: bool = False

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, FloatType)

    @property
    def bits(self) -> int:
        return self.type.bits  # type: ignore[attr-defined]


@dataclass(frozen=True, eq=False, slots=True)
class Variable:
    """A variable of a kernel.

    Parameters
    ----------
    name, type, reading
        What it is called, and which numbers it holds.
    """

    name: str
    type: Type
    reading: str

    @property
    def node(self) -> Node:
        """A use of it."""
        return Node("name", self.type, text=self.name, reading=self.reading)


@dataclass(slots=True)
class Statement:
    """A statement."""


@dataclass(slots=True)
class Assign(Statement):
    """``variable = value``."""

    variable: Variable
    value: Node


@dataclass(slots=True)
class Store(Statement):
    """``array[subscripts] = value``, or an atomic update of the element by ``update``."""

    target: Node
    value: Node
    update: str = ""


@dataclass(slots=True)
class If(Statement):
    """A condition and its two ways."""

    condition: Node
    then: list[Statement] = field(default_factory=list)
    otherwise: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class For(Statement):
    """``for variable in range(start, stop, step)``; the body does not change the variable."""

    variable: Variable
    start: Node
    stop: Node
    step: int
    body: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class While(Statement):
    """``while condition``; no condition is one that always holds."""

    condition: Node | None
    body: list[Statement] = field(default_factory=list)


@dataclass(slots=True)
class Break(Statement):
    """Leave the innermost loop."""


@dataclass(slots=True)
class Continue(Statement):
    """Begin the next iteration of the innermost loop."""


@dataclass(slots=True)
class Return(Statement):
    """End the thread."""


def names_in(node: Node) -> set[str]:
    """The variables and arrays that an expression reads."""
    found = {node.text} if node.op in ("name", "index") else set()
    for arg in node.args:
        found |= names_in(arg)
    return found


def ends_in_jump(body: list[Statement]) -> bool:
    """Whether what follows a list of statements is never reached."""
    return bool(body) and isinstance(body[-1], Break | Continue | Return)


def without_conversion(value: Node) -> Node:
    """A number without what only takes its low bits, as a store does by itself."""
    while value.op in ("wrap", "signed", "unsigned", "narrow") and not value.is_float:
        inner = value.args[0]
        if inner.is_float or inner.type == I1:
            break
        value = inner
    return value
