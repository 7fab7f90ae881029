"""Guard splitting: a guard of the whole kernel becomes bounds of the loop over its threads.

``if i < n: ...`` around all that a kernel does, or ``if i >= n: return`` before it, holds for one run of threads
along the dimension of the lanes. Threads outside that run need not be started, those inside need not ask
(Moll, Doerfert, Hack, "Input Space Splitting for OpenCL", CC 2016, splits the index space likewise).

Precondition: ids are parameters (`weft.transform.groups.work_items`), canonical form. Postcondition: the kernel does
the same for the threads that ``<kernel>.bounds`` names, and the original did nothing for the others. That function
takes the kernel's parameters, of which it ignores the position along the dimension, then the ends of a row of threads,
and returns the ends of the part to run, as a pair. Preserves the program under FR and OBL.

Split are guards that every thread reaches before it does anything that shows. Of their condition those parts are
taken that are the same in the row, or that compare the thread's position, plus what is the same in the row, with what
is the same in the row; none that reads memory, which threads may change.
"""

from __future__ import annotations

from msgspec import Struct

from weft.diag.source import SourceSpan
from weft.ir import FALSE, TRUE, BasicBlock, Builder, Function, Instruction, Module, Value
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.effects import is_removable
from weft.ir.locations import span_of
from weft.ir.types import I1
from weft.transform.condition_parts import parts_of
from weft.transform.groups.row_bounds import RowBounds
from weft.transform.groups.work_items import WorkItems


class GuardSplit(Struct, frozen=True):
    """What has become of the guards of a kernel.

    Parameters
    ----------
    bounds
        The function that says which threads run.
    guards
        Where the branches were that are gone.
    from_the_first
        Whether the first thread of a row runs if any does.
    """

    bounds: Function
    guards: tuple[SourceSpan | None, ...]
    from_the_first: bool


def split_guards(module: Module, kernel: Function, dimension: int) -> GuardSplit | None:
    """Take guards on the threads along `dimension` (0 for x) out of `kernel`; None when there are none."""
    bounds = RowBounds(module, kernel, WorkItems.of(kernel).tid[dimension])
    gone: list[SourceSpan | None] = []
    taken = False
    block: BasicBlock | None = kernel.entry
    while block is not None and all(is_removable(i) for i in block.instructions[:-1]):
        branch = block.terminator
        body, entered = _guarded(branch)
        if body is None:
            break
        if len(branch.blocks) == 2:
            span = span_of(branch)
            for part, holds in list(parts_of(branch.operands[0], entered)):
                if bounds.require(part, holds):
                    _settle(part, holds)
                    taken = True
            if len(block.terminator.blocks) == 1:
                gone.append(span)
        block = body
    if not taken:
        return None
    remove_unreachable_blocks(kernel)
    remove_dead_instructions(kernel)
    return GuardSplit(bounds.finish(), tuple(gone), not bounds.leaves_out_first)


def _guarded(branch: Instruction) -> tuple[BasicBlock | None, bool]:
    """Where `branch` goes on if its other way, when there is one, does nothing but return; and when it goes there."""
    if branch.op != "br":
        return None, False
    ways = [(t, k == 0) for k, t in enumerate(branch.blocks) if len(t.predecessors) == 1]
    if len(branch.blocks) == 1:
        return ways[0] if ways else (None, False)
    for body, entered in ways:
        if _does_nothing(branch.blocks[1 if entered else 0]):
            return body, entered
    return None, False


def _does_nothing(block: BasicBlock) -> bool:
    """Whether a thread that comes to `block` returns without having done anything that shows."""
    seen: set[BasicBlock] = set()
    while block not in seen:
        seen.add(block)
        if not all(is_removable(i) for i in block.instructions[:-1]):
            return False
        terminator = block.terminator
        if terminator.op == "ret":
            return not terminator.operands
        if terminator.op != "br" or len(terminator.blocks) != 1:
            return False
        block = terminator.blocks[0]
    return False


def _settle(condition: Value, holds: bool) -> None:
    """Let a condition be a constant, and with it what follows from that."""
    work: list[tuple[Value, Value]] = [(condition, TRUE if holds else FALSE)]
    while work:
        value, constant = work.pop()
        users = list(value.instruction_users())
        value.replace_all_uses(constant)
        for user in users:
            simpler = _simplified(user)
            if simpler is not None:
                work.append((user, simpler))
            elif user.op == "br":
                _straighten(user)


def _simplified(user: Instruction) -> Value | None:
    """What a selection or a connective of truth values amounts to."""
    operands = user.operands
    if user.op == "select" and operands[0] in (TRUE, FALSE):
        return operands[1 if operands[0] == TRUE else 2]
    if user.type != I1:
        return None
    for value, other in (operands, operands[::-1]) if user.op in ("and", "or", "xor") else ():
        if value in (TRUE, FALSE):
            if user.op == "and":
                return other if value == TRUE else FALSE
            if user.op == "or":
                return TRUE if value == TRUE else other
            return other if value == FALSE else None
    return operands[0] if user.op == "select" and operands[1:] == [TRUE, FALSE] else None


def _straighten(branch: Instruction) -> None:
    """Let a branch on a constant go its one way."""
    if not branch.operands or branch.operands[0] not in (TRUE, FALSE):
        return
    taken, avoided = branch.blocks if branch.operands[0] == TRUE else branch.blocks[::-1]
    block = branch.block
    assert block is not None
    if avoided is not taken:
        avoided.remove_phi_source(block)
    loc = branch.loc
    branch.erase()
    Builder(block).br(taken).loc = loc
