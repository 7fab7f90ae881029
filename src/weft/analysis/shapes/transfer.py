"""One transfer function for the whole lattice of shapes: opcode by opcode.

What has no rule of its own is uniform where all its operands are, and varying elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from weft.analysis.integers.intervals import Interval
from weft.analysis.shapes.address import getelementptr
from weft.analysis.shapes.application import Application, Fact, tighten
from weft.analysis.shapes.arithmetic import add, mul, shl, sub
from weft.analysis.shapes.bitwise import and_, or_, xor
from weft.analysis.shapes.casts import same_bits, sext, trunc, zext
from weft.analysis.shapes.compare import icmp
from weft.analysis.shapes.division import ashr, lshr, sdiv, srem, udiv, urem
from weft.analysis.shapes.lattice import Extents, make
from weft.analysis.shapes.selection import absolute, freeze, minimum_or_maximum, phi, select
from weft.analysis.shapes.shape import ACTIVE, BASE, BOTTOM, Shape

Rule = Callable[[Application], Shape]

_RULES: dict[str, Rule] = {
    "add": add, "sub": sub, "mul": mul, "shl": shl,
    "lshr": lshr, "ashr": ashr, "udiv": udiv, "sdiv": sdiv, "urem": urem, "srem": srem,
    "and": and_, "or": or_, "xor": xor, "ptrmask": and_,
    "icmp": icmp, "select": select, "phi": phi, "freeze": freeze,
    "umin": minimum_or_maximum, "umax": minimum_or_maximum,
    "smin": minimum_or_maximum, "smax": minimum_or_maximum, "abs": absolute,
    "zext": zext, "sext": sext, "trunc": trunc,
    "ptrtoint": same_bits, "ptrtoaddr": same_bits, "inttoptr": same_bits,
    "addrspacecast": same_bits, "bitcast": same_bits,
    "getelementptr": getelementptr,
}  # fmt: skip

_NO_INTEGERS = {"select", "phi", "bitcast", "icmp", "freeze", "ptrtoint", "inttoptr"}
"""Rules that also know results and operands that are no integers."""


def transfer(
    extents: Extents,
    op: str,
    flags: frozenset[str],
    bits: int,
    operands: Sequence[Fact],
    predicate: str | None = None,
    scales: tuple[int, ...] = (),
    offset: int = 0,
    bounds: Interval | None = None,
    need: int = ACTIVE,
) -> Shape:
    """The shape of the result; parameters as `domain.Domain.transfer` and `Application` state them."""
    facts = tuple(operands)
    if op != "phi" and any(fact.shape.is_bottom for fact in facts):
        return _selected(facts) if op == "select" else BOTTOM
    shapes = tuple(_sharpened(extents, fact, need) for fact in facts)
    if need == BASE:
        flags = frozenset()
    application = Application(extents, op, flags, bits, shapes, facts, predicate, scales, offset, need)
    rule = _RULES.get(op)
    if rule is None or (not bits and op not in _NO_INTEGERS):
        return application.elementwise()
    shape = rule(application)
    if bounds is not None:
        shape = tighten(extents, bits, shape, bounds)
        if bounds.is_constant and need == ACTIVE:
            return make(extents, bits, (0,) * len(extents), bounds.lo, bits)
    return shape


def _selected(facts: tuple[Fact, ...]) -> Shape:
    """A select with an arm that has no value, or only poison: where the result is not poison, it is the other arm."""
    condition, then, otherwise = (fact.shape for fact in facts)
    if condition.is_bottom:
        return BOTTOM
    return otherwise if then.is_bottom else then


def _sharpened(extents: Extents, fact: Fact, need: int) -> Shape:
    if fact.constant is not None:
        return make(extents, fact.bits, (0,) * len(extents), fact.constant, fact.bits)
    if fact.range is None or not fact.bits:
        return fact.shape
    if fact.range.is_constant and need == ACTIVE:
        return make(extents, fact.bits, (0,) * len(extents), fact.range.lo, fact.bits)
    return tighten(extents, fact.bits, fact.shape, fact.range)
