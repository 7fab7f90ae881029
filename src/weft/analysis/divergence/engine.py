"""The fixed point of the divergence analysis (Moll §6.4, Listings 1 to 3).

The abstract state is a shape for each value, the control state of `control`, and which stack objects are varying.
Everything starts at the bottom and only rises. Instructions wait in block index order, so an inner loop is stable
before what is behind it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from weft.analysis.divergence.alloca_joins import differs_after_divergence
from weft.analysis.divergence.control import ControlState
from weft.analysis.divergence.facts import FunctionFacts
from weft.analysis.divergence.operands import Operands, Plan, varying_dims
from weft.analysis.divergence.threads import ThreadSet
from weft.analysis.memory.stack_objects import NO_SITES, Site
from weft.analysis.shapes import BOTTOM, Fact, Shape
from weft.ir import BasicBlock, Constant, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import VOID

if TYPE_CHECKING:
    from weft.analysis.divergence.summaries import Summaries

Visit = Callable[["Engine", Instruction], Shape | None]


class Engine:
    """One run of the analysis on one function.

    Attributes
    ----------
    facts
        What holds of the function whatever the threads are.
    shapes
        The shapes so far; values that are not in it are ⊥. Of a pointer to a stack object it is the shape of
        the place it leads to (`weft.analysis.memory.stack_objects`).
    control
        Divergent branches and their effects.
    objects, varying_objects
        The stack objects, and those whose contents differ between threads.
    returned, returned_apart
        The join of what the function's returns give, and along which dims threads may return apart.
    returns
        How many returns it has.
    """

    __slots__ = (
        "_behind", "_far", "_fixed", "_heap", "_instructions", "_plans", "_position", "_predicated", "_queued",
        "_turn", "_visits", "blocks", "control", "facts", "function", "layout", "objects", "operands", "ranges",
        "returned", "returned_apart", "returns", "shapes", "summaries", "threads", "varying_objects",
    )  # fmt: skip

    def __init__(
        self,
        facts: FunctionFacts,
        threads: ThreadSet,
        layout: DataLayout,
        initial: Mapping[Value, Shape],
        summaries: Summaries,
        visits: Mapping[str, Visit],
        *,
        with_ranges: bool,
        partial_entry: bool,
    ) -> None:
        self.facts = facts
        self.function = facts.function
        self.threads = threads
        self.layout = layout
        self.summaries = summaries
        self.operands = Operands(threads.domain, layout)
        every_dim = (1 << len(threads.domain.extents)) - 1
        self.control = ControlState(facts.view, facts.propagation, every_dim if partial_entry else 0)
        self.blocks = facts.view.index
        self.objects = facts.objects
        self.varying_objects: set[Site] = set()
        self.shapes: dict[Value, Shape] = dict(initial)
        self.returned: Shape = BOTTOM
        self.returned_apart = 0
        self.ranges = facts.ranges if with_ranges else None
        self._instructions = facts.instructions
        self._position = facts.positions
        self._fixed = {value for value in initial if isinstance(value, Instruction)}
        count = len(self._instructions)
        self._heap: list[int] = []
        self._turn = -1
        self._queued = bytearray(count)
        self._visits = [visits.get(i.op, visit_ordinary) for i in self._instructions]
        self._plans: list[Plan | None] = [None] * count
        self._behind = facts.uses_behind_loops
        self._far = facts.far_users
        self._predicated = facts.predicated
        self.returns = sum(i.op == "ret" for i in self._instructions)

    @property
    def result(self) -> Shape:
        """The shape of what the function returns: several returns are a φ."""
        bits = self.operands.bits(self.function.fn_type.result)
        return self.operands.vary(self.returned, bits, self.returned_apart)

    def run(self) -> None:
        """Compute the fixed point."""
        for site in self.objects.escaped:
            self.make_varying(site)
        for block in self._predicated:
            self._check_predicate(block)
        for position in range(len(self._instructions)):
            self._turn = position
            self._settle(position)
        for position, phi in enumerate(self._instructions):
            if phi.is_phi and phi not in self.shapes:
                # Nothing but poison arrives. What uses it need not be poison: freeze, or a call that ignores it.
                self._update(phi, self.uniform(phi))
                self._settle(position)

    def _settle(self, position: int) -> None:
        """Visit an instruction, then all that waits because of it."""
        heap, visits, instructions = self._heap, self._visits, self._instructions
        while True:
            instruction = instructions[position]
            shape = visits[position](self, instruction)
            if shape is not None and instruction not in self._fixed:
                self._update(instruction, shape)
            if not heap:
                return
            position = heappop(heap)
            self._queued[position] = 0

    def push(self, instruction: Instruction) -> None:
        """Let an instruction be visited again, if it had its first turn yet."""
        position = self._position.get(instruction)
        if position is not None and position <= self._turn and not self._queued[position]:
            self._queued[position] = 1
            heappush(self._heap, position)

    def _update(self, value: Instruction, shape: Shape) -> None:
        old = self.shapes.get(value, BOTTOM)
        if shape is old or shape == old:
            return
        if not old.is_bottom:
            # Rules are monotone; the join makes sure of the ascent whatever a rule does.
            shape = self.threads.domain.join(old, shape)
            if shape == old:
                return
        self.shapes[value] = shape
        for user in value.users:
            if user.is_block:
                self._check_predicate(user)  # type: ignore[arg-type]
            else:
                self.push(user)  # type: ignore[arg-type]

    def shape(self, value: Value, user: Instruction) -> Shape:
        """The shape of an operand as `user` sees it, which may stand behind a divergent loop."""
        if isinstance(value, Constant):
            return self.operands.constant(value).shape
        if user in self._far and user.block is not None:
            return self.shape_in(value, user.block)
        return self.shapes.get(value, BOTTOM)

    def shape_in(self, value: Value, block: BasicBlock) -> Shape:
        """The shape of a value as the threads that run `block` see it."""
        shape = self.shapes.get(value, BOTTOM)
        if not isinstance(value, Instruction):
            return self.operands.constant(value).shape if isinstance(value, Constant) else shape
        return self._seen_outside(value, shape, self.blocks[block])

    def dims(self, value: Value, user: Instruction) -> int:
        """Along which dims threads disagree on an operand."""
        return varying_dims(self.shape(value, user))

    def bits(self, value: Value) -> int:
        return self.operands.bits(value.type)

    def uniform(self, value: Value, alignment: int = 1) -> Shape:
        return self.threads.domain.uniform(self.bits(value), alignment)

    def varying(self, value: Value, alignment: int = 1) -> Shape:
        return self.threads.domain.varying(self.bits(value), alignment)

    def partial(self, instruction: Instruction) -> int:
        """Along which dims the instruction may run for a part of the threads only."""
        dims = 0
        if not instruction.total and instruction.block is not None:
            dims = self.control.partial(self.blocks[instruction.block])
        if instruction.guard is not None:
            dims |= self.dims(instruction.guard, instruction)
        return dims

    def leads_to_stack(self, value: Value) -> frozenset[Site]:
        return self.objects.of(value) if self.objects.sites else NO_SITES

    def is_given(self, value: Value) -> bool:
        """Whether the shape of an instruction was given, not computed."""
        return value in self._fixed

    def _seen_outside(self, value: Instruction, shape: Shape, used: int) -> Shape:
        assert value.block is not None
        dims = self.control.outside_apart(self.blocks[value.block], used)
        return self.operands.vary(shape, self.bits(value), dims)

    def arriving(self, phi: Instruction, value: Value, source: BasicBlock) -> Shape:
        """The shape of a φ's operand for the threads that bring it."""
        if isinstance(value, Constant):
            return self.operands.constant(value).shape
        shape = self.shapes.get(value, BOTTOM)
        if phi in self._far and isinstance(value, Instruction):
            assert value.block is not None and phi.block is not None
            defined, edge = self.blocks[value.block], (self.blocks[source], self.blocks[phi.block])
            dims = self.control.left_apart(edge, defined) | self.control.outside_apart(defined, edge[0])
            shape = self.operands.vary(shape, self.bits(value), dims)
        return shape

    def diverge(self, branch: Instruction, dims: int) -> None:
        """Threads part at a branch (Listing 3, with the temporal dependences its line 15 leaves out)."""
        assert branch.block is not None
        joins, exits, partial = self.control.diverge(self.blocks[branch.block], dims)
        blocks = self.control.view.blocks
        for block in joins:
            for phi in blocks[block].phis():
                self.push(phi)
        for loop in {self.control.exits[edge][self.blocks[branch.block]] for edge in exits}:
            for user in self._behind.get(loop, ()):
                self.push(user)
        if exits:
            for block in self._predicated:
                self._check_predicate(block)
        for block in partial:
            self._activation_changed(blocks[block])
        if joins or exits or self.returns > 1:
            self._check_objects(joins)

    def make_varying(self, site: Site) -> None:
        """Threads may see different contents in a stack object from now on."""
        if site in self.varying_objects:
            return
        self.varying_objects.add(site)
        for user in self.objects.accesses.get(site, ()):
            self.push(user)

    def _check_objects(self, joins: set[int]) -> None:
        """Join states of stack objects where threads come together or leave loops ([DA-JOIN-D])."""
        for site in self.objects.sites:
            if site not in self.varying_objects and differs_after_divergence(self, site, joins):
                self.make_varying(site)

    def _check_predicate(self, block: BasicBlock) -> None:
        predicate = block.predicate
        if predicate is None or isinstance(predicate, Constant):
            return
        number = self.blocks[block]
        dims = varying_dims(self.shape_in(predicate, block))
        if dims & ~self.control.predicated[number]:
            self.control.predicated[number] |= dims
            self._activation_changed(block)

    def _activation_changed(self, block: BasicBlock) -> None:
        """The block may run for a part of the threads: visit what asks for that."""
        for instruction in block.instructions:
            if instruction.op in _ASKING_FOR_ACTIVATION:
                self.push(instruction)

    def plan(self, instruction: Instruction) -> Plan:
        """How the lattice sees an instruction."""
        position = self._position[instruction]
        plan = self._plans[position]
        if plan is None:
            plan = self._plans[position] = self.operands.plan(instruction)
        return plan

    def operand_facts(self, plan: Plan, instruction: Instruction) -> list[Fact]:
        """The facts of a plan's operands, as far as they are known."""
        shapes, ranges, block = self.shapes, self.ranges, instruction.block
        near = instruction not in self._far
        facts: list[Fact] = []
        for value, bits, fact in plan.sources:
            if fact is None:
                shape = shapes.get(value, BOTTOM) if near else self.shape(value, instruction)
                bounds = ranges.at(value, block) if ranges is not None and bits else None
                fact = Fact(shape, bits, None, bounds)
            facts.append(fact)
        return facts


_ASKING_FOR_ACTIVATION = {"phi", "call", "store", "ret", "br", "switch"}


def visit_ordinary(engine: Engine, instruction: Instruction) -> Shape | None:
    """An instruction without effects: the lattice's transfer function ([DA-UARITH], [DA-DARITH])."""
    if instruction.type is VOID:
        return None
    plan = engine.plan(instruction)
    ranges = engine.ranges
    return engine.threads.domain.transfer(
        plan.op, plan.flags, plan.bits, engine.operand_facts(plan, instruction), plan.predicate,
        scales=plan.scales, offset=plan.offset,
        bounds=ranges.of(instruction) if ranges is not None and plan.bits else None,
    )  # fmt: skip
