"""How far apart threads along one dimension access memory, by the low 32 bits of what places are computed from.

``p[y * n + x]`` at numbers of 32 bits that may wrap around is no access to neighbours for any object: between two
threads the number may go from the largest to the least. In an object of less than 2 GiB one of the two is outside of it
then, and does not access memory.
"""

from __future__ import annotations

from weft.analysis.divergence import Divergence
from weft.analysis.memory.alias import Location
from weft.ir.types import IntType


def row_step(divergence: Divergence, location: Location, dimension: int) -> int | None:
    """The bytes between neighbours along a dimension, modulo 2^32 of each index; None where they are not known."""
    found = 0
    for index, scale in location.terms.items():
        if not divergence.is_uniform(index):
            assert isinstance(index.type, IntType)
            stride = divergence.shape(index).strides[dimension]
            if index.type.bits < 32 or not isinstance(stride, int):
                return None
            found += scale * stride
    return found
