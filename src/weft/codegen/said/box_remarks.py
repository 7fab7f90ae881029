"""What a box of lanes loads, stores and shuffles, as a remark: the instruction mix of Moll, Fig. 13.13, by element."""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.widen.lanes import LaneSpace
from weft.costs.vector_code import VectorCosts, vector_costs
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.diag.source import SourceSpan
from weft.diag.words import counted
from weft.ir import Function
from weft.ir.cfg_edit import remove_dead_instructions
from weft.machine.targets import Isa


def remark_box(
    log: RemarkLog,
    functions: Sequence[Function],
    lanes: LaneSpace,
    isa: Isa,
    what: str,
    span: SourceSpan | None = None,
) -> None:
    """Note what the SIMD functions of a box do, each loop's body once; nothing where lanes run along one axis.

    Parameters
    ----------
    what
        What runs in the lanes, one of them.
    """
    if sum(extent > 1 for extent in lanes.extents) < 2:
        return
    total = VectorCosts()
    for function in functions:
        # Vectors of addresses, where pieces have been found instead.
        remove_dead_instructions(function)
        costs = vector_costs(function, isa, weight=1)
        total.loads += costs.loads
        total.stores += costs.stores
        total.shuffles += costs.shuffles
    loads, stores, shuffles = round(total.loads), round(total.stores), round(total.shuffles)
    message = (
        f"a box of {lanes.width} {what}s loads {counted(loads, 'register', 'registers')}, stores {stores} and takes "
        f"{counted(shuffles, 'shuffle', 'shuffles')} of a register: {total.loads / lanes.width:.2g} loads and "
        f"{total.shuffles / lanes.width:.2g} shuffles for each {what}"
    )
    log.add(RemarkKind.MEMORY, message, span, pass_name="widening")
