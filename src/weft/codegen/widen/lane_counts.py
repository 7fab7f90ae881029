"""Counting lanes while code runs, for who asks how many do the work of a thread (`weft.profile`).

Each instruction of a vector counts once: with as many lanes as the mask of its block has, of as many as there are.
Those that run in all lanes because nothing forbids it count as the others of their block do, scalar ones not at all.
Both sums stay in registers, and are added to `LANE_COUNTS` (`weft.codegen.launch_record`) where the function returns.
"""

from __future__ import annotations

from collections import Counter

from weft.codegen.launch_record import LANE_COUNTS
from weft.codegen.widen.context import Widening, mask_bits
from weft.ir import Builder, ConstInt, GlobalVariable, Instruction, Value
from weft.ir.types import I64, ArrayType, IntType


class LaneCounts:
    """The sums of one function that is being widened."""

    def __init__(self, w: Widening) -> None:
        self._w = w
        entry = Builder(w.target.entry)
        self._sums = [entry.alloca(I64, name=name) for name in ("lanes.used", "lanes.all")]
        for place in self._sums:
            entry.store(ConstInt(I64, 0), place)
        self._block: Counter[Value | None] = Counter()

    def note(self, instruction: Instruction) -> None:
        """Count an instruction under the mask that it has now."""
        w = self._w
        if instruction not in w.kept and not instruction.is_terminator:
            self._block[w.mask] += 1

    def add(self) -> None:
        """Add what was noted to the sums, at the end of a block."""
        w, builder = self._w, self._w.builder
        for mask, number in self._block.items():
            lanes: Value = ConstInt(I64, w.lanes.width)
            if mask is not None:
                bits = mask_bits(builder, mask)
                assert isinstance(bits.type, IntType)
                wide = bits if bits.type.bits == 64 else builder.cast("zext", bits, I64)
                count = w.intrinsic("llvm.ctpop.i64", I64, (I64,))
                lanes = builder.call(count, (wide,))
            for place, by in zip(self._sums, (lanes, ConstInt(I64, w.lanes.width)), strict=True):
                sum = builder.load(I64, place)
                builder.store(
                    builder.binary("add", sum, builder.binary("mul", by, ConstInt(I64, number))), place
                )
        self._block.clear()

    def tell(self) -> None:
        """Add the sums to those of the process, before the function returns."""
        module, builder = self._w.module, self._w.builder
        found = module.globals.get(LANE_COUNTS)
        counts = found or module.add_global(GlobalVariable(LANE_COUNTS, ArrayType(I64, 2)))
        for k, place in enumerate(self._sums):
            at = builder.gep(I64, counts, (ConstInt(I64, k),))
            builder.atomic_rmw("add", at, builder.load(I64, place), "monotonic")
