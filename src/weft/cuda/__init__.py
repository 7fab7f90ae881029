"""The CUDA-Python dialect on the CPU: ``from weft import cuda`` in place of ``from numba import cuda``.

`jit` makes kernels and device functions. Inside them, ``cuda.grid``, ``cuda.threadIdx``, ``cuda.shared.array`` and
the other names of the dialect mean what they mean in numba.cuda (``docs/language.md``); on the host they only tell
where they belong. The host API works on host memory, and copies where numba.cuda does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.cuda import bf16, host, random
from weft.cuda.allocation import (
    as_cuda_array,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from weft.cuda.device_function import DeviceFunction
from weft.cuda.host import (
    Context,
    Device,
    close,
    cuda_error,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_supported_version,
    list_devices,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    select_device,
    synchronize,
)
from weft.cuda.jit import jit
from weft.cuda.kernel import Kernel
from weft.cuda.reduction import Reduce
from weft.cuda.transfers import In, InOut, Out
from weft.device.arrays import DeviceArray
from weft.device.streams import (
    Event,
    Stream,
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
)
from weft.frontend.python.cuda_names import CUDA
from weft.frontend.python.types import bfloat16

if TYPE_CHECKING:
    from weft.cuda.c.module import Module

reduce = Reduce

__all__ = [
    "Context",
    "Device",
    "DeviceArray",
    "DeviceFunction",
    "Event",
    "In",
    "InOut",
    "Kernel",
    "Module",
    "Out",
    "Reduce",
    "Stream",
    "as_cuda_array",
    "bf16",
    "bfloat16",
    "close",
    "cuda_error",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "from_cuda_array_interface",
    "get_current_device",
    "gpus",
    "host",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_supported_version",
    "jit",
    "legacy_default_stream",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "random",
    "reduce",
    "require_context",
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
