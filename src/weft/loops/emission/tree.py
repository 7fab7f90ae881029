"""Kernels as trees of statements and expressions, which each language prints its own way.

An expression of integers stands for the exact number that a machine integer is, in its signed or its unsigned
*reading*. Conversions between the two are nodes, so that languages with one kind of integer (Python's dialect computes
in int64) and with several (C) print the same tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from weft.ir.types import I1, I64, FloatType, Type


class Node(Struct, frozen=True):
    """An expression.

    Parameters
    ----------
    op
        ``name``, ``thread``, ``int``, ``float``, ``index``, ``call``, ``select``, a binary or unary operator by its
        sign, ``//`` and ``%`` (rounded down), ``/t`` and ``%t`` (rounded toward zero), ``and``, ``or``, ``not``;
        ``wrap`` (the unsigned reading of what may have left its width), ``signed`` and ``unsigned`` (readings of each
        other), ``widen``, ``narrow``, ``as_float``, ``as_int``; ``local``, the number of the thread in its block in
        a dimension, and ``block``, that of the block in x.
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


class Variable(Struct, frozen=True, eq=False):
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


class Statement(Struct):
    """A statement."""


class Assign(Statement):
    """``variable = value``."""

    variable: Variable
    value: Node


class Store(Statement):
    """``array[subscripts] = value``, or an atomic update of the element by ``update``."""

    target: Node
    value: Node
    update: str = ""


class If(Statement):
    """A condition and its two ways."""

    condition: Node
    then: list[Statement] = field(default_factory=list)
    otherwise: list[Statement] = field(default_factory=list)


class For(Statement):
    """``for variable in range(start, stop, step)``; the body does not change the variable.

    Of a loop that is spread over ``"grid"`` each thread of the grid takes every so manieth iteration, over ``"blocks"``
    each block, over ``"block"`` each thread of the block.
    """

    variable: Variable
    start: Node
    stop: Node
    step: int
    body: list[Statement] = field(default_factory=list)
    spread: str = ""


class While(Statement):
    """``while condition``; no condition is one that always holds."""

    condition: Node | None
    body: list[Statement] = field(default_factory=list)


class Break(Statement):
    """Leave the innermost loop."""


class Continue(Statement):
    """Begin the next iteration of the innermost loop."""


class Return(Statement):
    """End the thread."""


class Shared(Statement):
    """An array that the threads of a block share."""

    name: str
    type: Type
    reading: str
    size: tuple[int, ...]


class Barrier(Statement):
    """Wait for all threads of the block."""


class Launch(Statement):
    """Run a kernel, on the host.

    Parameters
    ----------
    kernel
        Its name.
    arguments
        What it is given: names of arrays and numbers.
    threads
        So many threads are needed in each dimension, if `blocks` is None.
    block
        The threads of a block.
    blocks
        So many blocks.
    """

    kernel: str
    arguments: tuple[Argument, ...]
    block: tuple[int, ...]
    threads: tuple[Node, ...] = ()
    blocks: Node | None = None


class Make(Statement):
    """Make an array that only kernels use, on the host: a `Buffer`."""

    buffer: Buffer


class Buffer(Struct, frozen=True):
    """An array that the host makes.

    Parameters
    ----------
    name, type, reading
        Its elements.
    length
        How many there are.
    start
        What they are first; None if a kernel writes them before anything reads them.
    """

    name: str
    type: Type
    reading: str
    length: Node
    start: Node | None = None


class Argument(Struct, frozen=True):
    """What a kernel is given.

    Parameters
    ----------
    name
        What it is called.
    type
        The type of a number, of the elements of an array.
    reading
        How integers are read.
    is_array
        Whether it is an array.
    is_written
        Whether the kernel stores to it.
    value
        What is given, if that is not what the parameter is called.
    """

    name: str
    type: Type
    reading: str
    is_array: bool
    is_written: bool = False
    value: Node | None = None


def names_in(node: Node) -> set[str]:
    """The variables and arrays that an expression reads."""
    found = {node.text} if node.op in ("name", "index") else set()
    for arg in node.args:
        found |= names_in(arg)
    return found


def substituted(node: Node, known: dict[str, Node]) -> Node:
    """An expression with others in the place of names."""
    if node.op == "name":
        return known.get(node.text, node)
    return replace(node, args=tuple(substituted(a, known) for a in node.args))


def names_of(statements: Iterable[Statement]) -> set[str]:
    """All names in statements, of variables and arrays that are written, too, but for counters of their own loops."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case Assign(variable, value):
                found |= {variable.name} | names_in(value)
            case Store(target, value, _):
                found |= names_in(target) | names_in(value)
            case If(condition, then, otherwise):
                found |= names_in(condition) | names_of(then) | names_of(otherwise)
            case For(variable, start, stop, _, body):
                found |= names_in(start) | names_in(stop) | (names_of(body) - {variable.name})
            case While(condition, body):
                found |= (set() if condition is None else names_in(condition)) | names_of(body)
            case Shared(name):
                found.add(name)
            case Make(buffer):
                found |= names_in(buffer.length)
            case Launch(_, arguments, _, threads, blocks):
                values = (*(a.value for a in arguments), *threads, blocks)
                found |= {n for v in values if v is not None for n in names_in(v)}
            case _:
                pass
    return found


def assigned_in(body: Iterable[Statement]) -> Iterator[Variable]:
    """The variables that statements give values, counters of loops among them."""
    for statement in body:
        match statement:
            case Assign(variable, _):
                yield variable
            case If(_, then, otherwise):
                yield from assigned_in([*then, *otherwise])
            case For(variable, _, _, _, inner):
                yield variable
                yield from assigned_in(inner)
            case While(_, inner):
                yield from assigned_in(inner)
            case _:
                pass


def written_in(statements: Iterable[Statement]) -> set[str]:
    """The arrays that statements store to."""
    found: set[str] = set()
    for statement in statements:
        match statement:
            case Store(target, _, _):
                found.add(target.text)
            case If(_, then, otherwise):
                found |= written_in(then) | written_in(otherwise)
            case For(_, _, _, _, body) | While(_, body):
                found |= written_in(body)
            case _:
                pass
    return found


def launches_in(statements: Iterable[Statement]) -> Iterator[Launch]:
    """All launches."""
    for statement in statements:
        match statement:
            case Launch():
                yield statement
            case If(_, then, otherwise):
                yield from launches_in((*then, *otherwise))
            case For(_, _, _, _, body) | While(_, body):
                yield from launches_in(body)
            case _:
                pass


def has_jump(body: Iterable[Statement], kind: type[Break | Continue]) -> bool:
    """Whether a loop's body has a jump of this loop, not of one inside."""
    for statement in body:
        match statement:
            case If(_, then, otherwise):
                if has_jump(then, kind) or has_jump(otherwise, kind):
                    return True
            case _:
                if isinstance(statement, kind):
                    return True
    return False


def number(value: int, type: Type = I64) -> Node:
    """An integer."""
    return Node("int", type, number=value, is_nonnegative=value >= 0)


def element(array: str, index: Node, type: Type, reading: str = "s") -> Node:
    """An element of an array of one dimension."""
    return Node("index", type, (index,), array, reading=reading)


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
