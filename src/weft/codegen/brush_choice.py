"""Which brush a nest is vectorized with: the SIMD code of each candidate, weighed (`weft.costs.vector_code`).

Candidates fill one to eight registers of the widest elements that the nest accesses: rows of a register or more and
several of these; where accesses of such rows are gathers or scatters, squares and columns of shorter ones, too, which
transpose well. All are compared with rows of the innermost loop alone. To make the code, and not a model of it, takes
sharing, shuffles and divergent control flow as they are; of LLVM's work nothing is done.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.brush import MOST_LANES, Brush
from weft.codegen.brushed_nests import lanes_of
from weft.codegen.functions import FunctionVectorizer
from weft.codegen.lane_passes import BODIES, LANES
from weft.codegen.lane_unit import SimdForm
from weft.codegen.obstacles import why_not_vectorized
from weft.codegen.parallel_loops import all_uniform, why_in_order
from weft.costs.vector_code import VectorCosts, vector_costs
from weft.ir import Module
from weft.ir.cfg_edit import remove_dead_instructions
from weft.machine.targets import Isa
from weft.passes.runner import Runner
from weft.switches import Switches
from weft.transform.boscc.insertion import Boscc
from weft.transform.loops.outline_nest import outline_nest

WORTHWHILE = 0.95
"""Of the cycles of the innermost loop alone, no more must be left for a brush to be chosen."""

ROW = 0.02
"""What a row more has to save, as a part: rows compete for the same sets of the cache. Measured by four stencils on
arrays of five widths: 8x8 takes between 0.65 and 1.7 of the time of the innermost loop alone, as the distance of rows
is, and 4x16 between 0.6 and 1.04."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """A brush, and the cycles that an iteration is expected to take with it."""

    brush: Brush
    cycles: float


def weigh_brushes(
    module: Module, levels: tuple[ParallelLoop, ...], boscc: Boscc, switches: Switches, name: str
) -> list[Weighed]:
    """Candidates for a nest, the best first; empty where iterations cannot run in lanes."""
    found: list[Weighed] = []
    row = _row(module, levels, boscc.isa)
    scattered = False
    for brush in candidates(row, len(levels)):
        if brush.extents[-1] < row and not scattered:
            continue
        made = _costs(module, levels, brush, boscc, switches, f"{name}.{brush}")
        if made is None:
            return []
        scattered |= made.gathers and brush.extents[-1] == row
        found.append(Weighed(brush, made.cycles(boscc.isa) / brush.width))
    return sorted(found, key=lambda w: w.cycles * (1 + ROW * prod(w.brush.extents[:-1])))


def candidates(row: int, levels: int) -> list[Brush]:
    """The brushes that are weighed, where a register has so many elements; the innermost loop alone first."""
    rows = [1, 2, 4, 8, 16]
    plane = [
        (high, wide)
        for high in rows
        for wide in (row, 2 * row, 4 * row, row // 2, row // 4)
        if wide >= 2 and row <= high * wide <= min(MOST_LANES, 8 * row)
    ]
    shapes = [(1,) * (levels - 2) + p for p in plane]
    if levels == 3:
        shapes += [(2, *p) for p in plane if 2 * prod(p) <= min(MOST_LANES, 8 * row) and p[1] >= row]
    shapes.sort(key=lambda s: (prod(s[:-1]) > 1, s[-1] != row))
    return [Brush(s, tuple(reversed(range(levels)))) for s in shapes]


def is_innermost_only(brush: Brush) -> bool:
    """Whether a brush is one of the innermost loop alone."""
    return prod(brush.extents[:-1]) == 1


def _row(module: Module, levels: tuple[ParallelLoop, ...], isa: Isa) -> int:
    """Elements of a register, of the widest that are accessed."""
    accessed = [
        module.layout.bit_size(i.accessed_type)
        for block in levels[-1].loop.blocks
        for i in block.instructions
        if i.is_plain_access
    ]
    return max(2, isa.vector_bits // min(64, max(accessed, default=32)))


def _costs(
    module: Module,
    levels: tuple[ParallelLoop, ...],
    brush: Brush,
    boscc: Boscc,
    switches: Switches,
    name: str,
) -> VectorCosts | None:
    """What a lane group costs with a brush; the module is as before."""
    isa, lanes, before = boscc.isa, lanes_of(brush, len(levels)), set(module.functions)
    dimension = {lanes.along(d): d for d in range(len(lanes.extents))}
    body = outline_nest(module, levels, [dimension.get(axis) for axis in range(len(levels))], name).body
    try:
        if why_in_order(body) is not None:
            return None
        called = FunctionVectorizer(module, lanes, lambda *_: None, isa, boscc, Runner(), switches)
        unit = called.unit(body, all_uniform(body, lanes, len(levels)), SimdForm(f"{name}.simd"))
        Runner().run(BODIES, unit)
        if why_not_vectorized(body) is not None:
            return None
        Runner(left_out=frozenset(switches.without)).run(LANES, unit)
        # Vectors of addresses, where pieces have been found instead.
        remove_dead_instructions(unit.function)
        return vector_costs(unit.function, isa)
    finally:
        for made in set(module.functions) - before:
            if module.functions[made].blocks:
                del module.functions[made]
