"""Kernels of a program in CUDA C++ as Python objects: launching and inspecting them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.cuda.arrays import DeviceArray
from weft.cuda.c.compiled import KernelOrigin
from weft.cuda.c.memory import VariableMemory
from weft.cuda.kernel import shape_of
from weft.device.compiled import CompiledKernel
from weft.device.parameters import converted
from weft.diag.call_site import call_site, located
from weft.diag.errors import ArgumentError, LaunchError, WeftError
from weft.frontend.cuda_c.adopt import SMALL_GROUPS
from weft.options import CompileOptions
from weft.runtime.array_memory import has_large_array
from weft.runtime.launch_terms import Specializations
from weft.runtime.shape import LaunchShape, launch_shape
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.device.simulation import WatchedKernel
    from weft.diag.remarks import Remark
    from weft.report.report import Report
    from weft.simt.result import Simulation


@dataclass(frozen=True, slots=True)
class Loaded:
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


class CKernel:
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
        self._loaded = loaded
        self.origin = origin
        self.info = origin.info
        self.__name__ = self.info.name
        self._compiled: dict[None, CompiledKernel] = {}
        self._interpreted: dict[None, Any] = {}
        self._specializations: Specializations[CompiledKernel] = Specializations(self._specialized)
        self._configured: dict[Any, ConfiguredCKernel] = {}

    def __getitem__(self, configuration: Any) -> ConfiguredCKernel:
        try:
            known = self._configured.get(configuration)
        except TypeError:
            return self._configure(configuration)
        if known is None:
            known = self._configure(configuration)
            if len(self._configured) < 1024:
                self._configured[configuration] = known
        return known

    @located
    def _configure(self, configuration: Any) -> ConfiguredCKernel:
        return ConfiguredCKernel(self, shape_of(configuration))

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> None:
        raise LaunchError(
            f"kernel {self.__name__} was called without a launch configuration",
            hint=f"write {self.__name__}[blocks, threads_per_block](...)",
        )

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
        values, _ = converted(self.info, [a.array if type(a) is DeviceArray else a for a in args])
        memory, source = self._loaded.memory, self.origin.program
        slots = (*values, memory.bytes)
        if self._loaded.debug:
            self._check(shape, slots)
            return
        large = has_large_array(values) or max(shape.grid) > SMALL_GROUPS
        code = self._specializations.serving(self.compiled(), shape, large)
        code.launcher.launch(shape, slots, checked=True)
        memory.raise_assertion(source)

    def _check(self, shape: LaunchShape, slots: tuple[Any, ...]) -> None:
        """Run on the checking interpreter."""
        from weft.device.debug import interpreted, launch_checked

        program = made_once(self._interpreted, None, lambda: interpreted(self.origin))
        launch_checked(program, self.origin, shape, slots)

    def compiled(self) -> CompiledKernel:
        """Code for most launches."""
        return made_once(self._compiled, None, lambda: CompiledKernel(self.origin, self._loaded.options))

    def _specialized(self, code: CompiledKernel, options: CompileOptions) -> CompiledKernel:
        return CompiledKernel(code.origin, options)

    def specializations(self) -> list[CompiledKernel]:
        """All code that launches have asked for, that for most launches first."""
        return [self.compiled(), *self._specializations.made.values()]

    @property
    def remarks(self) -> list[Remark]:
        """What was decided in compiling, each once."""
        return list(dict.fromkeys(r for code in self.specializations() for r in code.remarks))

    def inspect_llvm(self) -> str:
        """Optimized LLVM IR of the code for most launches."""
        return self.compiled().llvm()

    def inspect_asm(self) -> str:
        """Assembly of the code for most launches."""
        return self.compiled().assembly()

    def inspect_ptx(
        self, arch: str = "sm_75", *, lines: bool = True, max_registers: int | None = None
    ) -> str:
        """PTX for NVIDIA's GPUs (docs/ptx.md)."""
        from weft.device.ptx import ptx_of

        return ptx_of(self.origin, arch, lines=lines, max_registers=max_registers).text

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
        values, _ = converted(self.info, [a.array if type(a) is DeviceArray else a for a in args])
        kernel = self._watched()
        return simulate_launch(
            kernel.module, kernel.origin, shape, (*values, self._loaded.memory.bytes), gpu, registers=registers,
            sensitivity=sensitivity, weights=kernel.weights,
        )  # fmt: skip

    def _watched(self) -> WatchedKernel:
        """The kernel as the model runs it."""
        from weft.device.simulation import WatchedKernel, simulated

        return WatchedKernel(self.origin, simulated(self.origin), None)

    def report(self, *, args: str = "", width: int | None = None, scope: str = "lanes") -> Report:
        """What is uniform, strided and varying, where lanes diverge, what that costs and why, in source lines.

        Parameters
        ----------
        args
            Shapes of the parameters as for ``weft analyze --args``, all uniform by default.
        width
            Lanes of a lane group; by default those of 32 bits in a register.
        scope
            ``lanes``: uniform within a lane group; ``group``: within a block.
        """
        from weft.device.report import report_on_kernels

        return report_on_kernels([self.origin], args=args, width=width, scope=scope)

    def __repr__(self) -> str:
        return f"<weft CUDA C kernel {self.__name__}>"


class ConfiguredCKernel:
    """A kernel with a grid; calling it launches, and returns when the kernel is done."""

    __slots__ = ("kernel", "shape")

    def __init__(self, kernel: CKernel, shape: LaunchShape) -> None:
        self.kernel = kernel
        self.shape = shape

    def __call__(self, *args: Any, **named: Any) -> None:
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
