"""Writing LLVM IR of arithmetic on vectors of floats: one line an operation, constants in all lanes.

Operations have no fast-math flags, so LLVM leaves them as they are written: an argument is reduced by several parts of
a number, and reassociation would add these up. A product and a sum are one instruction where the machine has it.
"""

from __future__ import annotations

import struct

from weft.machine.targets import Isa

_MAGIC = 12582912.0
_MAGIC_BITS = 0x4B400000
_WHOLE_BITS = 0x4B000000


class Lines:
    """The body of a function of vectors of floats, under construction.

    Parameters
    ----------
    isa
        What the code may use.
    lanes
        The elements of a vector.
    of
        Where given, operations are on doubles, and written there.
    """

    def __init__(self, isa: Isa, lanes: int, of: Lines | None = None) -> None:
        self.isa = isa
        self.lanes = lanes
        self._is_double = of is not None
        self._bits = 64 if of else 32
        self.floats = f"<{lanes} x {'double' if of else 'float'}>"
        self.integers = f"<{lanes} x i32>"
        self.bools = f"<{lanes} x i1>"
        self.text: list[str] = of.text if of else []
        self.declared: dict[str, str] = of.declared if of else {}
        self._names: dict[str, str] = of._names if of else {}
        self._fma = "fma" in isa.features or isa.arch == "aarch64"

    @property
    def has_parts(self) -> bool:
        """Whether exponent and mantissa are instructions, and scaling by a power of two is one."""
        return self.isa.mask_registers > 0 and self.lanes in (4, 8, 16)

    @property
    def fuses(self) -> bool:
        """Whether a product and a sum are rounded once."""
        return self._fma

    def line(self, operation: str) -> str:
        """Write an operation, if it has not been; return the name of its result."""
        name = self._names.get(operation)
        if name is None:
            name = self._names[operation] = f"%v{len(self.text)}"
            self.text.append(f"  {name} = {operation}")
        return name

    def float(self, value: float) -> str:
        """A number in all lanes."""
        if not self._is_double:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        return f"splat ({'double' if self._is_double else 'float'} 0x{bits:016X})"

    def integer(self, value: int) -> str:
        """An integer in all lanes."""
        return f"splat (i32 {value})"

    def call(self, name: str, result: str, *args: str) -> str:
        """Call an intrinsic; arguments are written with their types."""
        self.declared[name] = f"declare {result} @{name}({', '.join(_type_of(a) for a in args)})"
        return self.line(f"call {result} @{name}({', '.join(args)})")

    def add(self, a: str, b: str) -> str:
        return self.line(f"fadd {self.floats} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self.line(f"fsub {self.floats} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self.line(f"fmul {self.floats} {a}, {b}")

    def divide(self, a: str, b: str) -> str:
        return self.line(f"fdiv {self.floats} {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """The sum of a * b and c, rounded once where that is one instruction."""
        if not self._fma:
            return self.add(self.mul(a, b), c)
        v = self.floats
        return self.call(f"llvm.fma.v{self.lanes}f{self._bits}", v, f"{v} {a}", f"{v} {b}", f"{v} {c}")

    def polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        """Horner's scheme; the coefficient of the lowest power comes first."""
        value = self.float(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = self.fma(value, x, self.float(c))
        return value

    def compare(self, predicate: str, a: str, b: str) -> str:
        return self.line(f"fcmp {predicate} {self.floats} {a}, {b}")

    def select(self, condition: str, a: str, b: str) -> str:
        return self.line(f"select {self.bools} {condition}, {self.floats} {a}, {self.floats} {b}")

    def integers_of(self, op: str, a: str, b: str) -> str:
        return self.line(f"{op} {self.integers} {a}, {b}")

    def select_integers(self, condition: str, a: str, b: str) -> str:
        return self.line(f"select {self.bools} {condition}, {self.integers} {a}, {self.integers} {b}")

    def bits(self, a: str) -> str:
        return self.line(f"bitcast {self.floats} {a} to {self.integers}")

    def from_bits(self, a: str) -> str:
        return self.line(f"bitcast {self.integers} {a} to {self.floats}")

    def clamp(self, x: str, low: float, high: float) -> str:
        """Each number, or the nearest of the interval; NaN stays NaN."""
        least = self.float(low)
        return self.at_most(self.select(self.compare("ogt", least, x), least, x), high)

    def at_most(self, x: str, high: float) -> str:
        """Each number, or `high` if that is less; NaN stays NaN."""
        most = self.float(high)
        return self.select(self.compare("olt", most, x), most, x)

    @property
    def doubles(self) -> Lines:
        """The same for operations on doubles."""
        return Lines(self.isa, self.lanes, self)

    def convert(self, op: str, x: str, source: str, target: str) -> str:
        """A vector of one type from another."""
        return self.line(f"{op} {source} {x} to {target}")

    def nearest(self, x: str, factor: float, half: float = 0.0) -> tuple[str, str]:
        """The integer next to x * factor, |x * factor| < 2**22, as a float, and in the lowest 23 bits of an integer.

        With 0.5 for `half` the number that is half an integer, less by that than the integer in the bits.
        """
        magic = self.float(_MAGIC)
        if half:
            x, factor = self.fma(x, self.float(factor), self.float(half)), 1
        shifted = self.add(x, magic) if factor == 1 else self.fma(x, self.float(factor), magic)
        nearest = self.sub(shifted, magic)
        return self.sub(nearest, self.float(half)) if half else nearest, self.bits(shifted)

    def scale(self, x: str, power: str, bits: str) -> str:
        """The product with 2**n for |n| < 253, rounded once more where it is subnormal; n as `nearest` gives it."""
        if self.has_parts:
            return self._avx512("scalef", f"{self.floats} {x}", f"{self.floats} {power}")
        # Two factors: one alone would leave the range of exponents.
        both = self.integers_of("add", bits, self.integer(254 - _MAGIC_BITS))
        half = self.integers_of("ashr", both, self.integer(1))
        rest = self.integers_of("sub", both, half)
        for part in (half, rest):
            x = self.mul(x, self.from_bits(self.integers_of("shl", part, self.integer(23))))
        return x

    def scale_where(self, condition: str, x: str, power: str, bits: str) -> str:
        """The product with 2**n, or zero where a condition does not hold. Only where `has_parts`."""
        lanes = max(8, self.lanes)
        mask = self.line(f"bitcast {self.bools} {condition} to i{self.lanes}")
        if lanes != self.lanes:
            mask = self.line(f"zext i{self.lanes} {mask} to i{lanes}")
        return self._avx512("scalef", f"{self.floats} {x}", f"{self.floats} {power}", mask=mask)

    def scale_up(self, x: str, power: str, bits: str) -> str:
        """The same for 0 <= n < 128, where NaN stays NaN."""
        if self.has_parts:
            return self.scale(x, power, bits)
        up = self.integers_of("shl", self.integers_of("add", bits, self.integer(127)), self.integer(23))
        return self.mul(x, self.from_bits(up))

    def scale_normal(self, x: str, power: str, bits: str) -> str:
        """The same where x is about 1 and the product neither subnormal nor infinite."""
        if self.has_parts:
            return self.scale(x, power, bits)
        up = self.integers_of("shl", bits, self.integer(23))
        return self.from_bits(self.integers_of("add", self.bits(x), up))

    def whole(self, x: str) -> str:
        """The integer next to a number from 0 to 2**23."""
        shifted = self.add(x, self.float(2.0**23))
        return self.integers_of("sub", self.bits(shifted), self.integer(_WHOLE_BITS))

    def larger(self, x: str, size: float) -> str:
        """Which numbers are of larger size, or NaN."""
        return self.compare("ugt", self.absolute(x), self.float(size))

    def absolute(self, x: str) -> str:
        return self.call(f"llvm.fabs.v{self.lanes}f{self._bits}", self.floats, f"{self.floats} {x}")

    def exponent(self, x: str) -> str:
        """The exponent of |x|: -inf for 0, inf for inf. Only where `has_parts`."""
        return self._avx512("getexp", f"{self.floats} {x}")

    def mantissa(self, x: str) -> str:
        """The rest, from 0.75 to 1.5; 1 for 0 and inf, NaN for negative numbers. Only where `has_parts`."""
        return self._avx512("getmant", f"{self.floats} {x}", "i32 11")

    def _avx512(self, op: str, *args: str, mask: str = "-1") -> str:
        mask = f"i{max(8, self.lanes)} {mask}"
        rest = (f"{self.floats} zeroinitializer", mask, *(("i32 4",) if self.lanes == 16 else ()))
        return self.call(f"llvm.x86.avx512.mask.{op}.ps.{32 * self.lanes}", self.floats, *args, *rest)


def _type_of(argument: str) -> str:
    type, _, value = argument.rpartition(" ")
    if " splat" in type:
        return type[: type.index(" splat")]
    return f"{type} immarg" if type == "i32" and value.isdigit() else type
