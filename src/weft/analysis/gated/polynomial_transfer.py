"""Transfer functions of abstract polynomials: Sampaio et al. Fig. 13, for the operations of LLVM.

Sums, differences and products are those of polynomials (SUMA, MULA), because integers modulo 2ⁿ are a ring. All other
operations on integers are functions of uniform operands (GBZA), but for the following, each of which needs a reason:

* extensions, quotients and ordered comparisons see a number, not a residue: their operands must not wrap;
* truncation and what keeps or drops low bits see residues: they only need factors that are multiples of 2ᵏ.

Degrees above the domain's are not kept: nothing is then claimed.

The functions are monotone but for one exception: where a factor itself is not in the signed range (in i8, 3·50), it is
taken modulo 2ⁿ and exactness is lost, which an unknown factor keeps. The solver only goes down, and so ends regardless.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.analysis.gated.polynomial import UNKNOWN, Coefficient, Coefficients, Polynomial, PolynomialDomain
from weft.analysis.integers.bounds import to_signed, to_unsigned, trailing_zeros
from weft.analysis.shapes import ACTIVE, BASE, WRAPS

Flags = Sequence[str]
Operands = Sequence[Polynomial]


def elementwise(domain: PolynomialDomain, bits: int, operands: Operands) -> Polynomial:
    """A function of the operands: uniform where all of them are (GBZA)."""
    return domain.uniform(bits) if all(o.is_uniform for o in operands) else domain.divergent(bits)


def choose(condition: Polynomial, then: Polynomial, otherwise: Polynomial) -> Polynomial:
    """One of two values, by a condition: γ where the decision is data (GAMA, PDVA)."""
    if condition.is_uniform:
        if condition.constant is not None:
            return then if condition.constant else otherwise
        return then.domain.meet(then, otherwise)
    return apart([then, otherwise])


def apart(values: Operands) -> Polynomial:
    """What threads see that each come with one of `values`, of one or another execution (PDVA).

    Only a function of the thread id that is known to the last coefficient is then still the same for all.
    """
    first = values[0]
    domain = first.domain
    if not first.is_known or any(v.coefficients != first.coefficients for v in values):
        return domain.divergent(first.bits)
    # Of a base that is not in range threads may have different ones.
    nsw = BASE if all(v.nsw == BASE for v in values) else WRAPS
    nuw = BASE if all(v.nuw == BASE for v in values) else WRAPS
    return domain.make(first.bits, first.coefficients, nsw, nuw)


def _reading(x: Polynomial, signed: bool) -> Coefficients | None:
    """The coefficients over the integers, None if x may wrap. The base is known only if it is in range."""
    level = x.nsw if signed else x.nuw
    if level == WRAPS:
        return None
    base = x.coefficients[0]
    if base is None or level < BASE:
        base = UNKNOWN
    elif not signed:
        base = to_unsigned(base, x.bits)
    return (base, *x.coefficients[1:])


def _agrees(over_integers: Coefficients | None, kept: Sequence[Coefficient], bits: int) -> bool:
    """Whether the factors over the integers are those that are kept modulo 2ⁿ, in the signed range."""
    if over_integers is None:
        return False
    return all(a is None or b == to_signed(a, bits) for a, b in zip(kept[1:], over_integers[1:], strict=True))


def _add(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    return _sum(domain, bits, flags, x, y, 1)


def _sub(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    return _sum(domain, bits, flags, x, y, -1)


def _sum(
    domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial, sign: int
) -> Polynomial:
    def total(a: Coefficients, b: Coefficients) -> Coefficients:
        return tuple(None if p is None or q is None else p + sign * q for p, q in zip(a, b, strict=True))

    def level(signed: bool) -> int:
        a, b = _reading(x, signed), _reading(y, signed)
        return ACTIVE if a and b and _agrees(total(a, b), kept, bits) else WRAPS

    kept = total(x.coefficients, y.coefficients)
    nsw = level(True) if "nsw" in flags else WRAPS
    nuw = level(False) if "nuw" in flags else WRAPS
    return domain.make(bits, kept, nsw, nuw)


def _mul(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    kept = domain.multiply(x.coefficients, y.coefficients)
    if kept is None:
        return domain.divergent(bits)

    def level(signed: bool) -> int:
        a, b = _reading(x, signed), _reading(y, signed)
        return ACTIVE if a and b and _agrees(domain.multiply(a, b), kept, bits) else WRAPS

    nsw = level(True) if "nsw" in flags else WRAPS
    nuw = level(False) if "nuw" in flags else WRAPS
    return domain.make(bits, kept, nsw, nuw)


def _shl(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    amount = y.constant
    if amount is None:
        # 2^y is uniform if y is, and an integer whatever it is.
        power = domain.uniform(bits) if y.is_uniform else domain.divergent(bits)
        return _mul(domain, bits, flags, x, power)
    if not 0 <= amount < bits:
        return domain.uniform(bits)
    if amount == bits - 1:
        # The factor 2^(n-1) is not in the signed range.
        flags = [f for f in flags if f != "nsw"]
    return _mul(domain, bits, flags, x, domain.constant(bits, 1 << amount))


def _bit_or(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    if "disjoint" in flags:
        return _add(domain, bits, ("nsw", "nuw"), x, y)
    return elementwise(domain, bits, (x, y))


def _bit_xor(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    if x.constant == -1:
        x, y = y, x
    if y.constant == -1:
        # -1 - x never wraps, in either reading.
        return _sub(domain, bits, ("nsw", "nuw"), domain.constant(bits, -1), x)
    return elementwise(domain, bits, (x, y))


def _bit_and(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    if x.constant is not None:
        x, y = y, x
    mask = y.constant
    if mask is None:
        return elementwise(domain, bits, (x, y))
    zeros = _common_zeros(x)
    if to_unsigned(mask, bits) < 1 << zeros:
        return _masked(domain, x, mask)
    if mask < 0 and -mask & (-mask - 1) == 0 and trailing_zeros(mask) <= zeros:
        # Without its low bits, which are uniform: of the base a multiple of 2^k remains, which is in range.
        base = x.coefficients[0]
        kept = (None if base is None else base & mask, *x.coefficients[1:])
        return domain.make(bits, kept, x.nsw, x.nuw)
    return domain.divergent(bits)


def _common_zeros(x: Polynomial) -> int:
    """How many low bits of x do not depend on the thread."""
    return min((0 if a is None else trailing_zeros(a) for a in x.coefficients[1:] if a != 0), default=x.bits)


def _masked(domain: PolynomialDomain, x: Polynomial, mask: int) -> Polynomial:
    """The bits of x under a mask, where no bit of the mask depends on the thread."""
    base = x.coefficients[0] if mask else 0
    return domain.uniform(x.bits) if base is None else domain.constant(x.bits, base & mask)


def _urem(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    divisor = _divisor(y)
    if divisor:
        if divisor & (divisor - 1) == 0 and divisor <= 1 << _common_zeros(x):
            return _masked(domain, x, divisor - 1)
        if x.nuw and _divides(divisor, x):
            return domain.uniform(bits)
    return elementwise(domain, bits, (x, y))


def _divisor(y: Polynomial) -> int | None:
    return None if y.constant is None else to_unsigned(y.constant, y.bits)


def _divides(divisor: int, x: Polynomial) -> bool:
    return all(a is not None and a % divisor == 0 for a in x.coefficients[1:])


def _udiv(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    return _quotient(domain, x, y, _divisor(y), signed=False)


def _lshr(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    return _quotient(domain, x, y, _power(y), signed=False)


def _ashr(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial, y: Polynomial) -> Polynomial:
    return _quotient(domain, x, y, _power(y), signed=True)


def _power(amount: Polynomial) -> int | None:
    k = amount.constant
    return 1 << k if k is not None and 0 <= k < amount.bits else None


def _quotient(
    domain: PolynomialDomain, x: Polynomial, y: Polynomial, divisor: int | None, signed: bool
) -> Polynomial:
    """The quotient rounded down, where the divisor divides all factors: ``⌊(d·q(T) + b)/d⌋ = q(T) + ⌊b/d⌋``."""
    over_integers = _reading(x, signed)
    if not divisor or x.is_uniform or over_integers is None or not _divides(divisor, x):
        return elementwise(domain, x.bits, (x, y))
    kept = [None if a is None else a // divisor for a in over_integers]
    if signed:
        return domain.make(x.bits, kept, x.nsw, WRAPS)
    return domain.make(x.bits, kept, x.nuw if divisor > 1 else WRAPS, x.nuw)


def _zext(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial) -> Polynomial:
    """The unsigned value, which is the signed one as well in the wider type."""
    exact, level = _reading(x, False), x.nuw
    if exact is None and "nneg" in flags:
        exact, level = _reading(x, True), min(x.nsw, ACTIVE)
    if exact is None:
        return elementwise(domain, bits, (x,))
    return domain.make(bits, exact, level, level)


def _sext(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial) -> Polynomial:
    exact = _reading(x, True)
    if exact is None:
        return elementwise(domain, bits, (x,))
    return domain.make(bits, exact, x.nsw, WRAPS)


def _trunc(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial) -> Polynomial:
    kept = x.coefficients
    nsw = ACTIVE if "nsw" in flags and _agrees(_reading(x, True), kept, bits) else WRAPS
    nuw = ACTIVE if "nuw" in flags and _agrees(_reading(x, False), kept, bits) else WRAPS
    return domain.make(bits, kept, nsw, nuw)


def _freeze(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial) -> Polynomial:
    """What poison becomes is the compiler's choice, who chooses what fits; so may the base be."""
    return domain.make(bits, (UNKNOWN, *x.coefficients[1:]))


def _same(domain: PolynomialDomain, bits: int, flags: Flags, x: Polynomial) -> Polynomial:
    """Casts that change nothing."""
    return x if x.bits == bits else elementwise(domain, bits, (x,))


def _compare(
    domain: PolynomialDomain, bits: int, predicate: str, flags: Flags, x: Polynomial, y: Polynomial
) -> Polynomial:
    """An integer comparison: uniform where the difference is, over the integers if the order matters.

    With ``N = T + c₁`` and ``i = T + c₂``, ``i < N`` has one answer for all threads.
    """
    if (x.is_uniform and y.is_uniform) or not x.bits:
        return elementwise(domain, bits, (x, y))
    moving = x.coefficients[1:]
    if UNKNOWN not in moving and moving == y.coefficients[1:]:
        if predicate in ("eq", "ne"):
            return domain.uniform(bits)
        readings = (True, False) if "samesign" in flags else (predicate[0] == "s",)
        if any(_reading(x, signed) and _reading(y, signed) for signed in readings):
            return domain.uniform(bits)
    return domain.divergent(bits)


def _extremum(domain: PolynomialDomain, op: str, x: Polynomial, y: Polynomial) -> Polynomial:
    """umin, umax, smin and smax: one of the operands by a comparison."""
    return choose(_compare(domain, 1, f"{op[0]}lt", (), x, y), x, y)


def _address(
    domain: PolynomialDomain, bits: int, operands: Operands, scales: Sequence[int], offset: int
) -> Polynomial:
    """A getelementptr: base, indices with their sizes in bytes, and the constant rest."""
    result = _add(domain, bits, (), operands[0], domain.constant(bits, offset))
    for index, scale in zip(operands[1:], scales, strict=True):
        wide = index
        if index.bits < bits:
            wide = _sext(domain, bits, (), index)
        elif index.bits > bits:
            wide = _trunc(domain, bits, (), index)
        result = _add(domain, bits, (), result, _mul(domain, bits, (), wide, domain.constant(bits, scale)))
    return result


_Rule = Callable[..., Polynomial]

_BINARY: dict[str, _Rule] = {
    "add": _add, "sub": _sub, "mul": _mul, "shl": _shl, "or": _bit_or, "xor": _bit_xor, "and": _bit_and,
    "urem": _urem, "udiv": _udiv, "lshr": _lshr, "ashr": _ashr,
}  # fmt: skip
_UNARY: dict[str, _Rule] = {
    "zext": _zext, "sext": _sext, "trunc": _trunc, "freeze": _freeze,
    "ptrtoint": _same, "ptrtoaddr": _same, "inttoptr": _same, "bitcast": _same, "addrspacecast": _same,
}  # fmt: skip


def transfer(
    domain: PolynomialDomain,
    op: str,
    flags: Flags,
    bits: int,
    operands: Operands,
    predicate: str | None = None,
    scales: Sequence[int] = (),
    offset: int = 0,
) -> Polynomial:
    """The state of a result; parameters as those of `weft.analysis.shapes.Domain.transfer`."""
    if op in _BINARY and bits:
        return _BINARY[op](domain, bits, flags, *operands)
    if op in _UNARY and bits and operands[0].bits:
        return _UNARY[op](domain, bits, flags, *operands)
    if op == "icmp" and predicate is not None:
        return _compare(domain, bits, predicate, flags, *operands)
    if op == "select":
        return choose(*operands)
    if op == "getelementptr" and bits:
        return _address(domain, bits, operands, scales, offset)
    if op in ("umin", "umax", "smin", "smax") and bits:
        return _extremum(domain, op, *operands)
    return elementwise(domain, bits, operands)
