"""Loads at a counter's next value are at a distance from its present one.

    next = i + 1                       next = i + 1
    x = b[i];  y = b[next]             x = b[i];  y = (b + i)[1]

Where one number serves the loads and the counter, as where ``i + 1`` has a name, LLVM sees that ``y`` is ``x`` of the
next iteration, and hands it on. Its vectorizer then turns two registers around for each vector, where it could load,
and computes what is left at the end of a row one by one, which takes as long as the vectors of a few hundred bytes:
it has no vectors for the ends of loops that hand values on.

Precondition: plain code of one thread. Postcondition: in innermost loops that LLVM's vectorizer may take, what loads at
the next value of a counter has an address of its own, if the same is loaded at the present one; else the same.
Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.analysis.loops.along_rows import carries_only_totals
from weft.graph.loops import Loop, loop_forest
from weft.ir import Builder, ConstInt, Function, Instruction
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import I64


def load_next_places(function: Function) -> int:
    """Give such loads addresses of their own; how many."""
    view = cfg_of(function)
    found = [
        pair
        for loop in loop_forest(view.cfg).loops
        if not loop.children and len(loop.latches) == 1
        for pair in list(_next_places(loop, view))
    ]
    return sum(_take_apart(place, counter) for place, counter in found)


def _next_places(loop: Loop, view: CFGView) -> Iterator[tuple[Instruction, Instruction]]:
    """Addresses at the next value of a counter, each with the counter, where what is there is loaded twice."""
    latch = view.blocks[loop.latches[0]]
    inside = {view.blocks[b] for b in loop.blocks}
    carried = carries_only_totals(loop, view)
    for counter in view.blocks[loop.header].phis():
        following = counter.incoming_value(latch)
        if not carried or counter.type is not I64 or not _is_next(following, counter):
            continue
        assert isinstance(following, Instruction)
        here = {
            (place.operands[0], place.source_type)
            for place in _places(counter)
            if any(user.block in inside for user in _loads(place))
        }
        for place in _places(following):
            if place.block in inside and (place.operands[0], place.source_type) in here:
                yield place, counter


def _is_next(following: object, counter: Instruction) -> bool:
    """Whether a value is the counter and a number."""
    if not isinstance(following, Instruction) or following.op != "add":
        return False
    return following.operands[0] is counter and isinstance(following.operands[1], ConstInt)


def _places(index: Instruction) -> Iterator[Instruction]:
    """The addresses of elements of that index."""
    for user in index.instruction_users():
        is_element = user.op == "getelementptr" and len(user.operands) == 2 and not user.type.is_vector
        if is_element and user.operands[1] is index:
            yield user


def _loads(place: Instruction) -> list[Instruction]:
    return [u for u in place.instruction_users() if u.op == "load" and u.is_plain_access]


def _take_apart(place: Instruction, counter: Instruction) -> bool:
    """Load from a place by way of the counter; whether something is."""
    loads = _loads(place)
    if not loads:
        return False
    following = place.operands[1]
    assert isinstance(following, Instruction) and place.block is not None
    builder = Builder(place.block, before=place)
    builder.loc = place.loc
    # The present place may be outside of an array, where no iteration accesses it.
    present = builder.gep(place.source_type, place.operands[0], (counter,))
    beside = builder.gep(place.source_type, present, (following.operands[1],))
    for load in loads:
        load.set_operand(0, beside)
    return True
