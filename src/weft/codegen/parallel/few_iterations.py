"""Loops that have another version for few iterations.

A loop inside of another one that adds something up costs, each time, the masked lane group at its end and the
combination of lanes. Where it has few iterations it is cheaper to go through them (`keep_for_few`). Boxes of lanes that
are greater than the nest that they are cut out of waste lanes, or have masks everywhere, and nests that wait for memory
gain nothing from them; there lanes run along one loop (`keep_for_rows`). Where the innermost loop has a fraction of a
register's lanes as iterations, as channels of pixels or columns of small matrices, lanes along it are idle, and boxes
of several such rows are not (`keep_for_short_rows`). Where the loops that combine values have few iterations each time,
and the one around them is parallel, too, lanes run along that (`weft.codegen.parallel.lanes_around`).

Precondition: a loop-closed function, a parallel loop of it. Postcondition: a copy of the loop runs where iterations are
few; nobody takes it for a parallel one, or its nest for one that boxes are cut out of. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop, parallel_loop
from weft.codegen.order.width import one_register
from weft.graph.loops import loop_forest
from weft.ir import TRUE, BasicBlock, Builder, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import ROWS, SHORT_ROWS, STREAMS, mark_version, unmark
from weft.machine.targets import Isa
from weft.transform.loops.version_loop import version_loop

REGISTERS = 4
"""So many registers of 32-bit values are as many iterations as lanes pay for: on AVX-512, sums and maxima of rows of 20
and 40 doubles took 4 and 1.5 times as long in lanes, of 300 a fifth."""


def few_for(width: int | None, isa: Isa) -> int:
    """Fewer iterations of a loop that combines values run in order."""
    return width or REGISTERS * one_register(isa)


def keep_for_few(
    module: Module, plan: ParallelLoop, width: int | None, isa: Isa, *, proved: bool = False
) -> ParallelLoop:
    """Keep a copy of a loop with reductions for few iterations; the loop as it is then."""
    if not plan.reductions:
        return plan
    function = plan.loop.header.function
    assert function is not None
    least = few_for(width, isa)
    view = cfg_of(function)
    loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is plan.loop.header)

    def are_many(builder: Builder) -> Value:
        return builder.icmp("uge", build_iterations(plan.loop, builder), const_int(least))

    copies = version_loop(function, view, loop, are_many)
    for latch in loop.latches:
        unmark(copies[view.blocks[latch]].terminator)
    view = cfg_of(function)
    loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is plan.loop.header)
    found = parallel_loop(function, view, loop, module.layout, promised=True, reassociate=True, proved=proved)
    assert isinstance(found, ParallelLoop), found.message
    return found


def keep_for_rows(levels: Sequence[ParallelLoop], least: Sequence[int], most: int | None) -> None:
    """Keep a copy of a nest for when one of its loops has fewer iterations than its box, or all have more than `most`.

    `least` are the extents of the box, outermost first.
    """

    def fits(builder: Builder) -> Value:
        counts = [build_iterations(level.loop, builder) for level in levels]
        wanted = [
            builder.icmp("uge", count, const_int(extent))
            for count, extent in zip(counts, least, strict=True)
            if extent > 1
        ]
        if most is not None:
            total = reduce(lambda a, b: builder.binary("mul", a, b), counts)
            wanted.append(builder.icmp("ule", total, const_int(most)))
        return reduce(lambda a, b: builder.binary("and", a, b), wanted, TRUE)

    keep_version(levels[0], fits, ROWS if most is None else STREAMS, "rows")


def keep_for_short_rows(levels: Sequence[ParallelLoop], least: int, most: int) -> None:
    """Keep a copy of a nest for when its innermost loop has so many iterations."""

    def is_another(builder: Builder) -> Value:
        beyond = builder.binary("sub", build_iterations(levels[-1].loop, builder), const_int(least))
        return builder.icmp("ugt", beyond, const_int(most - least))

    keep_version(levels[0], is_another, SHORT_ROWS, "short")


def keep_version(outer: ParallelLoop, test: Callable[[Builder], Value], mark: str, name: str) -> BasicBlock:
    """Keep a copy of a nest, with a mark, for when a test fails that is made before it; the header of the copy."""
    header = outer.loop.header
    return keep_copies(header, test, mark, name)[header]


def keep_copies(
    header: BasicBlock, test: Callable[[Builder], Value], mark: str, name: str
) -> dict[BasicBlock, BasicBlock]:
    """As `keep_version`, of the loop with this header; the copy of each block."""
    function = header.function
    assert function is not None
    view = cfg_of(function)
    loop = next(x for x in loop_forest(view.cfg).loops if view.blocks[x.header] is header)
    copies = version_loop(function, view, loop, test)
    copies[header].name = f"{header.name}.{name}"
    for latch in loop.latches:
        mark_version(copies[view.blocks[latch]].terminator, mark)
    return copies
