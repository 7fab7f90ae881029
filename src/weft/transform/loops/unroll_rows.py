"""Short rows that each thread has for itself, written out: the loops along them become straight code.

    before:  br head                                  before:  br head.1
    head:    d = φ 0, d + 1; br d < 2, body, exit     head.1:  br body.1
    body:    ... points[i, d] ...; br head            body.1:  ... points[i, 0] ...; br head.2
                                                      head.2:  br body.2
                                                      body.2:  ... points[i, 1] ...; br head
                                                      head:    br exit

Precondition: canonical form, loop-closed, without predicates, shadows and guards. Postcondition: valid, with no loop
left along a short row (`weft.analysis.loops.row_loops`) but those that the source does not let be unrolled; what has
become constant is to be folded. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.row_loops import RowLoop, row_loops
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.cfg_edit import remove_unreachable_blocks
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.loop_metadata import is_never_unrolled


def unroll_rows(function: Function) -> list[Instruction]:
    """Write out the loops along short rows, innermost ones together; what asked each of them for its end."""
    done: list[Instruction] = []
    while rows := [row for row in row_loops(function, cfg_of(function)) if _is_to_go(row)]:
        done += [row.counted.exiting.terminator for row in rows]
        write_out(function, [_rounds_of(row.counted, row.iterations or 0) for row in rows])
    return done


def _is_to_go(row: RowLoop) -> bool:
    return row.is_short and not is_never_unrolled(row.counted.latch.terminator)


def unroll(function: Function, loop: CountedLoop, iterations: int) -> None:
    """Write out the iterations of a loop, which has so many of them unless it is left early."""
    write_out(function, [_rounds_of(loop, iterations)])


class LoopRounds(Struct, frozen=True):
    """A loop whose rounds are known unless it is left early.

    Parameters
    ----------
    header, latch
        Where it begins, and the only block that goes back there.
    blocks
        All of them, the header first.
    exiting, exit
        Where it asks whether to go on, at its header or at its latch, and where it goes then.
    rounds
        How often the body runs.
    """

    header: BasicBlock
    latch: BasicBlock
    blocks: tuple[BasicBlock, ...]
    exiting: BasicBlock
    exit: BasicBlock
    rounds: int

    @property
    def top_tested(self) -> bool:
        """Whether the loop may run its body no time at all."""
        return self.exiting is self.header and self.header is not self.latch


def _rounds_of(loop: CountedLoop, rounds: int) -> LoopRounds:
    return LoopRounds(loop.header, loop.latch, loop.blocks, loop.exiting, loop.exit, rounds)


def write_out(function: Function, loops: Sequence[LoopRounds]) -> None:
    """Write out loops of which none is in another one."""
    for loop in loops:
        for _ in range(loop.rounds if loop.top_tested else loop.rounds - 1):
            _peel(function, loop)
        _settle(loop.exiting, loop.exit)
    remove_unreachable_blocks(function)
    for loop in loops:
        for phi in list(loop.header.phis()):
            phi.replace_all_uses(phi.incoming_value(phi.blocks[0]))
            phi.erase()


def _peel(function: Function, loop: LoopRounds) -> None:
    """Put a copy of the loop's blocks before it, which the first iteration runs."""
    (before,) = (source for source in loop.header.predecessors if source is not loop.latch)
    exits = {b: [s for s in b.successors if s not in loop.blocks] for b in loop.blocks}
    values: ValueMap = {}
    clone_blocks(loop.blocks, function, values)
    first, latch, exiting = (_copied(values, b) for b in (loop.header, loop.latch, loop.exiting))
    for phi in list(loop.header.phis()):
        copy = values[phi]
        assert isinstance(copy, Instruction)
        arriving, following = phi.incoming_value(before), phi.incoming_value(loop.latch)
        following = values.get(following, following)
        # What arrives may be a φ of this header, as its copy is replaced in turn.
        copy.replace_all_uses(arriving)
        values[phi] = arriving
        phi.remove_incoming(phi.blocks.index(before))
        phi.add_incoming(arriving if following is copy else following, latch)
        copy.erase()
    before.replace_successor(loop.header, first)
    latch.replace_successor(first, loop.header)
    for block, left in exits.items():
        for exit in left:
            if block is loop.exiting and exit is loop.exit:
                continue
            for phi in exit.phis():
                value = phi.incoming_value(block)
                phi.add_incoming(values.get(value, value), _copied(values, block))
    goes_on = next(b for b in exiting.successors if b is not loop.exit)
    _go(exiting, goes_on)


def _settle(exiting: BasicBlock, exit: BasicBlock) -> None:
    """Leave a loop where it was asked whether to."""
    for successor in exiting.successors:
        if successor is not exit:
            for phi in successor.phis():
                phi.remove_incoming(phi.blocks.index(exiting))
    _go(exiting, exit)


def _go(block: BasicBlock, target: BasicBlock) -> None:
    location = block.terminator.loc
    block.terminator.erase()
    builder = Builder(block)
    builder.loc = location
    builder.br(target)


def _copied(values: ValueMap, block: BasicBlock) -> BasicBlock:
    copy: Value = values[block]
    assert isinstance(copy, BasicBlock)
    return copy
