"""Run-time tests as instructions: expressions over what is known before a loop, and their conjunction.

Expressions are integers, the program's numbers have 64 bits: what is computed for a test is computed with a look at
overflow, and a test in which anything overflows has failed. A division by what may be 0 or less is one by 1, and the
test has failed, too.

Precondition: all symbols are known before the loop (`weft.analysis.sequential.run_time_tests`). Postcondition:
instructions are added before it, which have no effect and cannot trap. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.run_time_tests import RunTimeTests, counter_of, is_loaded_again
from weft.analysis.sequential.scope import LoopContext
from weft.analysis.symbolic.expression import (
    Atom,
    Expression,
    Floor,
    Maximum,
    Minimum,
    Symbol,
    as_expression,
)
from weft.ir import FALSE, TRUE, Builder, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.intrinsics import PURE
from weft.ir.types import I1, I64, FunctionType, IntType, PointerType, StructType

_ARITHMETIC = FunctionType(StructType((I64, I1)), (I64, I64))
_CHOICE = FunctionType(I64, (I64, I64))


def build_tests(builder: Builder, made: Reconstruction, tests: RunTimeTests, loop: LoopContext) -> Value:
    """Compute at `builder`, before a loop, whether all tests hold."""
    computed = Computed(builder, made, loop)
    zero = const_int(0)
    results: list[Value] = [
        builder.icmp("sge", computed.value(expression), zero) for expression in tests.nonnegative
    ]
    for expression in tests.in_range:
        computed.value(expression)
    for a, b in tests.apart:
        before = builder.icmp("sle", computed.value(a.end), computed.value(b.low))
        behind = builder.icmp("sle", computed.value(b.end), computed.value(a.low))
        results.append(builder.binary("or", before, behind))
    whole: Value = TRUE
    for one in (*results, *computed.valid):
        whole = one if whole is TRUE else builder.binary("and", whole, one)
    return whole


class Computed:
    """Expressions as instructions, each part once.

    Attributes
    ----------
    valid
        Truth values that are all true if no result overflowed.
    """

    __slots__ = ("_builder", "_known", "_loop", "_made", "_results", "valid")

    def __init__(self, builder: Builder, made: Reconstruction, loop: LoopContext) -> None:
        self._loop = loop
        self._builder = builder
        self._made = made
        self._known: dict[Expression | Atom, Value] = {}
        self._results: dict[tuple[str, Value, Value], Value] = {}
        self.valid: list[Value] = []

    def value(self, expression: Expression) -> Value:
        """An expression as an i64."""
        known = self._known.get(expression)
        if known is None:
            total: Value | None = None
            # In the order in which the program adds them up: a sum that goes on from another one begins as that does.
            for monomial, coefficient in expression.terms.items():
                product = self._product(monomial, coefficient)
                total = product if total is None else self._arithmetic("sadd", total, product)
            known = self._known[expression] = total or const_int(0)
        return known

    def _product(self, monomial: tuple[Atom, ...], coefficient: int) -> Value:
        product: Value | None = None if coefficient == 1 and monomial else self._number(coefficient)
        for atom in monomial:
            factor = self._atom(atom)
            product = factor if product is None else self._arithmetic("smul", product, factor)
        assert product is not None
        return product

    def _number(self, number: int) -> Value:
        if -(1 << 63) <= number < 1 << 63:
            return const_int(number)
        self.valid.append(FALSE)
        return const_int(0)

    def _arithmetic(self, op: str, a: Value, b: Value) -> Value:
        known = self._results.get((op, a, b))
        if known is not None:
            return known
        builder = self._builder
        function = builder.module.declare(f"llvm.{op}.with.overflow.i64", _ARITHMETIC, PURE)
        both = builder.call(function, (a, b))
        overflow = builder.extract_value(both, (1,))
        self.valid.append(builder.binary("xor", overflow, TRUE))
        result = self._results[op, a, b] = builder.extract_value(both, (0,))
        return result

    def _atom(self, atom: Atom) -> Value:
        known = self._known.get(atom)
        if known is None:
            known = self._known[atom] = (
                self._symbol(atom) if isinstance(atom, Symbol) else self._operation(atom)
            )
        return known

    def _symbol(self, symbol: Symbol) -> Value:
        builder, origin = self._builder, symbol.origin
        if isinstance(origin, LoopContext):
            return self._iteration(origin)
        assert isinstance(origin, Value)
        if isinstance(origin, Instruction) and is_loaded_again(origin, self._loop):
            origin = builder.load(origin.type, origin.pointer, align=origin.alignment)
        if isinstance(origin.type, PointerType):
            return builder.cast("ptrtoint", origin, I64)
        assert isinstance(origin.type, IntType)
        if self._made.is_unsigned(symbol):
            if origin.type.bits == I64.bits:
                self.valid.append(builder.icmp("sge", origin, const_int(0)))
                return origin
            return builder.cast("zext", origin, I64)
        return origin if origin.type.bits == I64.bits else builder.cast("sext", origin, I64)

    def _iteration(self, loop: LoopContext) -> Value:
        """The number of the iteration of a loop around."""
        counter = counter_of(loop)
        assert counter is not None
        phi, start, step = counter
        high, low = (phi, start) if step > 0 else (start, phi)
        distance = self._builder.binary("sub", high, low)
        if abs(step) != 1:
            distance = self._builder.binary("udiv", distance, const_int(abs(step), distance.type))
        return distance if phi.type is I64 else self._builder.cast("zext", distance, I64)

    def _operation(self, atom: Floor | Minimum | Maximum) -> Value:
        builder = self._builder
        if isinstance(atom, Floor):
            return self._floor(atom)
        name = "llvm.smin.i64" if isinstance(atom, Minimum) else "llvm.smax.i64"
        function = builder.module.declare(name, _CHOICE, PURE)
        found: Value | None = None
        for part in atom.values:
            value = self.value(part)
            found = value if found is None else builder.call(function, (found, value))
        assert found is not None
        return found

    def _floor(self, atom: Floor) -> Value:
        builder, value = self._builder, self.value(atom.value)
        known = atom.divisor.constant
        if known is not None and not 0 < known < 1 << 63:
            # The test does not hold; a divisor that does not fit would be a zero, and the quotient undefined.
            self.valid.append(FALSE)
            return const_int(0)
        divisor = self.value(as_expression(atom.divisor))
        if known is None:
            positive = builder.icmp("sgt", divisor, const_int(0))
            self.valid.append(positive)
            divisor = builder.select(positive, divisor, const_int(1))
        quotient = builder.binary("sdiv", value, divisor)
        rest = builder.binary("sub", value, builder.binary("mul", quotient, divisor))
        below = builder.cast("sext", builder.icmp("slt", rest, const_int(0)), I64)
        return builder.binary("add", quotient, below)
