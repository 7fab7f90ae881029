"""Rows that each thread reads again and again, from addresses of its own.

    for row in range(128):                         second[pair, column] is read 128 times for each column,
        for column in range(128):                  by lanes that are whole rows apart: gathers
            ... second[pair, column] ...

An inner loop counts along such a row. Its address depends on the counter of that loop, and else on what the outer loop
does not change; all runs of the inner loop have the same iterations, each of which loads the element; nothing in the
outer loop stores to what the row is in. So the first run reads all that later ones read, and what it reads can be kept
(`weft.transform.loops.copy_rows`): no element is loaded that the program does not load. Loops behind that one, in the
same iteration of the outer loop, may read the row from the copy, too, whether or not each iteration runs them.

Facts are about a function without predicates, shadows and guards, in canonical form.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.divergence import Divergence
from weft.analysis.divergence.result import Form
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.analysis.loops.ordered_exits import LARGEST_LOOP, size_of
from weft.analysis.memory.promises import Promise
from weft.analysis.questions.kills import Kills
from weft.analysis.questions.places import Places
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.effects import is_speculatable, may_not_return

LEAST_LENGTH = 5
"""Shorter loops are written out (`weft.analysis.loops.row_loops`), and what they load stays in registers."""

LEAST_ROOM = 16
"""Elements that there must be room for where it is asked how many there are."""

LARGEST_LENGTH = 1 << 14
"""Elements of rows that may be copied without a question, where there are so few lanes."""

LEAST_RUNS = 4
"""Of the inner loop: copying is a load and a store an element."""

DEEPEST = 8
"""Steps in which addresses are computed that are compared."""

NEAR = 4
"""Elements between neighbours up to which lanes are served by wide accesses and shuffles."""


class RereadRow(Struct, frozen=True):
    """A row of each thread's own, and what reads it.

    Parameters
    ----------
    loads
        The loads of one element in each iteration, from the same address.
    inner
        The loop along the row.
    outer
        The header of the loop that runs it again and again.
    length
        Iterations of the inner loop, at most.
    is_tested
        Whether that is only so where it is asked before the inner loop: the program does not say how many they are.
    behind
        Loops behind it with the same iterations, and their loads from the same addresses.
    """

    loads: tuple[Instruction, ...]
    inner: CountedLoop
    outer: BasicBlock
    length: int
    is_tested: bool = False
    behind: tuple[tuple[CountedLoop, tuple[Instruction, ...]], ...] = ()

    @property
    def reads(self) -> tuple[Instruction, ...]:
        """All loads that read the copy."""
        return (*self.loads, *(load for _, loads in self.behind for load in loads))

    @property
    def element(self) -> int:
        """Bytes of an element."""
        function = self.outer.function
        assert function is not None
        return function.layout.store_size(self.loads[0].type)


class RereadRows(Struct, frozen=True):
    """The rows of a function.

    Parameters
    ----------
    rows
        All of them.
    arrays_apart
        Whether that nothing stores to them rests on the promise that arrays do not overlap.
    """

    rows: tuple[RereadRow, ...]
    arrays_apart: bool

    def fitting(self, room: int, lanes: int) -> list[RereadRow]:
        """The rows that fit into so many bytes together, for so many lanes; what is left is for those of any length."""
        found: list[RereadRow] = []
        for row in self.rows:
            size = row.element * row.length * lanes
            if not row.is_tested and size <= room:
                room -= size
                found.append(row)
        anyhow = [row for row in self.rows if row.is_tested]
        for row in anyhow:
            length = room // (len(anyhow) * row.element * lanes)
            if length >= LEAST_ROOM:
                found.append(replace(row, length=length))
        return found


def reread_rows(divergence: Divergence) -> RereadRows:
    """The rows that threads of a function read again and again, where lanes are far apart."""
    promise = Promise.of(divergence.function)
    rows = tuple(_Search(divergence, promise).run()) if _nests(divergence) else ()
    return RereadRows(rows, bool(rows) and promise is not None and promise.is_used)


def _nests(divergence: Divergence) -> list[Loop]:
    """The innermost loops that are in another one."""
    loops = divergence.facts.propagation.loops.loops
    return [loop for loop in loops if not loop.children and loop.parent is not None]


class _Search:
    """Looks for rows in one function."""

    def __init__(self, divergence: Divergence, promise: Promise | None) -> None:
        self._divergence = divergence
        facts = divergence.facts
        self._view = facts.view
        self._ranges: Ranges = facts.ranges
        self._layout = divergence.function.layout
        self._kills = Kills(Places(self._layout), facts.objects, facts.ranges.of, promise)
        self._dominators: DominatorTree = dominator_tree(facts.view.cfg)

    def run(self) -> list[RereadRow]:
        nests = [(loop, counted_loop(self._view, loop)) for loop in _nests(self._divergence)]
        counting = [(loop, counted) for loop, counted in nests if not isinstance(counted, str)]
        found: list[RereadRow] = []
        for row in self._rows(counting):
            if not any(row.loads[0] in loads for known in found for _, loads in known.behind):
                found.append(replace(row, behind=tuple(self._behind(row, counting))))
        return found

    def _rows(self, counting: list[tuple[Loop, CountedLoop]]) -> Iterator[RereadRow]:
        for loop, counted in counting:
            if any(may_not_return(i) for b in counted.blocks for i in b):
                continue
            length = self._length(counted)
            if (length is None and not self._may_be_tested(counted)) or (
                length or LEAST_LENGTH
            ) < LEAST_LENGTH:
                continue
            loads = [i for b in counted.blocks for i in b.instructions if self._is_far(i, counted)]
            alike: dict[Value, list[Instruction]] = {}
            for load in loads:
                alike.setdefault(load.pointer, []).append(load)
            for same in alike.values():
                outer = self._outermost(loop, counted, same[0])
                if outer is not None and len({load.type for load in same}) == 1:
                    header = self._view.blocks[outer.header]
                    yield RereadRow(tuple(same), counted, header, length or 0, length is None)

    def _behind(
        self, row: RereadRow, counting: list[tuple[Loop, CountedLoop]]
    ) -> Iterator[tuple[CountedLoop, tuple[Instruction, ...]]]:
        """The loops behind the one along a row, in the same iteration, that read the row, too."""
        index, first = self._view.index, row.inner
        for loop, counted in counting:
            around = {self._view.blocks[outer.header] for outer in loop.ancestors()}
            if counted.header is first.header or row.outer not in around:
                continue
            if not self._dominators.dominates(index[first.header], index[counted.preheader]):
                continue
            if not _have_same_iterations(first, counted) or (
                row.is_tested and not self._may_be_tested(counted)
            ):
                continue
            counters = first.counter.phi, counted.counter.phi
            loads = tuple(
                i
                for b in counted.blocks
                for i in b.instructions
                if i.op == "load" and i.is_plain_access and i.type == row.loads[0].type
                if _is_same(row.loads[0].pointer, i.pointer, counters)
            )
            if loads:
                yield counted, loads

    def _length(self, loop: CountedLoop) -> int | None:
        """How many iterations a loop has at most; None where nobody knows."""
        known = known_iterations(loop)
        if known is not None:
            return known
        interval = self._ranges.of(loop.counter.phi)
        if interval is None:
            return None
        length = (interval.hi - interval.lo) // abs(loop.counter.step) + 1
        return length if length <= LARGEST_LENGTH else None

    def _may_be_tested(self, loop: CountedLoop) -> bool:
        """Whether lanes may ask together how many iterations a loop has, and it is small enough for two versions."""
        ends = (loop.counter.start, loop.bound)
        return all(self._divergence.is_uniform(v) for v in ends) and size_of(loop.blocks) <= LARGEST_LOOP

    def _is_far(self, load: Instruction, counted: CountedLoop) -> bool:
        """Whether each iteration of a loop loads an element, and lanes are far apart."""
        if load.op != "load" or not load.is_plain_access or not self._is_always_done(load, counted):
            return False
        bits = self._layout.bit_size(load.type)
        if load.type.is_vector or bits != 8 * self._layout.store_size(load.type):
            return False
        form = self._divergence.access_form(load)
        if form.form is Form.STRIDED:
            return form.stride is None or abs(form.stride) > NEAR * self._layout.size(load.type)
        return form.form is Form.GATHER and not self._kills.objects.of(load.pointer)

    def _is_always_done(self, load: Instruction, loop: CountedLoop) -> bool:
        """Whether each iteration executes an instruction, and the last test of a loop that tests first does not."""
        if load.block is None or (load.block is loop.header and loop.top_tested):
            return False
        index = self._view.index
        return self._dominators.dominates(index[load.block], index[loop.latch])

    def _outermost(self, loop: Loop, counted: CountedLoop, load: Instruction) -> Loop | None:
        """The outermost loop around, of which all iterations read the same row."""
        found: Loop | None = None
        runs: int | None = 1
        around = loop.parent
        while around is not None and self._reads_again(around, counted, load):
            found = around
            if runs is not None:
                how = counted_loop(self._view, around)
                times = None if isinstance(how, str) else known_iterations(how)
                runs = None if times is None else runs * times
            around = around.parent
        return None if runs is not None and runs < LEAST_RUNS else found

    def _reads_again(self, outer: Loop, counted: CountedLoop, load: Instruction) -> bool:
        """Whether each iteration of a loop runs another one, which loads the same row as before."""
        index = self._view.index
        if (
            outer.is_irreducible
            or sum(p not in outer.blocks for p in self._view.cfg.preds[outer.header]) != 1
        ):
            return False
        before = index[counted.preheader]
        if not all(self._dominators.dominates(before, latch) for latch in outer.latches):
            return False
        inside = {self._view.blocks[b] for b in outer.blocks}
        fixed = (counted.counter.start, counted.bound)
        if any(isinstance(v, Instruction) and v.block in inside for v in fixed):
            return False
        if not _depends_on(load.pointer, counted.counter.phi, inside):
            return False
        return not any(self._may_store_to(i, load) for block in inside for i in block.instructions)

    def _may_store_to(self, instruction: Instruction, load: Instruction) -> bool:
        """Whether an instruction may change what is in the object that a load reads, or show what others stored."""
        place = self._kills.places.of_access(load)
        if instruction.op == "store" and instruction.is_plain_access:
            base = self._kills.places.of_access(instruction).base
            return not self._kills.are_apart(base, place.base)
        return self._kills.changes(instruction, place) or (
            instruction.op in ("atomicrmw", "cmpxchg") or bool(instruction.attrs.get("volatile"))
        )


def _have_same_iterations(a: CountedLoop, b: CountedLoop) -> bool:
    """Whether two loops count the same numbers, as is seen where both begin and end alike."""
    same = (a.predicate, a.tests_next, a.top_tested, a.counter.step, a.counter.start, a.bound)
    return same == (b.predicate, b.tests_next, b.top_tested, b.counter.step, b.counter.start, b.bound)


def _is_same(a: Value, b: Value, counters: tuple[Value, Value], depth: int = DEEPEST) -> bool:
    """Whether two values are computed alike, one from the first counter and the other from the second."""
    if a is counters[0] or b is counters[1]:
        return a is counters[0] and b is counters[1]
    if a is b or (isinstance(a, ConstInt) and a == b):
        return True
    if not isinstance(a, Instruction) or not isinstance(b, Instruction) or not depth or a.is_phi:
        return False
    if a.op != b.op or a.type != b.type or a.attrs != b.attrs or not is_speculatable(a):
        return False
    pairs = zip(a.operands, b.operands, strict=False)
    return len(a.operands) == len(b.operands) and all(_is_same(x, y, counters, depth - 1) for x, y in pairs)


def _depends_on(value: Value, counter: Instruction, inside: set[BasicBlock]) -> bool:
    """Whether an address is computed from a counter alone and what these blocks do not change."""
    work, seen = [value], {value}
    while work:
        value = work.pop()
        if value is counter or not isinstance(value, Instruction) or value.block not in inside:
            continue
        if not is_speculatable(value):
            return False
        work += [v for v in value.operands if v not in seen]
        seen.update(value.operands)
    return counter in seen
