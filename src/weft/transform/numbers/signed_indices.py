"""Indices that the source keeps as ``uint``: computed as ``int`` where both say the same place.

``a[y * width + x]`` of a ``uint`` x wraps around at 2³², so that neighbours are not known to be neighbours, and lanes
gather or ask at run time. But an address within an object of less than 2 GiB has an index that is no larger than a
positive ``int``, and the address of any other place is poison. A sum that ends there has not wrapped around as an
``int`` either, if what is known of its parts rules out that it did by more.

Precondition: canonical form, without predicates, shadows and guards; what is said of the sizes of objects
(`SMALL_ARRAYS_ATTRIBUTE`) holds. Postcondition: indices of ``inbounds`` addresses in small objects are ``sext`` of a
sum without signed wrap-around, where ranges prove it. Preserves the program under FR: new flags concern threads only
whose address was poison.
"""

from __future__ import annotations

from dataclasses import dataclass

from weft.analysis.integers.intervals import Interval, full
from weft.analysis.integers.ranges import Ranges
from weft.analysis.memory.alias import locate
from weft.graph.block_index import block_index
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.function import GlobalVariable
from weft.ir.intrinsics import SMALL_ARRAYS_ATTRIBUTE
from weft.ir.types import I32, I64

_SMALLEST, _LARGEST = -(1 << 31), (1 << 31) - 1
_MAX_DEPTH = 8


def sign_indices(function: Function) -> int:
    """Compute indices as signed numbers where that is the same; return how many addresses that changed."""
    found = [i for i in function.instructions() if _has_unsigned_index(i, function)]
    if not found:
        return 0
    view = cfg_of(function)
    sums, changed = _Signed(Ranges(function, view, block_index(view.cfg)), {}), 0
    extended: dict[tuple[Value, Value], Value] = {}
    for address in found:
        index = address.operands[1]
        assert isinstance(index, Instruction)
        size = function.layout.size(address.source_type)
        signed = sums.sum(index.operands[0], Interval(0, _LARGEST // max(size, 1)))
        if signed is index.operands[0]:
            continue
        if (index, signed) not in extended:
            builder = Builder(before=index)
            builder.loc = index.loc
            extended[index, signed] = builder.cast("sext", signed, I64)
        address.set_operand(1, extended[index, signed])
        address.flags = tuple(flag for flag in address.flags if flag == "inbounds")
        changed += 1
    remove_dead_instructions(function)
    return changed


def _has_unsigned_index(address: Instruction, function: Function) -> bool:
    """Whether it is an address in a small object, with an index that a sum of 32 bits is extended to without sign."""
    if address.op != "getelementptr" or "inbounds" not in address.flags or len(address.operands) != 2:
        return False
    index = address.operands[1]
    if not isinstance(index, Instruction) or index.op != "zext" or index.operands[0].type != I32:
        return False
    number = index.operands[0]
    if not isinstance(number, Instruction) or number.op not in ("add", "sub") or "nsw" in number.flags:
        return False
    base = locate(address, function.layout).base
    if isinstance(base, Argument):
        return function.attribute(SMALL_ARRAYS_ATTRIBUTE) is not None
    return isinstance(base, GlobalVariable) or (isinstance(base, Instruction) and base.op == "alloca")


@dataclass(frozen=True, slots=True)
class _Signed:
    """Builds sums without signed wrap-around, once for each number that is wanted."""

    ranges: Ranges
    made: dict[tuple[Value, Interval], Value]

    def sum(self, value: Value, wanted: Interval, depth: int = 0) -> Value:
        """The value as a sum that does not wrap around if its low bits are in `wanted`; itself where it may."""
        if not isinstance(value, Instruction) or value.op not in ("add", "sub") or "nsw" in value.flags:
            return value
        if (value, wanted) in self.made:
            return self.made[value, wanted]
        one, other = self._range(value.operands[0], value), self._range(value.operands[1], value)
        low, high = _sum(one, other) if value.op == "add" else _difference(one, other)
        # The exact sum is the wanted number, or that many times 2³² off: only the first is possible.
        if depth > _MAX_DEPTH or high >= wanted.lo + (1 << 32) or low <= wanted.hi - (1 << 32):
            return value
        if value.op == "add":
            parts = _difference(wanted, other), _difference(wanted, one)
        else:
            parts = _sum(wanted, other), _difference(one, wanted)
        first, second = (
            self.sum(operand, Interval(max(part[0], _SMALLEST), min(part[1], _LARGEST)), depth + 1)
            for operand, part in zip(value.operands, parts, strict=True)
        )
        builder = Builder(before=value)
        builder.loc = value.loc
        built = self.made[value, wanted] = builder.binary(value.op, first, second, ("nsw",))
        return built

    def _range(self, operand: Value, at: Instruction) -> Interval:
        if isinstance(operand, ConstInt):
            return Interval(operand.signed, operand.signed)
        return self.ranges.at(operand, at.block) or full(32)


def _sum(a: Interval, b: Interval) -> tuple[int, int]:
    return a.lo + b.lo, a.hi + b.hi


def _difference(a: Interval, b: Interval) -> tuple[int, int]:
    return a.lo - b.hi, a.hi - b.lo
