"""Attributes that a function for one lane hands on to its version for W lanes: those that are true of all of them."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import Function
from weft.ir.types import PointerType, Type, VectorType
from weft.ir.values import Argument

_CONVENTION = ("zeroext", "signext", "inreg")
"""How an argument is passed, whatever its value."""

_VERSIONS = ('"vector-function-abi-variant"', '"_ZGV')
"""Names of the vector versions of a function."""


def function_attributes(source: Function, params: Sequence[Type]) -> tuple[str, ...]:
    """The attributes of the version of `source` with these parameters."""
    found = tuple(a for a in source.attributes if not a.startswith((*_VERSIONS, "allocsize", "allockind")))
    if any(isinstance(t, VectorType) and isinstance(t.element, PointerType) for t in params):
        # To LLVM the pointers in a vector are no pointer arguments: what they lead to would be no "argmem".
        found = tuple(a for a in found if not (a.startswith("memory(") and "argmem" in a))
    return found


def parameter_attributes(argument: Argument, result: Type, masked: bool) -> tuple[str, ...]:
    """The attributes of a parameter that stays a scalar: the value in lane 0, which may be passive under a mask."""
    if masked:
        return tuple(a for a in argument.attributes if a in _CONVENTION)
    return tuple(a for a in argument.attributes if a != "returned" or argument.type == result)
