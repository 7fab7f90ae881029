"""Reading the headers of functions."""

from __future__ import annotations

from weft.ir import keywords
from weft.ir.function import Function, GlobalValue, Linkage
from weft.ir.reader.attributes import read_attributes, read_calling_convention, read_function_attributes
from weft.ir.reader.constants import read_typed_constant
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.types import read_first_class_type, read_type
from weft.ir.types import FunctionType, Type


def read_linkage(c: Cursor) -> Linkage:
    """The words before a global's type, in LLVM's order."""
    linkage = Linkage()
    if c.token in keywords.LINKAGES:
        linkage.linkage = c.take()
    if c.token in keywords.PREEMPTIONS:
        linkage.preemption = c.take()
    if c.token in keywords.VISIBILITIES:
        linkage.visibility = c.take()
    if c.token in keywords.DLL_STORAGE:
        linkage.dll_storage = c.take()
    return linkage


def read_attached_metadata(c: Cursor, target: GlobalValue) -> None:
    """``!kind node``, the node read when all definitions are known."""
    kind = c.take()
    target.metadata.append((kind[1:], c.context.metadata.read(c)))


def read_comdat(c: Cursor, symbol_name: str) -> str:
    """The comdat's name, behind the word ``comdat``; without one it is the symbol's."""
    if not c.accept("("):
        return symbol_name
    token = c.take()
    if token[0] != "$":
        raise c.error("expected the name of a comdat", at=c.pos - 1)
    c.expect(")")
    return c.name_of(token)


def read_function_header(c: Cursor, definition: bool) -> tuple[Function, list[tuple[str | None, int]]]:
    """A function up to its body, and of each parameter the written name's key and position.

    Behind the attributes nothing may depend on other globals; `read_function_tail` reads on from there once
    all of them are known.
    """
    linkage = read_linkage(c)
    convention = read_calling_convention(c)
    return_attributes = read_attributes(c, keywords.PARAMETER_ATTRIBUTES)
    result = read_type(c)
    token = c.tokens[c.pos]
    if token[0] != "@":
        raise c.error(f"expected the name of a function, found {c.shown()}")
    c.pos += 1
    types, attributes, names, vararg = _read_parameters(c)
    function = Function(c.name_of(token), FunctionType(result, tuple(types), vararg))
    function.linkage = linkage
    function.calling_convention = convention
    function.return_attributes = return_attributes
    for argument, texts, (key, _) in zip(function.args, attributes, names, strict=True):
        argument.attributes = texts
        if key is not None and not definition:
            argument.name = key[1:]
    return function, names


def _read_parameters(
    c: Cursor,
) -> tuple[list[Type], list[tuple[str, ...]], list[tuple[str | None, int]], bool]:
    types: list[Type] = []
    attributes: list[tuple[str, ...]] = []
    names: list[tuple[str | None, int]] = []
    c.expect("(")
    while not c.accept(")"):
        if types:
            c.expect(",")
        if c.accept("..."):
            c.expect(")")
            return types, attributes, names, True
        types.append(read_first_class_type(c))
        attributes.append(read_attributes(c, keywords.PARAMETER_ATTRIBUTES))
        token = c.tokens[c.pos]
        if token[0] == "%":
            names.append((c.local_key(token), c.pos))
            c.pos += 1
        else:
            names.append((None, c.pos))
    return types, attributes, names, False


def read_function_tail(c: Cursor, function: Function) -> None:
    """What stands between the parameters and the body."""
    linkage = function.linkage
    if c.token in keywords.UNNAMED_ADDR:
        linkage.unnamed_addr = c.take()
    if c.token == "addrspace":
        raise c.error("functions in other address spaces than 0 are not supported")
    function.attributes = read_function_attributes(c)
    if c.accept("section"):
        linkage.section = c.string()
    if c.token == "partition":
        raise c.error("partitions are not supported")
    if c.accept("comdat"):
        linkage.comdat = read_comdat(c, function.name)
    if c.accept("align"):
        linkage.align = c.integer()
    if c.accept("gc"):
        function.gc = c.string()
    if c.token in ("prefix", "prologue"):
        raise c.error(f"{c.token} data of functions is not supported")
    if c.accept("personality"):
        function.personality = read_typed_constant(c)
    while c.token[0] == "!" and c.token[1:2].isalpha():
        read_attached_metadata(c, function)
