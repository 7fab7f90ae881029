"""Kernels of a program as Python objects: launching and inspecting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from weft.device.kernel import DeviceKernel
from weft.device.parameters import converted
from weft.diag.call_site import call_site
from weft.diag.errors import LaunchError, WeftError
from weft.frontend.device.metadata import KernelInfo
from weft.opencl.compiled import KernelOrigin
from weft.opencl.geometry import Extents, nd_range, require_local_memory
from weft.opencl.source import ProgramSource
from weft.options import CompileOptions
from weft.runtime.array_memory import has_large_array
from weft.runtime.dispatched import Dispatched
from weft.runtime.shape import LaunchShape

if TYPE_CHECKING:
    from weft.simt.result import Simulation


class Loaded(Struct, frozen=True):
    """A program as its kernels know it.

    Parameters
    ----------
    source
        What it is compiled from.
    options
        How kernels are compiled.
    memory
        Its variables of program scope; None where it has none.
    debug
        Whether kernels run on the checking interpreter.
    """

    source: ProgramSource
    options: CompileOptions
    memory: np.ndarray[Any, Any] | None
    debug: bool


class _Plan(Struct, frozen=True):
    """How a launch is run: whether it is placed, or large, and the shape and own slots of each part."""

    placed: bool
    large: bool
    parts: tuple[tuple[LaunchShape, tuple[Any, ...]], ...]


_KEPT_PLANS = 1024


class Kernel(DeviceKernel, Dispatched):
    """A kernel; calling it launches, and returns when the kernel is done.

    ``kernel(global_size, local_size, *args, global_offset=None)``: sizes are integers or tuples of up to three, x
    first; without a work-group size (None) weft chooses one. Arrays are buffers in place, numbers and arrays of as many
    numbers as a vector has are values, scalars of a structured dtype records, `weft.opencl.LocalMemory` local memory.

    Parameters
    ----------
    program, info
        The program, and what it says of the kernel.
    """

    _most_tries = 32

    def __init__(self, program: Loaded, info: KernelInfo) -> None:
        DeviceKernel.__init__(self, KernelOrigin(program.source, info, False), program.options, program.debug)
        Dispatched.__init__(self)
        self._program = program
        self._plans: dict[Any, _Plan] = {}

    def __call__(
        self,
        global_size: Extents,
        local_size: Extents | None,
        *args: Any,
        global_offset: Extents | None = None,
    ) -> None:
        """Launch the kernel.

        Raises
        ------
        LaunchError
            A size does not fit; nothing has run.
        ArgumentError
            An argument does not fit the signature; nothing has run.
        BarrierDivergence
            Work-items of a work-group wait at different barriers.
        SanitizerError
            With ``debug=True``: the launch did something undefined.
        """
        self._call(global_size, local_size, *args, global_offset=global_offset)

    def _call(
        self,
        global_size: Extents,
        local_size: Extents | None,
        *args: Any,
        global_offset: Extents | None = None,
    ) -> None:
        try:
            values, local_bytes = converted(self.info, args)
            plan = self._planned(global_size, local_size, global_offset, local_bytes)
            self._launch(plan, values)
        except WeftError as error:
            error.at(call_site())
            raise
        is_simple = global_offset is None and len(plan.parts) == 1 and not plan.large
        if is_simple and self._may_remember() and not has_large_array(values):
            ((shape, own),) = plan.parts
            origin, sizes = self._origin(plan.placed), (global_size, local_size)
            self._remember(self._record(origin, shape, args, (*values, *own), sizes), Kernel)

    def _planned(
        self, size: Extents, local: Extents | None, offset: Extents | None, local_bytes: int
    ) -> _Plan:
        """How a launch is run; kept, as most programs launch again."""
        key = (size, local, offset, local_bytes)
        try:
            known = self._plans.get(key)
        except TypeError:
            return self._plan(*key)
        if known is None:
            known = self._plan(*key)
            if len(self._plans) < _KEPT_PLANS:
                self._plans[key] = known
        return known

    def _plan(self, size: Extents, local: Extents | None, offset: Extents | None, local_bytes: int) -> _Plan:
        launch = nd_range(self.info, self._program.source.options, size, local, offset)
        require_local_memory(self.info, local_bytes)
        placed = not launch.is_plain
        memory, dimensions = self._program.memory, launch.dimensions
        parts = [
            (part.shape, (memory, dimensions, *(launch.placement(part) if placed else ())))
            for part in launch.parts(local_bytes)
        ]
        return _Plan(placed, launch.is_large, tuple(parts))

    def _launch(self, plan: _Plan, values: list[Any]) -> None:
        large = plan.large or has_large_array(values)
        origin = self._origin(plan.placed)
        for shape, own in plan.parts:
            self._run(origin, shape, (*values, *own), large)

    def _origin(self, placed: bool) -> KernelOrigin:
        """What the kernel is compiled from, for launches that are placed or not."""
        return KernelOrigin(self._program.source, self.info, placed)

    def simulate(
        self,
        global_size: Extents,
        local_size: Extents | None,
        *args: Any,
        device: str = "h200",
        registers: int | None = None,
        sensitivity: bool = False,
    ) -> Simulation:
        """Run a launch on the interpreter under a cost model of a GPU (docs/gpu_model.md).

        Parameters
        ----------
        global_size, local_size, *args
            As for a launch.
        device
            A GPU of the model.
        registers
            32-bit registers of a work-item; an estimate by default.
        sensitivity
            Whether cycles are predicted with each figure of the GPU halved and doubled, too.

        Raises
        ------
        LaunchError
            A size does not fit, or work-groups are not all alike.
        ArgumentError
            An argument does not fit the signature.
        SettingError
            The model has no such GPU.
        """
        from weft.device.simulation import simulate_launch, simulated
        from weft.machine.gpu_devices import device as gpu_named

        gpu = gpu_named(device)
        values, local_bytes = converted(self.info, args)
        plan = self._planned(global_size, local_size, None, local_bytes)
        if len(plan.parts) != 1:
            raise LaunchError(
                "the model takes launches whose work-groups are all alike",
                hint="give a global size that is a multiple of the work-group's",
            )
        ((shape, own),) = plan.parts
        origin = self._origin(plan.placed)
        return simulate_launch(
            simulated(origin),
            origin,
            shape,
            (*values, *own),
            gpu,
            registers=registers,
            sensitivity=sensitivity,
        )

    def __repr__(self) -> str:
        return f"<weft OpenCL kernel {self.info.name}>"
