"""Complex arithmetic on pairs of floats, by the formulas NumPy uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.diag.errors import TypingError
from weft.frontend.python import device_complex
from weft.frontend.python.lowering.calls.registry import Arguments
from weft.frontend.python.lowering.calls.typed import Typed, scalar_type
from weft.frontend.python.lowering.numbers.casts import cast, convert
from weft.frontend.python.types import Scalar, complex64, complex128, int64
from weft.frontend.python.typing_rules import real_type
from weft.ir.builder import const_float
from weft.ir.types import FloatType
from weft.ir.values import Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

Pair = tuple[Value, Value]
_MULTIPLIED_OUT = 8


class Floats:
    """Shorthand for floating instructions of one type."""

    __slots__ = ("low", "type")

    def __init__(self, low: Lowering, type: FloatType) -> None:
        self.low = low
        self.type = type

    def _binary(self, op: str, a: Value, b: Value) -> Value:
        return self.low.builder.binary(op, a, b, self.low.unit.options.fastmath)

    def add(self, a: Value, b: Value) -> Value:
        return self._binary("fadd", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self._binary("fsub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self._binary("fmul", a, b)

    def div(self, a: Value, b: Value) -> Value:
        return self._binary("fdiv", a, b)

    def neg(self, a: Value) -> Value:
        return self.low.builder.unary("fneg", a, self.low.unit.options.fastmath)

    def const(self, value: float) -> Value:
        return const_float(value, self.type)

    def llvm(self, name: str, *args: Value) -> Value:
        """Call an intrinsic of LLVM, such as ``sin``."""
        function = self.low.unit.llvm(f"llvm.{name}.f{self.type.bits}", self.type, *(a.type for a in args))
        return self.low.builder.call(function, args, flags=self.low.unit.options.fastmath)

    def libm(self, name: str, *args: Value) -> Value:
        """Call a function of the math library by its name for double."""
        symbol = name + ("f" if self.type.bits == 32 else "")
        function = self.low.unit.library(symbol, self.type, *(a.type for a in args))
        return self.low.builder.call(function, args, flags=self.low.unit.options.fastmath)


def floats_of(low: Lowering, value: Value) -> Floats:
    """Shorthand for instructions of the type of `value`."""
    assert isinstance(value.type, FloatType)
    return Floats(low, value.type)


def pair(low: Lowering, value: Typed, type: Scalar) -> Pair:
    """Real and imaginary part of a number in a complex type."""
    real, imag = convert(low, value, type)
    return real, imag


def binary(low: Lowering, symbol: str, a: Typed, b: Typed, result: Scalar) -> Typed:
    """Lower ``+ - * /`` on complex numbers."""
    x, y = pair(low, a, result), pair(low, b, result)
    f = floats_of(low, x[0])
    if symbol == "+":
        return Typed(result, (f.add(x[0], y[0]), f.add(x[1], y[1])))
    if symbol == "-":
        return Typed(result, (f.sub(x[0], y[0]), f.sub(x[1], y[1])))
    if symbol == "*":
        return Typed(result, _product(f, x, y))
    if symbol == "/":
        return Typed(result, _quotient(f, x, y))
    raise TypingError(f"there is no operation {a.type} {symbol} {b.type}")


def _product(f: Floats, x: Pair, y: Pair) -> Pair:
    real = f.sub(f.mul(x[0], y[0]), f.mul(x[1], y[1]))
    return real, f.add(f.mul(x[0], y[1]), f.mul(x[1], y[0]))


def _quotient(f: Floats, x: Pair, y: Pair) -> Pair:
    """Smith's division: scale by the larger part of the divisor."""
    b = f.low.builder
    sizes = f.llvm("fabs", y[0]), f.llvm("fabs", y[1])
    real_is_larger = b.fcmp("oge", *sizes)
    large = b.select(real_is_larger, y[0], y[1])
    small = b.select(real_is_larger, y[1], y[0])
    ratio = f.div(small, large)
    scale = f.div(f.const(1.0), f.add(large, f.mul(small, ratio)))
    first, second = b.select(real_is_larger, x[0], x[1]), b.select(real_is_larger, x[1], x[0])
    real = f.mul(f.add(first, f.mul(second, ratio)), scale)
    imag = b.select(real_is_larger, f.sub(x[1], f.mul(x[0], ratio)), f.sub(f.mul(x[1], ratio), x[0]))
    is_zero = _is_zero(f, sizes)
    return (
        b.select(is_zero, f.div(x[0], sizes[0]), real),
        b.select(is_zero, f.div(x[1], sizes[0]), f.mul(imag, scale)),
    )


def power(low: Lowering, a: Typed, b: Typed, result: Scalar, exponent: int | None) -> Typed:
    """Lower ``a ** b``: small literal exponents are multiplied out, else in polar form."""
    from weft.frontend.python.lowering.calls.calls import call_function
    from weft.frontend.python.lowering.numbers.power import by_squaring

    x = pair(low, a, result)
    f = floats_of(low, x[0])
    if exponent == 0:
        return Typed(result, (f.const(1.0), f.const(0.0)))
    if exponent is not None and abs(exponent) <= _MULTIPLIED_OUT:
        value = by_squaring(x, abs(exponent), lambda p, q: _product(f, p, q))
        if exponent < 0:
            value = _quotient(f, (f.const(1.0), f.const(0.0)), value)
        return Typed(result, value)
    working = complex128 if result is complex64 else result
    whole = isinstance(b.type, Scalar) and b.type.kind in "iu"
    function = device_complex.power_of_integer if whole else device_complex.power
    operands = [cast(low, a, working), cast(low, b, int64 if whole else working)]
    return cast(low, call_function(low, function, Arguments("pow", operands, {})), result)


def _is_zero(f: Floats, value: Pair) -> Value:
    b = f.low.builder
    return b.binary("and", b.fcmp("oeq", value[0], f.const(0.0)), b.fcmp("oeq", value[1], f.const(0.0)))


def magnitude(low: Lowering, value: Typed) -> Typed:
    """Lower ``abs(value)``."""
    type = scalar_type(value)
    assert type is not None
    return Typed(real_type(type), (floats_of(low, value.parts[0]).libm("hypot", *value.parts),))


def conjugate(low: Lowering, value: Typed) -> Typed:
    """Lower ``value.conjugate()``; a real number is its own."""
    type = scalar_type(value)
    if type is None or type.kind != "c":
        return value
    real, imag = pair(low, value, type)
    return Typed(type, (real, floats_of(low, imag).neg(imag)))


def equal(low: Lowering, a: Typed, b: Typed, type: Scalar) -> Value:
    """Whether two numbers are equal as complex numbers."""
    x, y = pair(low, a, type), pair(low, b, type)
    builder = low.builder
    return builder.binary("and", builder.fcmp("oeq", x[0], y[0]), builder.fcmp("oeq", x[1], y[1]))
