"""Quotients by roots of doubles, under fastmath: products with the inverse root, without a division and a root.

A processor with AVX-512 estimates inverse roots of doubles to 14 bits, and with AVX2 half of a number's exponent is a
guess that a polynomial makes right to 20. What then lacks is added to the quotient: some products and sums, of which
there are two at a time, where a root and a quotient keep an Intel server core busy for 20 cycles (four doubles) and 40
(eight). LLVM does this for floats only. On AVX2 that is 2.9 ns for four doubles, 6.7 with the root and the quotient::

    root = sqrt y                          r = about y ** -0.5
    q    = x / (y * root)          ==>     e = 1 - y (r r)
                                           p = x r (r r)
                                           q = p + p e (3 / 2 + 15 e / 8 + ...)

A root that divides several numbers is inverted once; each is multiplied by it then. Nothing overflows on the way that
would not in the end. Quotients by zero are whatever they are, and with AVX2 those by roots of subnormal numbers: under
fastmath nothing may be infinite.

Precondition: plain LLVM IR. Postcondition: with AVX-512, and with AVX2 where there are 16 lanes or the loop is one
block, no vector of doubles is divided by a product of a root and what it is the root of, where the root is used for
nothing else and all flags of fastmath stand at the root, the quotient and the product
(`weft.analysis.inverse_roots`). Preserves the program under FR and OBL, but for a few units in the last place: 3 where
a root divides one number, 2 where it divides several itself, 9 where its fifth power does.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.inverse_roots import (
    estimates_inverses,
    guesses_inverses,
    only_divides,
    root_below,
    takes_inverses,
)
from weft.ir import Builder, ConstInt, ConstSplat, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.types import I64, VectorType
from weft.machine.targets import Isa
from weft.transform.numbers.estimates import Sums, doubles_of, estimate

GUESS = 0x5FE6EB50C7B537A9
"""Less half of a number's bits: those of its inverse root, but for 3.4 %."""

FIRST_STEP = (2.18933277, -2.1917207, 1.31544126, -0.31305408368109483)
"""About ``t ** -0.5``, but for 7.5e-7, where ``t = y r r`` for such a guess r (Remez's polynomial)."""


def replace_inverse_roots(function: Function, isa: Isa) -> int:
    """Take quotients by roots without roots and quotients; return how many."""
    if not estimates_inverses(isa) and not guesses_inverses(isa):
        return 0
    roots: dict[Instruction, dict[Instruction, int]] = {}
    for quotient in function.instructions():
        if doubles_of(quotient):
            found = root_below(quotient)
            if found is not None:
                roots.setdefault(found[0], {})[quotient] = found[1]
    roots = {root: quotients for root, quotients in roots.items() if only_divides(root) and _gains(root, isa)}
    estimates = estimates_inverses(isa)
    for root, quotients in roots.items():
        y = root.args[0]
        if len(quotients) == 1:
            ((quotient, power),) = quotients.items()
            if quotient.block is root.block:
                here = _before(quotient)
                near = _near(here, y, estimates, power)
                quotient.replace_all_uses(_quotient(here, quotient.operands[0], near, power))
                continue
        behind = _behind(root)
        inverse = _quotient(behind, None, _near(behind, y, estimates, 1), 1)
        for quotient, power in quotients.items():
            quotient.replace_all_uses(_product(_before(quotient), quotient.operands[0], inverse, power))
    if roots:
        remove_dead_instructions(function)
    return sum(map(len, roots.values()))


def _gains(root: Instruction, isa: Isa) -> bool:
    """Whether there are many lanes, or a loop waits for nothing else."""
    assert root.block is not None
    return takes_inverses(isa, doubles_of(root)) or root.block in root.block.successors


def _behind(root: Instruction) -> Builder:
    assert root.block is not None
    instructions = root.block.instructions
    builder = Builder(before=instructions[instructions.index(root) + 1])
    builder.loc = root.loc
    return builder


def _before(quotient: Instruction) -> Builder:
    builder = Builder(before=quotient)
    builder.loc = quotient.loc
    return builder


class _Near(Struct, frozen=True):
    """About an inverse root, and how many terms of a series make it exact."""

    y: Value
    inverse: Value
    terms: int


def _near(build: Builder, y: Value, estimates: bool, power: int) -> _Near:
    if estimates:
        # What is left out is e ** 4 times 35 / 128 for the root itself, and 2.5 or more for its powers.
        return _Near(y, estimate(build, "rsqrt14", y), 3 if power == 1 else 4)
    return _Near(y, _guess(build, y), 2)


def _guess(build: Builder, y: Value) -> Value:
    """About the inverse root, but for 7.5e-7, from half of the exponent: of all that is neither 0 nor subnormal."""
    s = Sums.of(build, y)
    words = VectorType(I64, s.type.count)
    half = build.binary("lshr", build.cast("bitcast", y, words), ConstSplat(words, ConstInt(I64, 1)))
    r = build.cast("bitcast", build.binary("sub", ConstSplat(words, ConstInt(I64, GUESS)), half), s.type)
    return s.times(r, s.polynomial(s.times(y, s.times(r, r)), FIRST_STEP))


def _quotient(build: Builder, x: Value | None, near: _Near, power: int) -> Value:
    """``x * y ** (-power / 2)``: what the product lacks is added at the end. Without x that of 1."""
    y, r = near.y, near.inverse
    s = Sums.of(build, y)
    square = s.times(r, r) if power > 1 else None
    e = s.lacking(y, square) if square is not None else s.lacking(s.times(y, r), r)
    product = r if x is None else _product(build, x, r, power, square)
    return s.fma(s.times(product, e), s.polynomial(e, series(power, near.terms)), product)


def series(power: int, terms: int) -> list[float]:
    """Of ``(1 - e) ** (-power / 2)``: coefficients behind 1."""
    coefficients = [power / 2]
    for k in range(1, terms):
        coefficients.append(coefficients[-1] * (power / 2 + k) / (k + 1))
    return coefficients


def _product(build: Builder, x: Value, r: Value, power: int, square: Value | None = None) -> Value:
    """``x * r ** power``, without flags: in another order it may overflow on the way."""
    s = Sums.of(build, r)
    product = s.times(x, r) if power % 2 else x
    square = s.times(r, r) if power > 1 and square is None else square
    for _ in range(power // 2):
        assert square is not None
        product = s.times(product, square)
    return product
