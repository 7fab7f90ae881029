"""Launch configurations in square brackets: ``kernel[grid, block, stream, dynamic_bytes](*args)``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from weft.diag.call_site import call_site, located
from weft.diag.errors import ArgumentError, LaunchError, WeftError
from weft.runtime.dispatch_records import Record
from weft.runtime.dispatched import Dispatched
from weft.runtime.shape import LaunchShape, launch_shape

_KEPT = 1024


class Configurable(ABC):
    """A kernel that is launched through a configuration in square brackets."""

    __name__: str

    def __init__(self) -> None:
        self._configured: dict[Any, ConfiguredKernel] = {}

    @abstractmethod
    def launch(self, shape: LaunchShape, args: tuple[Any, ...]) -> None:
        """Run the kernel over the grid of `shape`."""

    def __getitem__(self, configuration: Any) -> ConfiguredKernel:
        try:
            known = self._configured.get(configuration)
        except TypeError:
            return self._configure(configuration)
        if known is None:
            known = self._configure(configuration)
            if len(self._configured) < _KEPT:
                self._configured[configuration] = known
        return known

    @located
    def _configure(self, configuration: Any) -> ConfiguredKernel:
        return ConfiguredKernel(self, shape_of(configuration))

    def record_of(self, shape: LaunchShape, args: tuple[Any, ...]) -> Record | None:
        """What machine code makes such launches by, if it can."""
        return None

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise LaunchError(
            f"kernel {self.__name__} was called without a launch configuration",
            hint=f"write {self.__name__}[blocks, threads_per_block](...)",
        )


class ConfiguredKernel(Dispatched):
    """A kernel with a grid; calling it launches, and returns when the kernel is done."""

    __slots__ = ("kernel", "shape")

    def __init__(self, kernel: Configurable, shape: LaunchShape) -> None:
        super().__init__()
        self.kernel = kernel
        self.shape = shape

    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch the kernel; once that was done, machine code does so (`weft.runtime.dispatch`)."""
        self._call(*args, **named)

    def _call(self, *args: Any, **named: Any) -> None:
        try:
            if named:
                raise ArgumentError(
                    f"{self.kernel.__name__} got {', '.join(named)} by name",
                    hint="give the arguments of a kernel by position",
                )
            self.kernel.launch(self.shape, args)
        except WeftError as error:
            error.at(call_site())
            raise
        if self._may_remember():
            self._remember(self.kernel.record_of(self.shape, args), ConfiguredKernel)


class NoTasks(ConfiguredKernel):
    """A launch of no threads, as numba.cuda has it."""

    __slots__ = ()

    def __call__(self, *args: Any, **named: Any) -> None:
        """Do nothing."""


def shape_of(configuration: Any) -> LaunchShape:
    """The launch shape written in square brackets: grid, block, and optionally stream and dynamic bytes."""
    if not isinstance(configuration, tuple) or not 2 <= len(configuration) <= 4:
        raise LaunchError(
            "a launch needs the number of blocks and of threads a block",
            hint="write kernel[blocks, threads](...), or kernel[blocks, threads, stream, dynamic_bytes](...)",
        )
    dynamic = configuration[3] if len(configuration) == 4 else 0
    return launch_shape(configuration[0], configuration[1], dynamic)
