"""Which brush a nest is vectorized with: the SIMD code of each candidate, weighed (`weft.costs.vector_code`).

Candidates fill one to eight registers of the widest elements that the nest accesses: rows of a register or more and
several of these; where accesses of such rows are gathers or scatters at the indices of the nest, squares and columns of
shorter ones, too, which transpose well: what is looked up by what is loaded they gather as well. All are compared with
lanes along the innermost loop alone, and one or two of each kind first: where these gain nothing, the others of the
kind are not tried. To make the code, and not a model of it, takes sharing, shuffles and divergent control flow as they
are; of LLVM's work nothing is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.loops.indexed_gathers import has_indexed_gathers
from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.brush import MAX_DIMENSIONS, MOST_LANES, Brush
from weft.codegen.lanes.lane_passes import LANES
from weft.codegen.lanes.lane_unit import SimdForm
from weft.codegen.lanes.obstacles import why_not_vectorized
from weft.codegen.lanes.plain_passes import BODIES, narrowing_of_boxes
from weft.codegen.parallel.brushed_nests import lanes_of
from weft.codegen.parallel.loop_plan import all_uniform, why_in_order
from weft.codegen.simd_functions.functions import FunctionVectorizer
from weft.costs.vector_code import VectorCosts, vector_costs
from weft.graph.loops import loop_forest
from weft.ir import Instruction, Module
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.layout import DataLayout
from weft.machine.targets import Isa
from weft.passes.runner import Runner
from weft.switches import Switches
from weft.transform.boscc.insertion import Boscc
from weft.transform.loops.outline_nest import iteration_bounds, outline_nest
from weft.transform.scalar_replacement.policy import PolicyName

WORTHWHILE = 0.95
"""Of the cycles of lanes along one loop alone, no more must be left for a brush to be chosen."""

WORTHWHILE_IN_LOOPS = 0.97
"""The same of nests whose iterations have loops of their own: products of matrices gained 1.2 to 1.7 where this model
expects 1.04."""

LEAST_REGISTERS, FEWER = 4, 1.05
"""Boxes of several rows whose values fill fewer registers wait for sums: what their cycles are multiplied by."""

SAFE_ROWS = 2
"""Boxes of no more rows lose nothing at any length of rows. Measured: over the innermost loop alone, of
Jacobi-5 and Seidel-9 in doubles, 2x16 takes 1.0 to 1.42 at 300, 512, 1000 and 1024, 4x8 takes 1.06 to 1.45 at 300 and
1000, and 0.46 to 1.15 at 512 and 1024, 8x8 0.75 to 1.31 and 0.21 to 0.51 (AVX-512 and AVX2)."""

ROW, REGISTERS, MIDDLE, PLANES = 0.003, 0.02, 0.1, 0.9
"""What of the cycles is added for a row more, as rows compete for the same sets of the cache; for a register that each
value takes; and for each row more of the middle one of three loops, whose rows are short; and what is left where the
outermost of three loops has twice as many iterations: planes come from a cache further away. Fit (`vector_code`)."""

TURNED = 0.02
"""What is added for a row more instead, with three loops whose rows are transposed: a box with more of them than a loop
has iterations is not used. 16x4 gains 6 % over 8x8 by the model, and takes twice as long along loops of 8."""

PROMISING = 0.97
"""Of the cycles of the innermost loop alone, no more may be left with the first of a kind for others to be weighed."""


class Kind(Struct, frozen=True):
    """Brushes of which the first ones tell whether the others may gain something.

    Parameters
    ----------
    first, others
        The brushes.
    short
        Whether their rows are shorter than a register, which is for gathers and scatters.
    """

    first: list[Brush]
    others: list[Brush]
    short: bool = False


class Weighed(Struct, frozen=True):
    """A brush, and the cycles that an iteration is expected to take with it.

    Parameters
    ----------
    brush, cycles
        They.
    streams
        Whether each iteration reads and writes rows for itself, element after element.
    """

    brush: Brush
    cycles: float
    streams: bool

    @property
    def competes(self) -> bool:
        """Whether its rows are so many that they drive each other out of the cache where they are a power of two long.

        It is not chosen without a measurement where that counts (`weft.costs.streams`).
        """
        return self.streams and prod(self.brush.extents[:-1]) > SAFE_ROWS


def weigh_brushes(
    module: Module, levels: tuple[ParallelLoop, ...], boscc: Boscc, switches: Switches, name: str
) -> list[Weighed]:
    """Candidates for a nest, the best first; empty where iterations cannot run in lanes."""
    row = elements_of_register(module, levels, boscc.isa)
    bounds = iteration_bounds(levels)

    def costs(brush: Brush) -> VectorCosts | None:
        nonlocal switches
        made = _costs(module, levels, bounds, brush, boscc, switches, f"{name}.{brush}")
        if made is not None and not made.replaces:
            # Lanes along one loop, which are first, have all that can be replaced in boxes.
            switches = replace(switches, scalar_replacement=PolicyName.OFF.value)
        return made

    return weigh(costs, row, len(levels), boscc.isa, has_loops=_has_loops(levels[-1]))


def weigh(
    costs_of: Callable[[Brush], VectorCosts | None], row: int, levels: int, isa: Isa, *, has_loops: bool
) -> list[Weighed]:
    """Candidates for a nest of so many loops, or for threads along as many axes, the best first.

    Parameters
    ----------
    costs_of
        What a lane group costs with a brush; None where iterations cannot run in lanes so. If that is so with one of
        the first candidates, there is no choice.
    row
        Elements of a register.
    has_loops
        Whether an iteration has loops of its own.
    """
    costs: dict[Brush, VectorCosts] = {}
    alone, kinds = candidates(row, levels)
    first = [*alone, *(brush for kind in kinds if not kind.short for brush in kind.first)]
    for brush in first:
        made = costs_of(brush)
        if made is None:
            return []
        costs[brush] = made
    scattered = any(costs[brush].gathers for brush in alone)
    turns = any(costs[brush].gathers and costs[brush].may_turn for brush in alone)

    def weighed(brush: Brush, made: VectorCosts) -> Weighed:
        cycles = made.cycles(isa) / brush.width * _surcharge(brush, row, scattered, turns)
        return Weighed(brush, cycles, not (scattered or has_loops))

    found = {brush: weighed(brush, made) for brush, made in costs.items()}

    def least(brushes: Iterable[Brush]) -> float:
        for brush in brushes:
            if brush not in found and (made := costs_of(brush)) is not None:
                found[brush] = weighed(brush, made)
        return min((found[brush].cycles for brush in brushes if brush in found), default=math.inf)

    most = PROMISING * least(alone)
    for kind in kinds:
        if (turns or not kind.short) and least(kind.first) <= most:
            least(kind.others)
    return sorted(found.values(), key=lambda w: w.cycles)


def _surcharge(brush: Brush, row: int, scattered: bool, turns: bool) -> float:
    """What the cycles of a brush are multiplied by for what is not seen in its code.

    Where rows are gathers or scatters, registers hold what is transposed, and not for long; it does not count then
    which loop they are along.
    """
    registers = brush.width / row
    factor = 1 + (0 if scattered else REGISTERS) * registers
    if registers < LEAST_REGISTERS and not is_of_one_loop(brush):
        factor *= FEWER
    if brush.rank < MAX_DIMENSIONS or turns:
        each = ROW if brush.rank < MAX_DIMENSIONS else TURNED
        return factor * (1 + each * prod(brush.extents[:-1]))
    outer, middle, _ = brush.extents
    return factor * (1 + MIDDLE * (middle - 1)) * PLANES ** (outer.bit_length() - 1)


def candidates(row: int, levels: int) -> tuple[list[Brush], list[Kind]]:
    """The brushes that are weighed: along the innermost loop alone, and others. A register has `row` elements."""
    levels = min(levels, MAX_DIMENSIONS)
    if levels == MAX_DIMENSIONS:
        alone, leading = [(1, 1, row), (1, 1, 2 * row)], 2
        rows = [(4, 1, row), (1, 4, row), (2, 1, row), (2, 2, row), (2, 1, 2 * row), (1, 2, row)]
    else:
        alone, leading = [(1, row), (1, 2 * row)], 1
        rows = [(4, row), (2, row), (8, row), (2, 2 * row), (4, 2 * row), (2, 4 * row), (1, 4 * row)]

    def brushes(shapes: Iterable[tuple[int, ...]]) -> list[Brush]:
        whole = ((1,) * (levels - len(shape)) + shape for shape in shapes)
        return [Brush(e, tuple(reversed(range(levels)))) for e in whole if prod(e) <= MOST_LANES]

    def kind(shapes: Iterable[tuple[int, ...]], leading: int = 1, *, short: bool = False) -> Kind:
        found = brushes(shapes)
        return Kind(found[:leading], found[leading:], short)

    squares, columns = _squares(row), [(row, 1), (2 * row, 1)]
    shapes: list[Sequence[tuple[int, ...]]] = [squares, columns]
    if levels == MAX_DIMENSIONS:
        squares.append((8, row))
        shapes.append([(high, 1, wide) for high, wide in squares])
    return brushes(alone), [kind(rows, leading), *(kind(each, short=True) for each in shapes)]


def _squares(row: int) -> list[tuple[int, int]]:
    """Boxes of rows shorter than a register, the one of four rows of half a register first."""
    return [
        (high, wide)
        for high in (4, 2, 8, 16)
        for wide in (row // 2, row // 4)
        if wide >= 2 and row <= high * wide <= 8 * row
    ]


def _has_loops(innermost: ParallelLoop) -> bool:
    """Whether an iteration of a nest has loops of its own, in which rows are read again and again."""
    function = innermost.loop.header.function
    assert function is not None
    view = cfg_of(function)
    headers = {view.blocks[loop.header] for loop in loop_forest(view.cfg).loops} - {innermost.loop.header}
    return not headers.isdisjoint(innermost.loop.blocks)


def is_of_one_loop(brush: Brush) -> bool:
    """Whether lanes run along one loop alone."""
    return sum(extent > 1 for extent in brush.extents) == 1


def elements_of_register(module: Module, levels: Sequence[ParallelLoop], isa: Isa) -> int:
    """Elements of a register, of the widest that are accessed."""
    accesses = [i for block in levels[-1].loop.blocks for i in block.instructions]
    return elements_of_accessed(accesses, module.layout, isa)


def elements_of_accessed(instructions: Iterable[Instruction], layout: DataLayout, isa: Isa) -> int:
    """Elements of a register, of the widest that the instructions access."""
    accessed = [layout.bit_size(i.accessed_type) for i in instructions if i.is_plain_access]
    return max(2, isa.vector_bits // min(64, max(accessed, default=32)))


def _costs(
    module: Module,
    levels: tuple[ParallelLoop, ...],
    bounds: Sequence[int],
    brush: Brush,
    boscc: Boscc,
    switches: Switches,
    name: str,
) -> VectorCosts | None:
    """What a lane group costs with a brush; the module is as before."""
    isa, lanes, before = boscc.isa, lanes_of(brush, len(levels)), set(module.functions)
    dimension = {lanes.along(d): d for d in range(len(lanes.extents))}
    axes = [dimension.get(axis) for axis in range(len(levels))]
    body = outline_nest(module, levels, axes, name, bounds=bounds).body
    try:
        if why_in_order(body) is not None:
            return None
        called = FunctionVectorizer(module, lanes, lambda *_: None, isa, boscc, Runner(), switches)
        unit = called.unit(body, all_uniform(body, lanes, len(levels)), SimdForm(f"{name}.simd"))
        Runner().run(BODIES, unit)
        if why_not_vectorized(body) is not None:
            return None
        may_turn = has_indexed_gathers(unit.divergence, body.args[: len(levels)])
        Runner().run(narrowing_of_boxes(switches.without), unit)
        Runner(left_out=frozenset(switches.without)).run(LANES, unit)
        # Vectors of addresses, where pieces have been found instead.
        remove_dead_instructions(unit.function)
        costs = vector_costs(unit.function, isa)
        costs.may_turn = may_turn
        costs.replaces = unit.summary.replacement.weighed
        return costs
    finally:
        for made in set(module.functions) - before:
            if module.functions[made].blocks:
                del module.functions[made]
