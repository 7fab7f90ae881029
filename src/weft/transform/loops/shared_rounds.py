"""Numbers that grow by the same in each round of a loop are computed of the number of the round.

    head: i = φ(0, i + 16); p = φ(a, p + 64)            head: i = φ(0, i + 16); r = φ(0, r + 1); p = a + 64·r

Compilers keep what a loop multiplies in numbers of its own that grow. On a GPU these are registers; here each is a
vector that goes to memory and back at every barrier, and what it has in common with the thread is not seen. The number
of the round is the same for all threads.

A place that is extended from 32 bits and grows then grows before it is extended, as in the source, so that it is seen
which threads have neighbours. That is another number where 32 bits have no room for it; then the access is ``c·2³¹``
bytes from where its object can be, and is undefined (`weft.transform.numbers.accessed_indices`).

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: of the numbers of a loop that grow by what
all threads have in common, only that which is given is a φ. Preserves the program under FR and OBL: all sums are modulo
2 to the width of their number.
"""

from __future__ import annotations

from weft.ir import Argument, BasicBlock, Builder, ConstInt, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.types import I32, I64
from weft.transform.numbers.accessed_indices import is_small

_PURE = ("add", "sub", "mul", "shl", "lshr", "sext", "zext", "trunc", "and", "or", "xor")
_PROMISES = ("nsw", "nuw", "exact", "nneg")
_SHARED_CALLS = ("weft.local.size", "weft.num.groups", "weft.group.id")


def share_rounds(
    head: BasicBlock,
    before: BasicBlock,
    latch: BasicBlock,
    counter: Instruction,
    blocks: frozenset[BasicBlock],
) -> int:
    """Do so in a loop; how many numbers these were.

    Parameters
    ----------
    head, before, latch
        Where the loop begins, with nothing but φs and its test, and from where it is entered and goes around.
    counter
        The φ that stays one.
    blocks
        The loop, but for its head.
    """
    found = [
        (phi, step) for phi in head.phis() if phi is not counter and (step := _step(phi, latch)) is not None
    ]
    if not found:
        return 0
    for _, step in found:
        _compute_ahead(step, before, blocks)
    rounds = _widened(head, before, latch, counter) or _counted(head, before, latch, 0, ("nuw", "nsw"))
    test = head.terminator.operands[0]
    assert isinstance(test, Instruction)
    for phi, step in found:
        builder = Builder(before=test)
        builder.loc = phi.loc
        place = _place(phi, before, latch, step)
        if place is not None:
            number, by, factor = place
            grown = builder.binary("mul", builder.cast("trunc", rounds, I32), by)
            there = builder.cast("sext", builder.binary("add", number, grown), I64)
            replace_and_erase(phi, builder.binary("mul", there, const_int(factor)))
            continue
        times: Value = rounds if phi.type == I64 else builder.cast("trunc", rounds, I32)
        if isinstance(step, ConstInt) and step.value.bit_count() == 1:
            grown = builder.binary("shl", times, const_int(step.value.bit_length() - 1, step.type))
        else:
            grown = builder.binary("mul", times, step)
        replace_and_erase(phi, builder.binary("add", phi.incoming_value(before), grown))
    return len(found)


def _counted(
    head: BasicBlock, before: BasicBlock, latch: BasicBlock, first: int, flags: tuple[str, ...]
) -> Instruction:
    """A number of 64 bits that is one more in each round."""
    number = Instruction("phi", I64, name="round")
    head.insert(0, number)
    number.add_incoming(const_int(first), before)
    behind = Builder(before=latch.terminator)
    number.add_incoming(behind.binary("add", number, const_int(1), flags), latch)
    return number


def _widened(head: BasicBlock, before: BasicBlock, latch: BasicBlock, counter: Instruction) -> Value | None:
    """The number of the round, of a counter that gets 64 bits; None where that is no such counter.

    One that goes up by one while it is below a bound has no need to wrap around.
    """
    branch, first = head.terminator, counter.incoming_value(before)
    test, following = branch.operands[0], counter.incoming_value(latch)
    if counter.type != I32 or not isinstance(first, ConstInt) or not isinstance(test, Instruction):
        return None
    goes_on = branch.successors[0] not in (before, head) and test.op == "icmp" and test.predicate == "slt"
    if not goes_on or test.operands[0] is not counter or list(test.users) != [branch]:
        return None
    if (
        not isinstance(following, Instruction)
        or following.op != "add"
        or following.operands[0] is not counter
    ):
        return None
    step, bound = following.operands[1], test.operands[1]
    if not isinstance(step, ConstInt) or step.value != 1:
        return None
    wide = _counted(head, before, latch, first.signed, ("nsw",))
    ahead = Builder(before=before.terminator)
    limit = const_int(bound.signed) if isinstance(bound, ConstInt) else ahead.cast("sext", bound, I64)
    builder = Builder.after_phis(head)
    builder.loc = counter.loc
    narrow = builder.cast("trunc", wide, I32, ("nsw",))
    rounds = builder.binary("sub", wide, const_int(first.signed)) if first.value else wide
    branch.set_operand(0, Builder(before=branch).icmp("slt", wide, limit))
    test.erase()
    replace_and_erase(counter, narrow)
    if not list(following.users):
        following.erase()
    return rounds


def _place(
    phi: Instruction, before: BasicBlock, latch: BasicBlock, step: Value
) -> tuple[Value, Value, int] | None:
    """What is extended in a place, by what it grows, and the factor behind that."""
    found = _extended(phi.incoming_value(before))
    following = phi.incoming_value(latch)
    if found is None or list(following.users) != [phi] or not _only_accesses(phi, following, found[1]):
        return None
    number, factor = found
    if isinstance(step, ConstInt):
        by, rest = divmod(step.signed, factor)
        return (number, ConstInt(I32, by), factor) if not rest and abs(by) < 1 << 31 else None
    grown = _extended(step)
    return (number, grown[0], factor) if grown is not None and grown[1] == factor else None


def _extended(value: Value) -> tuple[Value, int] | None:
    """A number of 32 bits, and the factor behind its extension."""
    factor = 1
    if (
        isinstance(value, Instruction)
        and value.op in ("shl", "mul")
        and isinstance(value.operands[1], ConstInt)
    ):
        amount = value.operands[1].signed
        factor = 1 << amount if value.op == "shl" and 0 <= amount < 31 else amount
        value = value.operands[0]
    if not isinstance(value, Instruction) or value.op != "sext" or value.operands[0].type != I32:
        return None
    return (value.operands[0], factor) if 0 < factor < 1 << 31 else None


def _only_accesses(place: Instruction, following: Value, factor: int) -> bool:
    """Whether a number only says where small objects are accessed."""
    work = [(user, place, 0) for user in place.instruction_users() if user is not following]
    while work:
        user, of, offset = work.pop()
        if user.op in ("load", "store") and of is not place:
            if user.pointer is not of or (user.op == "store" and user.stored_value is of):
                return False
        elif user.op == "getelementptr" and len(user.operands) == 2:
            base, index = user.operands
            size = user.function.layout.size(user.source_type)
            if of is place:
                if size != 1 or index is not place or not is_small(base, user.function):
                    return False
            elif base is of and isinstance(index, ConstInt):
                offset += size * index.signed
            else:
                return False
            if abs(offset) >= 1 << 31 or (factor == 1 and offset):
                return False
            work += [(further, user, offset) for further in user.instruction_users()]
        else:
            return False
    return True


def _step(phi: Instruction, latch: BasicBlock) -> Value | None:
    """By what all threads have in common a φ grows; None where it does not."""
    following = phi.incoming_value(latch)
    if phi.type not in (I32, I64) or len(phi.blocks) != 2:
        return None
    if not isinstance(following, Instruction) or following.op != "add" or phi not in following.operands:
        return None
    step = following.operands[following.operands[0] is phi]
    return step if _is_shared(step) else None


def _compute_ahead(step: Value, before: BasicBlock, blocks: frozenset[BasicBlock]) -> None:
    """Have a step before the loop, where it is used in the first round, too: it must be no poison there."""
    if not isinstance(step, Instruction):
        return
    for operand in step.operands:
        _compute_ahead(operand, before, blocks)
    step.flags = tuple(f for f in step.flags if f not in _PROMISES)
    if step.block in blocks:
        step.detach()
        before.insert(len(before.instructions) - 1, step)


def _is_shared(value: Value) -> bool:
    """Whether it is computed of parameters of the launch alone."""
    work, seen = [value], set[Value]()
    while work:
        at = work.pop()
        if isinstance(at, (ConstInt, Argument)) or at in seen:
            continue
        seen.add(at)
        if not isinstance(at, Instruction) or len(seen) > 16:
            return False
        if at.op in _PURE and "disjoint" not in at.flags:
            work.extend(at.operands)
        elif at.callee_name not in _SHARED_CALLS:
            return False
    return True
