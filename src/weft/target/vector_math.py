"""Which vector math function stands for a scalar one, on the machine that code is made for."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from weft.codegen.widen.calls import FindMath, VectorMathFunction
from weft.machine.host import chosen
from weft.machine.targets import Isa
from weft.machine.vecmath import math_function
from weft.machine.vecmath_load import find_function, wants_own
from weft.target.machine import TargetSpec
from weft.target.own_math import FUNCTIONS, flushed_symbol, is_own, masked_symbol, own_symbol

_LIBRARY_LANES = (2, 4, 8, 16, 32, 64)


class MathSymbol(Struct, frozen=True):
    """A vector math function by what it computes: enough to find it again in another process."""

    name: str
    bits: int
    lanes: int


def of_libraries(math: Mapping[str, MathSymbol]) -> dict[str, MathSymbol]:
    """Those that are not weft's own: code has to be linked with them."""
    return {symbol: function for symbol, function in math.items() if not is_own(symbol)}


def math_finder(used: dict[str, MathSymbol], spec: TargetSpec) -> FindMath:
    """A function that finds vector math functions for widening, and notes in `used` those it has found.

    For a scalar callee it gives a function of weft's own where that is faster, else the installed function of the most
    lanes up to those asked for, else of the fewest above. Whether it is installed is known of this machine alone; for
    others there are the functions of weft's own.
    """
    isa = spec.isa

    def find(callee: str, lanes: int) -> VectorMathFunction | None:
        known = math_function(callee)
        if known is None:
            return None
        own = _own(*known, lanes, isa) if wants_own() else None
        if own is None or not _is_faster(known[0], isa):
            own = _installed(*known, lanes) or own
        if own is not None:
            for symbol in (own.symbol, own.masked):
                if symbol is not None:
                    used[symbol] = MathSymbol(*known, own.lanes)
        return own

    def _installed(name: str, bits: int, lanes: int) -> VectorMathFunction | None:
        if spec != TargetSpec.chosen():
            return None
        fitting = [count for count in _LIBRARY_LANES if count <= lanes]
        for count in (*reversed(fitting), *_LIBRARY_LANES[len(fitting) :]):
            found = find_function(name, bits, count, chosen().isa)
            if found is not None:
                return VectorMathFunction(found[0].symbol, count, found[0].ulp)
        return None

    return find


def _own(name: str, bits: int, lanes: int, isa: Isa) -> VectorMathFunction | None:
    """The function of weft's own for some registers, or for fewer lanes where there are no more."""
    if isa.vector_bits < 128:
        return None
    count = max(4, min(lanes, _registers(isa) * isa.lanes(bits)))
    symbol = own_symbol(name, bits, count)
    if symbol is None:
        return None
    flushed = flushed_symbol(name, count, isa)
    masked = masked_symbol(name, count, isa)
    return VectorMathFunction(
        symbol, count, FUNCTIONS[name].ulp, masked is None, approximate=flushed, masked=masked
    )


def _is_faster(name: str, isa: Isa) -> bool:
    """Whether weft's own function is no slower than those of libraries, as measured: on aarch64 none has been."""
    return isa.arch == "x86_64" and isa.vector_bits >= FUNCTIONS[name].faster_bits


def _registers(isa: Isa) -> int:
    """For how many registers a function is: its numbers come from memory once, if they do not fit into operands."""
    return 1 if isa.mask_registers else 4
