"""Integer arithmetic of any width on lane data, wrapping as LLVM's, and its poison conditions."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from weft.interp.lanes import NOWHERE, Array

Kernel = Callable[[Array, Array], Array]
Check = Callable[[Array, Array, Array], Array]


class Width:
    """How integers of `bits` bits lie in their dtype.

    Attributes
    ----------
    container
        Bits of the dtype; 0 for Python integers.
    is_exact
        Whether the dtype wraps where the type does.
    max
        The greatest unsigned value.
    """

    __slots__ = ("_all_ones", "_sign", "_signed", "bits", "container", "is_exact", "max")

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.container = next((c for c in (8, 16, 32, 64) if bits <= c), 0)
        self.is_exact = bits == self.container
        self.max = (1 << bits) - 1
        # Arrays and dtypes of each operation, made once.
        self._all_ones, self._sign = self.constant(self.max), self.constant(1 << (bits - 1))
        self._signed = np.dtype(f"i{self.container // 8}") if self.container else np.dtype(object)

    def raw(self, a: Array) -> Array:
        """The data as unsigned integers (``i1`` is kept as bool)."""
        return a.view(np.uint8) if self.bits == 1 else a

    def wrap(self, a: Array) -> Array:
        """Unsigned integers of the container reduced to the width, in the representation of lane data."""
        if self.bits == 1:
            return (a & np.uint8(1)).view(np.bool_)
        return a if self.is_exact else a & self._all_ones

    def constant(self, value: int) -> Array:
        """One value, as an array that combines with data of this width."""
        if self.container == 0:
            return np.array([value], object)
        return np.array([value & ((1 << self.container) - 1)], f"u{self.container // 8}")

    def signed(self, a: Array) -> Array:
        """The data read as two's complement, in a signed dtype."""
        a = self.raw(a)
        if self.container == 0:
            half = 1 << (self.bits - 1)
            return np.where(a >= half, a - (1 << self.bits), a)
        signed = a.view(self._signed)
        if self.is_exact:
            return signed
        shift = signed.dtype.type(self.container - self.bits)
        return (signed << shift) >> shift

    def unsigned(self, a: Array) -> Array:
        """Signed data, as `signed` gives, back as lane data."""
        if self.container == 0:
            return a & self.max
        return self.wrap(a.view(f"u{a.dtype.itemsize}"))

    def sign_bit(self, a: Array) -> Array:
        """Per element, whether the sign bit is set."""
        return a.view(self._signed) < 0 if self.is_exact else (self.raw(a) & self._sign) != 0


@cache
def width(bits: int) -> Width:
    """The `Width` of `bits` bits."""
    return Width(bits)


def _truncated_division(w: Width, a: Array, b: Array) -> tuple[Array, Array]:
    """Signed quotient toward zero and remainder; `b` is not 0."""
    x, y = w.signed(a), w.signed(b)
    if w.container == 0:
        quotient = np.abs(x) // np.abs(y)
        quotient = np.where((x < 0) != (y < 0), -quotient, quotient)
        return quotient, x - quotient * y
    remainder = np.fmod(x, y)
    return (x - remainder) // y, remainder


def _shift_left(w: Width, a: Array, b: Array) -> Array:
    if w.container == 0:
        return (a << np.minimum(b, w.bits)) & w.max
    return w.wrap(np.left_shift(w.raw(a), w.raw(b)))


def _shift_right(w: Width, a: Array, b: Array) -> Array:
    if w.container == 0:
        return a >> np.minimum(b, w.bits)
    return w.wrap(np.right_shift(w.raw(a), w.raw(b)))


def _shift_right_signed(w: Width, a: Array, b: Array) -> Array:
    x = w.signed(a)
    amount = np.minimum(w.raw(b), w.constant(w.bits))
    if w.container:
        # Counts beyond the width are poison; the container's own limit is all that matters here.
        amount = np.minimum(amount, amount.dtype.type(w.container - 1)).view(x.dtype)
    return w.unsigned(x >> amount)


def binary(op: str, bits: int) -> Kernel:
    """The function on lane data that computes integer opcode `op`; divisors must not be 0."""
    w = width(bits)
    exact: dict[str, Kernel] = {
        "add": np.add, "sub": np.subtract, "mul": np.multiply,
        "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
        "udiv": np.floor_divide, "urem": np.remainder,
    }  # fmt: skip
    if op in ("and", "or", "xor"):
        return exact[op]
    if op in exact:
        ufunc = exact[op]
        if w.is_exact:
            return ufunc
        return lambda a, b: w.wrap(ufunc(w.raw(a), w.raw(b)))
    other: dict[str, Kernel] = {
        "sdiv": lambda a, b: w.unsigned(_truncated_division(w, a, b)[0]),
        "srem": lambda a, b: w.unsigned(_truncated_division(w, a, b)[1]),
        "shl": lambda a, b: _shift_left(w, a, b),
        "lshr": lambda a, b: _shift_right(w, a, b),
        "ashr": lambda a, b: _shift_right_signed(w, a, b),
    }
    return other[op]


def mul_high(a: Array, b: Array) -> Array:
    """The upper 64 bits of the 128-bit product of uint64 data."""
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = a & low, a >> shift, b & low, b >> shift
    middle = a1 * b0 + ((a0 * b0) >> shift)
    other = a0 * b1 + (middle & low)
    return a1 * b1 + (middle >> shift) + (other >> shift)


def _product_range_fits(a: Array, b: Array, low: int, high: int) -> bool:
    """Whether the extremes of the operands already show that no product leaves ``low .. high``."""
    if not a.size or not b.size:
        return True
    if a.size == b.size == 1:
        return low <= a.item() * b.item() <= high
    corners = [x * y for x in _extremes(a) for y in _extremes(b)]
    return low <= min(corners) and max(corners) <= high


def _extremes(a: Array) -> tuple[int, ...]:
    if a.size == 1:
        return (a.item(),)
    return int(np.minimum.reduce(a, axis=None)), int(np.maximum.reduce(a, axis=None))


def unsigned_overflow(op: str, bits: int) -> Check:
    """Whether the exact unsigned result of add, sub, mul or shl differs from result `r`."""
    w = width(bits)

    def multiply(a: Array, b: Array, r: Array) -> Array:
        a, b = w.raw(a), w.raw(b)
        if w.container == 0:
            return (a * b) > w.max
        if w.bits <= 32:
            return a.astype(np.uint64) * b.astype(np.uint64) > np.uint64(w.max)
        if _product_range_fits(a, b, 0, w.max):
            return NOWHERE
        if w.is_exact:
            return mul_high(a, b) != 0
        return (mul_high(a, b) != 0) | (a * b > np.uint64(w.max))

    checks: dict[str, Check] = {
        "add": lambda a, b, r: w.raw(r) < w.raw(a),
        "sub": lambda a, b, r: w.raw(a) < w.raw(b),
        "mul": multiply,
        "shl": lambda a, b, r: w.raw(_shift_right(w, r, b)) != w.raw(a),
    }
    return checks[op]


def signed_overflow(op: str, bits: int) -> Check:
    """Whether the exact signed result of add, sub, mul or shl differs from result `r`."""
    w = width(bits)

    def multiply(a: Array, b: Array, r: Array) -> Array:
        x, y = w.signed(a), w.signed(b)
        low, high = -(1 << (w.bits - 1)), (1 << (w.bits - 1)) - 1
        if w.container == 0:
            exact = x * y
            return (exact < low) | (exact > high)
        if w.bits <= 32:
            exact = x.astype(np.int64) * y.astype(np.int64)
            return (exact < low) | (exact > high)
        if _product_range_fits(x, y, low, high):
            return NOWHERE
        # In 64 bits: the magnitudes' product must stay below the limit of the result's sign.
        p, q = np.where(x < 0, -x, x).view(np.uint64), np.where(y < 0, -y, y).view(np.uint64)
        limit = np.where((x < 0) != (y < 0), np.uint64(high + 1), np.uint64(high))
        return (mul_high(p, q) != 0) | (p * q > limit)

    def added(a: Array, b: Array, r: Array) -> Array:
        if a.size == b.size == 1:
            x, y, z = a.item(), b.item(), r.item()
            return np.ones(r.shape, np.bool_) if ((x ^ z) & (y ^ z)) >> (w.bits - 1) & 1 else NOWHERE
        return w.sign_bit((a ^ r) & (b ^ r))

    checks: dict[str, Check] = {
        "add": added,
        "sub": lambda a, b, r: added(r, b, a),
        "mul": multiply,
        "shl": lambda a, b, r: w.raw(_shift_right_signed(w, r, b)) != w.raw(a),
    }
    return checks[op]


def poison_checks(op: str, bits: int, flags: tuple[str, ...]) -> list[Check]:
    """The conditions on operands and result under which `op` with `flags` gives poison."""
    w = width(bits)
    checks: list[Check] = []
    if op in ("shl", "lshr", "ashr"):
        limit = w.constant(bits)
        checks.append(lambda a, b, r: w.raw(b) >= limit)
    if "nuw" in flags:
        checks.append(unsigned_overflow(op, bits))
    if "nsw" in flags:
        checks.append(signed_overflow(op, bits))
    if "exact" in flags:
        if op in ("lshr", "ashr"):
            checks.append(lambda a, b, r: w.raw(_shift_left(w, r, b)) != w.raw(a))
        elif op == "udiv":
            checks.append(lambda a, b, r: w.raw(w.wrap(w.raw(r) * w.raw(b))) != w.raw(a))
        else:
            checks.append(lambda a, b, r: w.signed(r) * w.signed(b) != w.signed(a))
    if "disjoint" in flags:
        checks.append(lambda a, b, r: w.raw(a & b) != 0)
    return checks


def compare(predicate: str, bits: int) -> Kernel:
    """The function on lane data for an ``icmp`` predicate."""
    w = width(bits)
    ufuncs = {
        "eq": np.equal, "ne": np.not_equal, "gt": np.greater,
        "ge": np.greater_equal, "lt": np.less, "le": np.less_equal,
    }  # fmt: skip
    if predicate in ("eq", "ne"):
        return ufuncs[predicate]
    ufunc = ufuncs[predicate[1:]]
    if predicate[0] == "s":
        return lambda a, b: ufunc(w.signed(a), w.signed(b))
    return ufunc
