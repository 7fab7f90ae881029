"""Reading metadata.

Numbered nodes are read when something refers to them; those that nothing refers to are read at the end, so
that an error in them is found, and forgotten. A node is entered into the table before its fields are read,
because nodes refer to each other in cycles, and the fields wait in a queue, because chains of nodes are long.
"""

from __future__ import annotations

import re

from weft.ir.lexer import END, SourceText, decode
from weft.ir.metadata import DebugLoc, MDNode, MDString, MDTuple, MDValue, Metadata
from weft.ir.reader.cursor import Cursor
from weft.ir.reader.operands import read_typed_value

_LOCATION = re.compile(
    r" !DILocation\(line: (\d+)(?:, column: (\d+))?, scope: (!\d+)(?:, inlinedAt: (!\d+))?"
    r"(?:, isImplicitCode: (true|false))?(?:, atomGroup: (\d+))?(?:, atomRank: (\d+))?\)"
)
IN_PLACE_NODES = frozenset({"DIExpression", "DIArgList"})
"""Nodes that LLVM never numbers."""


class MetadataTable:
    """The numbered nodes of a module."""

    __slots__ = ("_definitions", "_empty_expression", "_expressions", "_nodes", "_pending", "module_cursor")

    module_cursor: Cursor

    def __init__(self) -> None:
        self._definitions: dict[str, int] = {}
        self._nodes: dict[str, Metadata] = {}
        self._pending: list[tuple[MDTuple | MDNode, Cursor]] = []
        self._expressions: dict[str, MDNode] = {}
        self._empty_expression = MDNode("DIExpression")

    def define(self, c: Cursor) -> None:
        """Note the definition that is the current token."""
        number = c.token.split("=", 1)[0].rstrip()
        if number in self._definitions:
            raise c.error(f"metadata {number} is defined twice")
        self._definitions[number] = c.pos
        c.pos += 1

    def location(self, c: Cursor) -> DebugLoc:
        """A debug location: a reference to one, or one in place."""
        node = self._nodes.get(c.tokens[c.pos])
        if type(node) is DebugLoc:
            c.pos += 1
            return node
        start = c.pos
        read = self.read(c)
        if not isinstance(read, DebugLoc):
            raise c.error("expected a !DILocation", at=start)
        return read

    def read(self, c: Cursor) -> Metadata:
        """Any metadata that an operand can be, except null."""
        token = c.tokens[c.pos]
        known = self._nodes.get(token)
        if known is not None:
            c.pos += 1
            return known
        if token[0] != "!":
            return MDValue(read_typed_value(c))
        second = token[1:2]
        if second.isdigit():
            if token not in self._definitions:
                raise c.error(f"metadata {token} is not defined")
            c.pos += 1
            return self._start(token)
        if second == '"':
            c.pos += 1
            return MDString(decode(token[2:-1]))
        return self._read_in_place(c)

    def finish(self) -> None:
        """Read all fields still waiting, and the nodes that nothing refers to."""
        for number in self._definitions:
            if number not in self._nodes:
                self._start(number)
        while self._pending:
            node, c = self._pending.pop()
            self._fill(c, node)
            _expect_end(c)

    def _start(self, number: str) -> Metadata:
        """Enter a node into the table; only locations, which refer to nodes without cycle, are complete then."""
        main = self.module_cursor
        position = self._definitions[number]
        definition = main.tokens[position]
        start = definition.index("=") + 1
        location = _LOCATION.fullmatch(definition, start)
        if location is not None:
            node = self._nodes[number] = self._location(main, position, location)
            return node
        c = Cursor(
            SourceText(definition[start:], main.source.filename, main.source, position, start), main.context
        )
        distinct = c.accept("distinct")
        if c.token == "!DILocation":
            node = self._nodes[number] = self._read_location(c, distinct)
            _expect_end(c)
            return node
        shell = self._nodes[number] = _shell(c, distinct)
        self._pending.append((shell, c))
        return shell

    def _location(self, main: Cursor, position: int, match: re.Match[str]) -> DebugLoc:
        line, column, scope, inlined_at, implicit, group, rank = match.groups()
        scope_node = self._by_number(main, scope, position)
        outer = self._by_number(main, inlined_at, position) if inlined_at else None
        if not isinstance(scope_node, MDNode) or not isinstance(outer, DebugLoc | None):
            raise main.error("the scope of a location is a node, and inlinedAt is a !DILocation", at=position)
        return DebugLoc(
            int(line),
            int(column or 0),
            scope_node,
            outer,
            False,
            implicit == "true",
            int(group or 0),
            int(rank or 0),
        )

    def _by_number(self, main: Cursor, number: str, position: int) -> Metadata:
        node = self._nodes.get(number)
        if node is None:
            if number not in self._definitions:
                raise main.error(f"metadata {number} is not defined", at=position)
            node = self._start(number)
        return node

    def _read_in_place(self, c: Cursor) -> Metadata:
        """A node without a number: ``!{...}``, ``!DIExpression(...)``, ``!DILocation(...)``."""
        start = c.pos
        if c.tokens[start : start + 3] == ["!DIExpression", "(", ")"]:
            c.pos += 3
            return self._empty_expression
        distinct = c.accept("distinct")
        if c.token == "!DILocation":
            return self._read_location(c, distinct)
        start = c.pos
        shell = _shell(c, distinct)
        self._fill(c, shell)
        if isinstance(shell, MDNode) and shell.kind == "DIExpression":
            return self._expressions.setdefault(" ".join(c.tokens[start : c.pos]), shell)
        return shell

    def _fill(self, c: Cursor, node: MDTuple | MDNode) -> None:
        if isinstance(node, MDTuple):
            c.expect("{")
            while not c.accept("}"):
                if node.items:
                    c.expect(",")
                node.items.append(None if c.accept("null") else self.read(c))
            return
        c.expect("(")
        while not c.accept(")"):
            if node.fields:
                c.expect(",")
            label = c.take()
            if label[-1] == ":" and len(label) > 1:
                if label[:-1] in node.fields:
                    raise c.error(f"field {label[:-1]} is given twice", at=c.pos - 1)
                node.fields[label[:-1]] = self._read_field(c)
            elif node.kind in IN_PLACE_NODES:
                c.pos -= 1
                node.fields[str(len(node.fields))] = self._read_field(c)
            else:
                raise c.error(f"expected a field of !{node.kind}", at=c.pos - 1)

    def _read_field(self, c: Cursor) -> Metadata | str | None:
        """The value of a field: metadata, or the text of a number, a flag or several flags joined by ``|``."""
        token = c.tokens[c.pos]
        first = token[0]
        if first == "!":
            return self.read(c)
        if first == '"':
            return MDString(decode(c.string()))
        if token == "null":
            c.pos += 1
            return None
        if token != END and c.tokens[c.pos + 1] not in (",", ")", "|"):
            return MDValue(read_typed_value(c))
        text = c.take()
        while c.accept("|"):
            text = f"{text} | {c.take()}"
        return text

    def _read_location(self, c: Cursor, distinct: bool) -> DebugLoc:
        start = c.pos
        shell = MDNode("DILocation")
        c.pos += 1
        self._fill(c, shell)
        fields = shell.fields
        scope, inlined_at = fields.get("scope"), fields.get("inlinedAt")
        if not isinstance(scope, MDNode) or not isinstance(inlined_at, DebugLoc | None):
            raise c.error("the scope of a location is a node, and inlinedAt is a !DILocation", at=start)
        unknown = set(fields) - _LOCATION_FIELDS
        if unknown:
            raise c.error(f"!DILocation has no field {min(unknown)}", at=start)
        numbers = [fields.get(key, "0") for key in ("line", "column", "atomGroup", "atomRank")]
        if not all(isinstance(n, str) and n.isdecimal() for n in numbers):
            raise c.error("lines, columns and atoms of a !DILocation are numbers", at=start)
        line, column, group, rank = [int(str(n)) for n in numbers]
        implicit = fields.get("isImplicitCode") == "true"
        return DebugLoc(line, column, scope, inlined_at, distinct, implicit, group, rank)


_LOCATION_FIELDS = {"line", "column", "scope", "inlinedAt", "isImplicitCode", "atomGroup", "atomRank"}


def _shell(c: Cursor, distinct: bool) -> MDTuple | MDNode:
    """The empty node that the current token begins."""
    token = c.take()
    if token == "!" and c.token == "{":
        return MDTuple([], distinct)
    if token[0] == "!" and len(token) > 1 and c.token == "(":
        return MDNode(token[1:], {}, distinct)
    raise c.error(f"expected a metadata node, found {token!r}", at=c.pos - 1)


def _expect_end(c: Cursor) -> None:
    if c.token != END:
        raise c.error(f"expected the end of the metadata node, found {c.shown()}")
