"""What is known of integers that floats are converted to.

A float that is compared with a bound, or the lesser or greater of a number and one, tells of the integer that is next
to it towards zero, as conversion keeps the order. Bounds are constants and integers as floats, which are rounded; that
keeps the order, too.

Limits of a float hold unless it is NaN, and NaN may come in anywhere: the lesser of NaN and a bound is the bound, or
NaN. So a minimum is no more than those of its operands that are numbers for certain, and no less than any of them.
Conversion makes 0 of NaN (``llvm.fptosi.sat``), or poison (``fptosi``), of which ranges say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

from weft.analysis.conditions import Condition
from weft.analysis.integers.intervals import Interval, full, join, meet
from weft.ir import ConstFloat, Instruction, Value
from weft.ir.types import F32, F64, FloatType, Type

STEPS = 6
"""Minima and maxima around a number that are looked through."""

FARTHEST, MARGIN = float(1 << 20), 1.0
"""Products and sums up to the first are known to the second, if those that are reassociated are, too: such of 32 bits
are rounded by a sixteenth."""

_LEAST, _GREATEST = 1e-6, float(1 << 20)
"""Constants that a float is multiplied by, so that no product on the way vanishes or is infinite."""

_SATURATING = "llvm.fptosi.sat."
_CHOICES = {"llvm.minnum": True, "llvm.minimum": True, "llvm.maxnum": False, "llvm.maximum": False}
_ROUNDINGS = frozenset(
    f"llvm.{name}" for name in ("floor", "ceil", "trunc", "rint", "nearbyint", "round", "roundeven")
)
"""What makes a whole number of a float, less than 1 away."""

_UPPER, _LOWER = ("slt", "sle"), ("sgt", "sge")
_STRICT = ("slt", "sgt")
_EXACT = 1 << 53
_NO_NAN = frozenset(("fast", "nnan"))

Holding = Callable[[Value], Iterable[Condition]]


class Number(NamedTuple):
    """A float that is never NaN: a constant, or the integer at a place of a list, as a float of a type.

    As a bound it may be `strict`.
    """

    value: float
    place: int | None = None
    type: Type = F64
    strict: bool = False

    def limits(self, known: tuple[Interval, ...]) -> tuple[float, float]:
        """The least and the greatest that it may be; of a strict bound, what is above the one and below the other."""
        lo, hi = self.value, self.value
        if self.place is not None:
            least, most = known[self.place]
            lo, hi = _rounded(least, self.type, -math.inf), _rounded(most, self.type, math.inf)
        return (math.nextafter(lo, math.inf), math.nextafter(hi, -math.inf)) if self.strict else (lo, hi)


class Limits(NamedTuple):
    """What limits a float: numbers that it is compared to, and what it is the lesser or greater of."""

    upper: list[Number]
    lower: list[Number]
    is_minimum: bool = False
    operands: tuple[Limits | Number | Scaled, ...] = ()

    def limits(self, known: tuple[Interval, ...]) -> tuple[float, float]:
        """The least and the greatest that it may be, if it is not NaN."""
        lo, hi = -math.inf, math.inf
        if self.operands:
            found = [o.limits(known) for o in self.operands]
            certain = [f for f, o in zip(found, self.operands, strict=True) if isinstance(o, Number)]
            lo, hi = min(f[0] for f in found), max(f[1] for f in found)
            if self.is_minimum:
                hi = min([hi, *(f[1] for f in certain)])
            else:
                lo = max([lo, *(f[0] for f in certain)])
        hi = min([hi, *(number.limits(known)[1] for number in self.upper)])
        lo = max([lo, *(number.limits(known)[0] for number in self.lower)])
        return lo, hi


class Scaled(NamedTuple):
    """A float times a constant, or with one added to it, which may be computed a little differently.

    Parameters
    ----------
    of
        What limits the float.
    factor, offset
        The constants.
    """

    of: Limits | Number
    factor: float = 1.0
    offset: float = 0.0

    def limits(self, known: tuple[Interval, ...]) -> tuple[float, float]:
        """The least and the greatest that it may be, if it is not NaN; without an end where that is far away."""
        ends = sorted(end * self.factor + self.offset for end in self.of.limits(known))
        lo, hi = ends[0] - MARGIN, ends[1] + MARGIN
        return (lo if abs(lo) <= FARTHEST else -math.inf), (hi if abs(hi) <= FARTHEST else math.inf)


def is_conversion(instruction: Instruction) -> bool:
    """Whether a float becomes a signed integer, the nearest that there is or poison where it does not fit."""
    if instruction.op != "fptosi" and not is_saturating(instruction):
        return False
    return instruction.operands[0].type in (F32, F64)


def is_saturating(instruction: Instruction) -> bool:
    """Whether a float becomes the nearest signed integer that there is."""
    return instruction.op == "call" and (instruction.callee_name or "").startswith(_SATURATING)


def is_never_nan(number: Value, steps: int = STEPS) -> bool:
    """Whether a float is a number, or poison instead of NaN."""
    if isinstance(number, ConstFloat):
        return not math.isnan(number.value)
    if not isinstance(number, Instruction):
        return False
    if not _NO_NAN.isdisjoint(number.flags):
        return True
    if steps and _is_rounded(number):
        return is_never_nan(number.operands[0], steps - 1)
    if number.op != "select" or not steps:
        return False
    test, *chosen = number.operands
    if isinstance(test, Instruction) and test.op == "fcmp" and set(chosen) == set(test.operands):
        # What asks for the lesser of NaN and another number may be poison itself.
        return not _NO_NAN.isdisjoint(test.flags) or all(is_never_nan(v, steps - 1) for v in chosen)
    return all(is_never_nan(v, steps - 1) for v in chosen)


def limits_of(conversion: Instruction, holding: Holding) -> tuple[Limits, list[Value]]:
    """What limits the float that is converted, by conditions that hold there; and the integers that it depends on."""
    integers: list[Value] = []
    found = _limits(conversion.operands[0], holding, integers, STEPS)
    return found if isinstance(found, Limits) else Limits([found], [found]), integers


def converted(limits: Limits, bits: int, is_saturating: bool, *known: Interval) -> Interval | None:
    """The range of a conversion to so many bits, where those of the integers are `known`."""
    whole = full(bits)
    lo, hi = limits.limits(known)
    if lo > hi:
        # No thread comes here, or it is NaN.
        return whole
    least = int(lo) if math.isfinite(lo) else whole.lo
    most = int(hi) if math.isfinite(hi) else whole.hi
    found = meet(whole, Interval(least, most)) or whole
    return join(found, Interval(0, 0)) if is_saturating else found


def _limits(number: Value, holding: Holding, integers: list[Value], steps: int) -> Limits | Number:
    exact = _number(number, integers)
    if exact is not None:
        return exact
    found = Limits([], [])
    for condition in holding(number):
        side = found.upper if condition.predicate in _UPPER else found.lower
        if condition.predicate in (*_UPPER, *_LOWER) and (bound := _number(condition.other, integers)):
            side.append(bound._replace(strict=condition.predicate in _STRICT))
    chosen = lesser_or_greater(number) if steps else None
    if chosen is None:
        scaled = _scaled(number, holding, integers, steps - 1) if steps else None
        return found if scaled is None else found._replace(operands=(scaled,))
    is_minimum, operands = chosen
    return found._replace(
        is_minimum=is_minimum, operands=tuple(_limits(o, holding, integers, steps - 1) for o in operands)
    )


def _scaled(number: Value, holding: Holding, integers: list[Value], steps: int) -> Scaled | None:
    """A product with a constant, or a sum with one, as LLVM has them: the constant comes second, and is added.

    A number that is rounded is one, too, with nothing added to it.
    """
    if isinstance(number, Instruction) and _is_rounded(number):
        return Scaled(_limits(number.operands[0], holding, integers, steps))
    if (
        not isinstance(number, Instruction)
        or number.op not in ("fmul", "fadd")
        or number.type not in (F32, F64)
    ):
        return None
    inner, constant = number.operands
    if not isinstance(constant, ConstFloat) or not abs(constant.value) <= _GREATEST:
        return None
    if number.op == "fadd":
        return Scaled(_limits(inner, holding, integers, steps), offset=constant.value)
    if abs(constant.value) < _LEAST:
        return None
    return Scaled(_limits(inner, holding, integers, steps), constant.value)


def _is_rounded(value: Instruction) -> bool:
    """Whether a float is another one as a whole number."""
    name = (value.callee_name or "").rpartition(".")[0] if value.op == "call" else ""
    return name in _ROUNDINGS and value.type in (F32, F64)


def _number(value: Value, integers: list[Value]) -> Number | None:
    """A float that is a constant, or was made of an integer, which is put into the list."""
    if isinstance(value, ConstFloat):
        return None if math.isnan(value.value) else Number(value.value)
    if not isinstance(value, Instruction) or value.op != "sitofp" or value.type not in (F32, F64):
        return None
    integers.append(value.operands[0])
    return Number(0.0, len(integers) - 1, value.type)


def lesser_or_greater(value: Value) -> tuple[bool, tuple[Value, Value]] | None:
    """Whether a float is the lesser or the greater of two, and of which."""
    if not isinstance(value, Instruction):
        return None
    if value.op == "call":
        is_minimum = _CHOICES.get((value.callee_name or "").rpartition(".")[0])
        return None if is_minimum is None else (is_minimum, (value.operands[0], value.operands[1]))
    if value.op != "select":
        return None
    test, first, second = value.operands
    if not isinstance(test, Instruction) or test.op != "fcmp":
        return None
    order = test.predicate[1:]
    if order not in ("lt", "le", "gt", "ge") or {first, second} != set(test.operands):
        return None
    return (order in ("lt", "le")) == (first is test.operands[0]), (first, second)


def _rounded(number: int, type: Type, end: float) -> float:
    """An integer as a float of a type; the `end` where rounding twice might go wrong."""
    assert isinstance(type, FloatType)
    return ConstFloat.of(type, float(number)).value if abs(number) <= _EXACT else end
