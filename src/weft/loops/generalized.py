"""The decorator ``weft.guvectorize``: a function of small arrays becomes one of stacks of them, as a generalized ufunc.

The function writes its results into its last arguments; loop dimensions, those before the core's, broadcast. They are
run as one parallel loop, in lanes and on all cores.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence, Set
from types import FunctionType
from typing import Any

import numpy as np

from weft.diag.call_site import located
from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.python.portable import Portable
from weft.frontend.python.signatures import parse_signature
from weft.frontend.python.source_text import remember_text
from weft.frontend.python.typeof import from_dtype
from weft.frontend.python.types import KernelType, Signature, array_type, none
from weft.frontend.python.wording import python_function
from weft.jit_options import JitOptions, jit_options
from weft.loops.core_axes import Axes, core_axes, core_back, core_last
from weft.loops.core_plan import Plan, Plans, ResultPlan, Values, dtype_of, plan_call
from weft.loops.core_signature import CoreSignature, parse_core_signature
from weft.loops.generalized_loops import over_rows
from weft.loops.jit_function import JitFunction
from weft.loops.results import as_array, device_class, host_array, result_array, takes_number
from weft.switches import DEFAULT_REPLACEMENT, SWITCHES, switches

_PLAIN = {np.ndarray}
_DECLARE = 'with @weft.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)") it makes them'


@located
def guvectorize(
    signatures: Any,
    core: str | None = None,
    *,
    fastmath: bool | Set[str] = False,
    width: int | None = None,
    boscc: str = "auto",
    debug: bool = False,
    uniform_values: bool = True,
    uniform_control: bool = True,
    scalar_counters: bool = True,
    scalar_replacement: str = DEFAULT_REPLACEMENT,
    without: Sequence[str] = (),
    **options: Any,
) -> Any:
    """Make a generalized elementwise function.

    Parameters
    ----------
    signatures
        A list of signatures, such as ``"void(float64[:], float64[:], float64[:])"``: the one for the arguments' own
        types is used, else these are converted, where that is safe, to those of the first that takes them. Without
        signatures, ``@weft.guvectorize("(n),()->(n)")``, it is compiled for the types of arguments and results that
        come, and calls give the arrays for results.
    core
        The core dimensions, ``"(n),(n)->()"``. A result of no dimensions is an array of one element in the function.
    fastmath, width
        As for `weft.vectorize`.
    boscc
        Branches around code that no element of a lane group takes, as for `weft.jit`.
    debug
        Check as the code runs, as for `weft.jit`.
    uniform_values, uniform_control, scalar_counters
        Set to false, parts of vectorization are left out, to see what each is worth (`weft.switches.Switches`).
    scalar_replacement
        Loads replaced by values that are known, within and across iterations: ``"off"``, ``"srqp"``, ``"esrqp"``,
        ``"ssrqp"`` or ``"ssrqp_s"`` (docs/scalar_replacement.md has the default).
    without
        Optional passes to leave out, by name: ``("boscc", "narrowing")``. ``weft passes`` lists them.
    **options
        Options of numba's that have no effect here (``target``, ``cache``, ``nopython``).

    Returns
    -------
    GeneralizedFunction

    Raises
    ------
    SignatureError
        An option is unknown, or a signature is none, or the two do not fit each other.
    PassError
        There is no optional pass of a name in `without`.
    """
    unknown = sorted(set(options) - {"target", "cache", "nopython"})
    if unknown:
        raise SignatureError(
            f"weft.guvectorize has no option {', '.join(unknown)}",
            hint=f"options are boscc, debug, fastmath, width, {SWITCHES}",
        )
    if core is None:
        signatures, core = [], str(signatures)
    given = signatures if isinstance(signatures, list) else [signatures]
    parsed = tuple(map(parse_signature, given))
    dimensions = parse_core_signature(core)

    chosen_switches = switches(uniform_values, uniform_control, scalar_counters, scalar_replacement, without)

    @located
    def decorate(function: Any) -> GeneralizedFunction:
        function = python_function(function)
        return GeneralizedFunction(
            function,
            parsed,
            dimensions,
            jit_options(fastmath, width, boscc, debug=debug, switches=chosen_switches),
        )

    return decorate


class GeneralizedFunction(Portable):
    """A function of stacks of arrays.

    Attributes
    ----------
    py_func
        The function of the arrays in them.
    nin, nout
        How many arguments and results it has.
    """

    def __init__(
        self,
        function: FunctionType,
        signatures: Sequence[Signature],
        core: CoreSignature,
        options: JitOptions,
    ) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        remember_text(function)
        self.name = function.__name__
        self.core = core
        self.nin, self.nout = len(core.inputs), len(core.outputs)
        self.signatures = tuple(signatures)
        for signature in signatures:
            if len(signature.args) != self.nin + self.nout:
                raise SignatureError(
                    f"{signature} has {len(signature.args)} arguments, the core {self.nin + self.nout}"
                )
            if signature.result not in (None, none):
                raise SignatureError(
                    f"{signature} says that the function returns {signature.result}, and it returns nothing",
                    hint="results are its last arguments: write void(...)",
                )
        self._loop = JitFunction(over_rows(function), options)
        self._plans = Plans()

    @located
    def __call__(
        self,
        *args: Any,
        out: Any = None,
        axis: int | None = None,
        axes: Sequence[Any] | None = None,
        stream: Any = 0,
    ) -> Any:
        """Apply the function along the loop dimensions of the arguments, broadcast together.

        Parameters
        ----------
        *args
            Arrays and numbers; further arguments are results.
        out
            The array that takes the result, or a tuple of arrays for several.
        axis
            Which axis of the operands is the core's, if that has one dimension; the last by default.
        axes
            Which ones are, a tuple for each argument and each result.
        stream
            Orders nothing.

        Returns
        -------
        numpy.ndarray, numpy scalar or tuple
            The results; device arrays where an argument is one.

        Raises
        ------
        ArgumentError
            The number of arguments, their types, or shapes do not fit.
        """
        del stream
        if out is None and axis is None and axes is None and {*map(type, args)} == _PLAIN:
            plan = self._plans.get(args)
            if plan is not None:
                return self._run(plan, args[: self.nin], args[self.nin :])
        outs: list[Any] = list(args[self.nin :])
        if out is not None:
            if outs:
                raise ArgumentError(f"the result of {self.name} is given by position, and as out= too")
            outs = list(out) if isinstance(out, tuple) else [out]
        if len(args) < self.nin or len(outs) not in (0, self.nout):
            raise ArgumentError(
                f"{self.name} takes {self.nin} arguments and {self.nout} results, and got {len(args)}"
            )
        if axis is not None or axes is not None:
            return self._along(core_axes(self.name, self.core, axis, axes), args[: self.nin], outs)
        if any(not isinstance(each, np.ndarray) for each in outs):
            self(*args[: self.nin], out=tuple(result_array(self.name, each) for each in outs))
            return as_array(outs[0]) if self.nout == 1 else tuple(map(as_array, outs))
        hosts = [host_array(a) for a in args[: self.nin]]
        device = device_class(args, hosts)
        if device is not None:
            made = self(*hosts, out=tuple(outs) if outs else None)
            if outs:
                return made
            return device(made) if self.nout == 1 else tuple(map(device, made))
        arrays = [np.asarray(a) for a in hosts]
        weak = [type(a) in (bool, int, float, complex) for a in hosts]
        types = self._types(arrays, weak) if self.signatures else self._own_types(arrays, outs)
        plan = plan_call(self.name, self.core, arrays, types)
        # What a Python number becomes follows from its value, too.
        if not any(weak):
            self._plans.keep((*arrays, *outs), plan)
        return self._run(plan, arrays, outs)

    def _run(self, plan: Plan, arrays: Sequence[Values], outs: Sequence[Values]) -> Any:
        """A call for plain arrays."""
        inputs = [each.apply(array) for each, array in zip(plan.operands, arrays, strict=True)]
        results = [np.empty(each.whole, each.dtype) for each in plan.results] if not outs else [
            self._given(place, *pair) for place, pair in enumerate(zip(outs, plan.results, strict=True))
        ]  # fmt: skip
        # What is in an array that the caller gives may be added to.
        made = [r if _is_plain(r, inputs) else np.array(r, order="C") for r in results] if outs else results
        if plan.count:
            stacks = [m.reshape(each.rows) for m, each in zip(made, plan.results, strict=True)]
            self._loop(plan.count, (*inputs, *stacks))
        if outs:
            for array, filled in zip(results, made, strict=True):
                if array is not filled:
                    array[...] = filled
            return outs[0] if self.nout == 1 else tuple(outs)
        values = [array if array.ndim else array[()] for array in made]
        return values[0] if self.nout == 1 else tuple(values)

    def _along(self, axes: Axes, args: Sequence[Any], outs: Sequence[Any]) -> Any:
        """A call for axes of the core that are not the last ones."""
        inputs = [core_last(*pair) for pair in zip(args, axes, strict=False)]
        places = axes[self.nin :]
        results = tuple(core_last(*pair) for pair in zip(outs, places, strict=True)) if outs else None
        made = self(*inputs, out=results)
        if outs:
            return outs[0] if self.nout == 1 else tuple(outs)
        if self.nout == 1:
            return core_back(made, places[0])
        return tuple(core_back(*pair) for pair in zip(made, places, strict=True))

    def result_dtypes(self, args: Sequence[Any]) -> list[np.dtype[Any]]:
        """The types of the results' elements for such arrays and numbers, whatever the arrays' extents."""
        if not self.signatures:
            raise ArgumentError(f"{self.name} has no signature, which its results follow from", hint=_DECLARE)
        weak = [type(a) in (bool, int, float, complex) for a in args]
        return [dtype_of(t) for t in self._types([np.asarray(a) for a in args], weak)[self.nin :]]

    def _types(self, arrays: Sequence[Values], weak: Sequence[bool]) -> tuple[KernelType, ...]:
        """The first signature of the arguments' own types, else that takes them safely, else Python numbers as weak."""
        for casting, as_numbers in (("no", False), ("safe", False), ("safe", True)):
            for signature in self.signatures:
                given = zip(arrays, weak, map(dtype_of, signature.args), strict=False)
                if all(
                    takes_number(dtype, a) if number and as_numbers else np.can_cast(a.dtype, dtype, casting)  # type: ignore[arg-type]
                    for a, number, dtype in given
                ):
                    return signature.args
        found = ", ".join(str(a.dtype) for a in arrays)
        declared = "; ".join(map(str, self.signatures))
        raise ArgumentError(
            f"{self.name} has no signature for ({found})", hint=f"it was declared for {declared}"
        )

    def _own_types(self, arrays: Sequence[Values], outs: Sequence[Values]) -> tuple[KernelType, ...]:
        """The types of arguments and results as they are given, of a function without signatures."""
        if not outs:
            raise ArgumentError(
                f"{self.name} has no signature, and calls of it give the arrays for results", hint=_DECLARE
            )
        rows = zip((*arrays, *outs), (*self.core.inputs, *self.core.outputs), strict=True)
        numbers = len(arrays)
        return tuple(
            array_type(from_dtype(array.dtype), max(len(dims), 1), "C")
            if dims or place >= numbers
            else from_dtype(array.dtype)
            for place, (array, dims) in enumerate(rows)
        )

    def _given(self, place: int, array: Values, wanted: ResultPlan) -> Values:
        """The array for a result that the caller gives."""
        found = _broadened(array, wanted.whole)
        if found.shape != wanted.whole or not np.can_cast(wanted.dtype, found.dtype, "same_kind"):
            raise ArgumentError(
                f"result {place + 1} of {self.name} is {found.dtype}{list(found.shape)}, "
                f"not {wanted.dtype}{list(wanted.whole)}"
            )
        return found

    def _options(self) -> tuple[Any, ...]:
        return self.signatures, self.core, self._loop.options

    def __repr__(self) -> str:
        return f"<weft generalized function {self.py_func.__qualname__}>"


def _broadened(array: Values, shape: tuple[int, ...]) -> Values:
    """An array for results, with the leading dimensions of extent 1 that `shape` has beyond its own."""
    missing = len(shape) - array.ndim
    return array[(None,) * missing] if missing > 0 and shape[:missing] == (1,) * missing else array


def _is_plain(result: Values, inputs: list[Any]) -> bool:
    """Whether rows may be written where the result is: it is one run of memory that no operand shares."""
    shared = any(isinstance(i, np.ndarray) and np.may_share_memory(result, i) for i in inputs)
    return bool(result.flags.c_contiguous) and not shared
