"""Comparisons in boxes of lanes that rows of the box have in common, or columns."""

from __future__ import annotations

from math import prod

from weft.analysis.divergence import Divergence
from weft.costs.constants import constants_of
from weft.costs.instructions import instruction_cost
from weft.ir import Instruction
from weft.machine.targets import Isa


def compared_alike(comparison: Instruction, divergence: Divergence, width: int, isa: Isa) -> float | None:
    """Cycles of a comparison that rows of a box have in common, or columns: it is made once for all of them.

    What comes of it is put to where all lanes are. None where each lane makes it.
    """
    extents = divergence.engine.threads.domain.extents
    shapes = [divergence.shape(v) for v in comparison.operands]
    if len(extents) < 2 or any(shape.is_bottom or len(shape.strides) < len(extents) for shape in shapes):
        return None
    several = [e or 1 for d, e in enumerate(extents) if any(shape.strides[d] != 0 for shape in shapes)]
    lanes = prod(several)
    if lanes >= width:
        return None
    bits = 8 * divergence.function.layout.size(comparison.operands[0].type)
    return instruction_cost("icmp", bits, lanes, isa).cycles + constants_of(isa).spread_mask
