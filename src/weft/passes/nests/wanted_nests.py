"""Which nests in loops over ``prange`` are worth to be looked at as if nobody had promised anything of them.

The promise says that lanes may run along the outermost loop. Others gain more where a nest adds up, calls functions of
mathematics, writes structures, turns rows, or has what LLVM's vectorizer leaves scalar
(`weft.passes.nests.promised_nests`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.along_rows import is_along, is_elsewhere, is_short
from weft.analysis.loops.counted_loops import counted_loop, known_iterations
from weft.analysis.loops.left_scalar import FEWEST, left_scalar
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.loops.own_copies import copies_back, is_on_stack
from weft.analysis.loops.parallel_nests import depends_on
from weft.analysis.loops.row_loops import LONGEST_KNOWN
from weft.analysis.memory.alias import is_identified, locate
from weft.analysis.memory.far_steps import step_of
from weft.analysis.memory.linear_locations import linear_location
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.heap import heap_call
from weft.ir.layout import DataLayout
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function

DEEP = 3
"""Loops of a nest in which adding up is worth boxes and tiles. With two it is a row's total: LLVM adds that up well."""

PAIRED_BYTES = 4
"""Of loads of which two are gathered together."""

FEWEST_PAIRS = 4
"""So many are worth a version of a loop that is tested for. Guess."""

_ROOT = "llvm.sqrt."


def wanted_nests(function: Function, layout: DataLayout, isa: Isa) -> Iterator[tuple[BasicBlock, bool]]:
    """The headers of promised loops, in no other loop, whose nests are worth to be looked at.

    With each is whether its nest has loops along short rows only, as for small matrices. Lanes along these would idle,
    but LLVM makes vectors of such rows where it knows that arrays are apart.
    """
    view = cfg_of(function)
    ranges: Ranges | None = None
    for loop in loop_forest(view.cfg).loops:
        blocks = tuple(view.blocks[b] for b in loop.blocks)
        if loop.parent is not None or len(loop.latches) != 1:
            continue
        told = loop_promises(view.blocks[loop.latches[0]], blocks)
        if not told.parallel or told.proved or any(heap_call(i) for b in blocks for i in b.instructions):
            continue
        if not loop.children:
            gains = _has_neighbours_across_stores(blocks, layout) or _writes_structures(blocks, layout)
            # Where arrays are apart in any case, a version that is tested for it gains nothing.
            if gains and not _are_known_objects(blocks, layout):
                yield view.blocks[loop.header], False
            continue
        inside = _loops_of(loop)[1:]
        if any(copies_back([view.blocks[b] for b in each.blocks], layout) for each in inside):
            # What each iteration does to objects of its own is side by side for lanes along the loop around.
            continue
        if (
            _fills_structures(loop, view, layout)
            or _calls_mathematics(loop, view)
            or _is_left_scalar(loop, view, layout, isa)
            or _adds_up(loop, view, layout)
            or _is_beyond_rows(loop, view, layout)
            or _has_windows(loop, view, layout)
            or _turns_rows(loop, view, layout)
        ):
            ranges = ranges or ranges_of(function, view)
            if not all(is_short(each, view, ranges) for each in inside):
                yield view.blocks[loop.header], False
                continue
        rows = [each for each in inside if not each.children]
        if all(_has_known_rows(each, view) for each in rows) and _stores_inside(loop, view, layout):
            yield view.blocks[loop.header], True


def _are_known_objects(blocks: tuple[BasicBlock, ...], layout: DataLayout) -> bool:
    """Whether all that is accessed in a loop is known to be in different objects, or in the same one."""
    accesses = (i for block in blocks for i in block.instructions if i.op in ("load", "store"))
    return all(is_identified(locate(i.pointer, layout).base) for i in accesses)


def _has_known_rows(loop: Loop, view: CFGView) -> bool:
    """Whether it is known how often a loop goes round, as of rows whose length a launch shows."""
    counted = counted_loop(view, loop)
    iterations = None if isinstance(counted, str) else known_iterations(counted)
    return iterations is not None and iterations <= LONGEST_KNOWN


def _stores_inside(outer: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether loops in one store to arrays, and only read and write there."""
    inside = {b for loop in outer.children for b in loop.blocks}
    accesses = [i for b in inside for i in view.blocks[b].instructions if i.op in ("load", "store")]
    return any(i.op == "store" for i in accesses) and not any(is_on_stack(i, layout) for i in accesses)


def _calls_mathematics(outer: Loop, view: CFGView) -> bool:
    """Whether loops inside of one call functions of mathematics: most of these LLVM computes one by one."""
    inside = {b for loop in outer.children for b in loop.blocks}
    return any(is_mathematics(i, roots=True) for b in inside for i in view.blocks[b].instructions)


def is_mathematics(instruction: Instruction, *, roots: bool = False) -> bool:
    """Whether a function is called that vector math libraries have, or a root if these count."""
    name = instruction.callee_name or ""
    return (roots and name.startswith(_ROOT)) or math_function(name) is not None


def _is_left_scalar(outer: Loop, view: CFGView, layout: DataLayout, isa: Isa) -> bool:
    """Whether LLVM's vectorizer leaves a loop without others in it in order, for what stands in it."""
    left = left_scalar(view, layout, isa)
    return any(not each.children and left.get(each.header) == FEWEST for each in _loops_of(outer)[1:])


def _adds_up(outer: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether a deep nest has totals, or updates elements that one of its loops does not choose."""
    nest = _loops_of(outer)
    if max(loop.depth for loop in nest) - outer.depth + 1 < DEEP:
        return False
    for loop in nest[1:]:
        header, latches = view.blocks[loop.header], [view.blocks[n] for n in loop.latches]
        inside = {view.blocks[b] for b in loop.blocks}
        if (
            not is_short(loop, view, None)
            and loop.depth - outer.depth >= DEEP - 1
            and any(
                step_of(phi, latch) is None or phi.type.is_float for phi in header.phis() for latch in latches
            )
        ):
            return True
        counters = set(header.phis())
        for access in (i for b in inside for i in b.instructions if i.op == "store"):
            place = linear_location(access.pointer, layout)
            if loop.children and not depends_on((place.base, *place.terms), counters, inside):
                return True
    return False


def _is_beyond_rows(outer: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether a loop without others in it stores along a row, with branches around accesses or loads elsewhere.

    LLVM does without SIMD there, or takes it apart: bytes have no masks on AVX2, and there are few gathers. Objects of
    the iterations of the outer loop lie side by side for lanes along that.
    """
    around = (i for n in outer.blocks for i in view.blocks[n].instructions)
    if any(i.op in ("load", "store") and is_on_stack(i, layout) for i in around):
        return False
    above = dominator_tree(view.cfg)
    for loop in _loops_of(outer)[1:]:
        blocks = [view.blocks[n] for n in loop.blocks]
        accesses = [i for block in blocks for i in block.instructions if i.op in ("load", "store")]
        stores = [i for i in accesses if i.op == "store"]
        if loop.children or not stores or not all(is_along(i, set(blocks), layout) for i in stores):
            continue
        always = {view.blocks[n] for n in loop.blocks if all(above.dominates(n, x) for x in loop.latches)}
        if any(i.block not in always or is_elsewhere(i, set(blocks), layout) for i in accesses):
            return True
    return False


def _has_windows(outer: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether a loop stores along a row what loops of few iterations in it make of a window that moves with it.

    LLVM has no vectors along such a loop unless it writes out those in it, and lanes along the outer one scatter.
    """
    for loop in _loops_of(outer)[1:]:
        inside = {view.blocks[b] for b in loop.blocks}
        stores = [i for b in inside for i in b.instructions if i.op == "store" and not is_on_stack(i, layout)]
        if not (loop.children and stores) or is_short(loop, view, None):
            continue
        if not all(_has_known_rows(each, view) for each in _loops_of(loop)[1:]):
            continue
        if all(is_along(i, inside, layout) for i in stores):
            return True
    return False


def _turns_rows(outer: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether rows are read along an innermost loop and stored along another one inside, or the reverse: transposed.

    LLVM's vectors along one of them take the other's elements one by one, from as many lines of the cache.
    """
    for loop in _loops_of(outer)[1:]:
        if loop.children or loop.parent is outer or is_short(loop, view, None):
            continue
        blocks = [view.blocks[n] for n in loop.blocks]
        accesses = [i for block in blocks for i in block.instructions if i.op in ("load", "store")]
        if any(is_on_stack(i, layout) for i in accesses):
            continue
        across = [i for i in accesses if not is_along(i, set(blocks), layout)]
        around = set(loop.ancestors()) - {loop, outer}
        counters = {view.blocks[each.header] for each in around}
        if 0 < len(across) < len(accesses) and all(_steps_by_one(i, counters, layout) for i in across):
            return True
    return False


def _steps_by_one(access: Instruction, headers: set[BasicBlock], layout: DataLayout) -> bool:
    """Whether neighbouring elements are accessed in iterations of a loop with a counter in one of these headers."""
    size, place = layout.size(access.accessed_type), linear_location(access.pointer, layout)
    return any(
        scale == size and isinstance(index, Instruction) and index.is_phi and index.block in headers
        for index, scale in place.terms.items()
    )


def _has_neighbours_across_stores(blocks: tuple[BasicBlock, ...], layout: DataLayout) -> bool:
    """Whether neighbours are loaded at places that are looked up, with stores to other arrays between them.

    They are gathered together where it is known that these are other arrays (`weft.codegen.widen.gather_pairs`).
    """
    inside = set(blocks)
    for block in blocks:
        loaded: dict[tuple[Value, frozenset[tuple[Value, int]]], dict[int, int]] = {}
        stores, pairs = 0, 0
        for access in block.instructions:
            if access.op == "store":
                stores += 1
            if access.op != "load" or layout.size(access.accessed_type) != PAIRED_BYTES:
                continue
            if not is_elsewhere(access, inside, layout):
                continue
            place = linear_location(access.pointer, layout)
            row = loaded.setdefault((place.base, frozenset(place.terms.items())), {})
            near = (row.get(place.offset + step) for step in (-PAIRED_BYTES, PAIRED_BYTES))
            pairs += any(before is not None and before < stores for before in near)
            row[place.offset] = stores
        if pairs >= FEWEST_PAIRS:
            return True
    return False


def _fills_structures(outer: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether an innermost loop writes structures of an array."""
    inner = (loop for loop in _loops_of(outer) if not loop.children)
    return any(_writes_structures([view.blocks[n] for n in loop.blocks], layout) for loop in inner)


def _writes_structures(blocks: Sequence[BasicBlock], layout: DataLayout) -> bool:
    """Whether members of a structure are written with loads from other arrays between them.

    They are written together, in whole registers, where it is known that these are other arrays
    (`weft.codegen.widen.interleave`).
    """
    for block in blocks:
        written: dict[tuple[Value, frozenset[tuple[Value, int]]], set[int]] = {}
        read: set[Value] = set()
        for access in block.instructions:
            if access.op not in ("load", "store"):
                continue
            place = linear_location(access.pointer, layout)
            if access.op == "load":
                read.add(place.base)
                continue
            size = layout.size(access.accessed_type)
            members = written.setdefault((place.base, frozenset(place.terms.items())), set())
            if members & {place.offset - size, place.offset + size} and read - {place.base}:
                return True
            members.add(place.offset)
            read.clear()
    return False


def _loops_of(outer: Loop) -> list[Loop]:
    found = [outer]
    for loop in found:
        found += loop.children
    return found
