"""Binary and unary operators on numbers: typed by the one table, folded on literals, else emitted."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from weft.diag.errors import TypingError
from weft.frontend.python.components import ir_scalar
from weft.frontend.python.lowering.calls.typed import TupleValue, Typed, items_of, literal, scalar_type
from weft.frontend.python.lowering.numbers import complexes, times
from weft.frontend.python.lowering.numbers.casts import cast_value, convert, number, to_real
from weft.frontend.python.lowering.numbers.division import float_divmod, int_divmod
from weft.frontend.python.lowering.numbers.power import power
from weft.frontend.python.types import Scalar, Time, Tuple, boolean, float32, pyint
from weft.frontend.python.typing_rules import arithmetic, bitwise, true_division
from weft.ir.builder import const_int
from weft.ir.types import IntType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

SYMBOLS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.MatMult: "@",
}  # fmt: skip
_FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<<": operator.lshift, ">>": operator.rshift,
    "&": operator.and_, "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_INT_OPS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_FLOAT_OPS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_BITWISE = ("&", "|", "^", "<<", ">>")
_MAX_FOLDED_EXPONENT = 4096


def binary(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    """Lower ``a symbol b``."""
    left, right = scalar_type(a), scalar_type(b)
    if left is None or right is None:
        if symbol == "+" and isinstance(a.type, Tuple) and isinstance(b.type, Tuple):
            return TupleValue((*items_of(a), *items_of(b)))
        raise _no_such_operation(symbol, a, b)
    if isinstance(left, Time) or isinstance(right, Time):
        return times.binary(low, symbol, a, b)
    if a.is_literal and b.is_literal:
        folded = _fold(symbol, a.literal, b.literal)
        if folded is not None:
            return folded
    if symbol in _BITWISE:
        if left.kind in "fc" or right.kind in "fc":
            raise _no_such_operation(symbol, a, b)
        return _shift(low, symbol, a, b) if symbol in ("<<", ">>") else _bit_operation(low, symbol, a, b)
    if symbol == "**":
        return power(low, a, b)
    literals = (a.int_literal, b.int_literal)
    result = true_division(left, right) if symbol == "/" else arithmetic(left, right, *literals)
    if result.kind == "c":
        return complexes.binary(low, symbol, a, b, result)
    return _real(low, symbol, a, b, result)


def _no_such_operation(symbol: str, a: Typed, b: Typed) -> TypingError:
    hint = "write a loop over the elements" if "[" in str(a.type) + str(b.type) else None
    return TypingError(f"there is no operation {a.type} {symbol} {b.type}", hint=hint)


def _fold(symbol: str, a: Any, b: Any) -> Typed | None:
    """The result on two literals, or None where Python has none: the emitted operation defines it."""
    if symbol not in _FOLD or (symbol in ("**", "<<") and abs(b) > _MAX_FOLDED_EXPONENT):
        return None
    try:
        value = _FOLD[symbol](a, b)
    except TypeError:
        raise _no_such_operation(symbol, literal(a), literal(b)) from None
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return literal(value)


def _real(low: Lowering, symbol: str, a: Typed, b: Typed, result: Scalar) -> Typed:
    """``+ - * / // %`` on real numbers."""
    if symbol == "@":
        raise _no_such_operation(symbol, a, b)
    x, y = to_real(low, a, result), to_real(low, b, result)
    if result.kind == "f":
        return Typed(result, (float_operation(low, symbol, x, y, result),))
    if symbol in ("//", "%"):
        value = int_divmod(low, symbol, x, y, result, _never_negative(a), b.least)
        bound = 0 if b.low is not None and b.low >= 1 and (symbol == "%" or _nonnegative(a)) else None
        bound = 0 if result.kind == "u" else bound
        return Typed(result, (value,), low=bound, sure=result.kind == "u" or (a.sure and b.sure))
    value = low.builder.binary(_INT_OPS[symbol], x, y)
    return Typed(result, (value,), low=_low_of(symbol, a, b, result), sure=result.kind == "u")


def float_operation(low: Lowering, symbol: str, x: Value, y: Value, type: Scalar) -> Value:
    """``+ - * / // %`` on IR values of a floating type; numbers of 16 bits are computed in float32 and rounded."""
    if type.bits == 16:
        x, y = (cast_value(low, v, type, float32) for v in (x, y))
        return cast_value(low, float_operation(low, symbol, x, y, float32), float32, type)
    if symbol in ("//", "%"):
        return float_divmod(low, symbol, x, y)
    return low.builder.binary(_FLOAT_OPS[symbol], x, y, low.unit.options.fastmath)


def _nonnegative(value: Typed) -> bool:
    return value.low is not None and value.low >= 0


def _never_negative(value: Typed) -> bool:
    return value.least is not None and value.least >= 0


def _low_of(symbol: str, a: Typed, b: Typed, result: Scalar) -> int | None:
    """A lower bound of an integer result; narrow integers may wrap, so nothing is known of them."""
    if result.kind == "u":
        return 0
    if symbol == "&":
        return 0 if _nonnegative(a) or _nonnegative(b) else None
    if symbol in ("|", "^"):
        return 0 if _nonnegative(a) and _nonnegative(b) else None
    if result.bits != 64 or a.low is None:
        return None
    if symbol == "-":
        return a.low - b.literal if isinstance(b.literal, int) else None
    if b.low is None:
        return None
    if symbol == "+":
        return a.low + b.low
    return a.low * b.low if a.low >= 0 and b.low >= 0 else None


def _bit_operation(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    assert isinstance(a.type, Scalar) and isinstance(b.type, Scalar)
    result = bitwise(a.type, b.type, a.int_literal, b.int_literal)
    value = low.builder.binary(_INT_OPS[symbol], to_real(low, a, result), to_real(low, b, result))
    bound = _low_of(symbol, a, b, result) if result.is_integer else None
    return Typed(result, (value,), low=bound, sure=result.kind == "u" or (a.sure and b.sure))


def _shift(low: Lowering, symbol: str, a: Typed, b: Typed) -> Typed:
    """A shift whose count is as long as the value or longer, or negative, gives 0, or -1 for ``-5 >> 99``."""
    assert isinstance(a.type, Scalar) and isinstance(b.type, Scalar)
    left = pyint if a.type is boolean else a.type
    # The count's value does not decide the type: 1 << 40 of an int32 is over-long, not too large a literal.
    result = left if b.is_literal and not left.weak else arithmetic(left, b.type, a.int_literal, None)
    x = to_real(low, a, result)
    bound = 0 if result.kind == "u" or (_nonnegative(a) and symbol == ">>") else None
    bits, ir, builder = result.bits, ir_scalar(result), low.builder
    assert isinstance(ir, IntType)
    arithmetic_right = symbol == ">>" and result.kind == "i" and not _never_negative(a)
    operation = "shl" if symbol == "<<" else "ashr" if arithmetic_right else "lshr"
    if b.is_literal:
        count = int(b.literal)  # type: ignore[arg-type]
        if 0 <= count < bits:
            return Typed(
                result, (builder.binary(operation, x, const_int(count, ir)),), low=bound, sure=a.sure
            )
        if arithmetic_right:
            return Typed(result, (builder.binary("ashr", x, const_int(bits - 1, ir)),))
        return Typed(result, (const_int(0, ir),), low=0)
    # The count is judged in its own type, before it is converted to the value's.
    own = number(low, b)
    if own.type == ir_scalar(boolean):
        return Typed(
            result, (builder.binary(operation, x, builder.cast("zext", own, ir)),), low=bound, sure=a.sure
        )
    assert isinstance(own.type, IntType)
    short = builder.icmp("ult", own, const_int(bits, own.type))
    count = cast_value(low, own, b.type, result)
    safe = builder.select(short, count, const_int(bits - 1 if arithmetic_right else 0, ir))
    value: Value = builder.binary(operation, x, safe)
    if not arithmetic_right:
        value = builder.select(short, value, const_int(0, ir))
    return Typed(result, (value,), low=bound, sure=a.sure)


def negate(low: Lowering, value: Typed) -> Typed:
    """Lower ``-value``."""
    type = scalar_type(value)
    if type is None:
        raise TypingError(f"there is no operation -{value.type}")
    if value.is_literal:
        return literal(-value.literal)  # type: ignore[operator]
    if isinstance(type, Time):
        return times.negative(low, value)
    flags = low.unit.options.fastmath
    if type.kind in "fc":
        return Typed(type, tuple(low.builder.unary("fneg", part, flags) for part in value.parts))
    result = pyint if type is boolean else type
    x = to_real(low, value, result)
    return Typed(result, (low.builder.binary("sub", const_int(0, x.type), x),))


def invert(low: Lowering, value: Typed) -> Typed:
    """Lower ``~value``; of a bool it is ``not``, as in NumPy."""
    type = scalar_type(value)
    if type is None or type.kind not in "biu":
        raise TypingError(f"there is no operation ~{value.type}")
    if value.is_literal:
        return literal(not value.literal if type is boolean else ~value.literal)  # type: ignore[operator]
    x = number(low, value)
    return Typed(type, (low.builder.binary("xor", x, const_int(-1, x.type)),))


def absolute(low: Lowering, value: Typed) -> Typed:
    """Lower ``abs(value)``."""
    type = scalar_type(value)
    if type is None:
        raise TypingError(f"there is no abs() of {value.type}")
    if value.is_literal:
        return literal(abs(value.literal))  # type: ignore[arg-type]
    if isinstance(type, Time):
        return times.absolute(low, value)
    if type.kind == "c":
        return complexes.magnitude(low, value)
    if type.kind == "f":
        x = value.value
        return Typed(type, (complexes.floats_of(low, x).llvm("fabs", x),))
    result = pyint if type is boolean else type
    x = convert(low, value, result)[0]
    if result.kind == "u" or _never_negative(value) or type is boolean:
        return Typed(result, (x,), low=0)
    # Its second argument says that the least integer is its own absolute value.
    function = low.unit.llvm(f"llvm.abs.i{result.bits}", x.type, x.type, ir_scalar(boolean))
    value_ = low.builder.call(function, (x, const_int(0, ir_scalar(boolean))))
    return Typed(result, (value_,), low=0 if result.bits == 64 else None, sure=False)
