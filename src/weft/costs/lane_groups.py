"""Cycles that a thread takes, by how many share a lane group."""

from __future__ import annotations

import math
from collections.abc import Mapping

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.loops.descents import descends
from weft.analysis.loops.ordered_exits import LARGEST_LOOP, ordered_exit, size_of
from weft.analysis.loops.own_walks import (
    is_at_equal_distances,
    keeps_own_stack,
    may_be_neighbours,
    may_move_apart,
    walks_apart,
)
from weft.analysis.loops.reread_rows import reread_rows
from weft.analysis.loops.row_strips import row_strips
from weft.analysis.memory.far_steps import PAGE, far_step
from weft.costs.box_comparisons import compared_alike
from weft.costs.clamped_windows import is_clamped_window
from weft.costs.constants import constants_of
from weft.costs.instructions import COPY_UPDATE, instruction_cost, memory_cost
from weft.costs.lane_registers import LaneRegisters
from weft.costs.lane_turns import is_plain_update
from weft.costs.loaded_lengths import counts_to_loaded
from weft.costs.own_rows import in_pieces, own_row_cost
from weft.costs.regions import RegionCosts
from weft.costs.run_addresses import run_addresses, with_addresses
from weft.costs.unrolled_loops import LARGEST, loops_of_known_rounds
from weft.costs.votes import regions_by_size, won_by_skips
from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop
from weft.ir import Instruction, Value
from weft.ir.types import I1, VOID
from weft.machine.targets import Isa

LOOKS_AHEAD = 64.0
"""Cycles of a chain of results beside which a processor still finds work of other threads. Guess, between loops that
were measured on either side: steps of options over time wait for longer chains, and gain by more lanes."""


class WidthModel:
    """Estimates for one kernel.

    Parameters
    ----------
    divergence
        Of the kernel, in lane groups of any width.
    isa
        The machine.
    cycles
        What accesses cost a lane group of which that is known.
    in_loop
        Whether threads are iterations of a loop: where lanes walk on at places of their own, they are taken to be far
        from each other.
    apart
        Whether threads of a kernel are taken to be so, too, wherever loops move the places of lanes.
    near
        Whether rows of theirs that begin where data say are taken to be near each other.
    """

    def __init__(
        self,
        divergence: Divergence,
        isa: Isa,
        cycles: Mapping[Instruction, float] | None = None,
        *,
        in_loop: bool = False,
        apart: bool = False,
        near: bool = False,
    ) -> None:
        self._divergence = divergence
        self._known = cycles or {}
        self._isa = isa
        self._constants = constants_of(isa)
        self._probability = divergence.facts.probability
        self._view, self._loops = self._probability.view, self._probability.loops
        self._layout = divergence.function.layout
        self._in_vectors = {i for i in divergence.function.instructions() if self._is_done_by_each(i)}
        self._asked = {i for i in divergence.function.instructions() if may_be_neighbours(i, divergence)}
        self._jumping = {i for i in divergence.function.instructions() if self._jumps(i)}
        self._walking = {
            i
            for i in divergence.function.instructions()
            if (
                walks_apart(i, divergence, in_loop=in_loop or apart)
                and not (near and not is_at_equal_distances(i, divergence))
            )
            or (apart and may_move_apart(i, divergence))
        }
        self._crowded = {i for i in divergence.function.instructions() if self._crowds(i)}
        self._for_runs = run_addresses(divergence)
        self._full = {loop for loop in self._loops.loops if self._is_left_in_order(loop)}
        self._order = reverse_postorder(self._view.cfg.succs)
        self._regions = regions_by_size(divergence)
        self._rows = reread_rows(divergence)
        one = sum(extent != 1 for extent in divergence.engine.threads.domain.extents) == 1
        self._strips = row_strips(divergence, behind_guards=True).strips if one else ()
        stripped = (access for strips in self._strips for access in strips.accesses)
        self._copied = with_addresses([*(load for row in self._rows.rows for load in row.reads), *stripped])
        self.registers = LaneRegisters(divergence, isa, self._in_vectors)
        self._loaded: dict[Loop, bool] = {}
        self._latencies: dict[float, dict[Loop, float]] = {}
        self._rounds = loops_of_known_rounds(self._view, self._loops)

    def dominant_bits(self) -> int:
        """Bits of the values on which most of the work is done."""
        work: dict[int, float] = {}
        for number, block in enumerate(self._view.blocks):
            weight = self._constants.loop_weight ** self._loops.depth(number)
            for instruction in block.instructions:
                type = instruction.accessed_type if instruction.is_plain_access else instruction.type
                if type in (VOID, I1) or instruction.is_phi or not self._is_vector(instruction):
                    continue
                if instruction in self._copied and not instruction.is_plain_access:
                    continue
                bits = 8 * self._layout.size(type)
                work[bits] = work.get(bits, 0.0) + weight * bits
        return max(work, key=lambda b: (work[b], b)) if work else 32

    def in_strips(self, width: int) -> set[Instruction]:
        """Accesses of rows of lanes' own that are made a line of the cache at a time in so many lanes."""
        strips = in_pieces(self._strips, width, self._isa)
        return {access for each in strips for access in each.accesses}

    def cycles_of_thread(self, width: int, *, waiting: float = 1.0, latency: float | None = None) -> float:
        """Cycles that a thread takes in lane groups of `width`; what it looks up is there after a `latency`, if told.

        In loops that threads leave at different times `waiting` times as long: lane groups stay for their last thread.
        It is the same for all widths, but where each has loaded how long it goes on. At 1 they are all alike.
        """
        costs = RegionCosts(self._divergence, self._probability, width, self._isa)
        constants = self._constants
        reads = [
            load
            for row in self._rows.fitting(constants.row_copies, width)
            if not row.is_tested
            for load in row.reads
        ]
        # Where a row is read from its copy nobody asks where it was.
        copied = dict.fromkeys(with_addresses(reads), 0.0)
        for load in reads:
            bits = 8 * self._layout.size(load.type)
            copied[load] = memory_cost("load", "contiguous", bits, width, self._isa).cycles
        stripped = self.in_strips(width)
        copied |= dict.fromkeys(with_addresses(stripped), 0.0)
        for access in stripped:
            copied[access] = own_row_cost(access, width, self._isa)
        recurrences = self._recurrences(constants.miss_latency if latency is None else latency)
        total: dict[Loop | None, float] = {}
        shared: dict[Loop | None, float] = {}
        counted: dict[Instruction, float] = {}
        for number, block in enumerate(self._view.blocks):
            loop = self._loops.innermost[number]
            for instruction in block.instructions:
                if self._is_vector(instruction):
                    apart = self._is_atomic_apart(instruction)
                    each = COPY_UPDATE if is_plain_update(instruction) else constants.atomic
                    cycles = each * width if apart else self._cycles(instruction, costs)
                    cycles = counted[instruction] = copied.get(instruction, cycles)
                    total[loop] = total.get(loop, 0.0) + cycles
                else:
                    shared[loop] = shared.get(loop, 0.0) + constants.scalar
        for loop, cycles in won_by_skips(self._regions, costs, counted).items():
            if not self._is_left_apart(loop):
                total[loop] = total.get(loop, 0.0) - cycles
        # What all threads share outside of loops is the same for a row of lane groups, and computed once for all.
        cycles = total.get(None, 0.0) + self.registers.lacking_outside(width)
        for loop in self._loops.loops:
            divergent, left_behind = self._is_divergent(loop), self._bits_left_behind(loop)
            spills = self.registers.spills(loop, width, divergent, left_behind, copied)
            # In descents what is spilled comes back while threads wait for what they look up.
            busy = total.get(loop, 0.0) + self._masking(loop, width) + spills * (not self.descends)
            rounds = constants.loop_weight**loop.depth * self._waiting(loop, width, waiting)
            counting = 0.0 if self._is_written_out(loop, width) else shared.get(loop, 0.0)
            cycles += rounds * (max(busy, recurrences[loop]) + counting)
        return cycles / width

    def _is_written_out(self, loop: Loop, width: int) -> bool:
        """Whether LLVM writes out all rounds of a loop, so that what all lanes share is known in each."""
        rounds = self._rounds.get(loop.header)
        if rounds is None:
            return False
        size = 0
        for i in (i for n in loop.blocks for i in self._view.blocks[n].instructions):
            type = i.accessed_type if i.is_plain_access else i.type
            bits = 8 * self._layout.size(type) if self._is_vector(i) and type not in (VOID, I1) else 0
            size += max(1, -(-bits * width // self._isa.vector_bits))
        return rounds * size <= LARGEST

    def _waiting(self, loop: Loop | None, width: int, waiting: float) -> float:
        """How many times as long as its own iterations a thread is in a loop and those around it.

        That is `waiting` for each that threads leave in different iterations, but for windows that only edges cut off.
        Where lengths are loaded they may be any: of as many as there are lanes, drawn as from a geometric distribution,
        the greatest is so many times the mean.
        """
        times = 1.0
        while loop is not None:
            if waiting > 1.0 and self._has_loaded_length(loop):
                times *= sum(1 / n for n in range(1, width + 1))
            elif self._is_divergent(loop) and not is_clamped_window(loop, self._view):
                times *= waiting if waiting > 1.0 else self._longest(loop, width)
            loop = loop.parent
        return times

    def _longest(self, loop: Loop, width: int) -> float:
        """How many times as long as in two registers of 32-bit values the last of so many threads is in a loop.

        That counts where two registers hide what results take, and where each thread puts on a stack of its own what
        it looks up later: those that do wait for those that do not. Where else a chain of results is longer than
        processors look ahead, or is one of lookups, more lanes side by side are worth more than it costs.
        """
        registers = 32 * width / self._isa.vector_bits
        if registers <= 2 or loop.children:
            return 1.0
        if not keeps_own_stack(self._divergence, (self._view.blocks[n] for n in loop.blocks)) and (
            self._gathers(loop) or self._recurrences(self._constants.miss_latency)[loop] > LOOKS_AHEAD
        ):
            return 1.0
        return self._constants.longest ** math.log2(registers / 2)

    def _has_loaded_length(self, loop: Loop) -> bool:
        """Whether threads count, each to a number of its own that it has loaded."""
        if loop not in self._loaded:
            exits = (self._view.blocks[source].terminator for source, _ in loop.exit_edges)
            self._loaded[loop] = self._is_divergent(loop) and any(
                counts_to_loaded(b.operands[0], loop, self._divergence) for b in exits if b.operands
            )
        return self._loaded[loop]

    def _cycles(self, instruction: Instruction, costs: RegionCosts) -> float:
        """Cycles of a lane group's instruction. Lanes that turn out to be neighbours are not in every wider group."""
        if instruction in self._known:
            return self._known[instruction]
        if instruction in self._for_runs:
            return self._constants.scalar * self._for_runs[instruction]
        if instruction.op == "icmp":
            alike = compared_alike(instruction, self._divergence, costs.width, self._isa)
            if alike is not None:
                return alike
        cycles = costs.cycles(instruction)
        if instruction in self._walking:
            loaded, stored = self._constants.own_line
            return cycles + (loaded if instruction.op == "load" else stored) * costs.width
        if instruction in self._crowded:
            return cycles + self._constants.conflict * costs.width
        if instruction in self._jumping:
            return cycles + self._constants.jump
        if instruction not in self._asked:
            return cycles
        bits = 8 * self._layout.size(instruction.accessed_type)
        together = memory_cost(instruction.op, "contiguous", bits, costs.width, self._isa).cycles
        apart = min(1.0, math.log2(costs.width) / self._constants.neighbour_doublings)
        return self._constants.neighbour_test + apart * cycles + (1 - apart) * together

    @property
    def has_loops(self) -> bool:
        """Whether a thread runs loops."""
        return bool(self._loops.loops)

    @property
    def looks_up(self) -> bool:
        """Whether lanes load from places of their own in loops."""
        return any(map(self._gathers, self._loops.loops))

    @property
    def descends(self) -> bool:
        """Whether all that threads do in loops is to look up where to look next, until what they find ends it."""
        loops = self._loops.loops
        return bool(loops) and all(descends(loop, self._view, self._divergence) for loop in loops)

    @property
    def reads_far_apart(self) -> bool:
        """Whether some loop's iterations access rows of neighbours that lie far apart."""
        return bool(self._jumping)

    def _jumps(self, access: Instruction) -> bool:
        """Whether lanes access a row of neighbours in a loop, and the next iteration's is far from it."""
        if not access.is_plain_access or self._divergence.access_form(access).form is not Form.CONTIGUOUS:
            return False
        far = far_step(access, self._view, self._loops, self._layout)
        return far is not None and len(far.numbers) == 1

    def _crowds(self, access: Instruction) -> bool:
        """Whether lanes are so far apart that they all get the same few places in the nearest cache."""
        if not access.is_plain_access or self._divergence.access_form(access).form is not Form.STRIDED:
            return False
        strides = self._divergence.shape(access.pointer).strides
        return any(isinstance(s, int) and s and s % PAGE == 0 for s in strides)

    def _is_vector(self, instruction: Instruction) -> bool:
        """Whether the instruction is done for each thread."""
        return instruction in self._in_vectors

    def _is_done_by_each(self, instruction: Instruction) -> bool:
        if instruction.is_plain_access:
            return self._divergence.access_form(instruction).form is not Form.UNIFORM
        if instruction.type.is_void:
            return not instruction.is_terminator
        # Where threads are at one place of their own objects, the address is computed once.
        return not self._divergence.place_shape(instruction).is_strided

    def _is_atomic_apart(self, instruction: Instruction) -> bool:
        """Whether each thread does the atomic operation for itself."""
        if instruction.op not in ("atomicrmw", "cmpxchg"):
            return False
        return not self._divergence.shape(instruction.operands[0]).is_uniform

    def _is_left_in_order(self, loop: Loop) -> bool:
        """Whether the loop has a copy without masks for when all lanes stay, which runs most of its iterations."""
        found = ordered_exit(self._view, loop, self._divergence)
        return found is not None and size_of(found.blocks) <= LARGEST_LOOP

    def _is_divergent(self, loop: Loop) -> bool:
        """Whether threads leave the loop in different iterations, and masks say which have."""
        if loop in self._full:
            return False
        branches = {self._view.blocks[source].terminator for source, _ in loop.exit_edges}
        return any(b.operands and not self._divergence.is_uniform(b.operands[0]) for b in branches)

    def _is_left_apart(self, loop: Loop | None) -> bool:
        """Whether threads leave the loop, or one around it, one by one: nobody knows how many of them vote there."""
        while loop is not None:
            if self._is_divergent(loop):
                return True
            loop = loop.parent
        return False

    def _masking(self, loop: Loop, width: int) -> float:
        if not self._is_divergent(loop):
            return 0.0
        registers = -(-32 * width // self._isa.vector_bits)
        bits = self._bits_left_behind(loop)
        blend = instruction_cost("select", bits, width, self._isa).cycles if bits else 0.0
        return self._constants.masking * registers + blend

    def _bits_left_behind(self, loop: Loop) -> int:
        """Bits of what is the same for all threads in a loop that they leave one by one, but not behind it.

        It is kept for those that have left, as a vector.
        """
        if not self._is_divergent(loop):
            return 0
        inside = {self._view.blocks[n] for n in loop.blocks}
        kept = {
            i
            for block in inside
            for i in block.instructions
            if any(user.block not in inside for user in i.instruction_users()) and not self._is_vector(i)
        }
        return sum(8 * self._layout.size(i.type) for i in kept)

    def _recurrences(self, latency: float) -> dict[Loop, float]:
        """The latency of what each loop carries, where what is looked up is there after some cycles."""
        if latency not in self._latencies:
            found = {loop: self._recurrence(loop, latency) for loop in self._loops.loops}
            self._latencies[latency] = found
        return self._latencies[latency]

    def _recurrence(self, loop: Loop, looked_up: float) -> float:
        """The latency from a value that the innermost `loop` carries to the next."""
        if loop.children:
            return 0.0
        if self._is_divergent(loop) and self._gathers(loop):
            # Which way the thread goes on is found out from what it gathers, be it by way of a stack.
            return looked_up
        blocks = [self._view.blocks[n] for n in self._order if n in loop.blocks]
        header = self._view.blocks[loop.header]
        depth: dict[Value, float] = {}
        for block in blocks:
            for instruction in block.instructions:
                if block is header and instruction.is_phi:
                    if self._is_vector(instruction):
                        depth[instruction] = 0.0
                    continue
                known = [depth[v] for v in instruction.operands if v in depth]
                if known and self._is_vector(instruction):
                    depth[instruction] = max(known) + self._latency_of(instruction, looked_up)
        latches = {self._view.blocks[n] for n in loop.latches}
        carried = [v for phi in header.phis() for v, source in phi.incoming() if source in latches]
        return max((depth.get(v, 0.0) for v in carried), default=0.0)

    def _gathers(self, loop: Loop) -> bool:
        accesses = (i for n in loop.blocks for i in self._view.blocks[n].instructions if i.op == "load")
        return any(self._divergence.access_form(a).form is Form.GATHER for a in accesses)

    def _latency_of(self, instruction: Instruction, looked_up: float) -> float:
        if instruction.op == "load":
            form = self._divergence.access_form(instruction).form
            if form in (Form.UNIFORM, Form.CONTIGUOUS):
                return memory_cost("load", "contiguous", 32, 1, self._isa).latency
            return looked_up
        op = instruction.op
        if op == "call":
            op = ".".join((instruction.callee_name or "").split(".")[:2])
        return instruction_cost(op, 32, 1, self._isa).latency
