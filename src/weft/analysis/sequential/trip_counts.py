"""How often loops run (Juravle, §4.1): a loop with one way out, of which the test compares what grows by a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.sequential.guards import facts_on_the_way, inequalities_of
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Expression, as_expression, floor_division, maximum
from weft.analysis.symbolic.facts import Facts

if TYPE_CHECKING:
    from weft.analysis.sequential.reconstruction import Reconstruction


def count_iterations(made: Reconstruction, loop: LoopContext) -> Expression | None:
    """How often a loop's body runs, None where that is not known before it is entered."""
    if len(loop.loop.exit_edges) != 1 or loop.loop.is_irreducible:
        return None
    scope, exiting = loop.scope, loop.loop.exit_edges[0][0]
    if exiting != loop.loop.header and loop.loop.latches != (exiting,):
        return None
    block = scope.view.blocks[exiting]
    stays = [b for b in block.terminator.successors if scope.view.index[b] in loop.loop.blocks]
    guards = list(scope.edge_guards(block, stays[0])) if len(stays) == 1 else []
    # Conditions that are no single comparison may end the loop earlier.
    if len(guards) != 1 or guards[0].value is not block.terminator.operands[0]:
        return None
    inequalities = inequalities_of(made, scope, guards[0])
    if len(inequalities) != 1:
        return None
    # The loop goes on while room - step·iteration is not negative.
    parts = inequalities[0].coefficients(loop.iteration)
    if len(parts) != 2 or any(loop.contains(s.loop) for s in parts[0].symbols()):
        return None
    step = parts[1].constant
    if step is None or step >= 0:
        return None
    trips = floor_division(parts[0], -step) + 1
    known = Facts(facts_on_the_way(made, loop.scope, loop.header))
    if not known.is_nonnegative(trips):
        trips = maximum([trips, as_expression(0)])
    return trips if made.is_tested_first(loop) else trips + 1
