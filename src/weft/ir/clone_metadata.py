"""How metadata is carried over to a copy: shared, shared but for local scopes, or copied."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from weft.ir.metadata import DebugLoc, MDNode, MDString, MDTuple, MDValue, Metadata
from weft.ir.values import Value

_LOCAL_SCOPE_KINDS = frozenset(
    ("DILexicalBlock", "DILexicalBlockFile", "DILocalVariable", "DILabel", "DICommonBlock")
)


class MetadataMap:
    """Shares every node: for copies within the function that the debug information describes."""

    def node(self, node: Metadata) -> Metadata:
        return node

    def location(self, loc: DebugLoc) -> DebugLoc:
        return loc


class LocalScopes(MetadataMap):
    """Gives a copied function a DISubprogram of its own.

    Copied are the subprogram, the lexical blocks, variables and labels in it, the locations and loop
    identifiers that refer to them, and the marks of assignments. Types, files and the compile unit are shared.
    """

    def __init__(self, subprogram: MDNode | None) -> None:
        self._copies: dict[int, Metadata] = {}
        self._locations: dict[DebugLoc, DebugLoc] = {}
        self._originals: list[Metadata] = []
        if subprogram is not None:
            made = MDNode(subprogram.kind, dict(subprogram.fields), True)
            self._enter(subprogram, made)
            retained = subprogram.fields.get("retainedNodes")
            if isinstance(retained, MDTuple):
                made.fields["retainedNodes"] = MDTuple(
                    [i and self.node(i) for i in retained.items], retained.distinct
                )

    def _enter(self, node: Metadata, made: Metadata) -> None:
        # The original is kept alive, so that its id stays its own.
        self._originals.append(node)
        self._copies[id(node)] = made

    def node(self, node: Metadata) -> Metadata:
        if isinstance(node, DebugLoc):
            return self.location(node)
        made = self._copies.get(id(node))
        if made is not None:
            return made
        made = node
        if isinstance(node, MDNode) and node.kind == "DIAssignID":
            made = MDNode(node.kind, {}, True)
        elif isinstance(node, MDNode) and node.kind in _LOCAL_SCOPE_KINDS:
            scope = node.node("scope")
            if scope is not None and (mapped := self.node(scope)) is not scope:
                made = MDNode(node.kind, {**node.fields, "scope": mapped}, node.distinct)
        elif isinstance(node, MDTuple):
            made = self._tuple(node)
        self._enter(node, made)
        return made

    def _tuple(self, node: MDTuple) -> MDTuple:
        """Loop identifiers hold locations, and themselves as first member."""
        items = [self.location(i) if isinstance(i, DebugLoc) else i for i in node.items]
        if all(a is b for a, b in zip(items, node.items, strict=True)):
            return node
        made = MDTuple(items, node.distinct)
        made.items = [made if i is node else i for i in items]
        return made

    def location(self, loc: DebugLoc) -> DebugLoc:
        known = self._locations.get(loc)
        if known is None:
            scope = loc.scope and self.node(loc.scope)
            outer = loc.inlined_at and self.location(loc.inlined_at)
            same = scope is loc.scope and outer is loc.inlined_at
            known = loc if same else replace(loc, scope=scope, inlined_at=outer)
            self._locations[loc] = known
        return known


class DeepMetadata(MetadataMap):
    """Copies every node, cycles included; `map_value` maps the IR values in them. Call `finish` at the end."""

    map_value: Callable[[Value], Value]

    def __init__(self) -> None:
        self._copies: dict[int, tuple[Metadata, Metadata]] = {}
        self._pending: list[tuple[MDTuple | MDNode, MDTuple | MDNode]] = []
        self._locations: dict[DebugLoc, DebugLoc] = {}

    def node(self, node: Metadata) -> Metadata:
        if isinstance(node, MDString):
            return node
        if isinstance(node, DebugLoc):
            return self.location(node)
        if isinstance(node, MDValue):
            return MDValue(self.map_value(node.value))
        known = self._copies.get(id(node))
        if known is None:
            is_tuple = isinstance(node, MDTuple)
            made = MDTuple([], node.distinct) if is_tuple else MDNode(node.kind, {}, node.distinct)
            known = self._copies[id(node)] = (made, node)
            self._pending.append((node, made))
        return known[0]

    def location(self, loc: DebugLoc) -> DebugLoc:
        known = self._locations.get(loc)
        if known is None:
            scope = loc.scope and self.node(loc.scope)
            outer = loc.inlined_at and self.location(loc.inlined_at)
            known = self._locations[loc] = replace(loc, scope=scope, inlined_at=outer)
        return known

    def finish(self) -> None:
        """Fill the nodes made so far."""
        while self._pending:
            node, made = self._pending.pop()
            if isinstance(node, MDTuple) and isinstance(made, MDTuple):
                made.items = [i and self.node(i) for i in node.items]
            elif isinstance(node, MDNode) and isinstance(made, MDNode):
                made.fields = {
                    key: self.node(value) if value is not None and not isinstance(value, str) else value
                    for key, value in node.fields.items()
                }
