"""Nests whose loops inside may have few iterations: lanes along the outermost loop where they have.

A loop that combines values is best for lanes where it goes along a row of many elements. Where rows are short, as
coordinates of points are, lanes along the loop around it have one row each. Which it is shows when the loop runs: there
are versions for both, as far as the number of iterations is known before the nest.

Where what a loop adds up is as near for lanes along the loop around it, as the pulls of all bodies on each, these read
an element once for all of them, where lanes along the row read all of it for each iteration around it, and need no sums
of lanes. That wants many iterations around it: pieces of few fill neither lanes nor cores.

Rows of 2, 3 and 4 elements have versions of their own, in which the loops along them are written out: what lanes load
of neighbouring rows are neighbours then, where it would be gathered. Launches of Python functions see such numbers
before there is code (`weft.passes.nests.short_rows`); the code of others has to ask.

Precondition: a loop-closed function; a nest whose loops are marked as parallel where they are. Postcondition: the same;
each copy is marked, as one whose lanes run along its outermost loop. Preserves the program under FR.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce

from weft.analysis.loops.counted_loops import build_iterations, counted_loop, known_iterations
from weft.analysis.loops.parallel_loops import ParallelLoop
from weft.codegen.parallel.few_iterations import keep_copies
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import cfg_of
from weft.ir.loop_metadata import ALONE
from weft.ir.types import IntType
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.simplify_loops import simplify_loops
from weft.transform.loops.unroll_rows import unroll
from weft.transform.straighten import straighten

KNOWN = (4, 3, 2)
"""Elements of rows that have versions of their own: coordinates, colours, quaternions."""

LARGEST = 64
"""Instructions of a nest that has such versions."""

MANY = 1024
"""Iterations of a loop that are enough for lanes along it, whatever loops in it have: 16 groups of 64 lanes."""

WHERE_MANY = f", where it has {MANY} iterations or as many as loops in it"
"""When such a version runs, for remarks."""

_OF_VERSION = re.compile(r"(?P<name>.+?)(?P<suffix>(?:\.(?:kept|alone|many|rows|short|of(?P<number>\d)))+)")


def keep_lanes_around(outer: ParallelLoop, inside: Sequence[ParallelLoop], least: int) -> bool:
    """Keep copies of a nest, with lanes along its outermost loop, for when loops in it have few iterations.

    These are the loops that lanes run along else. Without effect where one of them combines nothing, or has another
    number of iterations each time; whether there is a copy.
    """
    blocks = set(outer.loop.blocks)
    ends = [v for one in inside for v in (one.loop.counter.start, one.loop.bound)]
    if not all(one.reductions for one in inside) or outer.reductions:
        return False
    if any(isinstance(v, Instruction) and v.block in blocks for v in ends):
        return False

    def are_many(builder: Builder) -> Value:
        rows = builder.icmp("ult", build_iterations(outer.loop, builder), const_int(least))
        counts = [build_iterations(one.loop, builder) for one in inside]
        return reduce(
            lambda a, b: builder.binary("or", a, b),
            (builder.icmp("uge", count, const_int(least)) for count in counts),
            rows,
        )

    copies = keep_copies(outer.loop.header, are_many, ALONE, "alone")
    bound = _length(inside)
    size = sum(len(block.instructions) for block in blocks)
    if bound is not None and size <= LARGEST:
        for number in KNOWN:
            headers = [copies[one.loop.header] for one in inside]
            _keep_for_number(copies[outer.loop.header], headers, bound, number)
    return True


def keep_lanes_for_many(outer: ParallelLoop, inner: ParallelLoop) -> bool:
    """Keep a copy of a nest, with lanes along its outermost loop, for when this has many iterations.

    That is `MANY`, or as many as the inner loop has. Whether there is a copy: not where the inner loop has another
    number of iterations each time.
    """
    blocks = set(outer.loop.blocks)
    if any(
        isinstance(v, Instruction) and v.block in blocks for v in (inner.loop.counter.start, inner.loop.bound)
    ):
        return False

    def are_few(builder: Builder) -> Value:
        rows, row = build_iterations(outer.loop, builder), build_iterations(inner.loop, builder)
        fewer = builder.icmp("ult", rows, row)
        few = builder.binary("and", fewer, builder.icmp("ult", rows, const_int(MANY)))
        # An inner loop that a condition guards may have no end that is defined.
        return builder.unary("freeze", few)

    keep_copies(outer.loop.header, are_few, ALONE, "many")
    return True


def source_loop(header: str) -> tuple[str, str]:
    """What the source calls the loop that a copy's header is of, and what a remark says of when that copy runs."""
    found = _OF_VERSION.fullmatch(header)
    if found is None:
        return header, ""
    if found["number"]:
        return found["name"], f", where its rows have {found['number']} elements"
    if ".many" in found["suffix"]:
        return found["name"], WHERE_MANY
    return found["name"], ", where loops in it have few iterations" if ".alone" in found["suffix"] else ""


def _length(inside: Sequence[ParallelLoop]) -> Value | None:
    """What says how many iterations all of some loops have; None where several do, or a computation."""
    bounds = {one.loop.bound for one in inside}
    from_zero = all(
        isinstance(one.loop.counter.start, ConstInt)
        and one.loop.counter.start.value == 0
        and one.loop.counter.step == 1
        for one in inside
    )
    bound = bounds.pop()
    return bound if from_zero and not bounds and not isinstance(bound, ConstInt) else None


def _keep_for_number(header: BasicBlock, inside: Sequence[BasicBlock], bound: Value, number: int) -> None:
    """Keep a copy of a nest for when loops in it have so many iterations, which are written out there."""
    function = header.function
    assert function is not None and isinstance(bound.type, IntType)
    known = const_int(number, bound.type)
    copies = keep_copies(header, lambda build: build.icmp("ne", bound, known), ALONE, f"of{number}")
    made = set(copies.values())
    for user in [u for u in bound.instruction_users() if u.block in made]:
        user.replace_operand(bound, known)
    for each in inside:
        view = cfg_of(function)
        loop = loop_forest(view.cfg).headed_by[view.index[copies[each]]]
        assert loop is not None
        counted = counted_loop(view, loop)
        if not isinstance(counted, str) and known_iterations(counted) == number:
            unroll(function, counted, number)
    view = cfg_of(function)
    nest = loop_forest(view.cfg).headed_by[view.index[copies[header]]]
    assert nest is not None
    straighten([view.blocks[b] for b in nest.blocks])
    simplify_loops(function)
    close_loops(function)
