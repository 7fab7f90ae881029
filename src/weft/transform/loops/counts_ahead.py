"""Loops in order that compute before they begin how often they run, and count so.

    for i in s .. e: body(i)           →           n = s < e ? e - s : 0
                                                   for k in 0 .. n: body(s + k)

LLVM unrolls a loop if the number of its iterations costs next to nothing. In a loop around it ``e`` and ``s`` are sums
that grow from one iteration to the next, and so is, as LLVM sees it, the difference: a sum of its own, which it would
have to form by multiplications. It does without where the difference is there already. Short loops, such as the
increments of a histogram, wait for their jumps otherwise.

That goes for loops whose first number is computed of counters and parameters. LLVM forms differences of what is loaded,
or constant.

Precondition: plain code of one thread. Postcondition: such innermost loops count from 0 to what was computed before
them. Preserves the program under FR and OBL: what iterations see is the same number, with flags that the steps had.
"""

from __future__ import annotations

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import loop_forest
from weft.ir import Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.slices import slice_of
from weft.ir.types import VectorType

LARGEST = 16
"""Instructions of a loop that LLVM unrolls."""

_COMPUTED = frozenset(("add", "icmp", "sub", "mul", "shl", "or", "select", "sext", "zext", "trunc"))
_CHOSEN = ("llvm.umin.", "llvm.umax.", "llvm.smin.", "llvm.smax.")


def count_ahead(function: Function) -> int:
    """Let loops count so; how many."""
    view = cfg_of(function)
    found = 0
    for loop in loop_forest(view.cfg).loops:
        if loop.children:
            continue
        counted = counted_loop(view, loop)
        if isinstance(counted, CountedLoop) and _is_wanted(counted):
            _count_from_zero(counted)
            found += 1
    if found:
        remove_dead_instructions(function)
    return found


def _is_wanted(loop: CountedLoop) -> bool:
    counter = loop.counter
    if (
        not loop.top_tested
        or loop.tests_next
        or counter.step != 1
        or loop.predicate not in ("slt", "ult", "ne")
    ):
        return False
    if not _is_computed(counter.start):
        return False
    inside = [i for block in loop.blocks for i in block.instructions]
    if len(inside) > LARGEST or any(isinstance(i.type, VectorType) for i in inside):
        return False
    # What calls cost does not shrink with the jumps.
    return not any(i.op == "call" and (i.callee_name or "")[:5] != "llvm." for i in inside)


def _is_computed(value: Value) -> bool:
    """Whether a number is one that may grow from one iteration to the next of a loop around."""

    def is_made(part: Instruction) -> bool:
        return part.op in _COMPUTED or (part.callee_name or "").startswith(_CHOSEN)

    if not isinstance(value, Instruction) or not is_made(value):
        return False
    parts = slice_of(value, is_made)
    return all(part.is_phi or is_made(part) for part in parts if isinstance(part, Instruction))


def _count_from_zero(loop: CountedLoop) -> None:
    counter, header, type = loop.counter, loop.header, loop.counter.type
    phi, following = counter.phi, counter.following
    before = Builder(before=loop.preheader.terminator)
    before.loc = following.loc
    count: Value = before.binary("sub", loop.bound, counter.start)
    if loop.predicate != "ne":
        runs = before.icmp(loop.predicate, counter.start, loop.bound)
        count = before.select(runs, count, ConstInt(type, 0))
    number = Instruction("phi", type, loc=phi.loc)
    header.insert(0, number)
    begin = Builder.after_phis(header)
    begin.loc = following.loc
    # Steps that wrap around neither way lead no further than half of all numbers.
    flags = following.flags if set(following.flags) >= {"nuw", "nsw"} else ()
    value = begin.binary("add", counter.start, number, flags)
    branch = header.terminator
    branch.set_operand(0, begin.icmp("ult" if branch.blocks[1] is loop.exit else "uge", number, count))
    behind = Builder(before=loop.latch.terminator)
    behind.loc = following.loc
    number.add_incoming(ConstInt(type, 0), loop.preheader)
    number.add_incoming(behind.binary("add", number, ConstInt(type, 1), ("nuw",)), loop.latch)
    phi.replace_all_uses(value)
    phi.drop_operands()
    phi.erase()
