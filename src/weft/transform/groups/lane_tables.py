"""Numbers, lanes and masks that are known for each lane, as functions of the lane id.

The lanes of a table are what other lanes read: where they follow a rule, `lane ^ c`, `(a * lane + c) % lanes` or
`(lane + c >> k) % lanes`, they are computed by it, which becomes one shuffle; else from their bits. Where a table has
None, any number will do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from weft.ir import TRUE, Builder, ConstInt, Value
from weft.ir.types import I1, I32, I64, IntType

Table = Sequence[int | None]


class LaneTables:
    """Writes tables; the same one once.

    Parameters
    ----------
    builder
        Writes all of them, in one block.
    lane
        The lane id.
    lanes
        How many there are: a power of two, up to 64.
    zero
        A number that is 0, which LLVM does not know.
    """

    def __init__(self, builder: Builder, lane: Value, lanes: int, zero: Value | None = None) -> None:
        self.builder, self.lane, self.lanes, self.zero = builder, lane, lanes, zero
        self._of_lanes: dict[tuple[int | None, ...], Value] = {}
        self._masks: dict[tuple[int | bool | None, ...], Value] = {}
        self._rules: dict[tuple[str, object], Value] = {}
        self._wide: Value | None = None

    def source(self, table: Table) -> Value | None:
        """The lanes of a table; None where each lane is its own."""
        if all(source is None or source == lane for lane, source in enumerate(table)):
            return None
        key = tuple(table)
        if key not in self._of_lanes:
            self._of_lanes[key] = self._by_rule(table) or self._by_bits(table, I32)
        return self._of_lanes[key]

    def mask(self, table: Table, *, hidden: bool = False) -> Value:
        """A mask: 0, 1 or None for each lane; hidden, LLVM does not know it."""
        if all(bit is None or bit for bit in table):
            return TRUE
        key = (hidden and self.zero is not None, *table)
        if key not in self._masks:
            self._masks[key] = self._hidden(table) if key[0] else self._bounds(table) or self._bit(table)
        return self._masks[key]

    def _hidden(self, table: Table) -> Value:
        assert self.zero is not None
        bits = self.builder.select(self.mask(table), ConstInt(I32, 1), ConstInt(I32, 0))
        return self.builder.icmp("ne", bits, self.zero)

    def numbers(self, table: Sequence[int], type: IntType) -> Value:
        """A number of this type for each lane."""
        if len(set(table)) == 1:
            return ConstInt(type, table[0])
        if type == I1:
            return self.mask(table)
        builder, step = self.builder, table[1] - table[0]
        every = (1 << type.bits) - 1
        if all((b - a - step) & every == 0 for a, b in pairwise(table)):
            lane = self.lane
            if type != I32:
                lane = builder.cast("zext" if type.bits > 32 else "trunc", lane, type)
            scaled = builder.binary("mul", lane, ConstInt(type, step))
            return builder.binary("add", scaled, ConstInt(type, table[0]))
        return self._by_bits(table, type)

    def _by_rule(self, table: Table) -> Value | None:
        builder, lane, last = self.builder, self.lane, self.lanes - 1
        known = [(k, source) for k, source in enumerate(table) if source is not None]
        first, at = known[0]

        def fits(rule: Callable[[int], int]) -> bool:
            return all(rule(k) == source for k, source in known)

        change = first ^ at
        if fits(lambda k: k ^ change):
            return self._once("xor", change, lambda: builder.binary("xor", lane, ConstInt(I32, change)))
        steps = {1, 2, 4, 8, 16, 32}
        if len(known) > 1:
            second, other = known[1]
            steps.add((other - at) // (second - first))
        for step in sorted(steps, reverse=True):
            begin = (at - step * first) & last
            if fits(lambda k, step=step, begin=begin: (step * k + begin) & last):
                return self._once("mul", (step, begin), partial(self._affine, step, begin))
        for shift in range(1, self.lanes.bit_length() - 1):
            # The first lane that is known says all but the last bits of where it begins.
            for begin in range((at << shift) - first, ((at + 1) << shift) - first):
                if fits(lambda k, shift=shift, begin=begin: (k + begin) >> shift & last):
                    moved = builder.binary("add", lane, ConstInt(I32, begin))
                    moved = builder.binary("lshr", moved, ConstInt(I32, shift))
                    return builder.binary("and", moved, ConstInt(I32, last))
        return None

    def _affine(self, step: int, begin: int) -> Value:
        builder = self.builder
        scaled = builder.binary("mul", self.lane, ConstInt(I32, step)) if step != 1 else self.lane
        moved = builder.binary("add", scaled, ConstInt(I32, begin))
        return builder.binary("and", moved, ConstInt(I32, self.lanes - 1))

    def _once(self, rule: str, of: object, write: Callable[[], Value]) -> Value:
        if (rule, of) not in self._rules:
            self._rules[rule, of] = write()
        return self._rules[rule, of]

    def _bounds(self, table: Table) -> Value | None:
        """A mask of lanes side by side."""
        on = [lane for lane, bit in enumerate(table) if bit]
        if not on or 0 in table[on[0] : on[-1] + 1]:
            return None
        first, last = on[0] if 0 in table[: on[0]] else 0, on[-1]
        lane = self.builder.binary("sub", self.lane, ConstInt(I32, first)) if first else self.lane
        return self.builder.icmp("ult", lane, ConstInt(I32, last - first + 1))

    def _bit(self, table: Table) -> Value:
        """A mask by its bits."""
        builder, word = self.builder, sum(1 << lane for lane, bit in enumerate(table) if bit)
        type = I64 if self.lanes > 32 else I32
        if type == I64 and self._wide is None:
            self._wide = builder.cast("zext", self.lane, I64)
        moved = builder.binary("lshr", ConstInt(type, word), self._wide or self.lane)
        return builder.icmp("ne", builder.binary("and", moved, ConstInt(type, 1)), ConstInt(type, 0))

    def _by_bits(self, table: Table, type: IntType) -> Value:
        builder = self.builder
        result: Value = ConstInt(type, 0)
        for bit in range(max((value or 0).bit_length() for value in table)):
            mask = self.mask([None if value is None else value >> bit & 1 for value in table])
            added = builder.select(mask, ConstInt(type, 1 << bit), ConstInt(type, 0))
            result = builder.binary("or", result, added)
        return result
