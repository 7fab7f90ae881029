"""Loads that a loop would make in iterations that it may not come to: which bytes, and whether they are there.

The bytes are those of `weft.analysis.sequential.sections`, in all iterations that there could be. That they lie in
memory of a known size (`known_memory`) can be tested before the loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.known_memory import size_of
from weft.analysis.sequential.run_time_tests import is_known_before
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.sections import section_of
from weft.analysis.symbolic.expression import Expression
from weft.ir import Instruction


def bounds_to_test(
    accesses: Accesses, loop: LoopContext, loads: Iterable[Instruction]
) -> list[Expression] | str:
    """What has to be 0 or greater, that all iterations of `loop` may make these loads; or why nobody knows."""
    wanted = dict.fromkeys(loads)
    found: dict[Expression, None] = {}
    known: set[Instruction] = set()
    for access in accesses.of(loop):
        if (
            not isinstance(access, Access)
            or access.instruction not in wanted
            or access.scope is not loop.scope
        ):
            continue
        size = None if access.base is None else size_of(accesses.reconstruction, loop, access.base, found)
        if size is None:
            name = "what it loads" if access.base is None else f"what {access.base.name} leads to"
            return (
                f"it is not known how much memory there is of {name}, which iterations behind it would load"
            )
        low, end = section_of(accesses, access, loop)
        if low is None or end is None:
            return "it is not known which elements iterations behind it would load"
        for bound in (low, size - end):
            if bound.constant is None or bound.constant < 0:
                found[bound] = None
        known.add(access.instruction)
    if len(known) != len(wanted):
        return "it is not known what iterations behind it would load"
    if any(not is_known_before(accesses, s, loop) for e in found for s in e.symbols()):
        return "which elements iterations behind it would load is not known before the loop"
    return list(found)
