"""Tiles for caches in nests that add up (``parallel="auto"``, ``--loop auto``).

In ``for i: for j: for k: c[i, j] += a[i, k] * b[k, j]`` each iteration of the outer loop reads all of `b`. If that is
more than a cache holds, the loop that adds up is cut into tiles, and the loop over tiles becomes the outermost one: a
tile of `b` stays in the cache while all of the outer loop goes over it. Each element is added up in the order of the
program.

The two loops around are parallel, so nothing else has to be known for the loops to change places. What a tile's numbers
rest on is tested together with what the nest rests on.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.sequential.accesses import Access, Accesses
from weft.analysis.sequential.run_time_tests import RunTimeTests, is_known_before
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.passes.nests.packed_columns import Packing, packing_of
from weft.transform.loops.hoist_invariants import hoist_invariants
from weft.transform.loops.interchange import holds_only, interchange, interchangeable
from weft.transform.loops.pack_columns import pack_columns
from weft.transform.loops.tile_loop import can_be_tiled, tile_loop

CACHE = 1 << 19
"""Bytes of a tile: a part of the second-level cache."""

TILE = 128
"""Iterations of a tile, where it is not known how many bytes each of them reads."""

LEAST_TILE = 32
"""With fewer, what is added up would go to memory and back too often."""

LEAST_REUSE = 16
"""Iterations of the outer loop, if they are known, from which on it pays that what they read is in the cache."""

_LARGEST = (1 << 63) - 1


class Tiles(Struct, frozen=True):
    """A nest that is to run tile by tile.

    Parameters
    ----------
    outer, middle, inner
        Its loops; the inner one adds up.
    counted
        How that one counts.
    size
        Iterations of a tile.
    packing
        Which operands are copied for each tile.
    """

    outer: LoopContext
    middle: LoopContext
    inner: LoopContext
    counted: CountedLoop
    size: int
    packing: Packing | None = None


def tiles_of(
    accesses: Accesses, outer: LoopContext, parallel: Collection[LoopContext], tests: RunTimeTests, bits: int
) -> Tiles | None:
    """The tiles of a nest whose outer loop is parallel; None where there are none, or they would not pay.

    Parameters
    ----------
    parallel
        The loops inside that are, too.
    tests
        What is tested before the nest; gets what tiles rest on.
    bits
        Of a register.
    """
    scope = outer.scope
    middle, inner = _only_loop_in(outer), None
    inner = _only_loop_in(middle) if middle is not None else None
    if middle is None or inner is None or _only_loop_in(inner) is not None or inner.loop.children:
        return None
    if middle not in parallel or inner in parallel or isinstance(inner.counted, str):
        return None
    counted = inner.counted
    if not can_be_tiled(counted) or interchangeable(scope.view, middle.loop, inner.loop) is None:
        return None
    if not holds_only(scope.view, outer.loop, middle.loop):
        return None
    if any(
        isinstance(v, Instruction) and v.block in outer.blocks for v in (counted.counter.start, counted.bound)
    ):
        return None
    size = tile_size(accesses, outer, middle, inner)
    if size is None:
        return None
    loops = outer, middle, inner
    packing = packing_of(accesses, loops, shared_reads(accesses, *loops), size, bits)
    if packing is not None:
        size = packing.depth
    made = accesses.reconstruction
    ends = [made.at(scope, v, counted.preheader) for v in (counted.counter.start, counted.bound)]
    if any(s.loop is not None for s in ends[0].symbols()):
        # It is a tile of a loop around already.
        return None
    asked = {ends[1] * -1 + (_LARGEST - size): None} if counted.counter.type.bits == 64 else {}
    if counted.predicate.startswith("u"):
        asked |= dict.fromkeys(ends)
    left = [e for e in asked if e.constant is None or e.constant < 0]
    if not all(is_known_before(accesses, s, outer) for e in left for s in e.symbols()):
        return None
    tests.nonnegative.update(dict.fromkeys(left))
    return Tiles(outer, middle, inner, counted, size, packing)


def _only_loop_in(loop: LoopContext) -> LoopContext | None:
    inside = [c for c in loop.scope.loops.values() if c.parent is loop]
    return inside[0] if len(inside) == 1 else None


def tile_size(accesses: Accesses, outer: LoopContext, middle: LoopContext, inner: LoopContext) -> int | None:
    """How many iterations a tile has; None where all that is read again and again stays in the cache anyway."""
    made = accesses.reconstruction
    rounds, columns, depth = (_number(made.trip_count(x)) for x in (outer, middle, inner))
    if rounds is not None and rounds < LEAST_REUSE:
        return None
    shared = shared_reads(accesses, outer, middle, inner)
    if not shared:
        return None
    size = TILE
    if columns is not None:
        size = max(LEAST_TILE, CACHE // max(1, columns * sum(a.element for a in shared)) // 8 * 8)
    return None if depth is not None and depth < 2 * size else size


def shared_reads(
    accesses: Accesses, outer: LoopContext, middle: LoopContext, inner: LoopContext
) -> list[Access]:
    """What all iterations of an outer loop read again, which the two others choose."""
    first = as_expression(0)
    if not isinstance(middle.counted, str):
        first = accesses.reconstruction.at(
            middle.scope, middle.counted.counter.start, middle.counted.preheader
        )
        first = first * middle.counted.counter.step
    return [
        a for a in accesses.of(inner) if isinstance(a, Access) and _is_shared(a, outer, middle, inner, first)
    ]


def _is_shared(
    access: Access, outer: LoopContext, middle: LoopContext, inner: LoopContext, first: Expression
) -> bool:
    """Whether all iterations of the outer loop read the same elements, which the counters of the two others choose.

    That of the middle loop may begin at another number in each of them, `first`.
    """
    number = as_expression(middle.iteration) - first
    symbols = access.offset.substitute({middle.iteration: number}).symbols()
    chosen = middle.iteration in symbols and inner.iteration in symbols
    return chosen and outer.iteration not in symbols and not access.is_write


def _number(trips: Expression | None) -> int | None:
    return None if trips is None else trips.constant


def run_in_tiles(function: Function, tiles: Tiles) -> tuple[BasicBlock, BasicBlock]:
    """Cut a nest into tiles; the latches of its two outer loops as they stand now."""
    view = tiles.outer.scope.view
    latches = [view.blocks[x.loop.latches[0]] for x in (tiles.outer, tiles.middle)]
    header = tile_loop(function, tiles.counted, tiles.size, _before(tiles.outer))
    positions = [tiles.outer.header, tiles.middle.header, header]
    last = _latch_of(function, header)
    # From the inside outwards; each header has the counter of the next loop then.
    for outer_header, inner_header in ((positions[1], positions[2]), (positions[0], positions[1])):
        hoist_invariants(function)
        view = cfg_of(function)
        headed = loop_forest(view.cfg).headed_by
        first, second = headed[view.index[outer_header]], headed[view.index[inner_header]]
        assert first is not None and second is not None
        pair = interchangeable(view, first, second)
        assert pair is not None, "the loop over tiles has another one around it that holds nothing else"
        interchange(pair)
    hoist_invariants(function)
    if tiles.packing is not None:
        _pack(function, tiles.packing, (*positions[1:], tiles.inner.header))
    return latches[1], last


def _pack(function: Function, packing: Packing, headers: tuple[BasicBlock, ...]) -> None:
    """Copy operands of the nest with these headers."""
    view = cfg_of(function)
    headed = loop_forest(view.cfg).headed_by
    nest: list[CountedLoop] = []
    for header in headers:
        loop = headed[view.index[header]]
        counted = "is no loop" if loop is None else counted_loop(view, loop)
        assert not isinstance(counted, str), f"the loop {counted}"
        nest.append(counted)
    rows, columns, sums = nest
    pack_columns(
        function,
        (rows, columns, sums),
        packing.values,
        at_first=packing.at_first,
        columns=packing.columns,
        depth=packing.depth,
    )
    hoist_invariants(function)


def _latch_of(function: Function, header: BasicBlock) -> BasicBlock:
    view = cfg_of(function)
    loop = loop_forest(view.cfg).headed_by[view.index[header]]
    assert loop is not None
    return view.blocks[loop.latches[0]]


def _before(loop: LoopContext) -> BasicBlock:
    inside = set(loop.blocks)
    (before,) = (b for b in loop.header.predecessors if b not in inside)
    return before
