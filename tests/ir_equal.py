"""Structural equality of modules and functions, and where two of them differ.

Equal are programs that differ in nothing but the names of local values and the numbers of metadata nodes.
Metadata graphs may be cyclic: a pair of nodes that is being compared counts as equal when it is met again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.ir.block import BasicBlock
from weft.ir.constants import ConstAggregate, Constant, ConstExpr, ConstMetadata, ConstSplat
from weft.ir.function import Function, GlobalAlias, GlobalValue, GlobalVariable, Module
from weft.ir.instruction import Instruction
from weft.ir.metadata import DbgRecord, DebugLoc, MDNode, MDTuple, MDValue, Metadata
from weft.ir.values import Value


def structurally_equal(a: Module | Function, b: Module | Function) -> bool:
    """Whether two modules, or two functions, are the same program."""
    return first_difference(a, b) is None


def first_difference(a: Module | Function, b: Module | Function) -> str | None:
    """In words, the first thing in which two modules or functions differ; None when there is none."""
    comparison = _Comparison()
    try:
        if isinstance(a, Module) and isinstance(b, Module):
            comparison.modules(a, b)
        elif isinstance(a, Function) and isinstance(b, Function):
            comparison.functions(a, b)
        else:
            return "one is a module, the other is a function"
        comparison.pending_metadata()
    except _Differ as difference:
        return str(difference)
    return None


class _Differ(Exception):
    """Two parts differ; the message says which."""


def _same(what: str, a: object, b: object) -> None:
    if a != b:
        raise _Differ(f"{what}: {a!r} and {b!r}")


class _Comparison:
    def __init__(self) -> None:
        self.partner: dict[Value, Value] = {}
        self.node_partner: dict[int, Metadata] = {}
        self.queue: list[tuple[str, Metadata, Metadata]] = []
        self.locations: set[tuple[int, int]] = set()

    def modules(self, a: Module, b: Module) -> None:
        for field in ("source_filename", "datalayout", "triple", "asm", "types", "comdats"):
            _same(field, getattr(a, field), getattr(b, field))
        for field in ("globals", "aliases", "functions", "named_metadata"):
            _same(f"names of {field}", list(getattr(a, field)), list(getattr(b, field)))
        for v in a.globals.values():
            self.variables(v, b.globals[v.name])
        for alias in a.aliases.values():
            self.aliases(alias, b.aliases[alias.name])
        for f in a.functions.values():
            self.functions(f, b.functions[f.name])
        for name, nodes in a.named_metadata.items():
            self.nodes(f"!{name}", nodes, b.named_metadata[name])

    def variables(self, a: GlobalVariable, b: GlobalVariable) -> None:
        what = f"@{a.name}"
        for field in ("type", "value_type", "is_constant", "externally_initialized", "linkage"):
            _same(f"{field} of {what}", getattr(a, field), getattr(b, field))
        self.optional(f"initializer of {what}", a.initializer, b.initializer)
        self.attached(what, a, b)

    def aliases(self, a: GlobalAlias, b: GlobalAlias) -> None:
        what = f"@{a.name}"
        for field in ("type", "value_type", "linkage"):
            _same(f"{field} of {what}", getattr(a, field), getattr(b, field))
        self.optional(f"aliasee of {what}", a.aliasee, b.aliasee)

    def attached(self, what: str, a: GlobalValue, b: GlobalValue) -> None:
        _same(f"attachments of {what}", [k for k, _ in a.metadata], [k for k, _ in b.metadata])
        self.nodes(f"attachments of {what}", [n for _, n in a.metadata], [n for _, n in b.metadata])

    def functions(self, a: Function, b: Function) -> None:
        what = f"@{a.name}"
        fields = (
            "name", "fn_type", "attributes", "return_attributes", "calling_convention", "gc", "linkage",
        )  # fmt: skip
        for field in fields:
            _same(f"{field} of {what}", getattr(a, field), getattr(b, field))
        self.optional(f"personality of {what}", a.personality, b.personality)
        self.attached(what, a, b)
        _same(f"number of blocks of {what}", len(a.blocks), len(b.blocks))
        for x, y in zip(a.args, b.args, strict=True):
            _same(f"attributes of %{x.name} of {what}", x.attributes, y.attributes)
            self.partner[x] = y
        for block, other in zip(a.blocks, b.blocks, strict=True):
            here = f"block %{block.name} of {what}"
            _same(f"length of {here}", len(block.instructions), len(other.instructions))
            self.partner[block] = other
            self.partner.update(zip(block.instructions, other.instructions, strict=True))
        for block, other in zip(a.blocks, b.blocks, strict=True):
            self.blocks(f"block %{block.name} of {what}", block, other)

    def blocks(self, what: str, a: BasicBlock, b: BasicBlock) -> None:
        self.optional(f"predicate of {what}", a.predicate, b.predicate)
        for x, y in zip(a.instructions, b.instructions, strict=True):
            self.instructions(f"{x!r} in {what}", x, y)

    def instructions(self, what: str, a: Instruction, b: Instruction) -> None:
        for field in ("op", "type", "total"):
            _same(f"{field} of {what}", getattr(a, field), getattr(b, field))
        _same(f"flags of {what}", set(a.flags), set(b.flags))
        _same(f"attrs of {what}", _given(a), _given(b))
        self.values(f"operands of {what}", a.operands, b.operands)
        self.values(f"blocks of {what}", a.blocks, b.blocks)
        self.optional(f"shadow of {what}", a.shadow, b.shadow)
        self.optional(f"guard of {what}", a.guard, b.guard)
        self.nodes(f"location of {what}", [a.loc], [b.loc])
        _same(f"attachments of {what}", set(a.metadata), set(b.metadata))
        self.nodes(f"attachments of {what}", a.metadata.values(), [b.metadata[kind] for kind in a.metadata])
        _same(f"debug records of {what}", len(a.debug_records), len(b.debug_records))
        for record, other in zip(a.debug_records, b.debug_records, strict=True):
            self.records(f"debug record of {what}", record, other)

    def records(self, what: str, a: DbgRecord, b: DbgRecord) -> None:
        _same(f"kind of {what}", (a.kind, a.is_arg_list), (b.kind, b.is_arg_list))
        self.values(f"values of {what}", a.values, b.values)
        self.nodes(what, [*a.operands, a.loc], [*b.operands, b.loc])

    def values(self, what: str, a: Sequence[Value], b: Sequence[Value]) -> None:
        _same(f"number of {what}", len(a), len(b))
        for x, y in zip(a, b, strict=True):
            self.value(what, x, y)

    def optional(self, what: str, a: Value | None, b: Value | None) -> None:
        if a is None or b is None:
            _same(what, a, b)
        else:
            self.value(what, a, b)

    def value(self, what: str, a: Value, b: Value) -> None:
        """Locals correspond by position, globals by name, constants by content."""
        if isinstance(a, GlobalValue):
            _same(what, (type(a), a.name), (type(b), b.name))
        elif isinstance(a, (ConstExpr, ConstAggregate, ConstSplat)):
            _same(what, (type(a), a.type), (type(b), b.type))
            if isinstance(a, ConstExpr) and isinstance(b, ConstExpr):
                _same(what, (a.op, a.flags, a.attrs), (b.op, b.flags, b.attrs))
            self.values(what, _members(a), _members(b))
        elif isinstance(a, ConstMetadata) and isinstance(b, ConstMetadata):
            self.nodes(what, [a.node], [b.node])
        elif isinstance(a, Constant):
            _same(what, a, b)
        elif self.partner.get(a) is not b:
            raise _Differ(f"{what}: {a!r} does not correspond to {b!r}")

    def nodes(self, what: str, a: Iterable[Metadata | None], b: Iterable[Metadata | None]) -> None:
        for x, y in zip(a, b, strict=True):
            if x is None or y is None:
                _same(what, x, y)
            else:
                self.queue.append((what, x, y))

    def pending_metadata(self) -> None:
        while self.queue:
            what, a, b = self.queue.pop()
            _same(f"kind of {what}", type(a), type(b))
            if isinstance(a, DebugLoc) and isinstance(b, DebugLoc):
                self.debug_locs(what, a, b)
            elif isinstance(a, MDValue) and isinstance(b, MDValue):
                self.value(what, a.value, b.value)
            elif isinstance(a, (MDTuple, MDNode)):
                self.graph_nodes(what, a, b)
            else:
                _same(what, a, b)

    def debug_locs(self, what: str, a: DebugLoc, b: DebugLoc) -> None:
        if (id(a), id(b)) in self.locations:
            return
        self.locations.add((id(a), id(b)))
        for field in ("line", "column", "distinct", "implicit", "atom_group", "atom_rank"):
            _same(f"{field} of {what}", getattr(a, field), getattr(b, field))
        self.nodes(what, [a.scope, a.inlined_at], [b.scope, b.inlined_at])

    def graph_nodes(self, what: str, a: MDTuple | MDNode, b: Metadata) -> None:
        assert isinstance(b, (MDTuple, MDNode))
        if id(a) in self.node_partner:
            if a.distinct and self.node_partner[id(a)] is not b:
                raise _Differ(f"{what}: one distinct node became two")
            if self.node_partner[id(a)] is b:
                return
        self.node_partner[id(a)] = b
        _same(f"distinct of {what}", a.distinct, b.distinct)
        if isinstance(a, MDTuple) and isinstance(b, MDTuple):
            _same(f"length of {what}", len(a.items), len(b.items))
            self.nodes(what, a.items, b.items)
        elif isinstance(a, MDNode) and isinstance(b, MDNode):
            _same(f"fields of {what}", (a.kind, list(a.fields)), (b.kind, list(b.fields)))
            for key, value in a.fields.items():
                other = b.fields[key]
                if isinstance(value, str) or isinstance(other, str):
                    _same(f"{key} of {what}", value, other)
                else:
                    self.nodes(f"{key} of {what}", [value], [other])


def _given(instruction: Instruction) -> dict[str, object]:
    """Attributes without those that say what their absence says."""
    return {key: value for key, value in instruction.attrs.items() if value not in (None, False, 0, "", ())}


def _members(constant: ConstExpr | ConstAggregate | ConstSplat | Value) -> Sequence[Value]:
    if isinstance(constant, ConstExpr):
        return constant.operands
    if isinstance(constant, ConstAggregate):
        return constant.elements
    assert isinstance(constant, ConstSplat)
    return (constant.element,)
