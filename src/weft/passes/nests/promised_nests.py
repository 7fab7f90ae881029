"""Nests in loops over ``prange`` that are found to be parallel through and through.

The promise is one about the outermost loop, and says nothing of those inside. Where they add up, or call functions of
mathematics, lanes along an inner loop, other orders of the loops, tiles and boxes gain more than lanes along the
outermost one, or LLVM's vectorizer. So such a nest is looked at as if nobody said anything of it (`auto_loops`). What
is found rests on tests in front of the nest; where one fails, it runs as it was promised, and so does a nest of which
nothing is found, or some loop that runs in order and is in no other one.

Precondition: P-LLVM with marks on promised loops. Postcondition: the same, loop-closed; loops of nests are marked as
proved. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from weft.analysis.integers.kept_ranges import ranges_of
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.along_rows import is_along, is_elsewhere, is_short
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.analysis.loops.left_scalar import FEWEST, left_scalar
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.loops.parallel_nests import depends_on
from weft.analysis.loops.row_loops import LONGEST_KNOWN
from weft.analysis.memory.alias import is_identified, locate
from weft.analysis.memory.far_steps import step_of
from weft.analysis.memory.linear_locations import linear_location
from weft.analysis.sequential.accesses import Accesses
from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Program, Scope
from weft.analysis.sequential.verdicts import Verdict, loop_verdict
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.heap import heap_call
from weft.ir.layout import DataLayout
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function
from weft.passes.loop_unit import LoopUnit
from weft.passes.mark_chosen import apply_chosen
from weft.passes.nests.chosen_loops import Chosen, Search
from weft.passes.nests.loop_order import order_loops, undo
from weft.passes.nests.loop_splits import split_loops
from weft.transform.loops.close_loops import close_loops, open_needless
from weft.transform.loops.signed_tests import sign_tests

DEEP = 3
"""Loops of a nest in which adding up is worth boxes and tiles. With two it is a row's total: LLVM adds that up well."""


PAIRED_BYTES = 4
"""Of loads of which two are gathered together."""

FEWEST_PAIRS = 4
"""So many are worth a version of a loop that is tested for. Guess."""

_ROOT = "llvm.sqrt."

_IN_LANES = (Verdict.PARALLEL, Verdict.REDUCTION)


def prove_promised_nests(unit: LoopUnit, function: Function) -> int:
    """Mark the loops of promised nests that are found to be parallel, behind tests; how many nests."""
    found_wanted = dict(_wanted(function, unit.module.layout, unit.isa))
    if not found_wanted:
        return 0
    wanted, alone = set(found_wanted), {header for header, is_short in found_wanted.items() if is_short}
    sign_tests(function)
    close_loops(function)
    open_needless(function)
    arrays = unit.arrays if function is unit.function else ()
    left = _outermost(function) - wanted
    _, spare = split_loops(unit.module, function, arrays, left | alone)
    left |= spare
    while True:
        changes = order_loops(unit.module, function, arrays, left | alone)
        program = Program(unit.module, arrays=arrays)
        scope = Scope(program, function)
        accesses = Accesses(Reconstruction(program))
        search = Search(unit, accesses, scope, False, frozenset(), promises=True)
        tops = [c for c in scope.loops.values() if c.parent is None and c.header not in left]
        found = [
            (chosen, rows)
            for loop in tops
            if (chosen := search.whole_nest(loop)) is not None
            and (rows := _rows_inside(chosen, accesses, scope)) is not None
        ]
        inside = {b: chosen for chosen, _ in found for b in chosen.loop.blocks}
        lost = {c.top for c in changes if c.outer not in inside}
        if not lost:
            break
        for change in reversed(changes):
            undo(function, change.outer, change.inner)
        left |= lost
    for chosen, rows in found:
        mine = [c for c in changes if inside[c.outer] is chosen]
        if chosen.loop.header in alone:
            chosen = replace(chosen, inside=(), promotions=(), tiles=None)
        apply_chosen(unit, function, scope, accesses, chosen, mine, promises=True, rows=rows)
    return len(found)


def _rows_inside(chosen: Chosen, accesses: Accesses, scope: Scope) -> list[CountedLoop] | None:
    """Loops of a nest that have to be long for lanes along them; None where the nest is left as it was promised.

    Each innermost loop has to be parallel, add up, or be in one inside that is. Others are where the time goes, and
    lanes along the outermost loop may be all that there is for them. So are those that add up in order what functions
    of mathematics make: LLVM has no vectors for these. Loops that do not count, as a fractal's, have to be in a row
    that is parallel and adds nothing up, whose length is known in front of the nest.
    """
    inside = {each.header for each in chosen.inside}
    rows: dict[BasicBlock, CountedLoop] = {}
    for loop in scope.loops.values():
        if loop is chosen.loop or not chosen.loop.contains(loop):
            continue
        around = loop
        while around is not None and around is not chosen.loop and around.header not in inside:
            around = around.parent
        covered = around if around is not chosen.loop else None
        if isinstance(loop.counted, str):
            if covered is None or not _is_row(covered, chosen.loop, accesses, scope):
                return None
            assert isinstance(covered.counted, CountedLoop)
            rows[covered.header] = covered.counted
        if loop.loop.children or covered is not None:
            continue
        found = loop_verdict(accesses, loop)
        in_order = any(a.kind == "reassociation" for a in found.assumptions)
        calls = in_order and any(_is_mathematics(i) for block in loop.blocks for i in block.instructions)
        if calls or found.verdict not in _IN_LANES:
            return None
    return list(rows.values())


def _is_row(loop: LoopContext, outer: LoopContext, accesses: Accesses, scope: Scope) -> bool:
    """Whether a parallel loop has as many iterations each time, a number that is there before the outer one.

    Lanes run along loops that are promised to be parallel in any case.
    """
    counted = loop.counted
    if loop_promises(scope.view.blocks[loop.loop.latches[0]], tuple(loop.blocks)).parallel:
        return False
    if isinstance(counted, str) or loop_verdict(accesses, loop).verdict is not Verdict.PARALLEL:
        return False
    bounds = (counted.counter.start, counted.bound)
    return not any(isinstance(v, Instruction) and v.block in set(outer.blocks) for v in bounds)


def _outermost(function: Function) -> set[BasicBlock]:
    view = cfg_of(function)
    return {view.blocks[loop.header] for loop in loop_forest(view.cfg).loops if loop.parent is None}


def _wanted(function: Function, layout: DataLayout, isa: Isa) -> Iterator[tuple[BasicBlock, bool]]:
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
    return any(i.op == "store" for i in accesses) and not any(_is_on_stack(i, layout) for i in accesses)


def _calls_mathematics(outer: Loop, view: CFGView) -> bool:
    """Whether loops inside of one call functions of mathematics: most of these LLVM computes one by one."""
    inside = {b for loop in outer.children for b in loop.blocks}
    return any(_is_mathematics(i, roots=True) for b in inside for i in view.blocks[b].instructions)


def _is_mathematics(instruction: Instruction, *, roots: bool = False) -> bool:
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
    if any(i.op in ("load", "store") and _is_on_stack(i, layout) for i in around):
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
        stores = [
            i for b in inside for i in b.instructions if i.op == "store" and not _is_on_stack(i, layout)
        ]
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
        if any(_is_on_stack(i, layout) for i in accesses):
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


def _is_on_stack(access: Instruction, layout: DataLayout) -> bool:
    base = locate(access.pointer, layout).base
    return isinstance(base, Instruction) and base.op == "alloca"


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
