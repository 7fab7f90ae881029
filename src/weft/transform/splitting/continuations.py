"""Building the continuations of a kernel (Karrenberg and Hack, §2.3): copies of what lies between its barriers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from weft.ir import (
    TRUE,
    Argument,
    BasicBlock,
    Builder,
    ConstInt,
    Function,
    Instruction,
    Module,
    Poison,
    Value,
)
from weft.ir.clone import clone_blocks
from weft.ir.intrinsics import declare
from weft.ir.types import I8, I32, I64, FunctionType
from weft.transform.splitting.frame import Slot, restore, save
from weft.transform.splitting.numbered_barriers import note_wait
from weft.transform.splitting.rematerialize import Rematerializer
from weft.transform.ssa_repair import ReachingDefinition, rewrite_uses

FINISHED = 0
"""What a continuation returns when the lane group has left the kernel."""

FRAME_PARAMETERS = ("frame", "votes", "common", "common.at")
"""The parameters that continuations have beside those of the kernel: the lane group's frame, the votes record, where
values are kept once for the work-group, in two places, and which of these the barrier just passed has left."""

VOTED, ARRIVED = 4, 8
"""Byte offsets in the record that `votes` points to: i32 the running sum of the barrier's votes, i32 the sum at the
barrier just passed, i64 the lanes that arrived at the barrier."""


class Continuation(Struct, frozen=True):
    """A barrier-free function ``i32 f(kernel parameters..., frame parameters...)``.

    Parameters
    ----------
    function
        The function.
    ends
        The numbers it may return.
    origins
        Which value of the kernel each of its values is, but for those that come out of slots with one for each lane.
    """

    function: Function
    ends: frozenset[int]
    origins: Mapping[Instruction, Value]


class ContinuationBuilder(Struct):
    """Builds continuations as copies of the parts of `kernel` between barriers.

    Parameters
    ----------
    module, kernel
        The program, and the kernel, which stays as it is.
    numbers
        The number of each barrier, from 1.
    kept, slots
        For each barrier the values kept, and where in the frame.
    common, common_bytes
        Where values are kept that one thread of the work-group keeps for all, and the bytes that they take: there are
        two such places, one behind the other, which are read and written by turns.
    remat
        Computes again what is cheaper so than kept.
    lanes
        Threads of a lane group.
    notes_arrivals
        Whether continuations write down which lanes arrive at a barrier.
    notes_waits
        Whether they write down at which one they wait, and for how many.
    """

    module: Module
    kernel: Function
    numbers: Mapping[Instruction, int]
    kept: Sequence[Sequence[Value]]
    slots: Mapping[Value, Slot]
    common: Mapping[Value, Slot]
    common_bytes: int
    remat: Rematerializer
    lanes: int
    notes_arrivals: bool
    notes_waits: bool = False

    def build(self, number: int, start: BasicBlock, live: Sequence[Value]) -> Continuation:
        """The continuation that resumes at `start` behind barrier `number`, where `live` are needed."""
        reached = self._reached_before_barriers(start)
        function = self._new_function(number)
        entry = function.add_block("resume")
        values: dict[Value, Value] = dict(zip(self.kernel.args, function.args, strict=True))
        copies = dict(zip(reached, clone_blocks(reached, function, values), strict=True))
        origins: dict[Value, Value] = {
            copy: value for value, copy in values.items() if isinstance(value, Instruction)
        }
        resumed = self._resume_values(entry, number, live, values, origins)
        Builder(entry).br(copies[start])
        ends = {
            self._end_at_barrier(b, values, resumed, number)
            for b in reached
            if self._ending_barrier(b) is not None
        }
        for block in reached:
            if block.terminator.op == "ret":
                ends.add(FINISHED)
                _end(copies[block], FINISHED)
        _drop_foreign_phi_edges(function)
        for value, again in resumed.items():
            for phi in _merge_definitions(value, values.get(value), again, entry, function):
                origins[phi] = value
        present = {v: o for v, o in origins.items() if isinstance(v, Instruction) and v.block is not None}
        return Continuation(function, frozenset(ends), present)

    def _reached_before_barriers(self, start: BasicBlock) -> list[BasicBlock]:
        seen = {start: None}
        work = [start]
        while work:
            block = work.pop()
            if self._ending_barrier(block) is not None:
                continue
            for successor in block.successors:
                if successor not in seen:
                    seen[successor] = None
                    work.append(successor)
        return [b for b in self.kernel.blocks if b in seen]

    def _ending_barrier(self, block: BasicBlock) -> Instruction | None:
        """The barrier a block ends with, just before its branch."""
        last = block.instructions[-2] if len(block.instructions) > 1 else None
        return last if last in self.numbers else None

    def _new_function(self, number: int) -> Function:
        kernel = self.kernel
        function = Function(
            f"{kernel.name}.{number}",
            FunctionType(I32, kernel.fn_type.params),
            tuple(a.name for a in kernel.args),
        )
        for old, new in zip(kernel.args, function.args, strict=True):
            new.attributes = old.attributes
        function.attributes = kernel.attributes
        function.metadata = list(kernel.metadata) if number == 0 else []
        return self.module.add_function(function)

    def _resume_values(
        self,
        entry: BasicBlock,
        number: int,
        live: Sequence[Value],
        arguments: Mapping[Value, Value],
        origins: dict[Value, Value],
    ) -> dict[Value, Value]:
        """Load or compute again, in the entry block, every value live after barrier `number`."""
        if number == 0:
            return {}
        builder = Builder(entry)
        assert entry.function is not None
        frame, votes, common, at = frame_arguments(entry.function)
        read = self._moved(builder, common, at)
        resumed: dict[Value, Value] = {}
        known: dict[Value, Value] = {a: arguments[a] for a in self.kernel.args}
        kept = dict.fromkeys(self.kept[number - 1])
        for value in live:
            if value in kept:
                builder.total = self.lanes > 1
                where, slot = self._place(value, frame, read)
                resumed[value] = restore(builder, value, where, slot, self.lanes)
                if slot.stride is not None:
                    known[value] = resumed[value]
            else:
                resumed[value] = self.remat.compute(builder, value, known)
        origins.update({copy: value for value, copy in known.items() if isinstance(value, Instruction)})
        barrier = next(b for b, n in self.numbers.items() if n == number)
        if barrier.is_used:
            builder.total = self.lanes > 1
            resumed[barrier] = _vote_result(builder, barrier, votes)
            origins[resumed[barrier]] = barrier
        return resumed

    def _end_at_barrier(
        self, block: BasicBlock, values: Mapping[Value, Value], resumed: Mapping[Value, Value], begun: int
    ) -> int:
        """Let the copy of `block` save what its barrier keeps, and return the barrier's number.

        Values are saved by all threads that are there, also where the barrier is under a mask. What barrier `begun` has
        kept and this part does not compute is still in the frame: its slot is that of nothing else that is kept here.
        """
        barrier = self._ending_barrier(block)
        assert barrier is not None
        number = self.numbers[barrier]
        copy = values[barrier]
        assert isinstance(copy, Instruction) and copy.block is not None
        function, last = copy.block.function, copy.block
        assert function is not None
        frame, votes, common, at = frame_arguments(function)
        builder = Builder(before=copy)
        if self.notes_waits:
            note_wait(builder, copy, votes)
        elif copy.args:
            self._vote(builder, copy, votes)
        if self.notes_arrivals:
            arrived = builder.call(declare(self.module, "weft.active"), ())
            builder.total = True
            at = builder.gep(I8, votes, (ConstInt(I64, ARRIVED),), ("inbounds", "nuw"))
            builder.store(arrived, at, align=8)
            builder.total = False
        if last.predicate is not None:
            last = function.add_block(f"{last.name}.save", after=last)
            loc = copy.loc
            copy.block.terminator.erase()
            Builder(copy.block).br(last).loc = loc
            builder = Builder(last)
        unchanged = (
            {v for v in self.kept[begun - 1] if v not in values and v not in self.numbers} if begun else ()
        )
        written = common
        if self.common_bytes:
            other = builder.binary("sub", ConstInt(I64, self.common_bytes), at, ("nuw", "nsw"))
            written = self._moved(builder, common, other)
        for value in self.kept[number - 1]:
            where, slot = self._place(value, frame, written)
            if where is frame and value in unchanged:
                continue
            here = values.get(value, value)
            if value in self.numbers:
                here = resumed.get(value, Poison(value.type))
            save(builder, here, where, slot, self.lanes)
        # Its result of this time is seen behind it only; here, if anything, that of an earlier time is.
        copy.replace_all_uses(resumed.get(barrier, Poison(copy.type)))
        copy.erase()
        _end(last, number)
        return number

    def _moved(self, builder: Builder, common: Value, at: Value) -> Value:
        """One of the two places for what is kept for all, if there is something."""
        return builder.gep(I8, common, (at,), ("inbounds", "nuw")) if self.common_bytes else common

    def _place(self, value: Value, frame: Value, common: Value) -> tuple[Value, Slot]:
        """Where `value` is kept, and in what slot of it."""
        slot = self.common.get(value)
        return (frame, self.slots[value]) if slot is None else (common, slot)

    def _vote(self, builder: Builder, barrier: Instruction, votes: Value) -> None:
        """Add the lanes that vote to the running sum; for ``and``, those that vote against."""
        ballot = barrier.args[0]
        if barrier.callee_name == "weft.barrier.and":
            ballot = builder.binary("xor", ballot, TRUE)
        count = builder.call(declare(self.module, "weft.popcount"), (ballot,))
        builder.total = self.lanes > 1
        narrow = builder.cast("trunc", count, I32)
        builder.store(builder.binary("add", builder.load(I32, votes, align=4), narrow), votes, align=4)
        builder.total = False


def frame_arguments(continuation: Function) -> list[Argument]:
    """The arguments of a continuation for `FRAME_PARAMETERS`."""
    first = next(i for i, a in enumerate(continuation.args) if a.name == FRAME_PARAMETERS[0])
    return continuation.args[first : first + len(FRAME_PARAMETERS)]


def _vote_result(builder: Builder, barrier: Instruction, votes: Value) -> Value:
    last = builder.gep(I8, votes, (ConstInt(I64, VOTED),), ("inbounds", "nuw"))
    total = builder.load(I32, last, align=4)
    if barrier.callee_name == "weft.barrier.count":
        return total
    predicate = "eq" if barrier.callee_name == "weft.barrier.and" else "ne"
    return builder.cast("zext", builder.icmp(predicate, total, ConstInt(I32, 0)), I32)


def _end(block: BasicBlock, number: int) -> None:
    """Let `block` end with a return of `number`."""
    loc = None
    if block.instructions and block.instructions[-1].is_terminator:
        loc = block.terminator.loc
        block.terminator.erase()
    Builder(block).ret(ConstInt(I32, number)).loc = loc


def _drop_foreign_phi_edges(function: Function) -> None:
    """Remove φ edges from blocks that were left out of a copy."""
    own = set(function.blocks)
    for block in function.blocks:
        for phi in list(block.phis()):
            for i in reversed(range(len(phi.blocks))):
                if phi.blocks[i] not in own:
                    phi.remove_incoming(i)


def _merge_definitions(
    value: Value, copy: Value | None, resumed: Value, entry: BasicBlock, function: Function
) -> list[Instruction]:
    """Let uses in `function` read `resumed` or, behind it, `copy`, the copied definition of `value`.

    Uses of the original itself are those of a definition that was not copied. Returns the φs that were needed.
    """
    stale = [u for u in value.instruction_users() if u.block is not None and u.block.function is function]
    for user in stale:
        user.replace_operand(value, resumed)
    for block in function.blocks:
        block.replace_operand(value, resumed)
    if not isinstance(copy, Instruction) or copy.block is None:
        return []
    reaching = ReachingDefinition(copy.type, {entry: resumed, copy.block: copy}, value.name)
    masked = [b for b in function.blocks if b.predicate is copy and b is not copy.block]
    predicates = [(b, reaching.start_of(b)) for b in masked]
    users = [u for u in copy.instruction_users() if u.is_phi or u.block is not copy.block]
    for block, mask in predicates:
        block.set_predicate(mask)
    rewrite_uses(copy, [u for u in users if u not in reaching.new_phis], reaching)
    return list(reaching.new_phis)
