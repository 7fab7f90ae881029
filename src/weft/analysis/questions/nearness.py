"""How far back the question about a load is worth asking: a look at the other accesses of its array.

A question that goes up changes its place at φs alone: what a φ takes is put in its stead. So each coefficient stays
what it is modulo the common divisor of those of the φs, and an access whose place differs by another remainder never
answers. With ``a[i].x`` and ``a[i].y`` that is seen without asking. A place without φs stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from weft.analysis.questions.places import Place
from weft.analysis.questions.polynomials import Monomial, atom_values
from weft.ir import Instruction, Value

NEAR = 2
"""Iterations, one less of which are looked back on where no other access has the same counters: as in the paper."""


def distances(accesses: Mapping[Instruction, Place], most: int) -> dict[Instruction, int]:
    """For each load how many iterations it is worth to ask for; those that no access answers are left out."""
    arrays: dict[tuple[Value, object], list[tuple[Instruction, Place]]] = {}
    for access, place in accesses.items():
        arrays.setdefault((place.base, place.type), []).append((access, place))
    found: dict[Instruction, int] = {}
    for load, place in accesses.items():
        if load.op != "load":
            continue
        if _is_phi(place.base):
            found[load] = most
            continue
        others = [
            (a, q) for a, q in arrays[place.base, place.type] if a is not load and _may_become(place, q)
        ]
        if any(_is_akin(place, q) for _, q in others):
            found[load] = most
        elif others or not _phis(place):
            found[load] = min(NEAR, most)
    return found


def _is_akin(place: Place, other: Place) -> bool:
    """Whether one may follow the other in a loop: the same values make up both."""
    return place is not other and set(place.values) == set(other.values)


def _may_become(place: Place, other: Place) -> bool:
    if place is other:
        return True
    phis = _phis(place)
    divisor = gcd(*(c for monomial, c in place.terms if monomial in phis))
    mine, others = dict(place.terms), dict(other.terms)
    apart = [place.offset - other.offset]
    apart += [mine.get(m, 0) - others.get(m, 0) for m in {**mine, **others}]
    return all(d % divisor == 0 if divisor else d == 0 for d in apart)


def _phis(place: Place) -> list[Monomial]:
    return [m for m, _ in place.terms if any(map(_is_phi, _values(m)))]


def _values(monomial: Monomial) -> Iterable[Value]:
    return (value for atom, _ in monomial for value in atom_values(atom))


def _is_phi(value: Value) -> bool:
    return isinstance(value, Instruction) and value.is_phi
