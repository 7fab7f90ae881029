"""What a kernel tells of itself: remarks, code, reports, and what a GPU would make of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.cuda.arguments import Types, host_values, types_of
from weft.cuda.compiled import CompiledKernel, KernelSource
from weft.cuda.terms import LaunchTerms
from weft.diag.errors import ArgumentError
from weft.fast_math import FastMath
from weft.frontend.python.typeof import typeof
from weft.options import CompileOptions, latest_timings
from weft.runtime.launch_terms import Specializations
from weft.runtime.shape import launch_shape

if TYPE_CHECKING:
    from weft.diag.errors import SignatureError
    from weft.diag.remarks import Remark
    from weft.report.report import Report
    from weft.simt.result import Simulation


class Inspectable:
    """The part of a kernel that answers questions about it."""

    py_func: Callable[..., Any]
    overloads: dict[Types, CompiledKernel]
    _source: KernelSource
    _specializations: Specializations[CompiledKernel]
    _terms: LaunchTerms

    if TYPE_CHECKING:

        def compile(self, signature: Any) -> CompiledKernel: ...
        def _require_as_many(self, types: Types, error: type[SignatureError]) -> None: ...

    @property
    def signatures(self) -> list[Types]:
        """The argument types compiled so far."""
        return list(self.overloads)

    @property
    def timings(self) -> dict[str, float]:
        """Seconds of the latest compilation in ``frontend``, ``passes`` and ``llvm``; zeros when cached.

        That may be of a specialization: for lengths of short rows, small work-groups, or arrays that overlap.
        """
        made = (*self.overloads.values(), *self._specializations.made.values())
        return latest_timings(code.timings for code in made)

    @property
    def remarks(self) -> list[Remark]:
        """What was decided about each signature compiled so far, and for lengths of short rows, and of each once."""
        found = (r for compiled in (*self.overloads.values(), *self._knowing()) for r in compiled.remarks)
        return list(dict.fromkeys((*self._terms.remarks, *found)))

    def inspect_llvm(self, signature: Any = None) -> Any:
        """Optimized LLVM IR of one signature, or a dict over all compiled ones."""
        return self._inspect(signature, CompiledKernel.llvm)

    def inspect_asm(self, signature: Any = None) -> Any:
        """Assembly of one signature, or a dict over all compiled ones."""
        return self._inspect(signature, CompiledKernel.assembly)

    def inspect_ptx(
        self,
        signature: Any = None,
        arch: str = "sm_75",
        *,
        lines: bool = True,
        max_registers: int | None = None,
    ) -> Any:
        """PTX of one signature for NVIDIA's GPUs, or a dict over all compiled ones.

        No GPU is needed, nor anything of CUDA, but for functions of mathematics that PTX has no instructions for: these
        are taken from libdevice, in the package ``nvidia-nvvm``.

        Parameters
        ----------
        signature
            Argument types as for `compile`.
        arch
            The architecture that it is for, as ``ptxas`` spells it: ``sm_75``, ``sm_90``.
        lines
            Whether it says of each instruction from which line of the source it is.
        max_registers
            Registers that a thread may have (``.maxnreg``); by default as many as it needs.

        Raises
        ------
        SettingError
            There is no such architecture.
        UnsupportedError
            The kernel does what a GPU has nothing for.
        UnresolvedError
            The kernel calls functions of libdevice, which is not installed.
        """
        from weft.cuda.to_ptx import ptx_of

        def text(types: Types) -> str:
            made = ptx_of(
                self.py_func,
                types,
                arch,
                fastmath=self.fastmath,
                lines=lines,
                max_registers=max_registers,
                scalar_replacement=self.scalar_replacement,
            )
            return made.text

        if signature is not None:
            return text(types_of(signature))
        return {types: text(types) for types in self.overloads}

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
        """Run the kernel on the interpreter under a cost model of a GPU; print what it says, or read its figures.

        Parameters
        ----------
        grid, block
            As for a launch.
        *args
            The arguments of the launch; arrays hold its results.
        device
            A GPU of the model (docs/gpu_model.md): ``"h200"``, ``"gtx570"``, ``"gtx570-48k"``.
        dynamic_shared
            Bytes of dynamic shared memory of each work-group.
        registers
            32-bit registers of a thread; an estimate by default.
        sensitivity
            Whether cycles are predicted with each figure of the GPU halved and doubled, too.

        Raises
        ------
        SettingError
            The model has no such GPU.
        LaunchError
            The launch is none, or no work-group fits.
        ArgumentError
            The arguments do not fit.
        """
        from weft.cuda.simulation import simulate_launch

        host = host_values(args)
        types = tuple(typeof(a) for a in host)
        self._require_as_many(types, ArgumentError)
        shape = launch_shape(grid, block, dynamic_shared)
        return simulate_launch(
            self._source, types, shape, host, device, registers=registers, sensitivity=sensitivity
        )

    def report(
        self, signature: Any = None, *, args: str = "", width: int | None = None, scope: str = "lanes"
    ) -> Report:
        """What is uniform, strided and varying, where lanes diverge, what that costs and why, in source lines.

        Print it, show it in a notebook, or take its ``to_json()``.

        Parameters
        ----------
        signature
            Argument types as for `compile`; by default all compiled or declared so far, and code for lengths of short
            rows that launches have had.
        args
            Shapes of the arguments as for ``weft analyze --args``, all uniform by default.
        width
            Lanes of a lane group; by default those of 32 bits in a register.
        scope
            ``lanes``: uniform within a lane group; ``group``: within a work-group.
        """
        from weft.cuda.compiled_code import compiled_by
        from weft.report.kernels import report_on_function
        from weft.report.report import joined

        wanted = self.signatures if signature is None else [types_of(signature)]
        compile = compiled_by(lambda function, types: self._options_for(types))
        found = report_on_function(self.py_func, wanted, args=args, width=width, scope=scope, compile=compile)
        if signature is not None:
            return found
        versions = [
            report_on_function(
                self.py_func, [code.types], args=args, width=width, scope=scope,
                compile=compiled_by(lambda function, types, own=code.options: own), known=code.options.known,
            )
            for code in self._knowing()
        ]  # fmt: skip
        return joined([found, *versions])

    def _knowing(self) -> list[CompiledKernel]:
        """Code for lengths of short rows that launches have had."""
        return [code for code in list(self._specializations.made.values()) if code.options.known]

    def _options_for(self, types: Types) -> CompileOptions:
        """How it is compiled for these types, of which its width may have been measured."""
        compiled = self.overloads.get(types)
        return self.options if compiled is None else compiled.options

    @property
    def options(self) -> CompileOptions:
        """How it is compiled."""
        return self._source.options

    @property
    def fastmath(self) -> FastMath:
        """Which fast-math flags it is compiled with."""
        return self._source.options.fastmath

    @property
    def scalar_replacement(self) -> str:
        """By which policy loads are replaced."""
        return self._source.options.switches.replacement

    def _inspect(self, signature: Any, what: Callable[[CompiledKernel], str]) -> Any:
        if signature is not None:
            return what(self.compile(signature))
        return {types: what(compiled) for types, compiled in self.overloads.items()}
