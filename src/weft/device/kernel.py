"""What kernels of every C dialect have in common: code for launches, the checking interpreter, and what they show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from weft.device.compiled import CompiledKernel
from weft.device.origin import Origin
from weft.device.records import arguments_of, launch_arguments
from weft.options import CompileOptions
from weft.runtime.array_memory import have_common_bytes, lie_inside
from weft.runtime.dispatch_records import Record
from weft.runtime.launch_terms import Specializations
from weft.runtime.shape import LaunchShape
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.diag.remarks import Remark
    from weft.report.report import Report


class DeviceKernel:
    """A kernel that a door of its own says how to launch.

    Parameters
    ----------
    origin
        What it is compiled from for most launches.
    options
        How it is compiled.
    debug
        Whether it runs on the checking interpreter.
    """

    def __init__(self, origin: Origin, options: CompileOptions, debug: bool) -> None:
        self.origin = origin
        self.info = origin.info
        self.__name__ = self.info.name
        self._options = replace(options, arrays_apart=True, array_begins=True, array_sizes=True)
        self._debug = debug
        self._compiled: dict[str, CompiledKernel] = {}
        self._interpreted: dict[str, Any] = {}
        self._specializations: Specializations[CompiledKernel] = Specializations(self._specialized)

    def _run(self, origin: Origin, shape: LaunchShape, slots: Sequence[Any], large: bool) -> None:
        """Run a launch of what `origin` is, or a part of one, on checked arguments."""
        if self._debug:
            from weft.device.debug import interpreted, launch_checked

            program = made_once(self._interpreted, origin.kind, lambda: interpreted(origin))
            launch_checked(program, origin, shape, slots)
            return
        serving = self._serving(origin, shape, slots, large)
        serving.launcher.launch(shape, serving.with_sizes(slots), checked=True)

    def _serving(
        self, origin: Origin, shape: LaunchShape, slots: Sequence[Any], large: bool
    ) -> CompiledKernel:
        """The code that serves a launch."""
        compiled = self.compiled(origin)
        return self._specializations.serving(
            compiled,
            shape,
            large,
            lambda: have_common_bytes(slots),
            lambda: compiled.slots(slots),
            lambda: lie_inside(slots[: len(self.info.arguments)]),
        )

    def _record(
        self,
        origin: Origin,
        shape: LaunchShape,
        args: Sequence[Any],
        slots: Sequence[Any],
        sizes: Sequence[Any] = (),
    ) -> Record | None:
        """What machine code makes launches by that are like one that was made; None for others.

        Parameters
        ----------
        origin, shape, slots
            As for `_run`; arrays are small, and there is one part.
        args
            The arguments as they were given.
        sizes
            What was given before them.
        """
        if self._debug:
            return None
        compiled, serving = self.compiled(origin), self._serving(origin, shape, slots, False)
        words = arguments_of(
            self.info, args, slots, sizes, begins=serving.options.array_begins, sized=serving.sized
        )
        if words is None:
            return None
        count = len(args)
        told = launch_arguments(
            words,
            args,
            slots[count:],
            [*compiled.slots(slots)[count:], *serving.with_sizes(slots)[len(slots) :]],
            compiled.restrictions(serving.options.known, shape),
        )
        return serving.launcher.record(shape, told, serving.overlap)

    def compiled(self, origin: Origin | None = None) -> CompiledKernel:
        """Code for most launches, or for those that `origin` is for."""
        source = origin or self.origin
        return made_once(self._compiled, source.kind, lambda: CompiledKernel(source, self._options))

    def _specialized(self, code: CompiledKernel, options: CompileOptions) -> CompiledKernel:
        return CompiledKernel(code.origin, options)

    def specializations(self) -> list[CompiledKernel]:
        """All code that launches have asked for; that for most launches where there was none."""
        if not self._compiled:
            self.compiled()
        return [*self._compiled.values(), *self._specializations.made.values()]

    @property
    def options(self) -> CompileOptions:
        """How it is compiled."""
        return self._options

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
        """PTX for NVIDIA's GPUs of the code for most launches (docs/ptx.md).

        Parameters
        ----------
        arch, lines, max_registers
            As for `weft.cuda.Kernel.inspect_ptx`, which says what is raised, too.
        """
        from weft.device.ptx import ptx_of

        return ptx_of(
            self.origin,
            arch,
            lines=lines,
            max_registers=max_registers,
            scalar_replacement=self._options.switches.replacement,
        ).text

    def report(self, *, args: str = "", width: int | None = None, scope: str = "lanes") -> Report:
        """What is uniform, strided and varying, where lanes diverge, what that costs and why, in source lines.

        Parameters
        ----------
        args
            Shapes of the parameters as for ``weft analyze --args``, all uniform by default.
        width
            Lanes of a lane group; by default those of 32 bits in a register.
        scope
            ``lanes``: uniform within a lane group; ``group``: within a work-group.
        """
        from weft.device.report import report_on_kernels

        return report_on_kernels([self], args=args, width=width, scope=scope)
