"""Trees in shared memory: rounds at half the distance of the round before, with a barrier in each.

    s = 128                                        # threads of a work-group add up 256 numbers
    while s > 0:
        if tx < s: sums[tx] += sums[tx + s]
        cuda.syncthreads()
        s //= 2

What is looked for is a loop around one barrier, before or behind the work of the round, to which all threads of the
work-group come. It is left at its head, where the distance is compared with a number; the distance is halved; threads
below it run a block in which each computes, of its own elements of one or several arrays and of those at the distance,
its own elements anew: of these and of what all threads have. Nothing of the loop is used behind it. Arrays are of the
work-group, or have a row for each row of its threads (`sums[ty, tx]`): then each of these has a tree of its own.

Precondition: a kernel whose ids are parameters (`weft.transform.groups.work_items`), in canonical form.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import SWAPPED
from weft.graph.loops import Loop, loop_forest
from weft.ir import Argument, BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.constants import Constant
from weft.ir.effects import is_convergent, is_speculatable
from weft.ir.intrinsics import SHARED_SPACE, IntrinsicKind, kind_of
from weft.ir.types import FloatType, IntType, PointerType, Type
from weft.transform.groups.shared_places import LONGEST, Places, is_cast_of
from weft.transform.groups.tile_fills import is_same_memory, root_of
from weft.transform.groups.work_items import WorkItems

LARGEST = 48
"""Instructions of the work of a round."""

_BITS = (32, 64)
"""Of elements that lanes read from each other."""


class Elements(Struct, frozen=True):
    """The elements of an array that threads have: ``base + offset + terms + step * thread``, in bytes.

    Terms are multiples of what all threads have, or those of a row, and what the loop does not change.
    """

    base: Argument
    offset: int
    terms: dict[Value, int]
    step: int
    type: Type
    align: int

    def is_at(self, other: Elements) -> bool:
        """Whether both are the same places."""
        same = self.base is other.base and self.terms == other.terms
        return same and (self.offset, self.step) == (other.offset, other.step)


class SharedTree(Struct, frozen=True):
    """A loop of this form.

    Parameters
    ----------
    before, header, blocks, exit
        The loop; it is left from its header alone.
    distance
        The distance of a round.
    first, halved
        The first one, or what is halved in front of it, by what.
    last
        The last one: a power of two.
    arrays
        The elements of each array.
    near, far
        Loads of a thread's own elements, and of those at the distance, by array.
    stored
        What becomes of the elements of each array.
    apart
        How many elements of an array are between the first ones of two rows of threads; 0 where all rows have the same.
    """

    before: BasicBlock
    header: BasicBlock
    blocks: tuple[BasicBlock, ...]
    exit: BasicBlock
    distance: Instruction
    first: Value
    halved: Instruction | None
    last: int
    arrays: tuple[Elements, ...]
    near: dict[Instruction, int]
    far: dict[Instruction, int]
    stored: tuple[Value, ...]
    apart: int


def shared_trees(function: Function, group: Divergence) -> list[SharedTree]:
    """Such loops of a kernel, of whose threads in a work-group `group` is the analysis."""
    view = cfg_of(function)
    found = (_tree(view, loop, group) for loop in loop_forest(view.cfg).loops)
    return [tree for tree in found if tree is not None]


def _tree(view: CFGView, loop: Loop, group: Divergence) -> SharedTree | None:
    header = view.blocks[loop.header]
    blocks = [view.blocks[b] for b in loop.blocks]
    before = [b for b in header.predecessors if b not in blocks]
    if loop.children or loop.is_irreducible or len(loop.latches) != 1 or len(before) != 1:
        return None
    if len(loop.exit_edges) != 1 or loop.exit_edges[0][0] != loop.header or len(before[0].successors) != 1:
        return None
    if group.has_varying_predicate(before[0]) or group.has_varying_control(before[0]):
        return None
    exit = view.blocks[loop.exit_edges[0][1]]
    phis = list(header.phis())
    if len(phis) != 1 or any(exit.phis()):
        return None
    (carried,) = phis
    items = WorkItems.of(group.function)
    first, following = (carried.incoming_value(b) for b in (before[0], view.blocks[loop.latches[0]]))
    if not isinstance(following, Instruction) or not _is_half(following, carried):
        return None
    # The source halves the distance behind a round, or a number in front of it.
    halved = following if following.block is header else None
    distance = halved or carried
    last = _last(header, distance, blocks)
    if last is None:
        return None
    if not group.shape(first).is_uniform:
        return None
    work = _work(blocks, header, distance, items)
    if work is None or not _is_bare(blocks, work):
        return None
    round = _Round(items, distance, blocks, group)
    apart = round.rows_apart() if round.read(work) else None
    if apart is None:
        return None
    return SharedTree(
        before[0], header, tuple(blocks), exit, distance, first, halved, last, tuple(round.arrays), round.near,
        round.far, tuple(round.stored[k] for k in range(len(round.arrays))), apart,
    )  # fmt: skip


def _is_half(value: Instruction, of: Instruction) -> bool:
    if len(value.operands) != 2 or value.operands[0] is not of:
        return False
    by = value.operands[1]
    wanted = {"lshr": 1, "ashr": 1, "udiv": 2, "sdiv": 2}.get(value.op)
    return wanted is not None and isinstance(by, ConstInt) and by.value == wanted


def _last(header: BasicBlock, distance: Instruction, blocks: Sequence[BasicBlock]) -> int | None:
    """The shortest distance of a power of two with which there is a round."""
    branch = header.terminator
    if branch.op != "br" or len(branch.blocks) != 2:
        return None
    test = branch.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp" or not is_cast_of(test.operands[0], distance):
        return None
    bound, goes_on = test.operands[1], branch.blocks[0] in blocks
    if not isinstance(bound, ConstInt) or bound.signed < 0:
        return None
    compare = _COMPARED.get(test.predicate)
    if compare is None:
        return None
    distances = [0, *(1 << k for k in range(LONGEST.bit_length()))]
    stays = [compare(d, bound.signed) == goes_on for d in distances]
    if stays[0] or not stays[-1] or stays != sorted(stays):
        return None
    return distances[stays.index(True)]


_COMPARED = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    **dict.fromkeys(("ult", "slt"), int.__lt__),
    **dict.fromkeys(("ule", "sle"), int.__le__),
    **dict.fromkeys(("ugt", "sgt"), int.__gt__),
    **dict.fromkeys(("uge", "sge"), int.__ge__),
}


def _work(
    blocks: Sequence[BasicBlock], header: BasicBlock, distance: Instruction, items: WorkItems
) -> BasicBlock | None:
    """What threads below the distance run."""
    branches = [b for b in blocks if b is not header and len(b.successors) > 1]
    if len(branches) != 1 or branches[0].terminator.op != "br":
        return None
    branch = branches[0].terminator
    test = branch.operands[0]
    if not isinstance(test, Instruction) or test.op != "icmp":
        return None
    (a, b), predicate = test.operands, test.predicate
    if is_cast_of(b, items.tid[0]):
        a, b, predicate = b, a, SWAPPED[predicate]
    then, after = branch.blocks
    if predicate in ("uge", "sge"):
        then, after = after, then
    if (
        predicate not in ("ult", "slt", "uge", "sge")
        or not is_cast_of(a, items.tid[0])
        or not is_cast_of(b, distance)
    ):
        return None
    return then if then.predecessors == [branches[0]] and then.successors == [after] else None


def _is_bare(blocks: Sequence[BasicBlock], work: BasicBlock) -> bool:
    """Whether there is one barrier beside the work, and nothing else that matters, nor is used behind the loop."""
    barriers = 0
    for block in blocks:
        for i in block.instructions:
            if any(user.block not in blocks for user in i.instruction_users()):
                return False
            if block is work or i.is_phi or i.is_terminator:
                continue
            if kind_of(i.callee_name) is IntrinsicKind.BARRIER:
                barriers += 1
                if i.callee_name != "weft.barrier":
                    return False
            elif is_convergent(i) or not is_speculatable(i):
                return False
    return barriers == 1 and len(work.instructions) <= LARGEST


class _Round:
    """Reads the work of a round."""

    def __init__(
        self, items: WorkItems, distance: Instruction, blocks: Sequence[BasicBlock], group: Divergence
    ) -> None:
        self.items, self.distance, self.blocks, self.group = items, distance, blocks, group
        self.arrays: list[Elements] = []
        self.near: dict[Instruction, int] = {}
        self.far: dict[Instruction, int] = {}
        self.stored: dict[int, Value] = {}
        self._pointers: list[Value] = []

    def read(self, work: BasicBlock) -> bool:
        """Find the arrays, and what becomes of their elements; whether it is as it has to be."""
        for i in work.instructions:
            if i.op in ("load", "store"):
                if not i.is_plain_access or not self._accesses(i):
                    return False
            elif not i.is_terminator and (i.is_phi or is_convergent(i) or not is_speculatable(i)):
                return False
        every = range(len(self.arrays))
        complete = all(k in self.near.values() and k in self.far.values() and k in self.stored for k in every)
        return bool(self.arrays) and complete and self._are_apart() and self._are_of_elements()

    def _accesses(self, access: Instruction) -> bool:
        type = access.operands[0].type if access.op == "store" else access.type
        found = self._elements(access, type)
        if found is None:
            return False
        elements, is_far = found
        number = next((k for k, other in enumerate(self.arrays) if other.is_at(elements)), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(elements)
            self._pointers.append(access.pointer)
        if self.arrays[number].type != type:
            return False
        if access.op == "store":
            self.stored[number] = access.operands[0]
            return not is_far
        (self.far if is_far else self.near)[access] = number
        # What is loaded behind a store may be what it has stored.
        return number not in self.stored

    def _elements(self, access: Instruction, type: Type) -> tuple[Elements, bool] | None:
        bits = type.bits if isinstance(type, (IntType, FloatType)) else 0
        pointer = access.pointer.type
        if bits not in _BITS or not isinstance(pointer, PointerType) or pointer.space != SHARED_SPACE:
            return None
        places = Places(self.items, self._is_of_all, self.distance)
        found = places.of(access.pointer, self.group.function.layout)
        if found is None:
            return None
        base, form = found
        offset, step, far_step = (form.pop(v, 0) for v in (None, self.items.tid[0], self.distance))
        if step < bits // 8 or far_step not in (0, step):
            return None
        terms = {value: factor for value, factor in form.items() if value is not None and factor}
        align = int(access.attrs.get("align") or 1)
        return Elements(base, offset, terms, step, type, align), far_step != 0

    def rows_apart(self) -> int | None:
        """`SharedTree.apart`; None where rows of several arrays may be in each other."""
        row = self.items.tid[1]
        found = [divmod(array.terms.get(row, 0), array.step) for array in self.arrays]
        if any(elements < 0 or (rest and len(found) > 1) for elements, rest in found):
            return None
        least = min(elements for elements, _ in found)
        return least if least or not any(row in array.terms for array in self.arrays) else None

    def _is_of_all(self, value: Value) -> bool:
        """Whether all threads have it, before the loop."""
        outside = not isinstance(value, Instruction) or value.block not in self.blocks
        return outside and self.group.shape(value).is_uniform

    def _are_apart(self) -> bool:
        """Whether no element of an array is one of another."""
        for k, (one, at) in enumerate(zip(self.arrays, self._pointers, strict=True)):
            for other, there in zip(self.arrays[:k], self._pointers[:k], strict=True):
                root, beside = root_of(at), root_of(there)
                if root is not None and beside is not None and not is_same_memory(root, beside):
                    continue
                if one.base is not other.base or one.terms != other.terms or one.step != other.step:
                    return False
                behind = (one.offset - other.offset) % one.step
                if behind < _bytes(other.type) or one.step - behind < _bytes(one.type):
                    return False
        return True

    def _are_of_elements(self) -> bool:
        """Whether what is stored is computed of elements, and of what all threads have."""
        work, seen = list(self.stored.values()), set[Value]()
        while work:
            value = work.pop()
            if value in seen or isinstance(value, Constant) or value is self.distance:
                continue
            seen.add(value)
            if isinstance(value, Instruction) and value.block in self.blocks:
                # What is halved is no multiple of the distance, where it has been odd.
                if value.is_phi:
                    return False
                work += value.operands if value not in self.near and value not in self.far else ()
            elif not self._is_of_all(value):
                return False
        return True


def _bytes(type: Type) -> int:
    assert isinstance(type, (IntType, FloatType))
    return type.bits // 8
