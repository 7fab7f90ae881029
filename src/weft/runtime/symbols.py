"""Addresses of what compiled code calls outside of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.machine.host import chosen
from weft.machine.vecmath_load import find_function
from weft.runtime.printing import PRINT_SYMBOL, print_address


def called_symbols(math: Mapping[str, Sequence[Any]]) -> dict[str, int] | None:
    """The addresses of `print` and vector math functions: by symbol, name, bits and lanes of each.

    None when one of these is no longer installed, and the code is to be made again.
    """
    symbols = {PRINT_SYMBOL: print_address()}
    for symbol, (name, bits, lanes) in math.items():
        found = find_function(name, bits, lanes, chosen().isa)
        if found is None or found[0].symbol != symbol:
            return None
        symbols[symbol] = found[1]
    return symbols
