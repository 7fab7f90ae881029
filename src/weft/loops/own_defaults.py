"""Which parameters of a function have their defaults in a call, so that code may have these as constants.

``def crc(data, polynomial=0x8408)`` is mostly called without a polynomial, and the loop around a constant one is
another loop: LLVM folds it, writes out loops of that length, leaves out branches by it. So such calls have code of
their own, as if the parameter were a constant of the function; calls with another number have code for any. A number
that is given and is the default counts as the default.

Defaults are integers of 64 bits, floats and truth values of Python's own types; others, as arrays and NumPy's numbers,
are arguments like all others. So are all defaults of functions that are declared with signatures, which say for what
code is made.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import isnan
from types import FunctionType
from typing import Any

from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import KernelType
from weft.runtime.parameters import packer_for
from weft.runtime.row_numbers import Known

Defaults = tuple[tuple[int, int | float], ...]
"""Parameters by their place, and what they are by default."""


def defaults_of(function: FunctionType) -> Defaults:
    """Parameters that are numbers by default."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    given = function.__defaults__ or ()
    defaults = dict(zip(names[code.co_argcount - len(given) : code.co_argcount], given, strict=True))
    defaults |= function.__kwdefaults__ or {}
    places = {name: place for place, name in enumerate(names)}
    return tuple((places[name], value) for name, value in defaults.items() if _is_number(value))


def _is_number(value: Any) -> bool:
    if type(value) is int:
        return -(1 << 63) <= value < 1 << 63
    return type(value) is bool or (type(value) is float and not isnan(value))


def defaults_in(defaults: Defaults, args: Sequence[Any]) -> Defaults:
    """Those that parameters have in a call."""
    return tuple((place, value) for place, value in defaults if _is_same(args[place], value))


def _is_same(given: Any, value: float) -> bool:
    if given is value:
        return True
    if type(given) is not type(value) or given != value:
        return False
    # Zero has two signs, of which a quotient tells.
    return type(value) is not float or struct.pack("d", given) == struct.pack("d", value)


def known_by_slot(defaults: Defaults, function: FunctionType, types: Sequence[KernelType]) -> Known:
    """The slots that the parameters are in, where they are of their defaults' types, and what is in them then."""
    if not defaults:
        return ()
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    counts = [len(p.formats) for p in packer_for(function.__name__, names, types).parameters]
    return tuple((sum(counts[:place]), value) for place, value in defaults if types[place] == typeof(value))
