"""What a branch around a region saves: the cost model behind `boscc`.

Costs are cycles of a whole lane group from `weft.costs.instructions`; probabilities are guesses about one thread
(`analysis.branch_probability`). Threads of a group go together in a share t of all cases (`Constants.together`), and on
their own in the others; so for a thread that takes an edge with probability p, the group of W leaves it out altogether
with t (1-p) + (1-t) (1-qp)^W, where a share q of its threads come to the branch (`weft.costs.active_threads`).
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct, field

from weft.analysis.branch_probability import BranchProbability
from weft.analysis.divergence import Divergence
from weft.analysis.divergence.end_decisions import end_decision, is_decided_at_ends
from weft.analysis.divergence.result import Form
from weft.analysis.divergence.row_divisions import is_quotient_division, is_row_division
from weft.analysis.flushed_numbers import is_left_to_processor
from weft.analysis.inverse_roots import is_root, only_divides, root_below, takes_inverses
from weft.analysis.memory.byte_tables import byte_table
from weft.analysis.memory.linear_locations import linear_location
from weft.analysis.memory.row_steps import row_step
from weft.analysis.shapes.runs import Runs
from weft.costs.active_threads import active_shares
from weft.costs.constants import Constants, constants_of
from weft.costs.guards import Guard, comparisons_of, guard_of
from weft.costs.instructions import (
    INVERSE_ROOT,
    INVERSE_ROOT_OF_DOUBLES,
    MATH_CALL,
    instruction_cost,
    is_inverse_root,
    is_only_inverted,
    memory_cost,
    runs_cost,
    table_cost,
)
from weft.costs.lane_turns import turns_cycles
from weft.costs.memory import is_a_step_apart
from weft.graph.cfg import reverse_postorder
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.types import F64, Type
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

UNSHARED = 0.5
"""What it costs a box to make an access of runs under a mask, of what it costs without: it shares no pieces with
others (`weft.codegen.widen.chunked`), and short runs are gathered, not shuffled. Guess. Measured on AMD's Zen 4, of
kernels in boxes of 4x16, 2x32 and 8x8 threads: with a copy that all threads of a lane group run, products of matrices
take 1.1 to 1.9 times the speed, transpositions 1.5 to 6 times."""

MOST = 0.5
"""How likely it is at least that all threads of a lane group go together, for what boxes and lanes in turn save."""


class Chances(Struct, frozen=True):
    """How likely a lane group goes along an edge with no thread, and with all.

    Parameters
    ----------
    none, all
        The shares of lane groups.
    looked_up
        How many lookups, one after the other, what threads go by waits for.
    made
        Cycles that the mask takes to be made, where scalars tell which it is, in a way that machines foresee
        (`weft.codegen.widen.scalar_votes`); else None.
    """

    none: float
    all: float
    made: float | None = None
    looked_up: int = 0

    @property
    def other_side(self) -> Chances:
        """Those of the branch's other edge."""
        return Chances(self.all, self.none, self.made, self.looked_up)


class RegionCosts(Struct):
    """Costs of the blocks of one function.

    Parameters
    ----------
    divergence
        What is known of the function.
    probability
        How often its blocks run.
    width, isa
        Threads of a lane group, and the instruction set.
    leaving
        Blocks that threads run on leaving a loop.
    """

    divergence: Divergence
    probability: BranchProbability
    width: int
    isa: Isa
    leaving: Collection[BasicBlock] = ()
    _active: dict[BasicBlock, float] = field(default_factory=dict)
    _looked_up: dict[Value, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, divergence: Divergence, width: int, isa: Isa, leaving: Collection[BasicBlock] = ()
    ) -> RegionCosts:
        """Costs in the function that `divergence` holds for, with blocks that threads run on leaving a loop."""
        return cls(divergence, divergence.facts.probability, width, isa, leaving)

    @property
    def constants(self) -> Constants:
        """Those of the machine."""
        return constants_of(self.isa)

    def chances(self, source: BasicBlock, target: BasicBlock) -> Chances:
        """What a lane group does at the divergent branch from `source` to `target`."""
        branch, c = source.terminator, self.constants
        if branch.op == "br":
            guard = guard_of(branch.operands[0], self.divergence)
            if guard is Guard.LANE:
                return Chances(0, 0)
            if guard is not None:
                # But for one lane group, all threads are on the same side of a bound such as ``i < n``.
                inside = (guard is Guard.TRUE_INSIDE) == (target is branch.blocks[0])
                chances = self._at_bound(source, branch.operands[0])
                return chances if inside else chances.other_side
        if any(t in self.leaving for t in branch.successors):
            if target not in self.leaving:
                # The loop ends when no thread stays: to skip the rest of its last iteration is not worth a test.
                return Chances(0, 0.5)
            p = c.leaves
        else:
            p = self.probability.taken(source, target)
        apart = 1 - c.together
        # On their own, threads that come to the branch are not all there are.
        own = p * self._share_active(source)
        return Chances(
            c.together * (1 - p) + apart * (1 - own) ** self.width,
            c.together * p + apart * own**self.width,
            looked_up=self._lookups_before(branch.operands[0]) if branch.op == "br" else 0,
        )

    def _at_bound(self, source: BasicBlock, condition: Value) -> Chances:
        """Those of the side of a bound on which most threads are."""
        c = self.constants
        if not self.divergence.has_varying_predicate(source) and is_decided_at_ends(
            self.divergence, condition
        ):
            ends = [
                e
                for part in comparisons_of(condition)
                if (e := end_decision(self.divergence, part)) is not None
            ]
            made = sum(self._registers(e.strided.type) for e in ends)
            # One number is met by few lane groups, whether it moves or not.
            if any(not e.is_equality and self._moves(source, e.bound) for e in ends):
                return Chances(c.behind_moving, c.before_moving, made)
            if not self.isa.mask_registers:
                return Chances(c.outside, c.inside, made)
        return Chances(c.outside, c.inside)

    def _registers(self, type: Type) -> int:
        """How many registers have a value of each thread."""
        return max(1, self._bits(type) * self.width // self.isa.vector_bits)

    def _moves(self, source: BasicBlock, bound: Value) -> bool:
        """Whether the bound of a guard is another one in each iteration of the loop around."""
        view, loops = self.probability.view, self.probability.loops
        loop = loops.innermost[view.index[source]]
        if loop is None or not isinstance(bound, Instruction) or bound.block is None:
            return False
        return view.index.get(bound.block) in loop.blocks

    def _share_active(self, block: BasicBlock) -> float:
        if not self._active:
            self._active = active_shares(self.divergence, self.probability)
        return self._active.get(block, 1.0)

    def skip_gain(self, blocks: Collection[BasicBlock], tests: int, chances: Chances) -> float:
        """Cycles won by a branch around `blocks` and `tests` votes in them."""
        saved = sum(self.cycles(i) + self._slow_store(i) for b in blocks for i in b.instructions)
        saved += tests * self.constants.test
        # A test that hardly ever skips anything is one more branch, whatever it costs.
        is_cheap = chances.made is not None and chances.none > self.constants.outside
        # Stores that are not made, and loads that would wait for them, save more than they cost.
        stores = any(i.op in ("store", "atomicrmw", "cmpxchg") for b in blocks for i in b.instructions)
        return saved * chances.none - self._test(chances.none, is_cheap, 0 if stores else chances.looked_up)

    def twin_gain(
        self, blocks: Collection[BasicBlock], chances: Chances, everywhere: Collection[BasicBlock] = ()
    ) -> float:
        """Cycles won by an unmasked copy of `blocks`; none where a stack object would be accessed in both.

        `everywhere` are those of their loops, too.
        """
        if any(self._touches_stack(i) for b in blocks for i in b.instructions):
            # That all threads do the same to the object is not seen when some do it under a mask.
            return 0.0
        saved = sum(self._mask_cost(i) for b in blocks for i in b.instructions)
        if saved and chances.made is not None:
            saved += chances.made + self._spread_masks(blocks)
        if chances.all >= MOST:
            saved += self.sharing(everywhere)
            saved += sum(turns_cycles(i, self.divergence, self.width) for b in blocks for i in b.instructions)
        return saved * chances.all - self._test(chances.all, chances.made is not None)

    def _spread_masks(self, blocks: Collection[BasicBlock]) -> float:
        """Cycles that it takes to have a mask as wide as what is accessed under it, where masks are no registers."""
        if self.isa.mask_registers:
            return 0.0
        accesses = (i for b in blocks for i in b.instructions if i.op in ("load", "store"))
        return float(sum(self._registers(i.accessed_type) for i in accesses if self._form(i) == "contiguous"))

    def sharing(self, blocks: Collection[BasicBlock]) -> float:
        """Cycles that accesses of boxes save where they have no mask, those of loops counted as often as they run."""
        view, loops = self.probability.view, self.probability.loops
        saved = 0.0
        for block in blocks:
            number = view.index.get(block)
            if number is not None:
                weight = self.constants.loop_weight ** loops.depth(number)
                saved += weight * sum(
                    UNSHARED * self.cycles(i) for i in block.instructions if self._is_in_pieces(i)
                )
        return saved

    def _is_in_pieces(self, access: Instruction) -> bool:
        """Whether a box makes an access by several to neighbours each, or perhaps by such and shuffles."""
        if not access.is_plain_access:
            return False
        found = self.divergence.access_form(access)
        if (runs := self._runs(access)) is not None:
            return runs.count > 1
        extents = self.divergence.engine.threads.domain.extents
        strides = self.divergence.shape(access.pointer).strides
        is_box = sum(extent != 1 for extent in extents) > 1
        return is_box and found.form is Form.GATHER and any(isinstance(s, int) for s in strides)

    def _runs(self, access: Instruction) -> Runs | None:
        """Of what accesses to neighbours a box makes an access, those at numbers of 32 bits that may wrap included."""
        found, extents = self.divergence.access_form(access), self.divergence.engine.threads.domain.extents
        if found.form is not Form.GATHER or not access.is_plain_access:
            return found.runs
        wide = [d for d, extent in enumerate(extents) if extent != 1]
        row = extents[wide[0]] if len(wide) > 1 else None
        layout = self.divergence.function.layout
        location = linear_location(access.pointer, layout)
        if row is None or not self.divergence.is_uniform(location.base):
            return found.runs
        is_row = row_step(self.divergence, location, wide[0]) == layout.store_size(access.accessed_type)
        return Runs((), row, self.width // row) if is_row else found.runs

    def _test(self, chance: float, scalar: bool, looked_up: int = 0) -> float:
        c = self.constants
        if scalar:
            return c.scalar_test
        # What a processor has begun behind a branch that went elsewhere is lost, and that is more the later it knows.
        missed = c.branch_miss + c.late_lookup * looked_up
        return c.test + missed * c.miss_share * min(chance, 1 - chance)

    def _lookups_before(self, condition: Value) -> int:
        """How many gathers one after the other a condition is computed from, in its iteration."""
        if not self._looked_up:
            view = self.probability.view
            for number in reverse_postorder(view.cfg.succs):
                for i in view.blocks[number].instructions:
                    if not i.is_phi and not i.type.is_void:
                        before = max((self._looked_up.get(v, 0) for v in i.operands), default=0)
                        gathers = i.op == "load" and i.is_plain_access and self._form(i) == "gather"
                        self._looked_up[i] = before + gathers
        return self._looked_up.get(condition, 0)

    def cycles(self, instruction: Instruction) -> float:
        """What the instruction costs a lane group whose threads all run it."""
        if instruction.is_terminator or instruction.total or is_left_to_processor(instruction):
            return 0.0
        lanes = 1 if self._is_scalar(instruction) else self.width
        op = instruction.op
        if op in ("atomicrmw", "cmpxchg"):
            return self.constants.test
        if lanes > 1 and is_inverse_root(instruction):
            return INVERSE_ROOT.cycles * max(1, lanes * 32 // self.isa.vector_bits)
        if lanes > 1 and op == "call" and is_only_inverted(instruction):
            return 0.0
        if instruction.type == F64 and takes_inverses(self.isa, lanes):
            root = root_below(instruction)
            if root is not None and only_divides(root[0]):
                return INVERSE_ROOT_OF_DOUBLES.cycles * max(1, lanes * 64 // self.isa.vector_bits)
            if op == "call" and is_root(instruction) and only_divides(instruction):
                return 0.0
        if op in ("load", "store"):
            bits, runs = self._bits(instruction.accessed_type), self._runs(instruction)
            if runs is not None:
                return runs_cost(op, runs.length, runs.count, bits, self.width, self.isa)
            return self._memory_cycles(instruction, bits)
        if op == "call":
            name = instruction.callee_name or ""
            if math_function(name) is not None:
                return MATH_CALL.cycles * max(1, lanes * self._bits(instruction.type) // self.isa.vector_bits)
            if not name.startswith("llvm."):
                # Vectorized, it tests its mask itself; lane by lane it runs for no lane.
                return self.constants.test
            op = ".".join(name.split(".")[:2])
        if lanes > 1 and any(
            divides(self.divergence, instruction) for divides in (is_row_division, is_quotient_division)
        ):
            # One division, and a sum, a comparison and a choice for each register.
            divided = instruction_cost(op, self._bits(instruction.type), 1, self.isa).cycles
            return divided + 3 * self._registers(instruction.type)
        type = instruction.operands[0].type if op in ("icmp", "fcmp") else instruction.type
        return instruction_cost(op, self._bits(type), lanes, self.isa).cycles

    def _memory_cycles(self, access: Instruction, bits: int) -> float:
        form = self._form(access)
        cycles = memory_cost(access.op, form, bits, self.width, self.isa).cycles
        table = byte_table(access, self.divergence) if form == "gather" else None
        cost = table_cost(table.blocks, self.width, self.isa) if table is not None else None
        return min(cycles, cost.cycles) if cost is not None else cycles

    def _mask_cost(self, instruction: Instruction) -> float:
        """What masking the instruction costs."""
        op = instruction.op
        if op == "phi":
            return 0.5
        if op not in ("load", "store"):
            return 0.0
        bits, form = self._bits(instruction.accessed_type), self._form(instruction)
        if form == "uniform":
            return 1.0
        plain = memory_cost(op, form, bits, self.width, self.isa).cycles
        if form == "contiguous" and not (self.isa.masks_memory(bits) or self._is_written_back(instruction)):
            if op == "load":
                return self.constants.test
            return memory_cost(op, "gather", bits, self.width, self.isa).cycles - plain
        return 0.5 + self._slow_store(instruction) if form == "contiguous" else 0.0

    def _slow_store(self, instruction: Instruction) -> float:
        """What masking a store costs where masks are no registers of their own."""
        if instruction.op != "store" or self._form(instruction) != "contiguous" or self.isa.mask_registers:
            return 0.0
        bits = self._bits(instruction.accessed_type) * self.width
        if self._is_written_back(instruction):
            return memory_cost("load", "contiguous", bits // self.width, self.width, self.isa).cycles
        return self.constants.slow_masked_store * max(1, bits // self.isa.vector_bits)

    def _is_written_back(self, store: Instruction) -> bool:
        """Whether passive threads will store what is there, as all of a group have accessed it."""
        accesses = self.divergence.facts.accesses_before_stores.get(store, ())
        return any(a.block and not self.divergence.has_varying_predicate(a.block) for a in accesses)

    def _touches_stack(self, instruction: Instruction) -> bool:
        return instruction.op in ("load", "store") and bool(
            self.divergence.engine.leads_to_stack(instruction.pointer)
        )

    def _is_scalar(self, instruction: Instruction) -> bool:
        return self.divergence.shape(instruction).is_strided

    def _form(self, access: Instruction) -> str:
        form = self.divergence.access_form(access).form
        # Of objects of their own lanes have the same element side by side.
        names = {Form.UNIFORM: "uniform", Form.CONTIGUOUS: "contiguous", Form.PRIVATE: "contiguous"}
        if is_a_step_apart(self.divergence, access):
            return names.get(form, "strided")
        # Most stores to places of their own are under a mask; stack objects have room for passive lanes.
        is_split = access.op == "store" and not self.divergence.engine.leads_to_stack(access.pointer)
        return names.get(form, "addresses" if is_split else "gather")

    def _bits(self, type: Type) -> int:
        if type.is_void:
            return 32
        return max(8, 8 * self.divergence.function.layout.size(type))
