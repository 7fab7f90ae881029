"""Sums along rows whose lengths data say: whole strips, and what is left in lanes of which the last are masked (AVX2).

    for k in range(start[i], start[i + 1]): total += a[k]

    if start[i + 1] - start[i] > 63:
        for t in range((start[i + 1] - start[i]) & -64): total += a[start[i] + t]        by LLVM, without a rest
    for t in range((start[i + 1] - start[i]) & 63): total += a[k + t]                  under masks

LLVM makes a loop of some registers at a time, one of a register, and one of single elements: of a row of some ten
elements nobody foresees how often each runs, and what is left over is added one by one. Under masks there is one loop
for short rows, with one total; the strips are there so that long rows have more than one. Measured on Emerald Rapids,
a million elements in rows of random lengths, 2 to 40 on average: 0.3 to 0.8 of the time, with AVX2 0.4 to 0.9. Where
lengths are always the same, and branches foreseen, some is lost: with AVX-512 rows of 4 elements take up to 1.6 of the
time, from 16 on nothing; with AVX2 floats take 2 to 2.7 in rows of 4 to 48, doubles up to 2.9 in rows of 3 and 4.

Precondition: a loop-closed function of one thread, without predicates, shadows and guards. Postcondition: the same;
innermost loops of one block behind their test, which only load neighbours and fold (`weft.transform.loops.folds`), and
begin or end where what is loaded says, are marked and preceded by such strips. Preserves the program under FR, but for
what `reassoc` allows.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.integers.intervals import INVERTED
from weft.analysis.loops.counted_loops import CountedLoop
from weft.diag.source import SourceSpan
from weft.graph.loops import Loop, loop_forest
from weft.ir import FALSE, BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.locations import span_of
from weft.ir.loop_metadata import mark_masked
from weft.ir.types import I32, I64
from weft.machine.targets import Isa
from weft.transform.loops.masked_sums import LANES, has_lanes
from weft.transform.loops.runs import is_consecutive
from weft.transform.loops.sums_in_fours import Sums, sums_of

STRIP = 64
"""Elements: a multiple of what LLVM takes at a time, four registers of numbers of 32 bits or more."""


def add_rows_under_masks(
    function: Function, isa: Isa, spared: Callable[[Loop, CFGView], bool]
) -> list[SourceSpan | None]:
    """Give such loops, but for those that are `spared`, strips and masks; where they are."""
    view = cfg_of(function)
    found: list[Sums] = []
    for loop in loop_forest(view.cfg).loops:
        sums = None if spared(loop, view) else sums_of(loop, view, integers=True, looking_up=False)
        if sums is not None and has_lanes(sums) and _is_row(sums, function, isa):
            found.append(sums)
    made: list[SourceSpan | None] = []
    for sums in found:
        # Registers for masks take comparisons of 64 bits as well.
        _run_strips(function, sums, in_short=not isa.mask_registers)
        mark_masked(sums.loop.latch.terminator, LANES)
        made.append(span_of(sums.loop.header.terminator))
    return made


def _is_row(found: Sums, function: Function, isa: Isa) -> bool:
    """Whether a loop runs along a row whose length is not known but by what is loaded."""
    loop = found.loop
    if found.questions or not is_told_by_data(loop):
        return False
    loads = [i for i in loop.latch.instructions if i.op == "load"]
    sizes = [function.layout.store_size(i.accessed_type) for i in loads]
    if not loads or not all(isa.masks_memory(8 * size) for size in sizes):
        return False
    return all(is_consecutive(i, loop, size) for i, size in zip(loads, sizes, strict=True))


def is_told_by_data(loop: CountedLoop) -> bool:
    """Whether what is loaded says where a loop begins or ends."""
    # What begins and ends by the same numbers may have as many elements as any other row.
    return loop.counter.type in (I32, I64) and _loads_of(loop.counter.start) != _loads_of(loop.bound)


def _loads_of(value: Value) -> set[Instruction]:
    """The loads that a value is computed from, but for those by way of φs."""
    work, seen = [value], {value}
    while work:
        one = work.pop()
        if isinstance(one, Instruction) and not one.is_phi and one.op != "load":
            work += [v for v in one.operands if v not in seen]
            seen.update(one.operands)
    return {v for v in seen if isinstance(v, Instruction) and v.op == "load"}


def _run_strips(function: Function, found: Sums, *, in_short: bool) -> None:
    """Run as many iterations as are a multiple of a strip in a loop of their own before a loop."""
    loop, counter = found.loop, found.loop.counter
    before, header, type = loop.preheader, loop.header, counter.type
    copies: ValueMap = {}
    clone_blocks(loop.blocks, function, copies)
    strips, latch = copies[header], copies[loop.latch]
    assert isinstance(strips, BasicBlock) and isinstance(latch, BasicBlock)
    strips.name = f"{header.name}.strips"
    long = function.add_block(f"{header.name}.long", before)
    rest = function.add_block(f"{header.name}.rest", strips)
    builder = Builder(before=before.terminator)
    builder.loc = loop.latch.terminator.loc
    some = builder.icmp(loop.predicate, counter.start, loop.bound)
    length = builder.binary("sub", loop.bound, counter.start)
    # The counter is not behind its bound: its distance does not wrap around as a number without sign.
    many = builder.select(some, builder.icmp("ugt", length, const_int(STRIP - 1, type)), FALSE)
    before.terminator.erase()
    builder.at_end(before)
    builder.cond_br(many, long, rest)
    builder.at_end(long)
    whole = builder.binary("and", length, const_int(-STRIP, type))
    builder.br(strips)
    strips.replace_phi_source(before, long)
    _count(strips, long, latch, whole)
    strips.terminator.set_block(strips.terminator.blocks.index(loop.exit), rest)
    builder.at_end(rest)
    joined: dict[Instruction, Instruction] = {}
    for phi in list(header.phis()):
        joined[phi] = builder.phi(phi.type)
        joined[phi].add_incoming(phi.incoming_value(before), before)
        joined[phi].add_incoming(copies[phi], strips)
        phi.remove_incoming(phi.blocks.index(before))
        phi.add_incoming(joined[phi], rest)
    # Of rows of less than a strip this is all.
    part = builder.binary("and", length, const_int(STRIP - 1, type))
    left = builder.select(some, part, const_int(0, type))
    builder.br(header)
    _count_in_short(loop, joined[counter.phi], left, asked=in_short)


def _count_in_short(loop: CountedLoop, first: Instruction, left: Value, *, asked: bool) -> None:
    """Count in 32 bits what is left behind a number: masks are made of counters, and AVX2 has no other fast ones."""
    phi, following, start = loop.counter.phi, loop.counter.following, first.block
    assert start is not None
    few = left if left.type is I32 else Builder(before=start.terminator).cast("trunc", left, I32)
    count = _count(loop.header, start, loop.latch, few)
    tests = [u for u in phi.instruction_users() if asked and u.op == "icmp" and u.block is loop.latch]
    for test in tests:
        _ask_in_short(test, phi, first, count)
    body = Builder(before=loop.latch.instructions[0])
    wide = count if phi.type is I32 else body.cast("zext", count, phi.type)
    flag = "nsw" if loop.predicate == "slt" else "nuw"
    place = body.binary("add", first, wide, (flag,))
    for user in list(phi.users):
        user.replace_operand(phi, place)
    phi.erase()
    if not following.is_used:
        following.erase()


def _ask_in_short(test: Instruction, phi: Instruction, first: Instruction, count: Instruction) -> None:
    """Ask the counter of less than a strip of iterations if it is at a number that the loop does not change."""
    number = next((v for v in test.operands if v is not phi), phi)
    changes = isinstance(number, Instruction) and number.block in (test.block, count.block)
    if test.predicate not in ("eq", "ne") or changes or first.block is None:
        return
    before = Builder(before=first.block.terminator)
    before.loc = test.loc
    distance: Value = before.binary("sub", number, first)
    near = before.icmp("ult", distance, const_int(STRIP, distance.type))
    if distance.type is not I32:
        distance = before.cast("trunc", distance, I32)
    wanted = before.select(near, distance, const_int(-1, I32))
    for place, value in enumerate((count, wanted)):
        test.set_operand(place, value)


def _count(header: BasicBlock, before: BasicBlock, latch: BasicBlock, whole: Value) -> Instruction:
    """Let a loop run so many times, counted from 0: LLVM sees then that nothing is left over."""
    branch = header.terminator
    old = branch.operands[0]
    assert isinstance(old, Instruction)
    count = Builder(before=header.instructions[0]).phi(whole.type)
    step = Builder(before=latch.terminator)
    count.add_incoming(const_int(0, whole.type), before)
    count.add_incoming(step.binary("add", count, const_int(1, whole.type), ("nuw",)), latch)
    test = Builder(before=branch)
    test.loc = branch.loc
    predicate = "ult" if branch.blocks[0] is latch else INVERTED["ult"]
    branch.set_operand(0, test.icmp(predicate, count, whole))
    old.erase()
    return count
