"""Rows of arrays that the iterations of a parallel loop each have for themselves, and change in place again and again.

    for r in prange(rows):                 iteration r accesses a[r, 0] ... a[r, 63] alone of the array, and no other
        for k in range(...):               iteration accesses these
            for i in range(64):
                ... a[r, i], a[r, i ^ j] ...

A copy of the row on the stack can take its place (`weft.transform.loops.local_rows`): lanes along the loop have theirs
side by side, where they gather and scatter in the array. What is said of a row rests on this:

* All accesses of the array in the loop have one address but for the column: the array, plus the number of a row times
  the elements of a row. The number is the loop's counter plus what the loop does not change, so each iteration has
  another one.
* Columns are in the row. Either ranges say so (`Ranges`): then there need only be as many columns as elements from one
  row to the next. Or the array has as many elements in a row as there are from one to the next, and an index of the
  last dimension that is not in it is undefined in the source. That is not so where the source gives arrays another
  shape (`RESHAPED`), and a term of an address that has that number in it may be part of the row's number, which a pass
  has taken apart: there, ranges have to say it.
* All rows that the loop goes over are in the array, which its extents tell: that is tested before the loop.
* Nothing else that the loop accesses may be in the array: other arrays are tested to lie apart. No iteration may end
  otherwise than by going on to the next one: no call, no barrier.

A copy pays where columns are the same for all iterations of the loop, so that lanes access their copies at one place,
where the row is accessed several times, and where it is accessed at several columns in one iteration: other loops along
rows are LLVM's.

Facts are about a function in canonical form, without predicates.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.computed_of import computed_of
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.analysis.loops.iteration_parts import part_around
from weft.analysis.loops.shared_columns import SharedColumns
from weft.analysis.memory.alias import Location, are_apart, locate
from weft.analysis.sequential.scope import ArrayParameters
from weft.graph.loops import Loop, loop_forest
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

LEAST_ACCESSES = 6
"""Accesses of an element in one iteration, at least: the copy and what is copied back are four."""

UNKNOWN_ROUNDS = 8
"""Iterations of a loop of which the program does not say how many there are."""

MOST_BLOCKS = 64
"""Of a loop that is looked at."""

_PRODUCTS = ("add", "sub", "mul", "shl")
"""Sums and products."""

_SILENT = ("llvm.lifetime.", "llvm.assume", "llvm.dbg.")


class Access(Struct, frozen=True):
    """A load or a store, and its column: the sum of values times numbers of elements, and elements."""

    instruction: Instruction
    terms: tuple[tuple[Value, int], ...]
    offset: int


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
        Elements from one row to the next: a constant, or the last extent of the array.
    length
        Elements of the copy.
    is_whole
        Whether the row has as many elements as the pitch says, which has to be tested to be no more than the length.
        Else its columns are known to be less than the length, which has to be tested to be no more than the pitch.
    accesses
        All accesses of the array.
    others
        Arrays that other accesses go to, and that are not known to be apart.
    """

    array: ArrayParameters
    base: Argument
    type: Type
    number: Value
    pitch: Value
    length: int
    is_whole: bool
    accesses: tuple[Access, ...]
    others: tuple[ArrayParameters, ...]


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
        "_counted",
        "_found",
        "_function",
        "_inside",
        "_loop",
        "_numbers",
        "_of_counter",
        "_ranges",
        "_rounds",
        "_shared",
        "_view",
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
        self._function, self._view, self._loop, self._counted = function, view, loop, counted
        self._ranges = ranges
        self._inside = set(counted.blocks)
        self._shared = SharedColumns(view, loop)
        # What is computed of the loop's counter, and what is that counter plus what the loop does not change.
        counter = counted.counter.phi
        self._of_counter = computed_of([counter], lambda i, _: i.block in self._inside and i.op in _PRODUCTS)
        self._numbers = computed_of([counter], self._moves)
        self._found = [(access, locate(access.pointer, function.layout)) for access in accesses]
        self._rounds: dict[int, int] = {}

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
        number: Value | None = None
        pitch: Value | None = None
        accesses: list[Access] = []
        for access, place in own:
            row = self._row_of(place, size, array)
            if row is None or place.offset % size:
                return None
            factor = row[0]
            if number is None or pitch is None:
                _, number, pitch = row
            if not _is_same(number, row[1]) or not _is_same(pitch, row[2]):
                return None
            terms = tuple(
                (value, by) for each, by in place.terms.items() if each is not factor
                if (value := self._known_choice(each, access.block)) is not None
            )  # fmt: skip
            if any(by % size or value.type is not I64 for value, by in terms):
                return None
            scaled = tuple((value, by // size) for value, by in terms)
            accesses.append(Access(access, scaled, place.offset // size))
        assert number is not None and pitch is not None
        length = self._length(accesses, pitch, longest)
        if length is None:
            return None
        others = self._others(base, arrays)
        if others is None or not self._pays(accesses):
            return None
        is_whole = length == 0
        return RowInPlace(
            array, base, type, number, pitch, length or longest, is_whole, tuple(accesses), others
        )

    def _row_of(
        self, place: Location, size: int, array: ArrayParameters
    ) -> tuple[Value, Value, Value] | None:
        """What an address has of the row: the term of it, the number of the row, and the pitch."""
        varying = [(v, by) for v, by in place.terms.items() if v in self._of_counter]
        if len(varying) != 1:
            return None
        factor, scale = varying[0]
        if factor in self._numbers:
            return (factor, factor, ConstInt(I64, scale // size)) if scale % size == 0 < scale else None
        if not isinstance(factor, Instruction) or factor.op != "mul" or scale != size:
            return None
        extent = self._function.args[array.extents[-1]]
        for number, pitch in (factor.operands, factor.operands[::-1]):
            if number in self._numbers and pitch is extent and pitch.type is I64 and len(array.extents) > 1:
                return factor, number, pitch
        return None

    def _moves(self, i: Instruction, number: Value) -> bool:
        """Whether it adds to a number what the loop does not change, or subtracts that."""
        if i.block not in self._inside or i.op not in ("add", "sub"):
            return False
        a, b = i.operands
        return (a is number and self._stays(b)) or (i.op == "add" and b is number and self._stays(a))

    def _stays(self, value: Value) -> bool:
        return not isinstance(value, Instruction) or value.block not in self._inside

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

    def _length(self, accesses: Sequence[Access], pitch: Value, longest: int) -> int | None:
        """Elements that columns are known to be in; 0 for those of a row; None where nobody knows."""
        known = [self._columns(access) for access in accesses]
        length = 0
        if all(seen is not None and seen.lo >= 0 and seen.hi < longest for seen in known):
            length = max(seen.hi + 1 for seen in known if seen is not None)
        if isinstance(pitch, ConstInt):
            return length if SHORTEST <= length <= pitch.value else None
        if length:
            return length if length >= SHORTEST else None
        module = self._function.module
        if module is None or RESHAPED in module.named_metadata:
            return None
        taken_apart = computed_of([pitch], lambda i, _: i.op in (*_PRODUCTS, "or", "xor"))
        return None if any(v in taken_apart for access in accesses for v, _ in access.terms) else 0

    def _columns(self, access: Access) -> Interval | None:
        low = high = access.offset
        for value, by in access.terms:
            seen = self._ranges.at(value, access.instruction.block)
            if seen is None:
                return None
            low += min(by * seen.lo, by * seen.hi)
            high += max(by * seen.lo, by * seen.hi)
        return Interval(low, high)

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

    def _pays(self, accesses: Sequence[Access]) -> bool:
        """Whether lanes would access their copies at one place, often enough, and at several columns."""
        if len({(access.terms, access.offset) for access in accesses}) < 2:
            return False
        for access in accesses:
            block = access.instruction.block
            assert block is not None
            values = [value for value, _ in access.terms]
            if not self._shared.reached(block) or not all(map(self._shared.of, values)):
                return False
        return sum(self._accesses_of_element(access) for access in accesses) >= LEAST_ACCESSES

    def _accesses_of_element(self, access: Access) -> int:
        """How often a nest goes along the row: the iterations of the loops around the innermost one."""
        block = access.instruction.block
        assert block is not None
        innermost = loop_forest(self._view.cfg).innermost[self._view.index[block]]
        assert innermost is not None
        around = [x for x in innermost.ancestors() if x is not innermost and x is not self._loop]
        rounds = 0
        for each in around:
            if not self._loop.contains(each):
                break
            rounds = max(rounds, 1) * self._iterations(each)
        return rounds

    def _iterations(self, loop: Loop) -> int:
        if loop.header not in self._rounds:
            counted = counted_loop(self._view, loop)
            known = known_iterations(counted) if isinstance(counted, CountedLoop) else None
            self._rounds[loop.header] = UNKNOWN_ROUNDS if known is None else known
        return self._rounds[loop.header]


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
