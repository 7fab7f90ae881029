"""Writing metadata: the nodes that something written refers to, numbered in the order of first reference."""

from __future__ import annotations

from weft.ir.lexer import escape
from weft.ir.metadata import DebugLoc, MDNode, MDString, MDTuple, MDValue, Metadata
from weft.ir.writer.values import ValueWriter

_IN_PLACE = frozenset(("DIExpression", "DIArgList"))


class MetadataWriter:
    """Hands out numbers, and at the end the definitions of all nodes that have one."""

    def __init__(self, values: ValueWriter) -> None:
        self.values = values
        self._locations: dict[DebugLoc, str] = {}
        self._location_ids: dict[int, tuple[str, DebugLoc]] = {}
        self._nodes: dict[int, str] = {}
        self._order: list[MDTuple | MDNode | DebugLoc] = []

    def ref(self, node: Metadata) -> str:
        """The text that refers to `node` from an operand or attachment."""
        if isinstance(node, DebugLoc):
            return self.location(node)
        if isinstance(node, MDString):
            return f'!"{_quoted(node.text)}"'
        if isinstance(node, MDValue):
            return self.values.typed(node.value)
        if isinstance(node, MDNode) and node.kind in _IN_PLACE:
            return self._specialized(node)
        text = self._nodes.get(id(node))
        if text is None:
            text = self._nodes[id(node)] = f"!{len(self._order)}"
            self._order.append(node)
        return text

    def location(self, loc: DebugLoc) -> str:
        known = self._location_ids.get(id(loc))
        if known is not None:
            return known[0]
        text = self._locations.get(loc)
        if text is None:
            text = self._locations[loc] = f"!{len(self._order)}"
            self._order.append(loc)
        self._location_ids[id(loc)] = (text, loc)
        return text

    def optional(self, node: Metadata | None) -> str:
        return "null" if node is None else self.ref(node)

    def definitions(self) -> list[str]:
        """``!0 = ...`` for each number; writing one may hand out further numbers."""
        lines: list[str] = []
        while len(lines) < len(self._order):
            node = self._order[len(lines)]
            lines.append(f"!{len(lines)} = {self._definition(node)}")
        return lines

    def _definition(self, node: MDTuple | MDNode | DebugLoc) -> str:
        distinct = "distinct " if node.distinct else ""
        if isinstance(node, DebugLoc):
            return f"{distinct}{self._location_text(node)}"
        if isinstance(node, MDTuple):
            return f"{distinct}!{{{', '.join([self.optional(i) for i in node.items])}}}"
        return f"{distinct}{self._specialized(node)}"

    def _specialized(self, node: MDNode) -> str:
        positional = node.kind in _IN_PLACE
        fields = [
            self._field(value) if positional else f"{key}: {self._field(value)}"
            for key, value in node.fields.items()
        ]
        return f"!{node.kind}({', '.join(fields)})"

    def _field(self, value: Metadata | str | None) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, MDString):
            return f'"{_quoted(value.text)}"'
        return self.optional(value)

    def _location_text(self, loc: DebugLoc) -> str:
        parts = [f"line: {loc.line}"]
        if loc.column:
            parts.append(f"column: {loc.column}")
        parts.append(f"scope: {self.optional(loc.scope)}")
        if loc.inlined_at is not None:
            parts.append(f"inlinedAt: {self.location(loc.inlined_at)}")
        if loc.implicit:
            parts.append("isImplicitCode: true")
        if loc.atom_group:
            parts.append(f"atomGroup: {loc.atom_group}")
        if loc.atom_rank:
            parts.append(f"atomRank: {loc.atom_rank}")
        return f"!DILocation({', '.join(parts)})"


def _quoted(text: str) -> str:
    return escape(text.encode("utf-8", "surrogateescape"))
