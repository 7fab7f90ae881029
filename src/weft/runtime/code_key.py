"""The key under which the code of a function is kept: all that it depends on, for every door the same way."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.frontend.python.encoding import encode_types
from weft.frontend.python.fingerprint import fingerprint
from weft.frontend.python.types import KernelType, callees_of
from weft.runtime.cache import cache_key
from weft.target.machine import TargetSpec


def code_key(
    door: str, function: Callable[..., Any], types: tuple[KernelType, ...], options: Any, spec: TargetSpec
) -> str | None:
    """Return the key of a function's code; None when the code is for this process only.

    Parameters
    ----------
    door
        Which kind of code is made of the function.
    function, types
        The function, and the types of its arguments.
    options
        How it is compiled: a dataclass of numbers and text, whose every field counts.
    spec
        What machine it is for.
    """
    digest = fingerprint(function, *callees_of(types))
    if digest is None:
        return None
    versions = (sys.version, np.__version__)
    return key_of(door, (digest, encode_types(types), *versions), options, spec)


def key_of(door: str, parts: tuple[str | bytes, ...], options: Any, spec: TargetSpec) -> str:
    """Return the key of code that depends on `parts`, and on what all code depends on."""
    math = os.environ.get("WEFT_VECTOR_MATH", "all")
    return cache_key(door, *parts, repr(options), math, *spec.key)
