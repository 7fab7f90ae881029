"""Integer instructions as expressions (Juravle, §8.4, Table 8.5), over machine integers.

An addition that may not wrap (``nsw``, ``nuw``) is one of expressions; another one only if the ranges of its operands
show that it does not. In 64 bits, where sizes and addresses are computed and flags are often missing, the assumption
that nothing wraps is recorded instead. Divisions round towards zero, so the sign of the dividend decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.analysis.loops.along_rows import counts_from_the_end
from weft.analysis.sequential.assumptions import Obligation
from weft.analysis.sequential.called_values import called_value
from weft.analysis.sequential.pointers import invariant_load
from weft.analysis.sequential.recurrences import phi_expression
from weft.analysis.sequential.scope import Scope, line_of
from weft.analysis.symbolic.atoms import Monomial, Symbol
from weft.analysis.symbolic.expression import (
    Expression,
    as_expression,
    floor_division,
    maximum,
    minimum,
    remainder,
)
from weft.analysis.symbolic.numeric_bounds import numeric_bound
from weft.ir import Argument, ConstInt, Instruction
from weft.ir.types import IntType

if TYPE_CHECKING:
    from weft.analysis.sequential.reconstruction import Reconstruction

_BIG_FACTOR = 1 << 24
"""A product in 64 bits with a greater number, without flags, is one of a hash and meant to wrap."""


def operation(made: Reconstruction, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
    """The expression of an integer that is computed; None where it is a symbol."""
    assert isinstance(value.type, IntType)
    op, operands, bits = value.op, value.operands, value.type.bits
    if op == "phi":
        return phi_expression(made, scope, value, signed)
    if op in ("add", "sub", "mul", "shl") or (op == "or" and "disjoint" in value.flags):
        return _sum(made, scope, value, signed)
    if op in ("sext", "zext", "trunc"):
        return _cast(made, scope, value, signed)
    if op == "freeze":
        return made.operand(scope, value, operands[0], signed)
    if op in ("sdiv", "udiv", "srem", "urem", "ashr", "lshr", "and"):
        return _division(made, scope, value, signed)
    if op == "xor" and isinstance(operands[1], ConstInt) and operands[1].signed == -1 and bits > 1:
        return -1 - made.operand(scope, value, operands[0]) if signed else None
    if op == "select":
        return _select(made, scope, value, signed)
    if op == "load":
        return invariant_load(made, scope, value, signed)
    if op == "call":
        return called_value(made, scope, value, signed)
    return None


def _sum(made: Reconstruction, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
    assert isinstance(value.type, IntType)
    a, b = (made.operand(scope, value, v, signed) for v in value.operands)
    op, bits = value.op, value.type.bits
    if op == "shl":
        number = value.operands[1]
        if not isinstance(number, ConstInt) or number.value >= bits:
            return None
        total = a * (1 << number.value)
    elif op == "mul":
        total = a * b
    else:
        if (
            op == "add"
            and not signed
            and isinstance(value.operands[1], ConstInt)
            and "nuw" not in value.flags
        ):
            # A number is subtracted by adding what it wraps around to.
            b = as_expression(value.operands[1].signed) if value.operands[1].signed < 0 else b
        total = a - b if op == "sub" else a + b
    if op == "or" or ("nsw" if signed else "nuw") in value.flags:
        return total
    if _fits(made, scope, value, total, bits, signed):
        return total
    if bits == 64:
        if any(isinstance(v, ConstInt) and abs(v.signed) >= _BIG_FACTOR for v in value.operands):
            return None
        if not signed:
            low = made.range_of(scope, value, True)[0]
            reading = made.of(scope, value, True)
            if low is None or low < 0:
                obligation = None if value.block is None else Obligation(reading, value.block, True)
                text = "what is computed here is not negative"
                made.program.assume(value, "wrap", text, line_of(value), obligation)
            return reading
        obligation = None if value.block is None else Obligation(total, value.block)
        text = "what is computed here does not wrap around"
        made.program.assume(value, "wrap", text, line_of(value), obligation)
        return total
    return None


def _fits(
    made: Reconstruction, scope: Scope, value: Instruction, total: Expression, bits: int, signed: bool
) -> bool:
    """Whether a sum is within the range of its type, wherever it is computed."""
    least = -(1 << (bits - 1)) if signed else 0
    most = (1 << (bits - 1)) - 1 if signed else (1 << bits) - 1
    low, high = numeric_bound(total, upper=False), numeric_bound(total, upper=True)
    if low is not None and low >= least and high is not None and high <= most:
        return True
    ends = [scope.ranges.at(v, value.block) for v in value.operands]
    if signed and value.op in ("add", "sub") and ends[0] is not None and ends[1] is not None:
        (a, b), (c, d) = ends[0], ends[1]
        low, high = (a + c, b + d) if value.op == "add" else (a - d, b - c)
        if low >= least and high <= most:
            return True
    assert value.block is not None
    facts = made.facts(scope, value.block)
    return facts.is_nonnegative(total - least) and facts.is_nonnegative(most - total)


def _cast(made: Reconstruction, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
    assert isinstance(value.type, IntType)
    source = value.operands[0]
    assert isinstance(source.type, IntType)
    if value.op == "sext":
        inner = made.operand(scope, value, source)
        if signed:
            return inner
        return inner if _is_nonnegative(made, scope, value, inner) else None
    if value.op == "zext":
        if source.type.bits == 1:
            return None
        return made.operand(scope, value, source, "nneg" in value.flags)
    inner = made.operand(scope, value, source, signed)
    if (
        _fits(made, scope, value, inner, value.type.bits, signed)
        or ("nsw" if signed else "nuw") in value.flags
    ):
        return inner
    return None


def _is_nonnegative(made: Reconstruction, scope: Scope, value: Instruction, expression: Expression) -> bool:
    low = numeric_bound(expression, upper=False)
    if low is not None and low >= 0:
        return True
    assert value.block is not None
    return made.facts(scope, value.block).is_nonnegative(expression)


def _division(made: Reconstruction, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
    op, (left, right) = value.op, value.operands
    assert isinstance(value.type, IntType)
    if op == "and":
        if isinstance(right, ConstInt) and right.signed > 0 and right.value & (right.value + 1) == 0:
            # The low bits are the remainder by a power of two, of either reading.
            return remainder(made.operand(scope, value, left, signed), right.value + 1)
        if isinstance(right, ConstInt) and right.signed < 0 and right.signed & -right.signed == -right.signed:
            # Without the low bits it is a multiple of a power of two.
            return floor_division(made.operand(scope, value, left, signed), -right.signed) * -right.signed
        return None
    if op in ("ashr", "lshr"):
        if not isinstance(right, ConstInt) or not 0 < right.value < value.type.bits:
            return None
        inner = made.operand(scope, value, left, op == "ashr")
        if signed or op == "lshr" or _is_nonnegative(made, scope, value, inner):
            return floor_division(inner, 1 << right.value)
        return None
    return _quotient(made, scope, value, signed)


def _quotient(made: Reconstruction, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
    op, (left, right) = value.op, value.operands
    assert isinstance(value.type, IntType) and value.block is not None
    unsigned = op[0] == "u"
    a, b = (made.operand(scope, value, v, not unsigned) for v in (left, right))
    wants_quotient = op in ("udiv", "sdiv")
    if _is_nonnegative(made, scope, value, a):
        if not made.facts(scope, value.block).is_positive(b):
            return None
        result = floor_division(a, b) if wants_quotient else remainder(a, b)
        high = numeric_bound(result, upper=True)
        is_small = high is not None and high < 1 << (value.type.bits - 1)
        return result if not (unsigned and signed) or is_small else None
    if unsigned or not signed or not isinstance(right, ConstInt) or right.signed <= 0:
        return None
    # Towards zero: up for a negative dividend, down for others.
    up = -floor_division(-a, right.signed)
    if _is_nonnegative(made, scope, value, -a):
        quotient = up
    else:
        quotient = maximum([floor_division(a, right.signed), minimum([up, as_expression(0)])])
    return quotient if wants_quotient else a - quotient * right.signed


def _select(made: Reconstruction, scope: Scope, value: Instruction, signed: bool) -> Expression | None:
    condition, a, b = value.operands
    first, second = made.operand(scope, value, a, signed), made.operand(scope, value, b, signed)
    if first == second:
        return first
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return None
    if signed and counts_from_the_end(condition) and _is_from_the_front(made, scope, value, first - second):
        return second
    predicate: str = condition.predicate
    if (predicate[0] == "s") != signed or predicate in ("eq", "ne"):
        return None
    x, y = (made.operand(scope, value, v, signed) for v in condition.operands)
    # The greater or the smaller of two, which may differ from what is compared by the same constant.
    distance = (first - x).constant
    if distance is not None and (second - y).constant == distance:
        smaller = predicate[1] == "l"
    else:
        distance = (first - y).constant
        if distance is None or (second - x).constant != distance:
            return None
        smaller = predicate[1] == "g"
    return minimum([first, second]) if smaller else maximum([first, second])


def _is_from_the_front(made: Reconstruction, scope: Scope, value: Instruction, size: Expression) -> bool:
    """Whether an index does not count from the end of what has such a size.

    Conditions on the way say so, as ``j < m`` does of ``i * m + j``, or tests can ask sizes that it is made of.
    """
    condition = value.operands[0]
    assert isinstance(condition, Instruction)
    number = made.operand(scope, value, condition.operands[0])
    if _is_nonnegative(made, scope, value, number):
        return True
    least = numeric_bound(size, upper=False)
    if value.block is None or least is None or least < 0 or not all(map(_may_be_size, number.terms.items())):
        return False
    obligation = Obligation(number, value.block, True)
    made.program.assume(value, "wrap", "what is computed here is not negative", line_of(value), obligation)
    return True


def _may_be_size(term: tuple[Monomial, int]) -> bool:
    """Whether a term is a product of counters and of parameters, which nobody gives where they are negative."""
    atoms, coefficient = term
    return coefficient > 0 and all(
        isinstance(atom, Symbol)
        and (
            (atom.low is not None and atom.low >= 0)
            or (atom.loop is None and isinstance(atom.origin, Argument))
        )
        for atom in atoms
    )
