"""Cycles that a thread takes by itself, without lanes: what lane groups are held against.

A processor runs several instructions of one thread at once, foresees most of its branches, and begins with the next
iteration of a loop, or the next thread, while it waits. So instructions count by how many units there are for them, a
branch that goes another way for other threads by how often it is not foreseen, and what loops carry from iteration to
iteration only where there is no loop around whose next iteration could begin meanwhile. Addresses that go on by
the same step in each iteration are counters, or parts of the access, and cost nothing. Loops along rows that only add
up are run in SIMD by LLVM's vectorizer.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.flushed_numbers import is_left_to_processor
from weft.analysis.loops.along_rows import counts_from_the_end, depends_on_data, is_along_rows, is_short
from weft.analysis.loops.bisections import bisection
from weft.analysis.loops.own_walks import is_far, may_move_apart, walks_apart
from weft.analysis.memory.far_steps import far_step
from weft.analysis.memory.linear_locations import linear_location
from weft.costs.constants import constants_of
from weft.costs.instructions import COPY_UPDATE, FREE, INSTRUCTION_COSTS, MATH_CALL, instruction_cost
from weft.costs.lane_turns import is_plain_update
from weft.costs.long_choices import latency_alone, long_choices
from weft.costs.short_walks import short_walk
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import may_read, may_write
from weft.ir.intrinsics import kind_of
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

_UNITS = 4.0
"""Instructions of integers, of addresses and of control that are done in a cycle."""

_LOAD, _STORE = 0.5, 1.0

_ALONG_ROWS = 3.0
"""How much faster LLVM's vectorizer makes loops along rows: of some ten iterations a few are left over."""

_STEPS = frozenset(("add", "sub", "mul", "shl", "sext", "zext", "trunc", "getelementptr"))
_IN_ADDRESSES = frozenset(("getelementptr", "sext", "zext", "trunc"))

_HALF = 48.0
"""Cycles of a step of a search by halves: between one in the cache, which has no branch, and one that misses it."""

_FEW = 4.0
"""Iterations of a loop that ends when it has found something."""


def cycles_alone(divergence: Divergence, isa: Isa, latency: float | None = None) -> float:
    """Return the cycles of a thread of the function that `divergence` is of, in code for one thread.

    What it looks up, and goes on by, is there after a `latency`, if that is told.
    """
    return _OneThread(divergence, isa, latency).cycles()


def may_be_alone(divergence: Divergence, *, in_loop: bool = False) -> bool:
    """Whether lanes access addresses of their own that are no neighbours.

    They are loaded ones, or far apart, or places in local arrays that each thread has found for itself, as the top of
    a stack. Lanes are iterations `in_loop`, or threads of a kernel.
    """
    work: list[Value] = []
    layout = divergence.function.layout
    for block in divergence.function.blocks:
        for instruction in block.instructions:
            if instruction.op not in ("load", "store"):
                continue
            form = divergence.access_form(instruction).form
            if form is Form.GATHER and (
                walks_apart(instruction, divergence, in_loop=in_loop)
                or _is_in_local_array(instruction, divergence)
            ):
                return True
            if form is Form.GATHER:
                work.append(instruction.pointer)
            elif form is Form.STRIDED and is_far(
                divergence.shape(instruction.pointer), layout.size(instruction.accessed_type)
            ):
                return True
    seen = set(work)
    while work:
        value = work.pop()
        if not isinstance(value, Instruction):
            continue
        if value.op == "load" or (value.op == "call" and (may_read(value) or may_write(value))):
            return True
        fresh = [v for v in value.operands if v not in seen]
        seen.update(fresh)
        work += fresh
    return False


def may_turn_out_far(divergence: Divergence) -> bool:
    """Whether loops access addresses that are nobody knows how far from lane to lane: neighbours, or rows apart."""
    return any(may_move_apart(i, divergence) for i in divergence.function.instructions())


def searches(divergence: Divergence) -> bool:
    """Whether threads leave some loop by several ways, each at another time: as when they have found something.

    One that has not yet found it holds up the others of its lane group, and how long depends on the data.
    """
    view = divergence.facts.view
    for loop in divergence.facts.propagation.loops.loops:
        branches = {view.blocks[source].terminator for source, _ in loop.exit_edges}
        if len(branches) > 1 and not any(
            divergence.is_uniform(b.operands[0]) for b in branches if b.operands
        ):
            return True
    return False


def _is_in_local_array(access: Instruction, divergence: Divergence) -> bool:
    """Whether a load or store is at a place in a local array that each thread has found for itself."""
    base = linear_location(access.pointer, divergence.function.layout).base
    return isinstance(base, Instruction) and base.op == "alloca"


class _OneThread:
    def __init__(self, divergence: Divergence, isa: Isa, latency: float | None) -> None:
        self._divergence, self._isa = divergence, isa
        self._constants = constants_of(isa)
        self._latency = self._constants.miss_latency if latency is None else latency
        self._probability = divergence.facts.probability
        self._view, self._loops = self._probability.view, self._probability.loops
        self._order = reverse_postorder(self._view.cfg.succs)

    def cycles(self) -> float:
        busy: dict[Loop | None, float] = {}
        for number, block in enumerate(self._view.blocks):
            loop = self._loops.innermost[number]
            taken = sum(map(self._cycles_of, block.instructions)) + self._surprise(number)
            busy[loop] = busy.get(loop, 0.0) + taken
        cycles = busy.get(None, 0.0)
        for loop in self._loops.loops:
            taken = max(busy.get(loop, 0.0), self._recurrence(loop))
            if is_along_rows(loop, self._view, self._divergence.function.layout) and not self._is_short(loop):
                taken = busy.get(loop, 0.0) / _ALONG_ROWS
            cycles += self._constants.loop_weight**loop.depth * taken
        return cycles

    def _is_short(self, loop: Loop) -> bool:
        return is_short(loop, self._view, self._divergence.engine.ranges)

    def _cycles_of(self, instruction: Instruction) -> float:
        op = instruction.op
        if op in ("load", "store"):
            return (_LOAD if op == "load" else _STORE) + (
                self._constants.jump if self._jumps(instruction) else 0.0
            )
        if is_plain_update(instruction):
            return COPY_UPDATE
        name = instruction.callee_name or ""
        if op == "call":
            if kind_of(name) is not None and not (may_read(instruction) or may_write(instruction)):
                # Which thread it is, or which lane.
                return 0.0
            if math_function(name) is not None:
                # A library's function for one number takes as long as that for a register of them.
                return MATH_CALL.cycles
            op = ".".join(name.split(".")[:2])
        if INSTRUCTION_COSTS.get(op) is FREE or op in _IN_ADDRESSES or self._only_steps(instruction):
            return 0.0
        if (op == "br" and len(set(instruction.successors)) < 2) or is_left_to_processor(instruction):
            return 0.0
        if op == "icmp" and all(user.is_terminator for user in instruction.instruction_users()):
            # The branch on it is the same instruction.
            return 0.0
        if op == "select" and counts_from_the_end(instruction.operands[0]):
            # The question is a branch that is never taken (`weft.transform.loops.front_loops`).
            return 0.0
        known = instruction_cost(op, 32, 1, self._isa).cycles
        return max(1 / _UNITS, known) if known > 1 or op.startswith(("f", "llvm.f")) else 1 / _UNITS

    def _jumps(self, access: Instruction) -> bool:
        """Whether the next iteration of a loop accesses another page."""
        return far_step(access, self._view, self._loops, self._divergence.function.layout) is not None

    def _only_steps(self, instruction: Instruction) -> bool:
        """Whether an instruction computes part of an address, from counters and what the loop does not change."""
        if instruction.op not in _STEPS or not self._loop_of(instruction):
            return False
        users = list(instruction.instruction_users())
        leads = all(u.op == "getelementptr" or (u.op in _STEPS and self._only_steps(u)) for u in users)
        return bool(users) and leads and all(self._is_stepped(v, instruction) for v in instruction.operands)

    def _is_stepped(self, value: Value, user: Instruction) -> bool:
        """Whether a value is counted by the loop that `user` is in, or not changed by it."""
        loop = self._loop_of(user)
        if not isinstance(value, Instruction) or loop is None:
            return True
        if value.block is None or self._view.index[value.block] not in loop.blocks or value.is_phi:
            return True
        return value.op in _STEPS and all(self._is_stepped(v, user) for v in value.operands)

    def _loop_of(self, instruction: Instruction) -> Loop | None:
        block = instruction.block
        return None if block is None else self._loops.innermost[self._view.index[block]]

    def _surprise(self, number: int) -> float:
        """Cycles lost at the end of a block, because the next thread goes another way."""
        block = self._view.blocks[number]
        branch = block.terminator
        if not branch.operands or len(set(branch.successors)) < 2:
            return 0.0
        if self._divergence.is_uniform(branch.operands[0]):
            return 0.0
        loop = self._loops.innermost[number]
        if loop is not None and any(source == number for source, _ in loop.exit_edges):
            # Once for each time that the loop is left: where data decide that may be soon.
            counted = not depends_on_data(branch.operands[0], {self._view.blocks[n] for n in loop.blocks})
            rounds = self._constants.loop_weight if counted else _FEW
            return self._constants.branch_miss / rounds
        likely = self._probability.taken(block, branch.successors[0])
        return self._constants.branch_miss * self._constants.miss_share * min(likely, 1 - likely)

    def _recurrence(self, loop: Loop) -> float:
        """The latency from what the innermost `loop` carries to the next, where nothing else can begin meanwhile."""
        if loop.children:
            return 0.0
        if self._is_chased(loop):
            if bisection(loop, self._divergence.function, self._view) is not None:
                return _HALF
            if (walk := short_walk(loop, self._view, self._isa)) is not None:
                return walk.cycles(self._latency)
            if choices := long_choices(loop, self._view, self._isa):
                # They are branches.
                missed = self._constants.branch_miss + max(choices.values())
                return self._constants.miss_share * missed
            return self._latency
        if loop.depth > 1:
            return 0.0
        header = self._view.blocks[loop.header]
        latches = {self._view.blocks[n] for n in loop.latches}
        longest = 0.0
        for phi in header.phis():
            depth = self._depths_from(phi, loop)
            carried = [v for v, source in phi.incoming() if source in latches]
            longest = max([longest, *(depth.get(v, 0.0) for v in carried)])
        return longest

    def _depths_from(self, phi: Instruction, loop: Loop) -> dict[Value, float]:
        """How long what the loop computes from a value that it carries takes from there, in one iteration."""
        header = phi.block
        depth: dict[Value, float] = {phi: 0.0}
        for block in self._blocks(loop):
            for instruction in block.instructions:
                known = [depth[v] for v in instruction.operands if v in depth]
                if known and not (block is header and instruction.is_phi):
                    depth[instruction] = max(known) + latency_alone(instruction, self._isa)
        return depth

    def _blocks(self, loop: Loop) -> list[BasicBlock]:
        """The blocks of a loop, operands first."""
        return [self._view.blocks[n] for n in self._order if n in loop.blocks]

    def _is_chased(self, loop: Loop) -> bool:
        """Whether what a thread loads at an address of its own decides where the next iteration looks."""
        header = self._view.blocks[loop.header]
        reached: set[Value] = set()
        for block in self._blocks(loop):
            for instruction in block.instructions:
                gathers = instruction.op == "load" and (
                    self._divergence.access_form(instruction).form is Form.GATHER
                )
                if gathers or any(v in reached for v in instruction.operands):
                    reached.add(instruction)
        latches = {self._view.blocks[n] for n in loop.latches}
        pointers = {p for p in header.phis() if self._leads_to_gather(p, loop)}
        return any(v in reached for p in pointers for v, source in p.incoming() if source in latches)

    def _leads_to_gather(self, phi: Instruction, loop: Loop) -> bool:
        """Whether an address in the loop that each thread has for itself is computed from a value it carries."""
        seen: set[Value] = {phi}
        work: list[Instruction] = [phi]
        while work:
            for user in work.pop().instruction_users():
                if user in seen or user.block is None or self._view.index[user.block] not in loop.blocks:
                    continue
                if user.op == "load" and self._divergence.access_form(user).form is Form.GATHER:
                    return True
                if not user.is_phi:
                    seen.add(user)
                    work.append(user)
        return False
