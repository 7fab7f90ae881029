"""What unrolled loops leave is made one block: sums of constants are constants, and blocks in a row are joined.

    a:  i = 0 + 1; br b         a:  x = load p[1]; ...
    b:  x = load p[i]; ...

What is near each other in memory is accessed together where it stands in one block (`weft.codegen.widen`).

Precondition: P-LLVM without predicates, shadows and guards. Postcondition: of the blocks given, none ends with a branch
to another one that no other leads to; none adds up constants. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Collection

from weft.ir import BasicBlock, ConstInt
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, replace_and_erase


def straighten(blocks: Collection[BasicBlock]) -> None:
    """Fold what has become constant in these blocks of a function, and join those that are in a row."""
    if not blocks:
        return
    function = next(iter(blocks)).function
    assert function is not None
    given = set(blocks)
    kept = [b for b in function.blocks if b in given]
    while sum(_fold_sums(block) for block in kept):
        pass
    for block in kept:
        if block in given:
            while (joined := _join_next(block, given)) is not None:
                given.discard(joined)
    remove_dead_instructions(function)


def _fold_sums(block: BasicBlock) -> int:
    """Replace the sums of constants in a block; how many there were."""
    found = 0
    for i in list(block.instructions):
        if i.op != "add":
            continue
        a, b = i.operands
        if isinstance(a, ConstInt) and isinstance(b, ConstInt):
            replace_and_erase(i, const_int(a.value + b.value, a.type))
            found += 1
    return found


def _join_next(block: BasicBlock, given: Collection[BasicBlock]) -> BasicBlock | None:
    """Join a block with the one behind it, if only it leads there; that block."""
    if len(block.successors) != 1 or block.terminator.op != "br":
        return None
    (following,) = block.successors
    if following not in given or following is block or len(following.edge_sources) != 1:
        return None
    function = block.function
    assert function is not None
    for phi in list(following.phis()):
        replace_and_erase(phi, phi.operands[0])
    block.terminator.erase()
    for i in list(following.instructions):
        i.detach()
        block.append(i)
    for successor in block.successors:
        successor.replace_phi_source(following, block)
    function.blocks.remove(following)
    return following
