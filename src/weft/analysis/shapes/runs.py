"""Runs: accesses of a lane space of several dimensions that fall into pieces of neighbouring elements.

Moll (§11.6.2) calls the pieces chunks.

In a lane group of 8 by 2 threads ``p[y * n + x]`` is two runs of eight elements, ``p[x]`` one run for both rows and
``p[y]`` two elements for eight lanes each. The address is the same along the dimensions of `Runs.same`; of the lanes
at coordinate 0 of these, `Runs.length` in turn access neighbouring elements, `Runs.count` times.
"""

from __future__ import annotations

from collections.abc import Collection
from math import prod

from msgspec import Struct

from weft.analysis.shapes.lattice import Extents
from weft.analysis.shapes.shape import Shape


class Runs(Struct, frozen=True):
    """How an access falls into runs; with a length of 1, into elements that several lanes share.

    `downward` if each lane of a run accesses the element before that of the lane before it.
    """

    same: tuple[int, ...]
    length: int
    count: int
    downward: bool = False


def find_runs(extents: Extents, address: Shape, size: int, may_share: Collection[int]) -> Runs | None:
    """The runs of an access to elements of `size` bytes; None where each lane has to access its own.

    Lanes that differ along dimensions of `may_share` only may access one element together.
    """
    if len(extents) < 2 or address.is_bottom:
        return None
    known = [e for e in extents if e is not None]
    if len(known) < len(extents):
        return None
    wide = [d for d, extent in enumerate(known) if extent > 1]
    same = tuple(d for d in wide if address.strides[d] == 0 and d in may_share)
    rest = [d for d in wide if d not in same]
    length = 1
    downward = bool(rest) and address.strides[rest[0]] == -size
    step = -size if downward else size
    while rest and address.strides[rest[0]] == step * length:
        length *= known[rest.pop(0)]
    if not same and length == 1:
        return None
    return Runs(same, length, prod(known[d] for d in rest), downward)
