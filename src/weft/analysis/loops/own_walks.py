"""Accesses with which threads walk through memory, each on its own way.

A thread that goes through a row of neighbours has the cache lines that it touches to itself for some iterations, and
the processor reads ahead of it. Lanes that do so far from each other, as with a part of an array for each, touch a line
each in every step: more lines than the nearest cache has room for, in more places than are read ahead of. What loops
around come back to, as a small matrix that all rounds read, stays near: such accesses are no walks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.loops.along_rows import changes_in, depends_on_data, is_for_the_end
from weft.analysis.loops.parallel_nests import NEAR, depends_on
from weft.analysis.loops.reread_rows import reread_rows
from weft.analysis.memory.alias import locate
from weft.analysis.memory.computed_indices import is_computed
from weft.analysis.memory.far_steps import far_step, step_of
from weft.analysis.memory.linear_locations import linear_location
from weft.analysis.shapes import SYMBOLIC, Shape
from weft.graph.loops import Loop, LoopForest
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.layout import DataLayout

FAR = 16
"""Elements from lane to lane from which on what is between is not read with them."""


ROW = 4
"""Neighbours of a thread's own row that it may store at once, by itself."""


def is_far(shape: Shape, size: int) -> bool:
    """Whether lanes at addresses of this shape are so far apart that wide accesses would not pay."""
    return any(isinstance(s, int) and abs(s) > FAR * size for s in shape.strides)


def walks_apart(access: Instruction, divergence: Divergence, *, in_loop: bool) -> bool:
    """Whether lanes walk on by themselves, far apart, or, as iterations of a loop, nobody knows how far.

    Threads of kernels are numbered so that they access neighbours, and what they compute may turn out to be that.
    """
    if not access.is_plain_access:
        return False
    layout, form = divergence.function.layout, divergence.access_form(access).form
    if form is Form.STRIDED:
        if not is_far(divergence.shape(access.pointer), layout.size(access.accessed_type)):
            return False
    elif form is not Form.GATHER or not in_loop:
        return False
    return walks_on(access, divergence.facts.view, divergence.facts.propagation.loops, layout)


def keeps_own_stack(divergence: Divergence, blocks: Iterable[BasicBlock]) -> bool:
    """Whether each thread stores to stack objects of its own in some blocks, at places of its own."""
    return any(
        i.op == "store"
        and i.is_plain_access
        and divergence.access_form(i).form is Form.GATHER
        and bool(divergence.engine.leads_to_stack(i.pointer))
        for block in blocks
        for i in block
    )


def goes_along_rows(divergence: Divergence, least: int = 1, in_strips: Collection[Instruction] = ()) -> bool:
    """Whether lanes go along rows of their own at equal distances, be they far apart or not: in step, each has a line.

    Rows at equal distances may all begin in one set of the nearest cache. Those whose places are loaded, or found by
    what is, begin in any. Rows that are gone through again and again are none, as they are copied side by side where
    they fit, nor are those of which loops around others take a step, nor those of elements of less than `least` bytes,
    nor those that are met a line of the cache at a time, `in_strips`.
    """
    layout = divergence.function.layout
    view, loops = divergence.facts.view, divergence.facts.propagation.loops
    again = {load for row in reread_rows(divergence).rows for load in row.reads}
    return any(
        walks_apart(access, divergence, in_loop=True)
        and not may_be_neighbours(access, divergence)
        and layout.size(access.accessed_type) >= least
        and is_at_equal_distances(access, divergence)
        for number, block in enumerate(view.blocks)
        if (loop := loops.innermost[number]) is not None and not loop.children
        for access in block.instructions
        if access not in again and access not in in_strips
    )


def scatters_in_own_rows(divergence: Divergence) -> bool:
    """Whether lanes store, in innermost loops, at places that each computes or loads in a row of its own, as counts.

    Each has all of its row to itself, of which the nearest cache may have room for few places: one of the same in each.
    """
    view, loops = divergence.facts.view, divergence.facts.propagation.loops
    return any(
        access.op == "store" and access.is_plain_access and _is_somewhere_in_row(access, divergence)
        for number, block in enumerate(view.blocks)
        if (loop := loops.innermost[number]) is not None and not loop.children
        for access in block.instructions
    )


def _is_somewhere_in_row(access: Instruction, divergence: Divergence) -> bool:
    """Whether a place is a row, of which lanes have one each at equal distances, and what differs from lane to lane."""
    if divergence.access_form(access).form is not Form.GATHER:
        return False
    layout = divergence.function.layout
    location = linear_location(access.pointer, layout)
    far = FAR * layout.size(access.accessed_type)
    rows = others = 0
    for value, scale in ((location.base, 1), *location.terms.items()):
        strides = divergence.shape(value).strides
        if divergence.is_uniform(value):
            continue
        known = bool(strides) and all(isinstance(s, int) for s in strides)
        is_apart = known and any(isinstance(s, int) and abs(s * scale) > far for s in strides)
        if is_apart or _is_row(value, divergence):
            rows += 1
        else:
            others += not divergence.shape(value).is_strided
    return rows > 0 and others > 0


def is_at_equal_distances(access: Instruction, divergence: Divergence) -> bool:
    """Whether each lane is as far from the next one, as far as is known."""
    location = linear_location(access.pointer, divergence.function.layout)
    shapes = [divergence.shape(value) for value in (location.base, *location.terms)]
    return all(shape.is_affine for shape in shapes)


def may_be_neighbours(access: Instruction, divergence: Divergence) -> bool:
    """Whether it is asked at run time whether the lanes of a gather or scatter are neighbours."""
    if not access.is_plain_access or divergence.access_form(access).form is not Form.GATHER:
        return False
    terms = locate(access.pointer, divergence.function.layout).terms
    shapes = [divergence.shape(index) for index in terms]
    if all(SYMBOLIC in shape.strides for shape in shapes if not shape.is_uniform):
        # A step that the program says is not asked.
        return False
    return is_computed(terms, lambda value: divergence.shape(value).is_strided)


def stores_own_rows(divergence: Divergence) -> bool:
    """Whether each thread stores neighbours in a row of its own, which one by itself may compute and store at once.

    LLVM's superword vectorizer begins at such stores, its loop vectorizer takes loops that carry counters alone.
    """
    layout, view = divergence.function.layout, divergence.facts.view
    loops = divergence.facts.propagation.loops
    together: dict[tuple[Value, frozenset[tuple[Value, int]]], set[int]] = {}
    for store in divergence.function.instructions():
        if store.op != "store" or not store.is_plain_access or not _is_in_own_row(store, divergence):
            continue
        assert store.block is not None
        loop = loops.innermost[view.index[store.block]]
        if loop is not None and _only_counts(loop, view) and _steps_along(store, loop, view, layout):
            return True
        location = linear_location(store.pointer, layout)
        places = together.setdefault((location.base, frozenset(location.terms.items())), set())
        places.add(location.offset // layout.size(store.accessed_type))
        if any(set(range(p, p + ROW)) <= places for p in places):
            return True
    return False


def scatters_by_loaded(divergence: Divergence) -> bool:
    """Whether each iteration of some loop stores where something that it loads says, another place for each lane.

    Where it stores what it computes from what was there, as in counts, is not meant; where it only asks what is there,
    as whether a vertex has been found, is. A processor that runs one thread goes on to later loads before it knows
    where the stores go, and begins again where one of them reads what was stored; lanes load for several threads first.
    """
    view, loops = divergence.facts.view, divergence.facts.propagation.loops
    loads: dict[Value, set[Value]] = {}
    for load in divergence.function.instructions():
        if load.op == "load" and load.is_plain_access:
            loads.setdefault(load.pointer, set()).add(load)
    for number, block in enumerate(view.blocks):
        loop = loops.innermost[number]
        if loop is None:
            continue
        inside = {view.blocks[n] for n in loop.blocks}
        for store in block.instructions:
            if store.op != "store" or not store.is_plain_access:
                continue
            if divergence.access_form(store).form is not Form.GATHER:
                continue
            read = loads.get(store.pointer, set())
            if depends_on_data(store.pointer, inside) and not depends_on(store.operands[:1], read, inside):
                return True
    return False


def _only_counts(loop: Loop, view: CFGView) -> bool:
    """Whether a loop hands on counters alone."""
    if len(loop.latches) != 1:
        return False
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    return all(isinstance(step_of(phi, latch), ConstInt) for phi in header.phis())


def _is_in_own_row(access: Instruction, divergence: Divergence) -> bool:
    """Whether lanes are a row apart, of `ROW` elements or more, or of as many as they share."""
    layout = divergence.function.layout
    form = divergence.access_form(access).form
    if form is Form.STRIDED:
        strides, size = divergence.shape(access.pointer).strides, layout.size(access.accessed_type)
        return any(isinstance(s, int) and abs(s) >= ROW * size for s in strides)
    if form is not Form.GATHER:
        return False
    location = linear_location(access.pointer, layout)
    varying = [v for v in (location.base, *location.terms) if not divergence.is_uniform(v)]
    return bool(varying) and all(_is_row(v, divergence) for v in varying)


def _is_row(value: Value, divergence: Divergence) -> bool:
    """Whether it is the number of a row times a number that lanes share."""
    if not isinstance(value, Instruction) or value.op not in ("mul", "shl"):
        return False
    first, second = value.operands
    if not divergence.is_uniform(second):
        first, second = second, first
    return divergence.is_uniform(second) and _counts_rows(first, divergence)


def _counts_rows(value: Value, divergence: Divergence) -> bool:
    """Whether it is strided over the lanes; or a row itself, as in more dimensions, and what lanes share."""
    strides = divergence.shape(value).strides
    if any(strides) and all(isinstance(s, int) for s in strides):
        return True
    if not isinstance(value, Instruction):
        return False
    if value.op in ("add", "sext", "zext"):
        varying = [v for v in value.operands if not divergence.is_uniform(v)]
        return len(varying) == 1 and _counts_rows(varying[0], divergence)
    return _is_row(value, divergence)


def may_move_apart(access: Instruction, divergence: Divergence) -> bool:
    """Whether a loop moves the places of lanes, of which nobody knows how far they are apart."""
    if not access.is_plain_access or divergence.access_form(access).form is not Form.GATHER:
        return False
    assert access.block is not None
    view = divergence.facts.view
    loop = divergence.facts.propagation.loops.innermost[view.index[access.block]]
    place = linear_location(access.pointer, divergence.function.layout)
    if loop is None or (isinstance(place.base, Instruction) and place.base.op == "alloca"):
        return False
    inside = {view.blocks[b] for b in loop.blocks}
    return any(changes_in(term, inside) for term in (place.base, *place.terms))


def walks_on(access: Instruction, view: CFGView, loops: LoopForest, layout: DataLayout) -> bool:
    """Whether the address of a load or store goes on in its innermost loop, and all loops around move it, too."""
    assert access.block is not None
    loop = loops.innermost[view.index[access.block]]
    if loop is None or len(loop.latches) != 1:
        return False
    location = linear_location(access.pointer, layout)
    if isinstance(location.base, Instruction) and location.base.op == "alloca":
        return False
    if not _steps_along(access, loop, view, layout) and far_step(access, view, loops, layout) is None:
        return False
    around = loop.parent
    while around is not None:
        counters = set(view.blocks[around.header].phis())
        if not depends_on(
            (location.base, *location.terms), counters, {view.blocks[b] for b in around.blocks}
        ):
            return False
        around = around.parent
    return True


def _steps_along(access: Instruction, loop: Loop, view: CFGView, layout: DataLayout) -> bool:
    """Whether the next iteration of a loop accesses an element nearby, but not the same."""
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    inside = {view.blocks[b] for b in loop.blocks}
    location = linear_location(access.pointer, layout)
    if changes_in(location.base, inside):
        return False
    along = 0
    for index, scale in location.terms.items():
        if is_for_the_end(index):
            continue
        counter = index
        while isinstance(counter, Instruction) and counter.op in ("sext", "zext"):
            counter = counter.operands[0]
        if isinstance(counter, Instruction) and counter.is_phi and counter.block is header:
            step = step_of(counter, latch)
            if not isinstance(step, ConstInt):
                return False
            along += scale * step.signed
        elif changes_in(index, inside):
            return False
    return 0 < abs(along) <= NEAR * layout.size(access.accessed_type)
