"""Freezes of positions that cannot be poison are gone.

LLVM freezes what it moves tests of: `%x = freeze (gid.x * lsize.x + tid.x)`, where it does not know that the sum of
ids does not wrap around. Behind a freeze a position is a number like any other: groups are not merged to rows, and
guards are no bounds of a row (`weft.transform.groups.guard_splitting`).

Precondition: ids are parameters (`weft.transform.groups.work_items`). Postcondition: no integer is frozen that is a
sum or a product of parameters without undefined bits, of which ranges tell that none of its flags is wrong. Such
numbers are what a freeze would give. Preserves the program under FR and OBL.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import Interval
from weft.graph.cfg import reverse_postorder
from weft.ir import Argument, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.types import IntType
from weft.transform.groups.row_values import limits_of


def settle_positions(function: Function) -> int:
    """Let what is never poison be itself where it was frozen; how many freezes that were."""
    if not any(i.op == "freeze" for i in function.instructions()):
        return 0
    limits: dict[Value, Interval] = {}
    for argument in function.args:
        if isinstance(argument.type, IntType) and "noundef" in argument.attributes:
            limits[argument] = limits_of(argument) or _all_of(argument.type)
    view = cfg_of(function)
    gone = 0
    for number in reverse_postorder(view.cfg.succs):
        for instruction in list(view.blocks[number].instructions):
            if instruction.op == "freeze" and instruction.operands[0] in limits:
                replace_and_erase(instruction, instruction.operands[0])
                gone += 1
            elif (found := _limits(instruction, limits)) is not None:
                limits[instruction] = found
    return gone


def _limits(instruction: Instruction, limits: dict[Value, Interval]) -> Interval | None:
    """Limits of the signed number that an instruction gives; None where it may be poison, or is not followed."""
    if instruction.op not in ("add", "sub", "mul", "sext", "zext") or instruction.guard is not None:
        return None
    known = [_limits_of_operand(v, limits) for v in instruction.operands]
    if any(each is None for each in known) or not isinstance(instruction.type, IntType):
        return None
    ends = [each for each in known if each is not None]
    if instruction.op in ("sext", "zext"):
        may_be_negative = ends[0].lo < 0 and instruction.op == "zext"
        return None if may_be_negative else ends[0]
    a, b = ends
    if instruction.op == "mul":
        corners = [x * y for x in a for y in b]
        made = Interval(min(corners), max(corners))
    elif instruction.op == "add":
        made = Interval(a.lo + b.lo, a.hi + b.hi)
    else:
        made = Interval(a.lo - b.hi, a.hi - b.lo)
    everything = _all_of(instruction.type)
    wraps = made.lo < everything.lo or made.hi > everything.hi
    if "nuw" in instruction.flags and min(a.lo, b.lo, made.lo) < 0:
        return None
    if wraps:
        return None if instruction.flags else everything
    return made


def _limits_of_operand(value: Value, limits: dict[Value, Interval]) -> Interval | None:
    if isinstance(value, ConstInt):
        return Interval(value.signed, value.signed)
    return limits.get(value) if isinstance(value, (Argument, Instruction)) else None


def _all_of(type: IntType) -> Interval:
    half = 1 << (type.bits - 1)
    return Interval(-half, half - 1)
