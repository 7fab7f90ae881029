"""Guards of loops become their bounds: what of a guard limits the counter is where the loop begins and ends.

    for k in 0 .. n:                              if 0 < n and i > 0:
        if i > 0 and k > 0 and k < n - 1: body        for k in 1 .. n - 1: body

Iterations for which the guard does not hold do not run: there is nothing to be masked. What the loop does not change is
asked before it, where it is a guard of the loop around. So the guard of a stencil in the innermost of three loops is
bounds of all three.

Precondition: plain code of one thread. Postcondition: loops that are tested at their top and count up by ones, whose
other iterations have no effect and hand on what they get, begin and end by the parts of their guards that
`weft.transform.loops.counter_limits` reads; an invariant part is a branch before the loop. Of loops that a user
promises to be parallel, those stay as they are whose guards may be what that rests on. The function is loop-closed if
anything has changed. Preserves the program under FR: no iteration runs that did not, none is left out that had an
effect. Values that may be poison are frozen where they are asked earlier.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop, is_left_by_itself
from weft.analysis.loops.loop_promises import loop_promises
from weft.diag.source import SourceSpan
from weft.graph.loops import loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Builder, Constant, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks, split_edge
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_convergent, is_removable, is_speculatable
from weft.ir.intrinsics import is_lane_operation
from weft.ir.locations import span_of
from weft.ir.metadata import DebugLoc
from weft.transform.condition_parts import parts_of
from weft.transform.loops.close_loops import close_loops
from weft.transform.loops.counter_limits import Limits
from weft.transform.loops.limited_counters import Ends, ends_of
from weft.transform.loops.loop_guards import Guard, guards_of
from weft.transform.loops.moving_writes import writes_move


class BoundGuard(Struct, frozen=True):
    """What has become of a guard.

    Parameters
    ----------
    span
        Where it is.
    is_bound
        Whether it limits the counter, or is only asked earlier.
    """

    span: SourceSpan | None
    is_bound: bool


def bound_guards(function: Function) -> list[BoundGuard]:
    """Have guards of loops be their bounds; which guards are."""
    view = cfg_of(function)
    found: list[BoundGuard] = []
    # Inner loops first: what they do not change is a guard of the loops around.
    for header in [view.blocks[loop.header] for loop in reversed(loop_forest(view.cfg).loops)]:
        loop = _counted(view, header)
        if loop is None or not any(True for _ in guards_of(loop)):
            continue
        if is_left_by_itself(loop) or _closed(function, loop):
            found += _bound(function, loop)
        view = cfg_of(function)
    if found:
        close_loops(function)
        remove_dead_instructions(function)
    return found


def _counted(view: CFGView, header: BasicBlock) -> CountedLoop | None:
    """The loop with a header, if it may get other bounds."""
    loop = loop_forest(view.cfg).headed_by[view.index[header]]
    counted = counted_loop(view, loop) if loop is not None else ""
    if isinstance(counted, str) or not counted.top_tested or counted.tests_next or counted.counter.step != 1:
        return None
    told = loop_promises(counted.latch, tuple(counted.blocks))
    if told.parallel and not told.proved and not writes_move(counted):
        return None
    if counted.predicate == "ne" or not all(is_removable(i) for i in header.instructions[:-1]):
        return None
    # Which iterations are lanes of a group is seen by these.
    calls = (i for b in counted.blocks for i in b.instructions if i.op == "call")
    if any(is_convergent(i) or is_lane_operation(i.callee_name) for i in calls):
        return None
    return counted


def _closed(function: Function, loop: CountedLoop) -> bool:
    close_loops(function)
    return is_left_by_itself(loop)


def _bound(function: Function, loop: CountedLoop) -> list[BoundGuard]:
    """Let guards of a loop be its bounds, or be asked before it; which."""
    if any(loop.counter.phi in phi.operands for phi in loop.exit.phis()):
        return []
    if any(_at_start(loop, phi.incoming_value(loop.header)) is None for phi in loop.exit.phis()):
        return []
    limits = Limits(function, loop)
    guards = list(guards_of(loop))
    for guard in guards:
        for part, holds in parts_of(guard.branch.operands[0], guard.entered):
            if isinstance(part, Constant):
                guard.left.append((part, holds))
            elif _moved_before(loop, part):
                guard.asked.append((part, holds))
            elif found := limits.limits_of(part, holds):
                guard.limits += found
            else:
                guard.left.append((part, holds))
    guards = [guard for guard in guards if guard.is_taken]
    if not guards:
        return []
    told = [BoundGuard(span_of(guard.branch), bool(guard.limits)) for guard in guards]
    loc = guards[0].branch.loc
    ends = ends_of(limits, [limit for guard in guards for limit in guard.limits])
    asked = _conditions(limits, [part for guard in guards for part in guard.asked], ends, loc)
    if asked is not None:
        _ask_before(function, loop, asked, loc)
    builder = Builder(before=_before(loop).terminator)
    builder.loc = loc
    _rebound(limits, *ends.build(builder))
    for guard in guards:
        _take_away(guard)
    remove_unreachable_blocks(function)
    return told


def _moved_before(loop: CountedLoop, value: Value) -> bool:
    """Whether a condition is known before a loop, where it is computed then."""
    moved: list[Instruction] = []

    def is_known(value: Value) -> bool:
        if not isinstance(value, Instruction) or value.block not in loop.blocks or value in moved:
            return True
        if value.is_phi or not is_speculatable(value) or not all(map(is_known, value.operands)):
            return False
        moved.append(value)
        return True

    if not is_known(value):
        return False
    for each in moved:
        each.detach()
        loop.preheader.insert_before(loop.preheader.terminator, each)
    return True


def _at_start(loop: CountedLoop, value: Value) -> Value | None:
    """What a value that is handed on behind a loop is if no iteration runs; None if that is not known."""
    if isinstance(value, Instruction) and value.block in loop.blocks:
        return value.incoming_value(loop.preheader) if value.is_phi and value.block is loop.header else None
    return value


def _conditions(
    limits: Limits, parts: list[tuple[Value, bool]], ends: Ends, loc: DebugLoc | None
) -> Value | None:
    """What is asked before a loop, computed there; None for nothing."""
    before = limits.before
    builder = Builder(before=before.terminator)
    builder.loc = loc
    asked: Value | None = None
    for value, holds in dict.fromkeys(parts):
        if not limits.certain.is_certain(value):
            value = builder.unary("freeze", value)
        if not holds:
            value = builder.binary("xor", value, TRUE)
        asked = value if asked is None else builder.binary("and", asked, value)
    if ends.rests_on_entry:
        runs = builder.icmp(limits.predicate, limits.loop.counter.start, limits.loop.bound)
        asked = runs if asked is None else builder.binary("and", asked, runs)
    return asked


def _ask_before(function: Function, loop: CountedLoop, asked: Value, loc: DebugLoc | None) -> None:
    """Go around a loop unless a condition holds."""
    before, header, exit = loop.preheader, loop.header, loop.exit
    at_start = [(phi, _at_start(loop, phi.incoming_value(header))) for phi in exit.phis()]
    split_edge(header, exit, f"{header.name}.left")
    inside = function.add_block(f"{header.name}.within", after=before)
    before.terminator.erase()
    builder = Builder(before)
    builder.loc = loc
    builder.cond_br(asked, inside, exit)
    for phi, value in at_start:
        assert value is not None
        phi.add_incoming(value, before)
    builder.at_end(inside)
    builder.br(header)
    header.replace_phi_source(before, inside)


def _before(loop: CountedLoop) -> BasicBlock:
    return next(block for block in loop.counter.phi.blocks if block is not loop.latch)


def _rebound(limits: Limits, low: Value, high: Value) -> None:
    """Let a loop run from one number to another one."""
    loop = limits.loop
    phi, branch = loop.counter.phi, loop.header.terminator
    phi.set_operand(phi.blocks.index(_before(loop)), low)
    if high is loop.bound and low is loop.counter.start:
        return
    # A new one: what flags of the old one say of where the loop begins may not be so now.
    test = Builder(before=branch)
    test.loc = branch.loc
    goes_on = test.icmp(limits.predicate, phi, high)
    if branch.blocks[0] is loop.exit or branch.blocks[0] not in loop.blocks:
        goes_on = test.binary("xor", goes_on, TRUE)
    branch.set_operand(0, goes_on)


def _take_away(guard: Guard) -> None:
    """Let a guard ask for what is left of it."""
    branch = guard.branch
    block = branch.block
    assert block is not None
    body, other = branch.blocks if guard.entered else branch.blocks[::-1]
    builder = Builder(before=branch)
    builder.loc = branch.loc
    if guard.left:
        asked: Value | None = None
        for value, holds in guard.left:
            if not holds:
                value = builder.binary("xor", value, TRUE)
            asked = value if asked is None else builder.select(asked, value, FALSE)
        assert asked is not None
        branch.set_operand(0, asked)
        branch.set_block(0, body)
        branch.set_block(1, other)
        return
    other.remove_phi_source(block)
    for phi in list(other.phis()):
        if len(phi.operands) == 1:
            phi.replace_all_uses(phi.operands[0])
            phi.erase()
    builder.br(body)
    branch.erase()
