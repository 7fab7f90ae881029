"""What the code of a kernel depends on, as one digest, without compiling it.

The digest covers the function's byte code and constants, its closure, the globals it names, the attributes it takes
of modules outside the standard library, NumPy and weft, and the same of every function it reaches. Anything that
changes the compiled program changes the digest; a value of unknown kind makes it unlike any other.
"""

from __future__ import annotations

import hashlib
import types
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np

_VERSIONED_MODULES = ("weft", "numpy", "math", "cmath", "operator", "builtins", "numba")
"""Modules whose contents change only with their version, which the compile cache knows or the dialect fixes."""

_PLAIN = (int, float, complex, bool, str, bytes, type(None), type(Ellipsis), np.dtype)


def fingerprint(function: Callable[..., Any]) -> str:
    """The digest of `function` and all it reaches, in hexadecimal."""
    walk = _Walk()
    walk.add(function)
    return walk.digest.hexdigest()


class _Walk:
    __slots__ = ("digest", "seen")

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self.seen: dict[int, int] = {}

    def add(self, value: Any) -> None:
        """Add a value of any kind that a kernel can name."""
        value = getattr(value, "py_func", value)
        if isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, np.ndarray):
            self._put("array", value.dtype.str, repr(value.dtype.descr), value.shape, value.strides)
            self.digest.update(np.ascontiguousarray(value).tobytes())
        elif isinstance(value, np.generic):
            self._put("scalar", value.dtype.str)
            self.digest.update(value.tobytes())
        elif isinstance(value, tuple):
            self._put(type(value).__qualname__, getattr(value, "_fields", ()), len(value))
            for item in value:
                self.add(item)
        elif isinstance(value, _PLAIN):
            self._put(type(value).__name__, repr(value))
        elif isinstance(value, types.CodeType):
            self._add_code(value)
        elif isinstance(value, type):
            self._put("class", value.__module__, value.__qualname__, getattr(value, "_fields", ()))
        elif isinstance(value, types.ModuleType):
            self._put("module", value.__name__)
        elif _root(value) in _VERSIONED_MODULES:
            self._put(
                "known",
                type(value).__qualname__,
                repr(value) if type(value).__repr__ is not object.__repr__ else "",
            )
        else:
            self._put("unknown", uuid4().hex)

    def _put(self, *parts: object) -> None:
        text = "\0".join(map(str, parts))
        self.digest.update(f"{len(text)}:{text}".encode())

    def _add_function(self, function: types.FunctionType) -> None:
        known = id(function) in self.seen
        self._put("function", self.seen.setdefault(id(function), len(self.seen)))
        if known:
            return
        self._add_code(function.__code__)
        for default in function.__defaults__ or ():
            self.add(default)
        for cell in function.__closure__ or ():
            try:
                self.add(cell.cell_contents)
            except ValueError:
                self._put("empty cell")
        for code in _codes(function.__code__):
            for name in code.co_names:
                if name in function.__globals__:
                    self._add_global(name, function.__globals__[name], code.co_names)

    def _add_global(self, name: str, value: Any, names: tuple[str, ...]) -> None:
        self._put("global", name)
        self.add(value)
        if isinstance(value, types.ModuleType) and value.__name__.split(".")[0] not in _VERSIONED_MODULES:
            for attribute in names:
                if hasattr(value, attribute):
                    self._put("attribute", attribute)
                    self.add(getattr(value, attribute))

    def _add_code(self, code: types.CodeType) -> None:
        self._put(
            "code", code.co_name, code.co_firstlineno, code.co_argcount, code.co_names, code.co_varnames
        )
        self.digest.update(code.co_code)
        self.digest.update(code.co_linetable)
        for constant in code.co_consts:
            self.add(constant)


def _codes(code: types.CodeType) -> list[types.CodeType]:
    """`code` and the code objects nested in it."""
    result = [code]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            result.extend(_codes(constant))
    return result


def _root(value: Any) -> str:
    """The top-level package that the value's type comes from."""
    return (getattr(type(value), "__module__", "") or "").split(".")[0]
