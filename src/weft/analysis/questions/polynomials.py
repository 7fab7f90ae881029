"""Numbers in addresses as sums of products: polynomials, exact modulo 2⁶⁴, and narrow sums modulo fewer bits.

A monomial is one atom or the product of two. An atom is a value that is no sum or product, extended to the width of an
address by sign or by zeros. All arithmetic is modulo 2⁶⁴ and exact: sums in fewer bits are taken apart only where a
flag says that they do not wrap. A thread in which such a flag makes the index poison does not access memory there.
Sums that may wrap are atoms of their own, modulo their bits (`Narrow`): LLVM loses flags where it moves constants.
"""

from __future__ import annotations

from msgspec import Struct, field

from weft.analysis.integers.bounds import to_signed
from weft.ir import ConstInt, Instruction, Value
from weft.ir.types import IntType

ADDRESS_BITS = 64
MAX_STEPS = 48
"""How many instructions are taken apart for one address."""

Factors = tuple[Value, ...]
"""One value, or two whose product it is; none for one."""


class Narrow(Struct, frozen=True):
    """A sum of products modulo ``2**bits``, which is extended as a whole: what flags do not allow to take apart.

    Parameters
    ----------
    bits
        Of what is summed up; values that are wider are cut.
    offset
        The constant part.
    terms
        Products and their coefficients, in the order of the values' numbers.
    """

    bits: int
    offset: int
    terms: tuple[tuple[Factors, int], ...]

    @property
    def values(self) -> list[Value]:
        """What is summed up."""
        return [value for factors, _ in self.terms for value in factors]


Atom = tuple[Value | Narrow, bool]
"""A value or a narrow sum, and whether it is extended by sign."""
Monomial = tuple[Atom, ...]
"""One atom, or two whose product it is; none for the constant."""
Polynomial = dict[Monomial, int]

ONE: Monomial = ()

Modular = dict[Factors, int]
"""Products and their coefficients, modulo a power of two."""

FAILED: Polynomial = {}
"""Stands for a polynomial with products of too many factors."""


class Expander(Struct):
    """Takes the numbers of one function apart.

    The order of atoms, which makes forms canonical, is that in which they were seen first.
    """

    _numbers: dict[Value | Narrow, int] = field(default_factory=dict)
    _known: dict[tuple[Value, bool], Polynomial] = field(default_factory=dict)

    def expand(self, value: Value, signed: bool) -> Polynomial:
        """An integer, extended to the width of an address, as a polynomial of atoms."""
        key = (value, extension(value, signed))
        found = self._known.get(key)
        if found is None:
            # A cycle of unreachable code ends here.
            self._known[key] = {(key,): 1}
            found = self._known[key] = self._expand(*key)
        return found

    def _expand(self, value: Value, signed: bool) -> Polynomial:
        whole: Polynomial = {((value, signed),): 1}
        assert isinstance(value.type, IntType), f"{value.type} indexes memory"
        if value.type.bits > ADDRESS_BITS:
            return whole
        if isinstance(value, ConstInt):
            return {ONE: value.signed if signed else value.value}
        if not isinstance(value, Instruction):
            return whole
        op, operands = value.op, value.operands
        if op in ("sext", "zext", "trunc"):
            found = self._expand_cast(value, signed)
            return self._narrow_or(whole, value, signed) if found is None else found
        exact = value.type.bits == ADDRESS_BITS or ("nsw" if signed else "nuw") in value.flags
        if (op == "add" and exact) or (op == "or" and "disjoint" in value.flags):
            return sum_of(self.expand(operands[0], signed), self.expand(operands[1], signed))
        if op == "sub" and exact:
            negated = {m: -c for m, c in self.expand(operands[1], signed).items()}
            return sum_of(self.expand(operands[0], signed), negated)
        if op == "mul" and exact:
            found = self.product(self.expand(operands[0], signed), self.expand(operands[1], signed))
            return self._narrow_or(whole, value, signed) if found is None else found
        if op == "shl" and exact and isinstance(operands[1], ConstInt) and operands[1].value < ADDRESS_BITS:
            factor = 1 << operands[1].value
            return {
                m: to_signed(c * factor, ADDRESS_BITS) for m, c in self.expand(operands[0], signed).items()
            }
        return self._narrow_or(whole, value, signed)

    def _narrow_or(self, whole: Polynomial, value: Value, signed: bool) -> Polynomial:
        """A value that may wrap as a narrow sum; `whole` if it is as wide as an address."""
        bits = bits_of(value)
        return whole if bits >= ADDRESS_BITS else self.narrow(self.modular(value, bits), bits, signed)

    def _expand_cast(self, cast: Instruction, signed: bool) -> Polynomial | None:
        source = cast.operands[0]
        if not isinstance(source.type, IntType) or source.type.bits > ADDRESS_BITS:
            return None
        if cast.op == "sext":
            return self.expand(source, True) if signed else None
        if cast.op == "zext":
            # A number that is not negative is extended alike both ways; sums of counters rather say nsw.
            return self.expand(source, "nneg" in cast.flags)
        return self.expand(source, signed) if ("nsw" if signed else "nuw") in cast.flags else None

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial | None:
        """The product, None where it has a monomial of more than two atoms."""
        total: Polynomial = {}
        for first, c in a.items():
            for second, d in b.items():
                if len(first) + len(second) > 2:
                    return None
                monomial = tuple(sorted((*first, *second), key=self.key))
                total = sum_of(total, {monomial: c * d})
        return total

    def key(self, atom: Atom) -> tuple[int, bool]:
        """The order of atoms: that in which they were seen first."""
        return self._number(atom[0]), atom[1]

    def _number(self, atom: Value | Narrow) -> int:
        return self._numbers.setdefault(atom, len(self._numbers))

    def narrow(self, total: Modular, bits: int, signed: bool) -> Polynomial:
        """A sum modulo a power of two, extended."""
        terms = [(factors, c) for factors, c in total.items() if factors and c]
        offset = total.get((), 0)
        if not terms:
            return {ONE: to_signed(offset, bits) if signed else offset % (1 << bits)}
        if offset == 0 and len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            value = terms[0][0][0]
            if bits_of(value) == bits:
                return {((value, extension(value, signed)),): 1}
        terms.sort(key=lambda term: [self._number(v) for v in term[0]])
        return {((Narrow(bits, offset, tuple(terms)), signed),): 1}

    def modular(self, value: Value, bits: int, steps: int = MAX_STEPS) -> Modular:
        """A number modulo ``2**bits`` as a sum of products, whatever wraps."""
        if isinstance(value, ConstInt):
            return {(): value.value % (1 << bits)}
        if not isinstance(value, Instruction) or steps <= 0:
            return {(value,): 1}
        op, operands = value.op, value.operands
        found: Modular | None = None
        if op in ("add", "sub", "mul") or (op == "or" and "disjoint" in value.flags):
            a, b = (self.modular(operand, bits, steps // 2) for operand in operands)
            if op == "mul":
                found = self.modular_product(a, b, bits)
            else:
                found = modular_sum(a, b, bits, -1 if op == "sub" else 1)
        elif op == "shl" and isinstance(operands[1], ConstInt) and operands[1].value < bits_of(value):
            factor: Modular = {(): 1 << operands[1].value}
            found = self.modular_product(self.modular(operands[0], bits, steps - 1), factor, bits)
        elif op == "trunc" or (op in ("sext", "zext") and bits_of(operands[0]) >= bits):
            found = self.modular(operands[0], bits, steps - 1)
        return {(value,): 1} if found is None else found

    def modular_product(self, a: Modular, b: Modular, bits: int) -> Modular | None:
        """The product, None where it has a product of more than two values."""
        total: Modular = {}
        for first, c in a.items():
            for second, d in b.items():
                if len(first) + len(second) > 2:
                    return None
                factors = tuple(sorted((*first, *second), key=self._number))
                total = modular_sum(total, {factors: c * d}, bits)
        return total


def atom_values(atom: Value | Narrow) -> list[Value]:
    """The values in an atom."""
    return atom.values if isinstance(atom, Narrow) else [atom]


def as_narrow(atom: Value | Narrow) -> Narrow:
    """An atom as a sum, if it is a value."""
    return atom if isinstance(atom, Narrow) else Narrow(bits_of(atom), 0, (((atom,), 1),))


def bits_of(value: Value) -> int:
    """The bits of an integer."""
    assert isinstance(value.type, IntType), f"{value.type} indexes memory"
    return value.type.bits


def modular_sum(a: Modular, b: Modular, bits: int, sign: int = 1) -> Modular:
    """``a + sign * b`` modulo ``2**bits``."""
    total = dict(a)
    for factors, coefficient in b.items():
        c = (total.get(factors, 0) + sign * coefficient) % (1 << bits)
        if c:
            total[factors] = c
        else:
            total.pop(factors, None)
    return total


def extension(value: Value, signed: bool) -> bool:
    """What is as wide as an address is not extended: one form for both ways."""
    return signed or (isinstance(value.type, IntType) and value.type.bits == ADDRESS_BITS)


def sum_of(a: Polynomial, b: Polynomial) -> Polynomial:
    """``a + b``."""
    total = dict(a)
    for monomial, coefficient in b.items():
        c = to_signed(total.get(monomial, 0) + coefficient, ADDRESS_BITS)
        if c:
            total[monomial] = c
        else:
            total.pop(monomial, None)
    return total
