"""Kernels and device functions."""

from __future__ import annotations

from weft.ptx.reader.body import read_body, read_pragma
from weft.ptx.reader.constants import read_integer
from weft.ptx.reader.cursor import Cursor
from weft.ptx.reader.declarations import read_attributes, read_parameters
from weft.ptx.syntax import Directive, Function, Statement, Variable

# How many numbers each takes at least and at most.
_DIRECTIVES: dict[str, tuple[int, int]] = {
    "maxntid": (1, 3),
    "reqntid": (1, 3),
    "minnctapersm": (1, 1),
    "maxnctapersm": (1, 1),
    "maxnreg": (1, 1),
    "noreturn": (0, 0),
    "reqnctapercluster": (1, 3),
    "maxclusterrank": (1, 1),
    "explicitcluster": (0, 0),
    "blocksareclusters": (0, 0),
    "abi_preserve": (1, 1),
    "abi_preserve_control": (1, 1),
    "local_maxnreg": (1, 1),
    "unique": (0, 0),
}


def read_function(c: Cursor, linkage: str) -> Function:
    """Read a kernel or a device function, from ``.entry`` or ``.func`` on."""
    line, column = c.place()
    entry = c.take() == ".entry"
    attributes = read_attributes(c)
    returns: tuple[Variable, ...] = ()
    if not entry and c.token == "(":
        returns = read_parameters(c)
    name = c.identifier("the name of a function")
    parameters = read_parameters(c) if c.token == "(" else ()
    directives = _directives(c)
    body: list[Statement] | None = None
    if not c.accept(";"):
        if c.token != "{":
            c.fail(f"expected the body of '{name}' or ';', found {c.found()}")
        body = read_body(c, (*returns, *parameters))
    return Function(
        name, entry, parameters, returns, body, linkage, attributes, directives, line=line, column=column
    )


def _directives(c: Cursor) -> tuple[Directive, ...]:
    directives: list[Directive] = []
    while c.token[:1] == ".":
        if c.token == ".pragma":
            directives.append(Directive("pragma", read_pragma(c).texts))
            continue
        name = c.take()[1:]
        bounds = _DIRECTIVES.get(name)
        if bounds is None:
            c.fail(f"'.{name}' is no directive of a function", at=c.at - 1)
        directives.append(Directive(name, _numbers(c, name, *bounds)))
    return tuple(directives)


def _numbers(c: Cursor, name: str, least: int, most: int) -> tuple[int, ...]:
    numbers: list[int] = []
    while len(numbers) < most and (not numbers or c.accept(",")):
        numbers.append(read_integer(c, f"a number of '.{name}'"))
    if len(numbers) < least:
        c.fail(f"'.{name}' needs a number")
    return tuple(numbers)
