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
from weft.frontend.python.lowering.arrays.arrays import Index, Slice
from weft.frontend.python.lowering.arrays.elementwise import (
    Lazy,
    assign_elements,
    combine,
    element_type_of,
    is_array,
)
from weft.frontend.python.lowering.arrays.reductions import view_as
from weft.frontend.python.lowering.arrays.reshaped import flat
from weft.frontend.python.lowering.arrays.views import view
from weft.frontend.python.lowering.attributes import size
from weft.frontend.python.lowering.calls.registry import Arguments, call
from weft.frontend.python.lowering.calls.typed import Typed, items_of, literal
from weft.frontend.python.lowering.numbers.arithmetic import binary
from weft.frontend.python.lowering.numbers.casts import cast
from weft.frontend.python.types import Array, NoneType, Scalar, Tuple, float64, uint64
from weft.frontend.python.typing_rules import promote

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def _given(low: Lowering, args: Arguments, names: str, optional: str = "") -> list[Typed | None]:
    """The arguments in the order of their parameters, None for those that are missing; arrays are in memory."""
    needed, others = names.split(), optional.split()
    known = [*needed, *others]
    if len(args.values) > len(known):
        raise TypingError(f"{args.name}() takes at most {len(known)} arguments here ({', '.join(known)})")
    given = dict(zip(known, args.values, strict=False)) | args.keywords
    for name in given:
        if name not in known:
            raise UnsupportedError(f"{args.name}() takes no argument '{name}' here")
    for name in needed:
        if name not in given:
            raise TypingError(f"{args.name}() needs the argument '{name}'")
    found = [given.get(name) for name in known]
    return [value.settled(low) if isinstance(value, Lazy) else value for value in found]


def _array(args: Arguments, value: Typed | None, *ranks: int, real: bool = False) -> Typed:
    """An array of numbers, of as many dimensions as it may have."""
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


def _integer(args: Arguments, value: Typed | None, default: int | None, name: str) -> Typed:
    """A whole number, or the default where it is missing."""
    if value is None or isinstance(value.type, NoneType):
        if default is None:
            raise TypingError(f"{args.name}() needs the argument '{name}'")
        return literal(default)
    if not isinstance(value.type, Scalar) or value.type.kind not in "iu":
        raise TypingError(f"the argument '{name}' of {args.name}() is a whole number, not {value.type}")
    return value


def _integers(args: Arguments, value: Typed | None) -> Typed:
    found = _array(args, value, 1)
    dtype = array_type_of(found).dtype
    if not isinstance(dtype, Scalar) or dtype.kind not in "iu" or dtype is uint64:
        raise TypingError(f"{args.name}() takes whole numbers, of 64 bits at most, not {found.type}")
    return found


def _run(low: Lowering, args: Arguments, function: Any, *values: Typed) -> Typed:
    """Call a function of the kernel language; what it cannot do is told of the call."""
    from weft.frontend.python.lowering.calls.calls import call_function

    try:
        return call_function(low, function, Arguments(args.name, list(values), {}))
    except (TypingError, UnsupportedError) as error:
        types = ", ".join(str(value.type) for value in values)
        raise error.__class__(f"{args.name}() of {types}: {error.message}", hint=error.hint) from None


def _is_given(value: Typed | None) -> bool:
    return value is not None and not isinstance(value.type, NoneType)


@call(np.outer)
def _outer(low: Lowering, args: Arguments) -> Typed:
    a, b = _given(low, args, "a b")
    return _run(low, args, device_matrices.outer, _array(args, a), _array(args, b))


@call(np.eye, np.identity)
def _eye(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate, dtype_or, extents

    if args.name == "identity":
        n, dtype = _given(low, args, "n", "dtype")
        columns = k = None
    else:
        n, columns, k, dtype = _given(low, args, "N", "M k dtype")
    rows = _integer(args, n, None, "N")
    shape = [rows, columns if columns is not None and _is_given(columns) else rows]
    made = allocate(
        low,
        args,
        [extent for one in shape for extent in extents(low, one)],
        dtype_or(dtype, args.name),
        zeroed=True,
    )
    _run(low, args, device_matrices.ones_along, made, _integer(args, k, 0, "k"))
    return made


@call(np.triu, np.tril)
def _triangle(low: Lowering, args: Arguments) -> Typed:
    m, k = _given(low, args, "m", "k")
    function = device_matrices.upper if args.name == "triu" else device_matrices.lower
    return _run(low, args, function, _array(args, m, 2), _integer(args, k, 0, "k"))


@call(np.diag)
def _diag(low: Lowering, args: Arguments) -> Typed:
    v, k = _given(low, args, "v", "k")
    array = _array(args, v, 1, 2)
    is_row = array_type_of(array).ndim == 1
    function = device_matrices.on_diagonal if is_row else device_matrices.diagonal
    return _run(low, args, function, array, _integer(args, k, 0, "k"))


@call(np.trace)
def _trace(low: Lowering, args: Arguments) -> Typed:
    a, offset = _given(low, args, "a", "offset")
    return _run(low, args, device_matrices.trace, _array(args, a, 2), _integer(args, offset, 0, "offset"))


@call(np.flip, np.flipud, np.fliplr)
def _flip(low: Lowering, args: Arguments) -> Typed:
    names = ("m", "axis") if args.name == "flip" else ("m", "")
    m, *rest = _given(low, args, *names)
    array = _array(args, m)
    ndim = array_type_of(array).ndim
    axes = set(range(ndim))
    if args.name != "flip":
        axes = {0 if args.name == "flipud" else 1}
    elif rest[0] is not None and _is_given(rest[0]):
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
    a, n = _given(low, args, "a", "n")
    times = 1 if n is None else n.int_literal
    if times is None or times < 0:
        raise TypingError("the argument 'n' of diff() is a literal number of 0 or more")
    made = _array(args, a, 1)
    for _ in range(times):
        made = _run(low, args, device_sequences.differences, made)
    return made


@call(np.cumprod)
def _cumprod(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate, extent
    from weft.frontend.python.lowering.arrays.reductions import type_of_sums

    (a,) = _given(low, args, "a")
    row = flat(low, _array(args, a))
    element = array_type_of(row).dtype
    assert isinstance(element, Scalar)
    dtype = type_of_sums(element)
    made = allocate(low, args, [extent(extents_of(low, row)[0])], dtype)
    _run(low, args, device_sequences.products, row, made, cast(low, literal(1), dtype))
    return made


@call(np.roll)
def _roll(low: Lowering, args: Arguments) -> Typed:
    a, shift = _given(low, args, "a shift")
    return _run(low, args, device_sequences.rolled, _array(args, a), _integer(args, shift, None, "shift"))


@call(np.repeat)
def _repeat(low: Lowering, args: Arguments) -> Typed:
    a, repeats = _given(low, args, "a repeats")
    times = _integer(args, repeats, None, "repeats")
    return _run(low, args, device_sequences.repeated, _array(args, a), times)


@call(np.bincount)
def _bincount(low: Lowering, args: Arguments) -> Typed:
    x, weights, minlength = _given(low, args, "x", "weights minlength")
    least = _integer(args, minlength, 0, "minlength")
    if _is_given(weights):
        weighed = _array(args, weights, 1, real=True)
        return _run(low, args, device_sequences.weighed, _integers(args, x), weighed, least)
    return _run(low, args, device_sequences.counted, _integers(args, x), least)


@call(np.histogram)
def _histogram(low: Lowering, args: Arguments) -> Typed:
    a, bins, between = _given(low, args, "a", "bins range")
    array = _array(args, a, real=True)
    if bins is not None and isinstance(bins.type, Array):
        edges = _array(args, bins, 1, real=True)
        return _run(low, args, device_sequences.histogram_of_edges, array, edges)
    number = _integer(args, bins, 10, "bins")
    if between is None or isinstance(between.type, NoneType):
        return _run(low, args, device_sequences.histogram_of_all, array, number)
    if not isinstance(between.type, Tuple) or len(between.type.items) != 2:
        raise TypingError(f"the range of histogram() is a pair of numbers, not {between.type}")
    return _run(low, args, device_sequences.histogram_between, array, number, *items_of(between))


@call(np.argsort)
def _argsort(low: Lowering, args: Arguments) -> Typed:
    (a,) = _given(low, args, "a")
    return _run(low, args, device_sequences.sorted_places, _array(args, a, 1, real=True))


@call(np.unique)
def _unique(low: Lowering, args: Arguments) -> Typed:
    (a,) = _given(low, args, "ar")
    return _run(low, args, device_sequences.distinct, _array(args, a, real=True))


@call(np.median)
def _median(low: Lowering, args: Arguments) -> Typed:
    (a,) = _given(low, args, "a")
    return _run(low, args, device_sequences.median, _array(args, a, real=True))


@call(np.quantile, np.percentile)
def _quantile(low: Lowering, args: Arguments) -> Typed:
    a, q = _given(low, args, "a q")
    array = _array(args, a, real=True)
    if q is None or not isinstance(q.type, Scalar) or q.type.kind == "c":
        raise TypingError(f"{args.name}() takes one number 'q' here, not {None if q is None else q.type}")
    part = cast(low, q, float64)
    if args.name == "percentile":
        part = binary(low, "/", part, literal(100.0))
    return _run(low, args, device_sequences.quantile, array, part)


@call(np.interp)
def _interp(low: Lowering, args: Arguments) -> Typed:
    x, places, values = _given(low, args, "x xp fp")
    assert x is not None
    known = _array(args, places, 1, real=True), _array(args, values, 1, real=True)

    def one(low: Lowering, wanted: Typed) -> Typed:
        return _run(low, args, device_sequences.interpolated, cast(low, wanted, float64), *known)

    return combine(low, one, x).settled(low) if is_array(x) else one(low, x)


@call(np.digitize)
def _digitize(low: Lowering, args: Arguments) -> Typed:
    x, bins, right = _given(low, args, "x bins", "right")
    assert x is not None
    bounds = _array(args, bins, 1, real=True)

    def one(low: Lowering, wanted: Typed) -> Typed:
        return _run(low, args, device_sequences.bin_of, bounds, wanted, right or literal(False))

    return combine(low, one, x).settled(low) if is_array(x) else one(low, x)


@call(np.trapezoid)
def _trapezoid(low: Lowering, args: Arguments) -> Typed:
    y, x, dx = _given(low, args, "y", "x dx")
    array = _array(args, y, 1)
    if _is_given(x):
        return _run(low, args, device_sequences.trapezoids_at, array, _array(args, x, 1))
    return _run(low, args, device_sequences.trapezoids, array, dx or literal(1.0))


@call(np.convolve, np.correlate)
def _convolve(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate

    a, v, mode = _given(low, args, "a v", "mode")
    rows = [_array(args, value, 1, real=True) for value in (a, v)]
    kind = ("full" if args.name == "convolve" else "valid") if mode is None else mode.static
    if kind not in ("full", "same", "valid"):
        raise TypingError(f"the mode of {args.name}() is 'full', 'same' or 'valid'")
    one, other = rows
    if args.name == "correlate":
        other = view(low, other, [Slice(None, None, literal(-1))])
    same = 3 if args.name == "correlate" else 1
    wanted = literal({"valid": 0, "same": same, "full": 2}[kind])
    first, count = items_of(_run(low, args, device_sequences.extents_of_sums, one, other, wanted))
    dtype = element_type_of(low, lambda low, x, y: binary(low, "*", x, y), (one, other))
    made = allocate(low, args, [count], dtype, zeroed=True)
    _run(low, args, device_sequences.convolved, one, other, first, count, made)
    return made


@call(np.cov, np.corrcoef)
def _cov(low: Lowering, args: Arguments) -> Typed:
    optional = "y rowvar bias ddof" if args.name == "cov" else "y rowvar"
    m, y, rowvar, *rest = _given(low, args, "m" if args.name == "cov" else "x", optional)
    array = _array(args, m, 2, real=True)
    if _is_given(y):
        raise UnsupportedError(f"{args.name}() of two arrays is not supported", hint="stack them first")
    by_rows = True if rowvar is None else rowvar.literal
    if by_rows not in (True, False):
        raise TypingError("the argument 'rowvar' is True or False")
    if not by_rows:
        from weft.frontend.python.lowering.arrays.views import permuted

        array = permuted(low, array, (1, 0))
    if args.name == "corrcoef":
        return _run(low, args, device_matrices.correlations, array)
    bias, ddof = rest
    biased = False if bias is None else bias.literal
    if biased not in (True, False):
        raise TypingError("the argument 'bias' is True or False")
    return _run(
        low, args, device_matrices.covariances, array, _integer(args, ddof, 0 if biased else 1, "ddof")
    )


@call(np.concatenate, np.hstack, np.vstack, np.column_stack, np.stack)
def _joined(low: Lowering, args: Arguments) -> Typed:
    from weft.frontend.python.lowering.arrays.allocation import allocate

    names = ("arrays", "axis") if args.name in ("concatenate", "stack") else ("tup", "")
    arrays, *rest = _given(low, args, *names)
    if arrays is None or not isinstance(arrays.type, Tuple) or not arrays.type.items:
        raise TypingError(f"{args.name}() takes a tuple of arrays")
    items = [item.settled(low) if isinstance(item, Lazy) else item for item in items_of(arrays)]
    items = [_array(args, item, 1, 2) for item in items]
    ranks = {array_type_of(item).ndim for item in items}
    if len(ranks) > 1 and args.name not in ("vstack", "column_stack"):
        raise TypingError(f"{args.name}() takes arrays of as many dimensions, not {arrays.type}")
    axis = 0 if not rest or rest[0] is None else rest[0].int_literal
    match args.name:
        case "hstack":
            axis = 0 if ranks == {1} else 1
        case "vstack" | "stack" | "column_stack":
            if args.name == "stack" and ranks != {1}:
                raise TypingError("stack() takes arrays of one dimension here")
            axis = {"vstack": 0, "column_stack": 1}.get(args.name, axis)
            shape = [None, 0] if axis == 0 else [0, None]
            items = [view_as(low, item, shape) if array_type_of(item).ndim == 1 else item for item in items]
    ndim = array_type_of(items[0]).ndim
    if axis is None or not -ndim <= axis < ndim:
        raise TypingError(f"the axis of {args.name}() is a literal number of a dimension")
    along = axis % ndim
    extents = [[size(extent) for extent in extents_of(low, item)] for item in items]
    ends = [literal(0)]
    for each in extents:
        ends.append(binary(low, "+", ends[-1], each[along]))
    dtype = array_type_of(items[0]).dtype
    for item in items[1:]:
        other = array_type_of(item).dtype
        assert isinstance(dtype, Scalar) and isinstance(other, Scalar)
        dtype = dtype if dtype is other else promote(dtype, other)
    shape = [ends[-1] if k == along else extents[0][k] for k in range(ndim)]
    made = allocate(low, args, shape, dtype)
    for item, begin, end in zip(items, ends, ends[1:], strict=False):
        parts: list[Index] = [Slice(begin, end) if k == along else Slice() for k in range(ndim)]
        target = view(low, made, parts)
        _require_same_shape(low, item, target, along)
        assign_elements(low, target, item)
    return made


def _require_same_shape(low: Lowering, item: Typed, target: Typed, along: int) -> None:
    """Fail where another extent than the one along which arrays are joined differs."""
    from weft.frontend.python.lowering.arrays.elementwise import require_same

    for k, (one, other) in enumerate(zip(extents_of(low, item), extents_of(low, target), strict=True)):
        if k != along:
            require_same(low, one, other)


@call(np.linalg.norm)
def _norm(low: Lowering, args: Arguments) -> Typed:
    (x,) = _given(low, args, "x")
    return _run(low, args, device_matrices.length, _array(args, x, 1, 2))


@call(np.linalg.solve)
def _solve(low: Lowering, args: Arguments) -> Typed:
    a, b = _given(low, args, "a b")
    return _run(low, args, device_matrices.solution, _array(args, a, 2), _array(args, b, 1, 2))


@call(np.linalg.inv)
def _inv(low: Lowering, args: Arguments) -> Typed:
    (a,) = _given(low, args, "a")
    return _run(low, args, device_matrices.inverse, _array(args, a, 2))


@call(np.linalg.det)
def _det(low: Lowering, args: Arguments) -> Typed:
    (a,) = _given(low, args, "a")
    return _run(low, args, device_matrices.determinant, _array(args, a, 2))


@call(np.linalg.cholesky)
def _cholesky(low: Lowering, args: Arguments) -> Typed:
    (a,) = _given(low, args, "a")
    return _run(low, args, device_matrices.lower_factor, _array(args, a, 2))
