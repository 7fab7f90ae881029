"""Functions in their contexts: the loops, branches and facts that surround each block.

A `Scope` is a function under one call string (Juravle, §8.7): the chain of calls that lead to it from the function that
is looked at. Its arguments are the expressions that the last call passes, so what is said of its accesses holds for
that way of calling it only. Chains end at `MAX_CALLS`, and where a function would come twice: such calls are unknown.

A loop has a symbol for its iteration, which counts from 0: this is the normalized form of §4.1. Two things that the
same symbol stands for are in the same iteration of all loops around.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from weft.analysis.integers.intervals import INVERTED
from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.sequential.assumptions import Assumption, Obligation
from weft.analysis.sequential.names import value_name
from weft.analysis.symbolic.expression import Symbol
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Function, Instruction, Module, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import I1

MAX_CALLS = 4
"""How many calls a call string has."""

MAX_CONDITION_DEPTH = 8

_DEPTH_RANKS = 1_000_000


@dataclass(eq=False, slots=True)
class LoopContext:
    """A loop in a context.

    Parameters
    ----------
    scope
        Where it stands.
    loop
        The loop.
    parent
        The loop around it, in a caller if need be.
    depth
        1 for an outermost loop of the function that is looked at.
    counted
        How it counts, or why it does not.
    iteration
        The number of the iteration, from 0.
    """

    scope: Scope
    loop: Loop
    parent: LoopContext | None
    depth: int
    counted: CountedLoop | str
    iteration: Symbol = field(init=False)

    def contains(self, other: LoopContext | None) -> bool:
        """Whether `other` is this loop or inside it."""
        while other is not None and other.depth > self.depth:
            other = other.parent
        return other is self

    @property
    def header(self) -> BasicBlock:
        return self.scope.view.blocks[self.loop.header]

    @property
    def blocks(self) -> list[BasicBlock]:
        return [self.scope.view.blocks[b] for b in sorted(self.loop.blocks)]

    def __repr__(self) -> str:
        return f"<loop {self.header.name} at depth {self.depth}>"


@dataclass(frozen=True, slots=True)
class ArrayParameters:
    """The parameters that an array is passed in, by their numbers.

    Parameters
    ----------
    data
        The pointer to its first element.
    extents, strides
        Those of each dimension, strides in bytes; no strides where elements stand one after the other.
    itemsize
        The bytes of an element.
    """

    data: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


class Program:
    """What the scopes of one analysis share."""

    __slots__ = (
        "_serial", "arrays", "assumed", "assumptions", "module", "names", "overflow_tests", "shared_loads", "values",
    )  # fmt: skip

    def __init__(
        self,
        module: Module,
        values: Mapping[str, int] | None = None,
        arrays: tuple[ArrayParameters, ...] = (),
    ) -> None:
        self.arrays = arrays
        self.module = module
        self.values = dict(values or {})
        """Numbers that take the place of parameters, by their names (§6.2: injected values)."""
        self.assumed: dict[Value, list[Assumption]] = {}
        """Assumptions by the value whose expression rests on them."""
        self.assumptions = 0
        """How many these are."""
        self.overflow_tests: dict[Value, tuple[int, bool]] = {}
        """Whether comparisons may tell that numbers wrap around, with how many assumptions it was asked
        (`weft.analysis.sequential.guards.may_tell_overflow`)."""
        self.shared_loads: dict[object, Symbol] = {}
        self.names: set[str] = set()
        """Names of parameters: of numbers that are the same for all iterations."""
        self._serial = 0

    def symbol(
        self,
        name: str,
        loop: LoopContext | None,
        low: int | None = None,
        high: int | None = None,
        *,
        is_pointer: bool = False,
        origin: object = None,
    ) -> Symbol:
        """A new symbol, to be eliminated before those of the loops around."""
        self._serial += 1
        if loop is None and not is_pointer:
            self.names.add(name)
        depth = 0 if loop is None else loop.depth
        rank = depth * _DEPTH_RANKS + self._serial
        return Symbol(name, rank, loop, low, high, is_pointer, origin)

    def assume(
        self, value: Value, kind: str, text: str, line: int, obligation: Obligation | None = None
    ) -> None:
        """Note what the expression of a value rests on."""
        assumption = Assumption(kind, text, line, None, obligation)
        known = self.assumed.setdefault(value, [])
        if assumption not in known:
            known.append(assumption)
            self.assumptions += 1


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that held on the way to a block: ``value`` was `holds`, in the branch at the end of `block`."""

    value: Value
    holds: bool
    block: BasicBlock


class Scope:
    """A function in a context of calls.

    Parameters
    ----------
    program
        What is shared.
    function
        The function.
    parent, call
        The caller, and the call; None for the function that is looked at.
    """

    __slots__ = (
        "_guards", "_ranges", "around", "call", "children", "dominators", "forest", "function", "loops", "parent",
        "program", "view",
    )  # fmt: skip

    def __init__(
        self,
        program: Program,
        function: Function,
        parent: Scope | None = None,
        call: Instruction | None = None,
    ) -> None:
        self.program = program
        self.function = function
        self.parent = parent
        self.call = call
        self.view: CFGView = cfg_of(function)
        self.forest: LoopForest = loop_forest(self.view.cfg)
        self.dominators: DominatorTree = dominator_tree(self.view.cfg)
        self.children: dict[Instruction, Scope | None] = {}
        self._ranges: Ranges | None = None
        self._guards: dict[int, tuple[Guard, ...]] = {}
        self.around: LoopContext | None = None
        if parent is not None:
            assert call is not None and call.block is not None
            self.around = parent.loop_of(call.block)
        self.loops: dict[Loop, LoopContext] = {}
        for loop in self.forest.loops:
            self._enter(loop)

    def _enter(self, loop: Loop) -> None:
        parent = self.around if loop.parent is None else self.loops[loop.parent]
        depth = 1 if parent is None else parent.depth + 1
        context = LoopContext(self, loop, parent, depth, counted_loop(self.view, loop, early=True))
        counted = context.counted
        name = value_name(counted.counter.phi) if isinstance(counted, CountedLoop) else context.header.name
        context.iteration = self.program.symbol(f"#{name}", context, low=0, origin=context)
        self.loops[loop] = context

    def child(self, call: Instruction) -> Scope | None:
        """The function that a call calls, in this context; None where it has no body or the chain is too long."""
        if call not in self.children:
            callee = call.callee
            made = None
            if isinstance(callee, Function) and callee.blocks and not self._is_called(callee):
                made = Scope(self.program, callee, self, call)
            self.children[call] = made
        return self.children[call]

    def _is_called(self, function: Function) -> bool:
        length = 0
        scope: Scope | None = self
        while scope is not None:
            if scope.function is function:
                return True
            length += 1
            scope = scope.parent
        return length > MAX_CALLS

    @property
    def ranges(self) -> Ranges:
        """Ranges in numbers, of the function whatever its context."""
        if self._ranges is None:
            self._ranges = ranges_of(self.function, self.view)
        return self._ranges

    def loop_of(self, block: BasicBlock) -> LoopContext | None:
        """The innermost loop around a block, in a caller if need be."""
        loop = self.forest.innermost[self.view.index[block]]
        return self.around if loop is None else self.loops[loop]

    def loop_of_value(self, value: Value) -> LoopContext | None:
        """The innermost loop in which a value is computed."""
        if isinstance(value, Instruction) and value.block is not None:
            return self.loop_of(value.block)
        return self.around

    def dominates(self, a: BasicBlock, b: BasicBlock) -> bool:
        return self.dominators.dominates(self.view.index[a], self.view.index[b])

    def guards(self, block: BasicBlock) -> tuple[Guard, ...]:
        """The conditions on the way to a block from the function's entry, nearest last."""
        number = self.view.index[block]
        path: list[int] = []
        while number >= 0 and number not in self._guards:
            path.append(number)
            number = self.dominators.idom[number]
        known = self._guards[number] if number >= 0 else ()
        for step in reversed(path):
            known = self._guards[step] = (*known, *self._entering(step))
        return tuple(g for g in known if self._is_around(g, block))

    def _is_around(self, guard: Guard, block: BasicBlock) -> bool:
        """Whether a condition is of the iterations that a block is in, not of how a loop before it was left."""
        loop = self.forest.innermost[self.view.index[guard.block]]
        return loop is None or self.view.index[block] in loop.blocks

    def _entering(self, number: int) -> Iterator[Guard]:
        """The conditions of the only edge that leads to a block."""
        preds = self.view.cfg.preds[number]
        if len(preds) != 1:
            return
        source, block = self.view.blocks[preds[0]], self.view.blocks[number]
        yield from self.edge_guards(source, block)

    def edge_guards(self, source: BasicBlock, target: BasicBlock) -> Iterator[Guard]:
        """What the branch at the end of `source` says on the edge to `target`."""
        branch = source.terminator
        if branch.op != "br" or not branch.operands or branch.blocks[0] is branch.blocks[1]:
            return
        yield from self._taken_apart(branch.operands[0], branch.blocks[0] is target, source, 0)

    def value_guards(self, value: Value, holds: bool, block: BasicBlock) -> Iterator[Guard]:
        """What a truth value says that is used in a block, if it is `holds`."""
        yield from self._taken_apart(value, holds, block, 0)

    def _taken_apart(self, value: Value, holds: bool, block: BasicBlock, depth: int) -> Iterator[Guard]:
        if not isinstance(value, Instruction) or depth > MAX_CONDITION_DEPTH:
            return
        op = value.op
        if op == "icmp":
            tested = _truth_of(value, holds)
            if tested is not None:
                yield from self._taken_apart(*tested, block, depth + 1)
                return
            yield Guard(value, holds, block)
        elif op == "freeze":
            yield from self._taken_apart(value.operands[0], holds, block, depth + 1)
        elif op == "xor" and value.operands[1] == TRUE:
            yield from self._taken_apart(value.operands[0], not holds, block, depth + 1)
        elif op in ("and", "or") and value.type is I1 and holds == (op == "and"):
            for operand in value.operands:
                yield from self._taken_apart(operand, holds, block, depth + 1)
        elif op == "select" and value.type is I1:
            condition, a, b = value.operands
            if holds and b == FALSE:
                yield from self._taken_apart(condition, True, block, depth + 1)
                yield from self._taken_apart(a, True, block, depth + 1)
            elif not holds and a == TRUE:
                yield from self._taken_apart(condition, False, block, depth + 1)
                yield from self._taken_apart(b, False, block, depth + 1)
        elif op == "phi" and value.type is I1:
            yield from self._behind_phi(value, holds, depth)

    def _behind_phi(self, phi: Instruction, holds: bool, depth: int) -> Iterator[Guard]:
        """A φ of truth values, of which only one has the value that was found: control came over its edge."""
        other = FALSE if holds else TRUE
        rest = [(v, b) for v, b in phi.incoming() if v != other]
        assert phi.block is not None
        loop = self.forest.headed_by[self.view.index[phi.block]]
        if len(rest) != 1 or loop is not None:
            return
        value, source = rest[0]
        yield from self.guards(source)
        yield from self.edge_guards(source, phi.block)
        yield from self._taken_apart(value, holds, source, depth + 1)


def _truth_of(compare: Instruction, holds: bool) -> tuple[Value, bool] | None:
    """``icmp ne (zext i1 c), 0`` is c."""
    a, b = compare.operands
    if not isinstance(a, Instruction) or a.op != "zext" or a.operands[0].type is not I1:
        return None
    if compare.predicate not in ("eq", "ne") or getattr(b, "value", None) != 0:
        return None
    return a.operands[0], holds == (compare.predicate == "ne")


def holding_predicate(guard: Guard) -> str:
    """The predicate of a guard's comparison, as it held."""
    compare = guard.value
    assert isinstance(compare, Instruction)
    return compare.predicate if guard.holds else INVERTED[compare.predicate]


def line_of(instruction: Instruction) -> int:
    """The source line of an instruction, 0 where it has none."""
    return instruction.loc.line if instruction.loc is not None else 0
