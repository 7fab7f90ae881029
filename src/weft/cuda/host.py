"""The device, and what the CUDA-Python host API asks of it: lists of devices, contexts, limits."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from weft.diag.call_site import call_site
from weft.diag.errors import LaunchError
from weft.machine.host import host
from weft.runtime.settings import get_num_threads

_P = ParamSpec("_P")
_T = TypeVar("_T")

_MEMORY = Path("/proc/meminfo")


class MemoryInfo(NamedTuple):
    """Memory in bytes."""

    free: int
    total: int


class Device:
    """The CPU, as the device kernels run on; ``with device:`` changes nothing, as it is the only one."""

    __slots__ = ()

    id = 0
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535
    MAX_THREADS_PER_MULTI_PROCESSOR = 1024
    MAX_REGISTERS_PER_BLOCK = 65536
    CAN_MAP_HOST_MEMORY = UNIFIED_ADDRESSING = MANAGED_MEMORY = 1
    INTEGRATED = CONCURRENT_KERNELS = 1

    @property
    def name(self) -> str:
        return host().cpu

    @property
    def uuid(self) -> str:
        """A name that is the same in all processes on this machine."""
        import uuid

        return f"CPU-{uuid.uuid5(uuid.NAMESPACE_DNS, f'{self.name} {uuid.getnode():x}')}"

    @property
    def compute_capability(self) -> tuple[int, int]:
        """(0, 0): this is no GPU, and no GPU generation is imitated."""
        return (0, 0)

    @property
    def MULTIPROCESSOR_COUNT(self) -> int:  # noqa: N802  CUDA's name
        """Threads of the host that run work-groups."""
        return get_num_threads()

    def get_primary_context(self) -> Context:
        """The one context."""
        return _CONTEXT

    def reset(self) -> None:
        """There is no state to reset."""

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def __index__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<weft device 0 {self.name!r}>"


class Context:
    """The context of the device; there is one, and nothing in it to manage."""

    __slots__ = ()

    @property
    def device(self) -> Device:
        return _DEVICE

    def get_memory_info(self) -> MemoryInfo:
        """Free and all memory of this machine, in bytes."""
        lines = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
        return MemoryInfo(*(int(lines[key].split()[0]) * 1024 for key in ("MemAvailable", "MemTotal")))

    def synchronize(self) -> None:
        """Return at once: launches are done when they return."""

    def reset(self) -> None:
        """There is no state to reset."""

    def push(self) -> None:
        """Change nothing."""

    def pop(self) -> None:
        """Change nothing."""


class _Devices:
    """``cuda.gpus``: the devices, which is one."""

    __slots__ = ()

    @property
    def lst(self) -> list[Device]:
        return [_DEVICE]

    @property
    def current(self) -> Device:
        return _DEVICE

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __getitem__(self, number: int) -> Device:
        return select_device(number)

    def __repr__(self) -> str:
        return "<weft devices: 1>"


_DEVICE = Device()
_CONTEXT = Context()
gpus = _Devices()


def is_available() -> bool:
    """True: the device is the CPU."""
    return True


def is_supported_version() -> bool:
    """True: no CUDA is needed, hence none too old or too new."""
    return True


def cuda_error() -> None:
    """None: there is nothing that could have failed."""


def is_float16_supported() -> bool:
    """True: weft computes in float16, each operation rounded."""
    return True


def is_bfloat16_supported() -> bool:
    """True: weft computes in bfloat16, each operation rounded."""
    return True


def detect() -> bool:
    """Print the devices; return True, as there is one."""
    print("Found 1 CUDA devices")
    print(f"id 0    {_DEVICE.name}: the CPU, by weft")
    print(f"        threads: {get_num_threads()} of {os.cpu_count()}, uuid: {_DEVICE.uuid}")
    return True


def get_current_device() -> Device:
    """The device: the CPU."""
    return _DEVICE


def list_devices() -> _Devices:
    """The devices, which is one."""
    return gpus


def current_context(devnum: int | None = None) -> Context:
    """The one context."""
    return _CONTEXT


def require_context(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The function as it is: there is always a context."""

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return function(*args, **kwargs)

    return called


def select_device(device_id: int) -> Device:
    """The device 0.

    Raises
    ------
    LaunchError
        Another one is asked for.
    """
    if device_id != 0:
        raise LaunchError(f"there is no device {device_id}", hint="the one device is number 0").at(
            call_site()
        )
    return _DEVICE


def synchronize() -> None:
    """Return at once: launches are done when they return."""


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Do nothing: there is nothing to clean up."""
    yield


@contextmanager
def profiling() -> Iterator[None]:
    """Do nothing: there is no CUDA profiler to start and stop."""
    yield


def profile_start() -> None:
    """Do nothing: there is no CUDA profiler."""


def profile_stop() -> None:
    """Do nothing: there is no CUDA profiler."""


def close() -> None:
    """There is no context to close."""
