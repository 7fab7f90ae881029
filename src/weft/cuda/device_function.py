"""Functions that kernels call, as Python objects."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from weft.diag.call_site import located
from weft.diag.errors import LaunchError
from weft.frontend.python.portable import Portable
from weft.frontend.python.source_text import remember_text
from weft.frontend.python.types import Signature


class DeviceFunction(Portable):
    """A function for kernels to call; the host cannot call it."""

    def __init__(self, function: Callable[..., Any], signatures: Sequence[Signature] = ()) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        remember_text(function)
        self.signatures = tuple(signatures)

    def _options(self) -> tuple[Any, ...]:
        return (self.signatures,)

    @located
    def __getitem__(self, configuration: Any) -> Any:
        raise LaunchError(
            f"{self.py_func.__name__} is a device function and cannot be launched",
            hint="write a kernel, @cuda.jit without device=True, that calls it",
        )

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LaunchError(
            f"{self.py_func.__name__} is a device function and can be called from kernels only",
            hint=f"use {self.py_func.__name__}.py_func to run it as Python",
        )

    def __repr__(self) -> str:
        return f"<weft device function {self.py_func.__qualname__}>"
