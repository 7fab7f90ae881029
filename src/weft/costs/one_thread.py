"""Cycles that a thread takes by itself, without lanes: what lane groups are held against.

A processor runs several instructions of one thread at once, foresees most of its branches, and begins with the next
iteration of a loop, or the next thread, while it waits. So instructions count by how many units there are for them, a
branch that goes another way for other threads by how often it is not foreseen, and what loops carry from iteration to
iteration only where there is no loop around whose next iteration could begin meanwhile.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.costs.constants import constants_of
from weft.costs.instructions import FREE, INSTRUCTION_COSTS, MATH_CALL, instruction_cost
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import may_read, may_write
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

_UNITS = 4.0
"""Instructions of integers, of addresses and of control that are done in a cycle."""

_LOAD, _STORE = 0.5, 1.0

_FEW = 4.0
"""Iterations of a loop that ends when it has found something."""


def cycles_alone(divergence: Divergence, isa: Isa) -> float:
    """Return the cycles of a thread of the function that `divergence` is of, in code for one thread."""
    return _OneThread(divergence, isa).cycles()


def follows_data(divergence: Divergence) -> bool:
    """Whether lanes access addresses of their own that depend on what has been loaded, or called for."""
    work: list[Value] = []
    for block in divergence.function.blocks:
        for instruction in block.instructions:
            if instruction.op not in ("load", "store"):
                continue
            if divergence.access_form(instruction).form is Form.GATHER:
                work.append(instruction.pointer)
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


class _OneThread:
    def __init__(self, divergence: Divergence, isa: Isa) -> None:
        self._divergence, self._isa = divergence, isa
        self._constants = constants_of(isa)
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
            waiting = self._recurrence(loop)
            cycles += self._constants.loop_weight**loop.depth * max(busy.get(loop, 0.0), waiting)
        return cycles

    def _cycles_of(self, instruction: Instruction) -> float:
        op = instruction.op
        if op == "load":
            return _LOAD
        if op == "store":
            return _STORE
        name = instruction.callee_name or ""
        if op == "call":
            if math_function(name) is not None:
                # A library's function for one number takes as long as that for a register of them.
                return MATH_CALL.cycles
            op = ".".join(name.split(".")[:2])
        if INSTRUCTION_COSTS.get(op) is FREE:
            return 0.0
        known = instruction_cost(op, 32, 1, self._isa).cycles
        return max(1 / _UNITS, known) if known > 1 or op.startswith(("f", "llvm.f")) else 1 / _UNITS

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
            counted = not _depends_on_data(branch.operands[0], {self._view.blocks[n] for n in loop.blocks})
            rounds = self._constants.loop_weight if counted else _FEW
            return self._constants.branch_miss / rounds
        likely = self._probability.taken(block, branch.successors[0])
        return self._constants.branch_miss * self._constants.miss_share * min(likely, 1 - likely)

    def _recurrence(self, loop: Loop) -> float:
        """The latency from what the innermost `loop` carries to the next, where nothing else can begin meanwhile."""
        if loop.children:
            return 0.0
        if self._is_chased(loop):
            return self._constants.miss_latency
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
                    depth[instruction] = max(known) + self._latency_of(instruction)
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

    def _latency_of(self, instruction: Instruction) -> float:
        op = instruction.op
        if op == "load":
            return 5.0
        if op == "call":
            op = ".".join((instruction.callee_name or "").split(".")[:2])
        known = instruction_cost(op, 32, 1, self._isa).latency
        # The latencies of comparisons and conversions are those of vectors.
        return 1.0 if op in ("icmp", "zext", "sext", "trunc", "getelementptr") else known


def _depends_on_data(condition: Value, blocks: set[BasicBlock]) -> bool:
    """Whether a condition is computed from what is loaded or called for in these blocks, but for by way of φs."""
    work, seen = [condition], {condition}
    while work:
        value = work.pop()
        if not isinstance(value, Instruction) or value.block not in blocks or value.is_phi:
            continue
        if value.op in ("load", "fcmp"):
            return True
        work += [v for v in value.operands if v not in seen]
        seen.update(value.operands)
    return False
