"""Which accesses of lanes' own stack objects go in pairs: of two objects that are always accessed at one place."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from weft.analysis.memory.stack_objects import Site
from weft.codegen.widen.accesses import under_the_mask
from weft.codegen.widen.context import Widening
from weft.ir import BasicBlock, Instruction

HALF = 4
"""Bytes of a half of a pair."""


class OwnPair(Struct, frozen=True):
    """Two accesses of the halves of pairs; `low` is that of the first half, `last` the one that comes last."""

    low: Instruction
    high: Instruction
    first: Instruction
    last: Instruction


def site_of(w: Widening, access: Instruction) -> Instruction | None:
    """The object that is accessed, if it is interleaved and known by one address."""
    base = w.addresses.location(access.pointer).base
    if not isinstance(base, Instruction) or base.op != "alloca" or not w.is_scalar(base):
        return None
    return base if base in w.divergence.interleaved else None


def find_own_pairs(w: Widening) -> dict[Instruction, OwnPair]:
    """The pairs of all objects that have their accesses in common."""
    if w.lanes.width % 2:
        return {}
    objects = w.divergence.engine.objects
    found: dict[Instruction, OwnPair] = {}
    keys: dict[Site, list[tuple[Instruction, object]]] = {}
    for site, size in w.divergence.interleaved.items():
        accesses = objects.accesses.get(site, ())
        if size == HALF and accesses and all(_is_far(w, a, site) for a in accesses):
            keys[site] = [(a, _place(w, a)) for a in accesses]
    order = {i: n for n, i in enumerate(w.source.instructions())}
    left = list(keys)
    while left:
        site = left.pop(0)
        for other in left:
            pairs = _pairs_of(w, keys[site], keys[other], order)
            if pairs is not None:
                found |= pairs
                left.remove(other)
                break
    return found


def _is_far(w: Widening, access: Instruction, site: Site) -> bool:
    """Whether lanes access an object at places of their own, under the mask of the block."""
    if not access.is_plain_access or access.total or site_of(w, access) is not site:
        return False
    if w.is_scalar(access.pointer):
        return False
    size, location = w.divergence.interleaved[site], w.addresses.location(access.pointer)
    return not any(scale % size for scale in (location.offset, *location.terms.values()))


def _place(w: Widening, access: Instruction) -> object:
    location = w.addresses.location(access.pointer)
    return access.block, access.op, location.offset, frozenset(location.terms.items())


def _pairs_of(
    w: Widening,
    one: list[tuple[Instruction, object]],
    other: list[tuple[Instruction, object]],
    order: Mapping[Instruction, int],
) -> dict[Instruction, OwnPair] | None:
    """The pairs of two objects; None where an access of one is without that of the other beside it."""
    if len(one) != len(other):
        return None
    one, other = (sorted(accesses, key=lambda a: order[a[0]]) for accesses in (one, other))
    found: dict[Instruction, OwnPair] = {}
    behind = -1
    for (low, place), (high, same) in zip(one, other, strict=True):
        first, last = sorted((low, high), key=order.__getitem__)
        # Nothing of either object is between both.
        if place != same or order[first] <= behind or not _is_under_one_mask(low, high):
            return None
        behind = order[last]
        found[low] = found[high] = OwnPair(low, high, first, last)
    return found


def _is_under_one_mask(low: Instruction, high: Instruction) -> bool:
    block = low.block
    assert isinstance(block, BasicBlock)
    here = set(under_the_mask(block))
    return low in here and high in here
