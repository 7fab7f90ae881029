"""Casts on lane data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.diag.errors import UnsupportedError
from weft.interp.lanes import dtype_of
from weft.interp.numbers import floats
from weft.interp.numbers.integers import Width, width
from weft.ir.types import FloatType, IntType, PointerType, Type, VectorType

Array = np.ndarray
Cast = Callable[[Array], Array]
CastCheck = Callable[[Array], Array]


def resize(bits: int, to: int, a: Array) -> Array:
    """Unsigned data of one integer width zero-extended or truncated to another."""
    w, target = width(bits), width(to)
    a = w.raw(a)
    if to < bits:
        a = a & w.constant(target.max)
    if to == 1:
        return a.astype(np.bool_)
    return a.astype(dtype_of(IntType(to)))


def _sign_extend(bits: int, to: int, a: Array) -> Array:
    target = width(to)
    signed = width(bits).signed(a)
    if target.container == 0:
        return signed.astype(object) & target.max
    return target.unsigned(signed.astype(f"i{target.container // 8}"))


def _objects_to_float(type: FloatType, a: Array) -> Array:
    """Python integers rounded to a float format."""
    if type.kind == "double":
        return a.astype(np.float64)
    parts = [_sticky_53(x) for x in a.ravel()]
    head = np.array([h for h, _ in parts], np.float64)
    scale = np.array([s for _, s in parts], np.int32)
    return floats.rounded(type, np.ldexp(head, scale).reshape(a.shape))


def _sticky_53(value: int) -> tuple[int, int]:
    """An integer cut to 53 significant bits, the last one sticky, and the power of two cut off."""
    shift = max(0, abs(value).bit_length() - 53)
    magnitude = abs(value)
    head = magnitude >> shift
    if head << shift != magnitude:
        head |= 1
    return (-head if value < 0 else head), shift


def _int_to_float(w: Width, type: FloatType, is_signed: bool, a: Array) -> Array:
    number = w.signed(a) if is_signed else w.raw(a)
    if w.container == 0:
        return _objects_to_float(type, number)
    if type.kind in ("float", "double"):
        return number.astype(dtype_of(type))
    if w.bits <= 52:
        return floats.rounded(type, number.astype(np.float64))
    # The short formats: make the number exact in float64 first, with a sticky last bit if it is too long.
    low = number.dtype.type(0x7FF)
    sticky = (number & ~low) | (((number & low) != 0).astype(number.dtype) << number.dtype.type(11))
    is_long = (np.abs(number) if is_signed else number) >= number.dtype.type(1 << 52)
    return floats.rounded(type, np.where(is_long, sticky, number).astype(np.float64))


def float_to_int(type: FloatType, bits: int, is_signed: bool, a: Array) -> tuple[Array, Array]:
    """The truncated values, saturated to the range of the integer type, and where they were out of range.

    NaN gives 0 and counts as out of range; so `float_to_int` serves both ``fptosi`` and ``fptosi.sat``.
    """
    w = width(bits)
    value = np.trunc(floats.values(type, a).astype(np.float64))
    low = -float(1 << (bits - 1)) if is_signed else 0.0
    high = float(1 << (bits - 1 if is_signed else bits))
    above, below, nan = value >= high, value < low, np.isnan(value)
    outside = above | below | nan
    inside = np.where(outside, 0.0, value)
    limit_low, limit_high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, w.max)
    if w.container == 0:
        result = np.vectorize(int, otypes=[object])(inside) & w.max
    elif is_signed:
        result = w.unsigned(inside.astype(np.int64).astype(f"i{w.container // 8}"))
    else:
        # float64 to uint64 beyond 2**63 is not defined in C: convert the upper half shifted down.
        upper = inside >= 2.0**63
        whole = np.where(upper, inside - 2.0**63, inside).astype(np.int64).view(np.uint64)
        whole = whole | (upper.astype(np.uint64) << np.uint64(63))
        result = whole.astype(np.bool_) if bits == 1 else whole.astype(f"u{w.container // 8}")
    if outside.any():
        result = np.where(above, _limit(w, limit_high), np.where(below, _limit(w, limit_low), result))
    return result, outside


def _limit(w: Width, value: int) -> Array:
    return w.wrap(w.constant(value & w.max))


def _float_to_float(source: FloatType, target: FloatType, a: Array) -> Array:
    if source.kind == target.kind:
        return a
    if source.kind == "bfloat":
        return bfloat_widened(a, target)
    if target.kind == "bfloat":
        return (
            floats.double_to_bfloat(a)
            if source.kind == "double"
            else floats.float_to_bfloat(a.astype(np.float32))
        )
    return a.astype(dtype_of(target))


def bfloat_widened(bits: Array, target: FloatType) -> Array:
    """Bfloat bit patterns as ``float`` or ``double`` data."""
    return floats.bfloat_to_float(bits).astype(dtype_of(target))


def bit_width(type: Type) -> int:
    """Bits of a first-class type in a register."""
    if isinstance(type, VectorType):
        return bit_width(type.element) * type.count
    if isinstance(type, (IntType, FloatType)):
        return type.bits
    assert isinstance(type, PointerType), f"{type} has no bits"
    return 64


def scalar_cast(op: str, source: Type, target: Type) -> tuple[Cast, CastCheck | None]:
    """The cast of element types as a function on data, and the condition under which it gives poison."""
    if isinstance(source, IntType) and isinstance(target, IntType):
        n, m = source.bits, target.bits
        if op == "sext" and width(n).is_exact and width(m).is_exact:
            signed, wide, unsigned = (np.dtype(f"{k}{b // 8}") for k, b in (("i", n), ("i", m), ("u", m)))
            return (lambda a: a.view(signed).astype(wide).view(unsigned)), None
        if op == "sext":
            return (lambda a: _sign_extend(n, m, a)), None
        return (lambda a: resize(n, m, a)), None
    if op in ("sitofp", "uitofp"):
        assert isinstance(source, IntType) and isinstance(target, FloatType)
        w, is_signed = width(source.bits), op == "sitofp"
        return (lambda a: _int_to_float(w, target, is_signed, a)), None
    if op in ("fptosi", "fptoui"):
        assert isinstance(source, FloatType) and isinstance(target, IntType)
        n, is_signed = target.bits, op == "fptosi"
        return (
            lambda a: float_to_int(source, n, is_signed, a)[0],
            lambda a: _outside(source, n, is_signed, a),
        )
    if op in ("fpext", "fptrunc"):
        assert isinstance(source, FloatType) and isinstance(target, FloatType)
        return (lambda a: _float_to_float(source, target, a)), None
    if op in ("ptrtoint", "ptrtoaddr"):
        assert isinstance(target, IntType)
        n = target.bits
        return (lambda a: resize(64, n, a)), None
    if op == "inttoptr":
        assert isinstance(source, IntType)
        n = source.bits
        return (lambda a: resize(n, 64, a)), None
    if op == "addrspacecast":
        return (lambda a: a), None
    raise UnsupportedError(f"the interpreter has no cast {op} from {source} to {target}")


def _outside(type: FloatType, bits: int, is_signed: bool, a: Array) -> Array:
    """Whether the truncated value is outside the integer type."""
    value = np.trunc(floats.values(type, a).astype(np.float64))
    low = -float(1 << (bits - 1)) if is_signed else 0.0
    high = float(1 << (bits - 1 if is_signed else bits))
    return ~((value >= low) & (value < high))


def flag_check(op: str, source: Type, target: Type, flags: tuple[str, ...]) -> CastCheck | None:
    """The condition on the operand under which the flags of a cast make its result poison."""
    if not isinstance(source, IntType):
        return None
    w = width(source.bits)
    if "nneg" in flags:
        return w.sign_bit
    if op != "trunc" or not flags:
        return None
    assert isinstance(target, IntType)
    t = width(target.bits)

    def lost(a: Array) -> Array:
        bad = np.zeros(1, np.bool_)
        short = resize(source.bits, target.bits, a)
        if "nuw" in flags:
            bad = bad | (w.raw(resize(t.bits, w.bits, short)) != w.raw(a))
        if "nsw" in flags:
            bad = bad | (w.raw(_sign_extend(t.bits, w.bits, short)) != w.raw(a))
        return bad

    return lost


def to_bits(type: Type, data: Array) -> Array:
    """The element bits of data of `type`, as unsigned data of the same width."""
    scalar = type.scalar
    return floats.as_bits(scalar, data) if isinstance(scalar, FloatType) else data


def from_bits(type: Type, bits: Array) -> Array:
    """Data of `type` from unsigned element bits of the same width."""
    scalar = type.scalar
    return floats.from_bits(scalar, bits) if isinstance(scalar, FloatType) else bits


def reinterpret(source: Type, target: Type, data: Array) -> Array:
    """``bitcast``: element 0 of a vector holds the lowest bits (little endian)."""
    bits = to_bits(source, data)
    if shape_matches(source, target):
        return from_bits(target, bits)
    return from_bits(target, _regroup(source, target, bits))


def shape_matches(source: Type, target: Type) -> bool:
    """Whether both types have elements of the same width and as many of them."""
    return bit_width(source.scalar) == bit_width(target.scalar) and (
        getattr(source, "count", 1) == getattr(target, "count", 1)
    )


def _regroup(source: Type, target: Type, bits: Array) -> Array:
    n, m = bit_width(source.scalar), bit_width(target.scalar)
    columns = bits if bits.ndim == 2 else bits[:, None]
    if columns.ndim == 2 and n in (8, 16, 32, 64) and m in (8, 16, 32, 64):
        out = np.ascontiguousarray(columns).view(f"u{m // 8}")
    else:
        out = _join_bits(_split_bits(columns, n), m)
    return out if isinstance(target, VectorType) else out[:, 0]


def _split_bits(columns: Array, n: int) -> Array:
    """Every bit of every element, low first: shape (lanes, elements * n)."""
    raw = width(n).raw(columns)
    if n in (8, 16, 32, 64):
        each = np.ascontiguousarray(raw).view(np.uint8).reshape(columns.shape[0], -1)
        return np.unpackbits(each, axis=1, bitorder="little").view(np.bool_)
    parts = [((raw >> i) & 1).astype(np.bool_) for i in range(n)]
    return np.stack(parts, axis=-1).reshape(columns.shape[0], -1)


def _join_bits(bits: Array, m: int) -> Array:
    """Elements of `m` bits from single bits, low first."""
    groups = bits.reshape(bits.shape[0], -1, m)
    if m == 1:
        return groups[:, :, 0]
    container = width(m).container
    if container:
        # Bits that the type has not are 0.
        whole = np.zeros((*groups.shape[:2], container), np.bool_)
        whole[:, :, :m] = groups
        return np.packbits(whole.reshape(bits.shape[0], -1), axis=1, bitorder="little").view(
            f"u{container // 8}"
        )
    total = np.zeros(groups.shape[:2], object)
    for i in range(m):
        total = total | (groups[:, :, i].astype(object) << i)
    return total
