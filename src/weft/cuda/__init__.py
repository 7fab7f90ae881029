"""The CUDA-Python dialect on the CPU: ``from weft import cuda`` in place of ``from numba import cuda``.

`jit` makes kernels and device functions. Inside them, ``cuda.grid``, ``cuda.threadIdx``, ``cuda.shared.array`` and
the other names of the dialect mean what they mean in numba.cuda (``docs/language.md``); on the host they only tell
where they belong. The host API works on host memory, and copies where numba.cuda does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.cuda import host, random
from weft.cuda.arrays import (
    DeviceArray,
    as_cuda_array,
    device_array,
    device_array_like,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    pinned,
    pinned_array,
    to_device,
)
from weft.cuda.host import (
    Device,
    Event,
    Stream,
    close,
    default_stream,
    defer_cleanup,
    event,
    event_elapsed_time,
    get_current_device,
    is_available,
    select_device,
    stream,
    synchronize,
)
from weft.cuda.jit import jit
from weft.cuda.kernel import DeviceFunction, Kernel
from weft.frontend.python.cuda_names import CUDA

if TYPE_CHECKING:
    from weft.cuda.c.module import Module

__all__ = [
    "Device",
    "DeviceArray",
    "DeviceFunction",
    "Event",
    "Kernel",
    "Module",
    "Stream",
    "as_cuda_array",
    "close",
    "default_stream",
    "defer_cleanup",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "get_current_device",
    "host",
    "is_available",
    "is_cuda_array",
    "jit",
    "managed_array",
    "mapped",
    "mapped_array",
    "pinned",
    "pinned_array",
    "random",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
]


def __getattr__(name: str) -> Any:
    """The names of the kernel language: ``threadIdx``, ``grid``, ``atomic``, ``shared``, ``random``, ....

    The door for CUDA C++ is imported when it is asked for.
    """
    if name == "Module":
        from weft.cuda.c.module import Module

        return Module
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(CUDA, name)
