"""What a launch makes of its arguments: arrays of other kinds, and how numba.cuda says which way they are copied.

A launch uses NumPy arrays in place, so `InOut` and `Out` change nothing, and `In` gives the kernel a copy, so that what
it writes there is lost as it is in numba.cuda.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.cuda.allocation import as_cuda_array
from weft.device.arrays import DeviceArray
from weft.device.interface import has_interface
from weft.diag.errors import ArgumentError
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import STRONG

_AS_THEY_ARE = frozenset(
    [np.ndarray, int, float, bool, complex, tuple, type(None), *(kind.dtype.type for kind in STRONG)]
)
"""Types whose values are given to kernels as they are; most arguments of launches are of one."""


class ArgHint:
    """An argument with the way that it is copied.

    Parameters
    ----------
    value
        A NumPy array, or an object with the CUDA array interface.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def argument(self) -> Any:
        """What the kernel gets."""
        return host_value(self.value)


class In(ArgHint):
    """An array that the kernel reads; what it writes there is lost."""

    __slots__ = ()

    def argument(self) -> Any:
        return np.array(super().argument())


class InOut(ArgHint):
    """An array that the kernel reads and writes."""

    __slots__ = ()


class Out(InOut):
    """An array that the kernel writes before it reads it."""

    __slots__ = ()


def wrap_arg(value: Any, default: type[ArgHint] = InOut) -> ArgHint:
    """`value` if it says how it is copied, else with the default way."""
    return value if isinstance(value, ArgHint) else default(value)


def host_value(value: Any) -> Any:
    """The value that a kernel gets for an argument: NumPy arrays for arrays of every kind."""
    if type(value) in _AS_THEY_ARE:
        return value
    if type(value) is DeviceArray:
        return value.array
    if isinstance(value, ArgHint):
        return value.argument()
    if isinstance(value, np.ndarray) or not has_interface(value):
        return value
    return as_cuda_array(value).array


def extended(
    extensions: Sequence[Any], args: Sequence[Any]
) -> tuple[tuple[Any, ...], list[Callable[[], Any]]]:
    """As `prepared`, with NumPy arrays for arrays of every kind."""
    made, finish = prepared(extensions, args)
    return tuple(map(host_value, made)), finish


def prepared(
    extensions: Sequence[Any], args: Sequence[Any]
) -> tuple[tuple[Any, ...], list[Callable[[], Any]]]:
    """The arguments as a kernel's extensions make them, and what is called when the kernel is done.

    As in numba.cuda, ``extension.prepare_args(type, value, stream=0, retr=list)`` returns a type and a value, the last
    extension first. The type is only shown to extensions: kernels take that of the value.
    """
    finish: list[Callable[[], Any]] = []
    made = []
    for value in args:
        try:
            type_: Any = typeof(value.array if type(value) is DeviceArray else value)
        except ArgumentError:
            type_ = None
        for extension in reversed(extensions):
            type_, value = extension.prepare_args(type_, value, stream=0, retr=finish)
        made.append(value)
    return tuple(made), finish
