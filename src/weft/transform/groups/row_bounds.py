"""Which threads of a row pass a guard: conditions become bounds of a loop.

`RowBounds` collects conditions that all have to hold and builds the function that computes which run of threads they
leave. Nothing is concluded that machine arithmetic does not bear out: positions in a grid are below 2^41, sums with
them must not wrap, and differences of bounds saturate, which leaves the comparison with a position as it is.
"""

from __future__ import annotations

import re

from weft.analysis.integers.intervals import INVERTED, SWAPPED, Interval
from weft.ir import Argument, Builder, Constant, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.effects import is_speculatable
from weft.ir.types import I64, FunctionType, StructType

_PAIR = StructType((I64, I64))
_SIGNED = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}
_RANGE = re.compile(r"range\(i\d+ (-?\d+), (-?\d+)\)")
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
        self._module = module
        self._position = position
        self._uniform: dict[Value, bool] = {}
        params = (*kernel.fn_type.params, I64, I64)
        names = (*(a.name for a in kernel.args), "begin", "end")
        self._function = Function(f"{kernel.name}.bounds", FunctionType(_PAIR, params), names)
        self._function.attributes = ("nounwind",)
        self._copies: dict[Value, Value] = {}
        for old, new in zip(kernel.args, self._function.args, strict=False):
            new.attributes = old.attributes
            self._copies[old] = new
        self._builder = Builder(self._function.add_block("entry"))
        *_, self._begin, self._end = self._function.args
        self._first: Value = self._begin
        self._last: Value = self._end

    def require(self, condition: Value, holds: bool) -> bool:
        """Leave only threads for which `condition` is true, or false; whether it is of a kind that can be required."""
        if isinstance(condition, Constant) or not isinstance(condition, (Instruction, Argument)):
            return False
        if self._is_uniform(condition):
            self._require_uniform(condition, holds)
            return True
        if (
            not isinstance(condition, Instruction)
            or condition.op != "icmp"
            or condition.operands[0].type != I64
        ):
            return False
        predicate: str = condition.predicate
        if not holds:
            predicate = INVERTED[predicate]
        left, right = condition.operands
        if self._is_uniform(left):
            left, right, predicate = right, left, SWAPPED[predicate]
        offsets = self._offsets(left)
        if offsets is None or not self._is_uniform(right):
            return False
        predicate = self._signed(predicate, left, right, "samesign" in condition.flags)
        if predicate not in ("slt", "sle", "sgt", "sge", "eq"):
            return False
        self._require_order(predicate, offsets, right)
        return True

    def finish(self) -> Function:
        """Add the function to the module and return it."""
        pair = self._builder.insert_value(Poison(_PAIR), self._first, (0,))
        self._builder.ret(self._builder.insert_value(pair, self._last, (1,)))
        return self._module.add_function(self._function)

    def _is_uniform(self, value: Value) -> bool:
        """Whether `value` is the same for all threads of a row and can be computed before they start."""
        if isinstance(value, Constant):
            return True
        if isinstance(value, Argument):
            return value is not self._position
        if not isinstance(value, Instruction):
            return False
        known = self._uniform.get(value)
        if known is None:
            known = _runs_anywhere(value) and all(map(self._is_uniform, value.operands))
            self._uniform[value] = known
        return known

    def _offsets(self, value: Value) -> list[Value] | None:
        """The uniform numbers that are added to the position to make `value`; None if that is not all, or may wrap."""
        offsets: list[Value] = []
        while value is not self._position:
            if not isinstance(value, Instruction) or value.op != "add" or "nsw" not in value.flags:
                return None
            uniform = [v for v in value.operands if self._is_uniform(v)]
            if len(uniform) != 1:
                return None
            offsets.append(uniform[0])
            value = next(v for v in value.operands if v is not uniform[0])
        limits = [self._limits(v) for v in offsets]
        if len(offsets) > 1 and sum(max(-r.lo, r.hi) if r else _LARGE for r in limits) >= _LARGE:
            return None
        return offsets

    def _signed(self, predicate: str, left: Value, right: Value, same_sign: bool) -> str:
        """The signed predicate that says the same of the two; `predicate` itself where there is none."""
        least, bound = self._limits(left), self._limits(right)
        if predicate == "ne" and right == ConstInt(I64, 0) and least is not None and least.lo >= 0:
            return "sgt"
        if same_sign or (least is not None and least.lo >= 0 and bound is not None and bound.lo >= 0):
            return _SIGNED.get(predicate, predicate)
        return predicate

    def _limits(self, value: Value) -> Interval | None:
        """Limits of a number that is made of ids, sizes and constants."""
        if isinstance(value, ConstInt):
            return Interval(value.signed, value.signed)
        if isinstance(value, Argument):
            found = next(filter(None, map(_RANGE.fullmatch, value.attributes)), None)
            if found is None:
                return None
            lo, hi = int(found[1]), int(found[2]) - 1
            # A range of all numbers that are not negative ends, in the attribute, where signed numbers begin.
            return Interval(lo, hi if hi >= lo else (1 << (value.type.bits - 1)) - 1)  # type: ignore[attr-defined]
        if isinstance(value, Instruction) and value.op in ("add", "mul") and "nsw" in value.flags:
            a, b = map(self._limits, value.operands)
            if a is not None and b is not None:
                if value.op == "add":
                    return Interval(a.lo + b.lo, a.hi + b.hi)
                corners = [x * y for x in a for y in b]
                return Interval(min(corners), max(corners))
        return None

    def _require_uniform(self, condition: Value, holds: bool) -> None:
        builder = self._builder
        passes = builder.unary("freeze", self._copy(condition))
        ways = (self._last, self._begin) if holds else (self._begin, self._last)
        self._last = builder.select(passes, *ways)

    def _require_order(self, predicate: str, offsets: list[Value], bound: Value) -> None:
        """Require that the position plus `offsets` compares so with `bound`."""
        builder = self._builder
        least: Value = self._copy(bound)
        if offsets:
            total = self._copy(offsets[0])
            for offset in offsets[1:]:
                total = builder.binary("add", total, self._copy(offset))
            least = self._call("llvm.ssub.sat.i64", least, total)
        if not isinstance(least, ConstInt):
            # The bound may be poison where no thread asks, being beyond another one.
            least = builder.unary("freeze", least)
        one = ConstInt(I64, 1)
        above = least if predicate in ("slt", "sge") else self._call("llvm.sadd.sat.i64", least, one)
        if predicate in ("sgt", "sge", "eq"):
            self._first = self._call("llvm.smax.i64", self._first, above if predicate == "sgt" else least)
        if predicate in ("slt", "sle", "eq"):
            self._last = self._call("llvm.smin.i64", self._last, least if predicate == "slt" else above)

    def _call(self, name: str, a: Value, b: Value) -> Value:
        callee = self._module.declare(name, FunctionType(I64, (I64, I64)))
        return self._builder.call(callee, (a, b))

    def _copy(self, value: Value) -> Value:
        """Compute a uniform value of the kernel again."""
        if isinstance(value, Constant):
            return value
        known = self._copies.get(value)
        if known is None:
            assert isinstance(value, Instruction)
            copy = value.clone()
            for i, operand in enumerate(value.operands):
                copy.set_operand(i, self._copy(operand))
            known = self._copies[value] = self._builder.insert(copy)
        return known


def _runs_anywhere(instruction: Instruction) -> bool:
    """Whether the instruction gives a value that is the thread's own and the same wherever it runs."""
    if instruction.op == "freeze" or instruction.guard is not None:
        return False
    return is_speculatable(instruction) and not (instruction.callee_name or "").startswith("weft.")
