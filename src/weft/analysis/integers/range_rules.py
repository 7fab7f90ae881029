"""What gives the range of an instruction from those of its operands, put together once.

A fixed point evaluates an instruction several times. Opcode, widths, constants and the conditions that refine its
operands stay the same meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeAlias

from weft.analysis.conditions import Condition, Conditions
from weft.analysis.integers.converted_floats import converted, is_conversion, is_saturating, limits_of
from weft.analysis.integers.declared_ranges import declared
from weft.analysis.integers.grid_positions import position_in_grid
from weft.analysis.integers.interval_transfer import rule_of, select
from weft.analysis.integers.intervals import Interval, full, join, meet, refine
from weft.analysis.integers.multilinear import Sum, between_corners, sum_of_products
from weft.analysis.integers.stored_numbers import Stored
from weft.ir import Argument, BasicBlock, ConstInt, Instruction, Poison, Value
from weft.ir.opcodes import OPCODES
from weft.ir.types import IntType

Known: TypeAlias = Mapping[Value, Interval]
"""The range of each value where it is defined, as far as it is known."""

Plain: TypeAlias = Interval | Instruction | Argument | None
"""An operand's range where that is fixed, else the value to ask for."""

TELLING = 2
"""Steps from a number that is compared to one of which that tells."""

_FORMS = {"binary", "cast", "compare", "select"}
_CALLS = re.compile(r"llvm\.(umin|umax|smin|smax|abs)\.")


class Refined(NamedTuple):
    """An operand in threads for which conditions hold: predicates, each with what the operand is compared to.

    `bits` are those of the comparisons, which may be of the operand plus `offset`, with its sign extended.
    """

    operand: Plain | Refined
    tests: tuple[tuple[str, Plain], ...]
    bits: int
    offset: int = 0


Operand: TypeAlias = Plain | Refined


class Rule(NamedTuple):
    """A function of the operands' ranges; a `strict` one has no value while an operand has none."""

    function: Callable[..., Interval | None]
    operands: tuple[Operand, ...]
    strict: bool = True


def evaluate(rule: Rule | Interval, known: Known) -> Interval | None:
    """The range that a rule gives by now; None: no value yet."""
    if isinstance(rule, Interval):
        return rule
    function, operands, strict = rule
    ranges: list[Interval | None] = []
    for operand in operands:
        # What `read` does, without a call for most operands.
        if isinstance(operand, Refined):
            range = _read_refined(operand, known, False)
        else:
            range = known.get(operand) if isinstance(operand, (Instruction, Argument)) else operand
        if range is None and strict:
            return None
        ranges.append(range)
    return function(*ranges)


def read(operand: Operand, known: Known, reached: bool = True) -> Interval | None:
    """The range of an operand by now; unless it is known to be `reached`, no value where the conditions cannot hold."""
    if isinstance(operand, Refined):
        return _read_refined(operand, known, reached)
    return known.get(operand) if isinstance(operand, (Instruction, Argument)) else operand


def _read_refined(operand: Refined, known: Known, reached: bool) -> Interval | None:
    value, tests, bits, offset = operand
    range = read(value, known, reached)
    if range is None:
        return None
    if offset:
        range = Interval(range.lo + offset, range.hi + offset)
    for predicate, bound in tests:
        other = known.get(bound) if isinstance(bound, (Instruction, Argument)) else bound
        if other is not None:
            refined = refine(predicate, range, other, bits)
            if refined is None and not reached:
                return None
            # Where the condition cannot hold no thread runs: anything may be said of it.
            range = refined or range
    return Interval(range.lo - offset, range.hi - offset) if offset else range


class RangeRules:
    """Makes the rules of a function's instructions, given what holds for values in blocks, and what loads read."""

    __slots__ = ("_conditions", "_stored", "_told")

    def __init__(self, conditions: Conditions, stored: Mapping[Instruction, Stored]) -> None:
        self._conditions = conditions
        self._stored = stored
        self._told: dict[Value, list[tuple[Value, int]]] = {}

    def rule(self, instruction: Instruction) -> Rule | Interval:
        """What gives the range of an integer instruction."""
        type, block = instruction.type, instruction.block
        assert isinstance(type, IntType) and block is not None
        if instruction.op == "phi":
            arriving = tuple(
                self._arriving(value, source, block)
                for value, source in instruction.incoming()
                if not isinstance(value, Poison)
            )
            return Rule(_hull, arriving, strict=False)
        known = declared(instruction, type.bits) or position_in_grid(instruction)
        if known is not None:
            return known
        op, operands = instruction.op, instruction.operands
        if op == "load" and (stored := self._stored.get(instruction)) is not None:
            zero = (Interval(0, 0),) if stored.cleared else ()
            return Rule(_hull, (*zero, *map(self._kept, stored.stores)), strict=False)
        if is_conversion(instruction):
            limits, integers = limits_of(instruction, lambda v: self._conditions.holding(v, block))
            known_there = tuple(self.seen(v, block) for v in integers)
            return Rule(partial(converted, limits, type.bits, is_saturating(instruction)), known_there)
        if op == "call":
            match = _CALLS.match(instruction.callee_name or "")
            if match is None:
                return full(type.bits)
            op, operands = match[1], operands[: 1 if match[1] == "abs" else 2]
        elif OPCODES[op].form not in _FORMS:
            return full(type.bits)
        source_type = operands[0].type
        if not isinstance(operands[-1].type, IntType) or not isinstance(source_type, IntType):
            return full(type.bits)
        seen = tuple(self.seen(value, block) for value in operands)
        if op == "select":
            return Rule(select, seen, strict=False)
        predicate = instruction.attrs.get("predicate")
        function = rule_of(op, instruction.flags, type.bits, source_type.bits, predicate)
        if op == "sub" and (part := _part_of_multiple(*operands)) is not None:
            whole, factor = part
            return Rule(partial(_without_part, function, factor, type.bits), (*seen, self.seen(whole, block)))
        if op == "sub" and self._is_ordered(operands[0], operands[1], block):
            return Rule(partial(_ordered_difference, function, type.bits), seen)
        if op in ("add", "sub") and (sum := sum_of_products(instruction)) is not None:
            numbers = tuple(self.seen(number, block) for number in sum.numbers)
            return Rule(partial(_sum_of_products, function, sum, type.bits), (*seen, *numbers))
        return Rule(function, seen)

    def seen(self, value: Value, block: BasicBlock) -> Operand:
        """A value as the threads that run `block` see it."""
        own = self._conditions.frozen(value, block)
        return self._refined(value, lambda v: self._conditions.holding(v, block), own)

    def _is_ordered(self, greater: Value, less: Value, block: BasicBlock) -> bool:
        """Whether conditions say of two integers, for the threads that run `block`, which one is not less."""
        return any(
            c.predicate in ("sgt", "sge") and c.other is less
            for c in self._conditions.holding(greater, block)
        ) or any(
            c.predicate in ("slt", "sle") and c.other is greater
            for c in self._conditions.holding(less, block)
        )

    def _kept(self, store: Instruction) -> Operand:
        assert store.block is not None
        return self.seen(store.stored_value, store.block)

    def _arriving(self, value: Value, source: BasicBlock, target: BasicBlock) -> Operand:
        """A φ's operand as the threads that come over an edge bring it."""
        holding, on_edge = self._conditions.holding, self._conditions.on_edge
        own = self._conditions.frozen(value, source, target)
        return self._refined(value, lambda v: [*holding(v, source), *on_edge(v, source, target)], own)

    def _refined(
        self, value: Value, conditions_on: Callable[[Value], Iterable[Condition]], own: Sequence[Condition]
    ) -> Operand:
        """A value that others tell of, and conditions of its `own`."""
        operand = _tested(_plain(value), value, 0, own) if own else _plain(value)
        for number, offset in self.told_by(value):
            operand = _tested(operand, number, offset, conditions_on(number))
        return operand

    def told_by(self, value: Value) -> list[tuple[Value, int]]:
        """The numbers, itself or as `told_of` says in `TELLING` steps, of which comparisons tell of a value.

        Each comes with what it is more than the value.
        """
        known = self._told.get(value)
        if known is None:
            last: list[tuple[Value, int]] = [(value, 0)]
            numbers = list(last) if not isinstance(value, ConstInt) else []
            for _ in range(TELLING if isinstance(value, Instruction) else 0):
                last = [
                    (user, offset + part[1])
                    for number, offset in last
                    for user in number.instruction_users()
                    if (part := told_of(user)) is not None and part[0] is number
                ]
                numbers += last
            known = self._told[value] = [n for n in numbers if self._conditions.compares(n[0])]
        return known


def _part_of_multiple(value: Value, part: Value) -> tuple[Value, int] | None:
    """A number x and a factor, if a difference is ``x * factor - (x & ...)``: what butterflies index by.

    As naturals ``(x & ...) + s`` are no more than ``x + s``, if neither sum wraps around.
    """
    if _is_part(part, value):
        return value, 1
    if isinstance(value, Instruction) and value.op in ("shl", "mul"):
        whole, count = value.operands
        if isinstance(count, ConstInt) and count.signed > 0 and _is_part(part, whole):
            return whole, 1 << count.value if value.op == "shl" else count.value
    return None


def _is_part(part: Value, whole: Value, steps: int = 4) -> bool:
    """Whether a number is some bits of another one, or such a part of a term of it beside the other term."""
    if not isinstance(part, Instruction) or not steps:
        return False
    if part.op == "and":
        return any(v is whole or _is_part(v, whole, steps - 1) for v in part.operands)
    if part.op != "add" or not isinstance(whole, Instruction) or whole.op != "add":
        return False
    (bits, other), (term, same) = part.operands, whole.operands
    exact = "nuw" in part.flags and "nuw" in whole.flags
    return exact and other is same and _is_part(bits, term, steps - 1)


def _without_part(
    difference: Callable[..., Interval | None], factor: int, bits: int, a: Interval, b: Interval, x: Interval
) -> Interval | None:
    """Some bits of a natural number x are no more than x."""
    found = difference(a, b)
    if x.lo < 0 or x.hi * factor >= 1 << (bits - 1):
        return found
    return meet(found, Interval(x.lo * (factor - 1), x.hi * factor))


def _ordered_difference(
    difference: Callable[..., Interval | None], bits: int, greater: Interval, less: Interval
) -> Interval | None:
    """What is taken from a number that is not less leaves a natural number, if that fits."""
    found, most = difference(greater, less), greater.hi - less.lo
    return meet(found, Interval(0, most)) or found if 0 <= most < 1 << (bits - 1) else found


def _sum_of_products(
    operation: Callable[..., Interval | None],
    sum: Sum,
    bits: int,
    a: Interval,
    b: Interval,
    *numbers: Interval,
) -> Interval | None:
    found = operation(a, b)
    return meet(found, between_corners(sum, bits, *numbers)) or found


def _plain(value: Value) -> Plain:
    if isinstance(value, (Instruction, Argument)):
        return value
    if isinstance(value, ConstInt):
        return Interval(value.signed, value.signed)
    return full(value.type.bits) if isinstance(value.type, IntType) else None


def told_of(number: Value) -> tuple[Value, int] | None:
    """A value and a constant whose sum a number is, without wrap-around; the value may have fewer bits."""
    if not isinstance(number, Instruction):
        return None
    if number.op == "sext":
        return number.operands[0], 0
    exact = (number.op == "add" and "nsw" in number.flags) or (
        number.op == "or" and "disjoint" in number.flags
    )
    if not exact or not isinstance(term := number.operands[1], ConstInt):
        return None
    return (number.operands[0], term.signed) if number.op == "add" or term.signed >= 0 else None


def _tested(operand: Operand, number: Value, offset: int, conditions: Iterable[Condition]) -> Operand:
    tests = tuple((condition.predicate, _plain(condition.other)) for condition in conditions)
    if not tests:
        return operand
    assert isinstance(number.type, IntType)
    return Refined(operand, tests, number.type.bits, offset)


def _hull(*ranges: Interval | None) -> Interval | None:
    result: Interval | None = None
    for range in ranges:
        result = join(result, range)
    return result
