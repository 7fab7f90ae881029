"""A version for lane groups whose numbers meet whole stretches: ``x & m``, ``x % m``, ``x // m``, ``x >> k``.

Of a butterfly's ``2*t - (t & (distance - 1))``, or of the row and the column ``i // w`` and ``i % w`` of an element, no
shape can be told while `distance` and `w` are only known to be uniform. Where a lane group of W threads begins at a
multiple of W, though, and so does every stretch of w, the W threads are in one stretch: the quotient is uniform, and
the remainder contiguous. So it is asked, once for each lane group, and where it holds a copy of the function runs:

    x & m   =  (x0 & m) + σ    if m ends in ones                   x // m  =  x0 // m     if m is a multiple
    x % m   =  (x0 % m) + σ    if m is a multiple                  x >> k  =  x0 >> k     if k is large enough

where x = x0 + σ, σ is the lane's number times the stride s, and x0 is a multiple of S = s·W; "a multiple" is one of S,
and m ends in log2 S ones. Signed division asks that neither x0 nor m be negative. The sums do not carry, since x0 & m
and x0 % m are multiples of S. As x0 is x less a number that is the lane's own, it is uniform in the analysis' eyes, and
so is all that is asked. In the copy x and m are written so that what was asked can be seen, ``(x0 & -S) + σ``.
Only what is computed at the function's beginning, before its first branch, is asked about.

Where they do not meet whole stretches, but x0 is a multiple of S, small butterflies have a version for each distance
(`weft.transform.numbers.small_numbers`), in which the masks, and with them the places of all lanes, are constants.

Precondition: P-LLVM without predicates, shadows and guards, one return. Postcondition: the same, and nothing was copied
unless some access has lanes a known distance apart in the copy that had not. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from weft.analysis.divergence import Divergence
from weft.analysis.integers.bounds import trailing_zeros
from weft.ir import FALSE, BasicBlock, Builder, Constant, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import replace_and_erase, split_block
from weft.ir.clone import ValueMap, clone_blocks, clone_function
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.intrinsics import declare
from weft.ir.types import I32, I64, IntType
from weft.transform.numbers.known_numbers import number_asked_for_sign, replace_known_numbers
from weft.transform.numbers.meetings import KEEPING, Meeting, behind_operands, find_meetings
from weft.transform.numbers.small_numbers import SmallNumbers, find_small_numbers, root_of
from weft.transform.unify_returns import unify_returns

_SHIFTS = {"lshr", "ashr"}
_UNSIGNED = {"srem": "urem", "sdiv": "udiv"}

MEETS = 0.9
"""How likely a lane group is thought to meet whole stretches, where costs are estimated."""

_NATURAL_BITS = 61
"""Of so many bits are numbers whose sums do not wrap around."""

LARGEST_COPY = 2000
"""Functions of more instructions are not copied."""

AnalyzeCopy = Callable[[Function], Divergence]
"""Analyzes a function that has the parameters of the one that is copied."""


def add_aligned_version(
    function: Function, divergence: Divergence, width: int, analyze_copy: AnalyzeCopy
) -> bool:
    """Give a function another version for lane groups that meet whole stretches, where its accesses are better.

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
    meetings = find_meetings(function, divergence, width)
    if not meetings:
        return False
    copied = list(_behind(function, behind_operands(function, meetings)))
    if len(copied) > LARGEST_COPY or any(map(is_convergent, copied)):
        return False
    module = function.module
    assert module is not None
    values: ValueMap = {}
    trial = clone_function(function, f"{function.name}.aligned", values)
    _build(trial, [_copied(meeting, values) for meeting in meetings], is_trial=True)
    added = _strided(trial.instructions(), analyze_copy(trial)) - _strided(
        function.instructions(), divergence
    )
    better = added > _strided(copied, divergence)
    del module.functions[trial.name]
    if better:
        _build(function, meetings)
    return better


def _strided(instructions: Iterable[Instruction], divergence: Divergence) -> int:
    """How many accesses have lanes a known distance apart."""
    accesses = (i for i in instructions if i.op in ("load", "store"))
    return sum(divergence.shape(i.pointer).is_strided for i in accesses)


def _copied(meeting: Meeting, values: ValueMap) -> Meeting:
    instruction = values[meeting.instruction]
    assert isinstance(instruction, Instruction)
    number, other = values[meeting.number], values[meeting.other]
    return Meeting(instruction, number, other, meeting.stride, meeting.block)


def _hoist(value: Value, function: Function) -> None:
    """Compute an early value before the first branch."""
    if isinstance(value, Instruction) and value.block is not function.entry:
        for operand in value.operands:
            _hoist(operand, function)
        value.detach()
        function.entry.insert_before(function.entry.terminator, value)


def _behind(function: Function, at: Instruction) -> Iterator[Instruction]:
    block = function.entry
    yield from block.instructions[block.instructions.index(at) :]
    for other in function.blocks:
        if other is not block:
            yield from other


def _build(function: Function, meetings: list[Meeting], is_trial: bool = False) -> None:
    """Let all that follows the operands be there twice, and for small numbers once more each, but not to try it."""
    for value in (v for m in meetings for v in (m.number, m.other)):
        _hoist(value, function)
    at = behind_operands(function, meetings)
    rest = split_block(at, "unaligned")
    head = function.entry
    head.terminator.erase()
    b = Builder(head)
    b.loc = at.loc
    before = list(head.instructions)
    copied = [block for block in function.blocks if block is not head]
    question = _Question(b, meetings, _asked_for_sign(head, copied, meetings))
    _compute_anew(b, before, question.values)
    size = sum(len(block.instructions) for block in copied)
    small = None if is_trial else find_small_numbers(function, meetings, size)
    clone_blocks(copied, function, question.values)
    for meeting in meetings:
        question.replace(meeting)
    aligned = question.values[rest]
    assert isinstance(aligned, BasicBlock) and question.holds is not None
    aligned.name = "aligned"
    other = rest if small is None else _build_small(function, small, question, before, copied)
    b.cond_br(question.holds, aligned, other).attrs["chance"] = MEETS
    unify_returns(function)
    replace_known_numbers(function, comparisons=True)


def _build_small(
    function: Function,
    small: SmallNumbers,
    question: _Question,
    before: list[Instruction],
    copied: list[BasicBlock],
) -> BasicBlock:
    """Copy what follows for each value of a number, where x0 is a multiple; return where it is asked for."""
    rest = copied[0]
    asked, chosen = function.add_block("near"), function.add_block("near.chosen")
    assert question.begins is not None
    Builder(asked).cond_br(question.begins, chosen, rest)
    versions: list[tuple[int, BasicBlock]] = []
    for value, others in zip(small.values, small.others, strict=True):
        start = function.add_block(f"near.{value}")
        values: ValueMap = {m.number: question.values[m.number] for m in question.meetings}
        values[small.number] = const_int(value, small.number.type)
        for meeting, other in zip(question.meetings, others, strict=True):
            values[meeting.other] = const_int(other, meeting.type)
        _compute_anew(Builder(start), before, values)
        clone_blocks(copied, function, values)
        first = values[rest]
        assert isinstance(first, BasicBlock)
        Builder(start).br(first)
        for meeting, other in zip(question.meetings, others, strict=True):
            _divide_by_power(meeting, other, values)
        versions.append((value, start))
    b = Builder(chosen)
    # It may be poison where nothing that follows is reached.
    b.switch(b.unary("freeze", small.number), rest, versions)
    return asked


def _divide_by_power(meeting: Meeting, other: int, values: ValueMap) -> None:
    """Write a remainder or quotient by a power of two as a mask or a shift; the number is not negative."""
    twin, op = values[meeting.instruction], meeting.instruction.op
    if op not in ("urem", "srem", "udiv", "sdiv"):
        return
    assert isinstance(twin, Instruction)
    b = Builder(before=twin)
    b.loc = twin.loc
    number = twin.operands[0]
    if op in KEEPING:
        replace_and_erase(twin, b.binary("and", number, const_int(other - 1, meeting.type)))
    else:
        shift = const_int(trailing_zeros(other), meeting.type)
        replace_and_erase(twin, b.binary("lshr", number, shift))


def _asked_for_sign(head: BasicBlock, blocks: Sequence[BasicBlock], meetings: list[Meeting]) -> list[Value]:
    """What a mask tells of and what is added to numbers that are asked for their sign: an index ``low + distance``."""
    roots = {root_of(meeting.other) for meeting in meetings if meeting.instruction.op == "and"} - {None}
    terms: dict[Value, None] = {}
    for instruction in (i for block in blocks for i in block.instructions):
        pending = [number_asked_for_sign(instruction)]
        while pending:
            value = pending.pop()
            if isinstance(value, Instruction) and value.block is not head and value.op in ("add", "or"):
                pending += value.operands
            elif value is not None and value.type == I64 and not isinstance(value, Constant):
                terms[value] = None
    known = [term for term in terms if not isinstance(term, Instruction) or term.block is head]
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


class _Question:
    """Whether a lane group meets whole stretches: what is computed to know it, and what is known where it does.

    Parameters
    ----------
    builder
        Builds in front of both versions.
    meetings
        What is asked for.
    natural
        Numbers that all lanes share of which it is asked, too, whether they are natural numbers that add up.
    """

    def __init__(self, builder: Builder, meetings: list[Meeting], natural: Sequence[Value]) -> None:
        self._builder = builder
        self._lane: Value | None = None
        self._steps: dict[Value, Value] = {}
        self._bases: dict[Value, Value] = {}
        self._others: dict[Meeting, Value] = {}
        self.meetings = meetings
        self.values: ValueMap = {}
        self.holds: Value | None = None
        self.begins: Value | None = None
        signed = {m.number for m in meetings if m.instruction.op in _UNSIGNED}
        for meeting in meetings:
            if meeting.number not in self._bases:
                self._ask_number(meeting, meeting.number in signed)
        # Whether the lane group's numbers begin at multiples, whatever is masked or divided by.
        self.begins = self.holds
        for meeting in meetings:
            self._ask_other(meeting)
        for number in natural:
            self.values.setdefault(number, self._ask_natural(builder.unary("freeze", number)))

    def _ask_natural(self, number: Value) -> Value:
        """Ask for a number of 64 bits that is small enough to be added up with others; it is written as one."""
        b = self._builder
        self._and(b.icmp("ult", number, ConstInt(I64, 1 << _NATURAL_BITS)))
        return b.binary("and", number, ConstInt(I64, (1 << _NATURAL_BITS) - 1))

    def _ask_number(self, meeting: Meeting, signed: bool) -> None:
        b, type, number = self._builder, meeting.type, meeting.number
        step = self._steps[number] = self._step(meeting)
        base = b.unary("freeze", b.binary("sub", number, step))
        self._and(b.icmp("eq", b.binary("and", base, const_int(meeting.block - 1, type)), const_int(0, type)))
        if type == I64:
            # Sums of such numbers, as indices are, are known not to be negative.
            base, signed = self._ask_natural(base), True
        elif signed:
            self._and(b.icmp("sge", base, const_int(0, type)))
        known = self._bases[number] = b.binary("and", base, _multiples(meeting.block, type, signed))
        self.values[number] = b.binary("add", known, step, flags=("nuw", "nsw") if signed else ("nuw",))

    def _step(self, meeting: Meeting) -> Value:
        """How far the lane's number is from x0."""
        b, type = self._builder, meeting.type
        if self._lane is None:
            self._lane = b.call(declare(b.module, "weft.lane.id"), ())
        lane: Value = self._lane
        if type.bits != I32.bits:
            lane = b.cast("zext" if type.bits > I32.bits else "trunc", lane, type)
        return (
            lane
            if meeting.stride == 1
            else b.binary("shl", lane, const_int(trailing_zeros(meeting.stride), type))
        )

    def _ask_other(self, meeting: Meeting) -> None:
        b, type, op = self._builder, meeting.type, meeting.instruction.op
        other: Value = b.unary("freeze", meeting.other)
        low = const_int(meeting.block - 1, type)
        if op in _SHIFTS:
            self._and(b.icmp("uge", other, const_int(trailing_zeros(meeting.block), type)))
        elif op == "and":
            self._and(b.icmp("eq", b.binary("and", other, low), low))
            other = b.binary("or", other, low)
        else:
            other = self._ask_multiple(meeting, other)
            self._look_through(meeting.other, other, meeting.block)
        self._others[meeting] = other
        self.values.setdefault(meeting.other, other)

    def _ask_multiple(self, meeting: Meeting, other: Value) -> Value:
        """Ask for a multiple that is not 0; it is written as one."""
        b, type, signed = self._builder, meeting.type, meeting.instruction.op in _UNSIGNED
        low = b.binary("and", other, const_int(meeting.block - 1, type))
        self._and(b.icmp("eq", low, const_int(0, type)))
        self._and(b.icmp("sge" if signed else "uge", other, const_int(meeting.block, type)))
        return self._multiple(other, meeting.block, signed)

    def _multiple(self, value: Value, block: int, signed: bool) -> Value:
        """The value, which is a multiple that is not 0, written so that this can be seen."""
        b, type = self._builder, value.type
        assert isinstance(type, IntType)
        least = const_int(block, type)
        known = b.binary("and", b.binary("sub", value, least), _multiples(block, type, signed))
        return b.binary("add", known, least, flags=("nuw", "nsw") if signed else ("nuw",))

    def _look_through(self, value: Value, known: Value, block: int) -> None:
        """What a divisor was made of: ``d if d is harmless else 1``, where 1 is no multiple, and d of fewer bits."""
        while isinstance(value, Instruction) and isinstance(value.type, IntType):
            if value.op == "select" and value.operands[1] == ConstInt(value.type, 1):
                self.values.setdefault(value.operands[0], FALSE)
                value = value.operands[2]
            elif value.op == "sext" and block.bit_length() < _bits(value.operands[0]) - 1:
                value = value.operands[0]
                known = self._multiple(self._builder.cast("trunc", known, value.type), block, signed=True)
            else:
                break
            self.values.setdefault(value, known)

    def _and(self, condition: Value) -> None:
        self.holds = condition if self.holds is None else self._builder.binary("and", self.holds, condition)

    def replace(self, meeting: Meeting) -> None:
        """Give the copy of an operation its other form."""
        twin = self.values[meeting.instruction]
        assert isinstance(twin, Instruction)
        b = Builder(before=twin)
        b.loc = twin.loc
        op = meeting.instruction.op
        whole = b.binary(_UNSIGNED.get(op, op), self._bases[meeting.number], self._others[meeting])
        if op in KEEPING:
            known = b.binary("and", whole, _multiples(meeting.block, meeting.type, op in _UNSIGNED))
            whole = b.binary("add", known, self._steps[meeting.number], flags=("nuw", "nsw"))
        replace_and_erase(twin, whole)


def _multiples(block: int, type: IntType, natural: bool) -> ConstInt:
    """A mask that changes no multiple of a block, none that is not negative if `natural`."""
    sign = 1 << (type.bits - 1)
    return const_int(((sign if natural else 2 * sign) - 1) & -block, type)


def _bits(value: Value) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits
