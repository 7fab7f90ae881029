"""Memory of a program's variables: one place for all instances of its templates, and NumPy's view of each variable."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from weft.cuda.c.source import CudaSource
from weft.diag.errors import FailedAssertionError, UnsupportedError
from weft.diag.source import SourceSpan
from weft.frontend.cuda_c.variables import dtype_source
from weft.frontend.device.memory import Scope
from weft.runtime.array_memory import data_pointer

_ALIGN = 128
_ROOM = 1 << 20
"""Bytes kept for variables of instances that are asked for later."""


class VariableMemory:
    """Memory of a program's variables, which stays where it is while instances are added.

    Parameters
    ----------
    scope
        The variables at first.
    """

    def __init__(self, scope: Scope) -> None:
        room = np.zeros(len(scope.data) + _ROOM + _ALIGN, np.uint8)
        start = -data_pointer(room) % _ALIGN
        self.bytes: np.ndarray[Any, Any] = room[start : start + len(scope.data) + _ROOM]
        self._used = 0
        self.add(scope)

    def add(self, scope: Scope) -> None:
        """Let there be the variables that `scope` has more than those that are there.

        Raises
        ------
        UnsupportedError
            There is no room for them.
        """
        if len(scope.data) > len(self.bytes):
            raise UnsupportedError(
                "the variables of these instances are too large to be added",
                hint="name them when the module is made: weft.cuda.Module(source, names=[...])",
            )
        base, used = data_pointer(self.bytes), self._used
        self.bytes[used : len(scope.data)] = np.frombuffer(scope.data[used:], np.uint8)
        for place, target in scope.pointers:
            if place >= used:
                self.bytes[place : place + 8] = np.frombuffer(struct.pack("@P", base + target), np.uint8)
        self._used = max(used, len(scope.data))

    def view(self, source: CudaSource, name: str) -> np.ndarray[Any, Any]:
        """A variable's memory as an array of its type."""
        variable = source.variables[name]
        at = source.scope.offsets[variable.symbol]
        dtype = np.dtype(dtype_source(variable.type))
        base, shape = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
        return np.ndarray(shape, base, self.bytes.data, at)

    def raise_assertion(self, source: CudaSource) -> None:
        """See that no thread of the latest launch has come to an assertion that does not hold.

        Raises
        ------
        FailedAssertionError
            One has; the error stands there.
        """
        if not source.assertions:
            return
        state = self.bytes[:8].view(np.uint64)
        number = int(state[0])
        if number:
            state[0] = 0
            failed = source.assertions[number - 1]
            raise FailedAssertionError(
                f"the assertion {failed.text} does not hold",
                SourceSpan(failed.file, failed.line) if failed.line else None,
                "debug=True names the threads",
            )
