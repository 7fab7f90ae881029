"""Addresses of lanes as expressions: which element each lane of a box accesses, relative to all others (Moll, §11.4).

An expression is a sum of products of values that are the same in all lanes, with integer coefficients, modulo 2^64.
Two accesses at two coordinates whose expressions are the same touch the same element; where they differ by a constant,
the elements lie that far apart, whatever the program runs on: this is Moll's equivalence of memory accesses, for all
that is computed by sums, products and shifts. Remainders and quotients by powers of two are taken lane by lane where
the low bits of what they are of are known; so blocked layouts (§11.7) are expressions like any others.

Sums of fewer than 64 bits are taken apart where they do not wrap, which is certain in lanes that use them as addresses
(`nsw`): callers ask under masks for those that hold in passive lanes, too. A sum that may wrap is one modulo 2^32. What
lanes share of it being a multiple of 2^k, and what each lane adds less than 2^k, nothing carries, and the sum without a
sign is what they share, without a sign, and what each adds.
"""

from __future__ import annotations

from operator import mul
from typing import TYPE_CHECKING

from msgspec import Struct, field

from weft.analysis.integers.bounds import to_signed, trailing_zeros
from weft.analysis.memory.addresses import LinearAddress, decompose
from weft.analysis.shapes.shape import ACTIVE
from weft.codegen.widen.sums_of_products import (
    BITS,
    Expression,
    Product,
    Strip,
    Symbol,
    WrappedSum,
    added,
    multiplied,
    scaled,
)
from weft.ir import ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.slices import slice_of
from weft.ir.types import I8, I64, IntType, PointerType, VectorType, int_type

if TYPE_CHECKING:
    from weft.codegen.widen.context import Widening

DEPTH = 16
"""How many instructions deep an address is taken apart."""

_SUMS = frozenset(["add", "sub", "mul", "shl"])

Piece = tuple[Strip, int, VectorType]


class LoadedPieces(Struct):
    """What has been loaded in a block, by where it is and how much.

    Parameters
    ----------
    values
        The pieces, and how many writes came before each.
    writes
        The addresses of stores as the program has them, and their bytes.
    addresses
        The address of each strip at offset 0.
    """

    values: dict[Piece, tuple[Value, int]] = field(default_factory=dict)
    writes: list[tuple[Value, int]] = field(default_factory=list)
    addresses: dict[Strip, Value] = field(default_factory=dict)


class LaneExpressions:
    """Expressions of the values of a function that is being widened.

    Parameters
    ----------
    w
        The widening.
    everywhere
        Whether an expression has to hold in lanes that are not active.
    bits
        Expressions are those of sums modulo 2 to the power of it.
    """

    def __init__(self, w: Widening, everywhere: bool, bits: int = BITS) -> None:
        self._w = w
        self._everywhere = everywhere
        self._bits = bits
        lanes = w.lanes
        dimensions = range(len(lanes.extents))
        self._places = [[lanes.coordinate(t, d) for d in dimensions] for t in range(lanes.width)]
        self._narrow: dict[int, LaneExpressions] = {}
        self._known: dict[tuple[Value, tuple[int, ...]], Expression | None] = {}
        # The dimensions along which a value varies; None where nothing reaches it.
        self._varying: dict[Value, list[int] | None] = {}
        self._addresses: dict[Instruction, LinearAddress] = {}
        self._symbols: dict[tuple[Value | WrappedSum, int], Symbol] = {}

    def at(self, value: Value, lane: int, depth: int = DEPTH) -> Expression | None:
        """The expression of a value in a lane; None where it is none."""
        if isinstance(value, ConstInt):
            return Expression(value.signed)
        if value in self._varying:
            varying = self._varying[value]
        else:
            shape = self._w.divergence.shape(value)
            varying = None if shape.is_bottom else [d for d, s in enumerate(shape.strides) if s != 0]
            self._varying[value] = varying
        if varying is None:
            return None
        place = self._places[lane]
        key = (value, tuple([place[d] for d in varying]))
        if key not in self._known:
            self._known[key] = self._find(value, lane, depth)
        return self._known[key]

    def _find(self, value: Value, lane: int, depth: int) -> Expression | None:
        taken_apart = self._taken_apart(value, lane, depth) if depth else None
        if taken_apart is not None:
            return taken_apart
        w = self._w
        if not w.is_scalar(value) or not isinstance(value.type, (IntType, PointerType)):
            return None
        shape = w.divergence.shape(value)
        strides = [s for s in shape.strides if isinstance(s, int)]
        if len(strides) < len(w.lanes.extents):
            return None
        narrow = isinstance(value.type, IntType) and value.type.bits < self._bits
        if narrow and any(strides) and (self._everywhere or shape.nsw < ACTIVE):
            return None
        offset = sum(map(mul, strides, self._places[lane]))
        if isinstance(value.type, IntType) and shape.known_bits >= value.type.bits:
            return Expression(to_signed(shape.residue, value.type.bits) + offset)
        return Expression(offset, (((self._symbol(value),), 1),))

    def _symbol(self, value: Value | WrappedSum, shift: int = 0) -> Symbol:
        if (value, shift) not in self._symbols:
            self._symbols[value, shift] = Symbol(value, shift, len(self._symbols))
        return self._symbols[value, shift]

    def _taken_apart(self, value: Value, lane: int, depth: int) -> Expression | None:
        if not isinstance(value, Instruction):
            return None
        op, exact = value.op, isinstance(value.type, IntType) and value.type.bits == self._bits
        if op == "getelementptr":
            return self._address(value, lane, depth)
        if op in ("sext", "zext") and value.type == I64:
            if self._everywhere or (op == "zext" and "nneg" not in value.flags):
                return self._wrapped(value.operands[0], lane, depth - 1, signed=op == "sext")
            return self.at(value.operands[0], lane, depth - 1)
        if op not in ("add", "sub", "mul", "shl", "and", "or", "ashr", "lshr"):
            return None
        if op == "or" and "disjoint" not in value.flags:
            return None
        if (
            op in ("add", "sub", "mul", "shl")
            and not exact
            and (self._everywhere or "nsw" not in value.flags)
        ):
            return None
        a, b = (self.at(operand, lane, depth - 1) for operand in value.operands)
        if a is None or b is None:
            return None
        if op == "and" and not a.terms:
            a, b = b, a
        match op:
            case "add" | "or":
                return added(a, b)
            case "sub":
                return added(a, scaled(b, -1))
            case "mul":
                return multiplied(a, b)
            case "shl" if not b.terms:
                return scaled(a, 1 << b.constant)
            case "and" if not b.terms:
                return self._masked(a, b.constant)
            case "ashr" if not b.terms and exact and self._is_exact(value.operands[0]):
                return self._shifted(a, b.constant)
            case "lshr" if not b.terms and exact and self._is_natural(value.operands[0]):
                return self._shifted(a, b.constant)
            case _:
                return None

    def _wrapped(self, value: Value, lane: int, depth: int, *, signed: bool) -> Expression | None:
        """The expression of a narrower number that is extended; what lanes add does not carry into its sign."""
        assert isinstance(value.type, IntType)
        bits = value.type.bits
        if bits not in self._narrow:
            self._narrow[bits] = LaneExpressions(self._w, self._everywhere, bits)
        a = self._narrow[bits].at(value, lane, depth)
        if a is None:
            return None
        if not a.terms:
            return Expression(to_signed(a.constant, bits) if signed else a.constant % (1 << bits))
        known = min(bits, *(self._known_bits(product, factor) for product, factor in a.terms))
        residue = self._known_part(Expression(0, a.terms), known) if known > 0 else None
        if residue is None or not 0 <= residue + a.constant < 1 << known or (signed and known == bits):
            return None
        shared = WrappedSum(a.terms, bits, known, residue, signed)
        return Expression(residue + a.constant, (((self._symbol(shared),), 1),))

    def _known_bits(self, product: Product, factor: int) -> int:
        """How many of the lowest bits of a product are known."""
        zeros = trailing_zeros(factor)
        if len(product) != 1 or product[0].shift or isinstance(product[0].value, WrappedSum):
            return zeros
        return zeros + self._w.divergence.shape(product[0].value).known_bits

    def _is_exact(self, value: Value) -> bool:
        """Whether a sum is that of integers: it does not wrap where it is used."""
        return all(
            (not self._everywhere and "nsw" in part.flags) or self._fits(part)
            for part in slice_of(value, lambda i: i.op in _SUMS)
            if isinstance(part, Instruction) and part.op in _SUMS
        )

    def _fits(self, value: Instruction) -> bool:
        """Whether ranges prove that a sum does not wrap, in any lane."""
        ranges = self._w.divergence.engine.ranges
        a, b = (None if ranges is None else ranges.of(operand) for operand in value.operands)
        if a is None or b is None:
            return False
        match value.op:
            case "add":
                low, high = a.lo + b.lo, a.hi + b.hi
            case "sub":
                low, high = a.lo - b.hi, a.hi - b.lo
            case "shl":
                low, high = (n << b.hi for n in a) if 0 <= b.lo == b.hi < BITS else (-(1 << BITS), 0)
            case _:
                products = [x * y for x in a for y in b]
                low, high = min(products), max(products)
        most = 1 << (BITS - 1)
        return -most <= low and high < most

    def _is_natural(self, value: Value) -> bool:
        """Whether a sum is that of integers, and not negative: then it is shifted as one with a sign is."""
        ranges = self._w.divergence.engine.ranges
        known = ranges.of(value) if ranges is not None else None
        return self._is_exact(value) and known is not None and known.lo >= 0

    def _address(self, value: Instruction, lane: int, depth: int) -> Expression | None:
        address = self._addresses.get(value)
        if address is None:
            address = decompose(value.operands, value.source_type, self._w.module.layout)
            self._addresses[value] = address
        found = self.at(address.base, lane, depth - 1)
        if found is None:
            return None
        found = found.moved(address.offset)
        for index, scale in zip(address.indices, address.scales, strict=True):
            part = self.at(index, lane, depth - 1)
            if (
                part is None
                or not isinstance(index.type, IntType)
                or (index.type != I64 and self._everywhere)
            ):
                return None
            found = added(found, scaled(part, scale))
            if found is None:
                return None
        return found

    def _masked(self, a: Expression, mask: int) -> Expression | None:
        """Some of the lowest bits of a sum, or all but these, where those of its symbols are known."""
        known = self._known_part(a, (mask if mask >= 0 else ~mask).bit_length())
        if known is None:
            return None
        low = known + a.constant
        if mask >= 0:
            return Expression(low & mask)
        return a.moved(-(low & ~mask)) if mask & -mask == -mask else None

    def _shifted(self, a: Expression, by: int) -> Expression | None:
        """A sum shifted right: a sum of symbols shifted right, and of what is known of the lowest bits."""
        if not 0 < by < BITS or self._known_part(a, by) is None:
            return None
        low, terms = a.constant, []
        for product, factor in a.terms:
            if factor % (1 << by) == 0:
                terms.append((product, factor >> by))
                continue
            if factor != 1 or len(product) != 1 or product[0].shift:
                return None
            low += self._bits_of(product[0].value, by) or 0
            terms.append(((self._symbol(product[0].value, by),), 1))
        return Expression(low >> by, tuple(terms))

    def _known_part(self, a: Expression, bits: int) -> int | None:
        """What the symbols of a sum are modulo 2^bits."""
        total = 0
        for product, factor in a.terms:
            if factor % (1 << bits) == 0:
                continue
            if len(product) != 1 or product[0].shift:
                return None
            known = self._bits_of(product[0].value, bits - trailing_zeros(factor))
            if known is None:
                return None
            total += factor * known
        return total % (1 << bits)

    def _bits_of(self, value: Value | WrappedSum, bits: int) -> int | None:
        if isinstance(value, WrappedSum):
            return 0 if value.known >= bits else None
        shape = self._w.divergence.shape(value)
        return shape.residue % (1 << bits) if shape.known_bits >= bits else None

    def build(self, terms: tuple[tuple[Product, int], ...]) -> Value:
        """The address that a sum with one pointer in it is."""
        w, builder = self._w, self._w.builder
        pointers = [
            p for p, f in terms if len(p) == 1 and f == 1 and isinstance(p[0].value.type, PointerType)
        ]
        assert len(pointers) == 1
        base = pointers[0][0].value
        assert isinstance(base, Value)
        address = w.scalar(base)
        for product, factor in terms:
            if product is not pointers[0]:
                address = builder.gep(I8, address, (self._product(product, factor, I64),))
        return address

    def _product(self, product: Product, factor: int, type: IntType) -> Value:
        builder = self._w.builder
        number: Value | None = None
        for symbol in product:
            each = self._scalar(symbol, type)
            number = each if number is None else builder.binary("mul", number, each)
        assert number is not None
        return number if factor == 1 else builder.binary("mul", number, const_int(factor, type))

    def _scalar(self, symbol: Symbol, type: IntType) -> Value:
        builder = self._w.builder
        value = symbol.value
        scalar = self._sum(value) if isinstance(value, WrappedSum) else self._w.scalar(value)
        if scalar.type != type:
            scalar = builder.cast("sext", scalar, type)
        return builder.binary("ashr", scalar, const_int(symbol.shift, type)) if symbol.shift else scalar

    def _sum(self, wrapped: WrappedSum) -> Value:
        """What lanes share of a sum that may wrap, as a number of 64 bits; what is known of it is left out."""
        builder, type = self._w.builder, int_type(wrapped.bits)
        total: Value = const_int(-wrapped.residue, type)
        for product, factor in wrapped.terms:
            total = builder.binary("add", total, self._product(product, factor, type))
        return builder.cast("sext" if wrapped.signed else "zext", total, I64)
