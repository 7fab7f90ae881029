"""Loops that threads leave in the order of their lanes run without masks while no lane has left.

Which lane of a group leaves such a loop first is known (`weft.analysis.loops.ordered_exits`), so a scalar comparison
tells whether all stay. While they do, a copy of the loop runs, whose branch is uniform; then the loop itself goes on,
which the divergent loop transform gives masks. A walk of the grid, ``for i in range(thread, n, threads)``, has at most
one iteration that is not full.

    before:  br loop                  before:  br full
    loop:    φ ...; c = x < n         full:    φ' ...; c' = l < n - S; br c', body', rest
             br c, body, exit         body':   ...; br full
    body:    ...; br loop             rest:    br loop
                                      loop:    φ [φ', rest] ...; as it was

A loop that asks at its end goes on in the copy if all stay, and elsewhere each thread on its own:

    loop:    φ ...; ...; c = x < n    full:    φ' ...; ...; c' = l < n - S; br c', full, part
             br c, loop, exit         part:    c = x' < n; br c, loop, exit

Precondition: P-LLVM without predicates, shadows and guards, loop-simplified and loop-closed. Postcondition: the same.
Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.divergence import Divergence
from weft.analysis.loops.ordered_exits import LARGEST_LOOP, OrderedExit, ordered_exit, size_of
from weft.diag.source import SourceSpan
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, Function, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.intrinsics import declare
from weft.ir.locations import span_of_block
from weft.ir.types import I32
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.simplify_loops import simplify_loops

MOST_LOOPS = 8
"""A function has no more copies of loops."""

LEAVE = 0.5
"""How likely lanes are thought to leave the loop where some have, where costs are estimated."""


def run_full_groups(
    function: Function, divergence: Divergence, analyze_again: Callable[[], Divergence], width: int
) -> list[SourceSpan | None]:
    """Give each loop that threads leave in the order of their lanes a copy for full lane groups; where these loops are.

    Parameters
    ----------
    function
        What threads run.
    divergence
        Of the function as it is.
    analyze_again
        Gives that of the function as it is then.
    width
        How many threads a lane group has.
    """
    done: set[BasicBlock] = set()
    places: list[SourceSpan | None] = []
    while True:
        found, is_all = _next_loops(function, divergence, width, done)
        for loop in found[: MOST_LOOPS - len(places)]:
            done.add(loop.header)
            places.append(span_of_block(loop.header))
            done.add(_copy(function, loop, width))
        if found:
            remove_dead_instructions(function)
            simplify_loops(function)
            close_loops(function)
        if is_all or len(places) == MOST_LOOPS:
            return places
        divergence = analyze_again()


def _next_loops(
    function: Function, divergence: Divergence, width: int, done: set[BasicBlock]
) -> tuple[list[OrderedExit], bool]:
    """Loops apart from each other that have no copies yet, inner ones first; whether no other is left.

    Copies leave all other blocks and what is known of them as they are, but that loops around them are larger.
    """
    view = cfg_of(function)
    chosen: list[OrderedExit] = []
    is_all, blocks = True, set[BasicBlock]()
    for loop in sorted(loop_forest(view.cfg).loops, key=lambda loop: -loop.depth):
        if view.blocks[loop.header] in done:
            continue
        found = ordered_exit(view, loop, divergence)
        if found is None or not found.is_small(width) or size_of(found.blocks) > LARGEST_LOOP:
            continue
        if blocks.isdisjoint(found.blocks):
            chosen.append(found)
            blocks.update(found.blocks)
        else:
            is_all = False
    return chosen, is_all


def _copy(function: Function, loop: OrderedExit, width: int) -> BasicBlock:
    """Run a copy of the loop while all lanes stay; the copy's header."""
    header, exiting = loop.header, loop.exiting
    (before,) = (b for b in header.predecessors if b is not loop.latch)
    values: ValueMap = {}
    outside = Builder(before=before.terminator)
    nearer = _nearer_bound(outside, loop, width) if loop.rises and loop.bound_is_invariant else None
    clone_blocks(loop.blocks, function, values)
    full, end = values[header], values[exiting]
    assert isinstance(full, BasicBlock) and isinstance(end, BasicBlock)
    full.name = f"{header.name}.full"
    condition, loc = end.terminator.operands[0], end.terminator.loc
    first_way = end.terminator.blocks[0] is not loop.exit
    end.terminator.erase()
    exiting.terminator.attrs["chance"] = 1 - LEAVE if first_way else LEAVE
    builder = Builder(end)
    builder.loc = loc
    holds = _all_stay(builder, loop, values, width, nearer)
    before.terminator.replace_operand(header, full)
    for phi in header.phis():
        i = phi.blocks.index(before)
        phi.remove_incoming(i)
    if exiting is not loop.latch:
        staying = values[loop.staying]
        assert isinstance(staying, BasicBlock)
        builder.cond_br(holds, staying, header)
        for phi in header.phis():
            phi.add_incoming(values[phi], end)
    else:
        part = function.add_block(f"{header.name}.part", end)
        builder.cond_br(holds, full, part)
        ways = (header, loop.exit) if first_way else (loop.exit, header)
        Builder(part).cond_br(condition, *ways).loc = loc
        for phi in (*header.phis(), *loop.exit.phis()):
            value = phi.incoming_value(exiting)
            phi.add_incoming(values.get(value, value), part)
    return full


def _nearer_bound(builder: Builder, loop: OrderedExit, width: int) -> tuple[Value, Value]:
    """The bound that the least number is compared with, and whether there is one."""
    span = const_int(loop.span(width), loop.type)
    low, high = loop.limits
    safe = builder.icmp(f"{loop.order}ge", loop.bound, const_int(low + loop.span(width), loop.type))
    nearer = builder.binary("sub", loop.bound, span)
    for moving in loop.moving:
        least = _least(builder, loop, moving, width)
        does_not_wrap = builder.icmp(f"{loop.order}le", least, const_int(high - loop.span(width), loop.type))
        safe = builder.binary("and", safe, does_not_wrap)
        nearer = builder.select(builder.icmp(f"{loop.order}lt", least, nearer), least, nearer)
    return nearer, safe


def _all_stay(
    builder: Builder, loop: OrderedExit, values: ValueMap, width: int, nearer: tuple[Value, Value] | None
) -> Value:
    """Whether no lane leaves the copy of the loop."""
    least = _least(builder, loop, values.get(loop.number, loop.number), width)
    if nearer is not None:
        bound, safe = nearer
        return builder.binary("and", safe, builder.icmp(loop.predicate, least, bound))
    _, high = loop.limits
    safe = builder.icmp(f"{loop.order}le", least, const_int(high - loop.span(width), loop.type))
    decides = least
    if loop.rises:
        decides = builder.binary("add", least, const_int(loop.span(width), loop.type))
    bound = values.get(loop.bound, loop.bound)
    return builder.binary("and", safe, builder.icmp(loop.predicate, decides, bound))


def _least(builder: Builder, loop: OrderedExit, number: Value, width: int) -> Value:
    """The least of the numbers that lanes compare."""
    type = loop.type
    lane: Value = builder.call(declare(builder.module, "weft.lane.id"), ())
    if type.bits != I32.bits:
        lane = builder.cast("zext" if type.bits > I32.bits else "trunc", lane, type)
    if loop.stride != 1:
        lane = builder.binary("mul", lane, const_int(loop.stride, type))
    first = builder.binary("sub", number, lane)
    if loop.stride > 0:
        return first
    return builder.binary("add", first, const_int((width - 1) * loop.stride, type))
