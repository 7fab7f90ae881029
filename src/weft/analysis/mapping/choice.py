"""The costs of a loop for all mappings, and which mapping is best (Juravle, §5.1: "what if").

A mapping costs the lines that its warps touch: of each access the transactions of a warp, times the number of times
that a thread does it. Expressions cannot be compared in every case, so they are evaluated: with the values that are
given, and `TYPICAL` for sizes of which none is. Of mappings that cost the same, the first is taken, in which the
innermost loop is x, then the one with more dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Values

from msgspec import Struct

from weft.analysis.mapping.coalescing import LaneCost, cost_of
from weft.analysis.mapping.grid import Mapping, mappings_of, nest_of
from weft.analysis.mapping.sharing import Area, read_areas
from weft.analysis.mapping.work import Count, bytes_of, executions, loops_between, operations_of
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import Parameters
from weft.analysis.symbolic.expression import Expression, Symbol
from weft.ir import BasicBlock

TYPICAL = 1024
"""What stands for a size that is not known."""


class MappingCost(Struct, frozen=True):
    """What a mapping costs.

    Parameters
    ----------
    mapping
        The mapping.
    accesses
        The cost of each access.
    requests
        How often a thread does each access.
    lines
        Lines that a warp touches, evaluated.
    """

    mapping: Mapping
    accesses: dict[Access, LaneCost]
    requests: dict[Access, Count]
    lines: int


class LoopCosts(Struct, frozen=True):
    """What a loop costs as a kernel.

    Parameters
    ----------
    nest
        The loops that may be dimensions, outermost first.
    mappings
        All mappings.
    best
        The one to take.
    operations, bytes
        Floating-point operations, and bytes of the sections, of one run of the loop.
    areas
        What the accesses touch in a block, for the best mapping.
    """

    nest: tuple[LoopContext, ...]
    mappings: tuple[MappingCost, ...]
    best: MappingCost
    operations: Count
    bytes: Count
    areas: tuple[Area, ...]


class LaneCosts:
    """The costs of accesses for each loop that may be x, each computed once.

    Parameters
    ----------
    accesses
        The program's accesses.
    vector_bits
        Those of a vector of the CPU: a lane group is as many lanes as there is room for elements.
    """

    __slots__ = ("_accesses", "_bits", "_known")

    def __init__(self, accesses: Accesses, vector_bits: int) -> None:
        self._accesses = accesses
        self._bits = vector_bits
        self._known: dict[tuple[Access, LoopContext], LaneCost] = {}

    def of(self, access: Access, x: LoopContext) -> LaneCost:
        """The cost of an access for all mappings with the same x."""
        key = access, x
        if key not in self._known:
            trips = self._accesses.reconstruction.trip_count(x)
            rounds = None if trips is None else trips.constant
            self._known[key] = cost_of(access, x, access.facts, self.width(x), rounds)
        return self._known[key]

    def width(self, loop: LoopContext) -> int:
        """Lanes of a lane group: a vector of the largest elements that a loop accesses."""
        found = (a.element for a in self._accesses.of(loop) if isinstance(a, Access) and a.element <= 8)
        return max(1, self._bits // (8 * max(found, default=4)))


def costs_of(
    accesses: Accesses,
    loop: LoopContext,
    parameters: Parameters,
    is_parallel: Callable[[LoopContext], bool],
    lane_costs: LaneCosts,
    values: Values[str, int],
) -> LoopCosts:
    """Compute the costs of a loop that may run in parallel.

    Parameters
    ----------
    accesses, loop, parameters
        The loop, and what it takes and gives.
    is_parallel
        Whether a loop inside of it is parallel.
    lane_costs
        The costs of accesses.
    values
        Numbers for names of the program.
    """
    nest = nest_of(loop, is_parallel)
    plain = [a for a in accesses.of(loop) if isinstance(a, Access) and a.size.constant is not None]
    known: dict[tuple[BasicBlock, frozenset[LoopContext]], Count] = {}
    found: list[MappingCost] = []
    for mapping in mappings_of(nest):
        # What stands between two loops is done by the lanes of a warp alike.
        costs = {a: lane_costs.of(a, mapping.x) for a in plain}
        threads = frozenset(mapping.loops)
        requests: dict[Access, Count] = {}
        for access in plain:
            key = access.block, threads
            if access.scope is not loop.scope or key not in known:
                own = [o for o in loops_between(access.loop, loop) if o not in threads]
                known[key] = executions(accesses, access.scope, access.block, own)
            requests[access] = known[key]
        lines = sum(
            evaluated(c.transactions, values) * _number(requests[a], values) for a, c in costs.items()
        )
        found.append(MappingCost(mapping, costs, requests, lines))
    best = min(found, key=lambda m: (m.lines, -len(m.mapping.loops)))
    areas = read_areas(accesses, loop, best.mapping, best.accesses)
    facts = accesses.reconstruction.facts(loop.scope, loop.header)
    inside = (*parameters.inputs, *parameters.outputs)
    return LoopCosts(
        nest, tuple(found), best, operations_of(accesses, loop), bytes_of(inside, facts), tuple(areas)
    )


def _number(count: Count, values: Values[str, int]) -> int:
    return TYPICAL if count.value is None else max(0, evaluated(count.value, values))


def evaluated(value: Expression, values: Values[str, int]) -> int:
    """The number that an expression is for values, and `TYPICAL` for all other names."""

    def number(symbol: Symbol) -> int:
        known = values.get(symbol.name)
        if known is not None:
            return known
        return symbol.low if symbol.low is not None and symbol.low == symbol.high else TYPICAL

    try:
        return value.evaluate(number)
    except ZeroDivisionError:
        return TYPICAL
