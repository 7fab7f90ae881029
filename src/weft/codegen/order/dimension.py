"""The dimension whose neighbours share a lane group.

Karrenberg and Hack (§2.2) name the heuristic and leave it open: the dimension along which most memory operations
become contiguous. Here each access counts by what it costs in the form that it takes along a dimension, ten times as
much in each loop around it. Lanes that store down a column have a cache line each, which is fetched and written back:
that outweighs a few lookups, which lanes along the column might have in common.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.divergence import Divergence, FunctionFacts, analyze_divergence
from weft.analysis.loops.own_walks import is_far
from weft.analysis.shapes import Shape, domain_named
from weft.costs.constants import constants_of
from weft.costs.memory import form_of, is_a_step_apart, memory_cycles
from weft.ir import Function, Instruction, Value
from weft.machine.targets import Isa
from weft.transform.groups.merge_groups import GroupMerge, find_merge
from weft.transform.groups.work_items import WorkItems

Along = Callable[[int], Divergence]
"""The divergence of a kernel in lane groups along a dimension."""


def analyze_along(facts: FunctionFacts, dimension: int, width: int) -> Divergence:
    """Analyze a kernel of these facts in lane groups of `width` threads along a dimension, 0 for x."""
    domain = domain_named("product", (width,))
    shapes: dict[Value, Shape] = {WorkItems.of(facts.function).tid[dimension]: domain.strided(1, 64, width)}
    return analyze_divergence(facts.function, domain=domain, initial=shapes, width=width, facts=facts)


def choose_dimension(kernel: Function, along: Along, width: int, isa: Isa) -> int:
    """Return the dimension, 0 for x, along which lane groups of `kernel`, of `width` threads, are best cut.

    Others than x are taken only if rows go on beyond work-groups, which may be short along them.
    """
    positions = WorkItems.of(kernel).tid
    choices = [d for d in (1, 2) if positions[d].is_used and find_merge(kernel, d) == GroupMerge()]
    if not choices:
        return 0
    if not positions[0].is_used and len(choices) == 1:
        return choices[0]
    if all(form_of(along(0), i) != "gather" for i in kernel.instructions() if i.is_plain_access):
        return 0
    return min((0, *choices), key=lambda d: _cycles(along(d), width, isa))


def _cycles(divergence: Divergence, width: int, isa: Isa) -> float:
    """Cycles of the memory operations of a lane group, the lines that its lanes store to among them."""
    constants, total = constants_of(isa), memory_cycles(divergence, width, isa)
    view, loops = divergence.facts.view, divergence.facts.propagation.loops
    for number, block in enumerate(view.blocks):
        stores = [i for i in block.instructions if i.op == "store" and i.is_plain_access]
        lines = width * sum(_has_own_lines(store, divergence) for store in stores)
        total += constants.loop_weight ** loops.depth(number) * constants.own_line[1] * lines
    return total


def _has_own_lines(access: Instruction, divergence: Divergence) -> bool:
    """Whether lanes access places a step apart that is far, or known when the program runs only, as down a column."""
    if not is_a_step_apart(divergence, access):
        return False
    shape = divergence.shape(access.pointer)
    known = all(isinstance(stride, int) for stride in shape.strides)
    return not known or is_far(shape, divergence.function.layout.size(access.accessed_type))
