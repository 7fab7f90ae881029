"""The dimension whose neighbours share a lane group.

Karrenberg and Hack (§2.2) name the heuristic and leave it open: the dimension along which most memory operations
become contiguous. Here each access counts by what it costs in the form that it takes along a dimension, ten times as
much in each loop around it.
"""

from __future__ import annotations

from weft.analysis.divergence import analyze_divergence
from weft.analysis.divergence.result import Form
from weft.analysis.shapes import Shape, domain_named
from weft.codegen.widen.accesses import accessed_type, is_plain
from weft.graph.loops import loop_forest
from weft.ir import Function, Value
from weft.ir.cfg_view import cfg_of
from weft.ir.layout import parse_datalayout
from weft.machine.costs import memory_cost
from weft.machine.targets import Isa
from weft.transform.merge_groups import can_merge

LOOP_WEIGHT = 10.0
"""How often a loop is thought to run its body."""

_NAMES = {Form.UNIFORM: "uniform", Form.CONTIGUOUS: "contiguous"}


def choose_dimension(kernel: Function, width: int, isa: Isa) -> int:
    """Return the dimension, 0 for x, along which lane groups of `kernel` are best cut.

    Others than x are taken only if rows go on beyond a work-group, which may be short along them.
    """
    positions = [next(a for a in kernel.args if a.name == f"tid.{d}") for d in "xyz"]
    choices = [d for d in (1, 2) if positions[d].is_used and can_merge(kernel, "xyz"[d])]
    if not choices:
        return 0
    if not positions[0].is_used and len(choices) == 1:
        return choices[0]
    return min((0, *choices), key=lambda d: _cost(kernel, d, width, isa))


def _cost(kernel: Function, dimension: int, width: int, isa: Isa) -> float:
    """Cycles of the memory operations of a lane group along `dimension`."""
    domain = domain_named("product", (width,))
    position = next(a for a in kernel.args if a.name == f"tid.{'xyz'[dimension]}")
    shapes: dict[Value, Shape] = {position: domain.strided(1, 64, width)}
    divergence = analyze_divergence(kernel, domain=domain, initial=shapes, width=width)
    view = cfg_of(kernel)
    loops = loop_forest(view.cfg)
    module = kernel.module
    assert module is not None
    layout = parse_datalayout(module.datalayout)
    total = 0.0
    for number, block in enumerate(view.blocks):
        weight = LOOP_WEIGHT ** loops.depth(number)
        for access in filter(is_plain, block.instructions):
            form = _NAMES.get(divergence.access_form(access).form, "gather")
            bits = 8 * layout.size(accessed_type(access))
            total += weight * memory_cost(access.op, form, bits, width, isa).cycles
    return total
