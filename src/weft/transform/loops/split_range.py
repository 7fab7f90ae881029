"""A loop becomes one over its first iterations, one iteration, and a loop over the rest (index-set splitting, peeling).

    for i in a..b: body        for i in a..p: body;  body(p);  for i in p+1..b: body

Precondition: a loop-closed function; `can_be_split` says that the loop is tested at its top and that its header does
nothing else; the caller knows that p is one of its iterations. Postcondition: iterations are as they were, and in their
order. Values that loops leave behind need φs (`close_loops`). Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import INVERTED
from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.clone import ValueMap, clone_blocks

_STRICT = {
    "slt": "slt", "sle": "slt", "sgt": "sgt", "sge": "sgt", "ult": "ult", "ule": "ult", "ugt": "ugt", "uge": "ugt",
    "ne": "ne",
}  # fmt: skip
"""The test by which a loop ends before a number that it comes to."""


def can_be_split(loop: CountedLoop) -> bool:
    """Whether a loop's header counts and tests, and nothing else, and only its φs are used behind the loop."""
    if not loop.top_tested or loop.tests_next or abs(loop.counter.step) != 1:
        return False
    header, own = loop.header, set(loop.blocks)
    branch = header.terminator
    test = branch.operands[0]
    if [i for i in header.non_phis() if i is not loop.counter.following] != [test, branch]:
        return False
    if not isinstance(test, Instruction) or list(test.instruction_users()) != [branch]:
        return False
    phis = list(header.phis())
    return all(
        i in phis or all(u.block in own for u in i.instruction_users())
        for b in loop.blocks
        for i in b.instructions
    )


def split_range(
    function: Function, loop: CountedLoop, value: Value | None, offset: int
) -> tuple[BasicBlock, BasicBlock]:
    """Split a loop at the iteration in which its counter is ``value + offset``; the headers of the two loops.

    Parameters
    ----------
    value
        Known before the loop; None for a number, which is `offset`.
    """
    counter, header, latch = loop.counter, loop.header, loop.latch
    before = Builder(before=loop.preheader.terminator)
    before.loc = counter.following.loc
    point: Value = const_int(offset, counter.type)
    if value is not None:
        flags = ("nsw",) if loop.predicate.startswith("s") else ()
        point = value if offset == 0 else before.binary("add", value, point, flags)
    one, rest = _copy(function, loop, "one"), _copy(function, loop, "behind")
    # The one iteration, with what the iterations before it hand on.
    for phi in header.phis():
        mine = one[phi]
        assert isinstance(mine, Instruction)
        one[phi] = point if phi is counter.phi else phi
        mine.replace_all_uses(one[phi])
        mine.erase()
    branch = _block(one, header).terminator
    begin = Builder(before=branch)
    begin.loc = branch.loc
    begin.br(_block(one, next(b for b in header.successors if b is not loop.exit)))
    branch.erase()
    _block(one, latch).replace_successor(_block(one, header), _block(rest, header))
    # The iterations behind it.
    for phi in header.phis():
        mine = rest[phi]
        assert isinstance(mine, Instruction)
        for index, source in enumerate(mine.blocks):
            if source is loop.preheader:
                last = phi.incoming_value(latch)
                mine.set_operand(index, one.get(last, last))
                mine.set_block(index, _block(one, latch))
    for phi in loop.exit.phis():
        for index, source in enumerate(phi.blocks):
            if source is header:
                left = phi.operands[index]
                phi.set_operand(index, rest.get(left, left))
                phi.set_block(index, _block(rest, header))
    # The iterations before it.
    header.replace_successor(loop.exit, _block(one, header))
    test = Builder(before=header.terminator)
    test.loc = header.terminator.loc
    strict = _STRICT[loop.predicate]
    leaves_if_true = header.terminator.blocks[0] not in loop.blocks
    old = header.terminator.operands[0]
    assert isinstance(old, Instruction)
    header.terminator.set_operand(
        0, test.icmp(INVERTED[strict] if leaves_if_true else strict, counter.phi, point)
    )
    old.erase()
    return header, _block(rest, header)


def _copy(function: Function, loop: CountedLoop, name: str) -> ValueMap:
    copies: ValueMap = {}
    for block in clone_blocks(loop.blocks, function, copies):
        # Loops are known by the names of their headers.
        block.name = f"{block.name}.{name}"
    return copies


def _block(copies: ValueMap, original: BasicBlock) -> BasicBlock:
    found = copies[original]
    assert isinstance(found, BasicBlock)
    return found
