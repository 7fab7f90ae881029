"""The passes that bring rows of lanes' own near: those that are read again are copied, others go in strips."""

from __future__ import annotations

from weft.analysis.loops.reread_rows import reread_rows
from weft.analysis.loops.row_strips import row_strips
from weft.codegen.lanes.lane_facts import UNMASKED, VECTORIZABLE
from weft.codegen.lanes.lane_unit import LaneUnit
from weft.costs.constants import constants_of
from weft.costs.own_rows import in_pieces
from weft.ir.locations import span_of
from weft.passes.declared import Pass
from weft.transform.loops.copy_rows import copy_rows
from weft.transform.loops.strips_of_rows import access_in_strips
from weft.transform.scalar_replacement.policy import PolicyName


def _copy_rows(unit: LaneUnit) -> bool:
    found = reread_rows(unit.divergence)
    rows = found.fitting(constants_of(unit.isa).row_copies, unit.lanes.width)
    if not rows:
        return False
    unit.summary.copied = [span_of(row.loads[0]) for row in rows]
    unit.summary.replacement.arrays_apart |= found.arrays_apart
    copy_rows(unit.function, rows)
    unit.forget()
    return True


def _access_in_strips(unit: LaneUnit) -> bool:
    if unit.form.entry_mask is not None or sum(extent > 1 for extent in unit.lanes.extents) != 1:
        return False
    found = row_strips(unit.divergence)
    strips = in_pieces(found.strips, unit.lanes.width, unit.isa)
    if not strips:
        return False
    unit.summary.strips = [span_of(access) for s in strips for access in s.accesses]
    unit.summary.replacement.arrays_apart |= found.arrays_apart
    access_in_strips(unit.function, strips)
    unit.forget()
    return True


ROW_COPIES: Pass[LaneUnit] = Pass(
    "row copies",
    "rows that each lane reads again and again lie side by side in the nearest cache, where they fit",
    _copy_rows,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=lambda unit: unit.switches.scalar_replacement != PolicyName.OFF,
)
ROW_STRIPS: Pass[LaneUnit] = Pass(
    "row strips",
    "rows of lanes' own that loops go along are loaded and stored a line of the cache at a time",
    _access_in_strips,
    requires=(VECTORIZABLE, UNMASKED),
    provides=(VECTORIZABLE, UNMASKED),
    optional=True,
    applies=lambda unit: unit.switches.scalar_replacement != PolicyName.OFF,
)
