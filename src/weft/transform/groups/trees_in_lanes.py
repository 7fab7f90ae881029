"""Trees in shared memory run in the first lane group of a work-group, their last rounds in registers.

    while s > 0:                                    if first lane group:        # 32 lanes, s = 64
        if tx < s: sums[tx] += sums[tx + s]             sums[0 + lane] += sums[64 + lane]
        barrier                             ==>         sums[32 + lane] += sums[96 + lane]
        s //= 2                                         v = sums[lane] + sums[32 + lane]
                                                        v += lane + 16 of v; v += lane + 8 of v; ...
                                                        sums[lane] = v, in lanes below the distances
                                                    barrier

A round of such a tree (`weft.transform.groups.shared_trees`) is a handful of instructions, and shorter than what there
is around a barrier: a loop over lane groups of which most have nothing to do, the distance in memory, and in short
rounds loads of a register of which a part was stored just before. In the first lane group alone no round waits for
another one: at distances of the lanes and more each lane accesses only elements that it stores itself, as these are
multiples of the lanes; and at shorter ones all that is accessed is in one register, of which lanes read others. Each
operation is done with the same numbers, in the same order, and memory is in the end what it was.

That is so in work-groups of one row with as many threads as the first distance, and as lanes, where that distance is a
power of two; what is not known is asked, and the loop as it was is there for others. The tree has a barrier before it
and one behind it, but where no access needs one. Where arrays have a row for each row of threads, there may be several
of these: in each the first lane group does so with its own.

Precondition: a kernel with barriers all of whose threads arrive at each of them together, to be run in lane groups of
threads along x; ids are parameters, canonical form. Postcondition: the same, loop-simplified. Preserves the program
under FR and OBL, but for races.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.analysis.divergence import Divergence
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.branch_weights import OFTEN, weigh
from weft.ir.cfg_edit import remove_dead_instructions, remove_unreachable_blocks
from weft.ir.effects import may_read, may_write
from weft.ir.intrinsics import SHARED_SPACE, declare
from weft.ir.types import I8, I32, I64, FloatType, IntType, PointerType, Type, int_type
from weft.transform.groups.shared_places import Places, is_cast_of
from weft.transform.groups.shared_trees import Elements, SharedTree, shared_trees
from weft.transform.groups.tile_fills import root_of, until_barrier
from weft.transform.groups.work_items import WorkItems
from weft.transform.loops.simplify_loops import simplify_loops

MOST_WRITTEN = 32
"""Steps of all lanes at distances of the lanes and more that are written out."""


def run_trees_in_lanes(function: Function, group: Divergence, lanes: int, alone: bool) -> list[SharedTree]:
    """Let such loops of a kernel run so; these.

    Parameters
    ----------
    group
        The analysis of the kernel for the threads of a work-group; it no longer holds where a loop was found.
    lanes
        Threads of a lane group, a power of two.
    alone
        Whether the work-group is one lane group.
    """
    found = [tree for tree in shared_trees(function, group) if _is_worthwhile(tree, lanes)]
    for tree in found:
        _Writer(function, tree, lanes, alone).write()
    if found:
        remove_unreachable_blocks(function)
        simplify_loops(function)
        remove_dead_instructions(function)
    return found


def _is_worthwhile(tree: SharedTree, lanes: int) -> bool:
    """Whether its distances may be such: a first one that is known has to be a power of two, and to fill the lanes."""
    if not isinstance(tree.first, ConstInt):
        return True
    first = tree.first.signed >> (tree.halved is not None)
    if tree.apart and 2 * first > tree.apart:
        return False
    return first >= max(tree.last, lanes // 2) and first & (first - 1) == 0


class _Writer:
    """Writes a tree for lanes."""

    def __init__(self, function: Function, tree: SharedTree, lanes: int, alone: bool) -> None:
        self.function, self.tree, self.lanes, self.alone = function, tree, lanes, alone
        self.items = WorkItems.of(function)
        self.builder = Builder(before=tree.before.terminator)
        self.builder.loc = tree.header.terminator.loc
        self.lane: Value = tree.distance
        self.number: Value = tree.distance
        self.first = self._first()

    def write(self) -> None:
        """Put the tree in front of the loop."""
        tree, builder = self.tree, self.builder
        asked = self._is_such_a_group()
        name = tree.header.name
        front, inside, behind = (self.function.add_block(f"{name}.{n}") for n in ("tree", "lanes", "done"))
        tree.before.terminator.erase()
        builder.at_end(tree.before)
        weigh(builder.cond_br(asked, front, tree.header), OFTEN, 1)

        builder.at_end(front)
        barrier = declare(builder.module, "weft.barrier")
        if any(may_read(i) or may_write(i) for i in until_barrier(tree.before, backward=True)):
            builder.call(barrier, ())
        self.lane = builder.call(declare(builder.module, "weft.lane.id"), ())
        self.number = builder.cast("zext", self.lane, I64)
        if self.alone:
            builder.br(inside)
        else:
            # The same for all lanes, as their numbers rise as those of the threads do.
            ahead = builder.binary("sub", self.items.tid[0], self.number)
            builder.cond_br(builder.icmp("eq", ahead, ConstInt(I64, 0)), inside, behind)

        builder.at_end(inside)
        self._run_wide_rounds()
        if tree.last < self.lanes:
            self._run_in_registers()
        builder.br(behind)

        builder.at_end(behind)
        if not is_of_first_lanes(tree.exit, self.items.tid[0], self.lanes, self._is_of_row):
            builder.call(barrier, ())
        builder.br(tree.exit)

    def _first(self) -> Value:
        """The first distance."""
        first, halved = self.tree.first, self.tree.halved
        if halved is None:
            return first
        if isinstance(first, ConstInt):
            assert isinstance(first.type, IntType)
            return ConstInt(first.type, first.signed >> 1)
        made = halved.clone()
        made.set_operand(0, first)
        return self.builder.insert(made)

    def _is_such_a_group(self) -> Value:
        builder, tree, items = self.builder, self.tree, self.items
        threads, first = items.lsize[0], self.first
        rest: Value = items.lsize[2]
        if not tree.apart:
            rest = builder.binary("mul", items.lsize[1], rest)
        asked = builder.icmp("eq", rest, ConstInt(I64, 1))
        if isinstance(first, ConstInt):
            most = max(first.value, self.lanes)
            return builder.binary("and", asked, builder.icmp("uge", threads, ConstInt(I64, most)))
        assert isinstance(first.type, IntType)
        least = max(tree.last, self.lanes // 2)
        before = builder.binary("sub", first, ConstInt(first.type, 1))
        power = builder.icmp("eq", builder.binary("and", first, before), ConstInt(first.type, 0))
        long = builder.icmp("sge", first, ConstInt(first.type, least))
        distance = _as(builder, first, I64)
        fits = builder.icmp("ule", distance, threads)
        filled = builder.icmp("uge", threads, ConstInt(I64, self.lanes))
        conditions = [power, long, fits, filled]
        if tree.apart:
            conditions.append(builder.icmp("ule", distance, ConstInt(I64, tree.apart // 2)))
        for condition in conditions:
            asked = builder.binary("and", asked, condition)
        return asked

    def _is_of_row(self, access: Instruction) -> bool:
        """Whether an access of a thread of the first lanes, behind the tree, is of what its own row has."""
        tree, items = self.tree, self.items
        if not tree.apart:
            return True
        if access.op not in ("load", "store"):
            return access.op == "atomicrmw" and _leads_elsewhere(access)
        found = Places(items, lambda value: False).of(access.pointer, self.function.layout)
        if found is None:
            return False
        base, form = found
        offset = form.pop(None, 0)
        terms = {value: factor for value, factor in form.items() if factor}
        return any(
            base is array.base and terms == array.terms
            and 0 <= offset - array.offset < min(self.lanes, tree.apart) * array.step
            for array in tree.arrays
        )  # fmt: skip

    def _run_wide_rounds(self) -> None:
        """The rounds at distances of the lanes and more."""
        tree, lanes = self.tree, self.lanes
        shortest = max(tree.last, lanes)
        if isinstance(self.first, ConstInt) and 2 * self.first.value // lanes <= MOST_WRITTEN:
            distance = self.first.value
            while distance >= shortest:
                for begin in range(0, distance, lanes):
                    self._run_step(ConstInt(I64, distance), ConstInt(I64, begin))
                distance //= 2
            return
        builder, before = self.builder, self.builder.block
        assert before is not None
        first = _as(builder, self.first, I64)
        names = ("rounds", "round", "steps", "next", "short")
        rounds, steps, step, following, end = (
            self.function.add_block(f"{tree.header.name}.{n}") for n in names
        )
        builder.br(rounds)
        builder.at_end(rounds)
        distance = builder.phi(I64, "distance")
        distance.add_incoming(first, before)
        builder.cond_br(builder.icmp("uge", distance, ConstInt(I64, shortest)), steps, end)
        builder.at_end(steps)
        builder.br(step)
        builder.at_end(step)
        begin = builder.phi(I64, "begin")
        begin.add_incoming(ConstInt(I64, 0), steps)
        self._run_step(distance, begin)
        more = builder.binary("add", begin, ConstInt(I64, lanes), ("nuw", "nsw"))
        begin.add_incoming(more, step)
        builder.cond_br(builder.icmp("ult", more, distance), step, following)
        builder.at_end(following)
        distance.add_incoming(builder.binary("lshr", distance, ConstInt(I64, 1)), following)
        builder.br(rounds)
        builder.at_end(end)

    def _run_step(self, distance: Value, begin: Value) -> None:
        """One step of all lanes in a round: of the threads that begin with this one."""
        arrays = self.tree.arrays
        near = [self._load(a, begin) for a in arrays]
        at = _sum(self.builder, begin, distance)
        far = [self._load(a, at) for a in arrays]
        for array, value in zip(arrays, self._combined(distance, near, far), strict=True):
            self._store(array, begin, value)

    def _run_in_registers(self) -> None:
        """The rounds at shorter distances, in which lanes read others."""
        tree, builder = self.tree, self.builder
        zero = ConstInt(I64, 0)
        values = [self._load(a, zero) for a in tree.arrays]
        found = [values]
        distance = self.lanes // 2
        distances: list[int] = []
        while distance >= tree.last:
            source = builder.binary("add", self.lane, ConstInt(I32, distance), ("nuw", "nsw"))
            far = [self._of_lane(value, source) for value in values]
            values = self._combined(ConstInt(I64, distance), values, far)
            found.append(values)
            distances.append(distance)
            distance //= 2
        # Elements at and behind a distance are what they were: what lanes have computed there is of no use.
        for k, array in enumerate(tree.arrays):
            result = found[0][k]
            for distance, of_round in zip(distances, found[1:], strict=True):
                below = builder.icmp("ult", self.lane, ConstInt(I32, distance))
                result = builder.select(below, of_round[k], result)
            self._store(array, zero, result)

    def _combined(self, distance: Value, near: list[Value], far: list[Value]) -> list[Value]:
        """What becomes of elements and those at the distance."""
        tree, builder = self.tree, self.builder
        known: dict[Value, Value] = {tree.distance: _as(builder, distance, tree.distance.type)}
        known.update({load: near[k] for load, k in tree.near.items()})
        known.update({load: far[k] for load, k in tree.far.items()})

        def compute(value: Value) -> Value:
            found = known.get(value)
            if found is not None:
                return found
            if not isinstance(value, Instruction) or value.block not in tree.blocks:
                return value
            made = value.clone()
            for k, operand in enumerate(value.operands):
                made.set_operand(k, compute(operand))
            known[value] = builder.insert(made)
            return made

        return [compute(value) for value in tree.stored]

    def _of_lane(self, value: Value, lane: Value) -> Value:
        builder, type = self.builder, value.type
        assert isinstance(type, (IntType, FloatType))
        bits = int_type(type.bits)
        number = value if type == bits else builder.cast("bitcast", value, bits)
        moved = builder.call(declare(builder.module, f"weft.extract.i{type.bits}"), (number, lane))
        return moved if type == bits else builder.cast("bitcast", moved, type)

    def _place(self, array: Elements, begin: Value) -> Value:
        """The elements of the threads from that one on."""
        builder = self.builder
        thread = self.number
        if begin != ConstInt(I64, 0):
            thread = builder.binary("add", thread, begin, ("nuw", "nsw"))
        offset = builder.binary("mul", thread, ConstInt(I64, array.step), ("nuw", "nsw"))
        base = builder.gep(I8, array.base, (ConstInt(I64, array.offset),))
        for value, factor in array.terms.items():
            base = builder.gep(I8, base, (builder.binary("mul", value, ConstInt(I64, factor)),))
        return builder.gep(I8, base, (offset,))

    def _load(self, array: Elements, begin: Value) -> Value:
        return self.builder.load(array.type, self._place(array, begin), align=array.align)

    def _store(self, array: Elements, begin: Value, value: Value) -> None:
        self.builder.store(value, self._place(array, begin), align=array.align)


def _sum(builder: Builder, a: Value, b: Value) -> Value:
    if isinstance(a, ConstInt) and isinstance(b, ConstInt):
        return ConstInt(I64, a.value + b.value)
    return builder.binary("add", a, b, ("nuw", "nsw"))


def _as(builder: Builder, value: Value, type: Type) -> Value:
    """A number of few bits in another type."""
    assert isinstance(value.type, IntType) and isinstance(type, IntType)
    if value.type == type:
        return value
    if isinstance(value, ConstInt):
        return ConstInt(type, value.value)
    return builder.cast("trunc" if value.type.bits > type.bits else "zext", value, type)


def is_of_first_lanes(
    start: BasicBlock, thread: Value, lanes: int, is_own: Callable[[Instruction], bool] = lambda access: True
) -> bool:
    """Whether only threads of the first lane group access shared memory up to the next barriers.

    Where rows of threads have first lane groups of their own, `is_own` says which accesses are of the row.
    """
    inside = {
        block.terminator.blocks[0]
        for block in _reached(start)
        if _asks_for_one(block, thread, lanes)
        and block.terminator.blocks[0].predecessors == [block]
        and len(block.terminator.blocks[0].successors) <= 1
    }
    accesses = (
        i
        for i in until_barrier(start)
        if not i.is_terminator and not i.is_phi and (may_read(i) or may_write(i))
    )
    return all(_is_elsewhere(i) or (i.block in inside and is_own(i)) for i in accesses)


def _reached(start: BasicBlock) -> set[BasicBlock]:
    return {start, *(i.block for i in until_barrier(start) if i.block is not None)}


def _asks_for_one(block: BasicBlock, thread: Value, lanes: int) -> bool:
    """Whether the first way is that of a thread of the first lane group."""
    branch = block.terminator
    test = branch.operands[0] if branch.op == "br" and len(branch.blocks) == 2 else None
    if not isinstance(test, Instruction) or test.op != "icmp" or test.predicate not in ("eq", "ult", "slt"):
        return False
    bound = test.operands[1]
    most = lanes - 1 if test.predicate == "eq" else lanes
    return is_cast_of(test.operands[0], thread) and isinstance(bound, ConstInt) and 0 <= bound.signed <= most


def _is_elsewhere(access: Instruction) -> bool:
    """Whether it is an access of memory that is not shared."""
    return access.is_plain_access and _leads_elsewhere(access)


def _leads_elsewhere(access: Instruction) -> bool:
    pointer = access.pointer.type
    root = root_of(access.pointer)
    return root is not None and isinstance(pointer, PointerType) and pointer.space != SHARED_SPACE
