"""Loops that turn around the order of a number's bits are one instruction, which lanes have, too.

    for k in range(32): r = r << 1 | x & 1; x >>= 1          r = bitreverse(x)
    for k in range(32): r = r << 1 | x >> k & 1         →    r = bitreverse(x)
    for k in range(10): r = r << 1 | x & 1; x >>= 1          r = r << 10 | bitreverse(x) >> 22

LLVM knows the sum of all bits when it has unrolled the loop: lanes would run the loop before it does.

Precondition: plain code of one thread. Postcondition: no innermost loop of a known number of iterations does this and
nothing else. Preserves the program under FR.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, known_iterations
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.intrinsics import PURE
from weft.ir.types import I32, FunctionType, IntType
from weft.transform.loops.skip_loop import skip_loop

_CASTS = ("zext", "sext", "trunc")
_JOINS = ("or", "add", "xor")
_LEAST = 4
"""Bits. Fewer are as well taken one by one."""

_LENGTHS = (8, 16, 32, 64)
_LARGEST = 12
"""Instructions of such a loop's block, where debug records are none."""


class _Reversal(Struct, frozen=True):
    """A loop that moves bits of a number to a result, from the last one on.

    Parameters
    ----------
    loop, bits
        The loop, and how many bits it moves.
    result
        The φ of what they are moved to.
    number
        What they are moved from: a φ that is shifted, or a value that the loop does not change, or a cast of one.
    """

    loop: CountedLoop
    bits: int
    result: Instruction
    number: Value


def reverse_bits(function: Function) -> int:
    """Turn around bits at once; in how many loops."""
    done = 0
    while (found := _next(function)) is not None:
        _reverse(function, found)
        remove_unreachable_blocks(function)
        done += 1
    return done


def _next(function: Function) -> _Reversal | None:
    if not any(1 < len(list(b.phis())) < 4 and len(b.instructions) <= _LARGEST for b in function.blocks):
        return None
    view = cfg_of(function)
    loops = loop_forest(view.cfg).loops
    return next((found for loop in loops if (found := _reversal(view, loop)) is not None), None)


def _reversal(view: CFGView, loop: Loop) -> _Reversal | None:
    if loop.children or len(loop.blocks) > 2:
        return None
    counted = counted_loop(view, loop)
    if isinstance(counted, str) or counted.counter.step != 1:
        return None
    if not (counted.top_tested or counted.exiting is counted.latch):
        return None
    bits = known_iterations(counted)
    if bits is None or bits < _LEAST:
        return None
    phis = [phi for phi in counted.header.phis() if phi is not counted.counter.phi]
    for result in phis:
        number = _moved(result, counted, bits)
        if number is not None and set(phis) <= {result, number} and _is_all(result, number, counted):
            return _Reversal(counted, bits, result, number)
    return None


def _moved(result: Instruction, loop: CountedLoop, bits: int) -> Value | None:
    """The number whose bits are moved to a φ, from the last one on."""
    joined = result.incoming_value(loop.latch)
    if not isinstance(joined, Instruction) or joined.op not in _JOINS or not isinstance(result.type, IntType):
        return None
    for shifted, bit in (joined.operands, joined.operands[::-1]):
        if not isinstance(shifted, Instruction) or shifted.op != "shl":
            continue
        if shifted.operands[0] is not result or not _is_constant(shifted.operands[1], 1):
            continue
        if isinstance(bit, Instruction) and bit.op in ("zext", "trunc"):
            bit = bit.operands[0]
        if not isinstance(bit, Instruction) or bit.op != "and" or not _is_constant(bit.operands[1], 1):
            continue
        number = _number_of(bit.operands[0], loop)
        if number is not None and isinstance(number.type, IntType) and number.type.bits >= bits:
            return number if number.type.bits in _LENGTHS else None
    return None


def _number_of(value: Value, loop: CountedLoop) -> Value | None:
    """The number of which a value has the last bit that is left, or the one with the counter's number."""
    if not isinstance(value, Instruction) or value.block not in loop.blocks:
        return None
    if value.is_phi:
        following = value.incoming_value(loop.latch)
        if not isinstance(following, Instruction) or following.op not in ("lshr", "ashr"):
            return None
        by_one = following.operands[0] is value and _is_constant(following.operands[1], 1)
        return value if by_one else None
    if value.op not in ("lshr", "ashr"):
        return None
    number, place = value.operands
    if isinstance(place, Instruction) and place.op in _CASTS and place.block in loop.blocks:
        place = place.operands[0]
    if place is not loop.counter.phi or not _is_constant(loop.counter.start, 0):
        return None
    if not isinstance(number, Instruction) or number.block not in loop.blocks:
        return number
    stays = number.op in _CASTS and not _is_inside(number.operands[0], loop)
    return number if stays else None


def _is_all(result: Instruction, number: Value, loop: CountedLoop) -> bool:
    """Whether a loop does nothing else, and shows nothing but what its φs have become."""
    inside = [i for block in loop.blocks for i in block.instructions]
    test = loop.exiting.terminator.operands[0]
    needed: set[Value] = {result, loop.counter.phi, loop.counter.following, test}
    work = [result.incoming_value(loop.latch), number]
    while work:
        value = work.pop()
        if isinstance(value, Instruction) and value.block in loop.blocks and value not in needed:
            needed.add(value)
            work += value.operands
    if any(i not in needed and not i.is_terminator for i in inside):
        return False
    ends = set(_ends(loop, result, number))
    return all(user.block in loop.blocks for i in inside if i not in ends for user in i.instruction_users())


def _ends(loop: CountedLoop, result: Instruction, number: Value) -> list[Instruction]:
    """What is seen behind the loop: the φs, or what they would be in another iteration."""
    phis = [result, loop.counter.phi]
    if isinstance(number, Instruction) and number.block is loop.header and number.is_phi:
        phis.append(number)
    if loop.top_tested:
        return phis
    following = [phi.incoming_value(loop.latch) for phi in phis]
    return [value for value in following if isinstance(value, Instruction)]


def _is_constant(value: Value, number: int) -> bool:
    return isinstance(value, ConstInt) and value.signed == number


def _is_inside(value: Value, loop: CountedLoop) -> bool:
    return isinstance(value, Instruction) and value.block in loop.blocks


def _reverse(function: Function, found: _Reversal) -> None:
    loop, bits, number = found.loop, found.bits, found.number
    counter, preheader = loop.counter, loop.preheader
    b = Builder(before=preheader.terminator)
    b.loc = found.result.loc
    start = number
    if isinstance(number, Instruction) and number.block in loop.blocks:
        start = number.incoming_value(preheader) if number.is_phi else b.insert(number.clone())
    assert isinstance(counter.start, ConstInt)
    became: list[Value] = [
        _turned(function, b, start, found.result.incoming_value(preheader), bits),
        const_int(counter.start.signed + bits, counter.type),
    ]
    ends = _ends(loop, found.result, number)
    if len(ends) > len(became):
        became.append(_left(b, number, start, loop.latch, bits))
    skip_loop(preheader, loop.exiting, loop.exit, loop.blocks, dict(zip(ends, became, strict=True)))


def _turned(function: Function, b: Builder, number: Value, before: Value, bits: int) -> Value:
    """What the last bits of a number have become, behind what has been there before."""
    assert isinstance(number.type, IntType) and isinstance(before.type, IntType)
    assert function.module is not None
    type = number.type
    if bits <= I32.bits < type.bits:
        type = I32
        number = b.cast("trunc", number, type)
    name = f"llvm.bitreverse.i{type.bits}"
    turned: Value = b.call(function.module.declare(name, FunctionType(type, (type,)), PURE), (number,))
    if bits < type.bits:
        turned = b.binary("lshr", turned, const_int(type.bits - bits, type))
    to = before.type
    if to.bits != type.bits:
        turned = b.cast("zext" if to.bits > type.bits else "trunc", turned, to)
    if bits >= to.bits or _is_constant(before, 0):
        return turned
    return b.binary("or", b.binary("shl", before, const_int(bits, to)), turned)


def _left(b: Builder, number: Value, start: Value, latch: BasicBlock, bits: int) -> Value:
    """What is left of a number that is shifted in each iteration."""
    assert isinstance(number, Instruction) and isinstance(number.type, IntType)
    following = number.incoming_value(latch)
    assert isinstance(following, Instruction)
    if bits == number.type.bits and following.op == "lshr":
        return const_int(0, number.type)
    return b.binary(following.op, start, const_int(min(bits, number.type.bits - 1), number.type))
