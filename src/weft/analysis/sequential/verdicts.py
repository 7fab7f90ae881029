"""Which loops may run as kernels (Juravle, §4.1): a verdict, each condition that fails, and what the verdict rests on.

The thesis asks that a loop carries no dependence, is normalizable, writes no globals, and calls what is known. Here a
dependence that has a parallel form is a pattern with a verdict of its own, and globals are memory as any other: a write
of the same one in each iteration is a dependence.

The verdict is the first of these that applies: `SEQUENTIAL` if a condition fails; `SEARCH` if the loop may be left
early and writes nothing; `COMPACTION`, `SCAN`, `HISTOGRAM` and `REDUCTION` by what is handed on; `PARALLEL`.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from weft.analysis.memory.alias import locate
from weft.analysis.sequential.accesses import Access, Accesses, Opaque
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.combinations import takes_nan_from, updates_element
from weft.analysis.sequential.dependences import MAX_FOUND, Dependence, Dependences, DependenceTest
from weft.analysis.sequential.names import value_name
from weft.analysis.sequential.own_stores import read_back
from weft.analysis.sequential.patterns import (
    Carried,
    Pattern,
    carried_values,
    compacted,
    element_pattern,
    is_compacted,
)
from weft.analysis.sequential.replacements import Shape, shape_of, takes_nan
from weft.analysis.sequential.scope import LoopContext, line_of
from weft.analysis.symbolic.expression import Expression, Symbol
from weft.ir import Instruction


class Verdict(Enum):
    """How the iterations of a loop may run."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"
    SCAN = "scan"
    HISTOGRAM = "histogram"
    COMPACTION = "compaction"
    SEARCH = "search"
    SEQUENTIAL = "sequential"


class Reason(Struct, frozen=True):
    """Why a verdict is what it is.

    Parameters
    ----------
    line
        The line it is about, 0 for the loop as a whole.
    text
        A sentence, without its full stop.
    """

    line: int
    text: str


class LoopVerdict(Struct, frozen=True):
    """What is found of a loop.

    Parameters
    ----------
    verdict, reasons
        The verdict, and what decides it.
    assumptions
        What it rests on.
    trips
        How often the body runs, None where that is not known when it begins.
    private
        Objects of which each iteration has its own.
    dependences
        What it carries through memory.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...]
    assumptions: tuple[Assumption, ...]
    trips: Expression | None
    private: frozenset[Symbol]
    dependences: Dependences | None


_ORDER = (Pattern.COMPACTION, Pattern.SCAN, Pattern.HISTOGRAM, Pattern.REDUCTION)


def loop_verdict(accesses: Accesses, loop: LoopContext) -> LoopVerdict:
    """Decide how the iterations of a loop may run."""
    return _Judgement(accesses, loop).verdict()


def verdict_if_independent(accesses: Accesses, loop: LoopContext) -> LoopVerdict | None:
    """The verdict on a loop of which no condition fails and that carries nothing through memory; None for others.

    One dependence is enough to know, where `loop_verdict` names them all, and so is a store in a loop that is left in
    several places: what else is stored where need not be found.
    """
    if len(loop.loop.exit_edges) > 1 and _stores_elsewhere(loop):
        return None
    verdict = _Judgement(accesses, loop).verdict(briefly=True)
    if verdict.verdict is Verdict.SEQUENTIAL or verdict.dependences is None or verdict.dependences.found:
        return None
    return verdict


def _stores_elsewhere(loop: LoopContext) -> bool:
    """Whether something in a loop is stored that is no object on the stack."""
    layout = loop.scope.program.module.layout
    stores = (i for block in loop.blocks for i in block.instructions if i.op == "store")
    bases = (locate(store.pointer, layout).base for store in stores)
    return any(not (isinstance(base, Instruction) and base.op == "alloca") for base in bases)


class _Judgement:
    __slots__ = (
        "_accesses", "_assumptions", "_failed", "_found", "_loop", "_made", "_patterns", "_private", "_searches",
        "_trips",
    )  # fmt: skip

    def __init__(self, accesses: Accesses, loop: LoopContext) -> None:
        self._accesses = accesses
        self._loop = loop
        self._made = accesses.reconstruction
        self._failed: list[Reason] = []
        self._found: list[Reason] = []
        self._patterns: set[Pattern] = set()
        self._assumptions: dict[Assumption, None] = {}
        self._private = private_objects(accesses, loop)
        self._searches = False
        self._trips = self._made.trip_count(loop)

    def verdict(self, briefly: bool = False) -> LoopVerdict:
        """The verdict; `briefly`, the first that says that the loop is not independent is enough."""
        loop = self._loop
        shape = shape_of(self._made, loop)
        if shape is None:
            self._fail(
                line_of(loop.header.terminator), "the loop is entered or repeated in more than one way"
            )
            return self._result(None)
        writes = self._leaving()
        carried = carried_values(self._made, loop, shape)
        counters = self._values(carried, shape)
        if briefly and self._failed:
            return self._result(None)
        dependences = DependenceTest(self._accesses, loop).run(self._private, 0 if briefly else MAX_FOUND)
        self._memory(dependences, counters, shape)
        self._behind(carried, shape)
        if self._searches and writes:
            self._fail(writes, "elements are written, and the loop may be left before its last iteration")
        for access in self._accesses.of(loop):
            self._assumptions.update(dict.fromkeys(self._accesses.assumptions(access)))
        for assumption in dependences.assumptions:
            self._assumptions[assumption] = None
        self._assumptions.update(dict.fromkeys(self._accesses.assumed_by(loop.scope, [], loop.header)))
        for assumption in self._assumptions:
            if self._never_holds(assumption):
                self._fail(assumption.line, f"it would rest on this: {assumption.text}; it never is so")
        return self._result(dependences)

    def _never_holds(self, assumption: Assumption) -> bool:
        """Whether what is assumed of a value is wrong whenever it is computed."""
        obligation, scope = assumption.obligation, self._loop.scope
        if obligation is None or not obligation.is_nonnegative or obligation.block not in scope.view.index:
            return False
        facts = self._accesses.ranges.complete(self._made.facts(scope, obligation.block), [obligation.value])
        return facts.is_nonnegative(-obligation.value - 1)

    def _result(self, dependences: Dependences | None) -> LoopVerdict:
        if self._failed:
            verdict, reasons = Verdict.SEQUENTIAL, self._failed
        elif self._searches:
            verdict, reasons = Verdict.SEARCH, self._found
        else:
            pattern = next((p for p in _ORDER if p in self._patterns), None)
            verdict = Verdict.PARALLEL if pattern is None else Verdict(pattern.value)
            reasons = self._found
        unique = tuple(dict.fromkeys(sorted(reasons, key=lambda r: r.line)))
        return LoopVerdict(verdict, unique, tuple(self._assumptions), self._trips, self._private, dependences)

    def _fail(self, line: int, text: str) -> None:
        self._failed.append(Reason(line, text))

    def _note(self, pattern: Pattern, line: int, text: str, rounds: bool = False) -> None:
        self._patterns.add(pattern)
        self._found.append(Reason(line, text))
        if rounds:
            self._assumptions[
                Assumption("reassociation", "float sums may be formed in another order", line)
            ] = None

    def _assume_no_nan(self, name: str, line: int) -> None:
        self._assumptions[Assumption("nan", f"no value that {name} takes is a NaN", line)] = None

    def _leaving(self) -> int:
        """How the loop is left; the line of a write in it, 0 for none."""
        loop, scope = self._loop, self._loop.scope
        line = line_of(loop.header.terminator)
        early = [(e, x) for e, x in loop.loop.exit_edges if e != loop.loop.header]
        if not loop.loop.exit_edges:
            self._fail(line, "the loop is never left")
        elif self._trips is None and len(loop.loop.exit_edges) == 1:
            # Without a number of iterations it is left when something is found.
            self._searches = True
            text = "the number of iterations is not known when the loop begins"
            self._found.append(Reason(line, text))
        elif len(loop.loop.exit_edges) > 1:
            self._searches = True
            for exiting, _ in early or loop.loop.exit_edges:
                at = line_of(scope.view.blocks[exiting].terminator) or line
                self._found.append(Reason(at, "the loop may be left here"))
        writes = [
            a
            for a in self._accesses.of(loop)
            if (isinstance(a, Opaque) and a.writes)
            or (isinstance(a, Access) and a.is_write and a.base not in self._private)
        ]
        if self._searches and writes and self._trips is None:
            self._failed += self._found
            self._searches = len(loop.loop.exit_edges) > 1
        return (writes[0].line or line) if writes else 0

    def _values(self, carried: list[Carried], shape: Shape) -> list[Instruction]:
        """Judge what is carried in φs; the counters of compactions."""
        counters: list[Instruction] = []
        for value in carried:
            update = value.phi.incoming_value(shape.latch)
            line = (
                line_of(update) if isinstance(update, Instruction) and line_of(update) else line_of(value.phi)
            )
            line = line or line_of(self._loop.header.terminator)
            name = value_name(value.phi)
            match value.pattern:
                case Pattern.COUNTER:
                    continue
                case Pattern.LAST_VALUE:
                    self._found.append(
                        Reason(line, f"{name} is read behind the loop: it is that of the last iteration")
                    )
                case Pattern.REDUCTION:
                    self._note(Pattern.REDUCTION, line, f"{name} is a reduction", value.rounds)
                    if takes_nan(value.phi, shape):
                        self._assume_no_nan(name, line)
                case Pattern.SCAN if back := read_back(self._accesses, self._loop, value.phi, shape):
                    self._fail(back.line, f"{name} depends on what is read here, and this on {name}")
                case Pattern.SCAN:
                    self._note(
                        Pattern.SCAN, line, f"{name} is a scan: its values on the way are used", value.rounds
                    )
                    if takes_nan(value.phi, shape):
                        self._assume_no_nan(name, line)
                case Pattern.COMPACTION:
                    counters.append(value.phi)
                    self._note(Pattern.COMPACTION, line, f"{name} counts what is kept")
                case _:
                    self._fail(line, f"{name}, which iterations hand on, {value.reason}")
        if self._searches and self._patterns:
            self._fail(
                line_of(self._loop.header.terminator), "values are combined, and the loop may be left early"
            )
        return counters

    def _memory(self, dependences: Dependences, counters: list[Instruction], shape: Shape) -> None:
        for opaque in dependences.opaque:
            self._fail(opaque.line, opaque.text)
        kept = compacted(self._made, self._loop, shape, counters)
        updates = self._updated_elements(dependences.found)
        if len(dependences.found) > MAX_FOUND:
            line = line_of(self._loop.header.terminator)
            self._fail(
                line, "there are more accesses that may meet in different iterations than are named here"
            )
        for dependence in dependences.found:
            if is_compacted(dependence, kept, self._loop):
                continue
            update = updates.get(dependence)
            if update is not None:
                pattern, rounds, line = update
                name = dependence.source.base.name if dependence.source.base is not None else "an element"
                words = {
                    Pattern.HISTOGRAM: f"iterations update elements of {name} that may be the same",
                    Pattern.REDUCTION: f"each iteration updates the same element of {name}",
                    Pattern.SCAN: f"each element of {name} is computed from the one before",
                }
                self._note(pattern, line, words[pattern], rounds)
                if pattern is Pattern.SCAN and takes_nan_from(dependence.sink, dependence.source):
                    self._assume_no_nan(f"an element of {name}", line)
                continue
            self._fail(dependence.sink.line, describe(dependence))

    def _updated_elements(self, found: tuple[Dependence, ...]) -> dict[Dependence, tuple[Pattern, bool, int]]:
        """Dependences that are updates of elements, where nothing else in the loop touches the object."""
        patterns: dict[Dependence, tuple[Pattern, bool, int]] = {}
        groups: dict[Symbol | None, list[Dependence]] = {}
        for dependence in found:
            groups.setdefault(dependence.source.base, []).append(dependence)
        for base, group in groups.items():
            if base is None:
                continue
            kinds: set[Pattern] = set()
            mine: dict[Dependence, tuple[Pattern, bool, int]] = {}
            pairs: set[tuple[Access, Access]] = set()
            for dependence in group:
                known = element_pattern(dependence, self._loop)
                if known is not None:
                    kinds.add(known[0])
                    mine[dependence] = (*known, dependence.sink.line)
                    a, b = dependence.source, dependence.sink
                    pairs.add((b, a) if a.is_write else (a, b))
            for dependence in group:
                if dependence in mine:
                    continue
                # A store of an update that meets itself or the load of another iteration.
                ends = {dependence.source, dependence.sink}
                own = next(
                    (
                        p
                        for p in pairs
                        if ends <= set(p) and updates_element(*p) is not None and kinds != {Pattern.SCAN}
                    ),
                    None,
                )
                if own is not None and len(kinds) == 1:
                    mine[dependence] = (next(iter(kinds)), False, dependence.sink.line)
            if len(mine) == len(group) and len(kinds) == 1 and len(pairs) == 1:
                patterns.update(mine)
        return patterns

    def _behind(self, carried: list[Carried], shape: Shape) -> None:
        """Values of an iteration that are used behind the loop."""
        phis = {c.phi for c in carried}
        inside = set(shape.blocks)
        known = {c.phi.incoming_value(shape.latch) for c in carried if c.pattern is not None}
        for block in shape.blocks:
            for instruction in block.instructions:
                if instruction in phis or instruction in known:
                    continue
                users = [u for u in instruction.instruction_users() if u.block not in inside]
                if users and not self._searches:
                    name = value_name(instruction)
                    line = line_of(instruction) or line_of(users[0])
                    self._found.append(
                        Reason(line, f"{name} is read behind the loop: it is that of the last iteration")
                    )


def private_objects(accesses: Accesses, loop: LoopContext) -> frozenset[Symbol]:
    """Stack objects whose life begins in each iteration, or that only one called function has."""
    found: set[Symbol] = set()
    for access in accesses.of(loop):
        if isinstance(access, Access) and access.base is not None:
            origin = access.base.origin
            if not isinstance(origin, Instruction) or origin.op != "alloca":
                continue
            if loop.contains(access.base.loop) or _begins_in(origin, loop):
                found.add(access.base)
    return frozenset(found)


def _begins_in(site: Instruction, loop: LoopContext) -> bool:
    inside = set(loop.blocks)
    users = list(site.instruction_users())
    begins = any((u.callee_name or "").startswith("llvm.lifetime.start") and u.block in inside for u in users)
    return begins and all(u.block in inside for u in users)


def describe(dependence: Dependence) -> str:
    """A sentence that names a dependence: from where to where, at which distance."""
    source, sink = dependence.source, dependence.sink
    name = sink.base.name if sink.base is not None else "memory"
    if source.base is None or sink.base is None or source.base is not sink.base:
        return "iterations may meet in memory: it is not known what this leads to"
    first = f"line {source.line} {'writes' if source.is_write else 'reads'}"
    verb = "written" if sink.is_write else "read"
    if dependence.is_certain:
        if source is sink:
            return f"each iteration writes the same element of {name}"
        return f"the same element of {name} is {verb} here that {first} in other iterations"
    if dependence.distance is not None:
        times = "iteration" if dependence.distance == 1 else "iterations"
        return f"what {first} of {name} is {verb} here {dependence.distance} {times} later"
    if source is sink:
        return f"iterations may write the same element of {name}"
    return f"what {first} of {name} may be {verb} here in a later iteration"
