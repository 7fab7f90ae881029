"""What a transfer function is given: an opcode, its flags, and facts about its operands."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from weft.analysis.integers.intervals import Interval, constant, unsigned
from weft.analysis.shapes.lattice import Extents, make, span
from weft.analysis.shapes.shape import ACTIVE, BASE, Shape, Stride


class Fact(NamedTuple):
    """What is known of an operand.

    Parameters
    ----------
    shape
        Its vector shape.
    bits
        Width of an integer or pointer; 0 for every other type.
    constant
        Its value if it is an integer constant, in either reading.
    range
        An interval that holds its value in all active lanes in which it is not poison.
    """

    shape: Shape
    bits: int = 0
    constant: int | None = None
    range: Interval | None = None


class Application(Struct, frozen=True):
    """An opcode applied to operands; the one argument of every transfer function.

    Parameters
    ----------
    extents
        The lane space.
    op, flags, predicate
        As in LLVM.
    bits
        Width of the result, 0 if it is neither an integer nor a pointer.
    operands
        Shapes of the operands, sharpened by their constants and ranges.
    facts
        The operands' facts, for widths and ranges.
    scales, offset
        Of a getelementptr: bytes per unit of each index operand, and the constant rest.
    need
        The exactness a rule must ask of operands: `ACTIVE` for a claim about the active lanes; `BASE` to know
        that one evaluation at lane zero gives the base of the result (`domain.Domain.at_lane_zero`). Then flags
        and ranges, which lane zero may break while it is inactive, are not there to be used.
    """

    extents: Extents
    op: str
    flags: frozenset[str]
    bits: int
    operands: tuple[Shape, ...]
    facts: tuple[Fact, ...]
    predicate: str | None = None
    scales: tuple[int, ...] = ()
    offset: int = 0
    need: int = ACTIVE

    def range(self, index: int) -> Interval | None:
        """The range of an operand, where one is known and may be used."""
        fact = self.facts[index]
        if fact.constant is not None:
            return constant(fact.bits, fact.constant)
        return fact.range if self.need == ACTIVE else None

    def result(
        self,
        strides: tuple[Stride, ...],
        residue: int = 0,
        known_bits: int = 0,
        nsw: int = 0,
        nuw: int = 0,
    ) -> Shape:
        """The canonical shape of the result."""
        return make(self.extents, self.bits, strides, residue, known_bits, nsw, nuw)

    def elementwise(self, residue: int = 0, known_bits: int = 0) -> Shape:
        """Uniform in each dimension in which all operands are, varying in the others ([DA-UARITH])."""
        strides = tuple(
            0 if all(shape.strides[dim] == 0 for shape in self.operands) else None
            for dim in range(len(self.extents))
        )
        return self.result(strides, residue, known_bits)

    def poison(self) -> Shape:
        """The shape of a result that is poison in every lane, of which any claim is true."""
        return self.result((0,) * len(self.extents), 0, self.bits)


def tighten(extents: Extents, bits: int, shape: Shape, bounds: Interval) -> Shape:
    """Exactness that follows from a range.

    Two lanes differ by a stride modulo 2ⁿ. Where the range and the span of σ together are less than 2ⁿ wide, they
    can only differ by the stride itself. The base is the value of any lane less its σ.
    """
    if not bits or not shape.strides or shape.is_uniform:
        return shape
    reach = span(extents, shape.strides) if shape.is_strided else None
    nsw, nuw = shape.nsw, shape.nuw
    if reach is not None and bounds.hi - bounds.lo + reach[1] - reach[0] < 1 << bits:
        half = 1 << (bits - 1)
        nsw = max(nsw, _level(bounds, reach, -half, half))
        if bounds.lo >= 0 or bounds.hi < 0:
            nuw = max(nuw, _level(unsigned(bounds, bits), reach, 0, 1 << bits))
    if bounds.lo >= 0:
        # Both readings are the same number.
        either = min(max(nsw, nuw), ACTIVE)
        nsw, nuw = max(nsw, either), max(nuw, either)
    if (nsw, nuw) == (shape.nsw, shape.nuw):
        return shape
    return Shape(shape.strides, shape.residue, shape.known_bits, nsw, nuw)


def _level(bounds: tuple[int, int], reach: tuple[int, int], least: int, end: int) -> int:
    return BASE if bounds[0] - reach[1] >= least and bounds[1] - reach[0] < end else ACTIVE
