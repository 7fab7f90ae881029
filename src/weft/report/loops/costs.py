"""What the accesses of a loop cost for each mapping to a grid, in the names of the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from weft.analysis.mapping.choice import LaneCosts, LoopCosts, MappingCost, costs_of, evaluated
from weft.analysis.mapping.coalescing import LaneCost
from weft.analysis.mapping.grouping import Scheme, grouped
from weft.analysis.mapping.roofline import Roofline, roofline
from weft.analysis.mapping.sharing import Area
from weft.analysis.mapping.work import has_doubles
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import Parameters
from weft.analysis.sequential.verdicts import LoopVerdict, Verdict
from weft.analysis.symbolic.expression import Expression
from weft.machine.gpu_devices import device
from weft.machine.host import chosen
from weft.report.loops.counters import counter_name, in_program_names, line_of_loop

PARALLEL_FORMS = frozenset(Verdict) - {Verdict.SEQUENTIAL, Verdict.SEARCH}
"""Verdicts of loops that may be the outermost one of a grid."""

MAX_LENGTH = 60
"""Longer expressions are left out of the text for people."""


class LoopSettings(Struct, frozen=True):
    """What a report on loops is for.

    Parameters
    ----------
    values
        Numbers for parameters, by name, that are put in their place.
    functions
        The same for single functions, by their names.
    rounds
        How often the loops in some lines run, from which parameters are found.
    instantiate
        Whether to put what a run tells of parameters in their place.
    gpu
        The GPU of the estimates.
    """

    values: Mapping[str, int] = field(default_factory=dict)
    functions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    rounds: Mapping[int, int] = field(default_factory=dict)
    instantiate: bool = False
    gpu: str = "h200"

    def of(self, function: str) -> dict[str, int]:
        """The numbers for a function."""
        return {**self.functions.get(function, {}), **self.values}


class AccessCost(Struct, frozen=True):
    """The costs of an access; expressions in the program's names.

    Parameters
    ----------
    transactions
        For each mapping the lines of 128 bytes that a full warp touches.
    bounds
        The mappings for which it may be fewer.
    warp
        For each mapping the exact number of lines of the warp that begins at the iterations in it, where known.
    stride, contiguity
        For each mapping bytes from lane to lane, and a word for it.
    cache_lines
        For each mapping the lines of 64 bytes that a lane group of a CPU touches.
    bank_turns
        For each mapping the turns of the banks of shared memory, None where unknown.
    varies
        Whether iterations access different bytes.
    """

    transactions: dict[str, str]
    bounds: frozenset[str]
    warp: dict[str, str | None]
    stride: dict[str, str | None]
    contiguity: dict[str, str]
    cache_lines: dict[str, str]
    bank_turns: dict[str, int | None]
    varies: bool


class SharedArea(Struct, frozen=True):
    """What may be in shared memory.

    Parameters
    ----------
    array, lines
        What is read, and where.
    reason
        ``overlap`` or ``uncoalesced``.
    overlaps
        For each dimension the bytes that neighbouring threads both read, None for none.
    pitch
        Bytes of a row, None if the area has no rows.
    section
        What a block reads: of rows, if there are any, and of bytes, ``[low, end)``; ``Bx``, ``By`` and ``Bz`` are the
        threads of a block, counters those of its first thread.
    bytes
        What a block needs.
    """

    array: str
    lines: tuple[int, ...]
    reason: str
    overlaps: dict[str, str | None]
    pitch: str | None
    section: tuple[tuple[str, str], ...]
    bytes: str


class MappingReport(Struct, frozen=True):
    """The mappings of a loop.

    Parameters
    ----------
    names, best
        All mappings, ``x=j, y=i``, and the best of them.
    by_x
        For each loop that may be x, its name and the first mapping with it: costs depend on x only.
    lines
        For each mapping the lines that a warp touches in all, with 1024 for what is not known.
    requests
        How often a thread of the best mapping does each access, by line and array.
    operations, bytes
        Floating-point operations and bytes of the sections; None where they are not known.
    estimate
        The time on a GPU at least, with 1024 for what is not known; None where that is not known.
    width
        Lanes of a lane group of the CPU.
    shared
        Areas of shared memory: each access for itself, those that are near put together, all of a pointer together.
    assumptions
        What costs rest on.
    found
        The same, as the analysis has it.
    """

    names: tuple[str, ...]
    best: str
    by_x: tuple[tuple[str, str], ...]
    lines: dict[str, int]
    operations: str | None
    bytes: str | None
    estimate: Roofline | None
    width: int
    shared: tuple[SharedArea, ...]
    near: tuple[SharedArea, ...]
    by_pointer: tuple[SharedArea, ...]
    assumptions: tuple[tuple[str, int, str], ...]
    found: LoopCosts


class _Told(Struct, frozen=True):
    """The costs of an access for mappings with the same x."""

    transactions: str
    is_bound: bool
    warp: str | None
    stride: str | None
    contiguity: str
    cache_lines: str
    bank_turns: int | None


class CostReporter:
    """Computes the costs of the loops of a function."""

    __slots__ = ("_accesses", "_gpu", "_lane_costs", "_told", "_values", "_verdicts")

    def __init__(
        self,
        accesses: Accesses,
        verdicts: Mapping[LoopContext, LoopVerdict],
        values: Mapping[str, int],
        gpu: str,
    ) -> None:
        self._accesses = accesses
        self._verdicts = verdicts
        self._values = values
        self._gpu = gpu
        self._lane_costs = LaneCosts(accesses, chosen().isa.vector_bits)
        self._told: dict[LaneCost, _Told] = {}

    def mapping(self, loop: LoopContext, parameters: Parameters) -> MappingReport | None:
        """The mappings of a loop; None if it is sequential."""
        if self._verdicts[loop].verdict not in PARALLEL_FORMS:
            return None
        costs = costs_of(self._accesses, loop, parameters, self._is_parallel, self._lane_costs, self._values)
        names = {c.mapping: self._name(costs, c) for c in costs.mappings}
        areas = costs.areas
        by_x: dict[str, str] = {}
        for cost in costs.mappings:
            by_x.setdefault(self._counter(costs, cost.mapping.x), names[cost.mapping])
        told = dict.fromkeys(
            (a.kind, a.line, a.text)
            for c in costs.mappings
            for cost in c.accesses.values()
            for a in cost.assumptions
        )
        told.update(
            dict.fromkeys((a.kind, a.line, a.text) for area in areas if area.reason for a in area.assumptions)
        )
        facts = self._accesses.reconstruction.facts(loop.scope, loop.header)
        return MappingReport(
            tuple(names.values()),
            names[costs.best.mapping],
            tuple(by_x.items()),
            {names[c.mapping]: c.lines for c in costs.mappings},
            self._text(costs.operations.value),
            self._text(costs.bytes.value),
            self._estimate(loop, costs),
            self._lane_costs.width(costs.best.mapping.x),
            self._shared(costs, areas),
            self._shared(costs, grouped(areas, Scheme.NEAR, facts)),
            self._shared(costs, grouped(areas, Scheme.POINTER, facts)),
            tuple(told),
            costs,
        )

    def access(self, report: MappingReport, access: Access) -> AccessCost | None:
        """The costs of one access; None where its size is no number."""
        costs = report.found
        if access not in costs.best.accesses:
            return None
        each = {
            name: self._in_words(cost.accesses[access])
            for name, cost in zip(report.names, costs.mappings, strict=True)
        }
        return AccessCost(
            {n: t.transactions for n, t in each.items()},
            frozenset(n for n, t in each.items() if t.is_bound),
            {n: t.warp for n, t in each.items()},
            {n: t.stride for n, t in each.items()},
            {n: t.contiguity for n, t in each.items()},
            {n: t.cache_lines for n, t in each.items()},
            {n: t.bank_turns for n, t in each.items()},
            any(costs.nest[0].contains(s.loop) for s in access.offset.symbols()),
        )

    def _in_words(self, cost: LaneCost) -> _Told:
        known = self._told.get(cost)
        if known is not None:
            return known
        known = self._told[cost] = _Told(
            str(self._in_names(cost.transactions)),
            cost.is_bound,
            self._warp(cost),
            self._text(cost.stride),
            cost.contiguity.value,
            str(self._in_names(cost.cpu_lines)),
            cost.bank_turns,
        )
        return known

    def _warp(self, cost: LaneCost) -> str | None:
        requested = cost.requested
        return None if requested is None or not requested.is_exact else self._text(requested.count)

    def _is_parallel(self, loop: LoopContext) -> bool:
        return self._verdicts[loop].verdict is Verdict.PARALLEL

    def _counter(self, costs: LoopCosts, loop: LoopContext) -> str:
        """The name of a loop's counter, with its line if another loop of the nest has that, too."""
        made = self._accesses.reconstruction
        names = [counter_name(made, other) or other.iteration.name for other in costs.nest]
        own = names[costs.nest.index(loop)]
        return own if names.count(own) == 1 else f"{own} of line {line_of_loop(loop)}"

    def _name(self, costs: LoopCosts, cost: MappingCost) -> str:
        return cost.mapping.name(lambda loop: self._counter(costs, loop))

    def _in_names(self, value: Expression) -> Expression:
        return in_program_names(self._accesses.reconstruction, value)

    def _text(self, value: Expression | None) -> str | None:
        return None if value is None else str(self._in_names(value))

    def _estimate(self, loop: LoopContext, costs: LoopCosts) -> Roofline | None:
        if costs.operations.value is None or costs.bytes.value is None:
            return None
        values = self._values
        operations, bytes = (
            max(0, evaluated(c, values)) for c in (costs.operations.value, costs.bytes.value)
        )
        if not bytes:
            return None
        return roofline(device(self._gpu), operations, bytes, has_doubles(loop))

    def _shared(self, costs: LoopCosts, areas: Iterable[Area]) -> tuple[SharedArea, ...]:
        return tuple(self._area(costs, a, a.reason) for a in areas if a.reason is not None)

    def _area(self, costs: LoopCosts, area: Area, reason: str) -> SharedArea:
        assert area.access.base is not None
        dimensions = [self._counter(costs, loop) for loop in costs.best.mapping.loops]
        return SharedArea(
            area.access.base.name,
            area.lines,
            reason,
            {d: self._text(o) for d, o in zip(dimensions, area.overlaps, strict=True)},
            self._text(area.pitch),
            tuple((str(self._in_names(low)), str(self._in_names(end))) for low, end in area.block),
            str(self._in_names(area.bytes)),
        )
