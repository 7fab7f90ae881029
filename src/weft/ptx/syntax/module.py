"""Functions, sections, and the module that has them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from weft.diag.source import SourceSpan
from weft.ptx.source import Source
from weft.ptx.syntax.operands import Integer, Symbol
from weft.ptx.syntax.statements import Directive, Instruction, Label, Located, Pragma, Statement, Variable


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
