"""Writing one module again and again: only functions that have changed are written anew.

Passes work on one function after the other, and those who keep the program behind each would write all of its
functions as often. To see that a function is as it was takes an eighth of the time that writing it does.

Nodes of metadata and groups of attributes keep their numbers as long as the module stays the same object. Numbers that
no function refers to any more are defined all the same: what is read back has nodes that nothing refers to.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from weft.ir.function import Function, GlobalValue, Module
from weft.ir.values import Value
from weft.ir.writer.function import FunctionWriter
from weft.ir.writer.metadata import MetadataWriter
from weft.ir.writer.module import module_text
from weft.ir.writer.names import local_names
from weft.ir.writer.values import ValueWriter


class _Written(Struct, frozen=True, eq=False):
    """A body, and what it was written from.

    Parameters
    ----------
    content
        What shows in the text. Objects are themselves in it, so that none of them can be gone meanwhile.
    names
        Of arguments, blocks and results.
    body
        The text.
    """

    content: list[Any]
    names: dict[Value, str]
    body: str


class RepeatedWriter:
    """Writes what a module is each time.

    Attributes
    ----------
    texts
        Of each function, as it was written last.
    """

    def __init__(self) -> None:
        self.texts: dict[Function, str] = {}
        self._module: Module | None = None
        self._symbols: dict[GlobalValue, str] = {}
        self._written: dict[Function, _Written] = {}
        self._writer = _new_writer()

    def write(self, module: Module) -> str:
        """The module's text, as `weft.ir.writer.write_module` writes it but for the numbers of nodes and groups."""
        symbols: dict[GlobalValue, str] = {
            s: s.name for s in (*module.globals.values(), *module.aliases.values())
        }
        symbols |= {f: f.name for f in module.functions.values()}
        known = self._symbols
        if module is not self._module or any(known.get(s, name) != name for s, name in symbols.items()):
            self._writer, self._written = _new_writer(), {}
        self._module, self._symbols = module, symbols
        self._writer.values.symbols.clear()
        self.texts = {}
        text = module_text(module, self._writer, self._function)
        self._written = {f: w for f, w in self._written.items() if f in self.texts}
        return text

    def _function(self, function: Function) -> str:
        writer = self._writer
        if function.is_declaration:
            text = writer.write(function)
        else:
            content, known = _content(function), self._written.get(function)
            if known is not None and known.content == content:
                writer.values.locals = known.names
            else:
                names = writer.values.locals = local_names(function)
                known = self._written[function] = _Written(content, names, writer.body(function))
            text = writer.head(function) + known.body
        self.texts[function] = text
        return text


def _new_writer() -> FunctionWriter:
    values = ValueWriter()
    return FunctionWriter(values, MetadataWriter(values), {})


def _content(function: Function) -> list[Any]:
    """All that the text of a definition's body shows."""
    found: list[Any] = []
    for argument in function.args:
        found += (argument, argument.name)
    for block in function.blocks:
        found += (block, block.name, block.predicate)
        for i in block.instructions:
            found += (
                i,
                i.name,
                i.type,
                i.op,
                i.flags,
                i.total,
                i.shadow,
                i.guard,
                i.loc,
                *i.operands,
                *i.blocks,
            )
            if i.attrs:
                found += ("attributes", dict(i.attrs))
            if i.metadata:
                found += ("metadata", dict(i.metadata))
            for record in i.debug_records:
                found += (record.kind, list(record.values), list(record.operands), record.loc)
                found.append(record.is_arg_list)
    return found
