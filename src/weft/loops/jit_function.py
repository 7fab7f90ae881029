"""Functions that `weft.jit` has made: which code a call is served by, and what users ask of them."""

from __future__ import annotations

import ctypes
import functools
import inspect
from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from weft.diag.call_site import located
from weft.diag.errors import ArgumentError, SignatureError
from weft.diag.remarks import Remark
from weft.frontend.python.local_types import LocalTypes, declaring
from weft.frontend.python.overloads import NoSignature, best_or_unaligned, converted
from weft.frontend.python.portable import Portable
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.source_text import remember_text
from weft.frontend.python.typeof import typeof
from weft.frontend.python.types import KernelType, Signature
from weft.jit_options import JitOptions
from weft.loops.compiled import CompiledFunction
from weft.loops.own_defaults import defaults_in, defaults_of, known_by_slot
from weft.loops.results import device_class, host_array
from weft.options import Overlap, latest_timings
from weft.runtime.array_memory import has_large_extent, have_common_bytes, meet_others
from weft.runtime.dispatch import is_loaded
from weft.runtime.dispatch_records import parameter_words
from weft.runtime.dispatched import Dispatched, take_over
from weft.runtime.row_numbers import MOST_VERSIONS, Known
from weft.target.once import made_once

if TYPE_CHECKING:
    from weft.report.report import Report

Types = tuple[KernelType, ...]


class JitFunction(Portable, Dispatched):
    """A function that `weft.jit` compiles, callable as the function it was made from.

    Attributes
    ----------
    py_func
        That function.
    options
        How it is compiled.
    signatures
        What it was declared with, and is compiled for at once: arguments are converted to those of the one that fits
        best. Without signatures it is compiled for the types that come.
    locals
        Variables whose types are declared.
    overloads
        What has been compiled, by the types of arguments: for any numbers, or for defaults if all calls have had these.
    """

    def __init__(
        self,
        function: FunctionType,
        options: JitOptions,
        signatures: Sequence[Signature] = (),
        locals: LocalTypes = (),
    ) -> None:
        Dispatched.__init__(self)
        function = declaring(function, locals)
        functools.update_wrapper(self, function)
        self.py_func = function
        remember_text(function)
        self.options = options
        self.signatures = tuple(signatures)
        self.locals = locals
        self.overloads: dict[Types, CompiledFunction] = {}
        self._general: dict[tuple[Types, Known], CompiledFunction] = {}
        self._versions: dict[tuple[Types, Known], CompiledFunction] = {}
        self._of_others: dict[tuple[Types, Known, bool, Overlap], CompiledFunction] = {}
        self._of_defaults: dict[tuple[Types, Known], CompiledFunction] = {}
        code = function.__code__
        self._defaults = function.__defaults__
        self._constants = () if signatures or options.tune else defaults_of(function)
        self._words = parameter_words(function)
        self._parameters = 0 if self._words is None else ctypes.addressof(self._words)
        self._signature: inspect.Signature | None = None
        # Arguments that need no binding: one for each parameter, all of which may come by position.
        self._arity = -1 if code.co_kwonlyargcount else code.co_argcount
        for signature in self.signatures:
            self._made_ready(self._compile(signature.args, signature.result))

    @located
    def compile(self, signature: Any) -> CompiledFunction:
        """Compile for a signature: a `weft.types` signature, a tuple of types, or numba's notation as text."""
        parsed = parse_signature(signature)
        return self._made_ready(self._compile(parsed.args, parsed.result))

    def _compile(
        self, types: Types, declared: KernelType | None = None, known: Known = ()
    ) -> CompiledFunction:
        """What is compiled for arguments of such types, and for defaults in their slots if some are known."""

        def make() -> CompiledFunction:
            options = replace(self.options, known=known) if known else self.options
            of_defaults = known_by_slot(self._constants, self.py_func, types)
            made = CompiledFunction(self.py_func, types, options, declared, of_defaults=of_defaults)
            return made if made.waits else self._called(made)

        if not self._constants:
            return made_once(self.overloads, types, make)
        made = made_once(self._of_defaults, (types, known), make)
        if not known or types not in self.overloads:
            self.overloads[types] = made
        return made

    def _compiled(self, types: Types, known: Known) -> CompiledFunction | None:
        """What has been compiled for such arguments, and such defaults among them, if it has been."""
        return self._of_defaults.get((types, known)) if self._constants else self.overloads.get(types)

    def _known(self, types: Types, args: tuple[Any, ...]) -> Known:
        """The defaults that parameters have in a call, as far as there is to be code for these."""
        known = known_by_slot(defaults_in(self._constants, args), self.py_func, types)
        is_one_more = (types, known) not in self._of_defaults and len(self._of_defaults) >= MOST_VERSIONS
        return () if is_one_more else known

    def _made_ready(self, compiled: CompiledFunction) -> CompiledFunction:
        """The compiled function, for calls that code for some lengths of rows does not serve."""
        if compiled.waits:
            key = compiled.types, compiled.options.known
            made_once(self._general, key, lambda: self._called(compiled))
        return compiled

    def _called(self, made: CompiledFunction) -> CompiledFunction:
        """The compiled function, which machine code calls from now on if it can."""
        made.make_ready()
        for record in (made.few_record, made.record):
            if record is not None and self._arity >= 0:
                self._add(record)
                if is_loaded():
                    take_over(JitFunction)
        return made

    def _serving(self, compiled: CompiledFunction, args: tuple[Any, ...]) -> CompiledFunction:
        """The compiled function, or its version for rows as short, or arrays as large, as those of these arguments.

        Or for arrays that overlap as these do.
        """
        options = compiled.options
        if options.small_arrays and has_large_extent(args):
            options = replace(options, small_arrays=False)
        if compiled.is_for_apart and meet_others(args, compiled.written):
            options = replace(options, overlap=Overlap.SOME)
        if options is not compiled.options:
            other = compiled.types, options.known, options.small_arrays, options.overlap
            # Calls with arrays as large are not made by machine code.
            called = self._called if options.small_arrays else lambda made: made
            return made_once(self._of_others, other, lambda: called(self._version(compiled, options)))
        known = compiled.known_numbers(args)
        key = compiled.types, (*compiled.options.known, *known)
        if not known or (key not in self._versions and len(self._versions) >= MOST_VERSIONS):
            return self._made_ready(compiled)
        return made_once(self._versions, key, lambda: self._called(self._for_rows(compiled, args)))

    def _for_rows(self, compiled: CompiledFunction, args: tuple[Any, ...]) -> CompiledFunction:
        """The compiled function, or a new version of it for rows as short as those of these arguments."""
        known = compiled.known_numbers(args)
        if not known:
            return compiled
        return self._version(compiled, replace(compiled.options, known=(*compiled.options.known, *known)))

    def _version(self, compiled: CompiledFunction, options: JitOptions) -> CompiledFunction:
        return CompiledFunction(
            self.py_func,
            compiled.types,
            options,
            compiled.declared,
            compiled.row_numbers,
            known_by_slot(self._constants, self.py_func, compiled.types),
        )

    def _accepting(self, types: Types, args: tuple[Any, ...]) -> tuple[CompiledFunction, tuple[Any, ...]]:
        """What was compiled for the declared signature that fits best, and the arguments converted to it."""
        found = self._best(types)
        chosen = self._compile(found.args, found.result)
        return chosen, tuple([converted(*pair) for pair in zip(args, found.args, strict=True)])

    def _best(self, types: Types) -> Signature:
        try:
            return best_or_unaligned(self.py_func.__name__, types, self.signatures)
        except NoSignature as error:
            listed = "; ".join(map(str, self.signatures))
            raise ArgumentError(str(error), hint=f"it was declared for {listed}") from None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function; once something is compiled, machine code does so (`weft.runtime.dispatch`)."""
        return self._call(*args, **keywords)

    @located
    def _call(self, *args: Any, **keywords: Any) -> Any:
        if keywords or len(args) != self._arity:
            args = self._bind(args, keywords)
        try:
            types = tuple([typeof(a) for a in args])
        except ArgumentError:
            hosts = tuple(map(host_array, args))
            if device_class(args, hosts) is None:
                raise
            return self(*hosts)
        known = self._known(types, args)
        compiled = self._compiled(types, known)
        if compiled is not None and self._table:
            take_over(JitFunction)
        elif compiled is None and self.signatures:
            compiled, args = self._accepting(types, args)
        elif compiled is None and self.options.tune:
            compiled = made_once(self.overloads, types, lambda: self._tuned(types, args))
        elif compiled is None:
            compiled = self._compile(types, known=known)
        return self._serving(compiled, args).call(args)

    def result_type(self, *args: Any) -> KernelType:
        """The type of what it returns for such arguments, without running it, or making code."""
        from weft.frontend.python.compile import compile_python

        types, declared = tuple([typeof(a) for a in args]), None
        if self.signatures:
            chosen = self._best(types)
            types, declared = chosen.args, chosen.result
        if declared is not None:
            return declared
        return compile_python(self.py_func, types, debug=self.options.debug, device=True).result

    def _tuned(self, types: Types, args: tuple[Any, ...]) -> CompiledFunction:
        from weft.loops.tuning import tuned

        def compiled(options: JitOptions) -> CompiledFunction:
            return CompiledFunction(self.py_func, types, options, None)

        overlap = Overlap.ANY if have_common_bytes(args) else Overlap.NONE
        options = replace(self.options, small_arrays=not has_large_extent(args), overlap=overlap)
        made = tuned(self.py_func, types, options, args, compiled, lambda one: self._for_rows(one, args))
        return made if made.waits else self._called(made)

    def _bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments in the order of the parameters, defaults filled in."""
        if self._signature is None:
            self._signature = inspect.signature(self.py_func, follow_wrapped=False)
        try:
            bound = self._signature.bind(*args, **keywords)
        except TypeError as error:
            raise SignatureError(f"{self.py_func.__name__}(): {error}") from None
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    @property
    def timings(self) -> dict[str, float]:
        """Seconds of the latest compilation in ``frontend``, ``passes`` and ``llvm``; zeros when cached."""
        return latest_timings(compiled.timings for compiled in self._made)

    @property
    def remarks(self) -> list[Remark]:
        """What was decided about the parallel loops of each compiled signature."""
        return [remark for compiled in self._made for remark in compiled.remarks()]

    @property
    def _made(self) -> tuple[CompiledFunction, ...]:
        return (*self._bases, *self._versions.values(), *self._of_others.values())

    @property
    def _bases(self) -> tuple[CompiledFunction, ...]:
        """What has been compiled for types of arguments, and for their defaults."""
        return tuple(dict.fromkeys((*self.overloads.values(), *self._of_defaults.values())))

    def report(self, signature: Any = None) -> Report:
        """What its loops become: memory forms, divergent branches, costs and why, in source lines.

        Print it, show it in a notebook, or take its ``to_json()``.

        Parameters
        ----------
        signature
            Argument types as for `compile`; by default all compiled or declared so far, and code for lengths of short
            rows that calls have had.

        Raises
        ------
        SignatureError
            It has not been compiled for any types yet, and none are given.
        """
        from weft.loops.report import report_on_function

        if signature is not None:
            parsed = parse_signature(signature)
            known = self.overloads.get(parsed.args)
            options = self.options if known is None else known.options
            return report_on_function(self.py_func, [parsed.args], [options], [parsed.result])
        if not self.overloads:
            raise SignatureError(
                f"{self.py_func.__name__} has not been compiled for any argument types yet",
                hint='call it first, or give a signature: function.report("float64(float64[::1])")',
            )
        made = (*self._bases, *self._versions.values())
        return report_on_function(
            self.py_func, [c.types for c in made], [c.options for c in made], [c.declared for c in made]
        )

    def inspect_llvm(self) -> dict[Types, str]:
        """Optimized LLVM IR of each compiled signature."""
        return {types: compiled.llvm() for types, compiled in self.overloads.items()}

    def inspect_asm(self) -> dict[Types, str]:
        """Assembly of each compiled signature."""
        return {types: compiled.assembly() for types, compiled in self.overloads.items()}

    def _options(self) -> tuple[Any, ...]:
        return self.options, self.signatures, self.locals

    def __repr__(self) -> str:
        return f"<weft function {self.py_func.__qualname__}>"
