"""Traversals: loops that take a place from a stack, look there, and put further places on it.

    stack[0] = root; height = 1
    while height > 0:
        height -= 1; node = stack[height]
        ...
            stack[height] = left; stack[height + 1] = right; height += 2

A loop is one if its height and its stack are used for nothing else. Found are the loads of what is taken, the stores of
what is put, and what is there at first. The proof follows the height from block to block, as a φ and a constant:

* at the beginning of an iteration it is a φ of the header, and the loop goes on if and only if it is not 0;
* then it is one less, and all loads from the stack are from that place, before anything is put;
* the stores of a block go to the places from the height on, each once in each part of the stack, and behind the block
  the height is so much more;
* where ways meet, they bring one height, or a φ joins theirs.

So each thread takes what it has put last and not taken yet. Accesses of stack objects are in bounds, or the program has
no meaning; hence heights do not wrap around.

A stack may have several parts: objects with an element for each place, or fields of a record. Its objects may serve
elsewhere where no thread that is there comes to the loop, or has come from it: compilers write a loop twice where
something that it asks stays the same, and both have one stack. What is there at first stays for them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct

from weft.analysis.loops.stack_heights import Height, Heights, NoStackError, is_phi, require
from weft.analysis.memory.alias import locate
from weft.analysis.memory.stack_objects import StackObjects
from weft.graph.cfg import reachable, reverse_postorder
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, LoopForest, loop_forest
from weft.ir import BasicBlock, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.effects import is_convergent, is_speculatable, may_write
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, Type

MOST_PLACES = 4096
"""A stack has no more places."""

MOST_AT_FIRST = 8
"""No more are there at first."""

Part = tuple[Instruction, int, int]
"""An object, the bytes from place to place, and those from the beginning of a place to what is meant."""


class Put(Struct, frozen=True):
    """What a block puts on the stack.

    Parameters
    ----------
    stores
        Those that do it; the last one comes last.
    places
        For each place, from below, what is stored in each part.
    """

    stores: tuple[Instruction, ...]
    places: tuple[Mapping[Part, Value], ...]


class Traversal(Struct, frozen=True):
    """A loop with a stack.

    Parameters
    ----------
    before, header, body, latch, behind
        Where it comes from, asks for the height, goes on, returns, and goes to when nothing is left.
    blocks
        All of its blocks.
    height
        The φ of the header.
    size
        Places of the stack.
    parts
        The types of what is stored.
    first
        What is there at first.
    initial
        The stores of that, where nobody else needs them.
    taken
        The loads, and of which part they are.
    puts
        What is put, by blocks.
    leaves_early
        Whether there are other ways out.
    writes
        Whether it writes to memory that is not the thread's own.
    """

    before: BasicBlock
    header: BasicBlock
    body: BasicBlock
    latch: BasicBlock
    behind: BasicBlock
    blocks: tuple[BasicBlock, ...]
    height: Instruction
    size: int
    parts: Mapping[Part, Type]
    first: tuple[Mapping[Part, Value], ...]
    initial: tuple[Instruction, ...]
    taken: Mapping[Instruction, Part]
    puts: tuple[Put, ...]
    leaves_early: bool
    writes: bool


def traversals(function: Function) -> Iterator[Traversal]:
    """The traversals of a function without predicates, shadows and guards, in an order that its text decides."""
    if not any(i.op == "alloca" for i in function.instructions()):
        return
    view = cfg_of(function)
    forest = loop_forest(view.cfg)
    if not forest.loops:
        return
    objects, dominators = StackObjects(function, view), dominator_tree(view.cfg)
    for loop in forest.loops:
        for height in view.blocks[loop.header].phis():
            found = _Finder(function, view, forest, objects, dominators, loop, height, Heights(height)).find()
            if found is not None:
                yield found
                break


class _Finder(Struct):
    function: Function
    view: CFGView
    forest: LoopForest
    objects: StackObjects
    dominators: DominatorTree
    loop: Loop
    height: Instruction
    heights: Heights
    size: int = 0

    def find(self) -> Traversal | None:
        try:
            return self._found()
        except NoStackError:
            return None

    def _found(self) -> Traversal:
        loop, view, height = self.loop, self.view, self.height
        header = view.blocks[loop.header]
        require(not loop.is_irreducible and len(loop.latches) == 1 and isinstance(height.type, IntType))
        latch = view.blocks[loop.latches[0]]
        outside = [b for b in header.predecessors if view.index[b] not in loop.blocks]
        branch = header.terminator
        ways = [b for b in branch.successors if view.index[b] in loop.blocks]
        require(len(outside) == 1 and latch is not header and branch.op == "br")
        require(len(branch.successors) == 2 and len(set(branch.successors)) == 2 and len(ways) == 1)
        (before,), (body,) = outside, ways
        count = height.incoming_value(before)
        require(len(before.successors) == 1 and body.predecessors == [header] and not any(body.phis()))
        require(isinstance(count, ConstInt) and 1 <= count.signed <= MOST_AT_FIRST)
        assert isinstance(count, ConstInt)
        require(all(is_speculatable(i) for i in header.non_phis() if i is not branch))
        accesses = self._accesses()
        self.heights.check_test(branch.operands[0], ways[0] is branch.blocks[0], self.size)
        puts, taken, parts = self._follow(accesses, header, latch)
        require(bool(puts) and bool(taken))
        self.heights.check(self.size)
        writes = self._check_body(accesses)
        self._check_uses(accesses, branch)
        first, initial = self._first(count.signed, before, accesses, parts)
        behind = next(b for b in branch.successors if b is not body)
        return Traversal(
            before, header, body, latch, behind,
            tuple(view.blocks[n] for n in sorted(loop.blocks)), height, self.size, parts, first, initial,
            taken, tuple(puts), len(loop.exit_edges) > 1, writes,
        )  # fmt: skip

    def _accesses(self) -> dict[Instruction, tuple[Part, Height]]:
        """The accesses of the stack in the loop: parts and places. Finds the size, and joins of heights."""
        sites = {
            site
            for site in self.objects.sites
            if isinstance(site, Instruction)
            and any(self._may_lead(a) for a in self.objects.accesses[site] if self._is_inside(a))
        }
        require(bool(sites) and self.objects.escaped.isdisjoint(sites))
        sizes: list[int] = []
        found: dict[Instruction, tuple[Part, Height]] = {}
        for site in sites:
            for access in self.objects.accesses[site]:
                require(access.is_plain_access)
                if self._is_inside(access):
                    part, place, index = self._place(access)
                    require(part[0] is site)
                    found[access] = part, (index, place)
                    number = site.operands[0]
                    require(isinstance(number, ConstInt))
                    assert isinstance(number, ConstInt)
                    bytes_ = self.function.layout.size(site.allocated_type) * number.value
                    sizes.append(bytes_ // part[1])
        _check_parts([(part, access) for access, (part, _) in found.items()], self.function.layout)
        self.size = min(sizes)
        require(0 < self.size <= MOST_PLACES)
        return found

    def _is_inside(self, instruction: Instruction) -> bool:
        return instruction.block is not None and self.view.index[instruction.block] in self.loop.blocks

    def _may_lead(self, access: Instruction) -> bool:
        """Whether an access is at a place that is computed from the height."""
        if not access.is_plain_access:
            return False
        terms = locate(access.pointer, self.function.layout).terms
        return any(self.heights.plain(term)[0] is self.height for term in terms)

    def _place(self, access: Instruction) -> tuple[Part, int, Value]:
        """The part that an access is of, and its place: a constant more than a value."""
        layout = self.function.layout
        location = locate(access.pointer, layout)
        require(isinstance(location.base, Instruction) and location.base.op == "alloca")
        assert isinstance(location.base, Instruction)
        places = [(t, s) for t, s in location.terms.items() if is_phi(self.heights.plain(t)[0])]
        require(len(places) == 1 and places[0][1] > 0)
        self.heights.rest += [t for t in location.terms if t is not places[0][0]]
        (index, step) = places[0]
        root, more = self.heights.plain(index)
        place, within = divmod(location.offset + more * step, step)
        require(within + layout.store_size(access.accessed_type) <= step)
        return (location.base, step, within), place, root

    def _follow(
        self, accesses: Mapping[Instruction, tuple[Part, Height]], header: BasicBlock, latch: BasicBlock
    ) -> tuple[list[Put], dict[Instruction, Part], dict[Part, Type]]:
        """Follow the height through the blocks of the loop."""
        view, loop = self.view, self.loop
        order = [b for b in reverse_postorder(view.cfg.succs) if b in loop.blocks]
        behind: dict[BasicBlock, Height] = {header: (self.height, -1)}
        begins: dict[BasicBlock, Height] = {}
        puts: list[Put] = []
        taken: dict[Instruction, Part] = {}
        parts = {part: access.accessed_type for access, (part, _) in accesses.items()}
        require(all(parts[part] == access.accessed_type for access, (part, _) in accesses.items()))
        for number in order[1:]:
            block = view.blocks[number]
            now = begins[block] = self.heights.meet(block, behind)
            stores: list[Instruction] = []
            for instruction in block.instructions:
                if instruction not in accesses:
                    continue
                if instruction.op == "load":
                    part, (index, place) = accesses[instruction]
                    root, more = self.heights.of(index)
                    require(not stores and (root, more + place) == (self.height, -1) == now)
                    taken[instruction] = part
                else:
                    stores.append(instruction)
            if stores:
                put = self._put(stores, accesses, now, parts)
                puts.append(put)
                now = now[0], now[1] + len(put.places)
            behind[block] = now
        for block, now in begins.items():
            for source in block.predecessors:
                if now[0] in self.heights.joins and isinstance(now[0], Instruction) and now[0].block is block:
                    require(self.heights.of(now[0].incoming_value(source)) == behind[source])
                else:
                    require(behind[source] == now)
        require(self.heights.of(self.height.incoming_value(latch)) == behind[latch])
        self._check_order(taken, puts)
        return puts, taken, parts

    def _put(
        self,
        stores: list[Instruction],
        accesses: Mapping[Instruction, tuple[Part, Height]],
        now: Height,
        parts: Mapping[Part, Type],
    ) -> Put:
        """What the stores of a block put on a stack of a height."""
        places: dict[int, dict[Part, Value]] = {}
        for store in stores:
            part, (index, place) = accesses[store]
            root, more = self.heights.of(index)
            at = more + place - now[1]
            require(root is now[0] and part not in places.setdefault(at, {}))
            places[at][part] = store.stored_value
        require(sorted(places) == list(range(len(places))))
        require(all(set(there) == set(parts) for there in places.values()))
        return Put(tuple(stores), tuple(places[at] for at in range(len(places))))

    def _check_order(self, taken: Mapping[Instruction, Part], puts: list[Put]) -> None:
        """Nothing is taken behind what has been put in the same iteration."""
        view, loop = self.view, self.loop
        succs = [
            [s for s in view.cfg.succs[b] if s in loop.blocks and s != loop.header]
            if b in loop.blocks
            else []
            for b in range(len(view.blocks))
        ]
        putting = {view.index[b] for p in puts if (b := p.stores[0].block) is not None}
        later = reachable(succs, [s for b in putting for s in succs[b]])
        for load in taken:
            assert load.block is not None
            require(not later[view.index[load.block]])

    def _check_body(self, accesses: Mapping[Instruction, tuple[Part, Height]]) -> bool:
        """Nothing depends on which threads are in which iteration; whether memory of others is written."""
        writes = False
        for number in self.loop.blocks:
            for instruction in self.view.blocks[number].instructions:
                require(not is_convergent(instruction) and instruction.op != "alloca")
                if instruction in accesses or not may_write(instruction):
                    continue
                require(instruction.op == "store" and instruction.is_plain_access)
                objects = self.objects.of(instruction.pointer)
                base = locate(instruction.pointer, self.function.layout).base
                writes |= base not in objects
        return writes

    def _check_uses(self, accesses: Mapping[Instruction, tuple[Part, Height]], branch: Instruction) -> None:
        """Heights are used for places of the stack, heights and the test alone."""
        seen: set[Value] = {self.height}
        work: list[Value] = [self.height]
        while work:
            value = work.pop()
            for user in value.instruction_users():
                require(self._is_inside(user))
                if user in accesses:
                    require(user.op != "store" or user.stored_value is not value)
                elif user is not branch and user not in seen:
                    known = user.is_phi and (user in self.heights.joins or user in self.heights.same)
                    require(known or (user.op != "load" and is_speculatable(user)))
                    seen.add(user)
                    work.append(user)

    def _first(
        self,
        count: int,
        before: BasicBlock,
        accesses: Mapping[Instruction, tuple[Part, Height]],
        parts: Mapping[Part, Type],
    ) -> tuple[tuple[Mapping[Part, Value], ...], tuple[Instruction, ...]]:
        """What is on the stack when the loop begins."""
        view = self.view
        places: list[dict[Part, Value]] = [{} for _ in range(count)]
        stores: list[Instruction] = []
        is_elsewhere = self._elsewhere()
        shared = False
        for site in dict.fromkeys(part[0] for part in parts):
            for access in self.objects.accesses[site]:
                if self._is_inside(access):
                    require(access in accesses)
                    continue
                assert access.block is not None
                number = view.index[access.block]
                if is_elsewhere(number):
                    shared = True
                    continue
                require(access.op == "store")
                require(self.dominators.dominates(number, view.index[before]))
                require(self.forest.innermost[number] is self.forest.innermost[view.index[before]])
                location = locate(access.pointer, self.function.layout)
                require(location.base is site and not location.terms)
                own = [
                    (part, location.offset // part[1])
                    for part in parts
                    if part[0] is site and location.offset % part[1] == part[2]
                ]
                require(len(own) == 1 and parts[own[0][0]] == access.accessed_type)
                ((part, place),) = own
                require(0 <= place < count and part not in places[place])
                places[place][part] = access.stored_value
                stores.append(access)
        require(all(set(there) == set(parts) for there in places))
        return tuple(places), () if shared else tuple(stores)

    def _elsewhere(self) -> Callable[[int], bool]:
        """Tells of blocks whether no thread that comes there comes to the loop, too, before or behind."""
        succs, header = self.view.cfg.succs, self.loop.header
        after = reachable(succs, [header])

        def is_elsewhere(block: int) -> bool:
            return not after[block] and not reachable(succs, [block])[header]

        return is_elsewhere


def _check_parts(accesses: Iterable[tuple[Part, Instruction]], layout: DataLayout) -> None:
    """The parts of an object do not overlap."""
    ends: dict[Part, int] = {}
    for part, access in accesses:
        end = part[2] + layout.store_size(access.accessed_type)
        require(ends.setdefault(part, end) == end)
    for (site, step, begin), end in ends.items():
        for (other, other_step, other_begin), other_end in ends.items():
            if other is site and (step, begin) != (other_step, other_begin):
                require(step == other_step and (end <= other_begin or other_end <= begin))
