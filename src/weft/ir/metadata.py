"""Metadata and debug information attached to instructions, functions and modules.

Nodes are compared by identity and may refer to each other in cycles; the writer numbers them. Debug
locations are values of their own, since every explanation to the user starts from one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from weft.ir.values import Value


class MDString(Struct, frozen=True):
    """``!"text"``."""

    text: str


class MDValue(Struct, eq=False):
    """A typed IR value used as metadata: ``i32 4``, ``ptr @f``."""

    value: Value


class MDTuple(Struct, eq=False):
    """``!{...}``; items are metadata, None for ``null``."""

    items: list[Metadata | None] = field(default_factory=list)
    distinct: bool = False


class MDNode(Struct, eq=False):
    """A specialized node such as ``!DILocalVariable(name: "x", ...)``.

    `fields` keeps the written order. A field's value is metadata, or the literal text of anything else
    (numbers, ``DIFlag...`` enumerators, ``true``); positional fields (``!DIExpression``) have keys ``"0"``,
    ``"1"``, ...
    """

    kind: str
    fields: dict[str, Metadata | str | None] = field(default_factory=dict)
    distinct: bool = False

    def text(self, key: str) -> str | None:
        """The string field `key`, or None."""
        value = self.fields.get(key)
        if isinstance(value, MDString):
            return value.text
        return value if isinstance(value, str) else None

    def node(self, key: str) -> MDNode | None:
        """The node that field `key` refers to, or None."""
        value = self.fields.get(key)
        return value if isinstance(value, MDNode) else None

    def number(self, key: str, default: int = 0) -> int:
        value = self.fields.get(key)
        return int(value) if isinstance(value, str) else default


class DebugLoc(Struct, frozen=True):
    """A source position (``!DILocation``); `line` and `column` count from 1, 0 means unknown.

    `scope` is the DISubprogram or lexical block the position is in, `inlined_at` the call it was inlined at.
    `atom_group` and `atom_rank` are clang's marks of the instructions that matter for stepping.
    """

    line: int
    column: int
    scope: MDNode | None
    inlined_at: DebugLoc | None = None
    distinct: bool = False
    implicit: bool = False
    atom_group: int = 0
    atom_rank: int = 0

    @property
    def subprogram(self) -> MDNode | None:
        """The function the position lies in (before inlining)."""
        scope = self.scope
        while scope is not None and scope.kind != "DISubprogram":
            scope = scope.node("scope")
        return scope

    @property
    def filename(self) -> str | None:
        """The source file, joined with its directory when the name is relative, or None."""
        file = self.scope.node("file") if self.scope is not None else None
        if file is None:
            return None
        name, directory = file.text("filename") or "", file.text("directory") or ""
        return name if name.startswith("/") or not directory else f"{directory}/{name}"


Metadata = MDString | MDValue | MDTuple | MDNode | DebugLoc


class DbgRecord:
    """A debug record that stands before an instruction.

    `kind` is ``value``, ``declare``, ``assign`` or ``label``. `values` are the IR values it refers to (several
    for a ``!DIArgList``; two, value and address, for ``assign``); `operands` holds the remaining arguments in
    written order, with None where a value stands.
    """

    __slots__ = ("is_arg_list", "kind", "loc", "operands", "values")

    def __init__(
        self,
        kind: str,
        values: list[Value],
        operands: list[Metadata | None],
        loc: DebugLoc | None,
        is_arg_list: bool = False,
    ) -> None:
        self.kind = kind
        self.values = values
        self.operands = operands
        self.loc = loc
        self.is_arg_list = is_arg_list
        for value in dict.fromkeys(values):
            if value.tracks_users:
                value.records = (*value.records, self)

    @property
    def variable(self) -> MDNode | None:
        """The DILocalVariable (or DILabel) described."""
        for operand in self.operands:
            if isinstance(operand, MDNode) and operand.kind in ("DILocalVariable", "DILabel"):
                return operand
        return None

    def replace(self, old: Value, new: Value) -> None:
        self.values = [new if v is old else v for v in self.values]
        if self in old.records:
            old.records = tuple(r for r in old.records if r is not self)
        if new.tracks_users and self not in new.records:
            new.records = (*new.records, self)

    def drop(self) -> None:
        """Detach the record from the values it describes."""
        for value in self.values:
            if self in value.records:
                value.records = tuple(r for r in value.records if r is not self)
