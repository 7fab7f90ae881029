"""Which loads are worth to be replaced by values that are kept (`weft.transform.scalar_replacement`).

A load that goes saves its cycles; the φs that hand its value on cost a blend where threads come together, and a
register through the loop. Loads that share φs are weighed together. A load of what is the same in all lanes stays
where it would be handed on by way of a block in which threads come together: there it would become a vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.liveness import liveness
from weft.analysis.questions.graph import State, Unreached
from weft.analysis.questions.solution import Solution
from weft.costs.constants import Constants, constants_of
from weft.costs.instructions import instruction_cost, memory_cost
from weft.costs.regions import RegionCosts
from weft.graph.dominators import dominator_tree
from weft.graph.loops import LoopForest
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import I1
from weft.machine.targets import Isa

_MASKED_LOAD = 1.0
"""Cycles that a mask adds to a load, by register: a guess."""

_SPILLED = 2.0
"""Cycles by register of a value that is kept on the stack, as it has no register: it is stored and loaded."""


@dataclass(slots=True)
class Group:
    """Loads that are replaced together.

    Parameters
    ----------
    loads
        Which ones.
    states
        What has to be known for them; each load shares some with another.
    """

    loads: list[Instruction]
    states: dict[State, None]


def groups_of(solution: Solution) -> list[Group]:
    """Loads with the states they need, those together that share some."""
    groups: dict[int, Group] = {}
    owners: dict[State, int] = {}
    for number, load in enumerate(solution.replaced):
        states = solution.demanded((load,))
        shared = {owners[state] for state in states if state in owners}
        # What is small goes to what is large, so that no state moves often.
        into = max(shared, key=lambda owner: len(groups[owner].states), default=number)
        found = groups.setdefault(into, Group([], {}))
        for owner in sorted(shared - {into}):
            other = groups.pop(owner)
            found.loads += other.loads
            found.states |= other.states
            owners |= dict.fromkeys(other.states, into)
        found.loads.append(load)
        found.states |= dict.fromkeys(states)
        owners |= dict.fromkeys(states, into)
    return list(groups.values())


@dataclass(slots=True)
class ReplacedLoads:
    """Weighs the loads of one function as it is.

    Parameters
    ----------
    divergence
        Of the function, in its lanes.
    isa, width
        The machine, and the lanes.
    """

    divergence: Divergence
    isa: Isa
    width: int
    view: CFGView = field(init=False)
    loops: LoopForest = field(init=False)
    _joins: frozenset[BasicBlock] = field(init=False)
    _constants: Constants = field(init=False)

    def __post_init__(self) -> None:
        self.view = self.divergence.facts.view
        self.loops = self.divergence.facts.propagation.loops
        self._joins = frozenset(self.divergence.join_blocks)
        self._constants = constants_of(self.isa)

    def not_worth_it(self, solution: Solution) -> set[Instruction]:
        """The loads that can be replaced and had better stay."""
        stay: set[Instruction] = set()
        groups = groups_of(solution)
        for group in groups:
            if self._gain(group.loads) <= self._cost(group, solution):
                stay.update(group.loads)
        return stay or self._without_room(groups)

    def is_worth_hoisting(self, hoisted: Instruction, served: list[Instruction]) -> bool:
        """Whether a load at a divergent branch is worth the loads in its arms, and elsewhere, that it serves.

        The arms may be skipped where no thread takes them; what is behind the branch runs all the same.
        """
        block = hoisted.block
        assert block is not None
        if len(served) < 2:
            # It would run without its mask, but also where no thread takes the arm.
            return False
        regions = RegionCosts.of(self.divergence, self.width, self.isa)
        gain = 0.0
        for load in served:
            assert load.block is not None
            arm = next((b for b in block.successors if self._leads(b, load.block)), None)
            runs = 1.0 if arm is None else 1.0 - regions.chances(block, arm).none
            gain += runs * self._weight(load.block) * self._cycles(load)
        return gain > self._weight(block) * self._cycles(hoisted)

    def is_worth_sinking(
        self, stores: Sequence[Instruction], exits: Sequence[BasicBlock], certain: bool
    ) -> bool:
        """Whether stores in a loop are worth one on each edge that leaves it, and the blends in between."""
        like = stores[0]
        gain = sum(self._weight(s.block) * self._cycles(s) for s in stores if s.block is not None)
        cost = sum(self._weight(b) for b in exits) * (
            self._cycles(like) + self._constants.test * (not certain)
        )
        masked = any(s.block is not None and self.divergence.has_varying_predicate(s.block) for s in stores)
        if masked and not self.isa.masked_memory:
            # Lanes that do not store are skipped, but what is kept is blended for all.
            return False
        # Where only some lanes store, what is kept is blended, and so is whether they have stored.
        blend = instruction_cost("select", self._bits(like), self.width, self.isa).cycles
        for store in stores:
            if store.block is not None and self.divergence.has_varying_predicate(store.block):
                cost += self._weight(store.block) * blend * (1 if certain else 2)
        return gain > cost

    def _leads(self, arm: BasicBlock, block: BasicBlock) -> bool:
        """Whether the block is entered by way of the arm of a branch only."""
        index, dominators = self.view.index, dominator_tree(self.view.cfg)
        return len(arm.predecessors) == 1 and dominators.dominates(index[arm], index[block])

    def _weight(self, block: BasicBlock) -> float:
        return self._constants.loop_weight ** self.loops.depth(self.view.index[block])

    def _is_uniform(self, load: Instruction) -> bool:
        return self.divergence.access_form(load).form is Form.UNIFORM

    def _cycles(self, load: Instruction) -> float:
        """Cycles of a load or store, for all lanes."""
        form = self.divergence.access_form(load).form
        if form is Form.UNIFORM:
            return self._constants.scalar
        bits = self._bits(load)
        cycles = memory_cost(load.op, form.value, bits, self.width, self.isa).cycles
        assert load.block is not None
        if self.divergence.has_varying_predicate(load.block):
            cycles += _MASKED_LOAD * self._registers(load)
        return cycles

    def _bits(self, load: Instruction) -> int:
        return 8 * self.divergence.function.layout.size(load.accessed_type)

    def _registers(self, load: Instruction) -> int:
        return max(1, -(-self._bits(load) * self.width // self.isa.vector_bits))

    def _gain(self, loads: list[Instruction]) -> float:
        return sum(self._weight(load.block) * self._cycles(load) for load in loads if load.block is not None)

    def _cost(self, group: Group, solution: Solution) -> float:
        like, states = group.loads[0], group.states
        uniform = all(map(self._is_uniform, group.loads))
        blend = instruction_cost("select", self._bits(like), self.width, self.isa).cycles
        total = 0.0
        for state in states:
            if _is_blended(state, solution) and (
                state.block in self._joins or self._is_left_apart(state.block)
            ):
                if uniform:
                    return float("inf")
                total += self._weight(state.block) * blend
        for insertion in {i for found in solution.insertions(states).values() for i in found.values()}:
            tests = insertion.guarded + bool(insertion.tested)
            total += self._weight(insertion.source) * (self._cycles(like) + self._constants.test * tests)
        return total

    def _is_left_apart(self, block: BasicBlock) -> bool:
        """Whether it begins a loop that threads leave at different times: what it carries is kept by blends."""
        loop = self.loops.headed_by[self.view.index[block]]
        return loop is not None and self.divergence.is_divergent_loop(self.view.blocks[loop.header])

    def _without_room(self, groups: list[Group]) -> set[Instruction]:
        """The loads with the least gain for a register, where a loop has no registers for all that it would carry.

        What many accesses are made for, as for a gather, is better kept on the stack.
        """
        live = liveness(self.divergence.function)
        for loop in self.loops.loops:
            header = self.view.blocks[loop.header]
            carried = [(g.loads, sum(s.block is header for s in g.states)) for g in groups]
            carried = [(loads, n) for loads, n in carried if n and not all(map(self._is_uniform, loads))]
            needed = sum(n * self._registers(loads[0]) for loads, n in carried)
            room = (
                self.isa.vector_registers
                - self._constants.spare_registers
                - self._live_registers(live.live_in[header], header)
            )
            cheap = [(loads, n) for loads, n in carried if not self._is_better_spilled(loads[0])]
            if cheap and needed > max(room, 0):
                worst = min(cheap, key=lambda g: self._gain(g[0]) / g[1])
                return set(worst[0])
        return set()

    def _is_better_spilled(self, load: Instruction) -> bool:
        return self._cycles(load) > _SPILLED * self._registers(load)

    def _live_registers(self, live_in: Iterable[Value], header: BasicBlock) -> float:
        values: dict[Value, None] = {**dict.fromkeys(live_in), **dict.fromkeys(header.phis())}
        vectors = [
            v for v in values
            if isinstance(v, Instruction) and v.type != I1 and not self.divergence.shape(v).is_strided
        ]  # fmt: skip
        size = self.divergence.function.layout.size
        return sum(8 * size(v.type) for v in vectors) * self.width / self.isa.vector_bits


def _is_blended(state: State, solution: Solution) -> bool:
    """Whether the threads that ask come from several blocks."""
    return sum(not isinstance(answer, Unreached) for _, answer in solution.graph.sources[state]) > 1
