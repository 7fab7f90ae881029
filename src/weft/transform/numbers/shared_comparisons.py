"""Comparisons of short numbers of lanes with a wide one that lanes share, in the bits of the short ones.

``level[x] == step`` compares 32 bits of an array with the 64 bits of a Python int, and so does ``pixel[x] > threshold``
with 8. In lanes the short numbers would be extended, which takes two to eight times the registers. What lanes share is
cut short instead, once for all of them; c(u) is u, or the nearest number that has so few bits:

    ext(x) == u    x == c(u)  and  u == ext(c(u))          ext(x) != u    x != c(u)  or  u != ext(c(u))
    ext(x) < u     x < c(u)   or   u > greatest            ext(x) <= u    x <= c(u)  and  u >= least
    ext(x) > u     x > c(u)   or   u < least               ext(x) >= u    x >= c(u)  and  u <= greatest

*least* and *greatest* are those of the short type, read with a sign where x is extended by one. What the range of u
says is not asked again. A number that is extended for something else, too, as for an index, stays as it is.

Precondition: P-LLVM without predicates, shadows and guards; the divergence is of the function as it is. Postcondition:
no number that differs from lane to lane is extended only to be compared with what lanes share. Preserves the program
under FR: each comparison is poison where it was, or less often.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import SWAPPED
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Value
from weft.ir.types import IntType

_BEYOND = {
    "lt": ("or", "gt", True),
    "gt": ("or", "lt", False),
    "le": ("and", "ge", False),
    "ge": ("and", "le", True),
}
"""By order: how the comparison is joined with one of what lanes share, and its order; whether that is with the greatest
number, or with the least one."""


class _Short(Struct, frozen=True):
    """What the numbers of a type, read with a sign or without one, are between."""

    type: IntType
    signed: bool

    @property
    def least(self) -> int:
        return -(1 << (self.type.bits - 1)) if self.signed else 0

    @property
    def greatest(self) -> int:
        return (1 << (self.type.bits - self.signed)) - 1


def compare_shared(function: Function, divergence: Divergence) -> int:
    """Compare short numbers with what lanes share in their own bits; return how many comparisons that are."""
    extended = [
        i
        for i in function.instructions()
        if i.op in ("sext", "zext")
        and isinstance(i.type, IntType)
        and i.operands[0].type in _SHORT
        and not divergence.is_uniform(i)
    ]
    changed = 0
    for number in extended:
        comparisons = list(number.instruction_users())
        if not comparisons or not all(_may_be_short(c, number, divergence) for c in comparisons):
            continue
        for comparison in comparisons:
            _shorten(comparison, number, divergence)
        number.erase()
        changed += len(comparisons)
    return changed


_SHORT = (IntType(8), IntType(16), IntType(32))


def _may_be_short(comparison: Instruction, number: Instruction, divergence: Divergence) -> bool:
    """Whether a number is compared with what lanes share, in an order in which it may be cut short."""
    if comparison.op != "icmp":
        return False
    others = [v for v in comparison.operands if v is not number]
    if len(others) != 1 or isinstance(others[0], ConstInt) or not divergence.is_uniform(others[0]):
        return False
    if not isinstance(others[0], Argument | Instruction):
        return False
    return comparison.predicate[0] != "u" or number.op == "zext"


def _shorten(comparison: Instruction, number: Instruction, divergence: Divergence) -> None:
    first = comparison.operands[0] is number
    predicate: str = comparison.predicate if first else SWAPPED[comparison.predicate]
    shared = comparison.operands[1 if first else 0]
    assert isinstance(number.operands[0].type, IntType)
    short = _Short(number.operands[0].type, number.op == "sext")
    assert comparison.block is not None
    builder = _behind(shared, comparison.block.function)
    unsigned = predicate[0] == "u"
    is_known = _fits(shared, short, divergence)
    cut: Value = shared if is_known else _nearest(builder, shared, short, unsigned=unsigned)
    beyond = None if is_known else _beyond(builder, predicate, shared, cut, short)
    cut = builder.cast("trunc", cut, short.type)
    here = Builder(before=comparison)
    here.loc = comparison.loc
    if predicate not in ("eq", "ne"):
        predicate = ("s" if short.signed else "u") + predicate[1:]
    made = here.icmp(predicate, number.operands[0], cut)
    if beyond is not None:
        joined, test = beyond
        made = here.binary(joined, made, test)
    comparison.replace_all_uses(made)
    comparison.erase()


def _behind(shared: Value, function: Function | None) -> Builder:
    """Where what is computed of a number alone stands: behind it, or where the function begins."""
    assert function is not None
    if not isinstance(shared, Instruction):
        return Builder(before=next(i for i in function.entry.instructions if i.op != "alloca"))
    assert shared.block is not None
    if shared.is_phi:
        return Builder.after_phis(shared.block)
    instructions = shared.block.instructions
    return Builder(before=instructions[instructions.index(shared) + 1])


def _fits(shared: Value, short: _Short, divergence: Divergence) -> bool:
    """Whether a number that lanes share is known to have so few bits."""
    ranges = divergence.engine.ranges
    known = ranges.of(shared) if ranges is not None else None
    return known is not None and short.least <= known.lo and known.hi <= short.greatest


def _nearest(builder: Builder, shared: Value, short: _Short, *, unsigned: bool) -> Value:
    """The number of the short type that is nearest to a wide one, as a wide number."""
    assert isinstance(shared.type, IntType)
    least, greatest = (ConstInt(shared.type, n) for n in (short.least, short.greatest))
    above = builder.icmp("ugt" if unsigned else "sgt", shared, greatest)
    cut = builder.select(above, greatest, shared)
    if unsigned:
        return cut
    return builder.select(builder.icmp("slt", shared, least), least, cut)


def _beyond(
    builder: Builder, predicate: str, shared: Value, cut: Value, short: _Short
) -> tuple[str, Instruction] | None:
    """What else is asked of a number that may have more bits, and how that is joined; None if nothing is."""
    if predicate in ("eq", "ne"):
        return ("and" if predicate == "eq" else "or"), builder.icmp(predicate, shared, cut)
    joined, order, greatest = _BEYOND[predicate[1:]]
    if predicate[0] == "u" and not greatest:
        # Nothing is below the least one.
        return None
    assert isinstance(shared.type, IntType)
    limit = ConstInt(shared.type, short.greatest if greatest else short.least)
    return joined, builder.icmp(predicate[0] + order, shared, limit)
