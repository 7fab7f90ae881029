"""Numbers that differ from lane to lane and fit 8 or 16 bits are computed in as many, where that pays.

    around = 0                                      cells are bytes, of which 9 add up to 2295 at most
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            around += cells[y + dy, x + dx]         zext to i16 and add of i16, where they were of i32
    alive = around == 3

A register holds twice or four times as many of them. A *chain* is what such numbers are computed of and what is
computed of them, stack objects that hold nothing else included (`weft.transform.numbers.narrow_objects`). At its ends
numbers are extended, and cut: a chain has fewer bits where that costs less than what it spares, loops counted as often
as the cost model thinks that they run.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: such chains are of the narrow type.
Preserves the program under FR (`weft.transform.numbers.narrow_twins`).
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.divergence import Divergence
from weft.analysis.integers.used_bits import UsedBits
from weft.costs.constants import constants_of
from weft.graph.cfg import reverse_postorder
from weft.ir import Constant, Function, Instruction, Value
from weft.ir.types import I8, I16, IntType
from weft.machine.targets import Isa
from weft.transform.numbers.narrow_objects import (
    NarrowObject,
    finish_object,
    narrow_places,
    objects_of_integers,
)
from weft.transform.numbers.narrow_twins import NarrowTwins

CONVERSION = 2
"""What cutting or extending a register costs, in operations."""

_NOT_OF_BYTES = {"mul", "shl", "ashr", "lshr"}
"""There are no instructions for these."""


def has_narrow_numbers(function: Function) -> bool:
    """Whether a function handles numbers of 8 or 16 bits at all."""
    return any(i.type in (I8, I16) for i in function.instructions())


def narrow_chains(function: Function, divergence: Divergence, isa: Isa, to: IntType) -> int:
    """Compute chains in the narrow type; how many instructions that was."""
    return _Chains(function, divergence, isa, to).narrow()


class _Chains:
    """The chains of one function that fit one type."""

    def __init__(self, function: Function, divergence: Divergence, isa: Isa, to: IntType) -> None:
        ranges = divergence.engine.ranges
        assert ranges is not None
        self._divergence, self._to, self._layout = divergence, to, function.layout
        self._range_of = ranges.of
        self._used = UsedBits(function)
        self._twins = NarrowTwins(ranges.of, to, used=self._used)
        facts = divergence.facts
        self._view, self._loops = facts.view, facts.propagation.loops
        self._weight = constants_of(isa).loop_weight
        self._blocks = [self._view.blocks[n] for n in reverse_postorder(self._view.cfg.succs)]
        self._members: dict[Value, int] = {}
        self._parents: list[int] = []
        self._objects = {
            access: each
            for each in objects_of_integers(facts.objects, self._layout, self._twins.fits)
            if each.type.bits > to.bits and not all(map(self._is_shared, each.loads))
            for access in (*each.loads, *each.stores)
        }

    def narrow(self) -> int:
        """Narrow the chains that are worth it."""
        chosen = self._without_strays(
            [i for block in self._blocks for i in block.instructions if self._can(i)]
        )
        for instruction in chosen:
            self._members[instruction] = len(self._parents)
            self._parents.append(len(self._parents))
        objects = list(dict.fromkeys(self._objects.values()))
        for each in objects:
            self._join([*each.loads, *(s.stored_value for s in each.stores)])
        for instruction in chosen:
            self._join([instruction, *instruction.operands])
            for user in instruction.instruction_users():
                if user.op == "icmp":
                    self._join([instruction, *user.operands])
        gains: dict[int, float] = {}
        for instruction in chosen:
            root = self._root(self._members[instruction])
            gains[root] = gains.get(root, 0.0) + self._gain(instruction)
        headed = [(each, self._root(self._members[each.loads[0]])) for each in objects]
        for each, root in headed:
            gains[root] += sum(self._gain_of_store(store) for store in each.stores)
        wanted = {root for root, gain in gains.items() if gain > 0}
        chosen = [i for i in chosen if self._root(self._members[i]) in wanted]
        kept = [each for each, root in headed if root in wanted]
        if chosen:
            self._build(chosen, kept)
        return len(chosen)

    def _build(self, chosen: list[Instruction], objects: list[NarrowObject]) -> None:
        places: dict[Value, Value] = {}
        for each in objects:
            places.update(narrow_places(each, self._to, self._layout))
        twins = NarrowTwins(self._range_of, self._to, places, used=self._used)
        # Stores wait for the twins, which are gone with what they stand for.
        twins.build(chosen, [store for each in objects for store in each.stores])
        for each in objects:
            finish_object(each, self._to, places, self._layout)

    def _can(self, instruction: Instruction) -> bool:
        """Whether an instruction may be part of a chain."""
        if not isinstance(instruction.type, IntType) or instruction.type.bits > 64:
            return False
        if instruction in self._objects:
            return instruction.op == "load"
        if self._to == I8 and instruction.op in _NOT_OF_BYTES:
            return False
        return self._twins.can_loosely(instruction) and not self._is_shared(instruction)

    def _without_strays(self, chosen: list[Instruction]) -> list[Instruction]:
        """Those without what is loose and has users that are not among them, and want all bits."""
        kept = set(chosen)
        loose = {i for i in chosen if i not in self._objects and not self._twins.can(i)}
        while loose:
            found = self._loose_of(loose, kept)
            strays = [
                i for i in found if any(u not in kept and u.op != "trunc" for u in i.instruction_users())
            ]
            if not strays:
                break
            dropped = loose & self._loose_operands(strays, found)
            kept -= dropped
            loose -= dropped
        return [i for i in chosen if i in kept]

    def _loose_of(self, loose: set[Instruction], kept: set[Instruction]) -> set[Instruction]:
        """What is loose, and what is computed of it and loose by that."""
        found, work = set(loose), list(loose)
        while work:
            for user in work.pop().instruction_users():
                if user in kept and user not in found and self._twins.is_loose_of(user):
                    found.add(user)
                    work.append(user)
        return found

    def _loose_operands(self, values: list[Instruction], loose: set[Instruction]) -> set[Instruction]:
        """Loose values, and what of them is loose that they are computed of."""
        found, work = set(values), list(values)
        while work:
            for operand in work.pop().operands:
                if isinstance(operand, Instruction) and operand in loose and operand not in found:
                    found.add(operand)
                    work.append(operand)
        return found

    def _is_shared(self, value: Value) -> bool:
        """Whether no lane has its own."""
        return self._divergence.shape(value).is_strided

    def _join(self, values: Iterable[Value]) -> None:
        """Let values be parts of one chain."""
        roots = [self._root(self._members[v]) for v in values if v in self._members]
        for root in roots[1:]:
            self._parents[root] = self._root(roots[0])

    def _root(self, member: int) -> int:
        while self._parents[member] != member:
            self._parents[member] = self._parents[self._parents[member]]
            member = self._parents[member]
        return member

    def _gain(self, instruction: Instruction) -> float:
        """Bits of registers that are spared where an instruction has fewer bits, by operations."""
        assert isinstance(instruction.type, IntType)
        wide, narrow = instruction.type.bits, self._to.bits
        gain = float(wide - narrow)
        source = instruction.operands[0].type if instruction.operands else None
        if instruction.is_phi:
            gain /= 2
        elif instruction.op in ("sext", "zext", "trunc"):
            assert isinstance(source, IntType)
            # An extension of what has as many bits, or of what is cut, is none.
            gain = CONVERSION * (wide - narrow if source.bits < narrow else max(wide, source.bits))
        gain = self._weighed(instruction, gain)
        if instruction.op != "load":
            for index, value in enumerate(instruction.operands):
                where = instruction
                if instruction.is_phi:
                    where = instruction.blocks[index].terminator
                gain -= self._weighed(where, self._cut(value))
        others = [u for u in instruction.instruction_users() if u not in self._members]
        if any(not (self._twins.serves(u) or u in self._objects) for u in others):
            gain -= self._weighed(instruction, CONVERSION * wide)
        for user in others:
            if user.op == "icmp" and self._twins.serves(user):
                gain += self._weighed(user, (wide - narrow) / 2)
                gain -= sum(self._weighed(user, self._cut(v)) for v in user.operands)
        return gain

    def _gain_of_store(self, store: Instruction) -> float:
        type = store.stored_value.type
        assert isinstance(type, IntType)
        return self._weighed(store, type.bits - self._to.bits - self._cut(store.stored_value))

    def _cut(self, value: Value) -> float:
        """What cutting an operand costs: nothing, if it is a constant, part of a chain or shared by all lanes."""
        if value in self._members or isinstance(value, Constant) or not isinstance(value.type, IntType):
            return 0.0
        if value.type.bits <= self._to.bits or self._is_shared(value):
            return 0.0
        return float(CONVERSION * value.type.bits)

    def _weighed(self, where: Instruction, cost: float) -> float:
        assert where.block is not None
        return cost * self._weight ** self._loops.depth(self._view.index[where.block])
