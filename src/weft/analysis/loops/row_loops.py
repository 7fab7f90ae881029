"""Short rows, of which each thread has its own: ``for d in range(K): ... points[i, d]``, or ``q[i, 0], q[i, 1]``.

Side by side the rows of neighbouring threads fill memory, but one iteration of all threads looks at every K-th element,
or stores there: a gather, or a scatter. Once all iterations of a thread are straight code, what they access in a row
are neighbours, and where an outer loop repeats it the row is loaded once. That takes a K that is known and small.
Where it is a parameter of the function, a launch knows it: `RowLoop.numbers` says which parameters code may be
specialized for.

Where threads look up which row is theirs, rows are gathered in any case, and longer ones are better run through by a
thread by itself; so are rows of indices, at which something else is looked up. A row of which several elements are
read, or stored, one by one is one of its array's extent: where that is known and small, its place takes no
multiplication, and its elements are accessed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from weft.analysis.loops.along_rows import looks_up
from weft.analysis.loops.counted_loops import CountedLoop, counted_exit, counted_loop, known_iterations
from weft.analysis.loops.loop_promises import loop_promises
from weft.analysis.memory.alias import locate
from weft.graph.loops import Loop, loop_forest
from weft.ir import Argument, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent, may_read, may_write
from weft.ir.intrinsics import kind_of

LONGEST, LONGEST_FOUND, LONGEST_OF_MATRIX = 16, 4, 4
"""Elements of a short row, of one that is looked up or says what is, and of one of a matrix whose elements are accessed
one by one.

Of matrices both extents are known. Measured were inverses of 3 x 3 doubles and rotations by quaternions; code for
larger ones grows with the product of the extents.
"""

FEW = 4
"""Iterations of a loop that only loads, and is written out wherever from: a mask of 3 by 3 weights becomes nine loads,
of which neighbours are accessed together."""

LONGEST_KNOWN = 32
"""Elements of a row that is not written out, but whose length code is made for: LLVM's vectors then fill it without a
rest, and without asking. Dots of 24 floats took 0.5 of the time."""

LARGEST = 400
"""Instructions of all iterations together."""

_CASTS = ("sext", "zext", "trunc", "freeze")
_ARITHMETIC = frozenset(
    (*_CASTS, "add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "udiv", "sdiv", "urem", "srem")
)


class RowLoop(Struct, frozen=True):
    """A loop along a row that each thread has for itself.

    Parameters
    ----------
    counted
        The loop.
    iterations
        How many it has, if that is known.
    numbers
        Which parameters of the function say how many these are, and how far rows are apart; empty where others do.
    longest
        How many elements a row may have to be short.
    """

    counted: CountedLoop
    iterations: int | None
    numbers: tuple[int, ...]
    longest: int

    @property
    def is_short(self) -> bool:
        """Whether all its iterations may be written out."""
        size = sum(len(block.instructions) for block in self.counted.blocks)
        return (
            self.iterations is not None
            and self.iterations <= self.longest
            and size * self.iterations <= LARGEST
        )


def row_loops(function: Function, view: CFGView) -> Iterator[RowLoop]:
    """The loops along rows; the function is in canonical form."""
    forest = loop_forest(view.cfg)
    leaves = _Leaves(view, forest.loops)
    for loop in forest.loops:
        if loop.children:
            continue
        counted = counted_loop(view, loop)
        if isinstance(counted, str):
            counted = counted_exit(view, loop)
        if isinstance(counted, str) or _is_parallel(view, loop):
            continue
        row = _row_loop(function, counted, leaves) or _few_loads(view, loop, counted)
        if row is not None:
            yield replace(row, longest=min(row.longest, LONGEST_FOUND)) if looks_up(loop, view) else row


def straight_rows(function: Function, view: CFGView, *, auto: bool = False) -> dict[int, int]:
    """The parameters that are the lengths of rows of which several elements are read, or stored, one by one.

    With each is up to which length code is made for it. With `auto`, loops that are in no other one may turn out to be
    parallel, whatever is said of them.
    """
    leaves = _Leaves(view, loop_forest(view.cfg).loops, auto=auto)
    accessed: dict[Value, set[int]] = {}
    for i in function.instructions():
        if i.is_plain_access:
            location = locate(i.pointer, function.layout)
            if len(location.terms) == 1:
                (row,) = location.terms
                accessed.setdefault(row, set()).add(location.offset)
    rows = (row for row, offsets in accessed.items() if len(offsets) > 1 and leaves.of(row) is not _Leaf.SAME)
    found: dict[int, int] = {}
    for row in rows:
        factors = list(_factors(row))
        longest = LONGEST if len(factors) == 1 else LONGEST_OF_MATRIX
        for factor in factors:
            found[factor.index] = min(longest, found.get(factor.index, longest))
    return found


def _row_loop(function: Function, loop: CountedLoop, leaves: _Leaves) -> RowLoop | None:
    """A loop as one along rows; None if it goes along none."""
    layout = function.layout
    found: dict[int, None] = {}
    longest = 0
    if isinstance(bound := _without_casts(loop.bound), Argument):
        found[bound.index] = None
    for block in loop.blocks:
        for i in block.instructions:
            if is_convergent(i):
                return None
            if not i.is_plain_access:
                continue
            parts = [part for index in locate(i.pointer, layout).terms for part in _parts(index)]
            rows = [part for part in parts if part is not loop.counter.phi]
            if len(rows) == len(parts) or not rows:
                continue
            found |= dict.fromkeys(a.index for row in rows for a in _factors(row, of_matrices=False))
            kinds = {leaves.of(row) for row in rows}
            if kinds != {_Leaf.SAME}:
                limit = LONGEST_FOUND if _Leaf.FOUND in kinds else LONGEST
                longest = min(longest or limit, limit)
    return RowLoop(loop, known_iterations(loop), tuple(found), longest) if longest else None


def _few_loads(view: CFGView, loop: Loop, counted: CountedLoop) -> RowLoop | None:
    """A loop of a few iterations that only loads; None for others, and for those in a loop over columns of blocks.

    There lanes run along the columns (`weft.passes.nests.blocks_inside`).
    """
    iterations = known_iterations(counted)
    if iterations is None or iterations > FEW:
        return None
    inside = [i for block in counted.blocks for i in block.instructions]
    if {i.op for i in inside if may_read(i) or may_write(i)} != {"load"}:
        return None
    around = loop.parent
    if around is not None and any(
        i.op == "store" for b in around.blocks for i in view.blocks[b].instructions
    ):
        outer = counted_loop(view, around)
        if not isinstance(outer, str) and known_iterations(outer) is not None:
            return None
    return RowLoop(counted, iterations, (), FEW)


def _parts(index: Value) -> Iterator[Value]:
    """What is added up in an index, which may be narrower than an address; constants and constant factors apart.

    Each part comes once. A sum that may wrap around before it is widened is taken for one that does not: loops are
    chosen by this, no more.
    """
    work, seen = [index], set[Value]()
    while work:
        part = _without_casts(work.pop())
        if part in seen:
            continue
        seen.add(part)
        if isinstance(part, Instruction) and part.op in ("add", "sub"):
            work += reversed(part.operands)
        elif (
            isinstance(part, Instruction)
            and part.op in ("mul", "shl")
            and isinstance(part.operands[1], ConstInt)
        ):
            work.append(part.operands[0])
        elif not isinstance(part, ConstInt):
            yield part


def _factors(index: Value, *, of_matrices: bool = True) -> Iterator[Argument]:
    """The parameters by which the number of a row is multiplied: of an array of three dimensions these are two.

    Each product is looked at once, as it may be part of many.

    The one of its matrices is left out if told so: along a loop it is not known how many rows are accessed.
    """
    work, seen = [index], set[Value]()
    while work:
        product = _without_casts(work.pop())
        if product in seen or not isinstance(product, Instruction) or product.op != "mul":
            continue
        seen.add(product)
        for operand in map(_without_casts, product.operands):
            if isinstance(operand, Argument):
                yield operand
            elif of_matrices:
                work += _parts(operand)


def _without_casts(value: Value) -> Value:
    while isinstance(value, Instruction) and value.op in _CASTS:
        value = value.operands[0]
    return value


def _is_parallel(view: CFGView, loop: Loop) -> bool:
    return any(
        loop_promises(view.blocks[latch], tuple(view.blocks[b] for b in loop.blocks)).annotated
        for latch in loop.latches
    )


class _Leaf(IntEnum):
    """Of what the number of a row is computed."""

    SAME = 0
    """Parameters and counters of plain loops: it is the same in all threads."""
    COUNTED = 1
    """Also which thread it is."""
    FOUND = 2
    """Anything else."""


class _Leaves:
    """Of what numbers are computed."""

    def __init__(self, view: CFGView, loops: Sequence[Loop], *, auto: bool = False) -> None:
        self._counters: dict[Value, tuple[CountedLoop, _Leaf]] = {}
        for loop in loops:
            counted = counted_loop(view, loop)
            if not isinstance(counted, str):
                may_be = _is_parallel(view, loop) or (auto and loop.parent is None)
                leaf = _Leaf.COUNTED if may_be else _Leaf.SAME
                self._counters[counted.counter.phi] = counted, leaf
        self._known: dict[Value, _Leaf] = {}

    def of(self, value: Value) -> _Leaf:
        """The least regular of what a number is computed of."""
        if isinstance(value, (Argument, ConstInt)):
            return _Leaf.SAME
        if not isinstance(value, Instruction):
            return _Leaf.FOUND
        known = self._known.get(value)
        if known is None:
            # Until it is known, so that cycles end.
            self._known[value] = _Leaf.FOUND
            known = self._known[value] = self._of(value)
        return known

    def _of(self, value: Instruction) -> _Leaf:
        if value in self._counters:
            counted, leaf = self._counters[value]
            return max(leaf, self.of(counted.counter.start))
        if kind_of(value.callee_name) is not None:
            return _Leaf.COUNTED
        if value.op in _ARITHMETIC:
            return max(map(self.of, value.operands))
        return _Leaf.FOUND
