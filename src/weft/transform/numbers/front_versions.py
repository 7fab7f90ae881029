"""A version for lane groups none of whose indices counts from the end: ``a[i]`` of Python where i may be negative.

An index that each lane has for itself, as one that was computed from data, is ``i + (n if i < 0 else 0)``. It costs
little to ask, but elements side by side are lost: of ``t[i]`` and ``t[i + 1]`` one may count from the end. So it is
asked once for a lane group whether some lane has such an index, and where none has a copy runs without these questions,
in which neighbours are gathered together (`weft.codegen.widen.gather_pairs`):

    head: ...; c = i < 0                       head:  ...; c = i < 0; br any(c), rest, front
          p = a + i + (c ? n : 0); ...         rest:  p = a + i + (c ? n : 0); ...
                                               front: p = a + i; ...

Asked about is what is compared before the function's first branch, and depends on no element that is found so. A
function has few accesses of the kind, but for neighbours, of which two are enough: ``t[i]`` and ``t[i + 1]``.

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the same, with one return. Preserves the
program under FR.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from weft.analysis.divergence import Divergence
from weft.ir import FALSE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_unreachable_blocks, replace_and_erase, split_block
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.constants import is_zero
from weft.ir.intrinsics import declare
from weft.transform.loops.guess_ranges import guessed_way, keeps_lanes_together, reached_for_good
from weft.transform.numbers.computed_early import compute_early
from weft.transform.numbers.meetings import computing
from weft.transform.unify_returns import unify_returns

LEAST_ACCESSES = 4
"""Accesses that lanes make each at an index of its own: for fewer a copy is too much."""

LARGEST_COPY = 800
"""Functions of more instructions are not copied."""

SELDOM = 0.05
"""How likely a lane group is thought to have an index that counts from the end, where costs are estimated."""


def add_front_version(function: Function, divergence: Divergence) -> bool:
    """Give a function another version for lane groups none of whose indices counts from the end, where it may pay."""
    questions = _questions(function, divergence)
    straight = straight_blocks(function, guessing=True)
    order = [i for block in straight for i in block.instructions if not i.is_terminator]
    asked, behind = _independent(order, questions)
    if not asked or not behind or sum(1 for _ in function.instructions()) > LARGEST_COPY:
        return False
    if any(keeps_lanes_together(i) for i in function.instructions()):
        return False
    at = next(i for i in order if i in behind)
    early = compute_early(order, asked, at)
    asked = [question for question in asked if question in early]
    if not asked:
        return False
    _copy(function, straight, asked, at)
    return True


def _questions(function: Function, divergence: Divergence) -> set[Instruction]:
    """The comparisons with 0 that choose addresses which are not strided; empty where these are few."""
    found: set[Instruction] = set()
    places: set[tuple[Value, int]] = set()
    accesses = 0
    likely = (i for block in reached_for_good(function) for i in block.instructions)
    for access in (i for i in likely if i.op in ("load", "store")):
        if divergence.shape(access.pointer).is_strided:
            continue
        own = {q for value in computing(access.pointer, divergence) if (q := _question(value)) is not None}
        own = {q for q in own if not divergence.shape(q.operands[0]).is_strided}
        accesses += bool(own)
        places |= {without_constant(q.operands[0]) for q in own}
        found |= own
    has_neighbours = any((number, distance + 1) in places for number, distance in places)
    return found if accesses >= LEAST_ACCESSES or has_neighbours else set()


def without_constant(index: Value) -> tuple[Value, int]:
    """An index without the constants that are added to it, and their sum."""
    distance = 0
    while isinstance(index, Instruction) and index.op == "add" and isinstance(index.operands[1], ConstInt):
        distance += index.operands[1].signed
        index = index.operands[0]
    return index, distance


def _question(value: Value) -> Instruction | None:
    """What ``c ? n : 0``, or ``c ? i + n : i``, asks, if that is whether i is negative."""
    if not isinstance(value, Instruction) or value.op != "select":
        return None
    c = value.operands[0]
    if not isinstance(c, Instruction) or c.op != "icmp" or c.predicate != "slt":
        return None
    zero = c.operands[1]
    return c if isinstance(zero, ConstInt) and zero.value == 0 else None


def straight_blocks(
    function: Function, begin: BasicBlock | None = None, *, guessing: bool = False
) -> list[BasicBlock]:
    """The blocks that run one after the other before the first branch, from the function's entry or another block on.

    Guesses are no branches, if they are thought to be right.
    """
    view = cfg_of(function)
    found = [begin or function.entry]
    while True:
        guessed = guessed_way(found[-1]) if guessing else None
        following = set(found[-1].successors) if guessed is None else {guessed}
        if len(following) != 1:
            return found
        (block,) = following
        if len(view.cfg.preds[view.index[block]]) != 1 or (
            guessed is None and any(True for _ in block.phis())
        ):
            return found
        found.append(block)


def _independent(
    order: Sequence[Instruction], questions: set[Instruction]
) -> tuple[list[Instruction], set[Instruction]]:
    """The questions that need no answer of another one, and what needs one."""
    asked: list[Instruction] = []
    behind: set[Instruction] = set()
    for i in order:
        if any(v in behind or v in asked for v in i.operands):
            behind.add(i)
        elif i in questions:
            asked.append(i)
    return asked, behind


def _copy(
    function: Function, straight: Sequence[BasicBlock], asked: list[Instruction], at: Instruction
) -> None:
    head = at.block
    assert head is not None and function.module is not None
    rest = split_block(at, "from.the.end")
    before = set(straight[: straight.index(head) + 1])
    head.terminator.erase()
    b = Builder(head)
    b.loc = at.loc
    some: Value = asked[0]
    for question in asked[1:]:
        some = b.binary("or", some, question)
    some = b.call(declare(function.module, "weft.any"), (b.unary("freeze", some),))
    copied = [block for block in function.blocks if block not in before]
    values: ValueMap = dict.fromkeys(asked, FALSE)
    clone_blocks(copied, function, values)
    front = values[rest]
    assert isinstance(front, BasicBlock)
    front.name = "from.the.front"
    simplify(values[block] for block in copied)
    b.cond_br(some, rest, front).attrs["chance"] = SELDOM
    remove_unreachable_blocks(function)
    unify_returns(function)


def simplify(blocks: Iterator[Value]) -> None:
    """Leave out what asks, and what adds nothing."""
    for block in blocks:
        assert isinstance(block, BasicBlock)
        for i in list(block.instructions):
            if i.op == "select" and i.operands[0] == FALSE:
                replace_and_erase(i, i.operands[2])
            elif i.op in ("add", "getelementptr") and len(i.operands) == 2 and is_zero(i.operands[1]):
                replace_and_erase(i, i.operands[0])
