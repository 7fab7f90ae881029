"""One activation of a function by a set of threads: the schedule and the execution of blocks.

The schedule is the settled one (docs/design.md): of all places where threads wait, the one of least slot in the
compact block index runs next (`weft.graph.block_index`). Threads wait on edges, so a pending place lists,
per edge, the set of threads on it; together these sets are the control mask of Moll, Definition 6, and the
sources say what each φ selects.

Threads that a false block predicate leaves without a successor of their own (ℓ_next = ⊤) go with their guides
(Moll, Def. 13): the threads of their lane group that executed the block with them, the earliest scheduled of them
if those part. So a uniform branch never parts threads, as Definition 14 wants it; its first condition alone would
let a thread follow others that happen to wait at another successor. Threads without guides take the way out.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.code import BlockCode, Code, Compute, EdgeKey, Edges, Environment, Mode, Phi, Step
from weft.interp.faults import FaultKind
from weft.interp.lanes import POISON, LaneValue, choose, filled, is_poison, poison_outside
from weft.interp.sanitizer.observation import observe_phis, observe_step
from weft.interp.sanitizer.spinning import SpinDetector
from weft.interp.threads.active import EMPTY, ActiveSet, union
from weft.interp.threads.waiting import Waiting

if TYPE_CHECKING:
    from weft.interp.machine import Machine
    from weft.interp.memory.memory import MemoryObject


# A step asks for its mode each time that it runs, and members of an enumeration are found slowly.
TOTAL, LOCAL, MERGE = Mode.TOTAL, Mode.LOCAL, Mode.MERGE


class Frame:
    """The execution state of one function call (Moll, Def. 3), shared memory aside.

    Attributes
    ----------
    env
        Δ: one value per slot, None before the first assignment.
    activation
        The activation of the current block (Moll, Def. 8).
    active
        The threads for which the current step runs: the activation, but for total and guarded steps.
    present
        The threads of lane groups that take part in the current block; kept up where passive threads matter.
    control
        The control mask of the current block.
    oblivious
        Whether passive threads get ⊤; in functions that are called they do not.
    apart
        Passive threads that go on behind a barrier alone: in which block, from which segment on.
    """

    __slots__ = (
        "activation", "active", "apart", "block", "code", "control", "definitions", "env", "finished", "has_parted",
        "heap", "is_kernel", "locals", "machine", "oblivious", "pending", "present", "results", "spins", "waiting",
    )  # fmt: skip

    def __init__(self, machine: Machine, code: Code, is_kernel: bool = False) -> None:
        self.machine = machine
        self.code = code
        self.is_kernel = is_kernel
        self.oblivious = machine.oblivious
        self.env: Environment = machine.environment(code)
        self.block: BlockCode = code.blocks[0]
        self.activation: ActiveSet = EMPTY
        self.active: ActiveSet = EMPTY
        self.present: ActiveSet = EMPTY
        self.control: ActiveSet = EMPTY
        self.pending: dict[EdgeKey, Edges] = {}
        self.heap: list[EdgeKey] = []
        self.results: list[tuple[ActiveSet, LaneValue]] = []
        self.locals: list[MemoryObject] = []
        self.spins = SpinDetector()
        self.waiting = Waiting()
        self.apart: list[tuple[BlockCode, int, ActiveSet]] = []
        self.has_parted = False
        self.definitions: dict[int, np.ndarray] = {}

    def run(self, arguments: list[LaneValue], active: ActiveSet) -> LaneValue | None:
        """Execute the function for the threads of `active`; the result holds for them alone."""
        for slot, value in zip(self.code.arguments, arguments, strict=True):
            self.env[slot] = value
        entry = (0, 0)
        self.pending[entry] = [(-1, active)]
        self.heap.append(entry)
        try:
            while True:
                if self.apart:
                    self._run_apart(*self.apart.pop())
                elif self.heap:
                    key = heappop(self.heap)
                    self._enter(key, self.pending.pop(key))
                elif self.waiting.is_empty:
                    break
                else:
                    self._resume_waiting()
        finally:
            for gone in reversed(self.locals):
                self.machine.image.memory.remove(gone)
        return self._result()

    def go(self, source: int, key: EdgeKey, threads: ActiveSet) -> None:
        """Let `threads` wait at an edge from block `source`."""
        waiting = self.pending.get(key)
        if waiting is None:
            self.pending[key] = [(source, threads)]
            heappush(self.heap, key)
        else:
            waiting.append((source, threads))

    def _enter(self, key: EdgeKey, edges: Edges) -> None:
        """Schedule the block at `key` for the threads waiting there (Moll, rule BLS-W-STEP)."""
        machine = self.machine
        block = self.code.blocks[key[1]]
        control = edges[0][1] if len(edges) == 1 else union((s for _, s in edges), machine.lanes)
        self.control = control
        if block.per_thread:
            self.present = control
        elif self.oblivious or block.needs_present:
            self.present = self.participants(control)
        machine.steps += 1
        if machine.steps > machine.step_limit:
            machine.count_step(block.block.terminator)
        if block.is_header:
            self.spins.arrive(self, key, block)
        if block.phis:
            self._assign_phis(block, edges)
        self.active = control
        if block.predicate >= 0:
            self._apply_predicate(block)
        for listener in machine.hooks.on_block:
            listener(machine, block.block, self.active)
        self._run_from(block, 0)

    def _run_from(self, block: BlockCode, segment: int) -> None:
        """Execute a block's steps from a segment on, then its terminator."""
        self.block = block
        while True:
            self._run_steps(block.segments[segment])
            if segment == len(block.barriers):
                break
            barrier = block.barriers[segment]
            segment += 1
            passive = self.passive()
            going = self.waiting.arrive(self, block, segment, barrier)
            if passive.count:
                passive = self._leave_apart(block, segment, passive, going)
            if going is None:
                return
            self.active = going
            self.control = union((going, passive), self.machine.lanes) if passive.count else going
        assert block.terminate is not None
        block.terminate(self, block)

    def _leave_apart(
        self, block: BlockCode, segment: int, passive: ActiveSet, going: ActiveSet | None
    ) -> ActiveSet:
        """The passive threads that pass a barrier with others of their lane group; the rest passes it alone.

        These may be on the way to a return, or to another barrier, and whoever waits waits for them.
        """
        together = EMPTY
        if going is not None:
            together, passive = passive.split(self.machine.present(going).mask(self.machine.lanes))
        if passive.count:
            self.has_parted = True
            self.apart.append((block, segment, passive))
        return together

    def _run_apart(self, block: BlockCode, segment: int, threads: ActiveSet) -> None:
        """Let passive threads go on behind a barrier at which nobody of their lane group goes on."""
        self.active, self.control = EMPTY, threads
        self.present = self.participants(threads)
        self._run_from(block, segment)

    def participants(self, control: ActiveSet) -> ActiveSet:
        """The threads of the lane groups with a thread in `control` that take part, if passively.

        Where a lane group has parted at a barrier, those who wait do not, nor those who have returned.
        """
        present = self.machine.present(control)
        if not self.has_parted:
            return present
        present = present.split(self.machine.alive)[0]
        return present if self.waiting.is_empty else present.split(self.waiting.threads)[1]

    def _run_steps(self, steps: list[Step]) -> None:
        active = self.activation = self.active
        if self.machine.hooks.on_value or active.count == 0:
            self._run_steps_carefully(steps)
            return
        env = self.env
        for compute, slot, mode, _, guard in steps:
            if guard >= 0 or mode is TOTAL:
                self._run_special(compute, slot, mode, guard)
            elif mode is LOCAL:
                env[slot] = compute(self)
            elif mode is MERGE:
                value = compute(self)
                env[slot] = value if active.bits is None else self.merged(slot, value, active)
            else:
                compute(self)

    def _run_steps_carefully(self, steps: list[Step]) -> None:
        """As `_run_steps`, for a block without active threads or under observation of values."""
        for step in steps:
            if step.mode is TOTAL or step.guard >= 0:
                self._run_special(step.compute, step.slot, step.mode, step.guard)
            elif self.active.count:
                value = step.compute(self)
                if value is not None:
                    self.env[step.slot] = self.merged(step.slot, value, self.active)
            elif step.slot >= 0 and (self.oblivious or self.env[step.slot] is None):
                # Under FR a passive thread keeps its value; one that never had any has poison.
                self.env[step.slot] = self.merged(step.slot, filled(step.instruction.type, POISON), EMPTY)
            if self.machine.hooks.on_value:
                observe_step(self, step)

    def _run_special(self, compute: Compute, slot: int, mode: Mode, guard: int) -> None:
        """Execute a total or a guarded instruction."""
        active = self.active
        if mode is TOTAL:
            self.active = self.present
        if guard >= 0:
            condition = self.env[guard]
            self.active = self.active.split(condition.data)[0]
        try:
            if self.active.count or mode is TOTAL:
                value = compute(self)
                if slot >= 0:
                    self.env[slot] = self.merged(slot, value, self.active)
        finally:
            self.active = active

    def merged(self, slot: int, value: LaneValue | None, active: ActiveSet) -> LaneValue:
        """The new content of a slot when threads outside `active` are passive (Moll, Fig. 4.8)."""
        assert value is not None
        if active.bits is None:
            return value
        old = self.env[slot]
        if not self.oblivious:
            return poison_outside(active.bits, value) if old is None else choose(active.bits, value, old)
        value = poison_outside(active.bits, value)
        if old is None or self.present.count == self.machine.everyone.count:
            return value
        return choose(self.present.mask(self.machine.lanes), value, old)

    def _assign_phis(self, block: BlockCode, edges: Edges) -> None:
        """Assign all φs of a block at once (Moll, §4.8)."""
        values = [self._phi_value(phi, edges) for phi in block.phis]
        for phi, value in zip(block.phis, values, strict=True):
            self.env[phi.slot] = value
        if self.machine.hooks.on_value:
            observe_phis(self, block, edges)

    def _phi_value(self, phi: Phi, edges: Edges) -> LaneValue:
        value = self._source(phi, edges[0][0])
        for source, threads in edges[1:]:
            if threads.count:
                assert threads.bits is not None
                value = choose(threads.bits, self._source(phi, source), value)
        control = self.control
        if control.bits is None or (phi.mode is LOCAL and phi.shadow < 0):
            return value
        if phi.shadow < 0:
            return self.merged(phi.slot, value, control)
        shadow = self.env[phi.shadow]
        assert shadow is not None
        value = choose(control.bits, value, shadow)
        old = self.env[phi.slot]
        if old is None or self.present.count == self.machine.everyone.count:
            return value
        return choose(self.present.mask(self.machine.lanes), value, old)

    def _source(self, phi: Phi, source: int) -> LaneValue:
        value = self.env[phi.sources[source]]
        if value is None:
            # Defined on another path only: what LLVM's dominance rules forbid, unless control is passive.
            return filled(phi.instruction.type, POISON)
        return value

    def _apply_predicate(self, block: BlockCode) -> None:
        """Find the activation: control mask and predicate mask (Moll, Def. 8)."""
        self.block = block
        for step in block.before_predicate:
            self._run_special(step.compute, step.slot, Mode.TOTAL, -1)
            if self.machine.hooks.on_value:
                observe_step(self, step)
        predicate = self.env[block.predicate]
        poison = is_poison(predicate.flags)
        if poison is not None:
            undefined = self.control.split(poison)[0]
            if undefined.count:
                self.machine.fault(
                    FaultKind.POISON, block.block.terminator, undefined.mask(self.machine.lanes),
                    f"the predicate of block %{block.block.name} is poison",
                )  # fmt: skip
        self.active = self.control.split(predicate.data)[0]

    def passive(self) -> ActiveSet:
        """The threads whose control mask holds and whose activation does not."""
        if self.active.count == self.control.count:
            return EMPTY
        lanes = self.machine.lanes
        return ActiveSet.of(self.control.mask(lanes) & ~np.broadcast_to(self.active.mask(lanes), (lanes,)))

    def send_passive(self, block: BlockCode, leading: list[tuple[EdgeKey, ActiveSet]]) -> None:
        """Let the passive threads of a block follow those `leading`, or take the way out where nobody leads.

        They follow threads of their own lane group only.
        """
        passive = self.passive()
        for key, threads in sorted(leading, key=lambda lead: lead[0]):
            if not passive.count:
                return
            present = self.machine.present(threads)
            following, passive = passive.split(present.mask(self.machine.lanes))
            if following.count:
                self.go(block.number, key, following)
        if passive.count and block.edges:
            self.go(block.number, block.edges[block.nearest_exit], passive)
        elif passive.count:
            self._return(passive)

    def _resume_waiting(self) -> None:
        """Let threads that a barrier releases go on."""
        for block, segment, threads in self.waiting.release(self):
            self.active = self.control = threads
            self.present = self.participants(threads)
            self._run_from(block, segment)

    def finish(self, value: LaneValue | None) -> None:
        """Let the threads in the current block return."""
        active = self.active
        if value is not None and active.count:
            self.results.append((active, value))
        self._return(self.control)

    def _return(self, threads: ActiveSet) -> None:
        """Threads that have returned from the kernel do not count at barriers."""
        if self.is_kernel:
            self.machine.alive &= ~threads.mask(self.machine.lanes)

    def callee_frame(self, code: Code) -> Frame:
        """A frame for a function called from this one."""
        made = Frame(self.machine, code)
        # Passes that allow OBL work on the function at hand; what it calls is as the source has it.
        made.oblivious = False
        return made

    def _result(self) -> LaneValue | None:
        if not self.results:
            return None
        (threads, value), *others = self.results
        covered = threads
        for threads, other in others:
            assert threads.bits is not None
            value = choose(threads.bits, other, value)
            covered = union((covered, threads), self.machine.lanes)
        return value if covered.bits is None else poison_outside(covered.bits, value)
