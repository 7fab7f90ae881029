"""What launching on a GPU needs of its driver, and NVIDIA's driver through the package ``cuda-bindings``.

Nothing of that package is imported before a kernel is launched.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from weft.diag.errors import GpuError

_HINT = "target='gpu' needs NVIDIA's driver and the package cuda-bindings; without it kernels run on the CPU"
_PLAIN_SHARED = 48 * 1024
"""Bytes of dynamic shared memory that a kernel need not ask for."""


class Driver(Protocol):
    """A GPU: addresses and handles are plain integers, or whatever the driver makes of them."""

    def architecture(self) -> str:
        """As ``ptxas`` spells it."""
        ...

    def load(self, ptx: str, entry: str) -> Any:
        """The kernel of a module."""
        ...

    def launch(
        self,
        kernel: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        """Start a kernel; `parameters` is the address of an array of the parameters' addresses."""
        ...

    def allocate(self, size: int) -> int:
        """The address of memory of the GPU."""
        ...

    def free(self, address: int) -> None:
        """Give it back."""
        ...

    def copy_in(self, to: int, host: int, size: int) -> None:
        """Copy from the host's memory."""
        ...

    def copy_out(self, host: int, source: int, size: int) -> None:
        """Copy to the host's memory."""
        ...

    def synchronize(self, stream: int) -> None:
        """Wait for what was started on a stream."""
        ...


class NvidiaDriver:
    """The first GPU of this machine, in the context that other packages use (its primary one)."""

    __slots__ = ("_api", "_device", "_modules")

    def __init__(self, api: Any) -> None:
        self._api = api
        self._ask("cuInit", 0)
        current = self._ask("cuCtxGetCurrent")
        if int(current) == 0:
            self._device = self._ask("cuDeviceGet", 0)
            self._ask("cuCtxSetCurrent", self._ask("cuDevicePrimaryCtxRetain", self._device))
        else:
            self._device = self._ask("cuCtxGetDevice")
        self._modules: list[Any] = []

    def architecture(self) -> str:
        """The compute capability that the driver tells."""
        names = self._api.CUdevice_attribute
        major, minor = (
            self._ask("cuDeviceGetAttribute", attribute, self._device)
            for attribute in (
                names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            )
        )
        return f"sm_{major}{minor}"

    def load(self, ptx: str, entry: str) -> Any:
        """The kernel of a module, which stays loaded."""
        module = self._ask("cuModuleLoadData", ptx.encode() + b"\0")
        self._modules.append(module)
        return self._ask("cuModuleGetFunction", module, entry.encode())

    def launch(
        self,
        kernel: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        shared: int,
        stream: int,
        parameters: int,
    ) -> None:
        """Start a kernel, which may have more than 48 KiB of dynamic shared memory where the GPU has."""
        if shared > _PLAIN_SHARED:
            most = self._api.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self._ask("cuFuncSetAttribute", kernel, most, shared)
        self._ask("cuLaunchKernel", kernel, *grid, *block, shared, stream, parameters, 0)

    def allocate(self, size: int) -> int:
        """Memory of the GPU, of one byte at least."""
        return int(self._ask("cuMemAlloc", max(1, size)))

    def free(self, address: int) -> None:
        """Give memory back."""
        self._ask("cuMemFree", address)

    def copy_in(self, to: int, host: int, size: int) -> None:
        """Copy from the host's memory."""
        self._ask("cuMemcpyHtoD", to, host, size)

    def copy_out(self, host: int, source: int, size: int) -> None:
        """Copy to the host's memory."""
        self._ask("cuMemcpyDtoH", host, source, size)

    def synchronize(self, stream: int) -> None:
        """Wait for what was started on a stream."""
        self._ask("cuStreamSynchronize", stream)

    def _ask(self, function: str, *args: Any) -> Any:
        """Call the driver: the first of what it returns is its status."""
        status, *values = getattr(self._api, function)(*args)
        if int(status) != 0:
            raise GpuError(f"{function}() of the GPU's driver failed: {self._name(status)}")
        return values[0] if values else None

    def _name(self, status: Any) -> str:
        _, name = self._api.cuGetErrorName(status)
        return name.decode() if isinstance(name, bytes) else str(status)


_known: list[Driver] = []


def the_driver() -> Driver:
    """Return the GPU of this machine.

    Raises
    ------
    GpuError
        There is none, or ``cuda-bindings`` is not installed.
    """
    if not _known:
        try:
            api = importlib.import_module("cuda.bindings.driver")
        except ImportError:
            raise GpuError("the package cuda-bindings is not installed", hint=_HINT) from None
        try:
            _known.append(NvidiaDriver(api))
        except GpuError as error:
            raise GpuError(f"there is no GPU to run on: {error.message}", hint=_HINT) from None
        except RuntimeError as error:
            # The package is there, and the driver's library is not.
            raise GpuError(f"there is no GPU to run on: {error}", hint=_HINT) from None
    return _known[0]
