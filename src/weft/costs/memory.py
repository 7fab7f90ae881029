"""What the memory operations of a function cost in lanes."""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.costs.constants import constants_of
from weft.costs.instructions import memory_cost
from weft.ir import Instruction
from weft.machine.targets import Isa

_NAMES = {Form.UNIFORM: "uniform", Form.CONTIGUOUS: "contiguous"}


def form_of(divergence: Divergence, access: Instruction) -> str:
    """How an access is made: ``uniform``, ``contiguous`` or ``gather``."""
    return _NAMES.get(divergence.access_form(access).form, "gather")


def is_a_step_apart(divergence: Divergence, access: Instruction) -> bool:
    """Whether the addresses of neighbouring lanes are a step apart, be it known when the program runs only."""
    extents = divergence.engine.threads.domain.extents
    strides = divergence.shape(access.pointer).strides
    wide = [stride for extent, stride in zip(extents, strides, strict=False) if extent != 1]
    return len(wide) == 1 and wide[0] is not None and not divergence.engine.leads_to_stack(access.pointer)


def memory_cycles(divergence: Divergence, width: int, isa: Isa) -> float:
    """Cycles of the memory operations of a lane group."""
    view, loops = divergence.facts.view, divergence.facts.propagation.loops
    layout = divergence.function.layout
    each, total = constants_of(isa).loop_weight, 0.0
    for number, block in enumerate(view.blocks):
        weight = each ** loops.depth(number)
        for access in (i for i in block.instructions if i.is_plain_access):
            bits = 8 * layout.size(access.accessed_type)
            total += weight * memory_cost(access.op, form_of(divergence, access), bits, width, isa).cycles
    return total
