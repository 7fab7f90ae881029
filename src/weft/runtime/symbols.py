"""Addresses of what compiled code calls outside of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.codegen.launch_record import LANE_COUNTS
from weft.machine.host import chosen
from weft.runtime.printing import PRINT_SYMBOL, print_address
from weft.runtime.watching import LaneCount


def called_symbols(
    math: Mapping[str, Sequence[Any]], lane_count: LaneCount | None = None
) -> dict[str, int] | None:
    """The addresses of `print`, vector math functions, and what lanes are counted in.

    `math` has name, bits and lanes of each function, by symbol.

    None when one of these is no longer installed, and the code is to be made again.
    """
    symbols = {PRINT_SYMBOL: print_address()}
    if lane_count is not None:
        symbols[LANE_COUNTS] = lane_count.address
    if not math:
        return symbols
    # The tables of vector math take a millisecond to load.
    from weft.machine.vecmath_load import find_function

    for symbol, (name, bits, lanes) in math.items():
        found = find_function(name, bits, lanes, chosen().isa)
        if found is None or found[0].symbol != symbol:
            return None
        symbols[symbol] = found[1]
    return symbols
