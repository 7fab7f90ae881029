"""`cuda.atomic`: one table of the operations that LLVM has, and compare-and-swap.

Each returns the old value. Minimum and maximum of floats follow numba: `min` and `max` leave the element alone
when it or the value is NaN, `nanmin` and `nanmax` take NaN for a missing value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.cuda_names import CudaName
from weft.frontend.python.lowering.arrays.arrays import element_address, index_values, require_writable
from weft.frontend.python.lowering.arrays.tiled import tiled_address
from weft.frontend.python.lowering.calls.registry import Arguments, CallHandler, call
from weft.frontend.python.lowering.calls.typed import Typed, literal
from weft.frontend.python.lowering.numbers.casts import to_real
from weft.frontend.python.types import Array, Scalar, Tiled, bfloat16
from weft.ir.builder import const_float
from weft.ir.types import FloatType, int_type
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

# name: LLVM's operation on signed integers, unsigned integers, floats (None where there is none)
OPERATIONS: dict[str, tuple[str | None, str | None, str | None]] = {
    "add": ("add", "add", "fadd"),
    "sub": ("sub", "sub", "fsub"),
    "min": ("min", "umin", "fminimum"),
    "max": ("max", "umax", "fmaximum"),
    "nanmin": ("min", "umin", "fmin"),
    "nanmax": ("max", "umax", "fmax"),
    "and_": ("and", "and", None),
    "or_": ("or", "or", None),
    "xor": ("xor", "xor", None),
    "exch": ("xchg", "xchg", "xchg"),
    "inc": (None, "uinc_wrap", None),
    "dec": (None, "udec_wrap", None),
}
_NEUTRAL = {"fminimum": float("inf"), "fmaximum": float("-inf")}
_WRAPPING = ("inc", "dec")


def _element(low: Lowering, args: Arguments, array: Typed, index: Typed) -> tuple[Scalar, Value]:
    """The type and address of the element that an atomic operation works on."""
    if not isinstance(array.type, (Array, Tiled)):
        raise TypingError(f"cuda.{args.name} works on an element of an array, not on {array.type}")
    type = array.type
    require_writable(type)
    indices = index_values(index)
    if len(indices) != type.ndim:
        raise TypingError(f"{type} is indexed by {type.ndim} integers, not {len(indices)}")
    dtype = type.dtype
    if not isinstance(dtype, Scalar) or dtype.kind not in "iuf" or dtype is bfloat16:
        raise TypingError(f"{args.name} is not supported on elements of {type}")
    if isinstance(type, Tiled):
        return dtype, tiled_address(low, array, indices)
    if not type.aligned:
        raise TypingError(f"{args.name} is not supported on elements of {type}, which may not be aligned")
    return dtype, element_address(low, array, indices)


def _read_modify_write(name: str) -> CallHandler:
    signed, unsigned, floating = OPERATIONS[name]

    def lower(low: Lowering, args: Arguments) -> Typed:
        array, index, operand = args.bind("array", "index", "value")
        dtype, address = _element(low, args, array, index)
        # CUDA's wrapping counters compare as unsigned numbers.
        operation = unsigned if name in _WRAPPING else {"i": signed, "u": unsigned, "f": floating}[dtype.kind]
        if operation is None or (dtype.kind == "f" and name in _WRAPPING):
            raise TypingError(f"{args.name} is not defined on {dtype}")
        value = _operand(low, operation, to_real(low, operand, dtype))
        low.unit.features.add("atomic")
        old = low.builder.atomic_rmw(operation, address, value)
        return Typed(dtype, (old,), low=0 if dtype.kind == "u" else None)

    return lower


def _operand(low: Lowering, operation: str, value: Value) -> Value:
    """The operand, made neutral where it is NaN and the operation would pass NaN on."""
    if operation not in _NEUTRAL:
        return value
    assert isinstance(value.type, FloatType)
    is_nan = low.builder.fcmp("uno", value, value)
    return low.builder.select(is_nan, const_float(_NEUTRAL[operation], value.type), value)


for _name in OPERATIONS:
    call(CudaName(f"atomic.{_name}"))(_read_modify_write(_name))


@call(CudaName("atomic.cas"))
def _cas(low: Lowering, args: Arguments) -> Typed:
    array, index, old, value = args.bind("array", "index", "old", "value")
    return _compare_and_swap(low, args, array, index, old, value)


@call(CudaName("atomic.compare_and_swap"))
def _compare_and_swap_first(low: Lowering, args: Arguments) -> Typed:
    """As `cas`, on the first element of a one-dimensional array."""
    array, old, value = args.bind("array", "old", "value")
    return _compare_and_swap(low, args, array, literal(0), old, value)


def _compare_and_swap(
    low: Lowering, args: Arguments, array: Typed, index: Typed, old: Typed, value: Typed
) -> Typed:
    dtype, address = _element(low, args, array, index)
    expected, new = to_real(low, old, dtype), to_real(low, value, dtype)
    low.unit.features.add("atomic")
    builder = low.builder
    if dtype.kind == "f":
        # Floats are compared by their bits, as CUDA's atomicCAS compares words.
        bits, ir = int_type(dtype.bits), expected.type
        expected, new = builder.cast("bitcast", expected, bits), builder.cast("bitcast", new, bits)
        found: Value = builder.extract_value(builder.cmpxchg(address, expected, new), (0,))
        return Typed(dtype, (builder.cast("bitcast", found, ir),))
    found = builder.extract_value(builder.cmpxchg(address, expected, new), (0,))
    return Typed(dtype, (found,), low=0 if dtype.kind == "u" else None)
