"""The slots that arguments of functions are in, by their types."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from weft.frontend.python.types import Array, KernelType, Scalar, Tuple
from weft.runtime.array_memory import LONG
from weft.runtime.dispatch_records import argument_slots
from weft.runtime.row_numbers import Restriction, product_of


def slots_of_extents(types: Sequence[KernelType]) -> list[int]:
    """The slots that extents of arrays are in."""
    from weft.frontend.python.components import parameter_components

    components = [c for type in flat_types(types) for c in parameter_components(type)]
    return [at for at, component in enumerate(components) if component.role == "extent"]


def restricted_sizes(types: Sequence[KernelType], most: int) -> list[Restriction]:
    """That arrays have less than `LONG` elements, where extents of up to `most` do not say so."""
    found: list[Restriction] = []
    at = 0
    for type in flat_types(types):
        if isinstance(type, Array) and type.ndim > 1 and most**type.ndim >= LONG:
            found.append((product_of(at + 1, type.ndim), 0, LONG - 1))
        at += argument_slots(type)
    return found


def flat_types(types: Sequence[KernelType]) -> Iterator[KernelType]:
    """The types of arguments, tuples taken apart."""
    for type in types:
        if isinstance(type, Tuple):
            yield from flat_types(type.items)
        else:
            yield type


def bytes_of_arrays(types: Sequence[KernelType], slots: bytes) -> int:
    """The bytes of array arguments, by the extents in their slots."""
    from weft.frontend.python.components import parameter_components

    words, at, total = memoryview(slots).cast("q"), 0, 0
    for type in flat_types(types):
        extents: list[int] = []
        for component in parameter_components(type):
            if component.role == "extent":
                extents.append(words[at])
            at += 1
        if extents and isinstance(type, Array) and isinstance(type.dtype, Scalar):
            total += math.prod(extents) * type.dtype.size
    return total
