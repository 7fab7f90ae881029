"""A loop becomes one over tiles of its iterations, and one over the iterations of a tile (strip-mining).

    for k in a..b: body        for t in a..b by T: for k in t..min(t + T, b): body

Precondition: `can_be_tiled` says that the loop counts up by 1, is tested at its top, that its header does nothing else,
and that nothing of it is used behind it; the caller knows that T more than the bound is a number of 64 bits with a
sign, and that no number is negative that is read without one.
Postcondition: the loop's header and latch are those of the inner loop; iterations are as they were, and in their order.
Preserves the program under FR.
"""

from __future__ import annotations

from weft.analysis.integers.intervals import INVERTED
from weft.analysis.loops.counted_loops import CountedLoop
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.intrinsics import PURE
from weft.ir.types import I64, FunctionType, IntType

_EXTENSION = {"slt": "sext", "ult": "zext"}


def can_be_tiled(loop: CountedLoop) -> bool:
    """Whether a loop goes up by 1 to below a bound, and does nothing else."""
    return loop.predicate in _EXTENSION and goes_up(loop)


def goes_up(loop: CountedLoop, *, carries: bool = False) -> bool:
    """Whether a loop's header counts up by 1 and tests, and nothing else, and nothing of it is used behind it.

    With `carries` it may hand on other values, which are used behind it, too.
    """
    counter, header, own = loop.counter, loop.header, set(loop.blocks)
    if not loop.top_tested or loop.tests_next or counter.step != 1:
        return False
    branch = header.terminator
    test = branch.operands[0]
    if [i for i in header.non_phis() if i is not counter.following] != [test, branch]:
        return False
    if not isinstance(test, Instruction) or list(test.instruction_users()) != [branch]:
        return False
    if counter.type.bits > I64.bits:
        return False
    if carries:
        return True
    return list(header.phis()) == [counter.phi] and all(
        u.block in own for b in loop.blocks for i in b.instructions for u in i.instruction_users()
    )


def tile_loop(function: Function, loop: CountedLoop, size: int, before: BasicBlock) -> BasicBlock:
    """Put a loop over tiles around a loop; its header.

    Parameters
    ----------
    size
        Iterations of a tile.
    before
        Where the loop's first number and its bound are made numbers of 64 bits; it comes before the loop.
    """
    counter, header = loop.counter, loop.header
    make = Builder(before=before.terminator)
    make.loc = counter.following.loc
    start, bound = (_extended(make, value, loop.predicate) for value in (counter.start, loop.bound))
    tiles = function.add_block(f"{header.name}.tiles", loop.preheader)
    tile = function.add_block(f"{header.name}.tile", tiles)
    latch = function.add_block(f"{header.name}.next", loop.latch)
    build = Builder(tiles)
    build.loc = header.terminator.loc
    phi = build.phi(I64, name=f"{counter.phi.name}.tile")
    build.cond_br(build.icmp("slt", phi, bound), tile, loop.exit)
    build.at_end(tile)
    following = build.binary("add", phi, const_int(size), ("nsw",))
    least = build.module.declare("llvm.smin.i64", FunctionType(I64, (I64, I64)), PURE)
    first, end = (_narrowed(build, v, counter.type) for v in (phi, build.call(least, (following, bound))))
    build.br(header)
    build.at_end(latch)
    build.br(tiles)
    phi.add_incoming(start, loop.preheader)
    phi.add_incoming(following, latch)
    # The loop runs over a tile.
    loop.preheader.replace_successor(header, tiles)
    for index, source in enumerate(counter.phi.blocks):
        if source is loop.preheader:
            counter.phi.set_operand(index, first)
            counter.phi.set_block(index, tile)
    branch = header.terminator
    test = branch.operands[0]
    assert isinstance(test, Instruction)
    leaves_if_true = branch.blocks[0] is loop.exit
    inner = Builder(before=branch)
    inner.loc = branch.loc
    predicate = INVERTED[loop.predicate] if leaves_if_true else loop.predicate
    branch.set_operand(0, inner.icmp(predicate, counter.phi, end))
    test.erase()
    header.replace_successor(loop.exit, latch)
    loop.exit.replace_phi_source(header, tiles)
    return tiles


def _extended(build: Builder, value: Value, predicate: str) -> Value:
    return value if value.type == I64 else build.cast(_EXTENSION[predicate], value, I64)


def _narrowed(build: Builder, value: Value, type: IntType) -> Value:
    return value if type == I64 else build.cast("trunc", value, type)
