"""Whether numbers that are extended in addresses may be taken not to wrap around (`rounds` says why)."""

from __future__ import annotations

from weft.ir import Function, Value
from weft.ir.intrinsics import SHARED_SPACE
from weft.ir.types import PointerType
from weft.transform.loops.unrolled.sums import Product
from weft.transform.loops.unrolled.terms import Atoms, Place
from weft.transform.numbers.accessed_indices import is_small


def is_defined(function: Function, atoms: Atoms, place: Place) -> bool:
    """Whether numbers in an address may be taken not to wrap around."""
    if not place.extended:
        return True
    assert place.rest is not None
    others = [(p, f) for p, f in place.rest.products if not _is_base(atoms, p)]
    offset = place.rest.constant if not place.rest.products else sum(f for p, f in others if not p)
    assert offset is not None
    reach = place.extended >= 2 or (place.extended == 1 and offset >= 0)
    in_object = has_base(function, atoms, place)
    return all(not p for p, _ in others) and in_object and reach and abs(offset) < 1 << 31


def has_base(function: Function, atoms: Atoms, place: Place) -> bool:
    """Whether an address is in an object of less than 2 GiB."""
    assert place.rest is not None
    bases = [p for p, _ in place.rest.products if _is_base(atoms, p)]
    if len(bases) != 1 or dict(place.rest.products)[bases[0]] != 1:
        return False
    base = atoms.meanings[bases[0][0]]
    return base.type.space == SHARED_SPACE or is_small(base, function)


def _is_base(atoms: Atoms, product: Product) -> bool:
    """Whether it is a pointer."""
    meaning = atoms.meanings[product[0]] if len(product) == 1 and product[0] >= 0 else None
    return isinstance(meaning, Value) and isinstance(meaning.type, PointerType)
