"""Kernels of a program in CUDA C++ as Python objects: launching and inspecting them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from weft.cuda.c.compiled import KernelOrigin
from weft.cuda.c.memory import VariableMemory
from weft.cuda.configuration import Configurable
from weft.cuda.transfers import host_value
from weft.device.kernel import DeviceKernel
from weft.device.parameters import converted
from weft.frontend.cuda_c.adopt import SMALL_GROUPS
from weft.options import CompileOptions
from weft.runtime.array_memory import has_large_array
from weft.runtime.dispatch_records import Record
from weft.runtime.shape import LaunchShape, launch_shape

if TYPE_CHECKING:
    from weft.device.simulation import WatchedKernel
    from weft.simt.result import Simulation


class Loaded(Struct, frozen=True):
    """What kernels of a program share.

    Parameters
    ----------
    memory
        Its variables.
    options
        How kernels are compiled.
    debug
        Whether they run on the checking interpreter.
    """

    memory: VariableMemory
    options: CompileOptions
    debug: bool


class CKernel(DeviceKernel, Configurable):
    """A kernel in CUDA C++.

    ``kernel[grid, block](*args)`` launches it, ``kernel[grid, block, stream, dynamic_bytes]`` gives dynamic shared
    memory. Pointers take NumPy arrays (in place), device arrays, what has the buffer protocol, or None for null.
    Structs are scalars of a structured dtype, vector types like ``float4`` as many numbers.

    Parameters
    ----------
    loaded
        What it shares with the program's other kernels.
    origin
        What it is compiled from.
    """

    def __init__(self, loaded: Loaded, origin: KernelOrigin) -> None:
        DeviceKernel.__init__(self, origin, loaded.options, loaded.debug)
        Configurable.__init__(self)
        self._memory = loaded.memory
        self._source = origin.program

    def launch(self, shape: LaunchShape, args: tuple[Any, ...]) -> None:
        """Run the kernel over the grid of `shape`.

        Raises
        ------
        ArgumentError
            An argument does not fit the signature; nothing has run.
        BarrierDivergence
            Threads of a block wait at different barriers.
        FailedAssertionError
            An ``assert`` does not hold; the launch went on to its end.
        SanitizerError
            With ``debug=True``: the launch did something undefined.
        """
        values, _ = converted(self.info, [host_value(a) for a in args])
        large = has_large_array(values) or max(shape.grid) > SMALL_GROUPS
        self._run(self.origin, shape, (*values, self._memory.bytes), large)
        self._memory.raise_assertion(self._source)

    def record_of(self, shape: LaunchShape, args: tuple[Any, ...]) -> Record | None:
        """What machine code makes such launches by; of programs with assertions, which are looked at, nothing."""
        values, _ = converted(self.info, [host_value(a) for a in args])
        if self._source.assertions or has_large_array(values) or max(shape.grid) > SMALL_GROUPS:
            return None
        return self._record(self.origin, shape, args, (*values, self._memory.bytes))

    def simulate(
        self,
        grid: Any,
        block: Any,
        *args: Any,
        device: str = "h200",
        dynamic_shared: int = 0,
        registers: int | None = None,
        sensitivity: bool = False,
    ) -> Simulation:
        """Run a launch on the interpreter under a cost model of a GPU, as `weft.cuda.Kernel.simulate` does.

        Of a kernel in PTX each instruction and each access is as the text has it.
        """
        from weft.device.simulation import simulate_launch
        from weft.machine.gpu_devices import device as gpu_named

        gpu = gpu_named(device)
        shape = launch_shape(grid, block, dynamic_shared)
        values, _ = converted(self.info, [host_value(a) for a in args])
        kernel = self._watched()
        return simulate_launch(
            kernel.module, kernel.origin, shape, (*values, self._memory.bytes), gpu, registers=registers,
            sensitivity=sensitivity, weights=kernel.weights,
        )  # fmt: skip

    def _watched(self) -> WatchedKernel:
        """The kernel as the model runs it."""
        from weft.device.simulation import WatchedKernel, simulated

        return WatchedKernel(self.origin, simulated(self.origin), None)

    def __repr__(self) -> str:
        return f"<weft CUDA C kernel {self.__name__}>"
