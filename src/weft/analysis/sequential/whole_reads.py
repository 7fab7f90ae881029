"""What tests need not ask of places that a loop looks up in arrays that it only reads.

    for x in range(columns):                     the place of pixels[k + 1] is not known before the loop:
        k = int(scale * x)                       that nothing is stored there is tested of the whole array,
        result[x] = pixels[k] + pixels[k + 1]    wherever in it k + 1 is

What describes such a place may rest on assumptions, as that ``k + 1`` does not wrap around, which nobody can test where
``k`` is computed in the loop. They do not matter: a read outside of its array has no meaning in any order.
"""

from __future__ import annotations

from weft.analysis.sequential.accesses import Access, Accesses, Opaque
from weft.analysis.sequential.assumptions import Assumption
from weft.analysis.sequential.known_memory import size_of
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.sequential.verdicts import LoopVerdict
from weft.ir import Argument


def is_scattered(access: Access, loop: LoopContext) -> bool:
    """Whether an address depends on numbers in the loop of which a section may know no more than their type."""
    inside = (s for s in access.offset.symbols() if s.loop is not None and loop.contains(s.loop))
    return any(not isinstance(s.origin, LoopContext) for s in inside)


def needed_assumptions(
    accesses: Accesses, loop: LoopContext, verdict: LoopVerdict, before: LoopContext
) -> tuple[Assumption, ...]:
    """Those assumptions of a loop's verdict that are needed where tests stand `before` it, or a loop around it."""
    whole = _read_as_wholes(accesses, before)
    if not whole or verdict.dependences is None:
        return verdict.assumptions
    about: set[Assumption] = set()
    needed = {*verdict.dependences.assumptions, *accesses.assumed_by(loop.scope, [], loop.header)}
    for access in accesses.of(loop):
        (about if access in whole else needed).update(accesses.assumptions(access))
    return tuple(a for a in verdict.assumptions if a not in about or a in needed)


def _read_as_wholes(accesses: Accesses, loop: LoopContext) -> set[Access | Opaque]:
    """The reads of which tests in front of a loop say no more than which array they are of."""
    found = accesses.of(loop)
    written = {a.base for a in found if isinstance(a, Access) and a.is_write}
    if None in written or any(isinstance(a, Opaque) and a.writes for a in found):
        return set()
    return {
        a
        for a in found
        if isinstance(a, Access)
        and a.base is not None
        and a.base not in written
        and isinstance(a.base.origin, Argument)
        and is_scattered(a, loop)
        and size_of(accesses.reconstruction, loop, a.base, {}) is not None
    }
