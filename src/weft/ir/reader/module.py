"""Reading modules, in two rounds: first every name, then everything that refers to names."""

from __future__ import annotations

import re

from weft.diag.errors import IRSyntaxError
from weft.ir.function import Function, GlobalAlias, GlobalValue, GlobalVariable, Module
from weft.ir.lexer import END, SourceText, decode, is_definition
from weft.ir.metadata import Metadata
from weft.ir.reader.attributes import read_attribute_group
from weft.ir.reader.blocks import define_value
from weft.ir.reader.body import read_body
from weft.ir.reader.cursor import Context, Cursor, FunctionScope
from weft.ir.reader.functions import read_attached_metadata, read_function_header, read_function_tail
from weft.ir.reader.globals import read_alias_tail, read_global_header, read_variable_tail
from weft.ir.reader.metadata import MetadataTable
from weft.ir.reader.types import named_struct

_MODULE_ID = re.compile(r"; ModuleID = '(.*)'")
_ENTITY_WORDS = frozenset(
    (
        "define",
        "declare",
        "attributes",
        "target",
        "module",
        "source_filename",
        "uselistorder",
        "uselistorder_bb",
    )
)
_ParameterNames = list[tuple[str | None, int]]


def read_module(text: str, filename: str = "<llvm>") -> Module:
    """Read LLVM 22 text, or P-LLVM's dialect of it.

    Parameters
    ----------
    text
        The module.
    filename
        What diagnostics call it.

    Raises
    ------
    IRSyntaxError
        The text is malformed, or holds something that is not part of the language.
    """
    try:
        return _ModuleReader(text, filename).read()
    except RecursionError:
        raise IRSyntaxError(f"{filename} holds types or constants that are nested too deeply") from None


class _ModuleReader:
    """The two rounds; the lists hold where the second one has to read on."""

    def __init__(self, text: str, filename: str) -> None:
        self.module = Module()
        match = _MODULE_ID.match(text)
        if match is not None:
            self.module.name = match[1]
        self.context = Context(self.module, MetadataTable())
        self.c = Cursor(SourceText(text, filename), self.context)
        self.context.metadata.module_cursor = self.c
        self.types: list[tuple[str, int]] = []
        self.named_metadata: list[int] = []
        self.attached: list[tuple[Function, int]] = []
        self.globals: list[tuple[GlobalVariable | GlobalAlias, int]] = []
        self.definitions: list[tuple[Function, int, _ParameterNames]] = []

    def read(self) -> Module:
        c = self.c
        self._find_types()
        self._find_attribute_groups()
        c.pos = 0
        while c.token != END:
            self._read_entity()
        for token, position in self.types:
            self.module.types[c.name_of(token)] = named_struct(c, token, position)
        for function, c.pos in self.attached:
            read_attached_metadata(c, function)
        for symbol, c.pos in self.globals:
            if isinstance(symbol, GlobalAlias):
                read_alias_tail(c, symbol)
            else:
                read_variable_tail(c, symbol)
            if not self._at_entity():
                raise c.error(f"expected the end of the definition of @{symbol.name}, found {c.shown()}")
        for function, c.pos, names in self.definitions:
            self._read_definition(function, names)
        for c.pos in self.named_metadata:
            self._read_named_metadata()
        self.context.metadata.finish()
        return self.module

    def _find_types(self) -> None:
        """Note where ``%name = type ...`` stands, since a type may be used before it."""
        c = self.c
        for position in _occurrences(c.tokens, "type"):
            if position < 2 or c.tokens[position - 1] != "=" or c.tokens[position - 2][0] != "%":
                continue
            token = c.tokens[position - 2]
            if c.name_of(token) in self.context.struct_positions:
                raise c.error(f"type {token} is defined twice", at=position - 2)
            self.context.struct_positions[c.name_of(token)] = position + 1
            self.types.append((token, position - 2))

    def _find_attribute_groups(self) -> None:
        """Read the attribute groups, which stand behind the functions that use them."""
        c = self.c
        for position in _occurrences(c.tokens, "attributes"):
            if c.tokens[position + 1][0] == "#":
                c.pos = position
                read_attribute_group(c)

    def _read_entity(self) -> None:
        c = self.c
        token = c.token
        first = token[0]
        if first == "!":
            self._note_metadata(token)
        elif token == "define":
            c.pos += 1
            self._read_function(definition=True)
        elif token == "declare":
            c.pos += 1
            self._read_function(definition=False)
        elif first == "@":
            c.pos += 1
            c.expect("=")
            self._read_global(c.name_of(token))
        elif first == "%":
            c.pos += 1
            c.expect("=")
            c.expect("type")
            if not c.accept("opaque"):
                c.skip_balanced()
        elif token == "attributes":
            c.pos += 3
            c.skip_balanced()
        elif first == "$":
            self._read_comdat(c.name_of(token))
        else:
            self._read_property(token)

    def _note_metadata(self, token: str) -> None:
        c = self.c
        if is_definition(token):
            self.context.metadata.define(c)
            return
        self.named_metadata.append(c.pos)
        c.pos += 1
        c.expect("=")
        c.expect("!")
        c.skip_balanced()

    def _read_function(self, definition: bool) -> None:
        c = self.c
        attached: list[int] = []
        while c.token[0] == "!" and not definition:
            attached.append(c.pos)
            c.pos += 2
        start = c.pos
        function, names = read_function_header(c, definition)
        self.attached += [(function, position) for position in attached]
        self._enter(function, start)
        self.module.add_function(function)
        if not definition:
            read_function_tail(c, function)
            return
        self.definitions.append((function, c.pos, names))
        while c.token != "{" or c.tokens[c.pos - 1] == "!":
            c.take()
        c.skip_balanced()

    def _read_global(self, name: str) -> None:
        c = self.c
        start = c.pos
        symbol = read_global_header(c, name)
        self._enter(symbol, start)
        if isinstance(symbol, GlobalAlias):
            self.module.aliases[name] = symbol
        else:
            self.module.add_global(symbol)
        self.globals.append((symbol, c.pos))
        while not self._at_entity():
            c.pos += 1

    def _at_entity(self) -> bool:
        """Whether the current token begins something new at the module's level."""
        tokens, pos = self.c.tokens, self.c.pos
        token = tokens[pos]
        return token in _ENTITY_WORDS or token == END or tokens[pos + 1] == "=" or is_definition(token)

    def _enter(self, symbol: GlobalValue, position: int) -> None:
        if symbol.name in self.context.symbols:
            raise self.c.error(f"@{symbol.name} is defined twice", at=position)
        self.context.symbols[symbol.name] = symbol

    def _read_definition(self, function: Function, names: _ParameterNames) -> None:
        c = self.c
        read_function_tail(c, function)
        c.expect("{")
        c.scope = FunctionScope(function)
        for argument, (key, position) in zip(function.args, names, strict=True):
            define_value(c, key, argument, position)
        read_body(c)
        c.scope = None

    def _read_named_metadata(self) -> None:
        c = self.c
        name = c.take()[1:]
        if name in self.module.named_metadata:
            raise c.error(f"named metadata !{name} is defined twice", at=c.pos - 1)
        c.pos += 3
        nodes: list[Metadata] = []
        while not c.accept("}"):
            if nodes:
                c.expect(",")
            nodes.append(self.context.metadata.read(c))
        self.module.named_metadata[name] = nodes

    def _read_comdat(self, name: str) -> None:
        c = self.c
        c.pos += 1
        c.expect("=")
        c.expect("comdat")
        self.module.comdats[name] = c.take()

    def _read_property(self, token: str) -> None:
        """``target``, ``source_filename``, ``module asm``."""
        c = self.c
        if token == "source_filename":
            c.pos += 1
            c.expect("=")
            self.module.source_filename = decode(c.string())
        elif token == "target":
            c.pos += 1
            what = c.take()
            c.expect("=")
            if what == "triple":
                self.module.triple = c.string()
            elif what == "datalayout":
                self.module.datalayout = c.string()
            else:
                raise c.error(f"expected 'triple' or 'datalayout', found {what!r}", at=c.pos - 2)
        elif token == "module":
            c.pos += 1
            c.expect("asm")
            self.module.asm.append(c.string())
        elif token.startswith("uselistorder"):
            raise c.error(
                "use-list orders are not supported", "print the module without -preserve-ll-uselistorder"
            )
        else:
            raise c.error(f"{c.shown()} is nothing that weft knows at the level of a module")


def _occurrences(tokens: list[str], token: str) -> list[int]:
    """The positions of a token that is rare."""
    found: list[int] = []
    for _ in range(tokens.count(token)):
        found.append(tokens.index(token, found[-1] + 1 if found else 0))
    return found
