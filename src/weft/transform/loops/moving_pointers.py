"""Pointers that move along arrays become places counted from where they begin.

    p = φ(a, next)                     n = φ(0, n + 1); p = a + n
    next = p + 1                       next = a + (n + 1)

``for (i = 0; i < n; i++) *p++ = *q++;`` has such pointers. What analyses and transforms loops knows integers that
count, and addresses as an array's begin and such integers.

Precondition: canonical P-LLVM. Postcondition: in no counted loop does a pointer move by the same number of elements in
each iteration. Preserves the program under FR: each address is the same number as before, and is used where it was.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.ir import Builder, ConstInt, Function, Instruction
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I64, PointerType


def count_moving_pointers(function: Function) -> int:
    """Give the counted loops of a function places in the stead of moving pointers; how many pointers that were."""
    view = cfg_of(function)
    found = 0
    for loop in loop_forest(view.cfg).loops:
        counted = counted_loop(view, loop, early=True)
        if isinstance(counted, str):
            continue
        places: dict[int, Instruction] = {}
        for phi in [p for p in counted.header.phis() if isinstance(p.type, PointerType)]:
            step = _step_of(phi, counted)
            if step is not None:
                if step not in places:
                    places[step] = _place(counted, step)
                _replace(phi, counted, places[step])
                found += 1
    return found


def _step_of(phi: Instruction, loop: CountedLoop) -> int | None:
    """By how many elements a pointer moves in each iteration; None where that is no number, or it does not."""
    if set(phi.blocks) != {loop.preheader, loop.latch}:
        return None
    following = phi.incoming_value(loop.latch)
    if not isinstance(following, Instruction) or following.op != "getelementptr":
        return None
    pointer, *indices = following.operands
    if pointer is not phi or len(indices) != 1 or not isinstance(indices[0], ConstInt):
        return None
    return indices[0].signed or None


def _place(loop: CountedLoop, step: int) -> Instruction:
    """A counter of elements."""
    place = Instruction("phi", I64)
    loop.header.insert(0, place)
    behind = Builder(before=loop.latch.terminator)
    place.add_incoming(const_int(0), loop.preheader)
    place.add_incoming(behind.binary("add", place, const_int(step), ("nsw",)), loop.latch)
    return place


def _replace(phi: Instruction, loop: CountedLoop, place: Instruction) -> None:
    start, following = phi.incoming_value(loop.preheader), phi.incoming_value(loop.latch)
    assert isinstance(following, Instruction) and isinstance(following.operands[1], ConstInt)
    type, flags = following.attrs["source_type"], following.flags
    first = next(loop.header.non_phis())
    here = Builder(before=first)
    here.loc = phi.loc
    address = here.gep(type, start, (place,), flags, phi.name)
    phi.replace_all_uses(address)
    if any(user is not phi for user in following.users):
        there = Builder(before=following)
        there.loc = following.loc
        moved = there.binary("add", place, const_int(following.operands[1].signed), ("nsw",))
        following.replace_all_uses(there.gep(type, start, (moved,), flags, following.name))
    phi.drop_operands()
    phi.erase()
    following.erase()
