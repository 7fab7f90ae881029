"""Divisions by what a loop does not change are multiplications by its inverse, where numbers are small.

    for x: y = n // d        c = 2**64 / d, rounded up; limit = 2**32 if 2 <= d < 2**32 else 0
                             for x: y = n * c >> 64 if n < limit else n // d

``n * c >> 64`` is n / d rounded down for n and d below 2³²: c exceeds 2⁶⁴ / d by less than one, so the product exceeds
2⁶⁴ · n / d by less than n, which is not enough to reach the next whole number, 2⁶⁴ / d further on (T. Granlund,
P. L. Montgomery, "Division by Invariant Integers using Multiplication", PLDI 1994). Processors divide in 6 to 18 cycles
on and on, and multiply in one.

The remainder is what the multiple leaves. ``//`` and ``%`` of the source language round down, where a division of
signed integers cuts; what they do about that has nothing to do where no number is negative, and stands beside the
division.

Precondition: plain P-LLVM of one thread; loops have preheaders, those that have none are left alone. Postcondition: in
loops, integers of 32 and 64 bits are divided by what the loop does not change as drawn. Preserves the program under FR:
the divisor is asked for its size before the loop, and divided by only if it is at least 2.
"""

from __future__ import annotations

from msgspec import Struct

from weft.graph.cfg import reverse_postorder
from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, split_block
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import I1, I32, I64, IntType

MOST = 12
"""Divisions of a function that are made so."""

_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_WIDE = IntType(128)


class Division(Struct, frozen=True):
    """Quotients and remainders of one number in one block, by what a loop around does not change.

    Parameters
    ----------
    members
        The instructions, in their order.
    before
        The block before the loop.
    """

    members: tuple[Instruction, ...]
    before: BasicBlock

    @property
    def number(self) -> Value:
        return self.members[0].operands[0]

    @property
    def divisor(self) -> Value:
        return self.members[0].operands[1]

    @property
    def is_signed(self) -> bool:
        return self.members[0].op.startswith("s")


class _Inverse(Struct, frozen=True):
    """What is known of a divisor before a loop: 2⁶⁴ divided by it, and which numbers are small enough."""

    factor: Value
    limit: Value


def multiply_by_inverses(function: Function) -> int:
    """Divide by multiplications in loops; how often."""
    done: set[Instruction] = set()
    inverses: dict[tuple[Value, bool, BasicBlock], _Inverse] = {}
    made = 0
    while made < MOST and (division := _next(function, done)) is not None:
        done.update(division.members)
        key = division.divisor, division.is_signed, division.before
        if key not in inverses:
            inverses[key] = _build_inverse(division)
        _multiply(division, inverses[key])
        made += 1
    if made:
        remove_dead_instructions(function)
    return made


def _next(function: Function, done: set[Instruction]) -> Division | None:
    found = [i for i in function.instructions() if i.op in _DIVISIONS and i not in done]
    if not any(not isinstance(i.operands[1], ConstInt) for i in found):
        return None
    view = cfg_of(function)
    loops = loop_forest(view.cfg)
    for number in reverse_postorder(view.cfg.succs):
        for i in view.blocks[number].instructions:
            if i.op not in _DIVISIONS or i in done or i.type not in (I32, I64):
                continue
            before = None if _is_asked_for(i) else _begins_before(i, loops, view)
            if before is not None:
                return Division(tuple(_alike(i)), before)
    return None


def _is_asked_for(division: Instruction) -> bool:
    """Whether a division is one for large numbers, as this pass makes them."""
    number, block = division.operands[0], division.block
    assert block is not None
    if not isinstance(number, Instruction) or number.op != "freeze" or len(block.predecessors) != 1:
        return False
    (branch,) = (p.terminator for p in block.predecessors)
    return any(isinstance(v, Instruction) and number in v.operands for v in branch.operands)


def _begins_before(division: Instruction, loops: LoopForest, view: CFGView) -> BasicBlock | None:
    """The block before the outermost loop that changes what is divided, but not the divisor; None without one."""
    assert division.block is not None
    loop, before = loops.innermost[view.index[division.block]], None
    number, divisor = division.operands
    if isinstance(divisor, ConstInt):
        return None
    while loop is not None and not _is_in(divisor, loop, view):
        outside = [p for p in view.cfg.preds[loop.header] if p not in loop.blocks]
        if len(outside) == 1 and len(view.cfg.succs[outside[0]]) == 1 and _is_in(number, loop, view):
            before = view.blocks[outside[0]]
        loop = loop.parent
    return before


def _is_in(value: Value, loop: Loop, view: CFGView) -> bool:
    return (
        isinstance(value, Instruction) and value.block is not None and view.index[value.block] in loop.blocks
    )


def _alike(division: Instruction) -> list[Instruction]:
    """The quotients and remainders of the same numbers in a block, from this one on."""
    assert division.block is not None
    behind = division.block.instructions[division.block.instructions.index(division) :]
    return [
        i
        for i in behind
        if i.op in _DIVISIONS and i.op[0] == division.op[0] and i.operands == division.operands
    ]


def _build_inverse(division: Division) -> _Inverse:
    type, signed = division.members[0].type, division.is_signed
    assert isinstance(type, IntType)
    builder = Builder(before=division.before.terminator)
    builder.loc = division.members[0].loc
    divisor = builder.unary("freeze", division.divisor)
    # Of 32 bits without sign the greatest number is divided as it was: no limit would be above it.
    limit = 1 << 32 if type is I64 else 1 << 31 if signed else (1 << 32) - 1
    less = builder.binary("sub", divisor, const_int(2, type))
    is_small = builder.icmp("ult", less, const_int(limit - 2, type))
    small = builder.select(is_small, divisor, const_int(2, type))
    if type is not I64:
        small = builder.cast("zext", small, I64)
    factor = builder.binary("add", builder.binary("udiv", const_int(-1, I64), small), const_int(1, I64))
    return _Inverse(factor, builder.select(is_small, const_int(limit, type), const_int(0, type)))


def _multiply(division: Division, inverse: _Inverse) -> None:
    first = division.members[0]
    block = first.block
    assert block is not None and block.function is not None
    beside = _beside(division)
    rest = split_block(first, f"{block.name}.divided")
    fast = block.function.add_block(f"{block.name}.small", block)
    slow = block.function.add_block(f"{block.name}.large", fast)
    location = first.loc
    block.terminator.erase()
    builder = Builder(block)
    builder.loc = location
    # A number that is poison has a quotient, a branch on it no meaning.
    number = builder.unary("freeze", division.number)
    test = builder.icmp("ult", number, inverse.limit)
    weigh(builder.cond_br(test, fast, slow), OFTEN, 1)
    values = _build_small(Builder(fast), division, inverse, number, beside)
    for i in beside:
        rest.instructions.remove(i)
        slow.append(i)
        if i in division.members:
            i.set_operand(0, number)
    for end in (fast, slow):
        builder = Builder(end)
        builder.loc = location
        builder.br(rest)
    inside = set(beside)
    for i in beside:
        users = [user for user in dict.fromkeys(i.instruction_users()) if user not in inside]
        if users:
            met = Instruction("phi", i.type, name=i.name, loc=i.loc)
            rest.insert(rest.first_insertion, met)
            for user in users:
                user.replace_operand(i, met)
            met.add_incoming(values[i], fast)
            met.add_incoming(i, slow)


def _beside(division: Division) -> list[Instruction]:
    """What is computed of quotients and remainders to round them down, and these, in their order."""
    first = division.members[0]
    assert first.block is not None
    instructions = first.block.instructions
    behind = instructions[instructions.index(first) :]
    later, found = set(behind), dict.fromkeys(division.members)
    order: list[Instruction] = []
    for i in behind:
        rounds = _rounds_down(i, set(order), division)
        if i in found or (rounds and all(v not in later or v in order for v in i.operands)):
            order.append(i)
    return order


def _rounds_down(i: Instruction, known: set[Instruction], division: Division) -> bool:
    """Whether an instruction asks quotients and remainders for signs, or acts on that."""
    if not any(v in known for v in i.operands):
        return False
    if i.op == "xor":
        return division.divisor in i.operands
    if i.op == "icmp":
        return isinstance(i.operands[1], ConstInt) and i.operands[1].signed in (0, -1)
    if i.op in ("and", "or", "select"):
        return i.type is I1 or (i.op == "select" and i.operands[0] in known)
    if i.op in ("sext", "zext"):
        return i.operands[0].type is I1
    return i.op in ("add", "sub") and all(v in known for v in i.operands)


def _build_small(
    builder: Builder, division: Division, inverse: _Inverse, number: Value, beside: list[Instruction]
) -> dict[Value, Value]:
    """What quotients, remainders and what is computed of them are for small numbers."""
    type = division.members[0].type
    builder.loc = division.members[0].loc
    long = number if type is I64 else builder.cast("zext", number, I64)
    product = builder.binary(
        "mul", builder.cast("zext", long, _WIDE), builder.cast("zext", inverse.factor, _WIDE), ("nuw",)
    )
    quotient: Value = builder.cast("trunc", builder.binary("lshr", product, const_int(64, _WIDE)), I64)
    if type is not I64:
        quotient = builder.cast("trunc", quotient, type)
    multiple = builder.binary("mul", quotient, division.divisor)
    rest = builder.binary("sub", number, multiple)
    values: dict[Value, Value] = {}
    # Of 32 bits without sign, divisors and what is left of numbers may have the bit that is a sign elsewhere.
    is_positive = division.is_signed or type is I64
    signless: set[Value] = {quotient, rest, division.divisor} if is_positive else {quotient}
    for i in beside:
        if i in division.members:
            values[i] = quotient if i.op.endswith("div") else rest
            continue
        operands = [values.get(v, v) for v in i.operands]
        folded = _folded(i, operands, signless)
        if folded is None:
            copy = i.clone()
            for index, operand in enumerate(operands):
                copy.set_operand(index, operand)
            folded = builder.insert(copy)
            if i.op == "xor" and signless.issuperset(operands):
                signless.add(folded)
        values[i] = folded
    return values


def _folded(i: Instruction, operands: list[Value], signless: set[Value]) -> Value | None:
    """What comes of an instruction if it is known: of numbers without sign."""
    if i.op == "icmp" and operands[0] in signless:
        zero = isinstance(operands[1], ConstInt) and operands[1].value == 0
        if i.predicate == "slt" and zero:
            return FALSE
        if i.predicate == "sgt" and not zero:
            return ConstInt(I1, 1)
    if i.op == "and" and FALSE in operands:
        return FALSE
    if i.op == "select" and isinstance(operands[0], ConstInt):
        return operands[1 if operands[0].value else 2]
    if i.op in ("sext", "zext") and isinstance(operands[0], ConstInt) and operands[0].value == 0:
        return const_int(0, i.type)
    if i.op in ("add", "sub"):
        number, other = operands
        if isinstance(other, ConstInt) and other.value == 0:
            return number
        if i.op == "add" and isinstance(number, ConstInt) and number.value == 0:
            return other
    return None
