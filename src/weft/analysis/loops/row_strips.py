"""Loops along rows of lanes' own whose elements can be accessed strip by strip.

    for t in range(columns):                       z[i, t] ... z[i, t + 15] are neighbours, a line of the cache
        state = step(state, z[i, t])               for each lane
        out[i, t] = state

Lanes go along rows that are far apart, or nobody knows how far, in step: all have as many iterations, which is known
before the first. Each iteration loads, or stores, the element behind that of the iteration before. So what some
iterations load can be loaded before the first of these, and what they store stored behind the last of them, where
nothing else in the loop can tell (`weft.transform.loops.strips_of_rows`):

* no iteration may go on to another end than the next one: no call, no barrier, no way out of the loop but its test;
* each iteration loads the element, and stores it: such blocks are on every way through the loop;
* no store of the loop may lead to what is loaded, but one to the same element behind the load;
* no other access of the loop may lead to what is stored, but such a load.

Facts are about a function without predicates, shadows and guards, in canonical form.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.loops.along_rows import changes_in
from weft.analysis.loops.counted_loops import (
    CountedLoop,
    Counter,
    counted_loop,
    counters_of,
    known_iterations,
)
from weft.analysis.loops.ordered_exits import LARGEST_LOOP, size_of
from weft.analysis.loops.own_walks import is_far, may_be_neighbours
from weft.analysis.memory.alias import Location
from weft.analysis.memory.linear_locations import linear_location
from weft.analysis.memory.promises import Promise
from weft.analysis.questions.kills import Kills
from weft.analysis.questions.places import Places
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction
from weft.ir.effects import is_convergent, is_speculatable, may_not_return, may_read, may_write
from weft.ir.types import FloatType, IntType

LINE = 64
"""Bytes of a strip: a line of the cache, which is met once then."""

WIDTHS = (32, 64)
"""Bits of elements. Those of rows of bytes and words are left to gathers."""


class RowStrips(Struct, frozen=True):
    """The rows that the iterations of a loop go along.

    Parameters
    ----------
    loop
        How often it runs.
    length
        Elements of a strip.
    accesses
        Loads and stores of one element of a row in each iteration.
    """

    loop: CountedLoop
    length: int
    accesses: tuple[Instruction, ...]


class StripsFound(Struct, frozen=True):
    """The strips of a function.

    Parameters
    ----------
    strips
        Of each loop that has some.
    arrays_apart
        Whether that accesses do not meet rests on the promise that arrays do not overlap.
    """

    strips: tuple[RowStrips, ...]
    arrays_apart: bool


def row_strips(divergence: Divergence, *, behind_guards: bool = False) -> StripsFound:
    """The rows of lanes' own that the loops of a function go along in step.

    Loops of a thread may be `behind_guards` of which it is expected that they become bounds of rows of threads.
    """
    promise = Promise.of(divergence.function)
    loops = divergence.facts.propagation.loops.loops
    search = _Search(divergence, promise, behind_guards) if loops else None
    found = tuple(s for loop in loops if search is not None and (s := search.of(loop)) is not None)
    return StripsFound(found, bool(found) and promise is not None and promise.is_used)


class _Search:
    """Looks for rows in one function."""

    def __init__(self, divergence: Divergence, promise: Promise | None, behind_guards: bool) -> None:
        self._divergence, self._behind_guards = divergence, behind_guards
        self._view = divergence.facts.view
        self._layout = divergence.function.layout
        places, objects = Places(self._layout), divergence.facts.objects
        self._kills = Kills(places, objects, divergence.facts.ranges.of, promise)
        self._dominators = dominator_tree(self._view.cfg)

    def of(self, loop: Loop) -> RowStrips | None:
        """The strips of a loop; None where it has none."""
        if loop.children:
            return None
        counted = counted_loop(self._view, loop)
        if isinstance(counted, str) or not self._runs_in_step(counted):
            return None
        if self._divergence.has_varying_control(counted.header) and not (
            self._behind_guards and loop.parent is None
        ):
            return None
        inside = set(counted.blocks)
        accesses = [i for b in counted.blocks for i in b.instructions if i.is_plain_access]
        others = [
            i for b in counted.blocks for i in b.instructions
            if not i.is_plain_access and (may_write(i) or may_not_return(i) or is_convergent(i))
        ]  # fmt: skip
        if others or not accesses:
            return None
        counters = {c.phi: c for c in counters_of(counted.header, counted.preheader, counted.latch)}
        rows = [i for i in accesses if self._goes_along_row(i, counted, counters, inside)]
        reads = any(may_read(i) and not i.is_plain_access for b in counted.blocks for i in b.instructions)
        own = [i for i in rows if (i.op == "load" or not reads) and self._may_be_moved(i, accesses)]
        size = max((self._layout.store_size(i.accessed_type) for i in own), default=0)
        if not size:
            return None
        length, known = LINE // size, known_iterations(counted)
        if known is not None and known < 2 * length:
            return None
        return RowStrips(counted, length, tuple(own))

    def _runs_in_step(self, loop: CountedLoop) -> bool:
        """Whether lanes run the loop as often as each other, and it may be copied."""
        ends = (loop.counter.start, loop.bound)
        if not all(self._divergence.is_uniform(v) for v in ends) or size_of(loop.blocks) > LARGEST_LOOP:
            return False
        # The header's last run has no iteration behind it.
        return not loop.top_tested or all(
            is_speculatable(i) for i in loop.header.non_phis() if not i.is_terminator
        )

    def _goes_along_row(
        self,
        access: Instruction,
        loop: CountedLoop,
        counters: dict[Instruction, Counter],
        inside: set[BasicBlock],
    ) -> bool:
        """Whether each iteration accesses the element behind that of the one before, in a row of each lane's own."""
        type, block, index = access.accessed_type, access.block, self._view.index
        assert block is not None
        if not isinstance(type, IntType | FloatType) or type.bits not in WIDTHS:
            return False
        if not self._dominators.dominates(index[block], index[loop.latch]):
            return False
        form = self._divergence.access_form(access).form
        if form is Form.STRIDED:
            if not is_far(self._divergence.shape(access.pointer), self._layout.size(type)):
                return False
        elif form is not Form.GATHER or may_be_neighbours(access, self._divergence):
            return False
        if self._kills.objects.of(access.pointer):
            return False
        location, step = linear_location(access.pointer, self._layout), 0
        if changes_in(location.base, inside):
            return False
        for value, scale in location.terms.items():
            if isinstance(value, Instruction) and value in counters:
                step += scale * counters[value].step
            elif changes_in(value, inside):
                return False
        return step == self._layout.store_size(type)

    def _may_be_moved(self, access: Instruction, accesses: list[Instruction]) -> bool:
        """Whether no other access of the loop can tell when one is made."""
        mine = linear_location(access.pointer, self._layout)
        size = self._layout.store_size(access.accessed_type)
        for other in accesses:
            if other is access or (access.op == other.op == "load"):
                continue
            theirs = linear_location(other.pointer, self._layout)
            if self._kills.are_apart(mine.base, theirs.base):
                continue
            same = _is_same(mine, theirs) and size == self._layout.store_size(other.accessed_type)
            if not same or access.op == other.op or not self._comes_first(access, other):
                return False
        return True

    def _comes_first(self, one: Instruction, other: Instruction) -> bool:
        """Whether the load of two accesses to the same element is made before the store."""
        load, store = (one, other) if one.op == "load" else (other, one)
        assert load.block is not None and store.block is not None
        if load.block is store.block:
            order = load.block.instructions
            return order.index(load) < order.index(store)
        index = self._view.index
        return self._dominators.dominates(index[load.block], index[store.block])


def _is_same(a: Location, b: Location) -> bool:
    return a.base is b.base and a.offset == b.offset and a.terms == b.terms
