"""Small arrays of a thread's own that would be values, if the loops that run through them were written out.

    a = cuda.local.array(16, float64)
    m = 1
    while m < 16:
        for k in range(0, 16, 2 * m):
            for j in range(m): ... a[k + j], a[k + j + m] ...
        m *= 2

In lanes each element is a vector, and one that is at a place that changes is in memory. Where loops are written out and
each place is known, elements are in registers, or in their places on the stack as the registers are too few. Loops are
followed to see that (`weft.analysis.loops.followed_rounds`): of each nest the outermost loops that have known rounds. A
loop that makes the array anew in each round is one over iterations, which may run in lanes: it stays. Where there are
only single loops, LLVM writes them out itself, in lanes: cross sections with sums of 5 channels gained nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from weft.analysis.loops.followed_rounds import (
    FollowedRounds,
    Known,
    TooLongError,
    asks_for_its_end,
    can_be_written_out,
)
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.memory.alias import locate
from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent

LARGEST_ARRAY = 512
"""Bytes of an array."""

MOST_CARRIED = 16
"""Elements of an array that a loop around hands on from round to round: each is a value that lives all along."""

LARGEST = 2000
"""Instructions of all loops of a function together, written out: FFT of 16 points has 500, elimination with
pivots in 6 x 6 matrices 1600."""

_LIFETIME = ("llvm.lifetime.",)
_BLOCKS = ("llvm.memset.", "llvm.memcpy.", "llvm.memmove.")


class WrittenOut(Struct, frozen=True):
    """A loop that is to be written out.

    Parameters
    ----------
    loop
        The loop.
    rounds
        How often its body runs.
    exiting, exit
        Where it asks whether to go on, and where it goes then.
    """

    loop: Loop
    rounds: int
    exiting: BasicBlock
    exit: BasicBlock


class _Nest(Struct):
    """A loop with known rounds."""

    chosen: WrittenOut
    size: int
    open: set[Value]
    """Arrays that are accessed at places that are not known."""
    accessed: set[Value]
    chooses: bool
    """Whether an access is at one of few places."""


def own_arrays(function: Function) -> list[Instruction]:
    """Arrays in memory that are only accessed directly, by elements of one size, at places that may change."""
    arrays = [i for i in function.instructions() if i.op == "alloca" and _is_small(i, function)]
    return [a for a in arrays if _has_places(a, function)]


def loops_through_arrays(function: Function, view: CFGView) -> list[WrittenOut]:
    """The loops behind which, written out, arrays are values; none inside another one."""
    arrays = set[Value](own_arrays(function))
    if not arrays:
        return []
    forest = loop_forest(view.cfg)
    through = {
        loop.header
        for array in arrays
        for access, _ in _accesses(array)
        if access.block is not None and _changes(access, function)
        for inner in [forest.innermost[view.index[access.block]]]
        if inner is not None
        for loop in inner.ancestors()
    }
    nests: list[_Nest] = []
    for loop in forest.loops:
        if loop.header in through and not any(n.chosen.loop.contains(loop) for n in nests):
            nest = _followed(function, view, forest, loop, arrays)
            if nest is not None:
                nests.append(nest)
    return _worth(function, view, arrays, nests)


def _worth(function: Function, view: CFGView, arrays: set[Value], nests: list[_Nest]) -> list[WrittenOut]:
    """The nests behind which all places of some array are known, if they are not too long together."""
    inside = {view.blocks[b] for nest in nests for b in nest.chosen.loop.blocks}
    settled = {
        array
        for array in arrays
        if not any(array in nest.open for nest in nests)
        and not any(
            access.block not in inside and _changes(access, function) for access, _ in _accesses(array)
        )
    }
    for nest in nests:
        settled -= {a for a in nest.accessed if _is_carried(view, nest.chosen.loop.parent, a, function)}
    found = [nest for nest in nests if nest.accessed & settled]
    if not any(nest.chooses or nest.chosen.loop.children for nest in found):
        return []
    return [nest.chosen for nest in found] if sum(nest.size for nest in found) <= LARGEST else []


def _is_carried(view: CFGView, around: Loop | None, array: Value, function: Function) -> bool:
    """Whether a loop around may hand on an array of many elements to its next round: it does not make it anew."""
    made = {user.block for user, _ in _accesses(array) if (user.callee_name or "").startswith(_LIFETIME)}
    while around is not None and made.isdisjoint(view.blocks[b] for b in around.blocks):
        if around.parent is None:
            sizes = (_size(user, function) for user, _ in _accesses(array) if user.is_plain_access)
            return _bytes(array, function) > MOST_CARRIED * max(sizes)
        around = around.parent
    return False


def _followed(
    function: Function, view: CFGView, forest: LoopForest, loop: Loop, arrays: set[Value]
) -> _Nest | None:
    if not can_be_written_out(view, loop) or not _may_be_written_out(view, forest, loop, arrays):
        return None
    layout = function.layout
    open, accessed, chosen_of = set[Value](), set[Value](), set[Value]()

    def look(i: Instruction, known: Known) -> None:
        if not i.is_plain_access:
            return
        location = locate(i.pointer, layout)
        if location.base in arrays:
            accessed.add(location.base)
            few = [known.get(term) for term in location.terms]
            chosen = [numbers for numbers in few if numbers is None or len(numbers) > 1]
            if len(chosen) > 1 or None in chosen:
                open.add(location.base)
            elif chosen:
                chosen_of.add(location.base)
                followed.size += len(chosen[0] or ()) * (2 if i.op == "load" else 4)

    followed = FollowedRounds(view, forest, look, LARGEST)
    try:
        runs = followed.follow(loop)
    except TooLongError:
        return None
    if runs is None:
        return None
    exiting, exit = asks_for_its_end(view, loop)
    top = exiting is view.blocks[loop.header] and loop.header != loop.latches[0]
    return _Nest(WrittenOut(loop, runs - top, exiting, exit), followed.size, open, accessed, bool(chosen_of))


def _may_be_written_out(view: CFGView, forest: LoopForest, loop: Loop, arrays: set[Value]) -> bool:
    """Whether a loop makes no such array in each round, is no parallel one and has none in it.

    Nor do lanes do something together in it.
    """
    if any(_is_parallel(view, inner) for inner in forest.loops if loop.contains(inner)):
        return False
    inside = (i for b in loop.blocks for i in view.blocks[b].instructions if i.op == "call")
    return not any(
        is_convergent(i) or ((i.callee_name or "").startswith(_LIFETIME) and arrays & set(i.operands))
        for i in inside
    )


def _is_parallel(view: CFGView, loop: Loop) -> bool:
    blocks = tuple(view.blocks[b] for b in loop.blocks)
    return any(loop_promises(view.blocks[latch], blocks).annotated for latch in loop.latches)


def _is_small(alloca: Instruction, function: Function) -> bool:
    (count,) = alloca.operands
    if not isinstance(count, ConstInt):
        return False
    if _bytes(alloca, function) > LARGEST_ARRAY:
        return False
    sizes = set[int]()
    for user, direct in _accesses(alloca):
        if direct and user.is_plain_access:
            value = user if user.op == "load" else user.stored_value
            if value is alloca or value.type.is_vector:
                return False
            sizes.add(_size(user, function))
        elif not _is_of_all(user, function):
            return False
    return len(sizes) == 1


def _is_of_all(call: Instruction, function: Function) -> bool:
    """Whether a call says how long an array lives, or sets or copies a known part of it, which LLVM takes apart."""
    name = call.callee_name or ""
    if name.startswith(_LIFETIME):
        return True
    if not name.startswith(_BLOCKS) or not isinstance(call.args[2], ConstInt):
        return False
    return not any(
        locate(p, function.layout).terms for p in call.args[:2] if _array_of(p, function) is not None
    )


def _array_of(pointer: Value, function: Function) -> Instruction | None:
    base = locate(pointer, function.layout).base
    return base if isinstance(base, Instruction) and base.op == "alloca" else None


def _bytes(array: Value, function: Function) -> int:
    assert isinstance(array, Instruction)
    (count,) = array.operands
    assert isinstance(count, ConstInt)
    return function.layout.size(array.attrs["allocated_type"]) * count.value


def _size(access: Instruction, function: Function) -> int:
    """Bytes that a load or store accesses."""
    value = access if access.op == "load" else access.stored_value
    return function.layout.store_size(value.type)


def _has_places(alloca: Instruction, function: Function) -> bool:
    return any(_changes(access, function) for access, _ in _accesses(alloca))


def _changes(access: Instruction, function: Function) -> bool:
    """Whether the place of an access is not the same number each time."""
    return access.is_plain_access and bool(locate(access.pointer, function.layout).terms)


def _accesses(array: Value) -> Iterator[tuple[Instruction, bool]]:
    """Who uses the address, or one computed of it, and whether as the place of a load or store."""
    work: list[Value] = [array]
    while work:
        pointer = work.pop()
        for user in pointer.instruction_users():
            if user.op == "getelementptr" and user.operands[0] is pointer:
                work.append(user)
            else:
                yield user, user.op in ("load", "store") and user.pointer is pointer
