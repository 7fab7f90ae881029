"""Loops with barriers over small arrays in shared memory run in the first lane group, the arrays in registers.

    d = 64                                       # a scan of 128 numbers by Blelloch's tree
    while d > 0:                                 if first lane group:     # 32 lanes: the array is four values
        barrier                                      for all rounds, written out:
        if t < d:                        ==>             a, b = lanes of the values, by shuffles
            a, b = ...                                   lanes of the values = a + b, by shuffles
            sums[b] += sums[a]                       store the four values
        off *= 2; d //= 2                        barrier

What a round does is a handful of instructions, and a barrier has each wait for the stores of the round before: loads of
registers of which parts were just stored, by gathers where distances are not those of neighbours. Here all places are
known for each thread and round (`weft.transform.groups.register_rounds`), so no round goes through memory.

That is so in work-groups of one row with as many threads as the loop has work for, at least the lanes, which is asked;
the loop as it was is there for others. How many those are, the sizes of the arrays say, of which one is tried after the
other. In front of the rounds and behind them are barriers, but where no access needs one.

Precondition: a kernel with barriers all of whose threads arrive at each of them together, to be run in lane groups of
threads along x; ids are parameters, canonical form. Postcondition: the same, loop-simplified. Preserves the program
under FR and OBL, but for races.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import may_read, may_write
from weft.ir.intrinsics import SHARED_ATTRIBUTE, IntrinsicKind, declare, kind_of
from weft.ir.types import I64, IntType
from weft.transform.groups.register_rounds import NotKnown, RegisterRounds, ThreadValue, TooLong
from weft.transform.groups.tile_fills import until_barrier
from weft.transform.groups.trees_in_lanes import is_of_first_lanes
from weft.transform.groups.work_items import WorkItems
from weft.transform.loops.simplify_loops import simplify_loops

MOST_THREADS = 512
MOST_BYTES = 2048
"""Of all static arrays together."""

MOST_VALUES = 256
"""Registers of all arrays, times the arrays: rounds compute as many values of several elements each."""


class Fact(Struct, frozen=True):
    """The number that a loop leaves behind in work-groups of some threads or fewer, whichever version runs."""

    value: int
    threads: int


def run_rounds_in_registers(
    function: Function,
    group: Divergence,
    lanes: int,
    alone: bool,
    register_bytes: int,
    done_before: Collection[BasicBlock] = (),
) -> list[BasicBlock]:
    """Let such loops of a kernel run so; their headers. The analysis of the work-group holds no longer then.

    Parameters
    ----------
    lanes
        Threads of a lane group, a power of two.
    alone
        Whether the work-group is one lane group.
    register_bytes
        Of a vector register.
    done_before
        Headers of loops of which there is such code already.
    """
    threads = _sizes(function, lanes, register_bytes)
    if not threads:
        return []
    view = cfg_of(function)
    done: list[BasicBlock] = []
    facts: dict[Value, Fact] = {}
    order = reverse_postorder(view.cfg.succs)
    loops = [loop for loop in loop_forest(view.cfg).loops if loop.parent is None]
    for loop in sorted(loops, key=lambda loop: order.index(loop.header)):
        written = _Rounds(function, view, loop, group, lanes, alone, facts)
        if written.header not in done_before and written.is_one() and _is_written(written, threads):
            done.append(written.header)
    if done:
        remove_unreachable_blocks(function)
        simplify_loops(function)
        remove_dead_instructions(function)
    return done


def _is_written(rounds: _Rounds, threads: list[int]) -> bool:
    for n in threads:
        try:
            if rounds.write(n):
                return True
        except TooLong:
            # Of fewer threads it would be another work-group's.
            return False
    return False


def _sizes(function: Function, lanes: int, register_bytes: int) -> list[int]:
    """Threads that a work-group may have, by the sizes of its static arrays."""
    text = function.attribute(SHARED_ATTRIBUTE) or ""
    sizes = [int(item.split(":")[0]) for item in text.split(",") if item]
    if sum(sizes) > MOST_BYTES or sum(sizes) * len(sizes) > MOST_VALUES * register_bytes:
        return []
    found = {size // step for size in sizes for step in (4, 8, 16)}
    return sorted((n for n in found if lanes <= n <= MOST_THREADS and n % lanes == 0), reverse=True)


class _Rounds:
    """Writes a loop so."""

    def __init__(
        self, function: Function, view: CFGView, loop: Loop, group: Divergence, lanes: int, alone: bool,
        facts: dict[Value, Fact],
    ) -> None:  # fmt: skip
        self.facts = facts
        self.function, self.loop, self.group, self.lanes, self.alone = function, loop, group, lanes, alone
        self.items = WorkItems.of(function)
        self.header = view.blocks[loop.header]
        order = reverse_postorder(view.cfg.succs)
        self.blocks = [view.blocks[b] for b in order if b in loop.blocks]
        self.before = [b for b in self.header.predecessors if b not in self.blocks]
        self.exits = {view.blocks[target] for _, target in loop.exit_edges}

    def is_one(self) -> bool:
        """Whether it is a loop with barriers to which all threads come, and which has one exit of its own."""
        if self.loop.is_irreducible or len(self.before) != 1 or len(self.exits) != 1:
            return False
        (before,), (exit,) = self.before, self.exits
        if len(before.successors) != 1 or any(b not in self.blocks for b in exit.predecessors):
            return False
        if self.group.has_varying_predicate(before) or self.group.has_varying_control(before):
            return False
        calls = (kind_of(i.callee_name) for block in self.blocks for i in block.instructions)
        return any(kind is IntrinsicKind.BARRIER for kind in calls)

    def write(self, threads: int) -> bool:
        """Put the rounds in front of the loop, for that many threads; whether they are known."""
        (before,), (exit,) = self.before, self.exits
        name = self.header.name
        front, inside, behind = (self.function.add_block(f"{name}.{n}") for n in ("rounds", "lanes", "done"))
        builder = Builder()
        builder.loc = self.header.terminator.loc
        builder.at_end(front)
        barrier = declare(builder.module, "weft.barrier")
        if any(may_read(i) or may_write(i) for i in until_barrier(before, backward=True)):
            builder.call(barrier, ())
        lane = builder.call(declare(builder.module, "weft.lane.id"), ())
        if self.alone:
            builder.br(inside)
        else:
            # The same for all lanes, as their numbers rise as those of the threads do.
            ahead = builder.binary("sub", self.items.tid[0], builder.cast("zext", lane, I64))
            builder.cond_br(builder.icmp("eq", ahead, ConstInt(I64, 0)), inside, behind)
        builder.at_end(inside)
        rounds = RegisterRounds(
            self.function, builder, self.blocks, self.header, before, exit, threads, self.lanes, lane,
            lambda value: self.group.shape(value).is_uniform,
        )  # fmt: skip
        rounds.known.update({x: fact.value for x, fact in self.facts.items() if threads <= fact.threads})
        try:
            left = self._left(rounds.run())
        except NotKnown as reason:
            for block in (behind, inside, front):
                for i in reversed(block.instructions):
                    i.erase()
                self.function.blocks.remove(block)
            if isinstance(reason, TooLong):
                raise
            return False
        builder.br(behind)
        builder.at_end(behind)
        if not is_of_first_lanes(exit, self.items.tid[0], self.lanes):
            builder.call(barrier, ())
        for phi, value in left.items():
            phi.add_incoming(value, behind)
            if not rounds.asks_for_size and isinstance(value, ConstInt):
                # It is that in smaller work-groups as well, as nothing was asked of their size. Larger ones have
                # threads that have not been looked at.
                self.facts[phi] = Fact(value.value, threads)
        builder.br(exit)
        before.terminator.erase()
        builder.at_end(before)
        weigh(builder.cond_br(self._asked(builder, rounds), front, self.header), OFTEN, 1)
        return True

    def _left(self, known: dict[Value, ThreadValue]) -> dict[Instruction, Value]:
        """The phis of the exit for what the loop leaves behind: numbers of all threads."""
        (exit,) = self.exits
        left: dict[Instruction, Value] = {}
        for phi in exit.phis():
            left[phi] = _constant(phi, known[phi])
        outside: list[tuple[Instruction, list[Instruction], Value]] = []
        for block in self.blocks:
            for i in block.instructions:
                users = [u for u in i.instruction_users() if u.block not in self.blocks and u not in left]
                if users:
                    outside.append((i, users, _constant(i, known.get(i))))
        for i, users, value in outside:
            builder = Builder(before=exit.instructions[0])
            phi = builder.phi(i.type, i.name)
            for last in exit.predecessors:
                phi.add_incoming(i, last)
            left[phi] = value
            for user in users:
                user.replace_operand(i, phi)
        return left

    def _asked(self, builder: Builder, rounds: RegisterRounds) -> Value:
        """Whether the work-group has one row of as many threads."""
        items = self.items
        least = max(rounds.accessing, self.lanes)
        if rounds.asks_for_size:
            least = rounds.threads
        rest = builder.binary("mul", items.lsize[1], items.lsize[2])
        asked = builder.icmp("eq", rest, ConstInt(I64, 1))
        long = builder.icmp("uge", items.lsize[0], ConstInt(I64, least))
        fits = builder.icmp("ule", items.lsize[0], ConstInt(I64, rounds.threads))
        return builder.binary("and", builder.binary("and", asked, long), fits)


def _constant(of: Value, value: ThreadValue | None) -> Value:
    if isinstance(value, int) and isinstance(of.type, IntType):
        return ConstInt(of.type, value)
    raise NotKnown
