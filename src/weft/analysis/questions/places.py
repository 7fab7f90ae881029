"""Places in memory as polynomials, and how a question about one is converted from block to block (paper 004, §4.2).

A place is ``base + offset + Σ coefficient · monomial`` in bytes, with the type that is read there. A monomial is one
atom or the product of two, so ``a[i*s + j]`` with an `s` that does not change is a place whose next one along ``i``
differs by the monomial ``s``. An atom is a value that is no sum or product, extended to the width of an address by
sign or by zeros. All arithmetic is modulo 2⁶⁴ and exact: sums in fewer bits are taken apart only where a flag says
that they do not wrap. A thread in which such a flag makes the index poison does not access memory there.
Sums that may wrap are atoms of their own, modulo their bits (`Narrow`): LLVM loses flags where it moves constants.

The form of a place is canonical. Two accesses with equal places, in one execution of the definitions of their atoms,
touch the same bytes.

Conversion. Backwards over an edge, φs become what they take on it (rule 6 of the paper: ``i = i + 1`` makes ``A[i]``
an ``A[i + 1]``). Forwards, an atom that is not valid behind the edge is expressed by a φ that takes it, plus or minus
what is added, on that edge; where there is none, nothing is known of the place behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from weft.analysis.integers.bounds import to_signed
from weft.analysis.memory.addresses import decompose
from weft.ir import BasicBlock, ConstExpr, ConstInt, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, Type

ADDRESS_BITS = 64
MAX_STEPS = 48
"""How many instructions are taken apart for one address."""

Factors = tuple[Value, ...]
"""One value, or two whose product it is; none for one."""


@dataclass(frozen=True, slots=True)
class Narrow:
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

_ONE: Monomial = ()


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Bytes in memory. `Places` makes one object of each: two are equal if they are one.

    Parameters
    ----------
    base
        An object, or a pointer of unknown origin.
    type
        What is read or written there.
    offset
        The constant part, in bytes.
    terms
        Monomials and their coefficients, in the order of the atoms' numbers.
    """

    base: Value
    type: Type
    offset: int
    terms: tuple[tuple[Monomial, int], ...]

    @property
    def atoms(self) -> list[Atom]:
        """The atoms of all terms, one of them perhaps several times."""
        return [atom for monomial, _ in self.terms for atom in monomial]

    @property
    def values(self) -> list[Value]:
        """What the address is computed from: the base first."""
        return [self.base, *(value for atom, _ in self.atoms for value in atom_values(atom))]


@dataclass(slots=True)
class Places:
    """The places of one function.

    Parameters
    ----------
    layout
        The data layout of its module.
    """

    layout: DataLayout
    _numbers: dict[Value | Narrow, int] = field(default_factory=dict)
    _known: dict[tuple[Value, bool], Polynomial] = field(default_factory=dict)
    _pointers: dict[Value, tuple[Value, Polynomial]] = field(default_factory=dict)
    _places: dict[tuple[Value, Type, int, tuple[tuple[Monomial, int], ...]], Place] = field(
        default_factory=dict
    )

    def of(self, pointer: Value, type: Type) -> Place:
        """The place that a pointer leads to."""
        base, polynomial = self._address(pointer)
        return self._place(base, type, polynomial)

    def of_access(self, access: Instruction) -> Place:
        """The place of a load, store or atomic operation."""
        return self.of(access.pointer, access.accessed_type)

    def back(self, place: Place, source: BasicBlock, target: BasicBlock) -> Place | None:
        """The place at the end of `source` that is `place` at the beginning of `target`, behind the edge.

        None if it is no such polynomial: a product of sums may have too many factors.
        """
        taken: dict[Value, Value] = {}
        for phi in target.phis():
            if phi in place.values:
                taken[phi] = phi.incoming_value(source)
        if not taken:
            return place
        return self._replaced(
            place,
            taken.get(place.base),
            lambda atom, signed: self._with(taken, atom, signed),
        )

    def _with(self, taken: Mapping[Value, Value], atom: Value | Narrow, signed: bool) -> Polynomial | None:
        """An atom in which φs are what they take; None if it stays."""
        if isinstance(atom, Value):
            return self.expand(taken[atom], signed) if atom in taken else None
        if not any(value in taken for value in atom.values):
            return None
        parts = {v: self.modular(taken[v], atom.bits) for v in atom.values if v in taken}
        return self._substituted(atom, parts, signed)

    def _substituted(self, atom: Narrow, parts: Mapping[Value, Modular], signed: bool) -> Polynomial:
        total: Modular = {(): atom.offset}
        for factors, coefficient in atom.terms:
            product: Modular | None = {(): coefficient}
            for value in factors:
                product = self._modular_product(product, parts.get(value, {(value,): 1}), atom.bits)
                if product is None:
                    return _FAILED
            total = _modular_sum(total, product, atom.bits)
        return self._narrow(total, atom.bits, signed)

    def _narrow(self, total: Modular, bits: int, signed: bool) -> Polynomial:
        """A sum modulo a power of two, extended."""
        terms = [(factors, c) for factors, c in total.items() if factors and c]
        offset = total.get((), 0)
        if not terms:
            return {_ONE: to_signed(offset, bits) if signed else offset % (1 << bits)}
        if offset == 0 and len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
            value = terms[0][0][0]
            if bits_of(value) == bits:
                return {((value, _extension(value, signed)),): 1}
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
                found = self._modular_product(a, b, bits)
            else:
                found = _modular_sum(a, b, bits, -1 if op == "sub" else 1)
        elif op == "shl" and isinstance(operands[1], ConstInt) and operands[1].value < bits_of(value):
            factor: Modular = {(): 1 << operands[1].value}
            found = self._modular_product(self.modular(operands[0], bits, steps - 1), factor, bits)
        elif op == "trunc" or (op in ("sext", "zext") and bits_of(operands[0]) >= bits):
            found = self.modular(operands[0], bits, steps - 1)
        return {(value,): 1} if found is None else found

    def _modular_product(self, a: Modular, b: Modular, bits: int) -> Modular | None:
        total: Modular = {}
        for first, c in a.items():
            for second, d in b.items():
                if len(first) + len(second) > 2:
                    return None
                factors = tuple(sorted((*first, *second), key=self._number))
                total = _modular_sum(total, {factors: c * d}, bits)
        return total

    def _number(self, atom: Value | Narrow) -> int:
        return self._numbers.setdefault(atom, len(self._numbers))

    def ahead(
        self, place: Place, source: BasicBlock, target: BasicBlock, valid: Callable[[Value, BasicBlock], bool]
    ) -> Place | None:
        """The place at the beginning of `target` that is `place` at the end of `source`; None if it has no name there.

        Parameters
        ----------
        valid
            Whether a value still is what it was, and may be used, at the beginning of a block.
        """
        stale = {value: None for value in place.values if not valid(value, target)}
        if not stale:
            return place
        base: Value | None = None
        shift = 0
        renamed: dict[Atom, Polynomial] = {}
        named: dict[Value, Modular] = {}
        for phi in target.phis():
            taken = phi.incoming_value(source)
            if base is None and place.base in stale and phi.type == place.base.type:
                root, added = self._address(taken)
                if root is place.base and set(added) <= {_ONE}:
                    base, shift = phi, -added.get(_ONE, 0)
            if isinstance(phi.type, IntType):
                self._name(named, phi, taken, stale)
                for signed in (True, False):
                    self._rename(renamed, phi, self.expand(taken, signed), signed, stale)
        for narrow, signed in place.atoms:
            if isinstance(narrow, Narrow) and any(value in stale for value in narrow.values):
                if any(value in stale and value not in named for value in narrow.values):
                    return None
                renamed[narrow, signed] = self._substituted(narrow, named, signed)
        lost = (atom not in renamed and any(v in stale for v in atom_values(atom[0])) for atom in place.atoms)
        if (place.base in stale and base is None) or any(lost):
            return None
        found = self._replaced(place, base, lambda atom, signed: renamed.get((atom, signed)))
        return found and self._place(found.base, found.type, _sum(_polynomial(found), {_ONE: shift}))

    def _name(
        self, named: dict[Value, Modular], phi: Instruction, taken: Value, stale: Mapping[Value, None]
    ) -> None:
        """Note the stale value that is the φ less a constant, modulo its bits, if the φ takes such a one."""
        bits = bits_of(phi)
        total = self.modular(taken, bits)
        rest = [(factors, c) for factors, c in total.items() if factors]
        if len(rest) == 1 and rest[0][1] == 1 and len(rest[0][0]) == 1:
            value = rest[0][0][0]
            if value in stale and bits_of(value) == bits:
                named.setdefault(value, {(phi,): 1, (): -total.get((), 0)})

    def _rename(
        self,
        renamed: dict[Atom, Polynomial],
        phi: Instruction,
        taken: Polynomial,
        signed: bool,
        stale: Mapping[Value, None],
    ) -> None:
        """Note the stale atom that is the φ less a constant, if the φ takes such a one."""
        rest = {monomial: c for monomial, c in taken.items() if monomial}
        if len(rest) != 1:
            return
        (monomial, coefficient), constant = next(iter(rest.items())), taken.get(_ONE, 0)
        value = monomial[0][0]
        is_stale = isinstance(value, Value) and value in stale
        if coefficient == 1 and len(monomial) == 1 and is_stale and monomial[0] not in renamed:
            renamed[monomial[0]] = _sum({((phi, _extension(phi, signed)),): 1}, {_ONE: -constant})

    def _replaced(
        self, place: Place, base: Value | None, replace: Callable[[Value | Narrow, bool], Polynomial | None]
    ) -> Place | None:
        total: Polynomial = {_ONE: place.offset}
        root = place.base
        if base is not None:
            root, added = self._address(base)
            total = _sum(total, added)
        for monomial, coefficient in place.terms:
            product: Polynomial | None = {_ONE: coefficient}
            for atom in monomial:
                found = replace(*atom)
                if found is _FAILED:
                    return None
                product = self._product(product, {(atom,): 1} if found is None else found)
                if product is None:
                    return None
            total = _sum(total, product)
        return self._place(root, place.type, total)

    def _place(self, base: Value, type: Type, polynomial: Polynomial) -> Place:
        terms = [(monomial, c) for monomial, c in polynomial.items() if monomial and c]
        terms.sort(key=lambda term: [self._key(atom) for atom in term[0]])
        key = base, type, polynomial.get(_ONE, 0), tuple(terms)
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = Place(*key)
        return place

    def _address(self, pointer: Value) -> tuple[Value, Polynomial]:
        """The base and what is added to it."""
        found = self._pointers.get(pointer)
        if found is None:
            found = self._pointers[pointer] = self._find_address(pointer)
        return found

    def _find_address(self, pointer: Value) -> tuple[Value, Polynomial]:
        total: Polynomial = {}
        for _ in range(MAX_STEPS):
            if not isinstance(pointer, (Instruction, ConstExpr)) or pointer.type.is_vector:
                break
            if pointer.op == "bitcast":
                pointer = pointer.operands[0]
                continue
            if pointer.op != "getelementptr":
                break
            address = decompose(pointer.operands, pointer.source_type, self.layout)
            total = _sum(total, {_ONE: address.offset})
            for index, scale in zip(address.indices, address.scales, strict=True):
                total = _sum(total, {m: c * scale for m, c in self.expand(index, True).items()})
            pointer = address.base
        return pointer, total

    def expand(self, value: Value, signed: bool) -> Polynomial:
        """An integer, extended to the width of an address, as a polynomial of atoms."""
        key = (value, _extension(value, signed))
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
            return {_ONE: value.signed if signed else value.value}
        if not isinstance(value, Instruction):
            return whole
        op, operands = value.op, value.operands
        if op in ("sext", "zext", "trunc"):
            found = self._expand_cast(value, signed)
            return self._narrow_or(whole, value, signed) if found is None else found
        exact = value.type.bits == ADDRESS_BITS or ("nsw" if signed else "nuw") in value.flags
        if (op == "add" and exact) or (op == "or" and "disjoint" in value.flags):
            return _sum(self.expand(operands[0], signed), self.expand(operands[1], signed))
        if op == "sub" and exact:
            negated = {m: -c for m, c in self.expand(operands[1], signed).items()}
            return _sum(self.expand(operands[0], signed), negated)
        if op == "mul" and exact:
            found = self._product(self.expand(operands[0], signed), self.expand(operands[1], signed))
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
        return whole if bits >= ADDRESS_BITS else self._narrow(self.modular(value, bits), bits, signed)

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

    def _product(self, a: Polynomial, b: Polynomial) -> Polynomial | None:
        """The product, None where it has a monomial of more than two atoms."""
        total: Polynomial = {}
        for first, c in a.items():
            for second, d in b.items():
                if len(first) + len(second) > 2:
                    return None
                monomial = tuple(sorted((*first, *second), key=self._key))
                total = _sum(total, {monomial: c * d})
        return total

    def _key(self, atom: Atom) -> tuple[int, bool]:
        """The order of atoms: that in which they were seen first."""
        return self._number(atom[0]), atom[1]


Modular = dict[Factors, int]
"""Products and their coefficients, modulo a power of two."""

_FAILED: Polynomial = {}
"""Stands for a polynomial with products of too many factors."""


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


def _modular_sum(a: Modular, b: Modular, bits: int, sign: int = 1) -> Modular:
    total = dict(a)
    for factors, coefficient in b.items():
        c = (total.get(factors, 0) + sign * coefficient) % (1 << bits)
        if c:
            total[factors] = c
        else:
            total.pop(factors, None)
    return total


def _extension(value: Value, signed: bool) -> bool:
    """What is as wide as an address is not extended: one form for both ways."""
    return signed or (isinstance(value.type, IntType) and value.type.bits == ADDRESS_BITS)


def _polynomial(place: Place) -> Polynomial:
    return {_ONE: place.offset, **dict(place.terms)}


def _sum(a: Polynomial, b: Polynomial) -> Polynomial:
    total = dict(a)
    for monomial, coefficient in b.items():
        c = to_signed(total.get(monomial, 0) + coefficient, ADDRESS_BITS)
        if c:
            total[monomial] = c
        else:
            total.pop(monomial, None)
    return total


def difference(a: Place, b: Place) -> tuple[int, dict[Monomial, int]]:
    """How far `a` is behind `b`, which have the same base: the constant, and the rest."""
    rest = _sum(dict(a.terms), {monomial: -c for monomial, c in b.terms})
    return to_signed(a.offset - b.offset, ADDRESS_BITS), rest
