"""Programs in OpenCL C, from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.device.scope import scope_memory
from weft.diag.call_site import call_site, located
from weft.diag.errors import ArgumentError
from weft.opencl.kernel import Kernel, Loaded
from weft.opencl.prepare import compile_options
from weft.opencl.source import ProgramSource, build_source
from weft.options import CompileOptions, kernel_brush, require_lane_options
from weft.switches import DEFAULT_REPLACEMENT, switches
from weft.target.once import made_once


class Program:
    """A program; its kernels are its attributes.

    >>> program = Program("kernel void twice(global float *x) { x[get_global_id(0)] *= 2; }")
    >>> x = np.ones(8, np.float32)
    >>> program.twice(8, None, x)
    >>> float(x.sum())
    16.0

    Parameters
    ----------
    source
        Its text in OpenCL C, or the path of a file with it.
    options
        Build options as ``clBuildProgram`` takes them: ``"-cl-std=CL3.0 -DN=16 -cl-fast-relaxed-math"``.
    debug
        Run kernels on the checking interpreter: out-of-bounds accesses, races, barriers that part of a work-group
        reaches, reads of what nobody wrote and more raise `weft.errors.SanitizerError` with the line.
    width
        Work-items in a lane group, a power of two; 1 runs one after the other. weft chooses by default.
    brush, projection
        Work-items in a lane group along z, y and x, or y and x, as ``(4, 16)`` or ``"4x16"``; and in which order these
        dimensions fill the lanes, ``(1, 0)`` with x fastest (docs/tensors.md).
    boscc, uniform_values, uniform_control, scalar_counters, scalar_replacement, without
        As for `weft.cuda.jit`.
    headers
        Texts that ``#include`` finds under these names.

    Raises
    ------
    BuildError
        The program does not compile; `log` of the error has clang's diagnostics.
    SettingError
        A build option is unknown.
    SignatureError, PassError
        An option of weft's has a value that it cannot have.
    """

    @located
    def __init__(
        self,
        source: str | Path,
        options: str = "",
        *,
        debug: bool = False,
        width: int | None = None,
        brush: Sequence[int] | str | None = None,
        projection: Sequence[int] | str | None = None,
        boscc: str = "auto",
        uniform_values: bool = True,
        uniform_control: bool = True,
        scalar_counters: bool = True,
        scalar_replacement: str = DEFAULT_REPLACEMENT,
        without: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        require_lane_options(width, boscc)
        box = kernel_brush(brush, projection, width)
        chosen = switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, without)
        asked = CompileOptions(width=width, boscc=boscc, whole_rows=True, switches=chosen, brush=box)
        file = str(source) if isinstance(source, Path) else ""
        text = source.read_text() if isinstance(source, Path) else source
        built = build_source(text, options, file=file, headers=headers)
        self._source = built
        self._memory = scope_memory(built.scope)
        self._asked = asked
        self._debug = debug
        self._kernels: dict[str, Kernel] = {}

    @property
    def source(self) -> ProgramSource:
        """What the kernels are compiled from."""
        return self._source

    @property
    def log(self) -> str:
        """What clang said of the source."""
        return self._source.log

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """Names of the kernels, in the order of the source."""
        return tuple(self._source.kernels)

    def kernel(self, name: str) -> Kernel:
        """Return the kernel of a name.

        Raises
        ------
        ArgumentError
            There is none.
        """
        info = self._source.kernel(name)
        return made_once(self._kernels, name, lambda: Kernel(self._loaded(name), info))

    def __getattr__(self, name: str) -> Kernel:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self.kernel(name)
        except ArgumentError as error:
            raise _MissingKernel(error.message, call_site(), error.hint) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.kernel_names]

    def _loaded(self, name: str) -> Loaded:
        options = compile_options(self._source, self._source.kernels[name], self._asked)
        return Loaded(self._source, options, self._memory, self._debug)

    def __repr__(self) -> str:
        return f"<weft OpenCL program {self._source.file}: {', '.join(self.kernel_names)}>"


class _MissingKernel(ArgumentError, AttributeError):
    """The program has no kernel of the name that was asked for as an attribute."""
