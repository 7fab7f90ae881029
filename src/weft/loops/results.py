"""Arrays of other kinds that take results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.device.arrays import DeviceArray
from weft.device.interface import foreign_array, has_interface
from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError


def host_array(value: Any) -> Any:
    """The NumPy array whose memory an array of a device is; else the value itself."""
    if isinstance(value, np.ndarray):
        return value
    found = getattr(value, "array", None)
    if isinstance(found, np.ndarray):
        return found
    return foreign_array(value.__cuda_array_interface__, value)[0] if has_interface(value) else value


def device_class(values: Sequence[Any], hosts: Sequence[Any]) -> Any:
    """The class of device arrays if there is one, given what `host_array` has found in each value; None without any."""
    kinds = [type(v) for v, host in zip(values, hosts, strict=False) if host is not v]
    if not kinds:
        return None
    # A library's own arrays are not made here: its results are weft's device arrays.
    return next((kind for kind in kinds if hasattr(kind, "array")), DeviceArray)


def as_array(out: Any) -> Any:
    """What a call returns whose results went to `out`: that, or weft's own array of the memory of another library's."""
    return out if isinstance(out, np.ndarray) or hasattr(out, "array") else DeviceArray(host_array(out))


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
    found = host_array(out)
    if not isinstance(found, np.ndarray):
        raise ArgumentError(
            f"the result of {name} cannot go to a {type(out).__qualname__}",
            hint="give a NumPy array or a device array: cuda.as_cuda_array(out)",
        ).at(call_site())
    return found
