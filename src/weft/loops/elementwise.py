"""Elementwise functions: what ``weft.vectorize`` makes of a function of numbers, with the manners of a NumPy ufunc."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.call_site import located
from weft.diag.errors import ArgumentError, SignatureError
from weft.diag.remarks import Remark
from weft.frontend.python.portable import Portable
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.source_text import remember_text
from weft.frontend.python.types import (
    KernelType,
    Scalar,
    Signature,
    array_type,
    boolean,
    tuple_type,
)
from weft.jit_options import JitOptions
from weft.loops import elementwise_loops as loops
from weft.loops.compiled import CompiledFunction
from weft.loops.element_types import ElementTypes, number_type
from weft.loops.elementwise_walks import ElementwiseWalks
from weft.loops.jit_function import JitFunction
from weft.loops.results import as_array, device_class, host_array, result_array
from weft.loops.ufunc_methods import UfuncMethods
from weft.options import checking
from weft.runtime.elementwise_calls import (
    DENSE,
    MASKED,
    STRIDED,
    UNIFORM,
    ElementwiseRecord,
    Lines,
    elementwise_calls,
    elementwise_record,
    kinds_of,
)

if TYPE_CHECKING:
    from weft.report.report import Report

_PLAIN = frozenset({int, float, complex, bool, list, tuple, *np.sctypeDict.values()})
_LAYOUTS = {DENSE: "C", STRIDED: "A"}
_UNKNOWN: Any = object()
_DEFAULTS = {"where": True, "casting": "same_kind", "order": "K"}


def _is_usual(value: Any) -> bool:
    """Whether what is done for a value is done for all of its type: an int of Python's may be too great for int64."""
    return type(value) is not int or -(1 << 63) <= value < 1 << 63


class VectorizedFunction(UfuncMethods, Portable):
    """An elementwise function.

    Attributes
    ----------
    py_func
        The function of numbers.
    nin, nout
        How many arguments and results it has, as for a ufunc.
    identity
        What a reduction of no elements gives, None for an error.
    """

    nout = 1

    def __init__(
        self,
        function: FunctionType,
        signatures: Sequence[Signature],
        options: JitOptions,
        identity: Any = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        remember_text(function)
        self.name = function.__name__
        self.nin = function.__code__.co_argcount
        self.signatures = tuple(signatures)
        self._types = ElementTypes(function, self.nin, self.signatures)
        self.options = options
        self.identity = identity
        self._lines = {}
        self._table = 0
        self._records: dict[tuple[Any, ...], ElementwiseRecord | None] = {}
        self._wanted: dict[tuple[Any, ...], list[np.dtype[Any]]] = {}
        self._machine_lines: dict[tuple[Scalar, ...], Lines] = {}
        self._by_line: dict[int, CompiledFunction] = {}
        self._walks = ElementwiseWalks(function, self.nin, options)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Apply the function to each element of the arguments, broadcast together.

        Parameters
        ----------
        *args
            Arrays and numbers. A further argument is `out`.
        **keywords
            What follows, by name.
        out
            The array that takes the results; it may overlap the arguments.
        where
            Which elements are computed, an array of truth values broadcast with the arguments; the others of `out`
            keep their values.
        dtype
            The type that the result has.
        casting
            Which conversions to the type of `out` are allowed, as for a ufunc.
        order
            How a new result lies in memory: ``"K"`` (as the arguments do), ``"C"``, ``"F"`` or ``"A"``.
        subok
            Whether a result is of the class that an argument is of: a masked array, for one. An argument with an
            ``__array_ufunc__`` of its own decides itself, as for a ufunc; device arrays give a device array.
        stream
            Orders nothing.

        Returns
        -------
        numpy.ndarray or numpy scalar
            `out` if given; a scalar when all arguments are numbers.

        Raises
        ------
        ArgumentError
            The number of arguments, their types, or shapes do not fit.
        """
        return self._call(*args, **keywords)

    @located
    def _finish(self, line: int, words: bytes) -> None:
        """Raise the error that a call by machine code has left."""
        self._by_line[line].finish(words, ())

    def _call(
        self,
        *args: Any,
        out: Any = None,
        where: Any = True,
        dtype: Any = None,
        casting: str = "same_kind",
        order: str = "K",
        subok: bool = True,
        stream: Any = 0,
    ) -> Any:
        """Do what `__call__` says, for all arguments."""
        del stream
        if len(args) == self.nin + 1 and out is None:
            args, out = args[:-1], args[-1]
        if isinstance(out, tuple):
            (out,) = out
        if out is not None and not isinstance(out, np.ndarray):
            self(*args, out=result_array(self.name, out), where=where, dtype=dtype, casting=casting)
            return as_array(out)
        foreign = next((a for a in args if type(a) is not np.ndarray and type(a) not in _PLAIN), None)
        if foreign is not None:
            keywords = {"out": out, "where": where, "dtype": dtype, "casting": casting, "order": order}
            return self._of_other_kinds(args, keywords, subok)
        if dtype is None and order == "K" and casting == "same_kind":
            named = {name: v for name, v in (("out", out), ("where", where)) if v is not _DEFAULTS.get(name)}
            if self._has_learned(args):
                return self(*args, **named)
            operands = self._converted(args)
            if operands is not None:
                return self(*operands, **named)
        return self._of_any_arrays(args, out, where, dtype, casting, order)

    @located
    def _has_learned(self, args: Sequence[Any]) -> bool:
        """Whether machine code can do more for such arguments from now on than it could before."""
        known = elementwise_calls()
        if known is None or len(args) != self.nin or checking():
            return False
        kinds = tuple([a.dtype if type(a) is np.ndarray else type(a) for a in args])
        if kinds not in self._records:
            record = self._record(args)
            if record is None:
                if all(map(_is_usual, args)):
                    self._records[kinds] = None
                return False
            self._records[kinds] = record
            self._table = record.before(self._table)
            known.take_over(VectorizedFunction)
            known.get_ready()
            return True
        record = self._records[kinds]
        if record is None:
            return False
        pattern = record.lines.missing()
        return (pattern != 0 and self._add_line(record, pattern)) or known.get_ready()

    def _converted(self, args: Sequence[Any]) -> list[Any] | None:
        """Arrays that machine code takes in the place of some that it does not; None where there are none such."""
        kinds = tuple([a.dtype if type(a) is np.ndarray else type(a) for a in args])
        if self._records.get(kinds, _UNKNOWN) is not None:
            return None
        if kinds not in self._wanted:
            self._wanted[kinds] = [t.dtype for t in self._types.converted(args)[1]]
        operands = [
            a.astype(dtype) if type(a) is np.ndarray and a.dtype != dtype else a
            for a, dtype in zip(args, self._wanted[kinds], strict=True)
        ]
        return operands if any(o is not a for a, o in zip(args, operands, strict=True)) else None

    def _record(self, args: Sequence[Any]) -> ElementwiseRecord | None:
        """What machine code knows of such arguments; None where it cannot know what is to be done."""
        if not all(map(_is_usual, args)):
            return None
        _, types = self._types.converted(args)
        result = number_type(self._types.result(types)).dtype
        return elementwise_record(args, types, result, self._machine_lines.setdefault(types, Lines()))

    def _add_line(self, record: ElementwiseRecord, pattern: int) -> bool:
        """Compile the loop for a pattern; whether machine code may call it."""
        masked = bool(pattern & MASKED)
        kinds = kinds_of(pattern, self.nin + masked + 1)
        items = tuple(
            t if kind == UNIFORM else array_type(t, 1, _LAYOUTS[kind], readonly=True)
            for t, kind in zip(record.types, kinds, strict=False)
        )
        types: list[KernelType] = [tuple_type(items)]
        if masked:
            types.append(array_type(boolean, 1, _LAYOUTS[kinds[-2]], readonly=True))
        types.append(array_type(number_type(record.result), 1, _LAYOUTS[kinds[-1]]))
        made = self._walks.loop(loops.along_line_where if masked else loops.along_line).compile(tuple(types))
        entry = made.plain_entry()
        if entry is None:
            record.lines.refuse(pattern)
            return False
        self._by_line[record.lines.add(pattern, entry, made)] = made
        return True

    @located
    def _of_other_kinds(self, args: Sequence[Any], keywords: dict[str, Any], subok: bool) -> Any:
        """Apply the function to device arrays, to subclasses of arrays, and to what brings its own way of calling."""
        for value in args:
            own = getattr(type(value), "__array_ufunc__", np.ndarray.__array_ufunc__)
            if own is None:
                raise TypeError(f"operand of type {type(value).__qualname__} does not take {self.name}")
            if own is not np.ndarray.__array_ufunc__:
                asked = {name: v for name, v in keywords.items() if v is not _DEFAULTS.get(name)}
                found = value.__array_ufunc__(self, "__call__", *args, **asked)
                if found is not NotImplemented:
                    return found
        hosts = [host_array(value) for value in args]
        device = device_class(args, hosts)
        made = self._of_any_arrays(
            [np.asarray(h) if isinstance(h, np.ndarray) else h for h in hosts], **keywords
        )
        if keywords["out"] is not None:
            return made
        if device is not None:
            return device(np.asarray(made))
        kinds = [a for a in args if isinstance(a, np.ndarray) and type(a) is not np.ndarray]
        if not kinds or not subok:
            return made
        leader: Any = max(kinds, key=lambda a: getattr(a, "__array_priority__", 0.0))
        return leader.__array_wrap__(np.asarray(made), (self, tuple(args), 0))

    @located
    def _of_any_arrays(
        self, args: Sequence[Any], out: Any, where: Any, dtype: Any, casting: str, order: str
    ) -> Any:
        """Do the same for arrays and numbers of any kind."""
        if len(args) != self.nin:
            raise ArgumentError(f"{self.name} takes {self.nin} arguments, and got {len(args)}")
        operands, types = self._types.converted(args)
        result = self._types.result(types) if dtype is None else np.dtype(dtype)
        return self._walks.apply(operands, result, out, where, casting, order)

    @property
    def remarks(self) -> list[Remark]:
        """What was decided about the loops that apply it, as far as they are compiled."""
        return [remark for loop in self._walks.compiled for remark in loop.remarks]

    @located
    def report(self, signature: Any = None) -> Report:
        """What it becomes in lanes: divergent branches, costs and why, in source lines.

        It is that of the loop over contiguous arrays, which most calls take.

        Parameters
        ----------
        signature
            Types of its arguments, as for `vectorize`; by default all that it was declared for or called with.

        Raises
        ------
        SignatureError
            It has not been called yet, and no types are given; or they are not one number for each argument.
        """
        from weft.loops.report import report_on_function

        wanted = [parse_signature(signature)] if signature is not None else self.signatures
        types = [each.args for each in wanted] or list(self._types.results)
        if not types:
            raise SignatureError(
                f"{self.name} has not been compiled for any argument types yet",
                hint='call it first, or give a signature: function.report("float64(float64)")',
            )
        loop = loops.along_line(self.py_func)
        return report_on_function(
            loop,
            [self._types.line(t) for t in types],
            [self.options] * len(types),
            [None] * len(types),
            self.name,
        )

    def result_dtype(self, args: Sequence[Any]) -> np.dtype[Any]:
        """The type of the result's elements for such arrays and numbers, whatever the arrays' extents."""
        return self._types.result(self._types.converted(args)[1])

    def result_type(self, types: tuple[Scalar, ...]) -> Scalar:
        """The type of the result for arguments of these types.

        Raises
        ------
        ArgumentError
            The function returns no number.
        """
        return number_type(self._types.result(types))

    def _loop(self, make: Callable[[Any], FunctionType]) -> JitFunction:
        return self._walks.loop(make)

    def _options(self) -> tuple[Any, ...]:
        return self.signatures, self.options, self.identity

    def __repr__(self) -> str:
        return f"<weft elementwise function {self.py_func.__qualname__}>"
