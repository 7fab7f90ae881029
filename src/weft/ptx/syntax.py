"""PTX as data: a module, its variables and functions, and the statements of a body in their order.

A body is one flat list. Scopes (``{`` and ``}``, with registers, variables and labels of their own) are the statements
`ScopeBegin` and `ScopeEnd`; `weft.ptx.scopes` takes them away where names have to be unique.

Operands are frozen and may be shared. Statements can be changed. Every statement has the line and column at which it
begins (0 for one that was made, not read), which take no part in comparison, and `Module.span` makes a
`weft.diag.source.SourceSpan` of it. Spelling is not kept: numbers are values, comments are gone.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from weft.diag.source import SourceSpan
from weft.ptx.source import Source


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register.

    `component` is what follows the dot: ``x y z w r g b a`` of a vector register, ``b0``..``b3`` or ``h0`` ``h1`` of an
    operand of a video instruction, or nothing.
    """

    name: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A predefined register such as ``%tid`` with component ``x``, or ``%laneid``."""

    name: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer constant, from -2**63 to 2**64 - 1; constant expressions have been evaluated.

    `unsigned` says that the text had the suffix ``U``, or a value that only an unsigned 64-bit integer has.
    """

    value: int
    unsigned: bool = False

    def bits(self, width: int) -> int:
        """The low `width` bits."""
        return self.value & ((1 << width) - 1)


@dataclass(frozen=True, slots=True)
class Float:
    """A floating constant by its bits: of single precision (``0f``, width 32) or of double (``0d`` and decimals)."""

    pattern: int
    width: int = 64

    @property
    def value(self) -> float:
        """What the bits mean."""
        form, integer = ("<f", "<I") if self.width == 32 else ("<d", "<Q")
        return struct.unpack(form, struct.pack(integer, self.pattern))[0]

    def bits(self, width: int) -> int:
        """The bits when used as a number of this width (16, 32 or 64), rounded to nearest; NaN keep their payload."""
        if width == self.width:
            return self.pattern
        if self.value != self.value:
            return _nan_bits(self.pattern, self.width, width)
        form, integer = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[width]
        try:
            return struct.unpack(integer, struct.pack(form, self.value))[0]
        except OverflowError:
            infinity = float("inf") if self.value > 0 else float("-inf")
            return struct.unpack(integer, struct.pack(form, infinity))[0]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function, label or parameter by its name, or the address ``name + offset`` of one.

    In an initializer, `generic` says that the generic address is meant, and `mask` which bits of it (0: all).
    """

    name: str
    offset: int = 0
    generic: bool = False
    mask: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces: ``{%r1, %r2}``."""

    elements: tuple[Operand, ...]


AddressBase: TypeAlias = Register | SpecialRegister | Symbol | Integer
"""What an address can begin with."""


@dataclass(frozen=True, slots=True)
class Address:
    """An operand in brackets.

    Parameters
    ----------
    base
        Register, symbol or absolute address.
    offset
        Bytes added to it.
    more
        What follows after commas: coordinates and samplers of textures and tensors.
    unified
        Whether ``.unified`` stands behind the bracket.
    """

    base: AddressBase
    offset: int = 0
    more: tuple[Operand, ...] = ()
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """An array's element without brackets, ``name[index]``: its address, or, of ``.reg`` arrays, its value."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class Negated:
    """A predicate read inverted, ``!p``, or (`sign` is ``-``) an operand of a video instruction read negated."""

    operand: Operand
    sign: str = "!"


@dataclass(frozen=True, slots=True)
class Sink:
    """The destination ``_``, which drops the value."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations, ``p|q``."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Group:
    """Operands in parentheses: what a call passes, or what it gets back."""

    elements: tuple[Operand, ...]


Operand: TypeAlias = (
    Register
    | SpecialRegister
    | Integer
    | Float
    | Symbol
    | Vector
    | Address
    | Element
    | Negated
    | Sink
    | Pair
    | Group
)


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


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive about a function as a whole: ``maxntid`` with its numbers, ``noreturn``."""

    name: str
    values: tuple[int | str, ...] = ()


@dataclass(slots=True)
class Function(Located):
    """A kernel (`entry`) or a device function, or its declaration (`body` is None).

    Parameters
    ----------
    name
        Its name.
    entry
        Whether it is a kernel.
    returns, parameters
        Formal parameters; those of device functions may be registers (space ``reg``).
    body
        The statements in their order.
    linkage
        ``extern``, ``visible``, ``weak`` or nothing.
    attributes
        Of ``.attribute(...)``.
    directives
        ``maxntid``, ``reqntid``, ``minnctapersm``, ``maxnreg``, ``noreturn``, ``pragma`` and so on, in their order.
    """

    name: str
    entry: bool
    parameters: tuple[Variable, ...] = ()
    returns: tuple[Variable, ...] = ()
    body: list[Statement] | None = None
    linkage: str = ""
    attributes: tuple[tuple[str, tuple[int, ...]], ...] = ()
    directives: tuple[Directive, ...] = ()

    def instructions(self) -> Iterator[Instruction]:
        """The instructions of the body in the order of the text."""
        for statement in self.body or ():
            if type(statement) is Instruction:
                yield statement

    def directive(self, name: str) -> Directive | None:
        """The directive of this name, or None."""
        return next((directive for directive in self.directives if directive.name == name), None)


@dataclass(slots=True)
class File(Located):
    """``.file 1 "name"``, with time stamp and size where they were given."""

    number: int
    name: str
    stamp: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """``a-b`` in debug data: how far two labels are apart."""

    minuend: str
    subtrahend: str


@dataclass(slots=True)
class SectionData(Located):
    """Numbers, labels or sections (which begin with a dot) in a section of debug data."""

    type: str
    values: tuple[Integer | Symbol | Difference, ...]


@dataclass(slots=True)
class Section(Located):
    """``.section .debug_info { ... }``."""

    name: str
    body: list[SectionData | Label]


@dataclass(slots=True)
class Alias(Located):
    """``.alias name, aliasee;``."""

    name: str
    aliasee: str


@dataclass(slots=True)
class Dwarf(Located):
    """A line of debug data of PTX 1.x, ``@@DWARF ...``, as it stands."""

    text: str


Top: TypeAlias = Variable | Function | File | Section | Alias | Pragma | Dwarf


@dataclass(slots=True)
class Module:
    """A PTX module.

    Parameters
    ----------
    version
        Of the PTX ISA: (8, 5).
    target
        The architecture, ``sm_90a``, and options such as ``texmode_independent`` behind it.
    address_size
        32 or 64; None where the text does not say, which means 32.
    body
        Everything else in its order.
    source
        The text that was read, for diagnostics.
    """

    version: tuple[int, int]
    target: tuple[str, ...]
    address_size: int | None = 64
    body: list[Top] = field(default_factory=list)
    source: Source | None = field(default=None, compare=False, repr=False)

    def functions(self) -> Iterator[Function]:
        """Kernels and device functions, with and without bodies."""
        for item in self.body:
            if type(item) is Function:
                yield item

    def entries(self) -> Iterator[Function]:
        """The kernels that have bodies."""
        for function in self.functions():
            if function.entry and function.body is not None:
                yield function

    def variables(self) -> Iterator[Variable]:
        """The variables of the module."""
        for item in self.body:
            if type(item) is Variable:
                yield item

    def function(self, name: str) -> Function:
        """The definition of the function of this name, else its declaration.

        Raises
        ------
        KeyError
            There is none.
        """
        named = [function for function in self.functions() if function.name == name]
        if not named:
            raise KeyError(name)
        return next((function for function in named if function.body is not None), named[0])

    def span(self, item: Located) -> SourceSpan | None:
        """Where in the text something begins; None for what was not read from text."""
        if self.source is None or not item.line:
            return None
        return self.source.span_at(item.line, item.column)


def _nan_bits(pattern: int, width: int, wanted: int) -> int:
    """A NaN of another width: sign, quiet bit and the high bits of the payload stay."""
    fraction = {16: 10, 32: 23, 64: 52}
    sign = pattern >> (width - 1) << (wanted - 1)
    exponent = ((1 << (wanted - 1 - fraction[wanted])) - 1) << fraction[wanted]
    payload = pattern & ((1 << fraction[width]) - 1)
    shift = fraction[width] - fraction[wanted]
    kept = payload >> shift if shift > 0 else payload << -shift
    return sign | exponent | (kept or 1 << (fraction[wanted] - 1))
