"""Ranges of iterations that change nothing are found in lanes, and left out (`weft.analysis.loops.quiet_iterations`).

    before: br loop                     before: n = iterations; br ranges
    loop:   φ ...; br more, body, exit  ranges: φ t, ...; br (n - t >= RANGE), ask, run
    body:   ...; br loop                ask:    for j < RANGE: hit |= iteration t + j is not quiet
                                                br hit, run, skip
                                        skip:   t += RANGE, counters too; br ranges
                                        run:    the loop, for RANGE or n - t iterations; br (t == n), exit, ranges

Precondition: a loop-closed function, a loop that allows the question, whose unproved loads are of memory that is there.
Postcondition: the loop's blocks run ranges of it; there is a loop more, which asks, and whose iterations may run in any
order: its latch is given back. The function is loop-closed but for the loop's own values. Preserves the program under
FR.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import build_iterations, counters_of
from weft.analysis.loops.quiet_iterations import Question, computed_from, replaced_if
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import split_edge
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import is_removable
from weft.ir.types import I1, I64, IntType

RANGE = 256
"""Iterations that are asked at once: several lane groups of any machine, and few to run again where one is hit."""

_CONTRACTS = ("reassoc", "nsz", "arcp", "contract", "afn")
"""What ``fast`` says but for what makes poison of infinities and NaN."""


def skip_quiet_iterations(function: Function, question: Question) -> BasicBlock:
    """Leave out ranges of quiet iterations; the latch of the loop that asks."""
    loop = question.loop
    counters = {c.phi: c.step for c in counters_of(loop.header, loop.preheader, loop.latch)}
    exit, done = loop.exit, split_edge(loop.header, loop.exit, f"{loop.header.name}.ran")
    for source, target in dict.fromkeys(question.early):
        split_edge(source, target)
    make = function.add_block
    name = loop.header.name
    ranges, ask, asked, skip, run = (
        make(f"{name}.{part}", loop.header) for part in ("ranges", "ask", "asked", "skip", "run")
    )
    builder = Builder(before=loop.preheader.terminator)
    builder.loc = loop.header.terminator.loc
    count = build_iterations(loop, builder)
    loop.preheader.terminator.erase()
    builder.at_end(loop.preheader)
    builder.br(ranges)

    builder.at_end(ranges)
    first = builder.phi(I64, "first")
    first.add_incoming(const_int(0), loop.preheader)
    given: dict[Instruction, Instruction] = {}
    for phi in loop.header.phis():
        given[phi] = builder.phi(phi.type, phi.name)
        given[phi].add_incoming(phi.incoming_value(loop.preheader), loop.preheader)
    left = builder.binary("sub", count, first)
    builder.cond_br(builder.icmp("uge", left, const_int(RANGE)), ask, run)

    latch, hit = _ask(function, question, given, ask, asked)
    builder.at_end(asked)
    builder.cond_br(hit, run, skip)

    builder.at_end(skip)
    first.add_incoming(builder.binary("add", first, const_int(RANGE)), skip)
    at_last: ValueMap = {
        phi: _moved(builder, given[phi], (RANGE - 1) * step) for phi, step in counters.items()
    }
    for phi, value in given.items():
        behind: Value = value
        if phi in counters:
            behind = _moved(builder, value, RANGE * counters[phi])
        elif phi in question.last:
            update = phi.incoming_value(loop.latch)
            _compute(builder, update, question, at_last)
            behind = at_last.get(update, update)
        value.add_incoming(behind, skip)
    builder.br(ranges)

    builder.at_end(run)
    limit = builder.phi(I64, "limit")
    limit.add_incoming(left, ranges)
    limit.add_incoming(const_int(RANGE), asked)
    builder.br(loop.header)
    _run_so_many(question, given, run, limit, done)

    done.terminator.erase()
    builder.at_end(done)
    reached = builder.binary("add", first, limit)
    first.add_incoming(reached, done)
    for phi, value in given.items():
        value.add_incoming(phi, done)
    builder.cond_br(builder.icmp("eq", reached, count), exit, ranges)
    split_edge(done, exit)
    return latch


def _moved(builder: Builder, counter: Value, distance: int) -> Value:
    assert isinstance(counter.type, IntType)
    return builder.binary("add", counter, ConstInt(counter.type, distance))


def _compute(builder: Builder, value: Value, question: Question, known: ValueMap) -> None:
    """Compute a value of the loop from counters that are known."""
    counters = {v for v in known if isinstance(v, Instruction)}
    for instruction in computed_from(value, counters, set(question.loop.blocks)):
        if instruction not in known:
            made = builder.insert(instruction.clone())
            for place, operand in enumerate(made.operands):
                made.set_operand(place, known.get(operand, operand))
            known[instruction] = made


def _run_so_many(
    question: Question, given: dict[Instruction, Instruction], run: BasicBlock, limit: Value, done: BasicBlock
) -> None:
    """Let the loop run so many iterations, from what it is given."""
    loop = question.loop
    for phi, value in given.items():
        place = phi.blocks.index(loop.preheader)
        phi.set_operand(place, value)
        phi.set_block(place, run)
    number = Instruction("phi", I64, name="number")
    loop.header.insert(0, number)
    branch = loop.header.terminator
    inside = next(b for b in loop.header.successors if b is not done)
    builder = Builder(before=branch)
    builder.loc = branch.loc
    builder.cond_br(builder.icmp("ult", number, limit), inside, done)
    (test,) = branch.operands
    branch.erase()
    if isinstance(test, Instruction) and not test.is_used:
        test.erase()
    latch = Builder(before=loop.latch.terminator)
    number.add_incoming(const_int(0), run)
    number.add_incoming(latch.binary("add", number, const_int(1), ("nuw", "nsw")), loop.latch)


def _ask(
    function: Function,
    question: Question,
    given: dict[Instruction, Instruction],
    ask: BasicBlock,
    asked: BasicBlock,
) -> tuple[BasicBlock, Value]:
    """Build the loop that asks, between two blocks: its latch, and the answer."""
    loop = question.loop
    copies: ValueMap = {}
    blocks = list(loop.blocks)
    clone_blocks(blocks, function, copies)

    def copy_of(value: Value) -> Value:
        return copies.get(value, value)

    def block_of(block: BasicBlock) -> BasicBlock:
        made = copies[block]
        assert isinstance(made, BasicBlock)
        return made

    header, latch = block_of(loop.header), block_of(loop.latch)
    # All iterations come together in a block of its own, whichever way they took.
    meeting = function.add_block(f"{latch.name}.asked", latch)
    location = latch.terminator.loc
    for state in (*question.states, *question.last):
        made = copies[state]
        assert isinstance(made, Instruction)
        made.replace_all_uses(given[state])
        made.erase()
        copies[state] = given[state]
    for phi in header.phis():
        place = phi.blocks.index(loop.preheader)
        phi.set_block(place, ask)
        original = next(o for o, c in copies.items() if c is phi)
        assert isinstance(original, Instruction)
        phi.set_operand(place, given[original])
    for original in question.unsure:
        made = copies[original]
        if isinstance(made, Instruction) and made is not given.get(original):
            _let_be_anything(made)

    number, hit = Instruction("phi", I64, name="asking"), Instruction("phi", I1, name="hit")
    header.insert(0, hit)
    header.insert(0, number)
    hit.add_incoming(FALSE, ask)
    number.add_incoming(const_int(0), ask)
    branch = header.terminator
    inside = next(b for b in branch.successors if b is not loop.exit and b in copies.values())
    builder = Builder(before=branch)
    builder.loc = branch.loc
    builder.cond_br(builder.icmp("ult", number, const_int(RANGE)), inside, asked)
    branch.erase()

    builder = Builder(before=latch.terminator)
    builder.loc = location
    known: dict[tuple[Value, Value], Value] = {}
    updates = [(state, state.incoming_value(loop.latch)) for state in question.states]
    changed = dict.fromkeys(_changed(update, state, question, copies, known) for state, update in updates)
    changes: Value = FALSE
    for one in changed:
        changes = one if changes == FALSE else builder.binary("or", changes, one)
    changes = hit if changes == FALSE else builder.select(changes, TRUE, hit)
    branch = latch.terminator
    if branch.operands:
        # It is an early exit, too.
        ways = (changes, TRUE) if branch.blocks[0] is header else (TRUE, changes)
        changes = builder.select(branch.operands[0], *ways)
    branch.erase()
    builder.at_end(latch)
    builder.br(meeting)
    builder.at_end(meeting)
    found = builder.phi(I1, "found")
    found.add_incoming(changes, latch)
    for source in dict.fromkeys(source for source, _ in question.early if source is not loop.latch):
        _leave(block_of(source), set(copies.values()), meeting, found)
    following = builder.binary("add", number, const_int(1), ("nuw", "nsw"))
    builder.br(header)
    for phi in header.phis():
        if phi is hit:
            phi.add_incoming(found, meeting)
        elif phi is number:
            phi.add_incoming(following, meeting)
        else:
            phi.set_block(phi.blocks.index(latch), meeting)
    _count_where_all_meet(header, meeting, copies, question)
    builder = Builder(ask)
    builder.loc = location
    builder.br(header)
    _remove_unused([header, *(block_of(b) for b in blocks if b is not loop.header)])
    return meeting, hit


def _remove_unused(blocks: list[BasicBlock]) -> None:
    """Remove what is computed for nobody, loads of what only the loop itself needs among it."""
    work = [i for block in blocks for i in block.instructions]
    while work:
        instruction = work.pop()
        if instruction.block is None or instruction.is_used or not is_removable(instruction):
            continue
        work += [v for v in instruction.operands if isinstance(v, Instruction) and v.block in blocks]
        instruction.erase()


def _count_where_all_meet(
    header: BasicBlock, meeting: BasicBlock, copies: ValueMap, question: Question
) -> None:
    """Compute the next values of counters where iterations that stopped early come, too."""
    loop = question.loop
    for counter in counters_of(loop.header, loop.preheader, loop.latch):
        phi = copies[counter.phi]
        assert isinstance(phi, Instruction) and phi.block is header
        flags = tuple(f for f in counter.following.flags if f in ("nsw", "nuw"))
        builder = Builder.after_phis(meeting)
        following = builder.binary("add", phi, ConstInt(counter.type, counter.step), flags)
        if counter.following.op != "add":
            following.flags = tuple(f for f in flags if f != "nuw")
        phi.set_operand(phi.blocks.index(meeting), following)


def _leave(source: BasicBlock, inside: set[Value], meeting: BasicBlock, found: Instruction) -> None:
    """Let the copy of an early exit come where all iterations meet, with a hit."""
    branch = source.terminator
    for place, target in enumerate(list(branch.blocks)):
        if target not in inside:
            branch.set_block(place, meeting)
            found.add_incoming(TRUE, source)


def _changed(
    value: Value,
    state: Instruction,
    question: Question,
    copies: ValueMap,
    known: dict[tuple[Value, Value], Value],
) -> Value:
    """Whether an update is another value than the state, as an i1 in the copy."""
    if value is state:
        return FALSE
    if not isinstance(value, Instruction) or value.block not in question.loop.blocks:
        return TRUE
    if (value, state) in known:
        return known[value, state]
    made = copies[value]
    if value.op == "select":
        assert isinstance(made, Instruction)
        condition, *chosen = value.operands
        a, b = (_changed(v, state, question, copies, known) for v in chosen)
        at = copies.get(condition, condition)
        if a == TRUE and b == FALSE:
            found: Value = at
        else:
            found = a if a == b else Builder(before=made).select(at, a, b)
        known[value, state] = found
        return found
    if (replaced := replaced_if(value, state)) is not None:
        assert isinstance(made, Instruction)
        predicate, other = replaced
        found = Builder(before=made).icmp(predicate, copies.get(other, other), copies[state])
        known[value, state] = found
        return found
    if not value.is_phi or value.block is state.block:
        return TRUE
    assert isinstance(made, Instruction) and made.block is not None
    flag = Instruction("phi", I1, name="changed")
    known[value, state] = flag
    made.block.insert(0, flag)
    for incoming, source in value.incoming():
        block = copies[source]
        assert isinstance(block, BasicBlock)
        flag.add_incoming(_changed(incoming, state, question, copies, known), block)
    return flag


def _let_be_anything(copy: Instruction) -> None:
    """Forget what is promised of a value: an iteration that does not run may compute any."""
    copy.metadata = {k: v for k, v in copy.metadata.items() if k == "dbg"}
    if copy.op == "call":
        copy.attrs = {k: v for k, v in copy.attrs.items() if not k.startswith("ret")}
    flags = [f for f in copy.flags if f in _CONTRACTS]
    if "fast" in copy.flags:
        flags = list(_CONTRACTS)
    copy.flags = tuple(flags)
