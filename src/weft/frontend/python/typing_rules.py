"""The one table of types: NEP 50, and where the kernel language adds to it.

Between strong types (those of NumPy) the result is NumPy's, read from `PROMOTION`. A *weak* operand (a Python
number, a thread id, a size, a range counter) yields to a strong one:

================  ===================  =====================================================================
weak operand      strong partner       result
================  ===================  =====================================================================
literal int       any integer          the partner's type; a literal that does not fit is an error
other int         int64, uint64        the partner's type
other int         a narrower integer   int64 (the value may need it)
int               float or complex     the partner's type
float             integer              float64
float             float or complex     the partner's type
complex           float or complex     the complex type of the partner's precision
================  ===================  =====================================================================

A bool counts as a weak int in arithmetic, as in Python; ``& | ^`` of two bools give a bool. Among weak operands
the result is weak. ``/`` of integers gives float64. A variable takes the `join` of what is assigned to it: the
same table, except that a literal int which does not fit widens instead of failing.
"""

from __future__ import annotations

from msgspec import Struct

from weft.diag.errors import TypingError
from weft.frontend.python.types import (
    STRONG,
    Scalar,
    Time,
    bfloat16,
    boolean,
    complex64,
    complex128,
    float32,
    float64,
    int64,
    pycomplex,
    pyfloat,
    pyint,
    uint64,
)

_CODES = "?  i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16 bf"
_ROWS = """
?    ?   i1  i2  i4  i8  u1  u2  u4  u8  f2  f4  f8  c8  c16
i1   i1  i1  i2  i4  i8  i2  i4  i8  f8  f2  f4  f8  c8  c16
i2   i2  i2  i2  i4  i8  i2  i4  i8  f8  f4  f4  f8  c8  c16
i4   i4  i4  i4  i4  i8  i4  i4  i8  f8  f8  f8  f8  c16 c16
i8   i8  i8  i8  i8  i8  i8  i8  i8  f8  f8  f8  f8  c16 c16
u1   u1  i2  i2  i4  i8  u1  u2  u4  u8  f2  f4  f8  c8  c16
u2   u2  i4  i4  i4  i8  u2  u2  u4  u8  f4  f4  f8  c8  c16
u4   u4  i8  i8  i8  i8  u4  u4  u4  u8  f8  f8  f8  c16 c16
u8   u8  f8  f8  f8  f8  u8  u8  u8  u8  f8  f8  f8  c16 c16
f2   f2  f2  f4  f8  f8  f2  f4  f8  f8  f2  f4  f8  c8  c16
f4   f4  f4  f4  f8  f8  f4  f4  f8  f8  f4  f4  f8  c8  c16
f8   f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8   c8  c8  c8  c16 c16 c8  c8  c16 c16 c8  c8  c16 c8  c16
c16  c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
bf   bf  bf  f4  f8  f8  bf  f4  f8  f8  f4  f4  f8  c8  c16 bf
"""
_TYPES = (*STRONG, bfloat16)
_BY_CODE: dict[str, Scalar] = dict(zip(_CODES.split(), _TYPES, strict=True))

PROMOTION: dict[tuple[Scalar, Scalar], Scalar] = {
    pair: _BY_CODE[code]
    for row in map(str.split, _ROWS.strip().splitlines())
    for column, code in zip(_TYPES, row[1:], strict=False)
    for pair in ((_BY_CODE[row[0]], column), (column, _BY_CODE[row[0]]))
}
"""NumPy's result type of an operation on two strong types.

Bfloat16 has no common type in NumPy with float16 and integers of 16 bits and more: it is the one of float32 with these.
"""

_WEAK_ORDER = {"b": pyint, "i": pyint, "f": pyfloat, "c": pycomplex}
_KIND_RANK = "biufc"


class Literals(Struct, frozen=True):
    """Values of a weak operand known at compile time, when they are all there is: from `low` to `high`."""

    low: float
    high: float
    exact: bool = True

    def union(self, other: Literals) -> Literals:
        return Literals(min(self.low, other.low), max(self.high, other.high), self.exact and other.exact)


def fits(value: float, type: Scalar) -> bool:
    """Whether integer `value` is in the range of an integer type."""
    low, high = type.limits
    return low <= value <= high


def literal_error(value: object, type: Scalar) -> TypingError:
    """The error for a literal that is out of the range of the type it has to take."""
    return TypingError(
        f"literal {value} does not fit {type}",
        hint=f"{type} holds {type.limits[0]} to {type.limits[1]}; convert the other operand to a wider type",
    )


def promote(a: Scalar, b: Scalar) -> Scalar:
    """The type of an operation on two operands that are no literals."""
    if a is b and a is not boolean:
        return a
    if isinstance(a, Time) or isinstance(b, Time):
        raise TypingError(f"{a} and {b} have no common type")
    if not a.weak and not b.weak and not (a is boolean and b is boolean):
        return PROMOTION[a, b]
    if (a.weak or a is boolean) and (b.weak or b is boolean):
        return _WEAK_ORDER[max(a.kind, b.kind, key=_KIND_RANK.index)]
    weak, strong = (a, b) if a.weak else (b, a)
    return _weak_with_strong(weak, strong)


def _weak_with_strong(weak: Scalar, strong: Scalar) -> Scalar:
    if strong.kind == "c":
        return strong
    if weak.kind == "i":
        return strong if strong.kind == "f" or strong.bits == 64 else int64
    if weak.kind == "f":
        return strong if strong.kind == "f" else float64
    return complex64 if strong.kind == "f" and strong.bits <= 32 else complex128


def arithmetic(a: Scalar, b: Scalar, a_literal: int | None = None, b_literal: int | None = None) -> Scalar:
    """The type of ``+ - * // %`` and of ``& | ^`` on numbers.

    Parameters
    ----------
    a, b
        The operands' types.
    a_literal, b_literal
        The value of an operand that is an integer literal.
    """
    for literal, weak, strong in ((a_literal, a, b), (b_literal, b, a)):
        if literal is not None and weak is pyint and strong.is_integer and not strong.weak:
            if not fits(literal, strong):
                raise literal_error(literal, strong)
            return strong
    return promote(a, b)


def true_division(a: Scalar, b: Scalar) -> Scalar:
    """The type of ``/``: floating."""
    result = promote(a, b)
    if result.kind in "fc":
        return result
    return pyfloat if result.weak else float64


def bitwise(a: Scalar, b: Scalar, a_literal: int | None = None, b_literal: int | None = None) -> Scalar:
    """The type of ``& | ^``: bool for two bools."""
    return boolean if a is boolean and b is boolean else arithmetic(a, b, a_literal, b_literal)


def function_type(*args: Scalar) -> Scalar:
    """The floating type in which a math function of these real arguments is computed."""
    result = args[0]
    for other in args[1:]:
        result = promote(result, other)
    if result.kind in "fc":
        return result
    return pyfloat if result.weak or result is boolean else float64


def join(a: Scalar, b: Scalar, a_known: Literals | None, b_known: Literals | None) -> tuple[Scalar, bool]:
    """The type of a variable that is assigned `a` here and `b` there, and whether that loses precision."""
    if a is b:
        return a, False
    for weak, strong, known in ((a, b, a_known), (b, a, b_known)):
        if weak is pyint and known and strong.is_integer and not strong.weak:
            wide = strong if fits(known.low, strong) and fits(known.high, strong) else int64
            return (wide if fits(known.high, int64) else uint64), False
    result = boolean if a is boolean and b is boolean else promote(a, b)
    return result, any(
        _loses(type, result) and not (known and known.exact) for type, known in ((a, a_known), (b, b_known))
    )


def _loses(source: Scalar, target: Scalar) -> bool:
    """Whether some values of `source` are not in `target`."""
    mantissa = {16: 8 if target is bfloat16 else 11, 32: 24, 64: 53}
    width = target.bits // 2 if target.kind == "c" else target.bits
    if source.is_integer and target.kind in "fc":
        return source.bits - (source.kind == "i") > mantissa[width]
    if source.kind in "fc" and target.kind in "fc":
        return (source.bits // 2 if source.kind == "c" else source.bits) > width
    return source.is_integer and target.is_integer and source.kind == "i" and target.kind == "u"


def real_type(type: Scalar) -> Scalar:
    """The type of the parts of a complex number; a real type is its own."""
    return {complex64: float32, complex128: float64, pycomplex: pyfloat}.get(type, type)


def complex_type(type: Scalar) -> Scalar:
    """The complex type whose parts have floating type `type` (integers count as float64)."""
    if type.kind == "c":
        return type
    if type.weak or type is boolean:
        return pycomplex
    return complex64 if type.kind == "f" and type.bits <= 32 else complex128
