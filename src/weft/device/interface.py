"""Arrays of others through the CUDA array interface, where their memory is this process's own.

The interface hands over an address. Nothing in it says whether that is memory of a GPU, which this machine's processor
cannot reach, so the kernel's list of the process's mappings is asked: what is not readable there is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from weft.device.streams import ExternalStream
from weft.diag.call_site import call_site
from weft.diag.errors import ArgumentError, UnsupportedError

_MAPS = Path("/proc/self/maps")


def has_interface(value: Any) -> bool:
    """Whether a value has the CUDA array interface; to ask its type first keeps odd objects from being called."""
    return hasattr(type(value), "__cuda_array_interface__") or (
        "__cuda_array_interface__" in getattr(value, "__dict__", ())
    )


def foreign_array(desc: dict[str, Any], owner: Any) -> tuple[np.ndarray[Any, Any], Any]:
    """The array that an interface describes, which keeps `owner` alive, and its stream.

    Raises
    ------
    ArgumentError
        The memory is not of this process, or the description is none.
    UnsupportedError
        The array is masked.
    """
    if desc.get("mask") is not None:
        raise UnsupportedError(
            "Masked arrays are not supported", hint="pass the data and the mask as two arrays"
        ).at(call_site())
    try:
        address, readonly = desc["data"]
        shape, strides, kind = tuple(desc["shape"]), desc.get("strides"), np.dtype(desc["typestr"])
    except (KeyError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"this is no CUDA array interface: {error!r}", hint="give what obj.__cuda_array_interface__ has"
        ).at(call_site()) from None
    if kind.kind == "V" and "descr" in desc:
        kind = np.lib.format.descr_to_dtype(desc["descr"])
    handle = desc.get("stream")
    stream = 0 if handle is None else ExternalStream(handle)
    if 0 in shape:
        return np.empty(shape, kind), stream
    steps = strides if strides is not None else _contiguous(shape, kind.itemsize)
    reach = [(extent - 1) * step for extent, step in zip(shape, steps, strict=True)]
    low = address + sum(r for r in reach if r < 0)
    high = address + sum(r for r in reach if r > 0) + kind.itemsize
    if not _is_mapped(low, high, not readonly):
        raise ArgumentError(
            f"the memory at {address:#x} is not this process's own",
            hint="arrays of a GPU are copied to the host first: cupy.asnumpy(a), a.copy_to_host()",
        ).at(call_site())
    length = high - low
    view = _Memory({"shape": (length,), "typestr": "|u1", "version": 3, "data": (low, readonly)}, owner)
    return np.ndarray(shape, kind, np.asarray(view), address - low, steps), stream


def _contiguous(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    steps = [itemsize]
    for extent in reversed(shape[1:]):
        steps.insert(0, steps[0] * extent)
    return tuple(steps[: len(shape)])


class _Memory:
    """What NumPy makes a view of; the view keeps it, and it the owner."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


def _is_mapped(low: int, high: int, writeable: bool) -> bool:
    """Whether this process may read all bytes in [low, high), and write them if that is asked for."""
    wanted = "rw" if writeable else "r"
    for line in _MAPS.read_text().splitlines():
        extent, rights = line.split(maxsplit=2)[:2]
        first, _, end = extent.partition("-")
        if int(first, 16) <= low < int(end, 16):
            if not rights.startswith(wanted):
                return False
            low = int(end, 16)
            if low >= high:
                return True
    return False
