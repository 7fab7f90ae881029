"""Loops over pairs of elements a distance apart that all their iterations share: butterflies.

    for first in range(s, n, 2*d):            for k in range(s, s + d):
        for k in range(first, first + d):         ... a[k], a[k + d] ...
            ... a[k], a[k + d] ...

Each iteration has two elements of a row for itself: numbers ``first + j`` and ``first + j + d`` with j below d are all
different where the step is 2d, so no two iterations meet in the row. That is so for any distance, and no test of
dependences by linear forms sees it, as d is no number of the program. A row may have several members an element
(`complex`), and there may be several rows, of which a test has to say that they lie apart.

An index of Python counts from the end where it is negative. Where counters and distance are natural and small, which a
test says too, sums of them are not, so these questions are answered here.

Precondition: canonical P-LLVM. What is said holds where the numbers of `Butterflies` are as its docstring has it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.loops.counter_sums import CounterSums, is_inside, plus
from weft.analysis.memory.alias import locate
from weft.graph.loops import Loop
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent, is_speculatable, may_read, may_write
from weft.ir.layout import DataLayout
from weft.ir.types import I1, IntType

_GOES_ON = ("slt", "ult", "ne")


class Outer(Struct, frozen=True):
    """The loop over pairs of stretches.

    Parameters
    ----------
    header, latch, blocks
        Its blocks; all of them, the inner loop's too.
    first
        Its counter.
    start, step, bound
        Where the counter begins, what is added, and what it stays below.
    holds, fails
        Truth values known before the loop, on which its test relies: the first ones hold, the others do not.
    between
        What it computes beside its test.
    """

    header: BasicBlock
    latch: BasicBlock
    blocks: tuple[BasicBlock, ...]
    first: Instruction
    start: Value
    step: Value
    bound: Value
    holds: tuple[Value, ...]
    fails: tuple[Value, ...]
    between: tuple[Instruction, ...]


class Row(Struct, frozen=True):
    """Elements of memory of which each iteration has one or two for itself.

    Parameters
    ----------
    base, terms, offset
        The address of element 0 is the base, the sum of what is known before the loop, each times a scale, and bytes.
    size
        Bytes from one element to the next.
    shift
        By how many distances the lower element lies above the one of the counter's number.
    is_written
        Whether the loop stores to it.
    """

    base: Value
    terms: tuple[tuple[Value, int], ...]
    offset: int
    size: int
    shift: int
    is_written: bool


class Butterflies(Struct, frozen=True):
    """Loops whose iterations have pairs of elements for themselves.

    That is so if all integers (`distance`, `naturals`, start and bound of the outer loop, or else of the inner one) are
    natural and less than `limit`, the distance not 0, rows that are written apart from all other rows and from what
    `others` lead to, and, with an outer loop, its step is twice the distance, which is a power of two and the number of
    iterations of the inner one; without one, the loop has no more iterations than the distance.

    Parameters
    ----------
    inner, outer
        The loops; there may be no outer one.
    distance
        Known before the loops.
    rows
        What they access so.
    others
        Bases of other addresses that they read.
    signs
        Questions for the sign of numbers that are not negative.
    naturals
        What is added up in these numbers, beside the counters.
    """

    inner: CountedLoop
    outer: Outer | None
    distance: Value
    rows: tuple[Row, ...]
    others: tuple[Value, ...]
    signs: tuple[Instruction, ...]
    naturals: tuple[Value, ...]

    @property
    def type(self) -> IntType:
        """The type of counters and distance."""
        return self.inner.counter.type

    @property
    def limit(self) -> int:
        """What numbers have to be less than, so that neither sums nor addresses wrap around."""
        return 1 << (48 if self.type.bits == 64 else self.type.bits - 4)


def nest_of_butterflies(view: CFGView, loop: Loop, layout: DataLayout) -> Butterflies | None:
    """The butterflies of a loop over pairs of stretches and the one in it."""
    if len(loop.children) != 1 or loop.children[0].children:
        return None
    child = loop.children[0]
    inner = counted_loop(view, child)
    if isinstance(inner, str) or not _is_plain(inner):
        return None
    outer = _outer(view, loop, child, inner.counter.type)
    if outer is None:
        return None
    inside = {view.blocks[b] for b in loop.blocks}
    sums = CounterSums(inside, inner, outer.first)
    distance = sums.trips()
    return _found(sums, outer, distance, layout) if distance is not None else None


def row_of_butterflies(view: CFGView, loop: Loop, layout: DataLayout) -> Butterflies | None:
    """The butterflies of one loop, whose distance is known before it."""
    if loop.children:
        return None
    inner = counted_loop(view, loop)
    if isinstance(inner, str) or not _is_plain(inner):
        return None
    sums = CounterSums(set(inner.blocks), inner, None)
    distance = next(_distances(sums), None)
    return _found(sums, None, distance, layout) if distance is not None else None


def _is_plain(loop: CountedLoop) -> bool:
    """Whether a loop counts up by one, and its header does nothing else."""
    counter, header, inside = loop.counter, loop.header, set(loop.blocks)
    if not loop.top_tested or loop.tests_next or counter.step != 1 or loop.predicate not in _GOES_ON:
        return False
    if list(header.phis()) != [counter.phi] or counter.type.bits not in (32, 64):
        return False
    test = header.terminator.operands[0]
    if [i for i in header.non_phis() if i is not counter.following] != [test, header.terminator]:
        return False
    if not isinstance(test, Instruction) or list(test.instruction_users()) != [header.terminator]:
        return False
    if any(True for _ in loop.exit.phis()):
        return False
    return all(u.block in inside for b in loop.blocks for i in b.instructions for u in i.instruction_users())


def _outer(view: CFGView, loop: Loop, child: Loop, type: IntType) -> Outer | None:
    outside = [view.blocks[p] for p in view.cfg.preds[loop.header] if p not in loop.blocks]
    if loop.is_irreducible or len(loop.latches) != 1 or len(outside) != 1 or len(loop.exit_edges) != 1:
        return None
    header, latch, inside = (
        view.blocks[loop.header],
        view.blocks[loop.latches[0]],
        {view.blocks[b] for b in loop.blocks},
    )
    if loop.exit_edges[0][0] != loop.header or len(outside[0].successors) != 1:
        return None
    phis = list(header.phis())
    if len(phis) != 1 or phis[0].type != type or any(True for _ in view.blocks[loop.exit_edges[0][1]].phis()):
        return None
    first = phis[0]
    following, start = first.incoming_value(latch), first.incoming_value(outside[0])
    if not isinstance(following, Instruction) or following.op != "add" or first not in following.operands:
        return None
    step = next((v for v in following.operands if v is not first), None)
    if step is None or is_inside(step, inside) or following not in latch.instructions:
        return None
    between: list[Instruction] = []
    own = {view.blocks[b] for b in child.blocks}
    for block in (view.blocks[b] for b in sorted(loop.blocks - child.blocks)):
        if block is header:
            continue
        if len(block.successors) != 1 or any(True for _ in block.phis()):
            return None
        between += [i for i in block.instructions if not i.is_terminator and i is not following]
    if not all(
        is_speculatable(i) for i in (*between, *(i for i in header.non_phis() if not i.is_terminator))
    ):
        return None
    if any(u.block is not header for i in header.non_phis() for u in i.instruction_users()):
        return None
    if any(u.block not in inside for b in inside for i in b.instructions for u in i.instruction_users()):
        return None
    if any(u is not first for u in following.instruction_users()) or any(
        u.block not in own and u not in between for i in between for u in i.instruction_users()
    ):
        return None
    test = _test(header, first, inside)
    if test is None:
        return None
    bound, holds, fails = test
    blocks = tuple(view.blocks[b] for b in sorted(loop.blocks))
    return Outer(header, latch, blocks, first, start, step, bound, holds, fails, tuple(between))


def _test(
    header: BasicBlock, first: Instruction, inside: Collection[BasicBlock]
) -> tuple[Value, tuple[Value, ...], tuple[Value, ...]] | None:
    """The bound of a loop that counts up, and truth values on which it rests that it does.

    Where the sign of a step is not known, Python's ``range`` asks for it: ``s > 0 and i < n or s < 0 and i > n``.
    """
    branch = header.terminator
    if branch.blocks[0] not in inside:
        return None
    test = branch.operands[0]
    if not isinstance(test, Instruction):
        return None
    if test.op == "icmp":
        bound = _bound(test, first, _GOES_ON[:2], inside)
        return (bound, (), ()) if bound is not None else None
    if test.op != "or":
        return None
    found: dict[bool, tuple[Value, Value]] = {}
    for way in test.operands:
        if not isinstance(way, Instruction) or way.op != "and":
            return None
        for asked, compared in (way.operands, way.operands[::-1]):
            if asked.type is not I1 or is_inside(asked, inside) or not isinstance(compared, Instruction):
                continue
            for up, predicates in ((True, ("slt",)), (False, ("sgt",))):
                bound = _bound(compared, first, predicates, inside)
                if bound is not None:
                    found[up] = (bound, asked)
    if set(found) != {True, False}:
        return None
    return found[True][0], (found[True][1],), (found[False][1],)


def _bound(
    test: Instruction, first: Instruction, predicates: Iterable[str], inside: Collection[BasicBlock]
) -> Value | None:
    if test.op != "icmp" or test.predicate not in predicates or test.operands[0] is not first:
        return None
    return None if is_inside(test.operands[1], inside) else test.operands[1]


def _distances(sums: CounterSums) -> Iterator[Value]:
    """What may be the distance of the elements of a loop: what is added to its counter, and is no number."""
    phi = sums.inner.counter.phi
    for block in sums.inner.blocks:
        for instruction in block.instructions:
            if instruction.op == "add" and phi in instruction.operands:
                for value in instruction.operands:
                    if (
                        value is not phi
                        and not isinstance(value, ConstInt)
                        and not is_inside(value, sums.inside)
                    ):
                        yield value


def _found(sums: CounterSums, outer: Outer | None, distance: Value, layout: DataLayout) -> Butterflies | None:
    rows: dict[tuple[Value, tuple[tuple[Value, int], ...]], list[_Access]] = {}
    others: dict[Value, None] = {}
    size = 0
    for block in sums.inner.blocks:
        for instruction in block.instructions:
            size += 1
            if instruction.op in ("load", "store") and instruction.is_plain_access:
                made = _access(sums, instruction, distance, layout)
                if isinstance(made, _Access):
                    rows.setdefault((made.base, made.terms), []).append(made)
                elif instruction.op == "load":
                    others[made] = None
                else:
                    return None
            elif may_read(instruction) or may_write(instruction) or is_convergent(instruction):
                return None
    if not isinstance(distance, ConstInt) and all(len({a.shift for a in row}) == 1 for row in rows.values()):
        # What is added to the counter is where a row begins, and no distance.
        return None
    found = [_row(key, accesses, distance) for key, accesses in rows.items()]
    if not any(row is not None and row.is_written for row in found):
        return None
    kept: list[Row] = []
    for row, (base, _) in zip(found, rows, strict=True):
        if row is not None:
            kept.append(row)
        elif any(a.is_store for (b, _), each in rows.items() if b is base for a in each):
            return None
        else:
            others[base] = None
    signs, naturals = tuple(sums.signs), tuple(sums.naturals)
    return Butterflies(sums.inner, outer, distance, tuple(kept), tuple(others), signs, naturals)


class _Access(Struct, frozen=True):
    """An access to an element by a counter's number: how many distances above, how many bytes, of what size."""

    base: Value
    terms: tuple[tuple[Value, int], ...]
    scale: int
    shift: int
    offset: int
    bytes: int
    is_store: bool


def _access(sums: CounterSums, access: Instruction, distance: Value, layout: DataLayout) -> _Access | Value:
    """An access as one of a row, or its base."""
    location = locate(access.pointer, layout)
    terms: dict[Value, int] = {}
    offset = location.offset
    for index, scale in location.terms.items():
        found = sums.of(index)
        if found is None:
            return location.base
        terms = plus(terms, found[0], scale)
        offset += scale * found[1]
    if is_inside(location.base, sums.inside):
        return location.base
    scale = terms.pop(sums.inner.counter.phi, 0)
    if sums.first is not None and terms.pop(sums.first, 0) != scale:
        return location.base
    if scale <= 0 or scale > 1 << 12:
        return location.base
    shift, rest = divmod(terms.pop(distance, 0), scale)
    if rest:
        return location.base
    size = layout.store_size(access.accessed_type)
    key = tuple(terms.items())
    return _Access(location.base, key, scale, shift, offset, size, access.op == "store")


def _row(
    key: tuple[Value, tuple[tuple[Value, int], ...]], accesses: list[_Access], distance: Value
) -> Row | None:
    """The row that accesses are to; None where elements may be those of several iterations."""
    scale = accesses[0].scale
    if any(a.scale != scale for a in accesses):
        return None
    shift, offset = min(a.shift for a in accesses), min(a.offset for a in accesses)
    if any(a.shift > shift + 1 for a in accesses):
        return None
    ends: list[int] = []
    for a in accesses:
        place = a.offset - offset
        if isinstance(distance, ConstInt):
            upper, place = divmod(place, scale * distance.value)
            if upper > 1:
                return None
        ends.append(place + a.bytes)
    if max(ends) > scale:
        return None
    base, terms = key
    return Row(base, terms, offset, scale, shift, any(a.is_store for a in accesses))
