"""Sums of floats that a loop looks up go on in four or eight totals, which ask for signs together.

    for k: j = list[k]; total += a[j < 0 ? j + n : j]

    while four are left: j0 = list[k]; ...; j3 = list[k + 3]; if (j0 | j1 | j2 | j3) < 0: break
                         total0 += a[j0]; ...; total3 += a[j3]; k += 4
    total = (total0 + total1) + (total2 + total3)
    for k: ...                                                                             the loop as it was

One total is there for the next iteration only when its addition is, which takes four cycles of floats; and LLVM does
not unroll a loop that is left for indices that count from the end. The loop as it was runs what is left: less than
four iterations, or eight, or those from a negative index on.

Precondition: a loop-closed function of one thread, without predicates, shadows and guards. Postcondition: the same;
innermost loops of one block behind their test, which only read memory and fold floats in any order
(`weft.transform.loops.folds`: sums, minima, maxima), among them one at a place that they look up, are preceded by such
a loop. Preserves the program under FR, but
for what `reassoc` allows: all that is read is read by the loop as it was, too.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.analysis.loops.along_rows import looks_up
from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_left_by_itself
from weft.diag.source import SourceSpan
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, Function, Instruction, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable, may_write
from weft.ir.locations import span_of
from weft.ir.loop_metadata import is_scalar, mark_scalar
from weft.ir.slices import slice_of
from weft.ir.types import F32, IntType
from weft.machine.targets import Isa
from weft.transform.loops.folds import Fold, fold_of
from weft.transform.loops.gathered_sums import Lookup, gathered, gathers_sums, lookups_of
from weft.transform.numbers.known_numbers import asks_for_sign

FOUR, EIGHT = 4, 8
"""Iterations at a time. An addition of floats takes four cycles, or three, of which each may begin two. Eight floats,
not doubles, are a register of AVX2. Measured on Emerald Rapids: rows of 5 to 150 floats take 0.65 to 0.93 of the time,
rows of 10 to 39 doubles up to 1.4 times as long."""

_NO_WRAP = {"slt": "nsw", "ult": "nuw"}
"""By how a loop compares its counter with its bound, what holds of a counter that stays below it."""

LARGEST = 60
"""Instructions of a loop; more of them hide what an addition takes."""


class Sums(Struct, frozen=True):
    """A loop, what it adds up, and the questions for the signs of what it loads."""

    loop: CountedLoop
    sums: list[Fold]
    questions: dict[Instruction, Value]


def add_in_fours(
    function: Function, spared: Callable[[Loop, CFGView], bool], isa: Isa
) -> list[tuple[SourceSpan | None, int]]:
    """Give such loops, but for those that are `spared`, loops before them; where, and of how many iterations."""
    done: set[BasicBlock] = set()
    made: list[tuple[SourceSpan | None, int]] = []
    while (found := _next(function, spared, done)) is not None:
        done.add(found.loop.header)
        floats = all(one.phi.type == F32 for one in found.sums)
        many = EIGHT if floats and isa.vector_bits >= 256 else FOUR
        made.append((span_of(found.loop.header.terminator), many))
        together = (
            lookups_of(found.loop, found.questions.keys(), function.layout) if gathers_sums(isa) else []
        )
        done.add(_build(function, found, many, together))
    return made


def _next(function: Function, spared: Callable[[Loop, CFGView], bool], done: set[BasicBlock]) -> Sums | None:
    view = cfg_of(function)
    for loop in loop_forest(view.cfg).loops:
        if view.blocks[loop.header] in done or spared(loop, view):
            continue
        if (sums := sums_of(loop, view)) is not None:
            return sums
    return None


def sums_of(loop: Loop, view: CFGView, *, integers: bool = False, looking_up: bool = True) -> Sums | None:
    """What a loop adds up, of floats, or of `integers`, too; None if it does something else.

    The loop looks places up, or does not, as said.
    """
    if loop.children or any(is_scalar(view.blocks[latch].terminator) for latch in loop.latches):
        # Or it is a version for what is hardly ever so.
        return None
    counted = counted_loop(view, loop)
    if isinstance(counted, str) or looks_up(loop, view) is not looking_up:
        return None
    return _sums_of(counted, integers)


def _sums_of(loop: CountedLoop, integers: bool) -> Sums | None:
    """What a loop adds up; None if it does something else."""
    if not (loop.top_tested and is_left_by_itself(loop)) or loop.tests_next or loop.counter.step != 1:
        return None
    if loop.predicate not in _NO_WRAP or len(loop.blocks) != 2:
        return None
    instructions = [i for block in loop.blocks for i in block.instructions]
    if len(instructions) > LARGEST or not all(map(_only_reads, instructions)):
        return None
    sums: list[Fold] = []
    for phi in loop.header.phis():
        if phi is loop.counter.phi:
            continue
        if (found := fold_of(phi, loop, integers=integers)) is None:
            return None
        sums.append(found)
    # Behind the test the header has nothing; what is computed there is computed once more than the body.
    if not sums or len(loop.header.instructions) != len(list(loop.header.phis())) + 2:
        return None
    inside = {one.phi for one in sums} | {i for one in sums for i in one.operations}
    if any(_needs(one.term, inside, loop) for one in sums):
        return None
    questions: dict[Instruction, Value] = {}
    for i in instructions:
        if i.op == "icmp" and asks_for_sign(i):
            number = i.operands[0]
            if not _is_looked_up(number, loop):
                return None
            questions[i] = number
    return Sums(loop, sums, questions)


def _only_reads(i: Instruction) -> bool:
    if i.is_terminator or i.is_phi or (i.op == "load" and i.is_plain_access):
        return True
    return is_speculatable(i) and not may_write(i)


def _needs(value: Value, wanted: set[Instruction], loop: CountedLoop) -> bool:
    """Whether a value of the loop is computed of some others in the same iteration, or of another φ."""

    def goes_into(part: Instruction) -> bool:
        return part.block in loop.blocks and not part.is_phi and part not in wanted

    return any(
        (part.is_phi or part in wanted) and part is not loop.counter.phi
        for part in slice_of(value, goes_into)
        if isinstance(part, Instruction) and part.block in loop.blocks
    )


def _is_looked_up(number: Value, loop: CountedLoop) -> bool:
    """Whether a number is one of at least 8 bits that is loaded where the counter says."""
    if isinstance(number, Instruction) and number.op == "sext":
        number = number.operands[0]
    if not (isinstance(number, Instruction) and number.op == "load" and number.block is loop.latch):
        return False
    return isinstance(number.type, IntType) and _is_counted(number.pointer, loop)


def _is_counted(value: Value, loop: CountedLoop) -> bool:
    """Whether an address is computed of the counter and what the loop does not change."""
    return all(
        part is loop.counter.phi or (not part.is_phi and part.op != "load")
        for part in slice_of(value, lambda i: i.block in loop.blocks and not i.is_phi)
        if isinstance(part, Instruction) and part.block in loop.blocks
    )


def _build(function: Function, found: Sums, many: int, together: list[Lookup]) -> BasicBlock:
    """Build the loop of so many iterations at a time before a loop, which look up some together; its header."""
    loop, counter = found.loop, found.loop.counter
    before, header = loop.preheader, loop.header
    head = function.add_block(f"{header.name}.any", before)
    test = function.add_block(f"{header.name}.many", head)
    four = function.add_block(f"{header.name}.fours", test)
    added = function.add_block(f"{header.name}.four", four)
    end = function.add_block(f"{header.name}.sums", added)
    rest = function.add_block(f"{header.name}.rest", end)
    before.terminator.set_block(before.terminator.blocks.index(header), head)
    builder = Builder(head)
    builder.loc = loop.latch.terminator.loc
    builder.cond_br(builder.icmp(loop.predicate, counter.start, loop.bound), test, rest)
    builder.at_end(test)
    _go_on(builder, loop, counter.start, four, rest, many)
    builder.at_end(four)
    k = builder.phi(counter.type)
    k.add_incoming(counter.start, test)
    totals = [[builder.phi(one.phi.type) for _ in range(many)] for one in found.sums]
    for one, parts in zip(found.sums, totals, strict=True):
        start = one.phi.incoming_value(before)
        for n, part in enumerate(parts):
            part.add_incoming(one.neutral(start) if n else start, test)
    rounds = _rounds(builder, loop, k, many)
    asked = _ask(builder, found, rounds)
    if asked is not None:
        branch = builder.cond_br(asked, end, added)
        branch.attrs["chance"] = 1 / OFTEN
        weigh(branch, 1, OFTEN)
    else:
        builder.br(added)
    builder.at_end(added)
    for values in rounds:
        values.update(dict.fromkeys(found.questions, FALSE))
    for lookup in together:
        numbers = [_computed(lookup.number, builder, loop, values) for values in rounds]
        for values, element in zip(rounds, gathered(builder, lookup, numbers), strict=True):
            values[lookup.load] = element
    for n, values in enumerate(rounds):
        for one, parts in zip(found.sums, totals, strict=True):
            term = _computed(one.term, builder, loop, values)
            parts[n].add_incoming(one.combined(builder, term, parts[n]), added)
    flags = (_NO_WRAP[loop.predicate],)
    k.add_incoming(builder.binary("add", k, const_int(many, counter.type), flags), added)
    mark_scalar(_go_on(builder, loop, k.incoming_value(added), four, end, many))
    builder.at_end(end)
    asks = asked is not None
    place = _closed(builder, k, four, added, asks)
    arrived = [[_closed(builder, part, four, added, asks) for part in parts] for parts in totals]
    sums: list[Value] = [
        _added_up(builder, one, parts) for one, parts in zip(found.sums, arrived, strict=True)
    ]
    builder.br(rest)
    builder.at_end(rest)
    for phi, value in zip((counter.phi, *(one.phi for one in found.sums)), (place, *sums), strict=True):
        start = phi.incoming_value(before)
        joined = builder.phi(phi.type)
        for source in (head, test):
            joined.add_incoming(start, source)
        joined.add_incoming(value, end)
        phi.remove_incoming(phi.blocks.index(before))
        phi.add_incoming(joined, rest)
    builder.at_end(rest)
    builder.br(header)
    return four


def _go_on(
    builder: Builder, loop: CountedLoop, k: Value, four: BasicBlock, end: BasicBlock, many: int
) -> Instruction:
    """Run as many iterations at once if there are as many; the counter is not behind its bound.

    So what is left does not wrap around as a number without sign.
    """
    left = builder.binary("sub", loop.bound, k)
    return builder.cond_br(builder.icmp("ugt", left, const_int(many - 1, left.type)), four, end)


def _rounds(builder: Builder, loop: CountedLoop, k: Value, many: int) -> list[dict[Value, Value]]:
    """What is known of each of so many iterations: its counter."""
    type, flags = loop.counter.type, (_NO_WRAP[loop.predicate],)
    return [
        {loop.counter.phi: builder.binary("add", k, const_int(n, type), flags) if n else k}
        for n in range(many)
    ]


def _ask(builder: Builder, found: Sums, rounds: list[dict[Value, Value]]) -> Value | None:
    """Whether one of some iterations has an index that counts from the end; None if none can have."""
    asked: Value | None = None
    for number in dict.fromkeys(found.questions.values()):
        # What is poison leads to no access, and may be asked.
        each = [builder.unary("freeze", _computed(number, builder, found.loop, values)) for values in rounds]
        some: Value = each[0]
        for other in each[1:]:
            some = builder.binary("or", some, other)
        question = builder.icmp("slt", some, const_int(0, some.type))
        asked = question if asked is None else builder.binary("or", asked, question)
    return asked


def _closed(
    builder: Builder, phi: Instruction, four: BasicBlock, added: BasicBlock, asks: bool
) -> Instruction:
    """What a φ of the loop is behind it: before four iterations, or behind them."""
    closed = builder.phi(phi.type)
    if asks:
        closed.add_incoming(phi, four)
    closed.add_incoming(phi.incoming_value(added), added)
    return closed


def _added_up(builder: Builder, one: Fold, parts: list[Instruction]) -> Value:
    sums: list[Value] = list(parts)
    while len(sums) > 1:
        pairs = zip(sums[::2], sums[1::2], strict=True)
        sums = [one.combined(builder, b, a) for a, b in pairs]
    return sums[0]


def _computed(value: Value, builder: Builder, loop: CountedLoop, values: dict[Value, Value]) -> Value:
    """Compute a value of the loop for another counter."""
    if value in values or not isinstance(value, Instruction) or value.block not in loop.blocks:
        return values.get(value, value)
    operands = [_computed(v, builder, loop, values) for v in value.operands]
    if value.op == "select" and operands[0] is FALSE:
        values[value] = operands[2]
        return operands[2]
    copy = value.clone()
    for index, operand in enumerate(operands):
        copy.set_operand(index, operand)
    values[value] = builder.insert(copy)
    return copy
