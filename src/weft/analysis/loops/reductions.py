"""Reductions: values that a loop carries from iteration to iteration only to combine them with something.

A φ of the header is a reduction when every way round the loop combines it with values that do not depend on it, by one
associative and commutative operation, and nothing else in the loop looks at it: ``r = r + x``, under any conditions
inside (a φ that merges ``r + x`` with ``r``, a ``select`` of the two), any number of times in an iteration;
``llvm.fmuladd(x, y, r)`` is such a sum. Recognized on SSA: the *chain* of a φ is what depends on it inside the loop,
and each member has to be a combining operation, a φ or a ``select`` among members.

``min`` and ``max`` come as intrinsics or as ``select`` of a compare of the two; of the latter the compare is a member
too, and so is its conjunction with other conditions. A float sum, product, minimum or maximum takes another order by
being a reduction; whether that may be is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import Protocol

from msgspec import Struct

from weft.ir import FALSE, TRUE, BasicBlock, ConstInt, Instruction, Value
from weft.ir.types import I1, FloatType, Type


class Combination(Enum):
    """An associative and commutative operation."""

    ADD = "add"
    MUL = "mul"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SMIN = "smin"
    SMAX = "smax"
    UMIN = "umin"
    UMAX = "umax"
    FADD = "fadd"
    FMUL = "fmul"
    FMIN = "fmin"
    """The smaller number, as ``select (fcmp olt a, b)`` gives it: the second operand when one is NaN."""
    FMAX = "fmax"
    FMINNUM = "minnum"
    """As ``llvm.minnum``: the other operand when one is NaN."""
    FMAXNUM = "maxnum"
    FMINIMUMNUM = "minimumnum"
    """As ``llvm.minimumnum``: ``minnum``, but for -0, which is less than 0."""
    FMAXIMUMNUM = "maximumnum"
    FMINIMUM = "minimum"
    """As ``llvm.minimum``: NaN when one operand is NaN."""
    FMAXIMUM = "maximum"


class Reduction(Struct, frozen=True):
    """A reduction of a loop.

    Parameters
    ----------
    phi
        The φ of the header.
    start, update
        What it takes when the loop is entered, and at the end of each iteration.
    combination
        How values are combined.
    operations
        What combines, merges and decides in the loop.
    """

    phi: Instruction
    start: Value
    update: Value
    combination: Combination
    operations: tuple[Instruction, ...]

    @property
    def type(self) -> Type:
        return self.phi.type


_BINARY = {
    **{c.value: c for c in (Combination.ADD, Combination.MUL, Combination.AND, Combination.OR)},
    **{c.value: c for c in (Combination.XOR, Combination.FADD, Combination.FMUL)},
}
_INTRINSICS = {
    **{
        f"llvm.{c.value}": c for c in (Combination.SMIN, Combination.SMAX, Combination.UMIN, Combination.UMAX)
    },
    **{f"llvm.{c.value}": c for c in (Combination.FMINNUM, Combination.FMAXNUM)},
    **{f"llvm.{c.value}": c for c in (Combination.FMINIMUMNUM, Combination.FMAXIMUMNUM)},
    **{f"llvm.{c.value}": c for c in (Combination.FMINIMUM, Combination.FMAXIMUM)},
}
_SUMS_OF_PRODUCTS = ("llvm.fmuladd", "llvm.fma")
"""What these add the product of their first two arguments to is the third."""


class LoopShape(Protocol):
    """What has to be known of a loop: all of its blocks, where it comes from, and where it repeats."""

    @property
    def blocks(self) -> Sequence[BasicBlock]: ...
    @property
    def preheader(self) -> BasicBlock: ...
    @property
    def latch(self) -> BasicBlock: ...
    @property
    def top_tested(self) -> bool: ...


def reduction_of(loop: LoopShape, phi: Instruction) -> Reduction | str:
    """The reduction that `phi` of the loop's header is, or why it is none, for a sentence about its value."""
    inside = set(loop.blocks)
    update, start = phi.incoming_value(loop.latch), phi.incoming_value(loop.preheader)
    chain = _chain(phi, inside)
    found: set[Combination] = set()
    for member in chain:
        if member is phi or _decides(member):
            continue
        combination = _combines(member, chain, start)
        if combination is None:
            return "is used in the loop by more than the operation that carries it to the next iteration"
        found |= combination
    if update is not phi and update not in chain:
        reader = "in the next" if len(chain) > 1 else "behind the loop, where it is that of the last"
        return f"is set anew in each iteration and read {reader}"
    for member in chain:
        outside = [u for u in member.instruction_users() if u.block not in inside]
        if outside and member is not (phi if loop.top_tested else update):
            return "is read after the loop in the middle of its calculation"
    if len(found) > 1:
        return f"is combined by different operations, {' and '.join(sorted(c.value for c in found))}"
    combination = found.pop() if found else Combination.ADD
    return Reduction(phi, start, update, combination, tuple(chain)[1:])


def is_rounded(operation: Instruction) -> bool:
    """Whether an operation of a reduction is a float sum, product or sum of products, which rounds."""
    return operation.op in ("fadd", "fsub", "fmul") or _stem(operation) in _SUMS_OF_PRODUCTS


def _stem(call: Instruction) -> str:
    """The name of the intrinsic that is called, without its type."""
    return (call.callee_name or "").rpartition(".")[0]


def _chain(phi: Instruction, inside: Collection[BasicBlock]) -> dict[Instruction, None]:
    """What depends on the φ in one iteration of the loop, in the order found."""
    chain: dict[Instruction, None] = {phi: None}
    work = [phi]
    while work:
        for user in work.pop().instruction_users():
            if user not in chain and user.block in inside:
                chain[user] = None
                work.append(user)
    return chain


def _decides(member: Instruction) -> bool:
    """A compare, or a conjunction with one, that does nothing but decide the `select` of a minimum or maximum."""
    if member.op not in ("icmp", "fcmp") and not _is_conjunction(member):
        return False
    users = list(member.instruction_users())
    return bool(users) and all(
        _is_conjunction(u) or (u.op == "select" and u.operands[0] is member and member not in u.operands[1:])
        for u in users
    )


def _is_conjunction(value: Value) -> bool:
    """``select x, y, false`` or ``and``, of truth values."""
    if not isinstance(value, Instruction) or value.type is not I1:
        return False
    return value.op == "and" or (value.op == "select" and value.operands[2] == FALSE)


def _combines(member: Instruction, chain: Collection[Value], start: Value) -> set[Combination] | None:
    """By which operations a member combines what is carried with something else; None if it does otherwise."""
    carried = [v for v in member.operands if v in chain]
    if member.is_phi:
        return _merged([v for v in member.operands if v not in chain], start)
    if member.op == "select":
        condition, a, b = member.operands
        if condition in chain:
            return _logical(a, b, chain) or _extremum(member, chain)
        return _merged([v for v in (a, b) if v not in chain], start)
    if len(carried) != 1:
        return None
    if member.op in _BINARY:
        return {_BINARY[member.op]}
    if member.op in ("sub", "fsub") and member.operands[0] in chain:
        return {Combination.ADD if member.op == "sub" else Combination.FADD}
    if _stem(member) in _SUMS_OF_PRODUCTS:
        return {Combination.FADD} if member.operands[2] in chain else None
    combination = _INTRINSICS.get(_stem(member)) if member.op == "call" else None
    return None if combination is None else {combination}


def _merged(others: Collection[Value], start: Value) -> set[Combination] | None:
    """How a merge of what is carried with `others` combines: not at all, or by setting a flag."""
    if not others:
        return set()
    if all(v == TRUE for v in others):
        return {Combination.OR}
    if all(v == FALSE for v in others):
        return {Combination.AND}
    # One number takes the place of another: the greater or the smaller of the two that there are.
    number = next(iter(others))
    if isinstance(number, ConstInt) and isinstance(start, ConstInt) and all(v == number for v in others):
        return {Combination.SMAX if number.signed > start.signed else Combination.SMIN}
    return None


def _logical(a: Value, b: Value, chain: Collection[Value]) -> set[Combination] | None:
    """``select r, true, x`` is r or x, ``select r, x, false`` is r and x."""
    if a == TRUE and b not in chain:
        return {Combination.OR}
    return {Combination.AND} if b == FALSE and a not in chain else None


def _extremum(select: Instruction, chain: Collection[Value]) -> set[Combination] | None:
    """The minimum or maximum that ``select (a < b), a, b`` is."""
    condition, a, b = select.operands
    compare = _compare_in(condition, chain)
    if compare is None or set(compare.operands) != {a, b} or (a in chain) == (b in chain):
        return None
    predicate: str = compare.predicate
    is_float = isinstance(a.type, FloatType)
    smaller = predicate[1] == "l"
    if predicate[1] not in "lg" or len(predicate) != 3:
        return None
    if compare.operands[0] is not a:
        smaller = not smaller
    if is_float:
        return {Combination.FMIN if smaller else Combination.FMAX}
    if predicate[0] == "s":
        return {Combination.SMIN if smaller else Combination.SMAX}
    return {Combination.UMIN if smaller else Combination.UMAX}


def _compare_in(condition: Value, chain: Collection[Value]) -> Instruction | None:
    """The compare that a condition is, or is a conjunction of with what does not depend on the reduction."""
    while isinstance(condition, Instruction) and _is_conjunction(condition):
        carried = [v for v in condition.operands[:2] if v in chain]
        if len(carried) != 1:
            return None
        condition = carried[0]
    if isinstance(condition, Instruction) and condition.op in ("icmp", "fcmp"):
        return condition
    return None
