"""Kernels as Python objects: configuring, launching, inspecting them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from weft.cuda.compiled import CompiledKernel, KernelSource
from weft.cuda.configuration import Configurable, ConfiguredKernel, NoTasks
from weft.cuda.terms import LaunchTerms
from weft.cuda.transfers import extended, host_value
from weft.diag.call_site import located
from weft.diag.errors import ArgumentError, LaunchError, SignatureError
from weft.fast_math import FastMath
from weft.frontend.python.overloads import NoSignature, best_or_unaligned, converted
from weft.frontend.python.portable import Portable
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.source_text import remember_text
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import KernelType, Signature
from weft.options import CompileOptions, latest_timings
from weft.runtime.array_memory import has_large_array, have_common_bytes
from weft.runtime.dispatch import Record
from weft.runtime.launch_terms import Specializations
from weft.runtime.shape import LaunchShape, launch_shape, tasks_shape
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.diag.remarks import Remark
    from weft.report.report import Report
    from weft.simt.result import Simulation

_FORALL_BLOCK = 256

Types = tuple[KernelType, ...]

_SignatureError = TypeVar("_SignatureError", bound=SignatureError)


class Kernel(Portable, Configurable):
    """A kernel: a Python function that runs once for each thread of a grid.

    ``kernel[grid, block](*args)`` launches it; ``kernel[grid, block, stream, dynamic_bytes]`` gives dynamic
    shared memory. It is compiled at the first launch with argument types not seen before, or for the
    signatures it was declared with.

    Parameters
    ----------
    function
        The Python function for one thread.
    options
        How to compile it.
    signatures
        Signatures to compile at once; when there are some, no others are accepted.
    debug
        Run on the checking interpreter instead of machine code.
    terms
        What it asks of its launches.
    tune
        Whether several widths and boxes are measured on copies of the first launch's arguments.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: CompileOptions | None = None,
        signatures: Sequence[Any] = (),
        debug: bool = False,
        terms: LaunchTerms | None = None,
        tune: bool = False,
    ) -> None:
        Configurable.__init__(self)
        functools.update_wrapper(self, function)
        self.py_func = function
        remember_text(function)
        self._debug = debug
        self._tune = tune
        self._terms = terms or LaunchTerms()
        self._extensions = list(self._terms.extensions)
        self._extendable = bool(self._extensions)
        self._records: list[Record] = []
        # Rows of most launches are whole lane groups, and code for these alone is made in half the time.
        self._source = KernelSource(
            function, replace(options or CompileOptions(), whole_rows=True, arrays_apart=True)
        )
        self.overloads: dict[Types, CompiledKernel] = {}
        self._specializations = Specializations(self._specialized)
        self._fixed = bool(signatures)
        # Compiled for arrays of declared signatures that are not aligned.
        self._unaligned: set[Types] = set()
        for signature in signatures:
            self.compile(signature)

    @located
    def _configure(self, configuration: Any) -> ConfiguredKernel:
        configured = super()._configure(configuration)
        most, (x, y, z) = self._terms.max_threads, configured.shape.block
        if most is not None and x * y * z > most:
            raise LaunchError(
                f"{self.__name__} is for blocks of at most {most} threads, and {x * y * z} were asked for",
                hint="launch it with smaller blocks, or raise its launch_bounds",
            )
        return configured

    @located
    def forall(self, ntasks: int, tpb: int = 0, stream: object = 0, sharedmem: int = 0) -> ConfiguredKernel:
        """Configure a one-dimensional launch of at least `ntasks` threads, `tpb` (or a good number) a block."""
        if ntasks == 0:
            return NoTasks(self, tasks_shape(1, 1))
        return ConfiguredKernel(self, tasks_shape(ntasks, tpb or _FORALL_BLOCK, sharedmem))

    @located
    def compile(self, signature: Any) -> CompiledKernel:
        """Compile for a signature: a `weft.types` signature, a tuple of types, or numba's notation as text."""
        return self._compile(types_of(signature)).ready()

    @located
    def specialize(self, *args: Any) -> CompiledKernel:
        """Compile for the types of `args`."""
        return self._compile(tuple(typeof(a) for a in _host(args)), ArgumentError).ready()

    def _compile(self, types: Types, error: type[SignatureError] = SignatureError) -> CompiledKernel:
        """Compile for these types; `error` is raised when there are more or fewer than parameters."""
        known = self.overloads.get(types)
        if known is None:
            self._require_as_many(types, error)
            known = made_once(self.overloads, types, lambda: CompiledKernel(self._source, types))
        return known

    def launch(self, shape: LaunchShape, args: tuple[Any, ...]) -> None:
        """Run the kernel over the grid of `shape`."""
        if self._extensions:
            args, finish = extended(self._extensions, args)
            self._launch(shape, args)
            for call in finish:
                call()
        else:
            self._launch(shape, _host(args))

    def _launch(self, shape: LaunchShape, args: tuple[Any, ...]) -> None:
        try:
            types = tuple([typeof(a) for a in args])
        except ArgumentError:
            raise self._blamed(args) from None
        if self.debug:
            from weft.cuda.debug import launch_checked

            self._require_as_many(types, ArgumentError)
            launch_checked(self._source, types, shape, args)
            return
        compiled = self.overloads.get(types)
        if compiled is not None:
            self._serving(compiled, shape, args).launcher.launch(shape, args, checked=True)
        elif self._fixed:
            compiled, args = self._accepting(types, args)
            self._serving(compiled, shape, args).launcher.launch(shape, args)
        else:
            compiled = self._tuned(types, shape, args) if self._tune else self._compile(types, ArgumentError)
            self._serving(compiled, shape, args).launcher.launch(shape, args, checked=True)

    def _tuned(self, types: Types, shape: LaunchShape, args: tuple[Any, ...]) -> CompiledKernel:
        """The kernel in the width that is fastest for such launches."""
        from weft.cuda.tuning import tuned

        self._require_as_many(types, ArgumentError)
        return made_once(
            self.overloads, types, lambda: tuned(self._source, types, shape, args, self._serving)
        )

    def record_of(self, shape: LaunchShape, args: tuple[Any, ...]) -> Record | None:
        """What machine code makes such launches by; arrays that are small and apart."""
        args = _host(args)
        if self.debug or self._extendable or has_large_array(args) or have_common_bytes(args):
            return None
        types = tuple([typeof(a) for a in args])
        compiled = self.overloads.get(types)
        if compiled is None or compiled.captured:
            return None
        serving = self._specializations.serving(
            compiled, shape, large=False, slots=lambda: compiled.slots(args)
        )
        record = serving.launcher.record(
            shape, types, serving.terms.arrays_apart, compiled.restrictions(serving.options.known, shape)
        )
        if record is not None:
            self._records.append(record)
        return record

    def _serving(self, compiled: CompiledKernel, shape: LaunchShape, args: tuple[Any, ...]) -> CompiledKernel:
        """The compiled kernel, or its specialization for such launches."""
        arrays = (*args, *compiled.captured)
        return self._specializations.serving(
            compiled,
            shape,
            has_large_array(arrays),
            lambda: have_common_bytes(arrays),
            lambda: compiled.slots(args),
        )

    def _specialized(self, compiled: CompiledKernel, options: CompileOptions) -> CompiledKernel:
        """The kernel for the same types under these options."""
        return CompiledKernel(replace(compiled.source, options=options), compiled.types)

    def _blamed(self, args: Sequence[Any]) -> ArgumentError:
        """The error for arguments of which one is of no type for kernels, with the name of its parameter."""
        for name, value in zip(self._source.parameters, args, strict=False):
            try:
                typeof(value)
            except ArgumentError as error:
                error.message = f"argument '{name}' of {self.py_func.__name__}: {error.message}"
                return error
        return self._wrong_number(len(args), ArgumentError)

    def _require_as_many(self, types: Types, error: type[SignatureError]) -> None:
        if len(types) != len(self._source.parameters):
            raise self._wrong_number(len(types), error)

    def _wrong_number(self, given: int, error: type[_SignatureError]) -> _SignatureError:
        names = self._source.parameters
        return error(
            f"{self.py_func.__name__} takes {len(names)} arguments ({', '.join(names)}), and got {given}",
            hint="give one for each parameter, in their order",
        )

    def _accepting(self, types: Types, args: tuple[Any, ...]) -> tuple[CompiledKernel, tuple[Any, ...]]:
        """What was compiled for the declared signature that fits best, and the arguments converted to it."""
        declared = [Signature(known) for known in self.overloads if known not in self._unaligned]
        try:
            chosen = best_or_unaligned(self.py_func.__name__, types, declared).args
        except NoSignature as error:
            listed = "; ".join(map(str, declared))
            raise ArgumentError(str(error), hint=f"it was declared for {listed}") from None
        values = tuple([converted(*pair) for pair in zip(args, chosen, strict=True)])
        if chosen not in self.overloads:
            self._unaligned.add(chosen)
        return self._compile(chosen, ArgumentError), values

    @property
    def debug(self) -> bool:
        """Whether launches run on the checking interpreter."""
        return self._debug

    @debug.setter
    def debug(self, value: bool) -> None:
        self._debug = value
        self._withdraw_records()

    def _withdraw_records(self) -> None:
        while self._records:
            self._records.pop().withdraw()

    @property
    def extensions(self) -> list[Any]:
        """What prepares arguments; whoever has the list may add to it, so launches go through Python from then on."""
        self._extendable = True
        self._withdraw_records()
        return self._extensions

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

        host = _host(args)
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

    def __repr__(self) -> str:
        return f"<weft kernel {self.py_func.__qualname__}>"

    def _options(self) -> tuple[Any, ...]:
        signatures = self.signatures if self._fixed else ()
        return self._source.options, signatures, self.debug, self._terms, self._tune

    def _identity(self) -> tuple[str, ...] | None:
        # Nobody can tell what an extension does.
        return None if self._extensions else super()._identity()


class DeviceFunction(Portable):
    """A function for kernels to call; the host cannot call it."""

    def __init__(self, function: Callable[..., Any], signatures: Sequence[Signature] = ()) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        remember_text(function)
        self.signatures = tuple(signatures)

    def _options(self) -> tuple[Any, ...]:
        return (self.signatures,)

    @located
    def __getitem__(self, configuration: Any) -> Any:
        raise LaunchError(
            f"{self.py_func.__name__} is a device function and cannot be launched",
            hint="write a kernel, @cuda.jit without device=True, that calls it",
        )

    @located
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LaunchError(
            f"{self.py_func.__name__} is a device function and can be called from kernels only",
            hint=f"use {self.py_func.__name__}.py_func to run it as Python",
        )

    def __repr__(self) -> str:
        return f"<weft device function {self.py_func.__qualname__}>"


def types_of(signature: Any) -> Types:
    """The argument types that a signature in any notation stands for."""
    parsed = parse_signature(signature)
    return parsed.args if isinstance(parsed, Signature) else tuple(parsed)


def _host(args: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with arrays of every kind replaced by the NumPy arrays they stand for."""
    return tuple([host_value(a) for a in args])
