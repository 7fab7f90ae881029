"""Which threads of a row pass a guard: conditions become bounds of a loop.

`RowBounds` collects conditions that all have to hold and builds the function that computes which run of threads they
leave. Nothing is concluded that machine arithmetic does not bear out: positions in a grid are below 2^41, sums with
them must not wrap, nor lose bits where they are made 32-bit numbers, and differences of bounds saturate, which leaves
the comparison with a position as it is.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import INVERTED, SWAPPED
from weft.ir import Argument, Constant, ConstInt, Function, Instruction, Module, Value
from weft.ir.constants import is_zero
from weft.ir.types import I32, I64
from weft.transform.groups.row_values import RowValues, limits_of

_SIGNED = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}
_LARGEST = (1 << 63) - 1
_LARGE = 1 << 62
"""Sums of smaller numbers and a position do not wrap."""


class RowBounds:
    """The threads of a row for which some conditions of `kernel` hold.

    Parameters
    ----------
    module
        Gets the function that computes them.
    kernel
        Has the conditions.
    position
        Its parameter that tells the threads of a row apart: at least 0, at most 2^41.
    """

    def __init__(self, module: Module, kernel: Function, position: Argument) -> None:
        self._position = position
        self._values = RowValues(module, kernel, position, "bounds", ("begin", "end"), for_threads=True)
        *_, self._begin, self._end = self._values.function.args
        self._first: Value = self._begin
        self._last: Value = self._end

    def require(self, condition: Value, holds: bool) -> bool:
        """Leave only threads for which `condition` is true, or false; whether it is of a kind that can be required."""
        if isinstance(condition, Constant) or not isinstance(condition, (Instruction, Argument)):
            return False
        if self._values.is_uniform(condition):
            self._require_uniform(condition, holds)
            return True
        if (
            not isinstance(condition, Instruction)
            or condition.op != "icmp"
            or condition.operands[0].type not in (I32, I64)
        ):
            return False
        predicate: str = condition.predicate
        if not holds:
            predicate = INVERTED[predicate]
        left, right = condition.operands
        if self._values.is_uniform(left):
            left, right, predicate = right, left, SWAPPED[predicate]
        offsets = self._offsets(left)
        if offsets is None or not self._values.is_uniform(right):
            return False
        predicate = self._signed(predicate, left, right, "samesign" in condition.flags)
        if predicate in _SIGNED and _is_counted(left):
            # In C a bound of `int` is made unsigned, as a position is: one below zero leaves all of them.
            self._require_order(_SIGNED[predicate], offsets, self._unsigned(right))
            return True
        if predicate not in ("slt", "sle", "sgt", "sge", "eq"):
            return False
        self._require_order(predicate, offsets, self._copy(right))
        return True

    @property
    def leaves_out_first(self) -> bool:
        """Whether the first threads of a row may be among those that do not run."""
        return self._first is not self._begin

    def finish(self) -> Function:
        """Add the function to the module and return it."""
        return self._values.finish(self._first, self._last)

    def _offsets(self, value: Value) -> list[Value] | None:
        """The uniform numbers that are added to the position to make `value`; None if that is not all, or may wrap."""
        offsets: list[Value] = []
        while value is not self._position:
            if not isinstance(value, Instruction) or "nsw" not in value.flags:
                return None
            if value.op == "trunc":
                value = value.operands[0]
                continue
            if value.op != "add":
                return None
            uniform = [v for v in value.operands if self._values.is_uniform(v)]
            if len(uniform) != 1:
                return None
            offsets.append(uniform[0])
            value = next(v for v in value.operands if v is not uniform[0])
        limits = [limits_of(v) for v in offsets]
        if len(offsets) > 1 and sum(max(-r.lo, r.hi) if r else _LARGE for r in limits) >= _LARGE:
            return None
        return offsets

    def _copy(self, value: Value) -> Value:
        """A uniform value as a 64-bit number, for what has lost nothing of the position."""
        copy = self._values.copy(value)
        if copy.type == I64:
            return copy
        if isinstance(copy, ConstInt):
            return ConstInt(I64, copy.signed)
        return self._values.builder.cast("sext", copy, I64)

    def _unsigned(self, value: Value) -> Value:
        """A uniform value read without sign as a signed 64-bit number, the largest one where there is none."""
        copy, builder = self._values.copy(value), self._values.builder
        if copy.type == I32:
            return builder.cast("zext", copy, I64)
        return builder.select(builder.icmp("slt", copy, ConstInt(I64, 0)), ConstInt(I64, _LARGEST), copy)

    def _signed(self, predicate: str, left: Value, right: Value, same_sign: bool) -> str:
        """The signed predicate that says the same of the two; `predicate` itself where there is none."""
        least, bound = limits_of(left), limits_of(right)
        if predicate == "ne" and is_zero(right) and least is not None and least.lo >= 0:
            return "sgt"
        if same_sign or (least is not None and least.lo >= 0 and bound is not None and bound.lo >= 0):
            return _SIGNED.get(predicate, predicate)
        return predicate

    def _require_uniform(self, condition: Value, holds: bool) -> None:
        builder = self._values.builder
        passes = builder.unary("freeze", self._values.copy(condition))
        ways = (self._last, self._begin) if holds else (self._begin, self._last)
        self._last = builder.select(passes, *ways)

    def _require_order(self, predicate: str, offsets: list[Value], bound: Value) -> None:
        """Require that the position plus `offsets` compares so with `bound`, of 64 bits."""
        builder = self._values.builder
        least = bound
        if offsets:
            total, *others = map(self._copy, offsets)
            for offset in others:
                total = builder.binary("add", total, offset)
            least = self._values.call("llvm.ssub.sat.i64", least, total)
        if not isinstance(least, ConstInt):
            # The bound may be poison where no thread asks, being beyond another one.
            least = builder.unary("freeze", least)
        one = ConstInt(I64, 1)
        above = least if predicate in ("slt", "sge") else self._values.call("llvm.sadd.sat.i64", least, one)
        if predicate in ("sgt", "sge", "eq"):
            self._first = self._values.call(
                "llvm.smax.i64", self._first, above if predicate == "sgt" else least
            )
        if predicate in ("slt", "sle", "eq"):
            self._last = self._values.call(
                "llvm.smin.i64", self._last, least if predicate == "slt" else above
            )


def _is_counted(value: Value) -> bool:
    """Whether a number is known not to be negative, nor the largest one."""
    limits = limits_of(value)
    return limits is not None and limits.lo >= 0 and limits.hi < _LARGEST
