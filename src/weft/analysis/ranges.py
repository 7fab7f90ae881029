"""Integer ranges over a function's control flow.

A range is an `Interval`, and it holds for every thread and every execution of the instruction in which the value is
not poison: it says nothing of how threads are related. It is found by a sparse fixed point over SSA values with
widening at φs, then narrowed; conditions that dominate a use refine it there (``i < n`` says ``i <= INT_MAX - 1`` even
if nothing is known of n, which is what keeps ``i + 1`` from wrapping).

Symbolic bounds: `bounds_of` lists the conditions themselves, for those who can use ``i < n`` as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from heapq import heappop, heappush

from weft.analysis.conditions import Condition, Conditions
from weft.analysis.interval_transfer import transfer
from weft.analysis.intervals import Interval, full, join, meet, refine, widen, wrapped
from weft.graph.block_index import BlockIndex
from weft.graph.dominators import dominator_tree
from weft.ir import Argument, BasicBlock, ConstInt, Function, Instruction, MDTuple, MDValue, Poison, Value
from weft.ir.cfg_view import CFGView
from weft.ir.opcodes import OPCODES
from weft.ir.types import IntType

WIDEN_AFTER = 3
"""Changes of a φ after which it is widened."""

NARROWING_PASSES = 2

_FORMS = {"binary", "cast", "compare", "select", "phi"}
_CALLS = re.compile(r"llvm\.(umin|umax|smin|smax|abs)\.")
_RANGE_ATTRIBUTE = re.compile(r"range\(i\d+ (-?\d+), (-?\d+)\)")
_OF_WORK_ITEMS = {
    "weft.local.id": Interval(0, 1023), "weft.local.size": Interval(1, 1024),
    "weft.group.id": Interval(0, 2**31 - 2), "weft.num.groups": Interval(1, 2**31 - 1),
    "weft.lane.id": Interval(0, 1023), "weft.num.lanes": Interval(1, 1024),
    "llvm.nvvm.read.ptx.sreg.laneid": Interval(0, 31),
    **{f"llvm.nvvm.read.ptx.sreg.tid.{c}": Interval(0, 1023) for c in "xyz"},
    **{f"llvm.nvvm.read.ptx.sreg.ntid.{c}": Interval(1, 1024) for c in "xyz"},
}  # fmt: skip
"""Limits of CUDA's launches, which weft keeps (`weft.runtime.shape`)."""


class Ranges:
    """Ranges of the integers of one function."""

    __slots__ = ("_base", "_changes", "_conditions", "_dependents", "_position")

    def __init__(self, function: Function, view: CFGView, index: BlockIndex) -> None:
        self._conditions = Conditions(view, dominator_tree(view.cfg))
        self._base: dict[Value, Interval] = {}
        self._changes: dict[Instruction, int] = {}
        for argument in function.args:
            if isinstance(argument.type, IntType):
                self._base[argument] = _attributed(argument.attributes, argument.type.bits) or full(
                    argument.type.bits
                )
        order = [i for b in index.order for i in view.blocks[b].instructions if isinstance(i.type, IntType)]
        self._position = {instruction: k for k, instruction in enumerate(order)}
        self._dependents = self._find_dependents()
        self._solve(order)
        self._narrow(order)

    def of(self, value: Value) -> Interval | None:
        """The range of a value where it is defined; None when nothing is known of it."""
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        found = self._base.get(value)
        return None if found is None or _is_full(found, value) else found

    def at(self, value: Value, block: BasicBlock | None) -> Interval | None:
        """The range of a value for the threads that run `block`; None when nothing is known of it."""
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        found = self._at(value, block)
        return None if found is None or _is_full(found, value) else found

    def bounds_of(self, value: Value, block: BasicBlock) -> list[Condition]:
        """The conditions that hold for `value` in `block`, with what it is compared to."""
        return self._conditions.holding(value, block)

    def _at(self, value: Value, block: BasicBlock | None) -> Interval | None:
        base = self._base.get(value)
        if base is None or block is None:
            return base
        return self._refined(value, base, self._conditions.holding(value, block))

    def _refined(self, value: Value, base: Interval, conditions: list[Condition]) -> Interval:
        assert isinstance(value.type, IntType)
        for condition in conditions:
            other = self._plain(condition.other)
            if other is not None:
                # Where the condition cannot hold no thread runs: anything may be said of it.
                base = refine(condition.predicate, base, other, value.type.bits) or base
        return base

    def _plain(self, value: Value) -> Interval | None:
        """The range of an operand, not refined further."""
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        if isinstance(value, (Instruction, Argument)):
            return self._base.get(value)
        return full(value.type.bits) if isinstance(value.type, IntType) else None

    def _solve(self, order: list[Instruction]) -> None:
        heap = list(range(len(order)))
        queued = bytearray(b"\1" * len(order))
        while heap:
            at = heappop(heap)
            queued[at] = 0
            instruction = order[at]
            new = self._evaluate(instruction)
            if not self._rise(instruction, new):
                continue
            for other in self._users(instruction):
                if not queued[other]:
                    queued[other] = 1
                    heappush(heap, other)

    def _users(self, instruction: Instruction) -> Iterator[int]:
        """The positions of the instructions whose ranges follow from that of another."""
        for user in (*instruction.users, *self._dependents.get(instruction, ())):
            position = self._position.get(user)  # type: ignore[call-overload]
            if position is not None:
                yield position

    def _find_dependents(self) -> dict[Value, list[Instruction]]:
        """Per value the users of others that are compared with it: its range refines theirs."""
        found: dict[Value, list[Instruction]] = {}
        for value in dict.fromkeys(value for value, _ in self._conditions.all()):
            for user in value.instruction_users():
                if user in self._position:
                    for condition in self._seen_by(user, value):
                        if isinstance(condition.other, Instruction):
                            found.setdefault(condition.other, []).append(user)
        return found

    def _seen_by(self, user: Instruction, value: Value) -> Iterator[Condition]:
        """The conditions that refine an operand."""
        assert user.block is not None
        if user.op != "phi":
            yield from self._conditions.holding(value, user.block)
            return
        for operand, source in user.incoming():
            if operand is value:
                yield from self._conditions.holding(value, source)
                yield from self._conditions.on_edge(value, source, user.block)

    def _rise(self, instruction: Instruction, new: Interval | None) -> bool:
        old = self._base.get(instruction)
        joined = join(old, new)
        if joined is None or joined == old:
            return False
        count = self._changes.get(instruction, 0) + 1
        self._changes[instruction] = count
        if instruction.op == "phi" and count > WIDEN_AFTER:
            assert isinstance(instruction.type, IntType)
            joined = widen(old, joined, instruction.type.bits)
            assert joined is not None
        self._base[instruction] = joined
        return True

    def _narrow(self, order: list[Instruction]) -> None:
        """Once more from above: what widening overshot comes down, and stays an upper bound."""
        again = {self._position[i] for i, count in self._changes.items() if count > WIDEN_AFTER}
        for _ in range(NARROWING_PASSES):
            heap, again = sorted(again), set()
            queued = set(heap)
            while heap:
                at = heappop(heap)
                instruction = order[at]
                old = self._base.get(instruction)
                new = meet(old, self._evaluate(instruction))
                if new is None or new == old:
                    continue
                self._base[instruction] = new
                for other in self._users(instruction):
                    if other <= at:
                        again.add(other)
                    elif other not in queued:
                        queued.add(other)
                        heappush(heap, other)

    def _evaluate(self, instruction: Instruction) -> Interval | None:
        type = instruction.type
        assert isinstance(type, IntType)
        bits = type.bits
        if instruction.op == "phi":
            result: Interval | None = None
            for value, source in instruction.incoming():
                if not isinstance(value, Poison):
                    result = join(result, self._on_edge(value, source, instruction.block))
            return result
        known = _declared(instruction, bits)
        if known is not None:
            return known
        op, operands = instruction.op, instruction.operands
        if op == "call":
            match = _CALLS.match(instruction.callee_name or "")
            if match is None:
                return full(bits)
            op, operands = match[1], operands[: 1 if match[1] == "abs" else 2]
        elif OPCODES[op].form not in _FORMS:
            return full(bits)
        source_type = operands[0].type
        if not isinstance(operands[-1].type, IntType) or not isinstance(source_type, IntType):
            return full(bits)
        block = instruction.block
        intervals = [
            Interval(v.signed, v.signed) if isinstance(v, ConstInt) else self._operand(v, block)
            for v in operands
        ]
        return transfer(
            op, instruction.flags, bits, intervals, source_type.bits, instruction.attrs.get("predicate")
        )

    def _operand(self, value: Value, block: BasicBlock | None) -> Interval | None:
        if value.tracks_users:
            return self._at(value, block)
        assert isinstance(value.type, IntType)
        return full(value.type.bits)

    def _on_edge(self, value: Value, source: BasicBlock, target: BasicBlock | None) -> Interval | None:
        """The range of a φ's operand for the threads that come over an edge."""
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        base = self._operand(value, source)
        if base is None or target is None:
            return base
        return self._refined(value, base, self._conditions.on_edge(value, source, target))


def _is_full(interval: Interval, value: Value) -> bool:
    return isinstance(value.type, IntType) and interval == full(value.type.bits)


def _declared(instruction: Instruction, bits: int) -> Interval | None:
    """A range that metadata, an attribute or the name of a call promises."""
    name = instruction.callee_name
    if name is not None and name in _OF_WORK_ITEMS:
        promised = _OF_WORK_ITEMS[name]
        return promised if bits >= 32 else None
    node = instruction.metadata.get("range")
    if isinstance(node, MDTuple):
        bounds = [
            item.value.value
            for item in node.items
            if isinstance(item, MDValue) and isinstance(item.value, ConstInt)
        ]
        result: Interval | None = None
        for low, high in zip(bounds[::2], bounds[1::2], strict=False):
            result = join(result, _half_open(low, high, bits))
        return result
    if instruction.op == "call":
        return _attributed(instruction.attrs.get("ret_attrs", ()), bits)
    return None


def _attributed(attributes: tuple[str, ...], bits: int) -> Interval | None:
    for text in attributes:
        match = _RANGE_ATTRIBUTE.fullmatch(text)
        if match is not None:
            return _half_open(int(match[1]), int(match[2]), bits)
    return None


def _half_open(low: int, high: int, bits: int) -> Interval:
    """[low, high) as LLVM means it: it may go around the end of the unsigned range."""
    mask = (1 << bits) - 1
    low, high = low & mask, high & mask
    return wrapped(low, (high - 1) if high > low else high - 1 + (1 << bits), bits)
