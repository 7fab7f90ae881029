"""Walks of the grid in the order of memory: each iteration of a loop over every so many elements becomes a thread.

``for i in range(cuda.grid(1), n, cuda.gridsize(1)): body(i)`` is how kernels are written for grids of any size. Thread
p takes the elements p, p + d, p + 2d and so on, d being the number of threads; run lane group after lane group, each
access is d elements behind the one before it, and each lane group begins at the first d elements again. As threads
between barriers wait for nobody, all those of a row may do their first iteration, then all their second one:

    for p in first .. last:                       for k = 0, 1, 2, …  while first + k·d < n:
        for i = p; i < n; i += d:         →           for i in first + k·d .. min(last + k·d, n):
            body(i)                                       body(i)

So rows are run again and again, d further on each time, and memory is gone through from its begin to its end. Each
thread does its iterations in their order.

Precondition: ids are parameters (`weft.transform.groups.work_items`), canonical form. Postcondition, if the kernel is
such a walk: groups are merged (`weft.transform.groups.merge_groups`); position ``tid.<d>`` is i, the loop is gone, and
``<kernel>.walk`` returns d and n, as a pair, from the kernel's parameters. Running rows as above preserves the program
under FR and OBL. Karrenberg and Hack (§2.2) leave the order of threads to the driver.

A kernel is such a walk if nothing but the loop reads or writes memory, the position in the grid is used as the first
value of the counter alone, the counter is all that the loop hands on, it does not wrap around, and the loop is left at
its header alone, by a comparison of the counter with what is the same for all threads of the row; or at its end, by a
comparison of the next number, behind the same comparison of the first one. Iterations hand nothing on in objects on the
stack: the life of each object begins in the loop, before all else that is done with it.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.integers.intervals import INVERTED, SWAPPED
from weft.diag.source import SourceSpan
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_removable, may_read
from weft.ir.locations import span_of
from weft.ir.types import I32, I64
from weft.transform.groups.merge_groups import GroupMerge, find_merge, merge_groups
from weft.transform.groups.row_values import RowValues, limits_of
from weft.transform.groups.work_items import WorkItems
from weft.transform.numbers.accessed_indices import is_small

_MOST = (1 << 63) - 1
_SMALL = 1 << 31
_RISING = ("slt", "sle", "ult", "ule")
_ACCESSES = ("load", "store", "atomicrmw", "cmpxchg")


class GridWalk(Struct, frozen=True):
    """A kernel that is one iteration of a walk.

    Parameters
    ----------
    merge
        The groups that rows go on beyond.
    steps
        The function that returns how far apart the elements of a thread are, and where the walk ends.
    is_bounded
        Whether positions are so small that sums with them do not wrap around.
    span
        Where the loop was.
    """

    merge: GroupMerge
    steps: Function
    is_bounded: bool
    span: SourceSpan | None


class _Walk(Struct, frozen=True):
    """Such a loop: its counter, which is first `start`, and goes on by `step` while it compares so with `bound`.

    `ways` are the edges that an iteration takes once it is no loop any more, each with the one that is gone.
    """

    counter: Instruction
    start: Instruction
    step: Value
    predicate: str
    bound: Value
    latch: BasicBlock
    ways: tuple[tuple[BasicBlock, BasicBlock, BasicBlock], ...]
    tests: tuple[Instruction, ...]
    accessed: bool


def unroll_walk(module: Module, kernel: Function, dimension: int) -> GridWalk | None:
    """Make `kernel` one iteration of a walk along `dimension` (0 for x); None, and no change, if it is no walk."""
    walk = _find(kernel, dimension)
    merge = find_merge(kernel, dimension) if walk is not None else None
    if walk is None or merge is None or merge.size is not None:
        return None
    position = WorkItems.of(kernel).tid[dimension]
    values = RowValues(module, kernel, position, "walk")
    if not values.is_uniform(walk.step) or not values.is_uniform(walk.bound):
        return None
    step_limits = limits_of(walk.step)
    if step_limits is None or step_limits.lo < 1 or (walk.accessed and step_limits.hi > _MOST - _SMALL):
        return None
    merge_groups(kernel, dimension)
    steps = _steps(values, walk)
    most = _most_of(walk)
    if most is not None:
        kept = (a for a in position.attributes if not a.startswith("range("))
        position.attributes = (*kept, f"range(i64 0, {most})")
    else:
        position.attributes = tuple(a for a in position.attributes if not a.startswith("range("))
    span = span_of(walk.counter)
    start = next(v for v, source in walk.counter.incoming() if source is not walk.latch)
    walk.counter.replace_all_uses(start)
    walk.counter.erase()
    for site in _stack_objects(kernel):
        for user in list(site.instruction_users()):
            if (user.callee_name or "").startswith("llvm.lifetime."):
                user.erase()
    for block, target, instead in walk.ways:
        _go(block, target, instead)
    remove_unreachable_blocks(kernel)
    remove_dead_instructions(kernel)
    return GridWalk(merge, steps, most is not None, span)


def _go(block: BasicBlock, target: BasicBlock, instead_of: BasicBlock) -> None:
    """Let a block go to `target`, and no longer to another block."""
    branch = block.terminator
    instead_of.remove_phi_source(block)
    loc = branch.loc
    branch.erase()
    Builder(block).br(target).loc = loc


def _find(kernel: Function, dimension: int) -> _Walk | None:
    """The loop that is all that a kernel does; None if there is none."""
    view = cfg_of(kernel)
    roots = loop_forest(view.cfg).roots
    if len(roots) != 1 or roots[0].is_irreducible or len(roots[0].latches) != 1:
        return None
    loop = roots[0]
    inside = {view.blocks[b] for b in loop.blocks}
    for block in kernel.blocks:
        if block not in inside and not all(map(_does_nothing, block.instructions)):
            return None
    if not all(_is_of_iterations(site, view, loop) for site in _stack_objects(kernel)):
        return None
    found = _tested_first(kernel, view, loop, inside) or _tested_last(kernel, view, loop, inside)
    if found is None or not _is_position(found, kernel, dimension):
        return None
    return found


def _stack_objects(kernel: Function) -> list[Instruction]:
    return [i for i in kernel.instructions() if i.op == "alloca"]


def _begins_life(instruction: Instruction) -> bool:
    return (instruction.callee_name or "").startswith("llvm.lifetime.start")


def _is_of_iterations(site: Instruction, view: CFGView, loop: Loop) -> bool:
    """Whether each iteration begins the life of a stack object, before it does anything else with it."""
    users, dominators = list(site.instruction_users()), dominator_tree(view.cfg)
    inside = {view.blocks[b] for b in loop.blocks}
    begin = next((u for u in users if _begins_life(u)), None)
    if begin is None or begin.block is None or any(u.block not in inside for u in users):
        return False
    before = {user for user in users if user.block is begin.block}
    for instruction in begin.block.instructions:
        if instruction is begin:
            break
        if instruction in before:
            return False
    first = view.index[begin.block]
    return all(u.block is not None and dominators.dominates(first, view.index[u.block]) for u in users)


def _does_nothing(instruction: Instruction) -> bool:
    """Whether it may be done for each iteration, and shows in none."""
    if instruction.is_terminator:
        return instruction.op == "br" or (instruction.op == "ret" and not instruction.operands)
    return is_removable(instruction) and not may_read(instruction) and not instruction.is_phi


class _Test(Struct, frozen=True):
    """A branch that goes on where a number compares so with a bound, and where it goes then and else."""

    condition: Instruction
    predicate: str
    bound: Value
    on: BasicBlock
    off: BasicBlock


def _test(block: BasicBlock, number: Value, goes_on: BasicBlock | None = None) -> _Test | None:
    """How a block tests whether a number is below a bound; it goes on to `goes_on`, or where it is."""
    branch = block.terminator
    if branch.op != "br" or len(branch.blocks) != 2:
        return None
    condition = branch.operands[0]
    if not isinstance(condition, Instruction) or condition.op != "icmp" or number not in condition.operands:
        return None
    first = condition.operands[0] is number
    predicate: str = condition.predicate if first else SWAPPED[condition.predicate]
    on, off = branch.blocks
    if goes_on is off or (goes_on is None and predicate not in _RISING):
        on, off, predicate = off, on, INVERTED[predicate]
    if predicate not in _RISING:
        return None
    return _Test(condition, predicate, condition.operands[1 if first else 0], on, off)


def _counts(loop: Loop, view: CFGView) -> tuple[Instruction, Instruction, Instruction] | None:
    """The counter that is all that a loop hands on, its first value, and the next one; None if there is more."""
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    phis = list(header.phis())
    if len(phis) != 1 or len(loop.exit_edges) != 1 or phis[0].type not in (I32, I64):
        return None
    counter, total = phis[0], phis[0].incoming_value(latch)
    starts = [v for v, source in counter.incoming() if source is not latch]
    if len(starts) != 1 or not isinstance(starts[0], Instruction):
        return None
    if not isinstance(total, Instruction) or total.op != "add" or counter not in total.operands:
        return None
    return counter, starts[0], total


def _tested_first(kernel: Function, view: CFGView, loop: Loop, inside: set[BasicBlock]) -> _Walk | None:
    """The walk that a loop is which is left at its header, wherever it begins."""
    found, header, latch = _counts(loop, view), view.blocks[loop.header], view.blocks[loop.latches[0]]
    if found is None or header is latch or not all(map(is_removable, header.instructions[:-1])):
        return None
    counter, start, total = found
    body = next((b for b in header.successors if b in inside), None)
    test = _test(header, counter, body)
    # Nothing that the loop computes is used behind it, as nothing there does anything.
    if test is None or test.off in inside or list(test.off.phis()):
        return None
    ways = ((header, test.on, test.off), (latch, test.off, header))
    return _walk(kernel, view, counter, start, total, test, latch, ways)


def _tested_last(kernel: Function, view: CFGView, loop: Loop, inside: set[BasicBlock]) -> _Walk | None:
    """The walk that a loop is which is left at its end, behind the same test of its first number."""
    found, header, latch = _counts(loop, view), view.blocks[loop.header], view.blocks[loop.latches[0]]
    if found is None:
        return None
    counter, start, total = found
    test = _test(latch, total, header)
    if test is None or test.off in inside or list(test.off.phis()):
        return None
    if any(user not in (counter, test.condition) for user in total.instruction_users()):
        return None
    before = next((b for b in header.predecessors if b is not latch), None)
    while before is not None and len(before.successors) == 1:
        before = before.predecessors[0] if len(before.predecessors) == 1 else None
    guard = _guard(before, start, test) if before is not None else None
    if before is None or guard is None:
        return None
    if not _leads(guard.on, header) or list(guard.off.phis()):
        return None
    ways = ((latch, test.off, header), (before, guard.on, guard.off))
    return _walk(kernel, view, counter, start, total, test, latch, ways, (guard.condition,))


def _guard(before: BasicBlock, start: Instruction, test: _Test) -> _Test | None:
    """The same test of the first number, in 64 bits perhaps; None if there is none."""
    guard, bound = _test(before, start), test.bound
    if guard is None and start.op == "trunc" and test.predicate in ("slt", "sle"):
        guard = _test(before, start.operands[0])
        wide = guard.bound if guard is not None else None
        if not isinstance(wide, Instruction) or wide.op != "sext":
            return None
        if wide.operands[0] is not bound:
            return None
        bound = wide
    if guard is None or guard.predicate != test.predicate or guard.bound is not bound:
        return None
    return guard


def _leads(block: BasicBlock, header: BasicBlock) -> bool:
    """Whether a block goes to the header of a loop and nowhere else."""
    while block is not header:
        if len(block.successors) != 1 or len(block.predecessors) != 1:
            return False
        block = block.successors[0]
    return True


def _walk(
    kernel: Function, view: CFGView, counter: Instruction, start: Instruction, total: Instruction, test: _Test,
    latch: BasicBlock, ways: tuple[tuple[BasicBlock, BasicBlock, BasicBlock], ...],
    tests: tuple[Instruction, ...] = (),
) -> _Walk | None:  # fmt: skip
    """The walk, if its counter does not wrap around."""
    accessed = counter.type == I64 and _is_accessed(kernel, view, counter, latch)
    if "nsw" not in total.flags and not accessed:
        return None
    step = total.operands[1] if total.operands[0] is counter else total.operands[0]
    return _Walk(counter, start, step, test.predicate, test.bound, latch, ways, tests, accessed)


def _is_accessed(kernel: Function, view: CFGView, counter: Instruction, latch: BasicBlock) -> bool:
    """Whether each iteration that goes on accesses a small object at the counter, which then is below 2³¹."""
    dominators = dominator_tree(view.cfg)
    for place in counter.instruction_users():
        if place.op != "getelementptr" or "inbounds" not in place.flags or len(place.operands) != 2:
            continue
        if place.operands[1] is not counter or not kernel.layout.size(place.source_type):
            continue
        if not is_small(place.operands[0], kernel):
            continue
        for user in place.instruction_users():
            if user.op in _ACCESSES and user.pointer is place:
                assert user.block is not None
                if dominators.dominates(view.index[user.block], view.index[latch]):
                    return True
    return False


def _is_position(walk: _Walk, kernel: Function, dimension: int) -> bool:
    """Whether it begins at the position in the grid along a dimension, which nothing else is computed of."""
    start = walk.start
    if any(user is not walk.counter and user not in walk.tests for user in start.instruction_users()):
        return False
    if start.op == "trunc":
        source, number = start.operands[0], start
        if "nsw" not in start.flags or not isinstance(source, Instruction):
            return False
        if any(user is not number and user not in walk.tests for user in source.instruction_users()):
            return False
        start = source
    items = WorkItems.of(kernel)
    thread, group, size = (each[dimension] for each in (items.tid, items.gid, items.lsize))
    if start.op != "add" or thread not in start.operands:
        return False
    first = next((o for o in start.operands if o is not thread), None)
    return (
        isinstance(first, Instruction)
        and first.op == "mul"
        and set(first.operands) == {group, size}
        and all(_is_used_once(v) for v in (thread, group, first))
    )


def _is_used_once(value: Value) -> bool:
    return len(list(value.instruction_users())) == 1


def _most_of(walk: _Walk) -> int | None:
    """What positions stay below; None if that is not known."""
    if walk.accessed or walk.counter.type == I32:
        return _SMALL
    limits = limits_of(walk.bound)
    if limits is None or limits.hi > _SMALL or (limits.lo < 0 and walk.predicate in ("ult", "ule")):
        return None
    return max(1, limits.hi + (walk.predicate in ("sle", "ule")))


def _steps(values: RowValues, walk: _Walk) -> Function:
    """The function that returns the step, and what positions stay below."""
    builder = values.builder
    step, end = values.copy(walk.step), values.copy(walk.bound)
    unsigned = walk.predicate in ("ult", "ule")
    if walk.counter.type == I32:
        # Neither wraps around, so both are numbers of 64 bits; the counter is never negative.
        step, end = builder.cast("sext", step, I64), builder.cast("zext" if unsigned else "sext", end, I64)
    elif unsigned:
        end = values.call("llvm.umin.i64", end, ConstInt(I64, _MOST))
    if walk.predicate in ("sle", "ule"):
        end = values.call("llvm.sadd.sat.i64", end, ConstInt(I64, 1))
    # It may be poison where no thread asks.
    return values.finish(builder.unary("freeze", step), builder.unary("freeze", end))
