"""What is the same for all threads of a row, computed before they start.

A function beside the kernel takes its parameters, of which it ignores the position in the row, computes again what
`RowValues.copy` is asked for, and returns 64-bit numbers. Values that read memory, which threads may change,
are none of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from weft.analysis.integers.intervals import Interval
from weft.ir import Argument, Builder, Constant, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.effects import is_removable, is_speculatable
from weft.ir.types import I64, FunctionType, StructType

_RANGE = re.compile(r"range\(i\d+ (-?\d+), (-?\d+)\)")


class RowValues:
    """Builds such a function, ``<kernel>.<name>``.

    Parameters
    ----------
    module
        Gets the function.
    kernel
        Has the values.
    position
        Its parameter that tells the threads of a row apart.
    name
        Of the function.
    more
        The names of parameters that it has behind those of the kernel, 64-bit numbers.
    for_threads
        Whether the function is called for rows alone that have a thread, all of which begin with the kernel's entry as
        it is now: what that divides by, it may divide by, too.
    keeps_flags
        Whether what is computed again rests on what instructions promise. Without that it may be computed for threads
        that do not get there, and divide by what cannot be zero.
    numbers
        How many the function returns.
    """

    def __init__(
        self,
        module: Module,
        kernel: Function,
        position: Argument,
        name: str,
        more: Sequence[str] = (),
        *,
        for_threads: bool = False,
        keeps_flags: bool = True,
        numbers: int = 2,
    ) -> None:
        self._result = StructType((I64,) * numbers)
        self._module = module
        self._position = position
        self._keeps_flags = keeps_flags
        self._uniform: dict[Value, bool] = {}
        self._divided = frozenset(_divided_first(kernel) if for_threads else ())
        params = (*kernel.fn_type.params, *(I64 for _ in more))
        names = (*(a.name for a in kernel.args), *more)
        self.function = Function(f"{kernel.name}.{name}", FunctionType(self._result, params), names)
        self.function.attributes = ("nounwind",)
        self._copies: dict[Value, Value] = {}
        for old, new in zip(kernel.args, self.function.args, strict=False):
            new.attributes = old.attributes
            self._copies[old] = new
        self.builder = Builder(self.function.add_block("entry"))

    def finish(self, *numbers: Value) -> Function:
        """Let the function return numbers; add it to the module and return it."""
        result: Value = Poison(self._result)
        for k, number in enumerate(numbers):
            result = self.builder.insert_value(result, number, (k,))
        self.builder.ret(result)
        return self._module.add_function(self.function)

    def is_uniform(self, value: Value) -> bool:
        """Whether `value` is the same for all threads of a row and can be computed before they start."""
        if isinstance(value, Constant):
            return True
        if isinstance(value, Argument):
            return value is not self._position
        if not isinstance(value, Instruction):
            return False
        known = self._uniform.get(value)
        if known is None:
            runs = value in self._divided or _runs_anywhere(value)
            runs = runs or (not self._keeps_flags and _divides_safely(value))
            known = runs and all(map(self.is_uniform, value.operands))
            self._uniform[value] = known
        return known

    def copy(self, value: Value) -> Value:
        """Compute a uniform value of the kernel again."""
        if isinstance(value, Constant):
            return value
        known = self._copies.get(value)
        if known is None:
            assert isinstance(value, Instruction)
            copy = value.clone()
            if not self._keeps_flags:
                copy.flags = ()
            for i, operand in enumerate(value.operands):
                copy.set_operand(i, self.copy(operand))
            known = self._copies[value] = self.builder.insert(copy)
        return known

    def call(self, name: str, a: Value, b: Value) -> Value:
        """Call an intrinsic of two 64-bit numbers."""
        callee = self._module.declare(name, FunctionType(I64, (I64, I64)))
        return self.builder.call(callee, (a, b))


def limits_of(value: Value) -> Interval | None:
    """Limits of a number that is made of ids, sizes and constants, in threads that use it; None if not known."""
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
        a, b = map(limits_of, value.operands)
        if a is not None and b is not None:
            if value.op == "add":
                return Interval(a.lo + b.lo, a.hi + b.hi)
            corners = [x * y for x in a for y in b]
            return Interval(min(corners), max(corners))
    if isinstance(value, Instruction) and value.op in ("sext", "zext", "trunc"):
        known = limits_of(value.operands[0])
        exact = value.op == "sext" or (known is not None and known.lo >= 0)
        return known if exact and (value.op != "trunc" or "nsw" in value.flags) else None
    return None


def _divided_first(kernel: Function) -> Iterator[Instruction]:
    """The divisions that each thread does, whatever its guards say."""
    for instruction in kernel.entry.instructions:
        if not is_removable(instruction):
            return
        if instruction.op in ("udiv", "sdiv", "urem", "srem") and instruction.guard is None:
            yield instruction


def _divides_safely(instruction: Instruction) -> bool:
    """Whether the instruction divides by what its source language has made sure of: not 0, nor -1 where signs count.

    Of Python's quotients the divisor is ``umax(d, 1)``, or ``d + 1 < 2 ? 1 : d`` without signs.
    """
    if instruction.op not in ("udiv", "sdiv", "urem", "srem") or instruction.guard is not None:
        return False
    by = instruction.operands[1]
    if not isinstance(by, Instruction):
        return False
    if by.callee_name == f"llvm.umax.{by.type}":
        return instruction.op[0] == "u" and _is_constant(by.operands[1], 1)
    if by.op != "select" or not _is_constant(by.operands[1], 1):
        return False
    condition, number = by.operands[0], by.operands[2]
    if not isinstance(condition, Instruction) or condition.op != "icmp" or condition.predicate != "ult":
        return False
    above, limit = condition.operands
    if not isinstance(above, Instruction) or above.op != "add" or above.operands[0] is not number:
        return False
    return _is_constant(above.operands[1], 1) and _is_constant(limit, 2)


def _is_constant(value: Value, number: int) -> bool:
    return isinstance(value, ConstInt) and value.value == number


def _runs_anywhere(instruction: Instruction) -> bool:
    """Whether the instruction gives a value that is the thread's own and the same wherever it runs."""
    if instruction.op in ("freeze", "phi") or instruction.guard is not None:
        return False
    return is_speculatable(instruction) and not (instruction.callee_name or "").startswith("weft.")
