"""Whether a number is one of a few is computed in loops along rows, not branched on.

LLVM makes a ``switch`` of ``c == 97 or c == 101 or ...``, which its vectorizer does not take. Where all cases do the
same, and that is cheap, the loop has no other branch than its exit, and walks along rows, all of it is done always:

    body:  ...; switch c [97: some, 101: some], rest        body:  ...; t = c == 97 or c == 101
    some:  m = n + 1; br rest                                      m = n + 1; r = t ? m : n; br rest
    rest:  r = φ m, n; ...                                  rest:  ...

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: the same. Preserves the program under FR:
what is computed beyond the cases is used nowhere.
"""

from __future__ import annotations

from weft.analysis.loops.along_rows import is_along
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_speculatable
from weft.ir.types import IntType

MOST_CASES = 16
"""More are better looked up."""

MOST_COMPUTED = 4
"""Instructions of what the cases do."""


def compute_set_tests(function: Function) -> int:
    """Compute what such a ``switch`` decides; how many there were."""
    done = 0
    while (found := _next(function)) is not None:
        _compute(*found)
        remove_unreachable_blocks(function)
        done += 1
    return done


def _next(function: Function) -> tuple[Instruction, BasicBlock, BasicBlock] | None:
    """A switch, the block that its cases go to, and the one behind."""
    if not any(block.terminator.op == "switch" for block in function.blocks):
        return None
    view = cfg_of(function)
    for loop in loop_forest(view.cfg).loops:
        if loop.children:
            continue
        for block in (view.blocks[b] for b in loop.blocks):
            switch = block.terminator
            if switch.op == "switch" and (cases := _cases(switch)) is not None:
                behind = cases.successors[0]
                if _is_straight(loop, view, switch):
                    return switch, cases, behind
    return None


def _cases(switch: Instruction) -> BasicBlock | None:
    """The block that all cases go to, which goes on where the switch does otherwise, if it is cheap."""
    default, *targets = switch.blocks
    if len(set(targets)) != 1 or len(targets) > MOST_CASES or targets[0] is default:
        return None
    cases = targets[0]
    *computed, last = cases.instructions
    if set(cases.predecessors) != {switch.block} or last.op != "br" or last.blocks != [default]:
        return None
    if len(computed) > MOST_COMPUTED or any(i.is_phi or not is_speculatable(i) for i in computed):
        return None
    return cases


def _is_straight(loop: Loop, view: CFGView, switch: Instruction) -> bool:
    """Whether a loop has no other branch than its only exit, and walks along rows."""
    blocks = {view.blocks[b] for b in loop.blocks}
    exits = {source for source, _ in loop.exit_edges}
    if len(exits) != 1 or any(
        len(set(b.successors)) > 1 and b.terminator is not switch and view.index[b] not in exits
        for b in blocks
    ):
        return False
    assert switch.block is not None and switch.block.function is not None
    layout = switch.block.function.layout
    return all(is_along(i, blocks, layout) for b in blocks for i in b.instructions)


def _compute(switch: Instruction, cases: BasicBlock, behind: BasicBlock) -> None:
    block, number = switch.block, switch.operands[0]
    type = number.type
    assert block is not None and isinstance(type, IntType)
    b = Builder(before=switch)
    b.loc = switch.loc
    test: Value | None = None
    cases_left = set(switch.attrs["cases"])
    for bit in (1 << k for k in range(type.bits)):
        # Letters of both cases: c | 32 is one of the small ones.
        if all(case ^ bit in cases_left for case in cases_left):
            number = b.binary("or", number, const_int(bit, type))
            cases_left = {case for case in cases_left if case & bit}
    for case in sorted(cases_left):
        equal = b.icmp("eq", number, const_int(case, type))
        test = equal if test is None else b.binary("or", test, equal)
    assert test is not None
    for i in cases.instructions[:-1]:
        i.detach()
        block.insert_before(switch, i)
    for phi in list(behind.phis()):
        there, otherwise = phi.incoming_value(cases), phi.incoming_value(block)
        phi.remove_incoming(phi.blocks.index(cases))
        phi.set_operand(phi.blocks.index(block), b.select(test, there, otherwise))
    switch.erase()
    end = Builder(block)
    end.loc = b.loc
    end.br(behind)
