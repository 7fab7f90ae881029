"""NumPy's functions that are written in the kernel language: `np.outer`, `np.histogram`, `np.linalg.solve` and others.

What they do is in `weft.frontend.python.device_sequences` and `weft.frontend.python.device_matrices`; here is which
arguments they take. They make arrays, so they are for functions and not for kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import TypingError, UnsupportedError
from weft.frontend.python import device_matrices, device_sequences
from weft.frontend.python.lowering.arrays.array_parts import array_type_of, extents_of
from weft.frontend.python.lowering.arrays.arrays import NewAxis, Slice
from weft.frontend.python.lowering.arrays.elementwise import (
    Lazy,
    combine,
    element_type_of,
    is_array,
)
from weft.frontend.python.lowering.arrays.reshaped import flat
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal
from weft.frontend.python.lowering.numbers.arithmetic import binary
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import Array, NoneType, Scalar, Tuple, float64, uint64

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def given(low: Lowering, args: Arguments, names: str, optional: str = "") -> list[Typed | None]:
    """The arguments in the order of their parameters, None for those that are missing; arrays are in memory."""
    needed, others = names.split(), optional.split()
    known = [*needed, *others]
    if len(args.values) > len(known):
        raise TypingError(f"{args.name}() takes at most {len(known)} arguments here ({', '.join(known)})")
    named = dict(zip(known, args.values, strict=False)) | args.keywords
    for name in named:
        if name not in known:
            raise UnsupportedError(f"{args.name}() takes no argument '{name}' here")
    for name in needed:
        if name not in named:
            raise TypingError(f"{args.name}() needs the argument '{name}'")
    found = [named.get(name) for name in known]
    return [value.settled(low) if isinstance(value, Lazy) else value for value in found]


def array_of(args: Arguments, value: Typed | None, *ranks: int, real: bool = False) -> Typed:
    """An argument that is an array of numbers, of as many dimensions as it may have."""
    type = None if value is None else value.type
    kinds = "real numbers" if real else "numbers"
    if (
        not isinstance(type, Array)
        or not isinstance(type.dtype, Scalar)
        or (ranks and type.ndim not in ranks)
    ):
        wanted = " or ".join(map(str, ranks)) if ranks else "any number of"
        noun = "dimension" if ranks == (1,) else "dimensions"
        raise TypingError(f"{args.name}() takes an array of {kinds} of {wanted} {noun} here, not {type}")
    if real and type.dtype.kind == "c":
        raise TypingError(f"{args.name}() takes {kinds}, not {type}")
    assert value is not None
    return value


def integer(args: Arguments, value: Typed | None, default: int | None, name: str) -> Typed:
    """A whole number, or the default where it is missing."""
    if value is None or isinstance(value.type, NoneType):
        if default is None:
            raise TypingError(f"{args.name}() needs the argument '{name}'")
        return literal(default)
    if not isinstance(value.type, Scalar) or value.type.kind not in "iu":
        raise TypingError(f"the argument '{name}' of {args.name}() is a whole number, not {value.type}")
    return value


def _integers(args: Arguments, value: Typed | None) -> Typed:
    found = array_of(args, value, 1)
    dtype = array_type_of(found).dtype
    if not isinstance(dtype, Scalar) or dtype.kind not in "iu" or dtype is uint64:
        raise TypingError(f"{args.name}() takes whole numbers, of 64 bits at most, not {found.type}")
    return found


def run_written(low: Lowering, args: Arguments, function: Any, *values: Typed) -> Typed:
    """Call a function of the kernel language; what it cannot do is told of the call."""
    from weft.frontend.python.lowering.calls.calls import call_function

    try:
        return call_function(low, function, Arguments(args.name, list(values), {}))
    except (TypingError, UnsupportedError) as error:
        types = ", ".join(str(value.type) for value in values)
        raise error.__class__(f"{args.name}() of {types}: {error.message}", hint=error.hint) from None


def is_given(value: Typed | None) -> bool:
    """Whether an argument is there, and not None."""
    return value is not None and not isinstance(value.type, NoneType)


@call(np.outer)
def _outer(low: Lowering, args: Arguments) -> Typed:
    a, b = (flat(low, array_of(args, value)) for value in given(low, args, "a b"))
    column, row = view(low, a, [Slice(), NewAxis()]), view(low, b, [NewAxis(), Slice()])
    return combine(low, lambda low, x, y: binary(low, "*", x, y), column, row)


@call(np.eye, np.identity)
def _eye(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate, dtype_or, extents

    if args.name == "identity":
        n, dtype = given(low, args, "n", "dtype")
        columns = k = None
    else:
        n, columns, k, dtype = given(low, args, "N", "M k dtype")
    rows = integer(args, n, None, "N")
    shape = [rows, columns if columns is not None and is_given(columns) else rows]
    made = allocate(
        low,
        args,
        [extent for one in shape for extent in extents(low, one)],
        dtype_or(dtype, args.name),
        zeroed=True,
    )
    run_written(low, args, device_matrices.ones_along, made, integer(args, k, 0, "k"))
    return made


@call(np.triu, np.tril)
def _triangle(low: Lowering, args: Arguments) -> Typed:
    m, k = given(low, args, "m", "k")
    function = device_matrices.upper if args.name == "triu" else device_matrices.lower
    return run_written(low, args, function, array_of(args, m, 2), integer(args, k, 0, "k"))


@call(np.diag)
def _diag(low: Lowering, args: Arguments) -> Typed:
    v, k = given(low, args, "v", "k")
    array = array_of(args, v, 1, 2)
    is_row = array_type_of(array).ndim == 1
    function = device_matrices.on_diagonal if is_row else device_matrices.diagonal
    return run_written(low, args, function, array, integer(args, k, 0, "k"))


@call(np.trace)
def _trace(low: Lowering, args: Arguments) -> Typed:
    a, offset = given(low, args, "a", "offset")
    return run_written(
        low, args, device_matrices.trace, array_of(args, a, 2), integer(args, offset, 0, "offset")
    )


@call(np.flip, np.flipud, np.fliplr)
def _flip(low: Lowering, args: Arguments) -> Typed:
    names = ("m", "axis") if args.name == "flip" else ("m", "")
    m, *rest = given(low, args, *names)
    array = array_of(args, m)
    ndim = array_type_of(array).ndim
    axes = set(range(ndim))
    if args.name != "flip":
        axes = {0 if args.name == "flipud" else 1}
    elif rest[0] is not None and is_given(rest[0]):
        axis = rest[0].int_literal
        if axis is None:
            raise TypingError("the axis of flip() is a literal number")
        axes = {axis + ndim if axis < 0 else axis}
    if not axes <= set(range(ndim)):
        raise TypingError(f"{args.name}() along an axis that {array.type} does not have")
    back = Slice(None, None, literal(-1))
    return view(low, array, [back if axis in axes else Slice() for axis in range(ndim)])


@call(np.diff)
def _diff(low: Lowering, args: Arguments) -> Typed:
    a, n = given(low, args, "a", "n")
    times = 1 if n is None else n.int_literal
    if times is None or times < 0:
        raise TypingError("the argument 'n' of diff() is a literal number of 0 or more")
    made = array_of(args, a, 1)
    for _ in range(times):
        made = run_written(low, args, device_sequences.differences, made)
    return made


@call(np.cumprod)
def _cumprod(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent
    from weft.frontend.python.lowering.arrays.reductions import type_of_sums

    (a,) = given(low, args, "a")
    row = flat(low, array_of(args, a))
    element = array_type_of(row).dtype
    assert isinstance(element, Scalar)
    dtype = type_of_sums(element)
    made = allocate(low, args, [extent(extents_of(low, row)[0])], dtype)
    run_written(low, args, device_sequences.products, row, made, cast(low, literal(1), dtype))
    return made


def rolled(low: Lowering, args: Arguments, array: Typed, shift: Typed | None) -> Typed:
    """All elements in C order so many places further on."""
    return run_written(low, args, device_sequences.rolled, array, integer(args, shift, None, "shift"))


@call(np.repeat)
def _repeat(low: Lowering, args: Arguments) -> Typed:
    a, repeats = given(low, args, "a repeats")
    times = integer(args, repeats, None, "repeats")
    return run_written(low, args, device_sequences.repeated, array_of(args, a), times)


@call(np.bincount)
def _bincount(low: Lowering, args: Arguments) -> Typed:
    x, weights, minlength = given(low, args, "x", "weights minlength")
    least = integer(args, minlength, 0, "minlength")
    if is_given(weights):
        weighed = array_of(args, weights, 1, real=True)
        return run_written(low, args, device_sequences.weighed, _integers(args, x), weighed, least)
    return run_written(low, args, device_sequences.counted, _integers(args, x), least)


@call(np.histogram)
def _histogram(low: Lowering, args: Arguments) -> Typed:
    a, bins, between, weights = given(low, args, "a", "bins range weights")
    array = array_of(args, a, real=True)
    arrays, by_all, by_range, by_edges = (
        [array],
        device_sequences.histogram_of_all,
        device_sequences.histogram_between,
        device_sequences.histogram_of_edges,
    )
    if is_given(weights):
        arrays.append(array_of(args, weights, array_type_of(array).ndim, real=True))
        by_all, by_range, by_edges = (
            device_sequences.weighed_of_all,
            device_sequences.weighed_between,
            device_sequences.weighed_of_edges,
        )
    if bins is not None and isinstance(bins.type, Array):
        return run_written(low, args, by_edges, *arrays, array_of(args, bins, 1, real=True))
    number = integer(args, bins, 10, "bins")
    if not is_given(between):
        return run_written(low, args, by_all, *arrays, number)
    assert between is not None
    if not isinstance(between.type, Tuple) or len(between.type.items) != 2:
        raise TypingError(f"the range of histogram() is a pair of numbers, not {between.type}")
    return run_written(low, args, by_range, *arrays, number, *items_of(between))


@call(np.argsort)
def _argsort(low: Lowering, args: Arguments) -> Typed:
    a, kind = given(low, args, "a", "kind")
    if is_given(kind) and getattr(kind, "static", None) not in (
        "quicksort",
        "mergesort",
        "heapsort",
        "stable",
    ):
        raise TypingError("the kind of argsort() is 'quicksort', 'mergesort', 'heapsort' or 'stable'")
    return run_written(low, args, device_sequences.sorted_places, array_of(args, a, 1, real=True))


@call(np.unique)
def _unique(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "ar")
    return run_written(low, args, device_sequences.distinct, array_of(args, a, real=True))


@call(np.median)
def _median(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "a")
    return run_written(low, args, device_sequences.median, array_of(args, a, real=True))


@call(np.quantile, np.percentile)
def _quantile(low: Lowering, args: Arguments) -> Typed:
    a, q = given(low, args, "a q")
    array = array_of(args, a, real=True)
    if q is None or not isinstance(q.type, Scalar) or q.type.kind == "c":
        raise TypingError(f"{args.name}() takes one number 'q' here, not {None if q is None else q.type}")
    part = cast(low, q, float64)
    if args.name == "percentile":
        part = binary(low, "/", part, literal(100.0))
    return run_written(low, args, device_sequences.quantile, array, part)


@call(np.interp)
def _interp(low: Lowering, args: Arguments) -> Typed:
    x, places, values = given(low, args, "x xp fp")
    assert x is not None
    known = array_of(args, places, 1, real=True), array_of(args, values, 1, real=True)

    def one(low: Lowering, wanted: Typed) -> Typed:
        return run_written(low, args, device_sequences.interpolated, cast(low, wanted, float64), *known)

    return combine(low, one, x).settled(low) if is_array(x) else one(low, x)


@call(np.digitize)
def _digitize(low: Lowering, args: Arguments) -> Typed:
    x, bins, right = given(low, args, "x bins", "right")
    assert x is not None
    bounds = array_of(args, bins, 1, real=True)
    if not low.stack[0].is_kernel:
        run_written(low, args, device_sequences.require_order, bounds)

    def one(low: Lowering, wanted: Typed) -> Typed:
        return run_written(low, args, device_sequences.bin_of, bounds, wanted, right or literal(False))

    return combine(low, one, x).settled(low) if is_array(x) else one(low, x)


@call(np.trapezoid)
def _trapezoid(low: Lowering, args: Arguments) -> Typed:
    y, x, dx = given(low, args, "y", "x dx")
    array = array_of(args, y, 1)
    if is_given(x):
        return run_written(low, args, device_sequences.trapezoids_at, array, array_of(args, x, 1))
    return run_written(low, args, device_sequences.trapezoids, array, dx or literal(1.0))


@call(np.convolve, np.correlate)
def _convolve(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate

    a, v, mode = given(low, args, "a v", "mode")
    rows = [array_of(args, value, 1, real=True) for value in (a, v)]
    kind = ("full" if args.name == "convolve" else "valid") if mode is None else mode.static
    if kind not in ("full", "same", "valid"):
        raise TypingError(f"the mode of {args.name}() is 'full', 'same' or 'valid'")
    one, other = rows
    if args.name == "correlate":
        other = view(low, other, [Slice(None, None, literal(-1))])
    same = 3 if args.name == "correlate" else 1
    wanted = literal({"valid": 0, "same": same, "full": 2}[kind])
    first, count = items_of(run_written(low, args, device_sequences.extents_of_sums, one, other, wanted))
    dtype = element_type_of(low, lambda low, x, y: binary(low, "*", x, y), (one, other))
    made = allocate(low, args, [count], dtype, zeroed=True)
    run_written(low, args, device_sequences.convolved, one, other, first, count, made)
    return made


@call(np.cov, np.corrcoef)
def _cov(low: Lowering, args: Arguments) -> Typed:
    optional = "y rowvar bias ddof" if args.name == "cov" else "y rowvar"
    m, y, rowvar, *rest = given(low, args, "m" if args.name == "cov" else "x", optional)
    array = array_of(args, m, 2, real=True)
    if is_given(y):
        raise UnsupportedError(f"{args.name}() of two arrays is not supported", hint="stack them first")
    by_rows = True if rowvar is None else rowvar.literal
    if by_rows not in (True, False):
        raise TypingError("the argument 'rowvar' is True or False")
    if not by_rows:
        from weft.frontend.python.lowering.arrays.views import permuted

        array = permuted(low, array, (1, 0))
    if args.name == "corrcoef":
        return run_written(low, args, device_matrices.correlations, array)
    bias, ddof = rest
    biased = False if bias is None else bias.literal
    if biased not in (True, False):
        raise TypingError("the argument 'bias' is True or False")
    return run_written(
        low, args, device_matrices.covariances, array, integer(args, ddof, 0 if biased else 1, "ddof")
    )


@call(np.linalg.norm)
def _norm(low: Lowering, args: Arguments) -> Typed:
    (x,) = given(low, args, "x")
    return run_written(low, args, device_matrices.length, array_of(args, x, 1, 2))


@call(np.linalg.solve)
def _solve(low: Lowering, args: Arguments) -> Typed:
    a, b = given(low, args, "a b")
    return run_written(low, args, device_matrices.solution, array_of(args, a, 2), array_of(args, b, 1, 2))


@call(np.linalg.inv)
def _inv(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "a")
    return run_written(low, args, device_matrices.inverse, array_of(args, a, 2))


@call(np.linalg.det)
def _det(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "a")
    return run_written(low, args, device_matrices.determinant, array_of(args, a, 2))


@call(np.linalg.cholesky)
def _cholesky(low: Lowering, args: Arguments) -> Typed:
    (a,) = given(low, args, "a")
    return run_written(low, args, device_matrices.lower_factor, array_of(args, a, 2))
