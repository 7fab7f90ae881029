"""How far back the question about a load is worth asking: a look at the other accesses of its array.

A question that goes up changes its place at φs alone: what a φ takes is put in its stead. So each coefficient stays
what it is modulo the common divisor of those of the φs, and an access whose place differs by another remainder never
answers. With ``a[i].x`` and ``a[i].y`` that is seen without asking. A place without φs stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd

from msgspec import Struct, field

from weft.analysis.questions.places import Place
from weft.analysis.questions.polynomials import Monomial, atom_values
from weft.ir import Instruction, Value

NEAR = 2
"""Iterations, one less of which are looked back on where no other access has the same counters: as in the paper."""


def distances(accesses: Mapping[Instruction, Place], most: int) -> dict[Instruction, int]:
    """For each load how many iterations it is worth to ask for; those that no access answers are left out."""
    arrays: dict[_Array, list[Place]] = {}
    for place in accesses.values():
        arrays.setdefault((place.base, place.type), []).append(place)
    alike: dict[tuple[_Array, int], dict[_Residues, _Alike]] = {}
    found: dict[Instruction, int] = {}
    for load, place in accesses.items():
        if load.op != "load":
            continue
        if _is_phi(place.base):
            found[load] = most
            continue
        phis, array = _phis(place), (place.base, place.type)
        divisor = gcd(*(c for monomial, c in place.terms if monomial in phis))
        if (array, divisor) not in alike:
            alike[array, divisor] = _alike(arrays[array], divisor)
        others = alike[array, divisor][_residues(place, divisor)]
        if any(other is not place for other in others.by_values[frozenset(place.values)]):
            found[load] = most
        elif others.count > 1 or not phis:
            found[load] = min(NEAR, most)
    return found


_Array = tuple[Value, object]
_Residues = tuple[int, frozenset[tuple[Monomial, int]]]


class _Alike(Struct):
    """The accesses of an array whose places may become each other: how many, and their places by what makes them up."""

    count: int = 0
    by_values: dict[frozenset[Value], list[Place]] = field(default_factory=dict)


def _alike(places: Iterable[Place], divisor: int) -> dict[_Residues, _Alike]:
    found: dict[_Residues, _Alike] = {}
    for place in places:
        group = found.setdefault(_residues(place, divisor), _Alike())
        group.count += 1
        same = group.by_values.setdefault(frozenset(place.values), [])
        # Two are enough to tell that there is another one.
        if len(same) < 2 and not any(other is place for other in same):
            same.append(place)
    return found


def _residues(place: Place, divisor: int) -> _Residues:
    """What stays of a place whatever stands for its φs: coefficients modulo a divisor, all of them where that is 0."""

    def rest(number: int) -> int:
        return number % divisor if divisor else number

    return rest(place.offset), frozenset((m, rest(c)) for m, c in place.terms if rest(c))


def _phis(place: Place) -> list[Monomial]:
    return [m for m, _ in place.terms if any(map(_is_phi, _values(m)))]


def _values(monomial: Monomial) -> Iterable[Value]:
    return (value for atom, _ in monomial for value in atom_values(atom))


def _is_phi(value: Value) -> bool:
    return isinstance(value, Instruction) and value.is_phi
