"""Rows of arrays that the iterations of a parallel loop each have for themselves, and change in place again and again.

    for r in prange(rows):                 iteration r accesses a[r, 0] ... a[r, 63] alone of the array, and no other
        for k in range(...):               iteration accesses these
            for i in range(64):
                ... a[r, i], a[r, i ^ j] ...

A copy of the row on the stack can take its place (`weft.transform.loops.local_rows`): lanes along the loop have theirs
side by side, where they gather and scatter in the array. What is said of a row rests on this:

* All accesses of the array in the loop have one address but for the column: the array, plus the number of a row times
  the elements of a row (`weft.analysis.loops.own_places`). Each iteration has another number. A row may be a matrix,
  of which ranges say how many lines there are, and elements of a line.
* Columns are in the row. Either ranges say so (`Ranges`): then there need only be as many columns as elements from one
  row to the next. Or the array has as many elements in a row as there are from one to the next, and an index of the
  last dimension that is not in it is undefined in the source. That is not so where the source gives arrays another
  shape (`RESHAPED`), and a term of an address that has that number in it may be part of the row's number, which a pass
  has taken apart: there, ranges have to say it.
* All rows that the loop goes over are in the array, which its extents tell: that is tested before the loop.
* Nothing else that the loop accesses may be in the array: other arrays are tested to lie apart. No iteration may end
  otherwise than by going on to the next one: no call, no barrier.

Whether a copy pays is asked of `weft.analysis.loops.row_uses`.

Facts are about a function in canonical form, without predicates.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.computed_of import computed_of
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.loops.iteration_parts import part_around
from weft.analysis.loops.own_places import OwnPlace, OwnPlaces, Pitch, Terms
from weft.analysis.loops.row_uses import Access, RowUses
from weft.analysis.memory.alias import Location, are_apart, locate
from weft.analysis.sequential.scope import ArrayParameters
from weft.graph.loops import Loop
from weft.ir import Argument, BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent, may_not_return, may_read, may_write
from weft.ir.intrinsics import RESHAPED
from weft.ir.types import I64, FloatType, IntType, Type

LARGEST = 2048
"""Bytes of a row, at most: 16 lanes have their copies in the nearest cache then."""

LONGEST = 512
"""Elements of a row, at most."""

SHORTEST = 4
"""Elements of a row, at least; others are written out (`weft.passes.nests.short_rows`)."""

MOST_BLOCKS = 64
"""Of a loop that is looked at."""

_NUMBERS = ("add", "sub", "mul", "shl", "or", "xor")
"""Of what an address is computed."""

_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1

_SILENT = ("llvm.lifetime.", "llvm.assume", "llvm.dbg.")


class RowInPlace(Struct, frozen=True):
    """The row of an array that each iteration has for itself.

    Parameters
    ----------
    array, base
        Which parameters the array is, and its pointer.
    type
        Of elements.
    number
        The number of the row, computed in the loop of its counter and of what the loop does not change.
    pitch
        Elements from one row to the next.
    length
        Elements of the copy.
    is_whole
        Whether the row has as many elements as the pitch says, which has to be tested to be no more than the length.
        Else its columns are known to be less than the length, which has to be tested to be no more than the pitch.
    accesses
        All accesses of the array.
    others
        Arrays that other accesses go to, and that are not known to be apart.
    line
        The last extent of the array, and what it has to be, if that is not known.
    """

    array: ArrayParameters
    base: Argument
    type: Type
    number: Value
    pitch: Pitch
    length: int
    is_whole: bool
    accesses: tuple[Access, ...]
    others: tuple[ArrayParameters, ...]
    line: tuple[Argument, int] | None = None


class RowLoop(Struct, frozen=True):
    """A loop whose iterations have rows for themselves.

    Parameters
    ----------
    counted
        How it counts: up, by one.
    begin, end
        Blocks of it in no inner loop: each access is behind the head of one and before the end of the other, and who
        comes to the one comes to the other.
    rows
        The rows.
    """

    counted: CountedLoop
    begin: BasicBlock
    end: BasicBlock
    rows: tuple[RowInPlace, ...]


def row_loop(
    function: Function,
    view: CFGView,
    loop: Loop,
    arrays: Sequence[ArrayParameters],
    ranges: Ranges,
) -> RowLoop | None:
    """The rows of a parallel loop that pay to be copied, if there are any."""
    counted = counted_loop(view, loop)
    if isinstance(counted, str) or not counted.top_tested or counted.counter.step != 1:
        return None
    if counted.counter.type is not I64 or not loop.children or len(counted.blocks) > MOST_BLOCKS:
        return None
    accesses = _accesses(counted)
    if accesses is None:
        return None
    finder = _Finder(function, view, loop, counted, accesses, ranges)
    rows = [
        row
        for array in arrays
        if not array.strides and (row := finder.row(array, function.args[array.data], arrays)) is not None
    ]
    if not rows:
        return None
    blocks = {a.instruction.block for row in rows for a in row.accesses}
    region = part_around(view, loop, counted, [b for b in blocks if b is not None])
    return RowLoop(counted, *region, tuple(rows)) if region is not None else None


def _accesses(counted: CountedLoop) -> list[Instruction] | None:
    """All loads and stores of a loop, if nothing else in it accesses memory or may end it."""
    found: list[Instruction] = []
    for block in counted.blocks:
        for instruction in block.instructions:
            if instruction.is_plain_access:
                found.append(instruction)
            elif (instruction.callee_name or "").startswith(_SILENT):
                continue
            elif any(asked(instruction) for asked in (may_read, may_write, is_convergent, may_not_return)):
                return None
    return found


class _Finder:
    """Looks for the rows of one loop."""

    __slots__ = (
        "_found",
        "_function",
        "_places",
        "_ranges",
        "_uses",
    )

    def __init__(
        self,
        function: Function,
        view: CFGView,
        loop: Loop,
        counted: CountedLoop,
        accesses: Sequence[Instruction],
        ranges: Ranges,
    ) -> None:
        self._function, self._ranges = function, ranges
        self._uses = RowUses(view, loop, ranges)
        self._places = OwnPlaces(function, counted.counter.phi, set(counted.blocks))
        self._found = [(access, locate(access.pointer, function.layout)) for access in accesses]

    def row(
        self, array: ArrayParameters, base: Value, arrays: Sequence[ArrayParameters]
    ) -> RowInPlace | None:
        """The row of an array, if it pays to be copied."""
        assert isinstance(base, Argument)
        own = [(access, place) for access, place in self._found if place.base is base]
        if not any(access.op == "store" for access, _ in own) or len(array.extents) < 1:
            return None
        type = own[0][0].accessed_type
        size = self._function.layout.store_size(type)
        if not _is_plain(type, size) or size != array.itemsize:
            return None
        if any(access.accessed_type != type for access, _ in own):
            return None
        longest = min(LONGEST, LARGEST // size)
        places = [self._places.of(place, size, array) for _, place in own]
        first = places[0]
        if first is None:
            return None
        if any(p is None or p.pitch != first.pitch or not _is_same(p.number, first.number) for p in places):
            return None
        line = self._line(own, places, longest)
        if first.pitch.length is not None and line is None:
            return None
        accesses = [
            self._access(access, place if line is None else place.with_lines_of(line))
            for (access, _), place in zip(own, places, strict=True)
            if place is not None
        ]
        if any(value.type is not I64 for access in accesses for value, _ in access.terms):
            return None
        pitch = first.pitch if line is None else first.with_lines_of(line).pitch
        length = self._length(accesses, pitch, longest)
        if length is None:
            return None
        others = self._others(base, arrays)
        if others is None or not self._uses.pay(accesses, length if pitch.is_of_matrices else None):
            return None
        known = None if line is None or first.pitch.length is None else (first.pitch.length, line)
        return RowInPlace(
            array,
            base,
            type,
            first.number,
            pitch,
            length or longest,
            length == 0,
            tuple(accesses),
            others,
            known,
        )

    def _line(
        self, own: Sequence[tuple[Instruction, Location]], places: Sequence[OwnPlace | None], longest: int
    ) -> int | None:
        """Elements of a line of a matrix, if that is what places are in, and all that they are in of one is known."""
        most = 0
        for (access, _), place in zip(own, places, strict=True):
            assert place is not None
            if place.pitch.length is None:
                return None
            seen = self._columns(access.block, place.terms, place.offset)
            if seen is None or seen.lo < 0 or seen.hi >= longest:
                return None
            most = max(most, seen.hi + 1)
        return most

    def _access(self, access: Instruction, place: OwnPlace) -> Access:
        terms = ((self._known_choice(each, access.block), by) for each, by in place.terms)
        return Access(access, tuple((v, by) for v, by in terms if v is not None), place.offset)

    def _known_choice(self, value: Value, block: BasicBlock | None) -> Value | None:
        """A term of a column, or none if it is 0: an index is known not to count from the end."""
        if isinstance(value, Instruction) and value.op == "select":
            test, _, natural = value.operands
            if isinstance(test, Instruction) and test.op == "icmp" and test.predicate == "slt":
                index, zero = test.operands
                seen = self._ranges.at(index, block)
                if isinstance(zero, ConstInt) and zero.value == 0 and seen is not None and seen.lo >= 0:
                    return None if isinstance(natural, ConstInt) and natural.value == 0 else natural
        return value

    def _length(self, accesses: Sequence[Access], pitch: Pitch, longest: int) -> int | None:
        """Elements that columns are known to be in; 0 for those of a row; None where nobody knows."""
        known = [self._columns(a.instruction.block, a.terms, a.offset) for a in accesses]
        length = 0
        if all(seen is not None and seen.lo >= 0 and seen.hi < longest for seen in known):
            length = max(seen.hi + 1 for seen in known if seen is not None)
        if pitch.extent is None:
            return length if SHORTEST <= length <= pitch.times else None
        if length or pitch.times > 1:
            return length if length >= SHORTEST else None
        module = self._function.module
        if module is None or RESHAPED in module.named_metadata:
            return None
        taken_apart = computed_of([pitch.extent], lambda i, _: i.op in _NUMBERS)
        return None if any(v in taken_apart for access in accesses for v, _ in access.terms) else 0

    def _columns(self, block: BasicBlock | None, terms: Terms, offset: int) -> Interval | None:
        """What a column is in."""
        low = high = offset
        for value, by in terms:
            seen = self._range(value, block)
            if seen is None:
                return None
            low += min(by * seen.lo, by * seen.hi)
            high += max(by * seen.lo, by * seen.hi)
        return Interval(low, high)

    def _range(self, value: Value, block: BasicBlock | None) -> Interval | None:
        """What a value is in: a sum that is computed before a test of what it is a sum of is in its range, too."""
        seen = self._ranges.at(value, block)
        if isinstance(value, Instruction) and value.op == "add" and isinstance(value.operands[1], ConstInt):
            before, by = self._ranges.at(value.operands[0], block), value.operands[1].signed
            if before is not None and before.lo + by >= _LEAST and before.hi + by <= _GREATEST:
                moved = Interval(before.lo + by, before.hi + by)
                if seen is None or moved.hi - moved.lo < seen.hi - seen.lo:
                    return moved
        return seen

    def _others(self, base: Value, arrays: Sequence[ArrayParameters]) -> tuple[ArrayParameters, ...] | None:
        """What has to be apart from an array, if it can be tested."""
        found: dict[Value, ArrayParameters] = {}
        for _, place in self._found:
            if place.base is base or place.base in found or are_apart(base, place.base):
                continue
            array = next((a for a in arrays if self._function.args[a.data] is place.base), None)
            if array is None:
                return None
            found[place.base] = array
        return tuple(found.values())


def _is_plain(type: Type, size: int) -> bool:
    """Whether a number of this type has all bits of the memory that it is in."""
    return isinstance(type, (IntType, FloatType)) and type.bits == 8 * size and size in (1, 2, 4, 8)


def _is_same(a: Value, b: Value) -> bool:
    """Whether two values are equal, both computed in the same iteration by sums; each pair is compared once."""
    work, seen = [(a, b)], set[tuple[Value, Value]]()
    while work:
        pair = a, b = work.pop()
        if a is b or pair in seen:
            continue
        seen.add(pair)
        if isinstance(a, ConstInt) and isinstance(b, ConstInt):
            if a.type != b.type or a.value != b.value:
                return False
        elif (
            isinstance(a, Instruction)
            and isinstance(b, Instruction)
            and a.op == b.op
            and a.op in ("add", "sub")
        ):
            work += zip(a.operands, b.operands, strict=True)
        else:
            return False
    return True
