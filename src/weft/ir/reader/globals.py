"""Reading global variables and aliases."""

from __future__ import annotations

from weft.ir import keywords
from weft.ir.function import GlobalAlias, GlobalVariable, Linkage
from weft.ir.reader.constants import read_constant
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.functions import read_attached_metadata, read_comdat, read_linkage
from weft.ir.reader.types import read_first_class_type, read_type, read_type_or_function_type

_EXTERNAL = frozenset(("external", "extern_weak"))
_REFUSED = frozenset(
    ("partition", "code_model", "no_sanitize_address", "no_sanitize_hwaddress", "sanitize_memtag",
     "sanitize_address_dyninit")
)  # fmt: skip


def read_global_header(c: Cursor, name: str) -> GlobalVariable | GlobalAlias:
    """A global, from the ``=`` behind its name up to its initializer."""
    linkage = read_linkage(c)
    if c.accept("thread_local"):
        model = f"({_take_model(c)})" if c.token == "(" else ""
        linkage.thread_local = f"thread_local{model}"
    if c.token in keywords.UNNAMED_ADDR:
        linkage.unnamed_addr = c.take()
    if c.token == "ifunc":
        raise c.error("ifuncs are not supported", "call the implementation that the resolver would choose")
    if c.accept("alias"):
        return _read_alias_header(c, name, linkage)
    return _read_variable_header(c, name, linkage)


def _read_alias_header(c: Cursor, name: str, linkage: Linkage) -> GlobalAlias:
    value_type = read_type_or_function_type(c)
    c.expect(",")
    if c.token != "ptr":
        raise c.error("an alias of an expression is not supported", "let the alias stand for a symbol")
    alias = GlobalAlias(name, read_type(c), value_type)
    alias.linkage = linkage
    return alias


def _take_model(c: Cursor) -> str:
    c.expect("(")
    model = c.take()
    c.expect(")")
    return model


def _read_variable_header(c: Cursor, name: str, linkage: Linkage) -> GlobalVariable:
    space = 0
    if c.accept("addrspace"):
        space = c.parenthesized_integer()
    externally_initialized = c.accept("externally_initialized")
    if c.token not in ("global", "constant"):
        raise c.error(f"expected 'global', 'constant' or 'alias', found {c.shown()}")
    is_constant = c.take() == "constant"
    variable = GlobalVariable(name, read_first_class_type(c), is_constant=is_constant, space=space)
    variable.linkage = linkage
    variable.externally_initialized = externally_initialized
    return variable


def read_variable_tail(c: Cursor, variable: GlobalVariable) -> None:
    """Initializer, section, alignment and attachments."""
    linkage = variable.linkage
    if linkage.linkage not in _EXTERNAL:
        variable.initializer = read_constant(c, variable.value_type)
    while c.accept(","):
        if c.accept("section"):
            linkage.section = c.string()
        elif c.accept("comdat"):
            linkage.comdat = read_comdat(c, variable.name)
        elif c.accept("align"):
            linkage.align = c.integer()
        elif c.token[0] == "!":
            read_attached_metadata(c, variable)
        elif c.token in _REFUSED:
            raise c.error(f"{c.token} of a global variable is not supported")
        else:
            raise c.error(f"expected a property of a global variable, found {c.shown()}")
    if c.token[0] == "#":
        raise c.error("attributes of global variables are not supported")


def read_alias_tail(c: Cursor, alias: GlobalAlias) -> None:
    """The symbol that an alias stands for."""
    alias.aliasee = read_constant(c, alias.type)
    if c.token == ",":
        raise c.error(f"{c.tokens[c.pos + 1]!r} of an alias is not supported")
