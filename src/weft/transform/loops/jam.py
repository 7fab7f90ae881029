"""Several iterations of a loop over loops are done together, round by round of the loops inside (unroll and jam).

    for i in a..b:               for i in a..b - U + 1 by U:
        A(i)                         A(i); A(i + 1); ...
        for j: B(i, j)               for j: B(i, j); B(i + 1, j); ...
                                 for i in i..b: (A(i); for j: B(i, j))

Sums that are added up in order wait for one another's additions; those of several iterations do not, and what all of
them read is read once.

Precondition: a loop-closed function; `jammable` says that the loop goes up by 1 from a number that is not negative, and
holds nothing but blocks one behind the other and loops of one block, whose numbers of rounds do not depend on it. The
caller knows that no dependence turns around (`weft.analysis.sequential.orders.Together`). Postcondition: the loop does
U iterations at a time; a copy behind it does those that are left. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_view import CFGView
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import is_speculatable, may_read, may_trap, may_write
from weft.ir.intrinsics import PURE
from weft.ir.types import FunctionType
from weft.transform.loops.tile_loop import goes_up

_LEAVES = {"slt": "sge", "sle": "sgt", "ult": "uge"}
"""By which tests a loop goes on, and leaves."""


class Jammable(Struct, frozen=True):
    """A loop of which several iterations can be done together.

    Parameters
    ----------
    loop
        How it counts.
    inside
        The loops in it.
    blocks
        All blocks but its header, in order.
    """

    loop: CountedLoop
    inside: tuple[CountedLoop, ...]
    blocks: tuple[BasicBlock, ...]


def jammable(view: CFGView, loop: Loop) -> Jammable | None:
    """A loop over loops of one block, with no other control flow; None for any other."""
    counted = counted_loop(view, loop)
    if isinstance(counted, str) or counted.predicate not in _LEAVES or not goes_up(counted):
        return None
    start = counted.counter.start
    if not isinstance(start, ConstInt) or start.signed < 0 or not loop.children:
        return None
    return blocks_in_order(view, loop, counted, set(counted.blocks))


def blocks_in_order(
    view: CFGView,
    loop: Loop,
    counted: CountedLoop,
    varying: Collection[BasicBlock],
    known: Value | None = None,
) -> Jammable | None:
    """The blocks of a loop, if they are no others than those of loops of one block, and blocks between these.

    How often loops inside run does not depend on what blocks in `varying` compute, but for `known`.
    """
    headed = {view.blocks[c.header]: c for c in loop.children}
    own = set(counted.blocks)
    inside: list[CountedLoop] = []
    blocks: list[BasicBlock] = []
    block = next(b for b in counted.header.successors if b in own)
    while block is not counted.header:
        blocks.append(block)
        if block not in headed:
            if len(block.successors) != 1:
                return None
            block = block.successors[0]
            continue
        inner = counted_loop(view, headed[block])
        if isinstance(inner, str) or not _is_one_block(inner, varying, known):
            return None
        inside.append(inner)
        blocks.append(inner.latch)
        block = inner.exit
    if len(blocks) + 1 != len(own) or any(is_other_effect(i) for b in blocks for i in b.instructions):
        return None
    return Jammable(counted, tuple(inside), tuple(blocks))


def _is_one_block(loop: CountedLoop, around: Collection[BasicBlock], known: Value | None) -> bool:
    """Whether a loop's header only tests and hands on, its body is one block, and its ends are known before."""
    if not loop.top_tested or loop.tests_next or len(loop.blocks) != 2:
        return False
    ends = [v for v in (loop.counter.start, loop.bound) if v is not known]
    if any(isinstance(v, Instruction) and v.block in around for v in ends):
        return False
    branch = loop.header.terminator
    test = branch.operands[0]
    return [i for i in loop.header.non_phis() if i is not loop.counter.following] == [test, branch] and (
        isinstance(test, Instruction) and list(test.instruction_users()) == [branch]
    )


def is_other_effect(instruction: Instruction) -> bool:
    """Whether an instruction does more than compute, load or store."""
    if instruction.is_plain_access:
        return False
    return may_read(instruction) or may_write(instruction) or may_trap(instruction)


def jam(function: Function, found: Jammable, count: int) -> BasicBlock:
    """Do so many iterations of a loop together; the header of the copy that does those that are left."""
    loop = found.loop
    counter, header, type = loop.counter, loop.header, loop.counter.type
    copies: ValueMap = {}
    for block in clone_blocks(loop.blocks, function, copies):
        # Loops are known by the names of their headers.
        block.name = f"{block.name}.left"
    left = copies[header]
    own_phi = copies[counter.phi]
    assert isinstance(left, BasicBlock) and isinstance(own_phi, Instruction)
    before = Builder(before=loop.preheader.terminator)
    before.loc = header.terminator.loc
    # Where the bound is below it, there is nothing to do together.
    signed = loop.predicate != "ult"
    least, name = (0, "smax") if signed else (count - 1, "umax")
    flags = ("nsw",) if signed else ("nuw",)
    declared = before.module.declare(f"llvm.{name}.i{type.bits}", FunctionType(type, (type, type)), PURE)
    most = before.call(declared, (loop.bound, const_int(least, type)))
    limit = before.binary("sub", most, const_int(count - 1, type), flags)
    test = header.terminator.operands[0]
    assert isinstance(test, Instruction)
    again = Builder(before=header.terminator)
    again.loc = header.terminator.loc
    leaves_if_true = header.terminator.blocks[0] is loop.exit
    predicate = _LEAVES[loop.predicate] if leaves_if_true else loop.predicate
    header.terminator.set_operand(0, again.icmp(predicate, counter.phi, limit))
    test.erase()
    header.replace_successor(loop.exit, left)
    for index, source in enumerate(own_phi.blocks):
        if source is loop.preheader:
            own_phi.set_operand(index, counter.phi)
            own_phi.set_block(index, header)
    loop.exit.replace_phi_source(header, left)
    _do_together(found, count)
    end = Builder(before=loop.latch.terminator)
    end.loc = counter.following.loc
    following = end.binary("add", counter.phi, const_int(count, type), flags)
    for index, source in enumerate(counter.phi.blocks):
        if source is loop.latch:
            counter.phi.set_operand(index, following)
    if not counter.following.users:
        counter.following.erase()
    return left


def _do_together(found: Jammable, count: int) -> None:
    """Put what the next iterations do behind what the first one does, block by block."""
    loop = found.loop
    counter, first = loop.counter, found.blocks[0]

    def of_row(number: int) -> dict[Value, Value]:
        begin = Builder(before=first.terminator)
        begin.loc = counter.following.loc
        flags = ("nuw",) if loop.predicate == "ult" else ("nsw",)
        own = begin.binary("add", counter.phi, const_int(number, counter.type), flags)
        values: dict[Value, Value] = {counter.phi: own}
        if counter.following.block is loop.header:
            values[counter.following] = _copied(counter.following, values, first)
        return values

    shared = {i for inner in found.inside for i in counting(inner)}
    repeat_blocks(found.blocks, shared, count, of_row)


def counting(loop: CountedLoop) -> list[Instruction]:
    """What a loop counts and tests with."""
    test = loop.header.terminator.operands[0]
    assert isinstance(test, Instruction)
    return [loop.counter.phi, loop.counter.following, test]


def repeat_blocks(
    blocks: Sequence[BasicBlock],
    shared: Collection[Instruction],
    count: int,
    of_row: Callable[[int], dict[Value, Value]],
) -> None:
    """Put what other rows do behind what the first one does, block by block.

    Parameters
    ----------
    shared
        Instructions that are there once for all rows.
    of_row
        What takes the place of the first row's values in another one, by its number.
    """
    original = {block: list(block.instructions[:-1]) for block in blocks}
    for number in range(1, count):
        values = of_row(number)
        phis: list[tuple[Instruction, Instruction]] = []
        for block in blocks:
            for instruction in original[block]:
                if instruction in shared or _is_same(instruction, values):
                    continue
                values[instruction] = made = _copied(instruction, values, block)
                if instruction.is_phi:
                    phis.append((instruction, made))
        for phi, made in phis:
            for index, value in enumerate(phi.operands):
                made.set_operand(index, values.get(value, value))


def _is_same(instruction: Instruction, values: dict[Value, Value]) -> bool:
    """Whether an instruction gives all iterations the same."""
    return (
        not instruction.is_phi
        and is_speculatable(instruction)
        and not any(v in values for v in instruction.operands)
    )


def _copied(instruction: Instruction, values: dict[Value, Value], block: BasicBlock) -> Instruction:
    made = instruction.clone()
    made.debug_records = []
    for index, value in enumerate(made.operands):
        made.set_operand(index, values.get(value, value))
    if instruction.is_phi:
        block.insert(0, made)
    else:
        block.insert_before(block.terminator, made)
    return made
