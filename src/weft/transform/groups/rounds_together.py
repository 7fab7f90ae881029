"""Loops of a thread over far elements run a few rounds at a time for a whole work-group, between barriers of their own.

``for i in range(cuda.grid(1), n, cuda.gridsize(1)): total += values[i]`` in front of a barrier adds up a thread's
share: elements that are as far apart as the grid has threads. Between barriers a lane group runs to the end by itself;
so it reads a row of neighbours from every so many kilobytes, once through memory, and so does the next lane group. What
the machine has read ahead beside each row is gone when it is wanted. With barriers in the loop all lane groups of the
work-group do eight rounds, then the next eight, and read what lies side by side:

    loop:  φ i, total; br i < n, body, exit     front: φ i', total'; all = barrier.and(i' < n and 7·step < n - i')
    body:  ...; i += step; br loop                     br all, few, loop
                                                few:   eight rounds of the loop, as i < n holds in each; br front
                                                loop:  φ i, total from i', total'; as it was

Portable OpenCL puts barriers around the bodies of loops whose number of rounds is the same for all work-items
(Jääskeläinen et al., 2015, "horizontal inner-loop parallelization"); here threads may have numbers of rounds of their
own, as the barrier asks whether all have eight more.

Precondition: a kernel with barriers all of whose threads arrive at each of them together; ids are parameters
(`weft.transform.groups.work_items`). Postcondition: the same. What a thread does is the same, in its order; one more
barrier orders more of what different threads do. Preserves the program under FR and OBL.

Such a loop has no loop in it and is left from its header alone; all threads of the work-group come to it; its counter
grows by what depends on the size of the grid; and it loads from memory that is not the work-group's own what is side by
side for threads along x.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import SWAPPED
from weft.graph.loops import Loop, loop_forest
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.clone import ValueMap, clone_blocks
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.intrinsics import SHARED_SPACE, declare
from weft.ir.types import I32, IntType, PointerType
from weft.transform.groups.work_items import WorkItems
from weft.transform.loops.simplify_loops import simplify_loops

ROUNDS = 8
"""Rounds of a thread between two barriers. The sum of 2^24 floats by 2^16 threads on AMD's Zen 3 takes 11.0 ms without
barriers, 11.3, 7.8, 7.1 and 7.2 ms with 1, 4, 8 and 16 rounds, and 6.3 ms with 8 whose loads are asked for in the eight
before; as a loop 3.8 ms."""

LARGEST = 48
"""Instructions of a loop that waits for memory more than it computes."""

MOST_HANDED_ON = 4
"""Values that such a loop hands on: each goes to the work-group's memory and back for each eight rounds."""

GOES_ON = "goes on"
"""On the branch of a loop behind whose last round another one follows, later: what it loads then may be asked for."""

NEIGHBOURS = 16
"""Bytes between what threads side by side load, at most."""


class FarLoop(Struct, frozen=True):
    """A loop of this form.

    Parameters
    ----------
    header, before, latch, blocks
        The loop.
    counter, step
        What counts, and by what it grows.
    predicate, bound
        The loop goes on while ``counter predicate bound``.
    moved
        What is computed in the loop for step and bound, and can be before it.
    """

    header: BasicBlock
    before: BasicBlock
    latch: BasicBlock
    blocks: tuple[BasicBlock, ...]
    counter: Instruction
    step: Value
    predicate: str
    bound: Value
    moved: tuple[Instruction, ...]


def run_rounds_together(function: Function, group: Divergence) -> list[BasicBlock]:
    """Let such loops of a kernel run so; their headers.

    Parameters
    ----------
    group
        The analysis of the kernel for the threads of a work-group; it no longer holds where a loop was found.
    """
    view = cfg_of(function)
    found = [far for loop in loop_forest(view.cfg).loops if (far := _far_loop(view, loop, group)) is not None]
    for loop in found:
        _put_in_front(function, loop)
    if found:
        simplify_loops(function)
    return [loop.header for loop in found]


def _far_loop(view: CFGView, loop: Loop, group: Divergence) -> FarLoop | None:
    blocks = tuple(view.blocks[b] for b in loop.blocks)
    header = view.blocks[loop.header]
    if loop.children or len(loop.latches) != 1 or sum(len(b.instructions) for b in blocks) > LARGEST:
        return None
    if {view.blocks[source] for source, _ in loop.exit_edges} != {header}:
        return None
    before = [b for b in header.predecessors if b not in blocks]
    if len(before) != 1 or header.terminator.op != "br" or len(header.successors) != 2:
        return None
    if group.has_varying_predicate(before[0]) or group.has_varying_control(before[0]):
        return None
    found = _counting(header, before[0], view.blocks[loop.latches[0]], blocks)
    if found is None or len(list(header.phis())) > MOST_HANDED_ON:
        return None
    if any(is_convergent(i) for b in blocks for i in b.instructions):
        return None
    uniform = group.shape(found.step).is_uniform and group.shape(found.bound).is_uniform
    return found if uniform and _is_far(group.function, found.step) and _loads_rows(found, group) else None


def _counting(
    header: BasicBlock, before: BasicBlock, latch: BasicBlock, blocks: tuple[BasicBlock, ...]
) -> FarLoop | None:
    """The loop that goes on while a counter is below a bound, which it does not change."""
    test, ways = header.terminator.operands[0], header.terminator.blocks
    if not isinstance(test, Instruction) or test.op != "icmp" or ways[0] not in blocks or ways[1] in blocks:
        return None
    counter, bound, predicate = *test.operands, test.predicate
    if predicate in ("sgt", "ugt"):
        counter, bound, predicate = bound, counter, SWAPPED[predicate]
    is_counter = isinstance(counter, Instruction) and counter.is_phi and counter.block is header
    if predicate not in ("slt", "ult") or not is_counter:
        return None
    assert isinstance(counter, Instruction)
    following = counter.incoming_value(latch)
    if not isinstance(following, Instruction) or following.op != "add" or counter not in following.operands:
        return None
    step = following.operands[following.operands[0] is counter]
    moved: list[Instruction] = []
    if not all(_can_move(value, blocks, moved) for value in (step, bound)):
        return None
    return FarLoop(header, before, latch, blocks, counter, step, predicate, bound, tuple(moved))


def _can_move(value: Value, blocks: tuple[BasicBlock, ...], moved: list[Instruction]) -> bool:
    """Whether the value is known before the loop, or can be; what goes there for it is added in order."""
    if not isinstance(value, Instruction) or value.block not in blocks or value in moved:
        return True
    if not is_speculatable(value) or not all(_can_move(v, blocks, moved) for v in value.used_values()):
        return False
    moved.append(value)
    return True


def _is_far(kernel: Function, step: Value) -> bool:
    """Whether it grows with the number of work-groups."""
    groups = WorkItems.of(kernel).groups
    work, seen = [step], set[Value]()
    while work:
        value = work.pop()
        if value in groups:
            return True
        if isinstance(value, Instruction) and value not in seen and value.op != "load":
            seen.add(value)
            work.extend(value.operands)
    return False


def _loads_rows(loop: FarLoop, group: Divergence) -> bool:
    """Whether threads side by side load what is side by side, of what may be in no cache."""
    for load in (i for b in loop.blocks for i in b.instructions if i.op == "load"):
        assert isinstance(load.pointer.type, PointerType)
        stride = group.shape(load.pointer).stride
        is_near = isinstance(stride, int) and 0 < abs(stride) <= NEIGHBOURS
        if is_near and load.pointer.type.space != SHARED_SPACE:
            return True
    return False


def _put_in_front(function: Function, loop: FarLoop) -> None:
    header, before = loop.header, loop.before
    for instruction in loop.moved:
        assert instruction.block is not None
        instruction.block.instructions.remove(instruction)
        before.insert_before(before.terminator, instruction)
    values: ValueMap = {}
    clone_blocks(loop.blocks, function, values)
    few, latch = values[header], values[loop.latch]
    assert isinstance(few, BasicBlock) and isinstance(latch, BasicBlock)
    few.name = f"{header.name}.few"
    front = function.add_block(f"{header.name}.front", before)
    before.terminator.replace_operand(header, front)
    ahead = Builder(front)
    ahead.loc = header.terminator.loc
    handed: dict[Value, Instruction] = {}
    for phi in list(header.phis()):
        copy = values[phi]
        assert isinstance(copy, Instruction)
        here = handed[phi] = ahead.phi(phi.type, phi.name)
        here.add_incoming(phi.incoming_value(before), before)
        here.add_incoming(copy, few)
        for of in (phi, copy):
            of.remove_incoming(of.blocks.index(before))
            of.add_incoming(here, front)
    ahead.cond_br(_all_have_more(ahead, loop, handed[loop.counter]), few, header)
    branch = few.terminator
    branch.set_operand(0, _count_rounds(few, front, latch))
    branch.replace_operand(branch.blocks[1], front)
    branch.attrs[GOES_ON] = True


def _all_have_more(builder: Builder, loop: FarLoop, counter: Value) -> Value:
    """Whether all threads that arrive have so many rounds before them, none of which wraps around."""
    type = loop.counter.type
    assert isinstance(type, IntType)
    last = builder.binary("mul", loop.step, ConstInt(type, ROUNDS - 1))
    rises = builder.icmp("ult", loop.step, ConstInt(type, 1 << (type.bits - ROUNDS.bit_length())))
    more = builder.icmp(loop.predicate, counter, loop.bound)
    enough = builder.icmp("ult", last, builder.binary("sub", loop.bound, counter))
    wanted = builder.binary("and", builder.binary("and", more, enough), rises)
    module = builder.module
    found = builder.call(declare(module, "weft.barrier.and"), (wanted,))
    return builder.icmp("ne", found, ConstInt(I32, 0))


def _count_rounds(few: BasicBlock, front: BasicBlock, latch: BasicBlock) -> Value:
    """Count the rounds of the copy: whether another one follows."""
    at_head = Builder(few, few.instructions[0])
    rounds = at_head.phi(I32, "round")
    behind = Builder(before=latch.terminator)
    following = behind.binary("add", rounds, ConstInt(I32, 1), ("nuw", "nsw"))
    rounds.add_incoming(ConstInt(I32, 0), front)
    rounds.add_incoming(following, latch)
    return Builder(before=few.terminator).icmp("ult", rounds, ConstInt(I32, ROUNDS))
