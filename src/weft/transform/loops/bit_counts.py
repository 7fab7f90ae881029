"""Loops that count the bits of a number are one instruction, which lanes have, too.

    while x != 0: x &= x - 1; n += 1          n += popcount(x)
    while x != 0: n += x & 1; x >>= 1    →    n += popcount(x)

LLVM knows the first form by a pass of its own, which runs behind vectorization: lanes would wait for the one with the
most bits. A number with a sign may be asked whether it is above 0, and then counts for nothing where it is not.

Precondition: plain code of one thread. Postcondition: no innermost loop does this and nothing else. Preserves the
program under FR: bits above the last one are not looked at, and a loop without end may do anything.
"""

from __future__ import annotations

from msgspec import Struct

from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.intrinsics import PURE
from weft.ir.types import FunctionType, IntType
from weft.transform.loops.skip_loop import skip_loop

_CASTS = ("zext", "trunc")


class _Count(Struct, frozen=True):
    """A loop that takes the bits of `number` one by one, and adds `step` to `count` for each.

    It is behind the loop that `ends` are seen, what the number and the count have become. If `at_least_once`, a number
    of no bits counts as one of one; if `above_zero`, one below 0 counts for nothing.
    """

    preheader: BasicBlock
    exiting: BasicBlock
    exit: BasicBlock
    number: Instruction
    count: Instruction
    ends: tuple[Instruction, Instruction]
    step: int
    above_zero: bool
    at_least_once: bool


def count_bits(function: Function) -> int:
    """Count bits at once; in how many loops."""
    done = 0
    while (found := _next(function)) is not None:
        _count(function, found)
        remove_unreachable_blocks(function)
        done += 1
    return done


def _next(function: Function) -> _Count | None:
    if not any(len(block.instructions) < 9 and len(list(block.phis())) == 2 for block in function.blocks):
        return None
    view = cfg_of(function)
    loops = loop_forest(view.cfg).loops
    return next((c for loop in loops if (c := _counts(view, loop)) is not None), None)


def _counts(view: CFGView, loop: Loop) -> _Count | None:
    header, inside = view.blocks[loop.header], {view.blocks[b] for b in loop.blocks}
    outside = [b for b in header.predecessors if b not in inside]
    phis = list(header.phis())
    if loop.children or loop.is_irreducible or len(inside) > 2 or len(phis) != 2 or len(outside) != 1:
        return None
    if len(loop.latches) != 1 or len(loop.exit_edges) != 1 or outside[0].terminator.blocks != [header]:
        return None
    latch, exiting = view.blocks[loop.latches[0]], view.blocks[loop.exit_edges[0][0]]
    for number, count in (phis, phis[::-1]):
        matched = _matched(number, count, latch)
        test = exiting.terminator.operands[0] if exiting.terminator.op == "br" else None
        if matched is None or not isinstance(test, Instruction) or test.op != "icmp":
            continue
        used, step = matched.used, matched.step
        asked_last = exiting is latch and len(inside) == 1
        ends = matched.following if asked_last else (number, count)
        goes_on = exiting.terminator.blocks[0] in inside
        above = _asks_above_zero(test, ends[0], goes_on)
        rest = {i for b in inside for i in b.instructions if not i.is_phi and not i.is_terminator}
        if (
            above is None
            or rest - used != {test}
            or (matched.is_signed and not above)
            or (asked_last and above)
        ):
            continue
        if any(
            u.block not in inside
            for v in (number, count, *used)
            if v not in ends
            for u in v.instruction_users()
        ):
            continue
        if above and any(u.block not in inside for u in number.instruction_users()):
            continue
        exit = view.blocks[loop.exit_edges[0][1]]
        once = asked_last and matched.following[0].op == "and"
        return _Count(outside[0], exiting, exit, number, count, ends, step, above, once)
    return None


class _Matched(Struct, frozen=True):
    """What counts, what a bit adds, whether the number's sign is shifted in, and the next number and count."""

    used: set[Instruction]
    step: int
    is_signed: bool
    following: tuple[Instruction, Instruction]


def _matched(number: Instruction, count: Instruction, latch: BasicBlock) -> _Matched | None:
    """How a loop takes bits of a number, if it does."""
    next_number, next_count = number.incoming_value(latch), count.incoming_value(latch)
    if (
        not isinstance(next_number, Instruction)
        or not isinstance(next_count, Instruction)
        or next_count.op != "add"
    ):
        return None
    if next_number.op == "and":
        less = _other(next_number, number)
        one = _other(less, number) if isinstance(less, Instruction) and less.op == "add" else None
        step = _other(next_count, count)
        if _is_constant(one, -1) and isinstance(step, ConstInt):
            assert isinstance(less, Instruction)
            return _Matched({next_number, less, next_count}, step.signed, False, (next_number, next_count))
        return None
    if next_number.op not in ("lshr", "ashr") or next_number.operands[0] is not number:
        return None
    bit = _other(next_count, count)
    used = {next_number, next_count}
    if isinstance(bit, Instruction) and bit.op in _CASTS:
        used.add(bit)
        bit = bit.operands[0]
    if not _is_constant(next_number.operands[1], 1) or not isinstance(bit, Instruction) or bit.op != "and":
        return None
    if not _is_constant(_other(bit, number), 1):
        return None
    return _Matched({*used, bit}, 1, next_number.op == "ashr", (next_number, next_count))


def _other(binary: Instruction, operand: Value) -> Value | None:
    """The other operand of an instruction, if this is one."""
    if len(binary.operands) != 2 or operand not in binary.operands:
        return None
    return binary.operands[binary.operands[0] is operand]


def _is_constant(value: Value | None, number: int) -> bool:
    return isinstance(value, ConstInt) and value.signed == number


def _asks_above_zero(test: Instruction, number: Value, goes_on: bool) -> bool | None:
    """Whether a loop goes on while a number is above 0; False where it asks for any other number, None for others."""
    a, b = test.operands
    if a is not number or not isinstance(b, ConstInt):
        return None
    asked = (test.predicate, b.signed)
    if asked == (("ne", 0) if goes_on else ("eq", 0)):
        return False
    return True if asked in ([("sgt", 0)] if goes_on else [("sle", 0), ("slt", 1)]) else None


def _count(function: Function, found: _Count) -> None:
    assert function.module is not None and isinstance(found.number.type, IntType)
    type, preheader = found.number.type, found.preheader
    start = found.number.incoming_value(preheader)
    b = Builder(before=preheader.terminator)
    b.loc = found.ends[1].loc
    name = f"llvm.ctpop.i{type.bits}"
    bits: Value = b.call(function.module.declare(name, FunctionType(type, (type,)), PURE), (start,))
    if found.at_least_once:
        bits = b.select(b.icmp("eq", start, const_int(0, type)), const_int(1, type), bits)
    if found.above_zero:
        bits = b.select(b.icmp("sgt", start, const_int(0, type)), bits, const_int(0, type))
    to = found.count.type
    assert isinstance(to, IntType)
    if to != type:
        bits = b.cast("zext" if to.bits > type.bits else "trunc", bits, to)
    if found.step != 1:
        bits = b.binary("mul", bits, const_int(found.step, to))
    total = b.binary("add", found.count.incoming_value(preheader), bits)
    inside = [block for block in (found.number.block, found.exiting) if block is not None]
    results = dict(zip(found.ends, (const_int(0, type), total), strict=True))
    skip_loop(preheader, found.exiting, found.exit, inside, results)
