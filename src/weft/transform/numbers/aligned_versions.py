"""A version for lane groups whose numbers are in one stretch: ``x & m``, ``x % m``, ``x // m``, ``x >> k``.

Of a butterfly's ``2*t - (t & (distance - 1))``, or of the row and the column ``i // w`` and ``i % w`` of an element, no
shape can be told while `distance` and `w` are only known to be uniform. Where a lane group of W threads begins at a
multiple of W, though, and so does every stretch of w, the W threads are in one stretch: the quotient is uniform, and
the remainder contiguous. So it is asked, once for each lane group, and where it holds a copy of the function runs:

    x & m   =  (x0 & m) + σ    if m ends in ones                   x // m  =  x0 // m     if m is a multiple
    x % m   =  (x0 % m) + σ    if m is a multiple                  x >> k  =  x0 >> k     if k is large enough

where x = x0 + σ, σ is the lane's number times the stride s, and x0 is a multiple of S = s·W; "a multiple" is one of S,
and m ends in log2 S ones. Signed division asks that neither x0 nor m be negative. The sums do not carry, since x0 & m
and x0 % m are multiples of S. Where nothing is masked or shifted, it is enough that the lane group lies in one stretch,
wherever that begins: x0 % m + σ is less than m in the last lane. That is asked instead if no fewer accesses are better
by it: multiples may show more, as that sums of 32 bits do not carry.

As x0 is x less a number that is the lane's own, it is uniform in the analysis' eyes, and so is all that is asked.
In the copy x and m are written so that what was asked can be seen, ``(x0 & -S) + σ``.
Only what is computed at the function's beginning, before its first branch, is asked about. In kernels with barriers
each stretch behind one is asked about by itself (`weft.transform.numbers.versioned_parts`).

Where they do not meet whole stretches, but x0 is a multiple of S, small butterflies have a version for each distance
(`weft.transform.numbers.small_numbers`), in which the masks, and with them the places of all lanes, are constants.

Precondition: P-LLVM without predicates, shadows and guards, one return. Postcondition: the same, and nothing was copied
unless some access has lanes a known distance apart in the copy that had not. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.bounds import trailing_zeros
from weft.ir import BasicBlock, Builder, Constant, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase, split_block
from weft.ir.clone import ValueMap, clone_blocks, clone_function
from weft.ir.effects import is_speculatable
from weft.ir.types import I64
from weft.transform.numbers.decided_numbers import fold_decided
from weft.transform.numbers.known_numbers import number_asked_for_sign, replace_known_numbers
from weft.transform.numbers.meetings import (
    DIVIDING,
    KEEPING,
    Meeting,
    behind_operands,
    find_meetings,
    is_whole,
    may_meet,
)
from weft.transform.numbers.small_numbers import SmallNumbers, find_small_numbers, known_by, root_of
from weft.transform.numbers.stretch_question import StretchQuestion
from weft.transform.numbers.versioned_parts import (
    Part,
    join_versions,
    parts_of,
    values_before,
    waits_for_others,
)
from weft.transform.unify_returns import unify_returns

MEETS = 0.9
"""How likely a lane group is thought to meet whole stretches, where costs are estimated."""

LARGEST_COPY = 2000
"""Functions of more instructions are not copied."""

AnalyzeCopy = Callable[[Function], Divergence]
"""Analyzes a function that has the parameters of the one that is copied."""


def add_aligned_version(
    function: Function, divergence: Divergence, width: int, analyze_copy: AnalyzeCopy
) -> bool:
    """Give parts of a function other versions for lane groups that meet whole stretches, where accesses are better.

    Parameters
    ----------
    function
        What threads run.
    divergence
        Of the function as it is.
    width
        How many threads a lane group has.
    analyze_copy
        Analyzes a copy, by which it is judged.
    """
    added = is_new = False
    for part in parts_of(function):
        if not may_meet(part):
            continue
        if is_new:
            # Functions of many rounds have many parts that stay as they are.
            divergence = analyze_copy(function)
        is_new = _add_to(part, function, divergence, width, analyze_copy)
        added |= is_new
    return added


def _add_to(
    part: Part, function: Function, divergence: Divergence, width: int, analyze_copy: AnalyzeCopy
) -> bool:
    meetings = find_meetings(part, divergence, width)
    if not meetings:
        return False
    copied = list(_behind(part, behind_operands(part, meetings)))
    if len(copied) > LARGEST_COPY or any(map(waits_for_others, copied)):
        return False
    wanted = sum(i.op in ("load", "store") for i in copied)
    best = _strided(copied, divergence)
    chosen: tuple[list[Meeting], bool] | None = None
    for met, divides in _ways(meetings):
        if best < wanted:
            found = _strided_in_copy(part, function, divergence, met, analyze_copy, divides=divides)
            if found > best:
                best, chosen = found, (met, divides)
    if chosen is not None:
        _build(function, part, chosen[0], divides=chosen[1])
    return chosen is not None


def _ways(meetings: list[Meeting]) -> Iterator[tuple[list[Meeting], bool]]:
    """What may be asked about, and whether by dividing the first number; constants are multiples or not."""
    dividing = [meeting for meeting in meetings if meeting.instruction.op in DIVIDING]
    if dividing and all(isinstance(m.other, ConstInt) for m in meetings if m not in dividing):
        yield dividing, True
    others = [meeting for meeting in meetings if not isinstance(meeting.other, ConstInt) or is_whole(meeting)]
    if others:
        yield others, False


def _strided_in_copy(
    part: Part,
    function: Function,
    divergence: Divergence,
    meetings: list[Meeting],
    analyze_copy: AnalyzeCopy,
    *,
    divides: bool,
) -> int:
    """How many accesses of the other version have lanes a known distance apart."""
    module = function.module
    assert module is not None
    values: ValueMap = {}
    trial = clone_function(function, f"{function.name}.aligned", values)
    copies = [_copied(meeting, values) for meeting in meetings]
    _build(trial, part.copied_to(values), copies, divides=divides, is_trial=True)
    found = _strided(trial.instructions(), analyze_copy(trial)) - _strided(
        function.instructions(), divergence
    )
    del module.functions[trial.name]
    return found


def _strided(instructions: Iterable[Instruction], divergence: Divergence) -> int:
    """How many accesses have lanes a known distance apart."""
    accesses = (i for i in instructions if i.op in ("load", "store"))
    return sum(divergence.shape(i.pointer).is_strided for i in accesses)


def _copied(meeting: Meeting, values: ValueMap) -> Meeting:
    instruction = values[meeting.instruction]
    assert isinstance(instruction, Instruction)
    number, other = values[meeting.number], values.get(meeting.other, meeting.other)
    return Meeting(instruction, number, other, meeting.stride, meeting.block, meeting.bits)


def _behind(part: Part, at: Instruction) -> Iterator[Instruction]:
    instructions = iter(part.instructions())
    for instruction in instructions:
        if instruction is at:
            yield instruction
            break
    yield from instructions


def _build(
    function: Function, part: Part, meetings: list[Meeting], *, divides: bool, is_trial: bool = False
) -> None:
    """Let all that follows the operands be there twice, and for small numbers once more each, but not to try it."""
    for value in (v for m in meetings for v in (m.number, m.other)):
        part.hoist(value)
    at = behind_operands(part, meetings)
    join = part.close()
    rest = split_block(at, "unaligned")
    head = part.head
    head.terminator.erase()
    b = Builder(head)
    b.loc = at.loc
    copied = [rest, *part.blocks]
    before = list(head.instructions) if join is None else values_before(copied)
    question = StretchQuestion(b, meetings, _asked_for_sign(copied, meetings), divides=divides)
    _compute_anew(b, before, question.values)
    size = sum(len(block.instructions) for block in copied)
    opened = Part(rest, part.blocks)
    small = None if is_trial else find_small_numbers(opened, meetings, size)
    clone_blocks(copied, function, question.values)
    near = _build_small(function, small, question, before, copied) if small is not None else []
    if join is not None:
        join_versions(join, copied, [question.values, *(version.values for version in near)])
    for version in near:
        for meeting, other in zip(question.meetings, version.others, strict=True):
            if meeting.instruction in version.values:
                _divide_by_power(meeting, other, version.values)
    for meeting in meetings:
        # What stands before the operands of another one is there once, for all versions.
        if meeting.instruction in question.values:
            question.replace(meeting)
    aligned = question.values[rest]
    assert isinstance(aligned, BasicBlock) and question.holds is not None
    aligned.name = "aligned"
    other = rest if small is None else _ask_small(function, small, question, rest, near)
    b.cond_br(question.holds, aligned, other).attrs["chance"] = MEETS
    if join is None:
        unify_returns(function)
    replace_known_numbers(function, comparisons=True)
    if fold_decided(function):
        replace_known_numbers(function)


class _Near(Struct, frozen=True):
    """A version for one small number: where it begins, what it divides and masks by, and what is what in it."""

    start: BasicBlock
    others: tuple[int, ...]
    values: ValueMap


def _build_small(
    function: Function,
    small: SmallNumbers,
    question: StretchQuestion,
    before: list[Instruction],
    copied: list[BasicBlock],
) -> list[_Near]:
    """Copy what follows for each value of a number, where x0 is a multiple."""
    versions: list[_Near] = []
    for value, others in zip(small.values, small.others, strict=True):
        start = function.add_block(f"near.{value}")
        b = Builder(start)
        values: ValueMap = {m.number: question.number_at_multiple(b, m.number) for m in question.meetings}
        values[small.number] = const_int(value, small.number.type)
        values |= known_by(small.number, value, before)
        for meeting, other in zip(question.meetings, others, strict=True):
            values[meeting.other] = const_int(other, meeting.type)
        _compute_anew(b, before, values)
        clone_blocks(copied, function, values)
        first = values[copied[0]]
        assert isinstance(first, BasicBlock)
        b.br(first)
        versions.append(_Near(start, others, values))
    return versions


def _ask_small(
    function: Function, small: SmallNumbers, question: StretchQuestion, rest: BasicBlock, near: list[_Near]
) -> BasicBlock:
    """Ask for each value; where that is done."""
    asked, chosen = function.add_block("near"), function.add_block("near.chosen")
    assert question.begins is not None
    Builder(asked).cond_br(question.begins, chosen, rest)
    versions = [(value, version.start) for value, version in zip(small.values, near, strict=True)]
    b = Builder(chosen)
    # It may be poison where nothing that follows is reached.
    b.switch(b.unary("freeze", small.number), rest, versions)
    return asked


def _divide_by_power(meeting: Meeting, other: int, values: ValueMap) -> None:
    """Write a remainder or quotient by a power of two as a mask or a shift; the number is not negative.

    Of a mask only the bits that the number may have are left: LLVM makes ``d + 1023`` of ``d - 1`` for ten of them.
    """
    twin, op = values[meeting.instruction], meeting.instruction.op
    if op not in ("urem", "srem", "udiv", "sdiv") and not (op == "and" and other & ~meeting.bits):
        return
    assert isinstance(twin, Instruction)
    b = Builder(before=twin)
    b.loc = twin.loc
    number = values[meeting.number] if op == "and" else twin.operands[0]
    if op == "and":
        replace_and_erase(twin, b.binary("and", number, const_int(other & meeting.bits, meeting.type)))
    elif op in KEEPING:
        replace_and_erase(twin, b.binary("and", number, const_int(other - 1, meeting.type)))
    else:
        shift = const_int(trailing_zeros(other), meeting.type)
        replace_and_erase(twin, b.binary("lshr", number, shift))


def _asked_for_sign(blocks: Sequence[BasicBlock], meetings: list[Meeting]) -> list[Value]:
    """What a mask tells of and what is added to numbers that are asked for their sign: an index ``low + distance``."""
    roots = {root_of(meeting.other) for meeting in meetings if meeting.instruction.op == "and"} - {None}
    inside = set(blocks)
    terms: dict[Value, None] = {}
    for instruction in (i for block in blocks for i in block.instructions):
        pending = [number_asked_for_sign(instruction)]
        while pending:
            value = pending.pop()
            if isinstance(value, Instruction) and value.block in inside and value.op in ("add", "or"):
                pending += value.operands
            elif value is not None and value.type == I64 and not isinstance(value, Constant):
                terms[value] = None
    known = [term for term in terms if not isinstance(term, Instruction) or term.block not in inside]
    return [term for term in known if root_of(term) in roots]


def _compute_anew(builder: Builder, instructions: list[Instruction], values: ValueMap) -> None:
    """Copy what was computed from what is known now."""
    for instruction in instructions:
        mapped = [values.get(operand, operand) for operand in instruction.operands]
        if (
            instruction not in values
            and mapped != list(instruction.operands)
            and is_speculatable(instruction)
        ):
            copy = builder.insert(instruction.clone())
            for k, operand in enumerate(mapped):
                copy.set_operand(k, operand)
            values[instruction] = copy
