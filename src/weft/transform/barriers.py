"""Barriers by continuations (Karrenberg and Hack, §2.3).

Precondition: all barriers stand in the kernel itself (calls that reach one are inlined) and control flow is
uniform in a lane group, which for one lane it always is. Postcondition: the kernel is replaced by functions free
of barriers, `Continuation` 0 for its entry and one for each barrier. A continuation runs one lane group from its
start to the next barrier or the end, and returns the number of the barrier reached (from 1), or 0 for the end.
What a barrier must keep is saved in the lane group's frame: only values live across it, and of these only such
as cannot be computed again from parameters. No synchronization point is added.

The continuations together do what the kernel did, under FR and OBL, when the caller runs continuation k for all
unfinished lane groups once all of them have returned k.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.analysis.liveness import liveness
from weft.diag.errors import UnsupportedError
from weft.ir import (
    TRUE,
    Argument,
    BasicBlock,
    Builder,
    ConstInt,
    Function,
    Instruction,
    Module,
    Value,
)
from weft.ir.cfg_edit import split_block
from weft.ir.clone import clone_blocks
from weft.ir.intrinsics import IntrinsicKind, declare, kind_of
from weft.ir.layout import DataLayout, parse_datalayout
from weft.ir.types import I8, I32, I64, FunctionType, Type, pointer
from weft.transform.frame import FRAME_ALIGN, Slot, assign_slots, restore, save, value_size
from weft.transform.rematerialize import Rematerializer
from weft.transform.ssa_repair import ReachingDefinition, rewrite_uses

FINISHED = 0
"""What a continuation returns when the lane group has left the kernel."""


_DERIVES = {
    "getelementptr",
    "phi",
    "select",
    "bitcast",
    "addrspacecast",
    "ptrtoint",
    "inttoptr",
    "freeze",
    "add",
}
"""Instructions whose result may still point into the object that an operand points into."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """A barrier-free function ``i32 f(kernel parameters..., ptr frame, ptr votes)``.

    `ends` are the numbers it may return. `votes` points to two i32: what the current barrier's lane groups have
    added up, and the sum at the barrier just passed.
    """

    function: Function
    ends: frozenset[int]


@dataclass(frozen=True, slots=True)
class BarrierProgram:
    """The kernel as continuations.

    `frame_bytes` is the frame of one lane group, `slots` what is kept where, `kept[k - 1]` the values kept across
    barrier k, and `lines` the source line of each barrier (0 when unknown).
    """

    continuations: tuple[Continuation, ...]
    frame_bytes: int
    slots: dict[Value, Slot]
    kept: tuple[tuple[Value, ...], ...]
    lines: tuple[int, ...]


def barriers_of(function: Function) -> list[Instruction]:
    """The barrier calls of `function`, in block order."""
    return [i for i in function.instructions() if kind_of(i.callee_name) is IntrinsicKind.BARRIER]


def split_at_barriers(
    module: Module, kernel: Function, lanes: int = 1, uniform: frozenset[Value] = frozenset()
) -> BarrierProgram:
    """Replace `kernel` in `module` by its continuations for lane groups of `lanes` threads.

    Values in `uniform` are the same in all lanes and kept once for the lane group.

    Raises
    ------
    UnsupportedError
        When a called function contains a barrier (it is recursive, or it would have been inlined).
    """
    _require_barriers_in_kernel_only(module, kernel)
    barriers = barriers_of(kernel)
    frame = _append_parameter(kernel, "frame", pointer())
    _append_parameter(kernel, "votes", pointer())
    resumes = [_split_after(barrier) for barrier in barriers]
    layout = parse_datalayout(module.datalayout)
    object_bytes = _move_objects_to_frame(kernel, barriers, frame, layout, lanes)

    remat = Rematerializer()
    live = liveness(kernel)
    after = [[v for v in live.after(b) if not isinstance(v, Argument)] for b in barriers]
    kept = [[v for v in values if not remat.can(v)] for values in after]
    sizes = {v: value_size(layout, v) for values in kept for v in values}
    slots, slot_bytes = assign_slots(kept, sizes, uniform, lanes)
    slots = {v: Slot(s.offset + object_bytes, s.size, s.uniform) for v, s in slots.items()}

    numbers = {barrier: n for n, barrier in enumerate(barriers, 1)}
    splitter = _Splitter(module, kernel, numbers, kept, slots, remat, lanes)
    continuations = [splitter.continuation(0, kernel.entry, [])]
    for number, (resume, values) in enumerate(zip(resumes, after, strict=True), 1):
        continuations.append(splitter.continuation(number, resume, values))
    del module.functions[kernel.name]
    return BarrierProgram(
        tuple(continuations),
        object_bytes + slot_bytes,
        slots,
        tuple(tuple(values) for values in kept),
        tuple(b.loc.line if b.loc else 0 for b in barriers),
    )


def _require_barriers_in_kernel_only(module: Module, kernel: Function) -> None:
    for function in module.definitions():
        if function is not kernel and (inner := barriers_of(function)):
            line = f" (line {inner[0].loc.line})" if inner[0].loc else ""
            raise UnsupportedError(
                f"the recursive function {function.name!r} contains a barrier{line}",
                hint="call the barrier from the kernel, or write the recursion as a loop",
            )


def _append_parameter(function: Function, name: str, type: Type) -> Argument:
    old = function.fn_type
    function.fn_type = FunctionType(old.result, (*old.params, type), old.vararg)
    argument = Argument(type, name, len(function.args), ("noundef",))
    function.args.append(argument)
    return argument


def _split_after(barrier: Instruction) -> BasicBlock:
    """Let the barrier's block end right after it; the block where execution resumes."""
    block = barrier.block
    assert block is not None
    following = block.instructions[block.instructions.index(barrier) + 1]
    return split_block(following)


def _move_objects_to_frame(
    kernel: Function, barriers: list[Instruction], frame: Argument, layout: DataLayout, lanes: int
) -> int:
    """Give each stack object that may be reached from behind a barrier a place in the frame; the bytes they take.

    A stack object keeps its place for the whole run, whatever else is live.
    """
    live = liveness(kernel)
    across = {v for b in barriers for v in live.after(b)}
    end = 0
    for alloca in [i for i in kernel.instructions() if i.op == "alloca"]:
        if not _is_reached_through(alloca, across):
            continue
        count = alloca.operands[0]
        if not isinstance(count, ConstInt):
            raise UnsupportedError("a stack object of variable size is used across a barrier")
        type = alloca.attrs["allocated_type"]
        align = max(alloca.attrs.get("align", 0), layout.align(type))
        size = -(-layout.size(type) * count.value // align) * align
        end = -(-end // align) * align
        address = _object_address(Builder(before=alloca), frame, end, size, lanes)
        address.name = alloca.name
        alloca.replace_all_uses(address)
        alloca.erase()
        end += size * lanes
    return -(-end // FRAME_ALIGN) * FRAME_ALIGN


def _is_reached_through(alloca: Instruction, values: set[Value]) -> bool:
    """Whether one of `values` may point into the object, or memory or a function may know its address."""
    derived = {alloca: None}
    work = [alloca]
    while work:
        pointer_value = work.pop()
        if pointer_value in values:
            return True
        for user in pointer_value.instruction_users():
            if user.op in _DERIVES:
                if user not in derived:
                    derived[user] = None
                    work.append(user)
            elif not _only_accesses(user, pointer_value):
                return True
    return False


def _only_accesses(user: Instruction, address: Value) -> bool:
    if user.op in ("load", "icmp"):
        return True
    if user.op == "store":
        return user.operands[0] is not address
    return (user.callee_name or "").startswith(
        ("llvm.lifetime.", "llvm.memset.", "llvm.memcpy.", "llvm.memmove.")
    )


def _object_address(builder: Builder, frame: Argument, offset: int, size: int, lanes: int) -> Instruction:
    where: Value = ConstInt(I64, offset)
    if lanes > 1:
        assert builder.block is not None and builder.block.function is not None
        module = builder.block.function.module
        assert module is not None
        lane = builder.cast("zext", builder.call(declare(module, "weft.lane.id"), ()), I64)
        scaled = builder.binary("mul", lane, ConstInt(I64, size), ("nuw", "nsw"))
        where = builder.binary("add", scaled, where, ("nuw", "nsw"))
    return builder.gep(I8, frame, (where,), ("inbounds", "nuw"))


@dataclass(slots=True)
class _Splitter:
    """Builds continuations as copies of the parts of `kernel` between barriers."""

    module: Module
    kernel: Function
    numbers: dict[Instruction, int]
    kept: list[list[Value]]
    slots: dict[Value, Slot]
    remat: Rematerializer
    lanes: int

    def continuation(self, number: int, start: BasicBlock, live: list[Value]) -> Continuation:
        """The continuation that resumes at `start`, where `live` are needed."""
        reached = self._reached_before_barriers(start)
        function = self._new_function(number)
        entry = function.add_block("resume")
        values: dict[Value, Value] = dict(zip(self.kernel.args, function.args, strict=True))
        clone_blocks(reached, function, values)
        resumed = self._resume_values(entry, number, live, values)
        Builder(entry).br(values[start])  # type: ignore[arg-type]
        ends = {self._end_at_barrier(b, values) for b in reached if self._ending_barrier(b) is not None}
        for block in reached:
            if block.terminator.op == "ret":
                ends.add(FINISHED)
                self._end(values[block], FINISHED)  # type: ignore[arg-type]
        _drop_foreign_phi_edges(function)
        for value, again in resumed.items():
            _merge_definitions(value, values.get(value), again, entry, function)
        return Continuation(function, frozenset(ends))

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
        self, entry: BasicBlock, number: int, live: list[Value], arguments: dict[Value, Value]
    ) -> dict[Value, Value]:
        """Load or compute again, in the entry block, every value live after barrier `number`."""
        if number == 0:
            return {}
        builder = Builder(entry)
        builder.total = self.lanes > 1
        frame = entry.function.args[-2]  # type: ignore[union-attr]
        resumed: dict[Value, Value] = {}
        known: dict[Value, Value] = {a: arguments[a] for a in self.kernel.args}
        for value in live:
            if value in self.slots and value in self.kept[number - 1]:
                resumed[value] = restore(builder, value, frame, self.slots[value], self.lanes)
            else:
                resumed[value] = self.remat.compute(builder, value, known, total=self.lanes > 1)
        barrier = next(b for b, n in self.numbers.items() if n == number)
        if barrier.is_used:
            resumed[barrier] = self._vote_result(builder, barrier, entry.function.args[-1])  # type: ignore[union-attr]
        return resumed

    def _vote_result(self, builder: Builder, barrier: Instruction, votes: Value) -> Value:
        last = builder.gep(I8, votes, (ConstInt(I64, 4),), ("inbounds", "nuw"))
        total = builder.load(I32, last, align=4)
        if barrier.callee_name == "weft.barrier.count":
            return total
        predicate = "eq" if barrier.callee_name == "weft.barrier.and" else "ne"
        return builder.cast("zext", builder.icmp(predicate, total, ConstInt(I32, 0)), I32)

    def _end_at_barrier(self, block: BasicBlock, values: dict[Value, Value]) -> int:
        """Let the copy of `block` save what its barrier keeps, and return the barrier's number."""
        barrier = self._ending_barrier(block)
        assert barrier is not None
        number = self.numbers[barrier]
        copy = values[barrier]
        assert isinstance(copy, Instruction) and copy.block is not None
        function = copy.block.function
        assert function is not None
        frame, votes = function.args[-2:]
        builder = Builder(before=copy)
        if copy.args:
            self._vote(builder, copy, votes)
        builder.total = self.lanes > 1
        for value in self.kept[number - 1]:
            save(builder, values.get(value, value), frame, self.slots[value], self.lanes)
        block_copy = copy.block
        copy.erase()
        self._end(block_copy, number)
        return number

    def _vote(self, builder: Builder, barrier: Instruction, votes: Value) -> None:
        """Add the lanes that vote to the running sum; for ``and``, those that vote against."""
        ballot = barrier.args[0]
        if barrier.callee_name == "weft.barrier.and":
            ballot = builder.binary("xor", ballot, TRUE)
        count = builder.call(declare(self.module, "weft.popcount"), (ballot,))
        count = builder.cast("trunc", count, I32)
        builder.store(builder.binary("add", builder.load(I32, votes, align=4), count), votes, align=4)

    def _end(self, block: BasicBlock, number: int) -> None:
        """Replace the terminator of `block` by a return of `number`."""
        old = block.terminator
        loc = old.loc
        old.erase()
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
) -> None:
    """Let uses in `function` read `resumed` or, behind it, `copy`, the copied definition of `value`.

    Uses of the original itself are those of a definition that was not copied.
    """
    stale = [u for u in value.instruction_users() if u.block is not None and u.block.function is function]
    for user in stale:
        user.replace_operand(value, resumed)
    for block in function.blocks:
        block.replace_operand(value, resumed)
    if not isinstance(copy, Instruction) or copy.block is None:
        return
    users = [u for u in copy.instruction_users() if u.is_phi or u.block is not copy.block]
    reaching = ReachingDefinition(copy.type, {entry: resumed, copy.block: copy}, value.name)
    rewrite_uses(copy, users, reaching)
