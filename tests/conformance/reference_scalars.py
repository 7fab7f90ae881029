"""The dialect's scalars for plain Python execution: weak integers, and casts that never raise.

NumPy's scalars already behave as the dialect does: int32 wraps, float32 stays float32, a literal takes the
type of its partner (NEP 50), and Python's own floats are weak. What Python lacks is the *weak int64* of
thread ids, sizes, range counters and Python int arguments, which wraps at 64 bits, takes a float partner's
type and widens a narrower integer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

_MASK = (1 << 64) - 1


def wrap64(value: int) -> int:
    """Return the value of an integer modulo 2^64, read as int64."""
    value = int(value) & _MASK
    return value - (1 << 64) if value >> 63 else value


def saturate(value: float, dtype: np.dtype[Any]) -> int:
    """Convert a float as `llvm.fptosi.sat` does: towards zero, clamped to the type's range, NaN to 0."""
    info = np.iinfo(dtype)
    if value != value:
        return 0
    if value >= info.max:
        return int(info.max)
    return int(info.min) if value <= info.min else int(value)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """Convert a scalar to a dtype with the dialect's rules: integers wrap, floats saturate."""
    if dtype.kind in "iu":
        number = value.item() if isinstance(value, np.generic) else value
        number = saturate(number, dtype) if isinstance(number, float) else int(number)
        bits = 8 * dtype.itemsize
        number &= (1 << bits) - 1
        if dtype.kind == "i" and number >> (bits - 1):
            number -= 1 << bits
        return dtype.type(number)
    if dtype.kind in "fc" and isinstance(value, int):
        value = np.int64(wrap64(value)) if value < 1 << 63 else np.uint64(value & _MASK)
    return dtype.type(value)


def _settle(value: Any) -> Any:
    """Return NumPy's result of weak operands as the weak number it is in the dialect."""
    return WeakInt(value) if isinstance(value, np.int64) else float(value)


def _binary(op: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Apply an operator to a weak integer and another scalar, in either order."""
    other = right if isinstance(left, WeakInt) else left
    weak = isinstance(other, (int, np.bool_))
    if weak or (isinstance(other, np.integer) and other.dtype.itemsize < 8):
        result = op(np.int64(int(left)), np.int64(int(right)))
        return _settle(result) if weak else result
    if isinstance(other, np.integer):
        kind = type(other)
        return (
            op(cast(left, other.dtype), cast(right, other.dtype))
            if kind is np.uint64
            else op(np.int64(int(left)), np.int64(int(right)))
        )
    return op(
        int(left) if isinstance(left, WeakInt) else left, int(right) if isinstance(right, WeakInt) else right
    )


class WeakInt(int):
    """An int64 that is weak in NEP 50's sense and wraps."""

    # NumPy's scalars then leave mixed operations to this class.
    __array_ufunc__ = None

    def __new__(cls, value: int = 0) -> WeakInt:
        return super().__new__(cls, wrap64(value))

    def __add__(self, other):
        return _binary(operator.add, self, other)

    def __radd__(self, other):
        return _binary(operator.add, other, self)

    def __sub__(self, other):
        return _binary(operator.sub, self, other)

    def __rsub__(self, other):
        return _binary(operator.sub, other, self)

    def __mul__(self, other):
        return _binary(operator.mul, self, other)

    def __rmul__(self, other):
        return _binary(operator.mul, other, self)

    def __floordiv__(self, other):
        return _binary(operator.floordiv, self, other)

    def __rfloordiv__(self, other):
        return _binary(operator.floordiv, other, self)

    def __mod__(self, other):
        return _binary(operator.mod, self, other)

    def __rmod__(self, other):
        return _binary(operator.mod, other, self)

    def __truediv__(self, other):
        return _binary(operator.truediv, self, other)

    def __rtruediv__(self, other):
        return _binary(operator.truediv, other, self)

    def __pow__(self, other, modulus=None):
        return _binary(operator.pow, self, other)

    def __rpow__(self, other, modulus=None):
        return _binary(operator.pow, other, self)

    def __lshift__(self, other):
        return _binary(operator.lshift, self, other)

    def __rlshift__(self, other):
        return _binary(operator.lshift, other, self)

    def __rshift__(self, other):
        return _binary(operator.rshift, self, other)

    def __rrshift__(self, other):
        return _binary(operator.rshift, other, self)

    def __and__(self, other):
        return _binary(operator.and_, self, other)

    def __rand__(self, other):
        return _binary(operator.and_, other, self)

    def __or__(self, other):
        return _binary(operator.or_, self, other)

    def __ror__(self, other):
        return _binary(operator.or_, other, self)

    def __xor__(self, other):
        return _binary(operator.xor, self, other)

    def __rxor__(self, other):
        return _binary(operator.xor, other, self)

    def __neg__(self):
        return WeakInt(-int(self))

    def __pos__(self):
        return self

    def __invert__(self):
        return WeakInt(~int(self))

    def __abs__(self):
        return WeakInt(abs(int(self)))

    def __lt__(self, other):
        return int(self) < _plain(other)

    def __le__(self, other):
        return int(self) <= _plain(other)

    def __gt__(self, other):
        return int(self) > _plain(other)

    def __ge__(self, other):
        return int(self) >= _plain(other)

    def __eq__(self, other):
        return int(self) == _plain(other)

    def __ne__(self, other):
        return int(self) != _plain(other)

    __hash__ = int.__hash__


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
