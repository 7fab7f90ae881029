"""Modules: the directives outside of functions."""

from __future__ import annotations

from weft.diag.errors import PtxError
from weft.ptx.reader.body import declare_variable, read_loc, read_pragma
from weft.ptx.reader.constants import read_integer
from weft.ptx.reader.cursor import Cursor, is_name
from weft.ptx.reader.declarations import SPACES, read_variables
from weft.ptx.reader.functions import read_function
from weft.ptx.source import Source
from weft.ptx.syntax import (
    Alias,
    Difference,
    Dwarf,
    File,
    Integer,
    Label,
    Module,
    Section,
    SectionData,
    Symbol,
    Top,
)

_LINKAGE = frozenset((".extern", ".visible", ".weak", ".common"))


def read_module(text: str, filename: str = "<ptx>") -> Module:
    """Read PTX.

    Parameters
    ----------
    text
        The module.
    filename
        What diagnostics call it.

    Raises
    ------
    PtxError
        The text is malformed.
    """
    source = Source(text, filename)
    try:
        return _read(source)
    except RecursionError:
        raise PtxError(f"{filename} holds constants that are nested too deeply") from None


def _read(source: Source) -> Module:
    c = Cursor(source)
    c.expect(".version", "as the first directive of a module")
    module = Module(_version(c), _target(c), _address_size(c), source=source)
    while c.token:
        module.body.extend(_top(c))
    return module


def _version(c: Cursor) -> tuple[int, int]:
    major, dot, minor = c.token.partition(".")
    if not (dot and major.isdigit() and minor.isdigit()):
        c.fail(f"expected a version such as 8.5, found {c.found()}")
    c.at += 1
    return int(major), int(minor)


def _target(c: Cursor) -> tuple[str, ...]:
    c.expect(".target", "behind the version")
    parts = [c.identifier("a target such as sm_90")]
    while c.accept(","):
        parts.append(c.identifier("a target or an option of it"))
    return tuple(parts)


def _address_size(c: Cursor) -> int | None:
    if not c.accept(".address_size"):
        return None
    begin = c.at
    size = read_integer(c, "the size of addresses")
    if size not in {32, 64}:
        c.fail("addresses have 32 or 64 bits", at=begin)
    return size


def _top(c: Cursor) -> list[Top]:
    token = c.token
    linkage = ""
    if token in _LINKAGE:
        linkage = c.take()[1:]
        token = c.token
    if token in {".entry", ".func"}:
        function = read_function(c, linkage)
        c.names.declare(function.name, False)
        return [function]
    if token in SPACES:
        variables = read_variables(c, linkage)
        for variable in variables:
            declare_variable(c, variable)
        return list(variables)
    if linkage:
        c.fail(f"expected a variable or a function behind '.{linkage}', found {c.found()}")
    if token == ".pragma":
        return [read_pragma(c)]
    if token == ".loc":
        read_loc(c)
        return []
    if token == ";":
        c.at += 1
        return []
    if token.startswith("@@DWARF"):
        line, column = c.place()
        return [Dwarf(c.take().rstrip(), line=line, column=column)]
    if token in _READERS:
        return [_READERS[token](c)]
    raise c.error(f"expected a directive of a module, found {c.found()}")


def _file(c: Cursor) -> File:
    line, column = c.place()
    c.at += 1
    number = read_integer(c, "the number of a file")
    name = c.string()
    stamp: tuple[int, int] | None = None
    if c.accept(","):
        time = read_integer(c, "a time stamp")
        c.expect(",", "between time stamp and size")
        stamp = (time, read_integer(c, "a file's size"))
    return File(number, name, stamp, line=line, column=column)


def _alias(c: Cursor) -> Alias:
    line, column = c.place()
    c.at += 1
    name = c.identifier("the name of an alias")
    c.expect(",", "behind the name of an alias")
    aliasee = c.identifier("the function that an alias stands for")
    c.expect_end("behind '.alias'")
    c.names.declare(name, False)
    return Alias(name, aliasee, line=line, column=column)


def _section(c: Cursor) -> Section:
    line, column = c.place()
    c.at += 1
    name = c.take()
    begin = c.at
    c.expect("{", "before the data of a section")
    section = Section(name, [], line=line, column=column)
    while not c.accept("}"):
        if not c.token:
            c.fail("this section does not end: a '}' is missing", at=begin)
        section.body.append(_section_item(c))
    return section


def _section_item(c: Cursor) -> SectionData | Label:
    line, column = c.place()
    if is_name(c.token):
        label = Label(c.take(), line=line, column=column)
        c.expect(":", "behind a label")
        return label
    type = c.take()
    if type not in {".b8", ".b16", ".b32", ".b64"}:
        c.fail(f"'{type}' is no type of debug data", at=c.at - 1)
    values = [_datum(c)]
    while c.accept(","):
        values.append(_datum(c))
    return SectionData(type[1:], tuple(values), line=line, column=column)


def _datum(c: Cursor) -> Integer | Symbol | Difference:
    token = c.token
    if token[:1] == ".":
        name = c.take()
    elif is_name(token):
        name = c.take()
        if c.token == "-" and is_name(c.tokens[c.at + 1]):
            c.at += 1
            return Difference(name, c.take())
    else:
        return Integer(read_integer(c, "debug data"))
    return Symbol(name, read_integer(c, "an offset") if c.accept("+") else 0)


_READERS = {".file": _file, ".alias": _alias, ".section": _section}
