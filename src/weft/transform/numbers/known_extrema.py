"""The larger, or smaller, one of two floats in lanes, of which one is known to be a number.

IEEE 754's maximumNumber passes over what is no number, and has -0 below 0; `max` of PTX and Python's `fmax` are that.
Processors with SSE have an instruction for ``a > b ? a : b``, which gives b for two zeros and where one of both is no
number; LLVM puts signs and numbers right around it, in five instructions that wait for each other. In a maximum of many
numbers the one so far is known to be a number, and then

    maximumnum(x, m)      ==>      y = x > -inf ? x : -inf                # a number, which waits for no m
                                   (y > m ? y : m) & (m > y ? m : y)      # of their bits

are four. Two that are equal have the same bits, or are zeros, of which ``&`` makes 0, and for the smaller one ``|`` -0.
Where one of many is a constant that is 0 or more (-0 or less), the others are compared with the largest one so far, one
after the other: that is a number, and no -0, so that the instruction alone is right.

Precondition: plain LLVM IR or P-LLVM whose lanes are vectors; the processor does not flush subnormal numbers, as it
compares them as zeros then. Postcondition: no vector of floats or doubles is asked for maximumNumber or minimumNumber
of what is known to be a number and of what is no constant. Preserves the program under FR and OBL.
"""

from __future__ import annotations

import math

from weft.analysis.flushed_numbers import LEFT
from weft.ir import Builder, ConstFloat, ConstInt, ConstSplat, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.constants import ConstAggregate, ConstZero, Poison
from weft.ir.types import F32, F64, I32, I64, FloatType, VectorType

_EXTREMA = {"llvm.maximumnum.": ("ogt", "and", -math.inf), "llvm.minimumnum.": ("olt", "or", math.inf)}
_MOVES = ("phi", "shufflevector", "bitcast", "fpext", "fptrunc", "fneg")
_KEPT = ("llvm.fabs.", "llvm.copysign.", "weft.permute.")


def replace_known_extrema(function: Function) -> int:
    """Compare both ways instead; how many were such."""
    if LEFT in function.attributes:
        return 0
    count = 0
    for root in [i for i in function.instructions() if _is_extremum(i)]:
        leaves = _leaves(root)
        bound = next((v for v in leaves if _bounds(root, v)), None)
        if bound is not None and len(leaves) > 2:
            _compare_in_turn(root, bound, [v for v in leaves if v is not bound])
            count += 1
    if count:
        remove_dead_instructions(function)
    return count + _compare_both_ways(function)


def _leaves(root: Instruction) -> list[Value]:
    """Of what a larger one of several is made; only of itself where another one is made of it."""
    if any(_is_part(root, user) for user in root.instruction_users()):
        return []
    found: list[Value] = []
    work: list[Value] = list(reversed(root.args))
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and _is_part(value, root):
            work += reversed(value.args)
        else:
            found.append(value)
    return found


def _is_part(i: Instruction, of: Instruction) -> bool:
    """Whether it is used for another one alone, in its block."""
    same = _is_extremum(i) and i.callee_name == of.callee_name and i.block is of.block
    return same and len(list(i.instruction_users())) == 1


def _bounds(root: Instruction, value: Value) -> bool:
    """Whether a constant is so large that what is larger, or as large, is no -0; for minima, so small."""
    number = value.element if isinstance(value, ConstSplat) else value
    if isinstance(value, ConstZero):
        return _rule_of(root)[0] == "ogt"
    if not isinstance(number, ConstFloat) or number is value or math.isnan(number.value):
        return False
    return (math.copysign(1.0, number.value) > 0) == (_rule_of(root)[0] == "ogt")


def _compare_in_turn(root: Instruction, bound: Value, others: list[Value]) -> None:
    build = Builder(before=root)
    build.loc = root.loc
    so_far = bound
    for other in others:
        so_far = build.select(build.fcmp(_rule_of(root)[0], other, so_far), other, so_far)
    root.replace_all_uses(so_far)
    root.erase()


def _compare_both_ways(function: Function) -> int:
    found = [i for i in function.instructions() if _asks(i)]
    numbers = _Numbers(function) if found else None
    # What is replaced is an operand of others: which of two is a number is kept, not what it is now.
    changes: list[tuple[Instruction, int, bool]] = []
    for call in found:
        assert numbers is not None
        known = [numbers.has(value) for value in call.args]
        if any(known):
            changes.append((call, known.index(True), all(known)))
    for call, at, are_numbers in changes:
        _replace(call, call.args[1 - at], call.args[at], are_numbers)
    return len(changes)


def _rule_of(call: Instruction) -> tuple[str, str, float]:
    return next(rule for name, rule in _EXTREMA.items() if (call.callee_name or "").startswith(name))


def _is_extremum(i: Instruction) -> bool:
    named = i.op == "call" and (i.callee_name or "").startswith(tuple(_EXTREMA))
    return named and isinstance(i.type, VectorType) and i.type.element in (F32, F64)


def _asks(i: Instruction) -> bool:
    return _is_extremum(i) and not any(isinstance(v, (ConstSplat, ConstAggregate, ConstZero)) for v in i.args)


def _replace(call: Instruction, other: Value, number: Value, are_numbers: bool) -> None:
    type = call.type
    assert isinstance(type, VectorType) and isinstance(type.element, FloatType)
    predicate, joined, least = _rule_of(call)
    build = Builder(before=call)
    build.loc = call.loc
    if not are_numbers:
        bound = ConstSplat(type, ConstFloat.of(type.element, least))
        other = build.select(build.fcmp(predicate, other, bound), other, bound)
    first = build.select(build.fcmp(predicate, other, number), other, number)
    if "nsz" in call.flags or "fast" in call.flags:
        call.replace_all_uses(first)
    else:
        second = build.select(build.fcmp(predicate, number, other), number, other)
        words = VectorType(I32 if type.element == F32 else I64, type.count)
        one, other_one = (build.cast("bitcast", v, words) for v in (first, second))
        call.replace_all_uses(build.cast("bitcast", build.binary(joined, one, other_one), type))
    call.erase()


class _Numbers:
    """Which values of a function are numbers in all lanes, or bits of such, as long as they are no poison."""

    def __init__(self, function: Function) -> None:
        # What is not known to be another thing is a number, until one of its operands turns out not to be.
        self.no: set[Instruction] = set()
        moves = [i for i in function.instructions() if self._rule(i) is not None]
        self.maybe = set(moves)
        work = moves
        while work:
            i = work.pop()
            if i not in self.no and not self._holds(i):
                self.no.add(i)
                work += [user for user in i.instruction_users() if user in self.maybe]

    def has(self, value: Value) -> bool:
        """Whether a value is, or its bits are those of, numbers."""
        if isinstance(value, Instruction):
            return value in self.maybe and value not in self.no
        return _is_number(value)

    def _rule(self, i: Instruction) -> tuple[list[Value], bool] | None:
        """Of which values all, or any, have to be numbers for this one to be."""
        name = i.callee_name or ""
        if not _is_kept_as_such(i):
            return None
        if name.startswith(tuple(_EXTREMA)):
            return list(i.args), False
        if name.startswith(_KEPT):
            return [i.args[0]], True
        if i.op in _MOVES:
            return list(i.operands), True
        if i.op == "select":
            return list(i.operands[1:]), True
        if i.op == "insertelement":
            return list(i.operands[:2]), True
        return ([], True) if i.op in ("sitofp", "uitofp") else None

    def _holds(self, i: Instruction) -> bool:
        rule = self._rule(i)
        assert rule is not None
        values, all_of_them = rule
        return all(map(self.has, values)) if all_of_them else any(map(self.has, values))


def _is_kept_as_such(i: Instruction) -> bool:
    """Whether an instruction has floats, or integers of as many bits as one kind of floats has."""
    type = i.type.element if isinstance(i.type, VectorType) else i.type
    if i.op != "bitcast":
        return isinstance(type, FloatType) or type in (I32, I64)
    source = i.operands[0].type
    source = source.element if isinstance(source, VectorType) else source
    return {type, source} in ({I32, F32}, {I64, F64}, {I32}, {I64})


def _is_number(value: Value) -> bool:
    if isinstance(value, Poison | ConstZero):
        return True
    if isinstance(value, ConstSplat):
        return _is_number(value.element)
    if isinstance(value, ConstAggregate):
        return all(map(_is_number, value.elements))
    if isinstance(value, ConstInt):
        return value.value == 0
    return isinstance(value, ConstFloat) and not math.isnan(value.value)
