"""PTX modules from Python: kernels that run on all cores as SIMD code."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.cuda.c.compiled import KernelOrigin
from weft.cuda.c.kernel import CKernel, Loaded
from weft.cuda.c.memory import VariableMemory
from weft.cuda.ptx.build import PtxProgram
from weft.device.interface import has_interface
from weft.diag.call_site import call_site, located
from weft.diag.errors import ArgumentError, LaunchError, PtxError
from weft.frontend.cuda_c.arguments import WARP
from weft.frontend.device.clang import note_source
from weft.frontend.device.metadata import UNUSED
from weft.options import CompileOptions, kernel_brush, require_lane_options
from weft.ptx.check import check_module
from weft.ptx.reader.module import read_module
from weft.runtime.dispatch_records import Record
from weft.runtime.shape import LaunchShape
from weft.switches import DEFAULT_REPLACEMENT, switches
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.device.simulation import WatchedKernel


class PtxKernel(CKernel):
    """A kernel in PTX, which launches as those in CUDA C++ do."""

    def __init__(self, loaded: Loaded, origin: KernelOrigin, program: PtxProgram) -> None:
        super().__init__(loaded, origin)
        self._program = program
        self._unused = frozenset(k for k, a in enumerate(self.info.arguments) if UNUSED in a.qualifiers)

    def launch(self, shape: LaunchShape, args: tuple[Any, ...]) -> None:
        """Run the kernel over the grid of `shape`, as `CKernel.launch` does.

        Raises
        ------
        LaunchError
            The kernel asks for blocks of another size.
        """
        required = self.info.required_size
        if required is not None and shape.block != required:
            raise LaunchError(
                f"{self.__name__} has .reqntid {required}, and blocks of {shape.block} were asked for",
                hint=f"launch it with {self.__name__}[grid, {required}](...)",
            )
        super().launch(shape, tuple(map(_spread, self._without_unused(args))))

    def record_of(self, shape: LaunchShape, args: tuple[Any, ...]) -> Record | None:
        """What machine code makes such launches by, of arrays in which nothing lies between the elements."""
        as_they_are = all(_spread(a) is a for a in args) and self._without_unused(args) is args
        return super().record_of(shape, args) if as_they_are else None

    def _without_unused(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with a number for each array, or null, of which the kernel does not make use.

        A pointer that a kernel does not use cannot be told from a number, and callers pass what the source has.
        """
        passed = [k for k in self._unused if k < len(args) and _is_memory(args[k])]
        return tuple(0 if k in passed else a for k, a in enumerate(args)) if passed else args

    def _watched(self) -> WatchedKernel:
        from weft.cuda.ptx.simulation import watched

        return watched(self._program, self.info.name)


def _is_memory(given: Any) -> bool:
    return given is None or isinstance(given, np.ndarray) or has_interface(given)


def _spread(given: Any) -> Any:
    """The memory from an array's first element to its last one, where others lie between; all else as it is.

    A kernel in PTX has an address, and strides as numbers of its own.
    """
    if not isinstance(given, np.ndarray) or given.flags.c_contiguous or given.dtype.hasobject:
        return given
    if min(given.strides) < 0:
        return given
    size = sum((n - 1) * s for n, s in zip(given.shape, given.strides, strict=True)) + given.itemsize
    first = given[(slice(0, 1),) * given.ndim].reshape(1)
    if size % given.itemsize:
        first = first.view(np.uint8)
    shape, strides = (size // first.itemsize,), (first.itemsize,)
    return np.lib.stride_tricks.as_strided(first, shape, strides, writeable=given.flags.writeable)


class Module:
    """A PTX module; its kernels, and its variables as arrays, are its attributes.

    ``module.saxpy[grid, block](n, 2.0, x, y)`` launches a kernel, ``module.saxpy[grid, block, stream, dynamic_bytes]``
    gives dynamic shared memory. Parameters that the kernel takes as addresses are NumPy arrays (in place), device
    arrays, or None for null; what is passed in memory is a scalar of a structured dtype.

    Parameters
    ----------
    source
        The text, or the path of a file with it.
    debug
        Run kernels on the checking interpreter: out-of-bounds accesses, races, barriers that part of a block reaches,
        reads of what nobody wrote and more raise `weft.errors.SanitizerError` with the line.
    lock_step
        Run warps of 32 threads in lock step, for kernels whose threads read what others of their warp have written
        without a barrier. Kernels with warp operations or volatile shared memory do so by themselves.
    width
        Threads in a lane group, a power of two; 1 runs one after the other. weft chooses by default.
    brush, projection
        Threads in a lane group along z, y and x, or y and x, as ``(4, 16)`` or ``"4x16"``; and in which order these
        dimensions fill the lanes, ``(1, 0)`` with x fastest (docs/tensors.md).
    boscc, uniform_values, uniform_control, scalar_counters, scalar_replacement, without
        As for `weft.cuda.jit`.

    Raises
    ------
    PtxError
        The text is malformed, or breaks a rule of PTX.
    UnsupportedError
        A variable begins with what a CPU cannot have.
    SettingError
        An option has a value that it cannot have.
    """

    @located
    def __init__(
        self,
        source: str | Path,
        *,
        debug: bool = False,
        lock_step: bool = False,
        width: int | None = None,
        brush: Sequence[int] | str | None = None,
        projection: Sequence[int] | str | None = None,
        boscc: str = "auto",
        uniform_values: bool = True,
        uniform_control: bool = True,
        scalar_counters: bool = True,
        scalar_replacement: str = DEFAULT_REPLACEMENT,
        without: Sequence[str] = (),
    ) -> None:
        require_lane_options(width, boscc)
        box = kernel_brush(brush, projection, width)
        chosen = switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, without)
        options = CompileOptions(
            width=width, boscc=boscc, whole_rows=True, switches=chosen, brush=box, warp=WARP
        )
        text, file = _text_of(source)
        note_source(file, text)
        module = read_module(text, file)
        check_module(module)
        self.program = PtxProgram.of(module, file, lock_step)
        self._loaded = Loaded(VariableMemory(self.program.scope), options, debug)
        self._kernels: dict[str, CKernel] = {}

    @property
    def kernel_names(self) -> list[str]:
        """The kernels in the order of the text."""
        return [f.name for f in self.program.text.entries()]

    @property
    def variable_names(self) -> list[str]:
        """The variables in global and constant memory."""
        return list(self.program.variables())

    def __getitem__(self, name: str) -> CKernel:
        try:
            return made_once(self._kernels, name, lambda: self._kernel(name))
        except (ArgumentError, PtxError) as error:
            error.at(call_site())
            raise

    def _kernel(self, name: str) -> CKernel:
        return PtxKernel(self._loaded, KernelOrigin(self.program.kernel(name), name), self.program)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.kernel_names:
            return self[name]
        if name in self.variable_names:
            return self.variable(name)
        listed = ", ".join([*self.kernel_names, *self.variable_names])
        raise AttributeError(
            f"{self.program.file} has neither a kernel nor a variable {name}; it has {listed}"
        )

    def variable(self, name: str) -> np.ndarray[Any, Any]:
        """A variable's memory as an array of its type."""
        return self._loaded.memory.view(self.program.bare(), name)

    def __repr__(self) -> str:
        return f"<weft PTX module {self.program.file}: {', '.join(self.kernel_names)}>"


def _text_of(source: str | Path) -> tuple[str, str]:
    if isinstance(source, Path) or ("\n" not in source and source.endswith(".ptx")):
        return Path(source).read_text(), str(source)
    return source, f"<ptx {hashlib.sha256(source.encode()).hexdigest()[:8]}>"
