"""The types that a decorator declares for variables of a function: ``locals={"total": float32}``.

Numbers only: what is assigned to such a variable is converted to its type, as numba does. They belong to what the
decorator makes of the function, wherever that is called from.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from weft.diag.errors import SignatureError
from weft.frontend.python.signatures import as_type
from weft.frontend.python.types import Scalar

LocalTypes = tuple[tuple[str, Scalar], ...]
"""Variables by name, in order of these."""

_declared: WeakKeyDictionary[FunctionType, LocalTypes] = WeakKeyDictionary()


def local_types(given: Mapping[str, Any]) -> LocalTypes:
    """What variables are declared to be.

    Raises
    ------
    SignatureError
        One is no type of numbers.
    """
    found: list[tuple[str, Scalar]] = []
    for name, value in sorted(given.items()):
        type = as_type(value)
        if not isinstance(type, Scalar):
            raise SignatureError(
                f"locals: '{name}' cannot be declared to be {type}", hint="types of numbers can be declared"
            )
        found.append((name, type))
    return tuple(found)


def declaring(function: FunctionType, declared: LocalTypes) -> FunctionType:
    """Return a function whose variables have these types: a copy, as others may be made of the same one."""
    if not declared:
        return function
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    for name in functools.WRAPPER_ASSIGNMENTS:
        setattr(copy, name, getattr(function, name))
    copy.__dict__.update(function.__dict__)
    _declared[copy] = declared
    return copy


def declared_for(function: Any) -> LocalTypes:
    """What has been declared for the variables of a function."""
    return _declared.get(function, ()) if isinstance(function, FunctionType) else ()
