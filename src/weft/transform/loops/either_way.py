"""Loops whose step may have either sign compute before they begin how often they run, and count so.

    for i in range(s, e, d): body(i)    →    n = (d > 0 and s < e) or (d < 0 and s > e) ? (|e - s| - 1) / |d| + 1 : 0
                                             for k in 0 .. n: body(i), i += d

Python's ranges go either way, which is asked in each iteration. LLVM makes no loop for each way, as both are joined in
one condition, and unrolls none of which it does not know how often it runs: a sieve of primes took 1.7 times as long.

Precondition: plain code of one thread. Postcondition: such small innermost loops count from 0 to what was computed
before them. Preserves the program under FR and OBL: what iterations see are the same numbers, by the same steps.
"""

from __future__ import annotations

from msgspec import Struct

from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import IntType, VectorType

LARGEST = 24
"""Instructions of a loop that LLVM unrolls, with those of its test."""


class _Range(Struct, frozen=True):
    """A loop that goes on while ``step > 0 and number < stop or step < 0 and number > stop``."""

    header: BasicBlock
    preheader: BasicBlock
    latch: BasicBlock
    type: IntType
    start: Value
    stop: Value
    step: Value


def count_either_way(function: Function) -> int:
    """Let loops count so; how many."""
    view = cfg_of(function)
    found = 0
    for loop in loop_forest(view.cfg).loops:
        if not loop.children and (range := _range(view, loop)) is not None:
            _count(range)
            found += 1
    if found:
        remove_dead_instructions(function)
    return found


def _range(view: CFGView, loop: Loop) -> _Range | None:
    header, inside = view.blocks[loop.header], {view.blocks[b] for b in loop.blocks}
    outside = [b for b in header.predecessors if b not in inside]
    if loop.is_irreducible or len(loop.latches) != 1 or len(outside) != 1:
        return None
    instructions = [i for block in inside for i in block.instructions]
    if len(instructions) > LARGEST or any(
        i.op == "call" or isinstance(i.type, VectorType) for i in instructions
    ):
        return None
    branch, latch = header.terminator, view.blocks[loop.latches[0]]
    if branch.op != "br" or [b in inside for b in branch.blocks] != [True, False]:
        return None
    for number in header.phis():
        following = number.incoming_value(latch)
        if not isinstance(number.type, IntType) or not isinstance(following, Instruction):
            continue
        if following.op != "add" or "nsw" not in following.flags or number not in following.operands:
            continue
        step = following.operands[following.operands[0] is number]
        stop = _stop(branch.operands[0], number, step)
        if stop is None or any(isinstance(v, Instruction) and v.block in inside for v in (step, stop)):
            continue
        return _Range(header, outside[0], latch, number.type, number.incoming_value(outside[0]), stop, step)
    return None


def _stop(test: Value, number: Instruction, step: Value) -> Value | None:
    """What a number that grows by `step` is below, or above, as long as a loop goes on."""
    if not isinstance(test, Instruction) or test.op != "or":
        return None
    first, second = (_way(both, number, step) for both in test.operands)
    if first is None or second is None or {first[0], second[0]} != {"slt", "sgt"}:
        return None
    return first[1] if first[1] is second[1] else None


def _way(both: Value, number: Instruction, step: Value) -> tuple[str, Value] | None:
    """How a number is compared, and with what, where a step has the sign that leads there."""
    if not isinstance(both, Instruction) or both.op != "and":
        return None
    for sign, compared in (both.operands, both.operands[::-1]):
        if not (isinstance(sign, Instruction) and isinstance(compared, Instruction)):
            continue
        if sign.op != "icmp" or compared.op != "icmp":
            continue
        zero = sign.operands[1]
        if sign.operands[0] is not step or not isinstance(zero, ConstInt) or zero.value:
            continue
        ways = (sign.predicate, compared.predicate)
        if compared.operands[0] is number and ways in (("sgt", "slt"), ("slt", "sgt")):
            return compared.predicate, compared.operands[1]
    return None


def _count(loop: _Range) -> None:
    type, header = loop.type, loop.header
    zero, one = ConstInt(type, 0), ConstInt(type, 1)
    before = Builder(before=loop.preheader.terminator)
    before.loc = header.terminator.loc
    rises, falls = (before.icmp(way, loop.step, zero) for way in ("sgt", "slt"))
    first = before.select(falls, loop.stop, loop.start)
    last = before.select(falls, loop.start, loop.stop)
    runs = before.binary("and", before.binary("or", rises, falls), before.icmp("slt", first, last))
    size = before.select(falls, before.binary("sub", zero, loop.step), loop.step)
    # Nothing is divided by 0, which no range has for a step.
    size = before.select(before.icmp("eq", size, zero), one, size)
    distance = before.binary("sub", before.binary("sub", last, first), one)
    steps = before.binary("add", before.binary("udiv", distance, size), one)
    count = before.select(runs, steps, zero)
    number = Instruction("phi", type, loc=header.terminator.loc)
    header.insert(0, number)
    test = Builder(before=header.terminator)
    test.loc = header.terminator.loc
    header.terminator.set_operand(0, test.icmp("ult", number, count))
    behind = Builder(before=loop.latch.terminator)
    behind.loc = header.terminator.loc
    number.add_incoming(zero, loop.preheader)
    number.add_incoming(behind.binary("add", number, one, ("nuw",)), loop.latch)
