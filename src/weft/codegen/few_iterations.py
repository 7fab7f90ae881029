"""Inner loops that combine values, in lanes only where they have enough iterations.

A loop inside of another one that adds something up costs, each time, the masked lane group at its end and the
combination of lanes. Where it has few iterations it is cheaper to go through them.

Precondition: a loop-closed function, a parallel loop of it. Postcondition: a copy of the loop, which nobody takes for a
parallel one, runs where iterations are few. Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import build_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop, parallel_loop
from weft.codegen.width import one_register
from weft.graph.loops import loop_forest
from weft.ir import Builder, Module, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import unmark
from weft.machine.targets import Isa
from weft.transform.loops.version_loop import version_loop

REGISTERS = 4
"""So many registers of 32-bit values are as many iterations as lanes pay for: on AVX-512, sums and maxima of rows of 20
and 40 doubles took 4 and 1.5 times as long in lanes, of 300 a fifth."""


def keep_for_few(
    module: Module, plan: ParallelLoop, width: int | None, isa: Isa, *, proved: bool = False
) -> ParallelLoop:
    """Keep a copy of a loop with reductions for few iterations; the loop as it is then."""
    if not plan.reductions:
        return plan
    function = plan.loop.header.function
    assert function is not None
    least = width or REGISTERS * one_register(isa)
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
