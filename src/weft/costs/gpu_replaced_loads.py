"""Which loads are worth to be replaced by values that are kept, for a GPU.

A warp issues a load with its address, and memory serves it by lines. What hands its value on is a move for each φ, in
registers that a thread has anyway, as long as there are enough of them: half of the warps of a multiprocessor have to
find room. The figures are those of the model's current GPU (`weft.machine.gpu_devices`), relative to each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.liveness import liveness
from weft.analysis.questions.solution import Solution
from weft.costs.replaced_loads import Group, groups_of
from weft.graph.loops import LoopForest
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import I1, Type
from weft.machine.gpu_devices import Unit, device
from weft.machine.gpus import WARP, GpuArchitecture

_DEVICE = device("h200")
_MOVE = 1.0 / _DEVICE.issue
_TEST = _DEVICE.cycles[Unit.ALU] + _DEVICE.cycles[Unit.CONTROL]
_SECTOR = 32
_LOOP_WEIGHT = 8.0
"""How often a loop repeats: a guess, as that for CPUs."""
_SPARE = 16
"""Registers for addresses, and for what an iteration computes."""


@dataclass(slots=True)
class GpuReplacedLoads:
    """Weighs the loads of one function as it is.

    Parameters
    ----------
    divergence
        Of the function, in warps.
    arch
        The machine.
    """

    divergence: Divergence
    arch: GpuArchitecture
    view: CFGView = field(init=False)
    loops: LoopForest = field(init=False)

    def __post_init__(self) -> None:
        self.view = self.divergence.facts.view
        self.loops = self.divergence.facts.propagation.loops

    @property
    def room(self) -> int:
        """Registers that a thread may have if half of the warps are to be there."""
        return min(self.arch.thread_registers, self.arch.registers // (self.arch.warps * WARP // 2))

    def not_worth_it(self, solution: Solution) -> set[Instruction]:
        """The loads that can be replaced and had better stay."""
        groups = groups_of(solution)
        stay = {
            load for group in groups if self._gain(group.loads) <= self._cost(group, solution)
            for load in group.loads
        }  # fmt: skip
        return stay or self._without_room(groups)

    def is_worth_hoisting(self, hoisted: Instruction, served: list[Instruction]) -> bool:
        """Whether a load at a divergent branch is worth those that it serves: of 32 threads some take each arm."""
        return len(served) > 1 and self._gain(served) > self._gain([hoisted])

    def is_worth_sinking(
        self, stores: Sequence[Instruction], exits: Sequence[BasicBlock], certain: bool
    ) -> bool:
        """Whether stores in a loop are worth one on each edge that leaves it, and the moves in between."""
        behind = self._cycles(stores[0]) + (0.0 if certain else _TEST)
        moves = (1 if certain else 2) * _MOVE * sum(self._weight(s.block) for s in stores)
        return self._gain(stores) > sum(map(self._weight, exits)) * behind + moves

    def _cycles(self, access: Instruction) -> float:
        """Cycles that a warp keeps a multiprocessor from others."""
        size = self.divergence.function.layout.size(access.accessed_type)
        access_form = self.divergence.access_form(access)
        if access_form.form is Form.UNIFORM:
            sectors = -(-size // _SECTOR)
        elif access_form.form is Form.CONTIGUOUS:
            sectors = -(-size * WARP // _SECTOR)
        elif access_form.stride is not None:
            sectors = -(-min(abs(access_form.stride), _SECTOR) * WARP // _SECTOR)
        else:
            sectors = WARP
        return _DEVICE.cycles[Unit.MEMORY] + _DEVICE.transaction * max(1, sectors / 4) + _MOVE

    def _gain(self, loads: Sequence[Instruction]) -> float:
        return sum(self._weight(load.block) * self._cycles(load) for load in loads)

    def _cost(self, group: Group, solution: Solution) -> float:
        total = sum(_MOVE * self._weight(state.block) for state in group.states)
        cycles = max(map(self._cycles, group.loads))
        for insertion in {i for found in solution.insertions(group.states).values() for i in found.values()}:
            tests = insertion.guarded + bool(insertion.tested)
            total += self._weight(insertion.source) * (cycles + _TEST * tests)
        return total

    def _without_room(self, groups: list[Group]) -> set[Instruction]:
        """The loads with the least gain for a register, where a loop has no registers for all that it would carry."""
        live = liveness(self.divergence.function)
        for loop in self.loops.loops:
            header = self.view.blocks[loop.header]
            carried = {
                k: n * self._words(group.loads[0].type)
                for k, group in enumerate(groups)
                if (n := sum(state.block is header for state in group.states))
            }
            values: dict[Value, None] = {
                **dict.fromkeys(live.live_in[header]),
                **dict.fromkeys(header.phis()),
            }
            taken = sum(self._words(v.type) for v in values if v.type != I1)
            if carried and taken + sum(carried.values()) + _SPARE > self.room:
                return set(groups[min(carried, key=lambda k: self._gain(groups[k].loads) / carried[k])].loads)
        return set()

    def _words(self, type: Type) -> int:
        return -(-self.divergence.function.layout.size(type) // 4)

    def _weight(self, block: BasicBlock | None) -> float:
        assert block is not None
        return _LOOP_WEIGHT ** self.loops.depth(self.view.index[block])
