"""Loops through small arrays of a thread's own, written out: places in these arrays are numbers.

    before:  a = alloca [4 x double]                    behind:  a = alloca [4 x double]
             for k in range(0, 4, 2): ... a[k], a[k+1]           ... a[0], a[1] ...
                                                                 ... a[2], a[3] ...

Precondition: canonical form, loop-closed, without predicates, shadows and guards. Postcondition: valid; the loops that
`weft.analysis.loops.own_arrays` chooses are straight code, and so are those inside them whose rounds are known; what
they count with is numbers, and what numbers decide is no branch. Arrays are to be replaced by values. Preserves the
program under FR.
"""

from __future__ import annotations

from weft.analysis.loops.followed_rounds import (
    FollowedRounds,
    TooLongError,
    asks_for_its_end,
    can_be_written_out,
    computed_number,
)
from weft.analysis.loops.own_arrays import LARGEST, loops_through_arrays, own_arrays
from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_unreachable_blocks, replace_and_erase
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import IntType
from weft.transform.loops.chosen_elements import choose_elements
from weft.transform.loops.unroll_rows import LoopRounds, write_out


def write_out_arrays(function: Function) -> list[Instruction]:
    """Write out such loops; what asked each of the outermost ones for its end."""
    view = cfg_of(function)
    chosen = loops_through_arrays(function, view)
    if not chosen:
        return []
    asked = [each.exiting.terminator for each in chosen]
    inside = {view.blocks[b] for each in chosen for b in each.loop.blocks}
    rounds = [_rounds_of(view, e.loop, e.exiting, e.exit, e.rounds) for e in chosen]
    while rounds:
        others = set(function.blocks) - inside
        write_out(function, rounds)
        inside = set(function.blocks) - others
        fold_numbers(function, inside)
        inside &= set(function.blocks)
        rounds = _outermost(function, inside)
    choose_elements(function, own_arrays(function), inside)
    return asked


def _outermost(function: Function, inside: set[BasicBlock]) -> list[LoopRounds]:
    """The outermost loops in these blocks whose rounds are known."""
    view = cfg_of(function)
    forest = loop_forest(view.cfg)
    found: list[LoopRounds] = []
    covered = set[int]()
    for loop in forest.loops:
        header = view.blocks[loop.header]
        if header in inside and loop.header not in covered and can_be_written_out(view, loop):
            runs = _runs(view, forest, loop)
            if runs is not None:
                covered |= loop.blocks
                exiting, exit = asks_for_its_end(view, loop)
                top = exiting is header and loop.header != loop.latches[0]
                found.append(_rounds_of(view, loop, exiting, exit, runs - top))
    return found


def _runs(view: CFGView, forest: LoopForest, loop: Loop) -> int | None:
    try:
        return FollowedRounds(view, forest, lambda i, known: None, LARGEST).follow(loop)
    except TooLongError:
        return None


def _rounds_of(view: CFGView, loop: Loop, exiting: BasicBlock, exit: BasicBlock, rounds: int) -> LoopRounds:
    header = view.blocks[loop.header]
    blocks = (header, *(view.blocks[b] for b in sorted(loop.blocks) if b != loop.header))
    return LoopRounds(header, view.blocks[loop.latches[0]], blocks, exiting, exit, rounds)


def fold_numbers(function: Function, blocks: set[BasicBlock]) -> None:
    """Replace what is computed of numbers in these blocks, and branches that numbers decide."""
    pending = [
        i for block in reversed(function.blocks) if block in blocks for i in reversed(block.instructions)
    ]
    while pending:
        i = pending.pop()
        if i.block is None:
            continue
        if i.op == "br":
            _decide(i)
            continue
        value = _value_of(i)
        if value is not None:
            pending += i.instruction_users()
            replace_and_erase(i, value)
    remove_unreachable_blocks(function)


def _value_of(i: Instruction) -> Value | None:
    """What is known to be the result, of numbers alone."""
    if i.op in ("select", "freeze"):
        condition = i.operands[0]
        if not isinstance(condition, ConstInt):
            return None
        return condition if i.op == "freeze" else i.operands[1 if condition.value else 2]
    if i.is_phi:
        values = {value for value, _ in i.incoming()}
        only = values.pop() if len(values) == 1 else None
        return only if isinstance(only, ConstInt) else None
    if not isinstance(i.type, IntType):
        return None
    number = computed_number(i, {})
    return None if number is None else const_int(number, i.type)


def _decide(branch: Instruction) -> None:
    condition = branch.operands[0] if branch.operands else None
    if not isinstance(condition, ConstInt) or branch.block is None:
        return
    block = branch.block
    taken, other = branch.blocks if condition.value else reversed(branch.blocks)
    if taken is not other:
        for phi in list(other.phis()):
            phi.remove_incoming(phi.blocks.index(block))
    builder = Builder(block)
    builder.loc = branch.loc
    branch.erase()
    builder.br(taken)
