"""Quotients by constants that a compiler has written as products: ``x * 954437177 >> 33`` is ``x / 9`` again.

Lanes of short numbers are divided in their own size, while the product has twice as many bits, and what runs threads in
boxes looks for divisions. With M·d = 2ᵏ + e, e not negative,

    x·M / 2ᵏ = x/d + e·x / (d·2ᵏ),

of which the second part is less than 1/d, so that no whole number is between, if e·x < 2ᵏ.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: no such product of a number of 64 bits that
is known not to be negative, and small enough for that, is shifted so. Preserves the program under FR: what is known of
a number holds wherever it is not poison.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import Interval
from weft.analysis.integers.kept_ranges import ranges_of
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I32, I64

_HALF = 32
"""Numbers of so many bits have products of twice as many, which are shifted by more."""


def find_written_quotients(function: Function) -> int:
    """Compute such products as quotients; how many."""
    asking = [i for i in function.instructions() if _is_shifted_product(i)]
    if not asking:
        return 0
    ranges = ranges_of(function, cfg_of(function))
    # What is known is of the program as it is.
    known = [(shift, _divisor(shift, ranges.at(_parts(shift)[0], shift.block))) for shift in asking]
    for shift, divisor in known:
        if divisor is not None:
            builder = Builder(before=shift)
            builder.loc = shift.loc
            number = builder.cast("trunc", _parts(shift)[0], I32, ("nuw", "nsw"))
            quotient = builder.binary("udiv", number, ConstInt(I32, divisor))
            replace_and_erase(shift, builder.cast("zext", quotient, I64))
    return sum(divisor is not None for _, divisor in known)


def _is_shifted_product(shift: Instruction) -> bool:
    if shift.op not in ("lshr", "ashr") or shift.type != I64:
        return False
    product, amount = shift.operands
    if not isinstance(amount, ConstInt) or not _HALF <= amount.value < 64:
        return False
    return (
        isinstance(product, Instruction) and product.op == "mul" and isinstance(product.operands[1], ConstInt)
    )


def _parts(shift: Instruction) -> tuple[Value, int]:
    product = shift.operands[0]
    assert isinstance(product, Instruction)
    number, factor = product.operands
    assert isinstance(factor, ConstInt)
    return number, factor.value


def _divisor(shift: Instruction, known: Interval | None) -> int | None:
    """What a number in an interval is divided by; None if it is not known to be."""
    amount = shift.operands[1]
    assert isinstance(amount, ConstInt)
    factor, whole = _parts(shift)[1], 1 << amount.value
    if known is None or not 0 <= known.lo <= known.hi < 1 << (_HALF - 1):
        return None
    if factor < 2 or known.hi * factor >= 1 << 63:
        return None
    divisor = -(-whole // factor)
    error = factor * divisor - whole
    # A power of two would be a shift.
    is_quotient = divisor & (divisor - 1) and divisor < 1 << (_HALF - 1) and error * known.hi < whole
    return divisor if is_quotient else None
