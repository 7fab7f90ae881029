"""Places in memory, and how a question about one is converted from block to block (paper 004, §4.2).

A place is ``base + offset + Σ coefficient · monomial`` in bytes (`weft.analysis.questions.polynomials`), with the type
that is read there: ``a[i*s + j]`` with an `s` that does not change is a place whose next one along ``i`` differs by the
monomial ``s``. The form of a place is canonical. Two accesses with equal places, in one execution of the definitions of
their atoms, touch the same bytes.

Conversion. Backwards over an edge, φs become what they take on it (rule 6 of the paper: ``i = i + 1`` makes ``A[i]``
an ``A[i + 1]``). Forwards, an atom that is not valid behind the edge is expressed by a φ that takes it, plus or minus
what is added, on that edge; where there is none, nothing is known of the place behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct, field

from weft.analysis.integers.bounds import to_signed
from weft.analysis.memory.addresses import decompose
from weft.analysis.questions.polynomials import (
    ADDRESS_BITS,
    FAILED,
    MAX_STEPS,
    ONE,
    Atom,
    Expander,
    Modular,
    Monomial,
    Narrow,
    Polynomial,
    atom_values,
    bits_of,
    extension,
    modular_sum,
    sum_of,
)
from weft.ir import BasicBlock, ConstExpr, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, Type


class Place(Struct, frozen=True, eq=False):
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
    values
        What the address is computed from: the base first.
    """

    base: Value
    type: Type
    offset: int
    terms: tuple[tuple[Monomial, int], ...]
    values: tuple[Value, ...]

    @property
    def atoms(self) -> list[Atom]:
        """The atoms of all terms, one of them perhaps several times."""
        return [atom for monomial, _ in self.terms for atom in monomial]


class Places(Struct):
    """The places of one function.

    Parameters
    ----------
    layout
        The data layout of its module.
    """

    layout: DataLayout
    _numbers: Expander = field(default_factory=Expander)
    _pointers: dict[Value, tuple[Value, Polynomial]] = field(default_factory=dict)
    _of: dict[tuple[Value, Type], Place] = field(default_factory=dict)
    _places: dict[tuple[Value, Type, int, tuple[tuple[Monomial, int], ...]], Place] = field(
        default_factory=dict
    )

    def of(self, pointer: Value, type: Type) -> Place:
        """The place that a pointer leads to."""
        known = self._of.get((pointer, type))
        if known is None:
            base, polynomial = self._address(pointer)
            known = self._of[pointer, type] = self._place(base, type, polynomial)
        return known

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
            return self._numbers.expand(taken[atom], signed) if atom in taken else None
        if not any(value in taken for value in atom.values):
            return None
        parts = {v: self._numbers.modular(taken[v], atom.bits) for v in atom.values if v in taken}
        return self._substituted(atom, parts, signed)

    def _substituted(self, atom: Narrow, parts: Mapping[Value, Modular], signed: bool) -> Polynomial:
        total: Modular = {(): atom.offset}
        for factors, coefficient in atom.terms:
            product: Modular | None = {(): coefficient}
            for value in factors:
                product = self._numbers.modular_product(product, parts.get(value, {(value,): 1}), atom.bits)
                if product is None:
                    return FAILED
            total = modular_sum(total, product, atom.bits)
        return self._numbers.narrow(total, atom.bits, signed)

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
                if root is place.base and set(added) <= {ONE}:
                    base, shift = phi, -added.get(ONE, 0)
            if isinstance(phi.type, IntType):
                self._name(named, phi, taken, stale)
                for signed in (True, False):
                    self._rename(renamed, phi, self._numbers.expand(taken, signed), signed, stale)
        for narrow, signed in place.atoms:
            if isinstance(narrow, Narrow) and any(value in stale for value in narrow.values):
                if any(value in stale and value not in named for value in narrow.values):
                    return None
                renamed[narrow, signed] = self._substituted(narrow, named, signed)
        lost = (atom not in renamed and any(v in stale for v in atom_values(atom[0])) for atom in place.atoms)
        if (place.base in stale and base is None) or any(lost):
            return None
        found = self._replaced(place, base, lambda atom, signed: renamed.get((atom, signed)))
        return found and self._place(found.base, found.type, sum_of(_polynomial(found), {ONE: shift}))

    def _name(
        self, named: dict[Value, Modular], phi: Instruction, taken: Value, stale: Mapping[Value, None]
    ) -> None:
        """Note the stale value that is the φ less a constant, modulo its bits, if the φ takes such a one."""
        bits = bits_of(phi)
        total = self._numbers.modular(taken, bits)
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
        (monomial, coefficient), constant = next(iter(rest.items())), taken.get(ONE, 0)
        value = monomial[0][0]
        is_stale = isinstance(value, Value) and value in stale
        if coefficient == 1 and len(monomial) == 1 and is_stale and monomial[0] not in renamed:
            renamed[monomial[0]] = sum_of({((phi, extension(phi, signed)),): 1}, {ONE: -constant})

    def _replaced(
        self, place: Place, base: Value | None, replace: Callable[[Value | Narrow, bool], Polynomial | None]
    ) -> Place | None:
        total: Polynomial = {ONE: place.offset}
        root = place.base
        if base is not None:
            root, added = self._address(base)
            total = sum_of(total, added)
        for monomial, coefficient in place.terms:
            product: Polynomial | None = {ONE: coefficient}
            for atom in monomial:
                found = replace(*atom)
                if found is FAILED:
                    return None
                product = self._numbers.product(product, {(atom,): 1} if found is None else found)
                if product is None:
                    return None
            total = sum_of(total, product)
        return self._place(root, place.type, total)

    def _place(self, base: Value, type: Type, polynomial: Polynomial) -> Place:
        terms = [(monomial, c) for monomial, c in polynomial.items() if monomial and c]
        terms.sort(key=lambda term: [self._numbers.key(atom) for atom in term[0]])
        key = base, type, polynomial.get(ONE, 0), tuple(terms)
        place = self._places.get(key)
        if place is None:
            atoms = (atom for monomial, _ in terms for atom, _ in monomial)
            values = (base, *(value for atom in atoms for value in atom_values(atom)))
            place = self._places[key] = Place(*key, values)
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
            total = sum_of(total, {ONE: address.offset})
            for index, scale in zip(address.indices, address.scales, strict=True):
                total = sum_of(total, {m: c * scale for m, c in self._numbers.expand(index, True).items()})
            pointer = address.base
        return pointer, total


def _polynomial(place: Place) -> Polynomial:
    return {ONE: place.offset, **dict(place.terms)}


def difference(a: Place, b: Place) -> tuple[int, dict[Monomial, int]]:
    """How far `a` is behind `b`, which have the same base: the constant, and the rest."""
    rest = sum_of(dict(a.terms), {monomial: -c for monomial, c in b.terms})
    return to_signed(a.offset - b.offset, ADDRESS_BITS), rest
