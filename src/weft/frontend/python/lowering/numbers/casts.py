"""Conversions between kernel types.

Integers wrap, floats become integers by saturation with NaN giving 0, as CUDA does; a literal that an integer
type cannot hold is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python.bfloat import nearest
from weft.frontend.python.components import components, ir_scalar
from weft.frontend.python.lowering.arrays.array_parts import data_of, extents_of, strides_of
from weft.frontend.python.lowering.calls.typed import Typed, items_of
from weft.frontend.python.lowering.numbers import bfloat
from weft.frontend.python.types import (
    Array,
    Enumeration,
    KernelType,
    NoneType,
    Record,
    Scalar,
    Static,
    Tiled,
    Time,
    Tuple,
    bfloat16,
    boolean,
    float32,
    pyint,
)
from weft.frontend.python.typing_rules import fits, literal_error, real_type
from weft.ir.builder import const_float, const_int
from weft.ir.constants import FALSE, TRUE, Constant
from weft.ir.types import I64, FloatType, IntType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering


def constant(value: bool | int | float, type: Scalar) -> Constant:
    """The IR constant of a real number in a real type; a literal that does not fit is an error."""
    if type is boolean:
        return TRUE if value else FALSE
    ir = ir_scalar(type)
    if isinstance(ir, IntType):
        if isinstance(value, float):
            low, high = type.limits
            value = 0 if value != value else int(min(max(value, low), high))
        if not fits(value, type):
            raise literal_error(value, type)
        return const_int(int(value), ir)
    try:
        if type is bfloat16:
            return const_float(nearest(value), ir)
        return const_float(float(value), ir)
    except OverflowError:
        raise TypingError(f"literal {value} does not fit {type}") from None


def number(low: Lowering, value: Typed) -> Value:
    """The IR value of a real scalar in its own type."""
    if not isinstance(value.type, Scalar):
        raise TypingError(f"a number is needed here, not {value.type}")
    if value.parts:
        return value.parts[0]
    return constant(value.literal, value.type)  # type: ignore[arg-type]


def to_real(low: Lowering, value: Typed, target: Scalar) -> Value:
    """A real scalar's IR value in another real type."""
    source = value.type
    if not isinstance(source, Scalar):
        raise TypingError(f"{source} cannot become {target}")
    if isinstance(source, Time) or isinstance(target, Time):
        from weft.frontend.python.lowering.numbers.times import in_unit

        return in_unit(low, value, target)
    if source.kind == "c":
        raise TypingError(f"{source} cannot become {target}", hint="take its .real or abs()")
    if value.is_literal:
        return constant(value.literal, target)  # type: ignore[arg-type]
    return cast_value(low, value.parts[0], source, target)


def to_int64(low: Lowering, value: Typed, what: str) -> Value:
    """An integer as i64; `what` names its purpose in the error for anything else."""
    if not (isinstance(value.type, Scalar) and value.type.kind in "iub"):
        raise TypingError(f"{what} must be an integer, not {value.type}", hint="convert it with int()")
    if value.is_literal or value.type.bits == 64:
        return to_real(low, value, pyint)
    ir = value.parts[0]
    if value.type.kind == "i" and value.least is not None and value.least >= 0:
        return low.builder.cast("zext", ir, I64, ("nneg",))
    return low.builder.cast("sext" if value.type.kind == "i" else "zext", ir, I64)


def cast_value(low: Lowering, value: Value, source: Scalar, target: Scalar) -> Value:
    """Convert an IR value between real types."""
    b, ir = low.builder, ir_scalar(target)
    if target.kind == "b":
        return truth_value(low, value, source)
    if target is bfloat16 and source is not bfloat16:
        return bfloat.rounded(low, value, source)
    if source is bfloat16:
        source = float32
    if value.type is ir:
        return value
    flags = low.unit.options.fastmath
    if isinstance(ir, IntType):
        if source.kind == "f":
            operation = "llvm.fptosi.sat" if target.kind == "i" else "llvm.fptoui.sat"
            function = low.unit.llvm(f"{operation}.{ir}.f{source.bits}", ir, value.type)
            return b.call(function, (value,))
        if source.kind == "b" or target.bits > source.bits:
            return b.cast("sext" if source.kind == "i" else "zext", value, ir)
        return b.cast("trunc", value, ir)
    if source.kind == "f":
        return b.cast("fpext" if target.bits > source.bits else "fptrunc", value, ir, flags)
    return b.cast("sitofp" if source.kind == "i" else "uitofp", value, ir)


def truth_value(low: Lowering, value: Value, source: Scalar) -> Value:
    """Whether a real number is not zero, as i1."""
    if source.kind == "b":
        return value
    if isinstance(value.type, FloatType):
        return low.builder.fcmp("une", value, const_float(0.0, value.type))
    return low.builder.icmp("ne", value, const_int(0, value.type))


def cast(low: Lowering, value: Typed, target: Scalar) -> Typed:
    """Convert a number to another scalar type, as ``np.float32(x)`` does."""
    if value.type is target and not value.is_literal:
        return value
    if not isinstance(value.type, Scalar):
        raise TypingError(f"{value.type} cannot become {target}")
    if isinstance(value.type, Time) and not isinstance(target, Time):
        from weft.frontend.python.lowering.numbers.times import count_of

        return cast(low, count_of(value), target)
    if value.is_literal and target.weak and not isinstance(value.literal, complex):
        kind = {"i": int, "f": float, "c": complex}[target.kind]
        if value.literal == value.literal and abs(value.literal or 0) != float("inf"):
            number_ = kind(value.literal)
            return Typed(target, literal=number_, low=number_ if target is pyint else None)
    return Typed(target, convert(low, value, target), low=_low_after(value, target), sure=value.sure)


def _low_after(value: Typed, target: Scalar) -> int | None:
    if target.kind == "u":
        return 0
    source = value.type
    if target.kind != "i" or not isinstance(source, Scalar):
        return None
    if value.low is None or source.kind == "f":
        return None
    wide_enough = target.bits > source.bits or (target.bits == source.bits and source.kind == "i")
    return value.low if wide_enough or value.is_literal else None


def convert(low: Lowering, value: Typed, target: KernelType) -> tuple[Value, ...]:
    """The components of a value in another type, by the conversion an assignment makes."""
    source = value.type
    if isinstance(target, Scalar):
        if target.kind == "c":
            return _to_complex(low, value, target)
        return (to_real(low, value, target),)
    if isinstance(target, Tuple):
        if isinstance(source, Tuple) and len(source.items) == len(target.items):
            pairs = zip(items_of(value), target.items, strict=True)
            return tuple(part for item, type in pairs for part in convert(low, item, type))
    elif isinstance(target, Array):
        if isinstance(source, Array):
            return convert_array(low, value, target)
    elif isinstance(target, Tiled):
        if isinstance(source, Tiled) and source.lies_as(target):
            return value.parts
    elif isinstance(target, Enumeration):
        if source is target:
            return value.parts
    elif isinstance(target, (Record, NoneType, Static)) and len(components(source)) == len(
        components(target)
    ):
        return value.parts
    raise TypingError(f"{source} cannot become {target}")


def _to_complex(low: Lowering, value: Typed, target: Scalar) -> tuple[Value, ...]:
    part = real_type(target)
    if not isinstance(value.type, Scalar):
        raise TypingError(f"{value.type} cannot become {target}")
    if value.is_literal:
        whole = complex(value.literal)  # type: ignore[arg-type]
        return constant(whole.real, part), constant(whole.imag, part)
    if value.type.kind == "c":
        source = real_type(value.type)
        return tuple(cast_value(low, p, source, part) for p in value.parts)
    return to_real(low, value, part), constant(0.0, part)


def convert_array(low: Lowering, value: Typed, target: Array) -> tuple[Value, ...]:
    """An array as one of a more general type: extents, then strides, written out where the target has them."""
    source = value.type
    assert isinstance(source, Array)
    if source.space != target.space or source.ndim != target.ndim or source.dtype is not target.dtype:
        raise TypingError(f"{source} cannot become {target}")
    parts = [data_of(value)]
    if target.shape is None:
        parts += extents_of(low, value)
    if target.layout != "C":
        parts += strides_of(low, value)
    return tuple(parts)
