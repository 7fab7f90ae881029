"""Which vector math function stands for a scalar one, on the machine that code is made for."""

from __future__ import annotations

from msgspec import Struct

from weft.codegen.widen.calls import FindMath, VectorMathFunction
from weft.machine.host import chosen
from weft.machine.vecmath import math_function
from weft.machine.vecmath_load import find_function
from weft.target.machine import TargetSpec

_LIBRARY_LANES = (2, 4, 8, 16, 32, 64)


class MathSymbol(Struct, frozen=True):
    """A vector math function by what it computes: enough to find it again in another process."""

    name: str
    bits: int
    lanes: int


def math_finder(used: dict[str, MathSymbol], spec: TargetSpec) -> FindMath:
    """A function that finds vector math functions for widening, and notes in `used` those it has found.

    For a scalar callee it gives the installed function of the most lanes up to those asked for, else of the fewest
    above; nothing for machines other than this one.
    """

    def find(callee: str, lanes: int) -> VectorMathFunction | None:
        known = math_function(callee)
        if known is None or spec != TargetSpec.chosen():
            return None
        name, bits = known
        fitting = [count for count in _LIBRARY_LANES if count <= lanes]
        for count in (*reversed(fitting), *_LIBRARY_LANES[len(fitting) :]):
            found = find_function(name, bits, count, chosen().isa)
            if found is not None:
                used[found[0].symbol] = MathSymbol(name, bits, count)
                return VectorMathFunction(found[0].symbol, count, found[0].ulp)
        return None

    return find
