"""Transfer functions of intervals for LLVM's integer opcodes, sound under wrap-around.

Operands that can wrap give the full range unless flags (nsw, nuw, nneg) rule the wrapped results out: where they
are broken the result is poison, of which an interval says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from weft.analysis.integers.bounds import to_signed
from weft.analysis.integers.intervals import Interval, compare, constant, full, join, meet, unsigned, wrapped
from weft.analysis.integers.wrapping import Flags, wrapping


def transfer(
    op: str,
    flags: Flags,
    bits: int,
    operands: Sequence[Interval | None],
    operand_bits: int | None = None,
    predicate: str | None = None,
) -> Interval | None:
    """The interval of ``op operands``.

    Parameters
    ----------
    op
        LLVM's opcode, or umin umax smin smax abs.
    bits, operand_bits
        Width of the result and, where it differs (casts, icmp), of the operands.
    operands
        Their intervals; None (no value yet) gives None, except at phi and select, which join.
    """
    if op == "phi":
        result: Interval | None = None
        for operand in operands:
            result = join(result, operand)
        return result
    if op == "select":
        return select(*operands)
    if any(operand is None for operand in operands):
        return None
    return rule_of(op, tuple(flags), bits, operand_bits, predicate)(*operands)


@lru_cache(maxsize=4096)
def rule_of(
    op: str, flags: tuple[str, ...], bits: int, operand_bits: int | None = None, predicate: str | None = None
) -> Callable[..., Interval]:
    """The transfer function of an opcode other than phi and select, of operands that all have an interval."""
    if op == "icmp":
        assert predicate is not None, "icmp has a predicate"
        return partial(_icmp, predicate, operand_bits or bits)
    rule = _BINARY.get(op)
    if rule is not None:
        return partial(rule, flags, bits)
    cast = _CASTS.get(op)
    if cast is not None:
        return partial(cast, flags, bits, operand_bits or bits)
    return lambda *operands: full(bits)


def _icmp(predicate: str, bits: int, x: Interval, y: Interval) -> Interval:
    outcome = compare(predicate, x, y, bits)
    return full(1) if outcome is None else constant(1, int(outcome))


def _shl(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    amount = _amount(bits, y)
    return full(bits) if amount is None else wrapping("shl")(flags, bits, x, amount)


def _amount(bits: int, y: Interval) -> Interval | None:
    """Shift amounts that do not give poison."""
    lo, hi = unsigned(y, bits)
    hi = min(hi, bits - 1)
    return Interval(lo, hi) if lo <= hi else None


def _lshr(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    amount = _amount(bits, y)
    if amount is None:
        return full(bits)
    if amount.hi == 0:
        return x
    if amount.lo == 0 and x.lo < 0:
        # An unshifted negative value stays negative, all others are not negative.
        return Interval(x.lo, full(bits).hi)
    lo, hi = unsigned(x, bits)
    return wrapped(lo >> amount.hi, hi >> amount.lo, bits)


def _ashr(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    amount = _amount(bits, y)
    if amount is None:
        return full(bits)
    corners = [bound >> shift for bound in x for shift in amount]
    return Interval(min(corners), max(corners))


def _udiv(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    (xlo, xhi), (ylo, yhi) = unsigned(x, bits), unsigned(y, bits)
    if yhi == 0:
        return full(bits)
    return wrapped(xlo // yhi, xhi // max(ylo, 1), bits)


def _quotient(x: int, y: int) -> int:
    magnitude = abs(x) // abs(y)
    return magnitude if (x < 0) == (y < 0) else -magnitude


def _sdiv(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    divisors = {d for d in (y.lo, y.hi, -1, 1) if d != 0 and y.holds(d)}
    if not divisors:
        return full(bits)
    corners = [_quotient(bound, d) for bound in x for d in divisors]
    # Only INT_MIN / -1 leaves the range, and it is undefined.
    return Interval(max(min(corners), full(bits).lo), min(max(corners), full(bits).hi))


def _urem(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    xhi = unsigned(x, bits)[1]
    ylo, yhi = unsigned(y, bits)
    if yhi == 0:
        return full(bits)
    if xhi < ylo:
        return x
    return wrapped(0, min(xhi, yhi - 1), bits)


def _srem(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    largest = max(abs(y.lo), abs(y.hi)) - 1
    if largest < 0:
        return full(bits)
    least = 0 if y.holds(0) else min(abs(y.lo), abs(y.hi))
    if -least < x.lo and x.hi < least:
        return x
    return Interval(max(min(x.lo, 0), -largest), min(max(x.hi, 0), largest))


def _and(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    if x.lo >= 0 or y.lo >= 0:
        return Interval(0, min(a.hi for a in (x, y) if a.lo >= 0))
    # Both may be negative: sign bits above the longer of the two magnitudes survive.
    floor = -(1 << max((~x.lo).bit_length(), (~y.lo).bit_length()))
    return Interval(floor, max(x.hi, y.hi) if x.hi >= 0 or y.hi >= 0 else min(x.hi, y.hi))


def _or(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    # x | y is ~(~x & ~y).
    lo, hi = _and((), bits, Interval(~x.hi, ~x.lo), Interval(~y.hi, ~y.lo))
    found = Interval(~hi, ~lo)
    if "disjoint" not in flags:
        return found
    # Nothing is carried: it is their sum.
    return meet(found, wrapping("add")(("nuw", "nsw"), bits, x, y)) or found


def _xor(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    lengths = [bound.bit_length() if bound >= 0 else (~bound).bit_length() for bound in (*x, *y)]
    ones = (1 << max(lengths)) - 1
    same = (x.lo >= 0 and y.lo >= 0) or (x.hi < 0 and y.hi < 0)
    differ = (x.lo >= 0 and y.hi < 0) or (x.hi < 0 and y.lo >= 0)
    return Interval(0 if same else ~ones, -1 if differ else ones)


def _umin(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    (xlo, xhi), (ylo, yhi) = unsigned(x, bits), unsigned(y, bits)
    return wrapped(min(xlo, ylo), min(xhi, yhi), bits)


def _umax(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    (xlo, xhi), (ylo, yhi) = unsigned(x, bits), unsigned(y, bits)
    return wrapped(max(xlo, ylo), max(xhi, yhi), bits)


def _smin(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    return Interval(min(x.lo, y.lo), min(x.hi, y.hi))


def _smax(flags: Flags, bits: int, x: Interval, y: Interval) -> Interval:
    return Interval(max(x.lo, y.lo), max(x.hi, y.hi))


def _zext(flags: Flags, bits: int, source: int, x: Interval) -> Interval:
    if "nneg" in flags:
        return Interval(max(x.lo, 0), x.hi) if x.hi >= 0 else full(bits)
    return wrapped(*unsigned(x, source), bits)


def _sext(flags: Flags, bits: int, source: int, x: Interval) -> Interval:
    return x


def _trunc(flags: Flags, bits: int, source: int, x: Interval) -> Interval:
    if "nsw" in flags:
        return meet(x, full(bits)) or full(bits)
    if "nuw" in flags:
        lo, hi = unsigned(x, source)
        hi = min(hi, (1 << bits) - 1)
        return wrapped(lo, hi, bits) if lo <= hi else full(bits)
    return wrapped(*x, bits)


def _resize(flags: Flags, bits: int, source: int, x: Interval) -> Interval:
    return _trunc((), bits, source, x) if bits <= source else _zext((), bits, source, x)


def _abs(flags: Flags, bits: int, source: int, x: Interval) -> Interval:
    if x.lo >= 0:
        return x
    if x.lo == full(bits).lo:
        return full(bits)
    return Interval(0 if x.hi >= 0 else -x.hi, max(-x.lo, x.hi))


def _freeze(flags: Flags, bits: int, source: int, x: Interval) -> Interval:
    # Frozen poison may be any value, in the interval or not.
    return x if "noundef" in flags else full(bits)


def select(condition: Interval | None, then: Interval | None, otherwise: Interval | None) -> Interval | None:
    """The interval of a select, of operands that need not have one yet."""
    if condition is None:
        return None
    if condition.is_constant:
        return then if to_signed(condition.lo, 1) else otherwise
    return join(then, otherwise)


_BINARY: dict[str, Callable[[Flags, int, Interval, Interval], Interval]] = {
    "add": wrapping("add"), "sub": wrapping("sub"), "mul": wrapping("mul"), "shl": _shl,
    "lshr": _lshr, "ashr": _ashr, "udiv": _udiv, "sdiv": _sdiv, "urem": _urem, "srem": _srem,
    "and": _and, "or": _or, "xor": _xor,
    "umin": _umin, "umax": _umax, "smin": _smin, "smax": _smax,
}  # fmt: skip

_CASTS: dict[str, Callable[[Flags, int, int, Interval], Interval]] = {
    "zext": _zext, "sext": _sext, "trunc": _trunc, "bitcast": _resize, "addrspacecast": _resize,
    "ptrtoint": _resize, "ptrtoaddr": _resize, "inttoptr": _resize, "abs": _abs, "freeze": _freeze,
}  # fmt: skip
