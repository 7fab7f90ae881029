"""Statements of a body: instructions, labels, scopes, declarations and directives, each with its place in the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from weft.ptx.syntax.operands import Float, Integer, Operand, Register, Symbol


@dataclass(frozen=True, slots=True)
class Guard:
    """The predicate under which an instruction runs, ``@p`` or ``@!p``."""

    register: Register
    negated: bool = False


@dataclass(slots=True)
class Located:
    """What has a place in the text; both count from 1 and are 0 for what was made."""

    line: int = field(default=0, compare=False, kw_only=True)
    column: int = field(default=0, compare=False, kw_only=True)


@dataclass(slots=True)
class Instruction(Located):
    """An instruction.

    Parameters
    ----------
    opcode
        The first part of its name: ``mad`` of ``mad.lo.s32``.
    modifiers
        The other parts in their order, without dots: ``("lo", "s32")``.
    operands
        In the order of the text.
    guard
        The predicate under which it runs, or None.
    """

    opcode: str
    modifiers: tuple[str, ...] = ()
    operands: tuple[Operand, ...] = ()
    guard: Guard | None = None

    @property
    def name(self) -> str:
        """Opcode and modifiers as they are written."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(slots=True)
class Label(Located):
    """``name:``."""

    name: str


@dataclass(slots=True)
class ScopeBegin(Located):
    """``{``."""


@dataclass(slots=True)
class ScopeEnd(Located):
    """``}``."""


@dataclass(frozen=True, slots=True)
class RegisterNames:
    """Part of a declaration: one register, or (`count` is no None) `name`0 to `name`(count - 1)."""

    name: str
    count: int | None = None

    def names(self) -> Iterator[str]:
        """Every register that it declares."""
        if self.count is None:
            yield self.name
        else:
            for number in range(self.count):
                yield f"{self.name}{number}"


@dataclass(slots=True)
class RegisterDeclaration(Located):
    """``.reg .b32 %r<9>, %a;``; `vector` is 0, 2 or 4."""

    type: str
    declared: tuple[RegisterNames, ...]
    vector: int = 0

    def names(self) -> Iterator[str]:
        """Every register that it declares."""
        for part in self.declared:
            yield from part.names()


@dataclass(frozen=True, slots=True)
class PointerTo:
    """``.ptr .global .align 8`` of a kernel's parameter: where it points, and how what it points to is aligned."""

    space: str = ""
    align: int = 0


@dataclass(frozen=True, slots=True)
class Setting:
    """What a texture, sampler or surface is set to: ``filter_mode = nearest``."""

    name: str
    value: Integer | Symbol


Initializer: TypeAlias = "Integer | Float | Symbol | Setting | tuple[Initializer, ...]"
"""A constant, an address, a setting, or a list in braces."""


@dataclass(slots=True)
class Variable(Located):
    """A variable or a parameter.

    Parameters
    ----------
    space
        ``global``, ``const``, ``shared``, ``local``, ``param``, ``reg`` (parameters only), ``tex``, with what follows
        ``::`` or a bank in brackets where it was written.
    type
        Of an element: ``b8``, ``f32``, ``texref``.
    name
        Its name.
    linkage
        ``extern``, ``visible``, ``weak``, ``common`` or nothing.
    align
        In bytes, 0 where the natural alignment holds.
    vector
        2, 4 or 8; 0 for a scalar.
    extents
        Of an array, outermost first; None for ``[]``.
    count
        Declares `name`0 to `name`(count - 1) where it is not None.
    attributes
        Of ``.attribute(...)``, such as ``managed``, each with its numbers.
    pointer
        What a parameter says about its pointer.
    initializer
        The value, None without one.
    """

    space: str
    type: str
    name: str
    linkage: str = ""
    align: int = 0
    vector: int = 0
    extents: tuple[int | None, ...] = ()
    count: int | None = None
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    pointer: PointerTo | None = None
    initializer: Initializer | None = None


@dataclass(slots=True)
class Loc(Located):
    """``.loc``: what follows comes from this line of this `.file`, inlined where `inlined_at` says."""

    file: int
    source_line: int
    source_column: int
    function: Symbol | None = None
    inlined_at: tuple[int, int, int] | None = None


@dataclass(slots=True)
class Pragma(Located):
    """``.pragma "text", ...;``, of a module, a function or a place in a body."""

    texts: tuple[str, ...]


@dataclass(slots=True)
class BranchTargets(Located):
    """``name: .branchtargets a, b;``: what an indirect branch may reach; a count stands for a series of labels."""

    name: str
    targets: tuple[RegisterNames, ...]


@dataclass(slots=True)
class CallTargets(Located):
    """``name: .calltargets f, g;``: what an indirect call may reach."""

    name: str
    targets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive about a function as a whole: ``maxntid`` with its numbers, ``noreturn``."""

    name: str
    values: tuple[int | str, ...] = ()


@dataclass(slots=True)
class CallPrototype(Located):
    """``name: .callprototype (.param .b32 _) _ (.param .b64 _);``: what an indirect call passes and gets."""

    name: str
    returns: tuple[Variable, ...]
    parameters: tuple[Variable, ...]
    directives: tuple[Directive, ...] = ()


Statement: TypeAlias = (
    Instruction
    | Label
    | ScopeBegin
    | ScopeEnd
    | RegisterDeclaration
    | Variable
    | Loc
    | Pragma
    | BranchTargets
    | CallTargets
    | CallPrototype
)
