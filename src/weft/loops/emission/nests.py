"""Which loops of a report become kernels, and which of them are dimensions of the grid.

Of each loop nest the outermost loop is taken that is parallel, that updates elements of memory (histograms), which
atomic operations do as well, or that hands values on in a way that several threads can share. The dimensions of a
parallel loop are those of the report's
best mapping, if the loops inside can be: nothing is written between them, and no value leaves them. Else as many of the
outer ones as can be are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from msgspec import Struct, field

from weft.analysis.loops.counted_loops import counted_exit
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.combinations import updates_element
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.patterns import Carried, Pattern, carried_values
from weft.analysis.sequential.replacements import shape_of
from weft.analysis.sequential.verdicts import Verdict
from weft.analysis.symbolic.expression import Expression, Symbol
from weft.analysis.symbolic.extent import bound_of
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import may_write
from weft.ir.types import FloatType
from weft.loops.emission.combining import Group, groups_of
from weft.loops.emission.tree import Statement
from weft.report.loops.counters import loops_around

if TYPE_CHECKING:
    from weft.analysis.sequential.scope import LoopContext
    from weft.report.loops.nests import LoopNestReport, LoopReport

_ATOMIC = {"add": "add", "fadd": "add", "sub": "sub", "fsub": "sub"}
_SUMS_OF_PRODUCTS = ("llvm.fmuladd", "llvm.fma")
_ATOMIC_CALLS = {"llvm.smin": "min", "llvm.smax": "max"}


class Form(Enum):
    """How the iterations of a loop are shared by threads."""

    GRID = "one thread for each iteration"
    REDUCTION = "each thread takes some iterations, and their results are combined"
    SCAN = "one thread for each iteration, which gets what those before it hand on"
    HOST = "the host runs the iterations in order"
    SEARCH = "each thread takes some iterations, and the first that leaves the loop counts"


PATTERNS = {Pattern.REDUCTION: Form.REDUCTION, Pattern.SCAN: Form.SCAN, Pattern.COMPACTION: Form.SCAN}
"""How loops that hand something on are written; the later one where there are several."""


class Update(Struct, frozen=True):
    """A store that combines an element with a value, for all iterations in any order.

    Parameters
    ----------
    operation
        ``add``, ``sub``, ``min`` or ``max``.
    values
        What the element is combined with: a value, or the two that it is the product of.
    load
        The load of the element.
    """

    operation: str
    values: tuple[Value, ...]
    load: Instruction


class Nest(Struct, frozen=True):
    """A loop that becomes a kernel.

    Parameters
    ----------
    report
        What was found of it.
    accesses
        The program's accesses.
    dimensions
        The loops of x, y and z.
    extents
        For each of them how many threads there are, in what is known before the nest.
    assumptions
        What all of this rests on, in words.
    updates
        Stores that are atomic updates.
    form
        How its iterations are shared by threads.
    groups
        What they hand on.
    is_dry
        Whether only what is handed on is computed, and nothing is stored.
    opaque
        Of a loop that the host runs: what stands in the place of the loops that are kernels.
    needed
        The values that these are given.
    """

    report: LoopReport
    accesses: Accesses
    dimensions: tuple[LoopContext, ...]
    extents: tuple[Expression, ...]
    assumptions: tuple[str, ...]
    updates: dict[Instruction, Update] = field(default_factory=dict)
    form: Form = Form.GRID
    groups: tuple[Group, ...] = ()
    is_dry: bool = False
    opaque: Mapping[LoopContext, list[Statement]] = field(default_factory=dict)
    needed: Mapping[LoopContext, tuple[Value, ...]] = field(default_factory=dict)

    @property
    def loop(self) -> LoopContext:
        return self.report.loop

    @property
    def blocks(self) -> list[BasicBlock]:
        """The blocks that are written."""
        inside = {b for loop in self.opaque for b in loop.blocks}
        return [b for b in self.loop.blocks if b not in inside]

    @property
    def kept(self) -> tuple[Instruction, ...]:
        """The φs that are handed on."""
        return tuple(p for g in self.groups for p in g.phis)


class Refusal(Struct, frozen=True):
    """A loop that becomes no kernel, and why."""

    line: int
    reason: str


def nests_of(report: LoopNestReport, fastmath: bool) -> Iterator[Nest | Refusal]:
    """The loops of a report that become kernels; why the innermost of others do not.

    Parameters
    ----------
    report
        The loops.
    fastmath
        Whether sums and products of floats may be formed in another order.
    """
    taken: set[LoopContext] = set()
    accesses: dict[int, Accesses] = {}
    made: list[tuple[int, Nest | Refusal]] = []
    # A loop around another one need not stand before it, if they have changed places.
    for loop in sorted(report.loops, key=lambda r: r.depth):
        if any(around in taken for around in loops_around(loop.loop)):
            continue
        shared = accesses.setdefault(id(loop.reconstruction), Accesses(loop.reconstruction))
        found = _nest(loop, shared, {other.loop: other for other in report.loops}, fastmath)
        if isinstance(found, Nest):
            taken.add(loop.loop)
            made.append((loop.line, found))
        elif not any(other.loop.parent is loop.loop for other in report.loops):
            made.append((loop.line, Refusal(loop.line, found)))
    yield from (found for _, found in sorted(made, key=lambda m: m[0]))


def _nest(
    report: LoopReport, accesses: Accesses, reports: Mapping[LoopContext, LoopReport], fastmath: bool
) -> Nest | str:
    verdict = report.found
    if verdict.verdict is Verdict.SEQUENTIAL:
        reasons = [f"line {r.line}: {r.text}" if r.line else r.text for r in verdict.reasons[:3]]
        return "; ".join(reasons)
    if not report.is_complete:
        return "it is not known which memory it touches"
    if verdict.verdict is Verdict.SEARCH:
        return _spread(report, accesses, (), Form.SEARCH, {})
    updates = _updates(report)
    if isinstance(updates, str):
        return updates
    groups = groups_of(accesses, report.loop, tuple(PATTERNS))
    if isinstance(groups, str):
        return groups
    rounds = any(g.rounds for g in groups) or any(_is_float(u) for u in updates)
    if rounds and not fastmath:
        return "float sums would be formed in another order, which --fastmath (fastmath=True) allows"
    if groups:
        form = PATTERNS[
            max((c.pattern for c in _carried(report, accesses) if c.pattern in PATTERNS), key=_rank)
        ]
        if form is Form.SCAN and any(len(g.phis) > 1 for g in groups):
            return "a minimum or maximum with its place is handed on beside a scan"
        return _spread(report, accesses, tuple(groups), form, updates)
    assert report.mapping is not None
    costs = report.mapping.found
    reason = "the number of its iterations is not known when it begins"
    for count in range(len(costs.nest), 0, -1):
        dimensions = costs.nest[:count]
        failed = _cannot_be_grid(report, accesses, dimensions)
        if failed is not None:
            reason = failed
            continue
        fitting = [m for m in costs.mappings if set(m.mapping.loops) == set(dimensions)]
        loops = (
            min(fitting, key=lambda m: m.lines).mapping.loops if fitting else tuple(reversed(dimensions))[:3]
        )
        if len(loops) < len(dimensions):
            continue
        extents = tuple(_extent(accesses, report.loop, dimension) for dimension in loops)
        if all(e is not None for e in extents):
            known = tuple(e for e in extents if e is not None)
            assumed = dict.fromkeys(a.text for o in (report.loop, *loops) for a in reports[o].assumptions)
            return Nest(report, accesses, loops, known, tuple(assumed), updates)
    return reason


def _spread(
    report: LoopReport,
    accesses: Accesses,
    groups: tuple[Group, ...],
    form: Form,
    updates: dict[Instruction, Update],
) -> Nest | str:
    """A loop whose iterations are shared by threads that hand something on."""
    loop = report.loop
    used = {p for g in groups for p in g.phis}
    inside = set(loop.blocks)
    for block in loop.blocks:
        for instruction in block.instructions:
            users = [u for u in instruction.instruction_users() if u.block not in inside]
            if users and instruction not in used and form is not Form.SEARCH:
                return f"{value_name(instruction)} is used behind it"
    counted = counted_exit(loop.scope.view, loop.loop, computed=True)
    if isinstance(counted, str):
        return f"it {counted}"
    assumed = tuple(dict.fromkeys(a.text for a in report.assumptions))
    dimensions = (loop,) if form is Form.SCAN else ()
    return Nest(report, accesses, dimensions, (), assumed, updates, form, groups)


def _carried(report: LoopReport, accesses: Accesses) -> list[Carried]:
    shape = shape_of(accesses.reconstruction, report.loop)
    return [] if shape is None else carried_values(accesses.reconstruction, report.loop, shape)


def _rank(pattern: Pattern | None) -> int:
    return 0 if pattern is None else list(PATTERNS).index(pattern)


def _is_float(store: Instruction) -> bool:
    return isinstance(store.accessed_type, FloatType)


def _updates(report: LoopReport) -> dict[Instruction, Update] | str:
    """The stores that are atomic updates; why there is no atomic operation for one."""
    found: dict[Instruction, Update] = {}
    dependences = report.found.dependences
    for dependence in dependences.found if dependences is not None else ():
        ends = (dependence.source, dependence.sink)
        pair = next(
            ((a, b) for a, b in (ends, ends[::-1]) if updates_element(a, b) is not None),
            None,
        )
        if pair is None:
            if all(e.is_write for e in ends):
                # That a store of an update meets itself: the pair with its load is another dependence.
                continue
            return f"line {ends[1].line}: elements are updated in a way that no atomic operation has"
        load, store = pair
        if load.offset != store.offset:
            return f"line {store.line}: each element is computed from the one before"
        operation = updates_element(load, store)
        assert operation is not None
        name = operation.callee_name or ""
        stem = name.rpartition(".")[0]
        kind = _ATOMIC.get(operation.op) or _ATOMIC_CALLS.get(stem)
        operands = list(operation.args) if operation.op == "call" else list(operation.operands)
        if stem in _SUMS_OF_PRODUCTS:
            found[store.instruction] = Update("add", tuple(operands[:2]), load.instruction)
            continue
        if kind is None or (kind == "sub" and operands[0] is not load.instruction):
            return f"line {store.line}: there is no atomic operation for this update"
        operands.remove(load.instruction)
        found[store.instruction] = Update(kind, (operands[0],), load.instruction)
    return found


def _cannot_be_grid(report: LoopReport, accesses: Accesses, loops: tuple[LoopContext, ...]) -> str | None:
    """Why loops inside of each other cannot be the dimensions of a grid, None where they can."""
    outer, inner = loops[0], loops[-1]
    between = [b for b in outer.blocks if b not in set(inner.blocks)]
    for block in between:
        for instruction in block.instructions:
            if may_write(instruction) and not (instruction.callee_name or "").startswith("llvm.lifetime"):
                return "something is written between the loops of the nest"
    for loop in loops:
        shape = shape_of(accesses.reconstruction, loop)
        if shape is None:
            return "it is entered or repeated in more than one way"
        for carried in carried_values(accesses.reconstruction, loop, shape):
            if carried.pattern is not Pattern.COUNTER:
                return f"{value_name(carried.phi)} is handed from iteration to iteration"
        inside = set(loop.blocks)
        for block in loop.blocks:
            for instruction in block.instructions:
                if any(u.block not in inside for u in instruction.instruction_users()):
                    return "a value of it is used behind it"
        if len(loop.loop.exit_edges) != 1:
            return "it may be left early"
    return None


def _extent(accesses: Accesses, nest: LoopContext, loop: LoopContext) -> Expression | None:
    """How many threads a dimension has: the most iterations that the loop may have."""
    made = accesses.reconstruction
    trips = made.trip_count(loop)
    if trips is None:
        return None

    def is_inside(symbol: Symbol) -> bool:
        return symbol.loop is not None and nest.contains(symbol.loop)

    facts = made.facts(loop.scope, loop.header)
    most = bound_of(trips, is_inside, facts, upper=True)
    return None if most is None else made.facts(nest.scope, nest.header).simplified(most)


def accesses_of(nest: Nest) -> dict[Instruction, list[Access]]:
    """The accesses of a nest, by instruction."""
    found: dict[Instruction, list[Access]] = {}
    for access in nest.accesses.of(nest.loop):
        if isinstance(access, Access):
            found.setdefault(access.instruction, []).append(access)
    return found
