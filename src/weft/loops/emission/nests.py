"""Which loops of a report become kernels, and which of them are dimensions of the grid.

Of each loop nest the outermost loop is taken that is parallel, or that does nothing else across iterations than to
update elements of memory (histograms), which atomic operations do as well. The dimensions are those of the report's
best mapping, if the loops inside can be: nothing is written between them, and no value leaves them. Else as many of the
outer ones as can be are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.patterns import Pattern, carried_values, shape_of, updates_element
from weft.analysis.sequential.verdicts import Verdict
from weft.analysis.symbolic.expression import Expression, Symbol
from weft.analysis.symbolic.extent import bound_of
from weft.ir import Instruction, Value
from weft.ir.effects import may_write
from weft.report.loop_counters import loops_around

if TYPE_CHECKING:
    from weft.analysis.sequential.scope import LoopContext
    from weft.report.loop_nests import LoopNestReport, LoopReport

_ATOMIC = {"add": "add", "fadd": "add", "sub": "sub", "fsub": "sub"}
_ATOMIC_CALLS = {"llvm.smin": "min", "llvm.smax": "max"}


@dataclass(frozen=True, slots=True)
class Update:
    """A store that combines an element with a value, for all iterations in any order.

    Parameters
    ----------
    operation
        ``add``, ``sub``, ``min`` or ``max``.
    value
        What the element is combined with.
    load
        The load of the element.
    """

    operation: str
    value: Value
    load: Instruction


@dataclass(frozen=True, slots=True)
class Nest:
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
    """

    report: LoopReport
    accesses: Accesses
    dimensions: tuple[LoopContext, ...]
    extents: tuple[Expression, ...]
    assumptions: tuple[str, ...]
    updates: dict[Instruction, Update] = field(default_factory=dict)

    @property
    def loop(self) -> LoopContext:
        return self.report.loop


@dataclass(frozen=True, slots=True)
class Refusal:
    """A loop that becomes no kernel, and why."""

    line: int
    reason: str


def nests_of(report: LoopNestReport) -> Iterator[Nest | Refusal]:
    """The loops of a report that become kernels; why the innermost of others do not."""
    taken: set[LoopContext] = set()
    accesses: dict[int, Accesses] = {}
    made: list[tuple[int, Nest | Refusal]] = []
    # A loop around another one need not stand before it, if they have changed places.
    for loop in sorted(report.loops, key=lambda r: r.depth):
        if any(around in taken for around in loops_around(loop.loop)):
            continue
        shared = accesses.setdefault(id(loop.reconstruction), Accesses(loop.reconstruction))
        found = _nest(loop, shared, {other.loop: other for other in report.loops})
        if isinstance(found, Nest):
            taken.add(loop.loop)
            made.append((loop.line, found))
        elif not any(other.loop.parent is loop.loop for other in report.loops):
            made.append((loop.line, Refusal(loop.line, found)))
    yield from (found for _, found in sorted(made, key=lambda m: m[0]))


def _nest(report: LoopReport, accesses: Accesses, reports: Mapping[LoopContext, LoopReport]) -> Nest | str:
    verdict = report.found
    if verdict.verdict not in (Verdict.PARALLEL, Verdict.HISTOGRAM, Verdict.REDUCTION):
        kind = "" if verdict.verdict is Verdict.SEQUENTIAL else f"it is a {verdict.verdict.value}: "
        reasons = [f"line {r.line}: {r.text}" if r.line else r.text for r in verdict.reasons[:3]]
        return kind + "; ".join(reasons)
    if not report.is_complete:
        return "it is not known which memory it touches"
    updates = _updates(report)
    if isinstance(updates, str):
        return updates
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
        operation = updates_element(load, store)
        assert operation is not None
        name = operation.callee_name or ""
        kind = _ATOMIC.get(operation.op) or _ATOMIC_CALLS.get(name.rpartition(".")[0])
        operands = list(operation.args) if operation.op == "call" else list(operation.operands)
        if kind is None or (kind == "sub" and operands[0] is not load.instruction):
            return f"line {store.line}: there is no atomic operation for this update"
        operands.remove(load.instruction)
        found[store.instruction] = Update(kind, operands[0], load.instruction)
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
