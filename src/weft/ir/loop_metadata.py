"""Marks on loops: ``!llvm.loop`` of the branch that goes back to the header."""

from __future__ import annotations

from collections.abc import Iterable

from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.metadata import MDString, MDTuple, MDValue, Metadata
from weft.ir.types import I1, I32

PARALLEL = "weft.loop.parallel"
"""Iterations do not meet in memory: what a front end writes for a parallel loop of its language."""

PROVED = "weft.loop.proved"
"""What is said of a loop's iterations has been found, with all that it rests on tested before the loop."""

IN_STEP = "weft.loop.in_step"
"""So many iterations may run in lanes, group after group, but not in any order."""

IN_GRAINS = "weft.loop.in_grains"
"""What iterations in lock step hand on is in cells alone, which each lane group combines with something."""

ROWS = "weft.loop.rows"
"""It is the outermost of a nest whose loops are too short for boxes: the version for when they are."""

STREAMS = "weft.loop.streams"
"""As `ROWS`, of a nest that waits for memory where it is large."""

CLOSE = "weft.loop.close_rows"
"""It is the outermost of a nest whose rows compete for the same sets of a cache: the version for when they do."""

SHORT_ROWS = "weft.loop.short_rows"
"""It is the outermost of a nest whose innermost loop has few iterations: the version for when it has."""

ALONE = "weft.loop.alone"
"""Lanes run along it, not along loops in it, which have few iterations: the version for when they have."""

IN_PLACE = "weft.loop.in_place"
"""It is to run in lanes where it stands, on the thread that comes there."""

KEPT = "weft.loop.kept"
"""It is the outermost of a promised nest that another version of is proved: the version for when a test fails."""

APART = "weft.loop.apart"
"""What is stored in it is apart from all else that is accessed in it by way of other parameters of the function."""

_INDEPENDENT = "llvm.loop.parallel_accesses"

_OF_UNROLLING = "llvm.loop.unroll."

_UNROLL = "llvm.loop.unroll.count"

_UNROLL_NEVER = "llvm.loop.unroll.disable"

_UNROLL_KNOWN = "llvm.loop.unroll.runtime.disable"

_VECTORIZE = "llvm.loop.vectorize.enable"

_WIDTH = "llvm.loop.vectorize.width"

_INTERLEAVE = "llvm.loop.interleave.count"

_MASKED = "llvm.loop.vectorize.predicate.enable"


def mark_parallel(back_edge: Instruction, *, proved: bool = False) -> None:
    """Promise that the iterations of the loop with this back edge are independent, or note that they are."""
    _mark(back_edge, (PARALLEL, PROVED) if proved else (PARALLEL,))


def mark_in_place(back_edge: Instruction) -> None:
    """Note that iterations of the loop with this back edge are independent, and that it is to run where it stands."""
    _mark(back_edge, (PARALLEL, PROVED, IN_PLACE))


def mark_in_step(back_edge: Instruction, lanes: int, *, in_grains: bool = False) -> None:
    """Note that iterations of the loop with this back edge may run in so many lanes, in lock step and in order."""
    properties = (PROVED, IN_GRAINS) if in_grains else (PROVED,)
    _mark(back_edge, properties, MDTuple([MDString(IN_STEP), MDValue(ConstInt(I32, lanes))]))


def mark_version(back_edge: Instruction, what: str) -> None:
    """Note, beside what is noted already, which version of its nest the loop with this back edge begins."""
    _add(back_edge, MDTuple([MDString(what)]))


def mark_apart(back_edge: Instruction) -> None:
    """Note, beside what is noted already, that arrays are `APART` in the loop with this back edge."""
    _add(back_edge, MDTuple([MDString(APART)]))


def mark_scalar(back_edge: Instruction) -> None:
    """Ask LLVM not to vectorize the loop with this back edge."""
    wish = MDTuple([MDString(_VECTORIZE), MDValue(ConstInt(I1, 0))])
    _add(back_edge, wish)


def mark_independent(back_edge: Instruction, accesses: Iterable[Instruction]) -> None:
    """Tell LLVM to ask nothing of memory before it vectorizes the loop with this back edge and these accesses.

    It reads that as a promise, as `weft.analysis.loops.loop_promises` does: for code that only LLVM sees.
    """
    group = MDTuple([], distinct=True)
    for access in accesses:
        access.set_metadata("llvm.access.group", group)
    _add(back_edge, MDTuple([MDString(_INDEPENDENT), group]))


def mark_masked(back_edge: Instruction, lanes: int) -> None:
    """Let LLVM vectorize the loop with this back edge in so many lanes, the last iterations under a mask.

    Where it is asked to, it warns the user if it does not.
    """
    for name, type, value in ((_WIDTH, I32, lanes), (_INTERLEAVE, I32, 1), (_MASKED, I1, 1)):
        _add(back_edge, MDTuple([MDString(name), MDValue(ConstInt(type, value))]))


def is_masked(back_edge: Instruction) -> bool:
    """Whether LLVM is to vectorize the loop with this back edge with the last iterations under a mask."""
    return any(p.items[:1] == [MDString(_MASKED)] for p in _noted(back_edge))


def mark_seldom(back_edge: Instruction) -> None:
    """Ask LLVM neither to vectorize nor to unroll the loop with this back edge, as it hardly ever runs."""
    mark_scalar(back_edge)
    mark_never_unrolled(back_edge)


def mark_rolled(back_edge: Instruction) -> None:
    """Ask LLVM not to unroll the loop with this back edge where it does not know how many rounds there are."""
    _add(back_edge, MDTuple([MDString(_UNROLL_KNOWN)]))


def is_scalar(back_edge: Instruction) -> bool:
    """Whether LLVM is asked not to vectorize the loop with this back edge."""
    wishes = [p.items[1] for p in _noted(back_edge) if p.items[:1] == [MDString(_VECTORIZE)]]
    return any(isinstance(w, MDValue) and isinstance(w.value, ConstInt) and not w.value.value for w in wishes)


def is_seldom(back_edge: Instruction) -> bool:
    """Whether LLVM is asked neither to vectorize nor to unroll the loop with this back edge."""
    return is_scalar(back_edge) and is_never_unrolled(back_edge)


def mark_unrolled(back_edge: Instruction, times: int) -> None:
    """Ask LLVM to run so many iterations of the loop with this back edge in one."""
    _add(back_edge, MDTuple([MDString(_UNROLL), MDValue(ConstInt(I32, times))]))


def mark_never_unrolled(back_edge: Instruction) -> None:
    """Ask LLVM not to unroll the loop with this back edge."""
    _add(back_edge, MDTuple([MDString(_UNROLL_NEVER)]))


def is_never_unrolled(back_edge: Instruction) -> bool:
    """Whether the loop with this back edge is not to be unrolled."""
    wish = unrolling(back_edge)
    return wish is not None and any(
        isinstance(p, MDTuple) and p.items[:1] == [MDString(_UNROLL_NEVER)] for p in wish.items
    )


def forget_unrolling(back_edge: Instruction) -> None:
    """Forget what is noted of unrolling the loop with this back edge, but that it is not to be."""
    known = back_edge.metadata.get("llvm.loop")
    if unrolling(back_edge) is None or is_never_unrolled(back_edge):
        return
    assert isinstance(known, MDTuple)
    kept = [p for p in known.items[1:] if not (isinstance(p, MDTuple) and _is_of_unrolling(p))]
    node = MDTuple([None, *kept], distinct=True)
    node.items[0] = node
    back_edge.set_metadata("llvm.loop", node)


def unrolling(back_edge: Instruction) -> MDTuple | None:
    """What is noted of unrolling the loop with this back edge, and nothing else; None if nothing is.

    LLVM may be asked to unroll it, so or so many times or as it likes, or not to.
    """
    known = back_edge.metadata.get("llvm.loop")
    if not isinstance(known, MDTuple):
        return None
    wishes = [p for p in known.items[1:] if isinstance(p, MDTuple) and _is_of_unrolling(p)]
    if not wishes:
        return None
    node = MDTuple([None, *wishes], distinct=True)
    node.items[0] = node
    return node


def _is_of_unrolling(noted: MDTuple) -> bool:
    name = noted.items[0] if noted.items else None
    return isinstance(name, MDString) and name.text.startswith(_OF_UNROLLING)


def unmark(back_edge: Instruction) -> None:
    """Forget what is noted of the loop with this back edge."""
    back_edge.set_metadata("llvm.loop", None)


def _noted(back_edge: Instruction) -> list[MDTuple]:
    known = back_edge.metadata.get("llvm.loop")
    properties = known.items[1:] if isinstance(known, MDTuple) else ()
    return [p for p in properties if isinstance(p, MDTuple)]


def _add(back_edge: Instruction, noted: MDTuple) -> None:
    known = back_edge.metadata.get("llvm.loop")
    properties = known.items[1:] if isinstance(known, MDTuple) else ()
    node = MDTuple([None, *properties, noted], distinct=True)
    node.items[0] = node
    back_edge.set_metadata("llvm.loop", node)


def _mark(back_edge: Instruction, properties: tuple[str, ...], *more: MDTuple) -> None:
    identity: list[Metadata | None] = [None, *(MDTuple([MDString(name)]) for name in properties), *more]
    node = MDTuple(identity, distinct=True)
    node.items[0] = node
    back_edge.set_metadata("llvm.loop", node)
