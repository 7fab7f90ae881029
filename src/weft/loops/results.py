"""Arrays of other kinds that take results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError


def host_array(value: Any) -> Any:
    """The NumPy array whose memory a device array is; else the value itself."""
    found = None if isinstance(value, np.ndarray) else getattr(value, "array", None)
    return found if isinstance(found, np.ndarray) else value


def device_class(values: Sequence[Any], hosts: Sequence[Any]) -> Any:
    """The class of the first device array, given what `host_array` has found in each value; None without any."""
    return next((type(v) for v, host in zip(values, hosts, strict=False) if host is not v), None)


def takes_number(dtype: np.dtype[Any], number: np.ndarray[Any, Any]) -> bool:
    """Whether a parameter takes a Python number: of its own kind, or of a lesser one."""
    return "biufc".index(dtype.kind) >= "biufc".index(number.dtype.kind)


def result_array(name: str, out: Any) -> np.ndarray[Any, Any]:
    """The NumPy array whose memory `out` is, so that results of the function `name` are seen in it.

    Raises
    ------
    ArgumentError
        It is no array: NumPy would make a copy, and the results would be lost.
    """
    # A device array of weft.cuda, which this room does not know.
    found = getattr(out, "array", None)
    if not isinstance(found, np.ndarray):
        raise ArgumentError(
            f"the result of {name} cannot go to a {type(out).__qualname__}",
            hint="give a NumPy array or a device array: cuda.as_cuda_array(out)",
        ).at(call_site())
    return found
