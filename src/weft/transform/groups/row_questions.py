"""Whether numbers are negative is asked once for a row of lane groups, and of each of them where some are.

A version of a lane group for indices that do not count from the end (`weft.transform.numbers.inner_versions`) is asked
for by each lane group: ``i < 0`` in its first and last lane, for each index. Where a stencil has seven indices that
takes longer than what is done with them. Along a row these numbers rise, or fall, as threads do: none is negative if
none is in the row's first thread and in its last::

    for x in row: if x + a < 0 or x + W - 1 + a < 0: edge(x)         asks = first + a < 0 or last + a < 0
                  else: inner(x)                              ==>    for x in row: if asks and (as before): edge(x)
                                                                                   else: inner(x)

Sums may wrap around. Numbers of 64 bits that a row's threads have at most 2^57 apart do not between two ends that are
not negative: what goes beyond the largest number, and is not negative again, has gone by 2^63 negative ones. In rows
of more threads, which there are not, and of one lane group, each asks. Of indices that constants lie between, as
``x - 1`` and ``x + 1``, the ends are asked.

Precondition: plain LLVM IR; functions with the attribute `APART_ATTRIBUTE` are called by loops along rows of kernels or
over ``prange`` (`weft.transform.groups.lane_rounds`). Postcondition: those whose first branch asks numbers for their
signs, and nothing else, have a parameter that says whether they are to ask. Preserves the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from weft.ir import TRUE, Argument, Builder, Constant, ConstInt, Function, Instruction, Module, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.builder import const_int
from weft.ir.clone import ValueMap
from weft.ir.constants import is_zero
from weft.ir.effects import is_speculatable
from weft.ir.slices import slice_of
from weft.ir.types import I1, I64
from weft.transform.groups.lane_rounds import LaneRound, always_run, copied, rounds_of_lane_groups
from weft.transform.numbers.front_versions import without_constant

LARGEST_SLOPE = 1 << 16
"""By how much a number rises from thread to thread."""

LARGEST_DISTANCE = 1 << 20
"""Of a constant that is added to it."""

MOST_THREADS = 1 << 40
"""Of a row, which is asked for that."""


def ask_rows(module: Module) -> int:
    """Ask for rows what their lane groups would ask; in how many functions."""
    return sum(around is not None and _ask(f, around) for f, around in list(rounds_of_lane_groups(module)))


class _Row(Struct, frozen=True):
    """A loop along a row.

    Parameters
    ----------
    position
        The lane groups' parameter for their place in it.
    first, end
        What the loop counts from, and up to which number.
    width
        By how much in a round.
    behind
        How far behind the loop's number the position is: loops over ``prange`` count from 0.
    """

    position: Argument
    first: Value
    end: Value
    width: int
    behind: Value | None


def _ask(callee: Function, around: LaneRound) -> bool:
    row, asking = _row_of(callee, around), _first_branch(callee)
    if row is None or asking is None:
        return False
    numbers = _asked_for_sign(asking.operands[0])
    slopes = _Slopes(callee, around, row)
    ends: dict[Value, tuple[int, int]] = {}
    for base, distance in map(without_constant, numbers or ()):
        if slopes.of(base) is None or abs(distance) > LARGEST_DISTANCE:
            return False
        least, largest = ends.get(base, (distance, distance))
        ends[base] = min(least, distance), max(largest, distance)
    if all(slopes.of(base) == 0 for base in ends):
        # LLVM asks that before the loop.
        return False
    asks = _question(
        callee, around, row, [(base, slopes.of(base) or 0, *of_it) for base, of_it in ends.items()]
    )
    _take(callee, asking, callee.append_parameter(I1, "asks", ()))
    builder = Builder(before=around.call)
    builder.loc = around.call.loc
    builder.call(callee, [*around.call.args, asks])
    around.call.erase()
    return True


def _row_of(callee: Function, around: LaneRound) -> _Row | None:
    """The loop, if nothing but a position that rises by a power of two is different in each of its rounds."""
    given = dict(zip(callee.args, around.call.args, strict=True))
    moving = [
        a for a, value in given.items() if isinstance(value, Instruction) and value.block in around.inside
    ]
    if len(moving) != 1 or moving[0].type != I64:
        return None
    found, test = _counted(given[moving[0]], around), around.header.terminator.operands[0]
    if found is None:
        return None
    counter, behind = found
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate != "slt":
        return None
    if test.operands[0] is not counter or around.header.terminator.successors[0] is not around.call.block:
        return None
    if not around.is_fixed(test.operands[1]):
        return None
    steps = {_step(value, counter) for value, block in counter.incoming() if block in around.inside}
    width = steps.pop() if len(steps) == 1 else None
    if width is None or width <= 0 or width & (width - 1):
        return None
    return _Row(moving[0], counter.incoming_value(around.before), test.operands[1], width, behind)


def _counted(position: Value, around: LaneRound) -> tuple[Instruction, Value | None] | None:
    """A φ of the loop that a position is, or is as far behind in all rounds; and that distance."""
    behind: Value | None = None
    if isinstance(position, Instruction) and position.op == "add":
        fixed = [operand for operand in position.operands if around.is_fixed(operand)]
        if len(fixed) != 1:
            return None
        (behind,) = fixed
        position = next(operand for operand in position.operands if operand is not behind)
    if not isinstance(position, Instruction) or not position.is_phi or position.block is not around.header:
        return None
    return position, behind


def _step(value: Value, counter: Instruction) -> int | None:
    if isinstance(value, Instruction) and value.op == "add" and value.operands[0] is counter:
        step = value.operands[1]
        return step.signed if isinstance(step, ConstInt) else None
    return None


def _first_branch(function: Function) -> Instruction | None:
    """The first branch with a condition."""
    block = function.entry
    while len(block.successors) == 1 and len(block.successors[0].predecessors) == 1:
        block = block.successors[0]
    last = block.terminator
    return last if last.op == "br" and len(set(last.successors)) == 2 else None


def _asked_for_sign(condition: Value) -> list[Value] | None:
    """The numbers of which some is negative where a condition holds; None if it is about something else."""
    found: list[Value] = []
    for comparison in _parts(condition):
        if (
            not isinstance(comparison, Instruction)
            or comparison.op != "icmp"
            or comparison.predicate != "slt"
        ):
            return None
        if comparison.operands[0].type != I64 or not is_zero(comparison.operands[1]):
            return None
        # The sign of `a | b` is set where that of one of them is.
        found += _parts(comparison.operands[0])
    return found


def _parts(value: Value) -> Iterator[Value]:
    """What a value is the union of."""
    parts = slice_of(value, _is_union)
    return (part for part in parts if not isinstance(part, Instruction) or not _is_union(part))


def _is_union(part: Instruction) -> bool:
    return part.op in ("or", "freeze")


class _Slopes(Struct):
    """By how much numbers of a lane group rise with its position in the row; None where that is not known."""

    callee: Function
    around: LaneRound
    row: _Row
    known: dict[Value, int | None] = field(default_factory=dict)

    def of(self, value: Value) -> int | None:
        """The slope of a number that can be computed before the row."""
        if isinstance(value, Constant):
            return 0
        if isinstance(value, Argument):
            given = self.around.call.args[value.index]
            return 1 if value is self.row.position else 0 if self.around.is_fixed(given) else None
        if value not in self.known:
            found = self._of(value) if isinstance(value, Instruction) else None
            self.known[value] = found if found is not None and abs(found) <= LARGEST_SLOPE else None
        return self.known[value]

    def _of(self, value: Instruction) -> int | None:
        if value.op == "freeze" or not is_speculatable(value):
            return None
        slopes = [self.of(operand) for operand in value.operands]
        known = [slope for slope in slopes if slope is not None]
        if len(known) < len(slopes) or not any(known):
            return None if len(known) < len(slopes) else 0
        if value.type != I64:
            return None
        by = value.operands[-1]
        if value.op in ("add", "sub"):
            return known[0] + known[1] if value.op == "add" else known[0] - known[1]
        if value.op == "mul" and isinstance(by, ConstInt):
            return known[0] * by.signed
        if value.op == "shl" and isinstance(by, ConstInt) and by.value < LARGEST_SLOPE.bit_length():
            return known[0] << by.value
        return None


def _question(
    callee: Function, around: LaneRound, row: _Row, ends: Sequence[tuple[Value, int, int, int]]
) -> Value:
    """Whether lane groups are to ask: some number of the row is negative at an end, or it is too short, or too long."""
    before, function = around.before, around.call.function
    several, known = (
        function.add_block(f"{around.header.name}.{name}", after=before) for name in ("several", "known")
    )
    before.terminator.erase()
    b = Builder(before)
    b.loc = around.call.loc
    # One round asks as much by itself. That of a row without a thread may wrap around, and is not looked at.
    left = b.binary("sub", row.end, row.first)
    length = b.binary("sub", left, const_int(row.width + 1, I64))
    b.cond_br(b.icmp("ult", length, const_int(MOST_THREADS, I64)), several, known)
    b.at_end(several)
    rounds = b.binary("and", b.binary("sub", left, const_int(1, I64)), const_int(-row.width, I64))
    last = b.binary("add", row.first, rounds)
    first = row.first
    if row.behind is not None:
        first, last = (b.binary("add", row.behind, number) for number in (first, last))
    given: ValueMap = dict(zip(callee.args, around.call.args, strict=True))
    at_first: ValueMap = {**given, row.position: first}
    at_last: ValueMap = {**given, row.position: last}
    signs: Value | None = None
    for base, slope, least, largest in ends:
        low, high = (at_first, at_last) if slope >= 0 else (at_last, at_first)
        for values, distance in ((low, least), (high, largest)):
            number = _computed(b, base, values)
            if distance:
                number = b.binary("add", number, const_int(distance, I64))
            number = b.unary("freeze", number)
            signs = number if signs is None else b.binary("or", signs, number)
    assert signs is not None
    some = b.icmp("slt", signs, const_int(0, I64))
    b.br(known)
    b.at_end(known)
    asks = b.phi(I1, "asks")
    asks.add_incoming(TRUE, before)
    asks.add_incoming(some, several)
    b.br(around.header)
    around.header.replace_phi_source(before, known)
    return asks


def _computed(builder: Builder, value: Value, values: ValueMap) -> Value:
    """A value of the callee with other values for its parameters."""
    if isinstance(value, Instruction) and value not in values:
        for operand in value.operands:
            _computed(builder, operand, values)
        copy = copied(builder, value, values)
        # Where a sum before this one overflows at an end, it does not in the midst of the row.
        copy.loc, copy.flags, values[value] = None, (), copy
    return values.get(value, value)


def _take(callee: Function, asking: Instruction, asks: Value) -> None:
    """Ask where the row says so alone; what is computed to be asked is computed there."""
    head = asking.block
    assert head is not None
    edge, inner = asking.successors
    only = _for_nothing_else(callee, asking)
    asked = callee.add_block("asked", after=head)
    for instruction in (*only, asking):
        instruction.detach()
        asked.append(instruction)
    for block in (edge, inner):
        block.replace_phi_source(head, asked)
    for phi in inner.phis():
        phi.add_incoming(phi.incoming_value(asked), head)
    branch = Builder(head).cond_br(asks, asked, inner)
    branch.loc = asking.loc
    weigh(branch, 1, OFTEN)


def _for_nothing_else(callee: Function, asking: Instruction) -> list[Instruction]:
    """What is computed for a branch alone, in order."""
    found: list[Instruction] = []
    wanted: set[Value] = {asking}
    for i in reversed(list(always_run(callee))):
        users = list(i.instruction_users())
        if users and is_speculatable(i) and all(user in wanted for user in users):
            wanted.add(i)
            found.append(i)
    return found[::-1]
