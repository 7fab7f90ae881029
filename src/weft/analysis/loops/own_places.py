"""Addresses in what each iteration of a loop has of an array for itself: a row, or a matrix of one of three dimensions.

An address is the array's, plus the number of a row times the elements of a row, plus a column. The number is the loop's
counter plus what the loop does not change, so that each iteration has another one:

    a[r, j]           r * E + j               a row of the last extent, which is E
    a[r, i, j]        (r * E + i) * C + j     a matrix of C * E elements, where the last extent is known to be C
    a[r, i, j]        (r * E + i) * L + j     the same, if L, the last extent, turns out to be a number; i is a line

Places are sums modulo 2^64, as sums and products of 64 bits are: parts of sums are parts of addresses.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from weft.analysis.loops.computed_of import computed_of
from weft.analysis.memory.alias import Location
from weft.analysis.sequential.scope import ArrayParameters
from weft.ir import Argument, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.types import I64

_SUMS = ("add", "sub")

_PRODUCTS = (*_SUMS, "mul", "shl")
"""Sums and products."""

Terms = tuple[tuple[Value, int], ...]
"""Values times numbers of elements."""


class Pitch(Struct, frozen=True):
    """Elements from one row to the next: a number, times an extent of the array if there is one.

    If lines have a `length` that is not known, they are as many lines.
    """

    times: int
    extent: Argument | None = None
    length: Argument | None = None

    @property
    def is_of_matrices(self) -> bool:
        """Whether rows are matrices, whose lines have a known length."""
        return self.extent is not None and self.times > 1

    def build(self, builder: Builder) -> Value:
        """The number of elements."""
        assert self.length is None
        times = const_int(self.times)
        if self.extent is None:
            return times
        return self.extent if self.times == 1 else builder.binary("mul", self.extent, times)


class OwnPlace(Struct, frozen=True):
    """A place in the row of an iteration.

    Parameters
    ----------
    number
        The number of the row.
    pitch
        How far rows are apart.
    terms, offset
        The column: values times numbers of elements, and elements.
    lines
        Values times numbers of lines, of so many elements as `Pitch.length` says, which are added to the column.
    """

    number: Value
    pitch: Pitch
    terms: Terms
    offset: int
    lines: Terms = ()

    def with_lines_of(self, count: int) -> OwnPlace:
        """The same place if a line has so many elements."""
        offset, terms = self.offset, list(self.terms)
        for value, by in self.lines:
            if isinstance(value, ConstInt):
                offset += value.signed * by * count
            else:
                terms.append((value, by * count))
        pitch = Pitch(self.pitch.times * count, self.pitch.extent)
        return OwnPlace(self.number, pitch, tuple(terms), offset)


class OwnPlaces(Struct):
    """Takes addresses apart in a loop with a counter.

    Parameters
    ----------
    function
        Of the loop.
    counter
        Its φ, of 64 bits.
    inside
        Its blocks.
    """

    function: Function
    counter: Instruction
    inside: set[BasicBlock]
    _of_counter: set[Value] = field(default_factory=set)
    _numbers: set[Value] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._of_counter = computed_of(
            [self.counter], lambda i, _: i.block in self.inside and i.op in _PRODUCTS
        )
        self._numbers = computed_of([self.counter], self._moves)

    def of(self, place: Location, size: int, array: ArrayParameters) -> OwnPlace | None:
        """An address by its number of a row, and its column, in elements of so many bytes; None if it is no such."""
        for terms, offset in ((place.terms, place.offset), self._spread(place.terms, place.offset)):
            varying = [(v, by) for v, by in terms.items() if v in self._of_counter]
            if len(varying) != 1 or offset % size:
                continue
            factor, scale = varying[0]
            rest = [(v, by) for v, by in terms.items() if v is not factor]
            if scale <= 0 or any(by % size for _, by in varying + rest):
                continue
            scaled = tuple((v, by // size) for v, by in rest)
            found = self._row(factor, scale // size, array) or self._matrix(factor, scale // size, array)
            if found is not None:
                number, pitch, lines = found
                return OwnPlace(number, pitch, scaled, offset // size, lines)
        return None

    def _row(self, factor: Value, times: int, array: ArrayParameters) -> tuple[Value, Pitch, Terms] | None:
        """A number of a row, times elements or an extent: the last one, or one before it where the last is known."""
        if factor in self._numbers:
            return factor, Pitch(times), ()
        extents = [self.function.args[e] for e in array.extents[1:]]
        for number, extent in _factors(factor):
            if number not in self._numbers or not isinstance(extent, Argument):
                continue
            if extent in (extents[-1:] if times == 1 else extents[:-1]):
                return number, Pitch(times, extent), ()
        return None

    def _matrix(self, factor: Value, times: int, array: ArrayParameters) -> tuple[Value, Pitch, Terms] | None:
        """A number of a matrix times its lines, and a line, times the last extent."""
        extents = [self.function.args[e] for e in array.extents[1:]]
        for lines, length in _factors(factor):
            if times != 1 or len(extents) < 2 or length is not extents[-1]:
                continue
            terms, offset = self._spread({lines: 1}, 0)
            varying = [(v, by) for v, by in terms.items() if v in self._of_counter]
            if len(varying) != 1 or varying[0][1] != 1:
                continue
            product = varying[0][0]
            rest = tuple((v, by) for v, by in terms.items() if v is not product)
            for number, extent in _factors(product):
                if number in self._numbers and isinstance(extent, Argument) and extent in extents[:-1]:
                    return number, Pitch(1, extent, extents[-1]), (*rest, (const_int(offset), 1))
        return None

    def _spread(self, terms: Mapping[Value, int], offset: int) -> tuple[dict[Value, int], int]:
        """Terms where each part of a sum that has the counter in it is one."""
        found: dict[Value, int] = {}
        work = list(terms.items())
        while work:
            value, by = work.pop()
            if value.type is not I64:
                found[value] = found.get(value, 0) + by
            elif isinstance(value, ConstInt):
                offset += value.signed * by
            elif isinstance(value, Instruction) and value.op in _SUMS and value in self._of_counter:
                first, second = value.operands
                work += ((first, by), (second, by if value.op == "add" else -by))
            else:
                found[value] = found.get(value, 0) + by
        return {value: by for value, by in found.items() if by}, offset

    def _moves(self, i: Instruction, number: Value) -> bool:
        """Whether it adds to a number what the loop does not change, or subtracts that."""
        if i.block not in self.inside or i.op not in _SUMS:
            return False
        a, b = i.operands
        return (a is number and self._stays(b)) or (i.op == "add" and b is number and self._stays(a))

    def _stays(self, value: Value) -> bool:
        return not isinstance(value, Instruction) or value.block not in self.inside


def _factors(value: Value) -> tuple[tuple[Value, Value], ...]:
    """The factors of a product of 64 bits, in both orders."""
    if not isinstance(value, Instruction) or value.op != "mul" or value.type is not I64:
        return ()
    first, second = value.operands
    return (first, second), (second, first)
