"""Instructions of P-LLVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from weft.ir.constants import Poison
from weft.ir.metadata import DbgRecord, DebugLoc, Metadata
from weft.ir.opcodes import OPCODES, Opcode
from weft.ir.types import VOID, Type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.ir.block import BasicBlock
    from weft.ir.function import Function


_NO_BLOCKS: Any = ()
_NO_METADATA: Mapping[str, Metadata] = MappingProxyType({})
"""What most instructions have none of is made for those alone that have it."""


class Instruction(Value):
    """One instruction; the opcode table says what `operands`, `blocks` and `attrs` hold for its opcode.

    P-LLVM adds to LLVM (Moll, ch. 4): `total` instructions execute on all threads whatever the block
    predicate; a φ may have a `shadow`, the value passive threads get; any instruction may carry a `guard`,
    an i1 under which it executes for a thread in addition to the block predicate (used by dialects).

    Operands are changed through the methods, which keep the use lists; never assign to ``operands[i]``.
    """

    __slots__ = (
        "attrs", "block", "blocks", "debug_records", "flags", "guard", "loc", "metadata", "op", "operands",
        "shadow", "total",
    )  # fmt: skip

    def __init__(
        self,
        op: str,
        type: Type,
        operands: Sequence[Value] = (),
        *,
        blocks: Sequence[BasicBlock] = (),
        name: str = "",
        flags: tuple[str, ...] = (),
        attrs: Mapping[str, Any] | None = None,
        total: bool = False,
        shadow: Value | None = None,
        guard: Value | None = None,
        loc: DebugLoc | None = None,
    ) -> None:
        # Instructions are made by the thousand while a user waits: the base's part is written out here.
        self.type = type
        self.name = name
        self.users = {}
        self.records = ()
        self.op = op
        self.operands: list[Value] = list(operands)
        self.blocks: list[BasicBlock] = list(blocks) if blocks or op == "phi" else _NO_BLOCKS
        self.flags = flags
        self.attrs: dict[str, Any] = dict(attrs) if attrs else {}
        self.total = total
        self.shadow = shadow
        self.guard = guard
        self.loc = loc
        self.metadata = _NO_METADATA
        self.debug_records: Sequence[DbgRecord] = ()
        self.block: BasicBlock | None = None
        for used in operands:
            if used.tracks_users:
                users = used.users
                users[self] = users.get(self, 0) + 1
        for target in blocks:
            target.add_user(self)
        if shadow is not None:
            shadow.add_user(self)
        if guard is not None:
            guard.add_user(self)

    def __repr__(self) -> str:
        result = "" if self.type is VOID else f"%{self.name or '?'} = "
        return f"<{result}{self.op} {self.type}>"

    @property
    def opcode(self) -> Opcode:
        """The opcode's row in the table."""
        return OPCODES[self.op]

    @property
    def is_terminator(self) -> bool:
        return OPCODES[self.op].terminator

    @property
    def is_phi(self) -> bool:
        return self.op == "phi"

    @property
    def function(self) -> Function:
        """The function the instruction stands in."""
        function = self.block.function if self.block is not None else None
        assert function is not None, "instruction is not in a function"
        return function

    def used_values(self) -> Iterator[Value]:
        """Every value used: operands, shadow, guard (not the blocks)."""
        yield from self.operands
        if self.shadow is not None:
            yield self.shadow
        if self.guard is not None:
            yield self.guard

    def set_operand(self, index: int, value: Value) -> None:
        self.operands[index].drop_user(self)
        self.operands[index] = value
        value.add_user(self)

    def set_operands(self, values: Sequence[Value]) -> None:
        for value in values:
            value.add_user(self)
        for value in self.operands:
            value.drop_user(self)
        self.operands = list(values)

    def set_shadow(self, value: Value | None) -> None:
        if value is not None:
            value.add_user(self)
        if self.shadow is not None:
            self.shadow.drop_user(self)
        self.shadow = value

    def set_guard(self, value: Value | None) -> None:
        if value is not None:
            value.add_user(self)
        if self.guard is not None:
            self.guard.drop_user(self)
        self.guard = value

    def set_metadata(self, kind: str, node: Metadata | None) -> None:
        """Attach a node in the place of one of its kind; None takes that away."""
        kept = dict(self.metadata)
        if node is None:
            kept.pop(kind, None)
        else:
            kept[kind] = node
        self.metadata = kept

    def set_block(self, index: int, block: BasicBlock) -> None:
        """Replace a successor of a terminator, or an incoming block of a φ."""
        self.blocks[index].drop_user(self)
        self.blocks[index] = block
        block.add_user(self)

    def replace_operand(self, old: Value, new: Value) -> None:
        """Replace each use of `old` in this instruction, block references included."""
        for i, operand in enumerate(self.operands):
            if operand is old:
                self.set_operand(i, new)
        for i, block in enumerate(self.blocks):
            if block is old:
                self.set_block(i, new)  # type: ignore[arg-type]
        if self.shadow is old:
            self.set_shadow(new)
        if self.guard is old:
            self.set_guard(new)

    def add_incoming(self, value: Value, block: BasicBlock) -> None:
        """Add an incoming edge to a φ."""
        self.operands.append(value)
        value.add_user(self)
        self.blocks.append(block)
        block.add_user(self)

    def remove_incoming(self, index: int) -> None:
        """Remove the `index`-th incoming edge of a φ."""
        self.operands.pop(index).drop_user(self)
        self.blocks.pop(index).drop_user(self)

    def incoming(self) -> Iterator[tuple[Value, BasicBlock]]:
        """The (value, block) pairs of a φ."""
        return zip(self.operands, self.blocks, strict=True)

    def incoming_value(self, block: BasicBlock) -> Value:
        """The value a φ takes on the edge from `block`; KeyError when there is none."""
        for value, source in self.incoming():
            if source is block:
                return value
        raise KeyError(block)

    @property
    def pointer(self) -> Value:
        """The address that a load, store or atomic operation accesses."""
        return self.operands[1 if self.op == "store" else 0]

    @property
    def stored_value(self) -> Value:
        """What a store writes."""
        return self.operands[0]

    @property
    def chance(self) -> float | None:
        """How likely a branch is thought to go its first way; estimates of costs ask, and nothing else does."""
        return self.attrs.get("chance")

    @property
    def accessed_type(self) -> Type:
        """The type in memory of what a load, store or atomic operation accesses."""
        if self.op == "load":
            return self.type
        return self.operands[0 if self.op == "store" else 1].type

    @property
    def alignment(self) -> int:
        """The alignment of a memory access: what it says, else that of its type; an atomic operation's size."""
        align: int = self.attrs.get("align", 0)
        if align:
            return align
        layout = self.function.layout
        is_atomic = self.op in ("atomicrmw", "cmpxchg")
        return (layout.store_size if is_atomic else layout.align)(self.accessed_type)

    @property
    def is_ordered(self) -> bool:
        """Whether an access is atomic or volatile."""
        return bool(self.attrs.get("ordering") or self.attrs.get("volatile") or self.op == "cmpxchg")

    @property
    def is_plain_access(self) -> bool:
        """Whether it is a load or store that is neither volatile nor atomic."""
        attrs = self.attrs
        return self.op in ("load", "store") and not attrs.get("volatile") and not attrs.get("ordering")

    @property
    def predicate(self) -> str:
        """The predicate of a comparison."""
        return self.attrs["predicate"]

    @property
    def allocated_type(self) -> Type:
        """The type of each element that an alloca allocates."""
        return self.attrs["allocated_type"]

    @property
    def source_type(self) -> Type:
        """The type that the indices of a getelementptr step through."""
        return self.attrs["source_type"]

    @property
    def callee(self) -> Value:
        return self.operands[-1]

    @property
    def args(self) -> list[Value]:
        """The arguments of a call, without bundle operands and callee."""
        return self.operands[: len(self.operands) - 1 - sum(n for _, n in self.attrs.get("bundles", ()))]

    @property
    def callee_name(self) -> str | None:
        """The name of the function called directly; None for an indirect call, assembly and non-calls."""
        if self.op != "call":
            return None
        callee = self.operands[-1]
        return callee.name if callee.is_function else None

    @property
    def successors(self) -> list[BasicBlock]:
        """Targets of a terminator in branch order, repeated if the branch repeats them."""
        return self.blocks if OPCODES[self.op].terminator else []

    def detach(self) -> None:
        """Take the instruction out of its block, operands kept, so that it can be inserted elsewhere."""
        assert self.block is not None
        self.block.instructions.remove(self)
        self.block = None

    def erase(self) -> None:
        """Remove the instruction for good. It must have no users; debug records fall back to poison."""
        assert not self.users, f"{self!r} is erased while used"
        if self.block is not None:
            self._hand_on_debug_records()
            self.detach()
        for record in list(self.records):
            record.replace(self, Poison(self.type))
        self.drop_operands()

    def drop_operands(self) -> None:
        """Forget every operand and block, leaving an empty shell; the step before removing cyclic code."""
        for used in self.used_values():
            used.drop_user(self)
        for block in self.blocks:
            block.drop_user(self)
        self.operands, self.blocks, self.shadow, self.guard = [], [], None, None

    def _hand_on_debug_records(self) -> None:
        if not self.debug_records:
            return
        assert self.block is not None
        position = self.block.instructions.index(self) + 1
        if position < len(self.block.instructions):
            following = self.block.instructions[position]
            following.debug_records = [*self.debug_records, *following.debug_records]
        else:
            for record in self.debug_records:
                record.drop()
        self.debug_records = ()

    def clone(self) -> Instruction:
        """A copy with the same operands and blocks, in no block, without debug records."""
        copy = Instruction(
            self.op, self.type, self.operands, blocks=self.blocks, name=self.name, flags=self.flags,
            attrs=self.attrs, total=self.total, shadow=self.shadow, guard=self.guard, loc=self.loc,
        )  # fmt: skip
        copy.metadata = self.metadata
        return copy
