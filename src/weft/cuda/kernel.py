"""Kernels as Python objects: configuring, compiling, launching them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from weft.cuda.arguments import Types, host_values, types_of
from weft.cuda.compiled import CompiledKernel, KernelSource
from weft.cuda.configuration import Configurable, ConfiguredKernel, NoTasks
from weft.cuda.inspection import Inspectable
from weft.cuda.terms import LaunchTerms
from weft.cuda.transfers import extended
from weft.device.arrays import DeviceArray, holder
from weft.diag.call_site import located
from weft.diag.errors import ArgumentError, LaunchError, SignatureError
from weft.frontend.python.overloads import NoSignature, best_or_unaligned, converted
from weft.frontend.python.portable import Portable
from weft.frontend.python.source_text import remember_text
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import Signature
from weft.options import CompileOptions
from weft.runtime.array_memory import has_large_array, have_common_bytes
from weft.runtime.dispatch_records import Record, arguments_of_types
from weft.runtime.launch_terms import Specializations
from weft.runtime.shape import LaunchShape, tasks_shape
from weft.target.once import made_once

if TYPE_CHECKING:
    pass

_FORALL_BLOCK = 256

_SignatureError = TypeVar("_SignatureError", bound=SignatureError)


class Kernel(Inspectable, Portable, Configurable):
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
        return self._compile(tuple(typeof(a) for a in host_values(args)), ArgumentError).ready()

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
            self._launch(shape, host_values(args))

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
        """What machine code makes such launches by, of arrays that are small."""
        holders = [holder() if type(a) is DeviceArray else None for a in args]
        args = host_values(args)
        if self.debug or self._extendable or has_large_array(args):
            return None
        types = tuple([typeof(a) for a in args])
        compiled = self.overloads.get(types)
        if compiled is None or compiled.captured:
            return None
        serving = self._specializations.serving(
            compiled, shape, False, lambda: have_common_bytes(args), lambda: compiled.slots(args)
        )
        restrictions = compiled.restrictions(serving.options.known, shape)
        told = arguments_of_types(types, restrictions, holders)
        record = serving.launcher.record(shape, told, serving.overlap)
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

    def __repr__(self) -> str:
        return f"<weft kernel {self.py_func.__qualname__}>"

    def _options(self) -> tuple[Any, ...]:
        signatures = self.signatures if self._fixed else ()
        return self._source.options, signatures, self.debug, self._terms, self._tune

    def _identity(self) -> tuple[str, ...] | None:
        # Nobody can tell what an extension does.
        return None if self._extensions else super()._identity()
