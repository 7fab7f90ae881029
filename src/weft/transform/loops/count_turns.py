"""Parts of loops that come to run over some of their numbers alone: a counter of turns, and guards that hold."""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.loops.counted_loops import CountedLoop, Counter
from weft.analysis.loops.idle_guards import Guard
from weft.ir import FALSE, TRUE, BasicBlock, Builder, ConstInt, Instruction, Value
from weft.ir.builder import const_int


def count_turns(loop: CountedLoop, preheader: BasicBlock, count: Value, *, exact: bool = True) -> Instruction:
    """Give a loop that is tested at its top a counter from 0, which ends it after `count` turns.

    They are `exact` where there are less of them than its type has positive numbers.
    """
    type, header = loop.counter.type, loop.header
    turn = Builder(before=header.instructions[0]).phi(type, "turn")
    end = Builder(before=loop.latch.terminator)
    end.loc = loop.counter.following.loc
    following = end.binary("add", turn, const_int(1, type), ("nuw", "nsw") if exact else ("nuw",))
    turn.add_incoming(const_int(0, type), preheader)
    turn.add_incoming(following, loop.latch)
    branch = header.terminator
    test = Builder(before=branch)
    test.loc = branch.loc
    goes_on = branch.blocks[0] is not loop.exit
    asked = branch.operands[0]
    branch.set_operand(0, test.icmp("ult" if goes_on else "uge", turn, count))
    assert isinstance(asked, Instruction)
    asked.erase()
    return turn


def replace_counter(counter: Counter, number: Value) -> None:
    """Put a number into the place of a counter, which counts no more."""
    counter.phi.replace_all_uses(number)
    counter.phi.erase()
    counter.following.erase()


def hold_guards(loop: CountedLoop, guards: Iterable[Guard]) -> None:
    """Let guards be known, and those branches be none that would lead to the latch where they do not hold."""
    for guard in guards:
        guard.condition.replace_all_uses(TRUE if guard.holds else FALSE)
        guard.condition.erase()
    for block in loop.blocks:
        branch = block.terminator
        known = branch.operands[0] if branch.op == "br" and branch.operands else None
        if isinstance(known, ConstInt) and branch.blocks[1 if known.value else 0] is loop.latch:
            target = branch.blocks[0 if known.value else 1]
            b = Builder(before=branch)
            b.loc = branch.loc
            b.br(target)
            branch.erase()
