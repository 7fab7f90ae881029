r"""Traversals by stacks of their own become one by a stack that the threads of a lane group share.

A place of the shared stack has what all threads that have put it there have put, and says which threads these are. It
is taken for these; the others wait. As each thread's places are on the shared stack in the order in which they are on
its own, it visits what it has always visited, in the same order::

    before: stack[0] = root                     before: put (root), for all
    header: height = φ [1, before] [h', latch]  header: br anything is there, take, behind
            br height > 0, body, behind         take:   node, lanes = what is on top; height -= 1
    body:   node = stack[height - 1]            body:   ...
            ...                                         br this lane is in lanes, rest, next
            stack[h] = child; h' = h + 1        rest:   ... put (child), for the threads that come here
    latch:  br header                           latch:  br next
                                                next:   φ as they were for lanes that wait; br header

The stack, its lanes and its height are stack objects of the first active lane, which all threads use
(``weft.first.ptr``). So what is taken is uniform, and what is read there is read once.

What begins an iteration is done for all lanes where it has no effect and reads what can be read: at uniform addresses,
and at places that threads have read in their first iteration.

A shared stack has each of its places in common with a stack of some thread, which is no higher than the program says:
it has room for as many as all of them. Places that all threads put there, or none, are written without a branch
(`weft.transform.loops.puts_ahead`), for which there is room above.

Precondition: P-LLVM without predicates, shadows and guards, loop-simplified and loop-closed, of which the threads of a
lane group meet as the schedule of P-LLVM says; what is put at once by several threads is the same (`share_stacks` asks
for that). Postcondition: the same form. Preserves the program under FR, but for the order of what different
threads do to memory.

Goldfarb, Jo and Kulkarni, "General transformations for GPU execution of tree traversals" (SC 2013), lockstep traversal;
Moll, §13.1, by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.loops.traversals import Part, Put, Traversal, traversals
from weft.diag.source import SourceSpan
from weft.graph.dominators import dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Builder, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.cfg_edit import remove_dead_instructions, replace_and_erase, split_block
from weft.ir.cfg_view import cfg_of
from weft.ir.clone import ValueMap, clone_function
from weft.ir.effects import is_speculatable
from weft.ir.intrinsics import declare
from weft.ir.locations import span_of_block
from weft.ir.types import I32, I64, IntType, Type
from weft.transform.loops.puts_ahead import MOST_PLACES, branch_around

IsUniform = Callable[[Value], bool]


def share_stacks(
    function: Function,
    divergence: Divergence,
    analyze_copy: Callable[[Function], Divergence],
    width: int,
    *,
    may_write: bool = True,
) -> list[SourceSpan | None]:
    """Let the threads of lane groups of `width` walk together wherever that is known to be right; where that is.

    Parameters
    ----------
    function
        What threads run.
    divergence
        Of the function as it is.
    analyze_copy
        Gives that of a copy.
    width
        How many threads a lane group has.
    may_write
        Whether threads may write memory in another order among each other.
    """
    module = function.module
    assert module is not None
    tried: set[BasicBlock] = set()
    known = set(module.functions)
    places: list[SourceSpan | None] = []
    while (found := _next(function, tried)) is not None:
        tried.add(found.header)
        if not divergence.is_divergent_branch(found.header) or (found.writes and not may_write):
            continue
        values: ValueMap = {}
        trial = clone_function(function, f"{function.name}.together", values)
        copy = next(t for t in traversals(trial) if t.header is values[found.header])
        stores = share_stack(trial, copy, width)
        after = analyze_copy(trial)
        if all(_is_same(after, store) for store in stores):
            places.append(span_of_block(found.header))
            share_stack(function, found, width, _in_copy(after, values))
        del module.functions[trial.name]
    if not places:
        for name in [n for n in module.functions if n not in known]:
            del module.functions[name]
    return places


def _next(function: Function, tried: Collection[BasicBlock]) -> Traversal | None:
    return next((t for t in traversals(function) if t.header not in tried), None)


def _is_same(divergence: Divergence, store: Instruction) -> bool:
    """Whether all threads that come to a store store one value."""
    assert store.block is not None
    return divergence.shape_in(store.stored_value, store.block).is_uniform


def _in_copy(divergence: Divergence, values: ValueMap) -> IsUniform:
    """Whether values are uniform, as far as they are still there in a copy that `divergence` is of."""

    def is_uniform(value: Value) -> bool:
        copy = values.get(value, value)
        if isinstance(copy, Instruction) and copy.block is None:
            return False
        return divergence.shape(copy).is_uniform

    return is_uniform


def share_stack(
    function: Function, traversal: Traversal, width: int, is_uniform: IsUniform | None = None
) -> list[Instruction]:
    """Let the threads of lane groups of `width` walk together; the stores of what is put on the stack.

    With `is_uniform`, which tells whether the threads that come to an instruction agree on its result, an iteration
    begins for all lanes.
    """
    cut = waits_before(function, traversal, is_uniform) if is_uniform is not None else None
    return _Sharing(function, traversal, width, is_uniform).run(cut or traversal.body.instructions[0])


def waits_before(function: Function, traversal: Traversal, is_uniform: IsUniform) -> Instruction:
    """The instruction up to which an iteration may run for lanes that do not take part in it."""
    view = cfg_of(function)
    inside = set(traversal.blocks)
    dominators = dominator_tree(view.cfg)
    innermost = loop_forest(view.cfg).innermost
    own = innermost[view.index[traversal.header]]
    changing = _changing(traversal)
    chain: list[BasicBlock] = []
    number = view.index[traversal.latch]
    while (block := view.blocks[number]) is not traversal.header:
        chain.append(block)
        number = dominators.idom[number]
    best = traversal.body.instructions[0]
    if traversal.leaves_early:
        # What is taken may be of threads that have left.
        return best
    for block in reversed(chain):
        if innermost[view.index[block]] is not own:
            continue
        number = view.index[block]
        above = [
            b for b in inside if b is not traversal.header and not dominators.dominates(number, view.index[b])
        ]
        safe = _Safe(is_uniform, traversal.taken, changing, all(_goes_its_way(b, changing) for b in above))
        if not all(safe.is_whole(b) for b in above):
            break
        stop = next((i for i in block.instructions if not safe.holds(i)), None)
        best = stop or block.terminator
        if stop is not None or not safe.is_whole(block):
            break
    return best


def _changing(traversal: Traversal) -> set[Value]:
    """What may be another in each iteration: what is carried or loaded, and what is computed of that."""
    inside = set(traversal.blocks)
    work: list[Value] = [*traversal.header.phis()]
    work += [i for block in traversal.blocks for i in block.instructions if i.op == "load"]
    found: set[Value] = set(work)
    while work:
        for user in work.pop().instruction_users():
            if user.block in inside and user not in found:
                found.add(user)
                work.append(user)
    return found


def _goes_its_way(block: BasicBlock, changing: set[Value]) -> bool:
    """Whether a block's branch goes the same way in each iteration of the traversal."""
    return block.terminator not in changing


class _Safe(Struct, frozen=True):
    """What may be done for lanes that wait; `repeated` tells whether the way to it is that of the first iteration."""

    is_uniform: IsUniform
    taken: Collection[Instruction]
    changing: set[Value]
    repeated: bool

    def is_whole(self, block: BasicBlock) -> bool:
        """Whether all of a block may, and lanes do not part behind it."""
        branch = block.terminator
        if branch.op not in ("br", "switch") or (branch.operands and not self.is_uniform(branch.operands[0])):
            return False
        return all(map(self.holds, block.instructions[:-1]))

    def holds(self, instruction: Instruction) -> bool:
        """Whether an instruction may."""
        if instruction in self.taken or instruction.is_phi or instruction.is_terminator:
            return True
        if is_speculatable(instruction):
            return True
        if instruction.op != "load" or not instruction.is_plain_access:
            return False
        known = self.repeated and instruction.pointer not in self.changing
        return known or self.is_uniform(instruction.pointer)


class _Sharing:
    """The rewrite of one traversal."""

    def __init__(
        self, function: Function, traversal: Traversal, width: int, is_uniform: IsUniform | None
    ) -> None:
        self.function, self.traversal, self.width = function, traversal, width
        self.is_uniform = is_uniform
        module = function.module
        assert module is not None
        self.module = module
        self.bits: IntType = I32 if width <= 32 else I64
        self.stores: list[Instruction] = []
        self.parts: dict[Part, Value] = {}
        self.taken: dict[Value, Value] = {}
        self.loc = traversal.header.terminator.loc

    def run(self, cut: Instruction) -> list[Instruction]:
        t = self.traversal
        self._begin()
        self._take()
        wait = self._wait(cut)
        self._return(wait)
        for put in t.puts:
            self._put(put)
        for store in t.initial:
            store.erase()
        remove_dead_instructions(self.function)
        return self.stores

    def _object(self, type: Type, count: int, name: str, here: Builder) -> Value:
        """A stack object of the first active lane."""
        entry = Builder(before=self.function.entry.instructions[0])
        own = entry.alloca(type, const_int(count, I32), name=name)
        first = declare(self.module, "weft.first.ptr")
        return here.call(first, (own,), name=f"{name}.shared")

    def _begin(self) -> None:
        t = self.traversal
        here = Builder(before=t.before.terminator)
        here.loc = self.loc
        room = self.width * t.size + MOST_PLACES
        self.parts = {part: self._object(type, room, "stack", here) for part, type in t.parts.items()}
        self.lanes = self._object(self.bits, room, "stack.lanes", here)
        self.height = self._object(I64, 1, "stack.height", here)
        self._put_at(here, const_int(0), t.first)

    def _active(self, builder: Builder) -> Value:
        active = builder.call(declare(self.module, "weft.active"), ())
        return active if self.bits is I64 else builder.cast("trunc", active, I32)

    def _put_at(
        self,
        builder: Builder,
        height: Value,
        places: tuple[Mapping[Part, Value], ...],
        there: Callable[[Value], Value] = lambda higher: higher,
    ) -> None:
        """Put places on a stack of a height, for the threads that come here; `there` chooses the height behind."""
        active = self._active(builder)
        for more, place in enumerate(places):
            at = builder.binary("add", height, const_int(more)) if more else height
            for part, value in place.items():
                cell = self._cell(builder, self.parts[part], self.traversal.parts[part], at)
                self.stores.append(builder.store(self.taken.get(value, value), cell))
            builder.store(active, self._cell(builder, self.lanes, self.bits, at))
        higher = builder.binary("add", height, const_int(len(places)))
        builder.store(there(higher), self.height)

    @staticmethod
    def _cell(builder: Builder, object: Value, type: Type, at: Value) -> Value:
        return builder.gep(type, object, (at,), flags=("inbounds", "nuw"))

    def _take(self) -> None:
        """Ask at the header whether anything is there, and take what is on top behind it."""
        t = self.traversal
        branch = t.header.terminator
        ask = Builder(before=branch)
        ask.loc = branch.loc
        height = ask.load(I64, self.height, name="height")
        nothing = ask.icmp("eq", height, const_int(0))
        take = self.function.add_block(f"{t.header.name}.take", after=t.header)
        ask.cond_br(nothing, t.behind, take)
        branch.erase()
        here = Builder(take)
        here.loc = self.loc
        top = here.binary("add", height, const_int(-1), ("nsw",), name="top")
        here.store(top, self.height)
        taken = {
            part: here.load(type, self._cell(here, self.parts[part], type, top))
            for part, type in t.parts.items()
        }
        lanes = here.load(self.bits, self._cell(here, self.lanes, self.bits, top), name="lanes")
        lane: Value = here.call(declare(self.module, "weft.lane.id"), ())
        if self.bits is I64:
            lane = here.cast("zext", lane, I64)
        own = here.binary("and", lanes, here.binary("shl", const_int(1, self.bits), lane))
        self.takes_part = here.icmp("ne", own, const_int(0, self.bits))
        here.br(t.body)
        for load, part in t.taken.items():
            self.taken[load] = taken[part]
            replace_and_erase(load, taken[part])

    def _wait(self, cut: Instruction) -> tuple[BasicBlock, BasicBlock]:
        """Let lanes that do not take part go on to the next iteration before `cut`; from where, and to where."""
        t = self.traversal
        if cut.block is None:
            # What was to be taken first has been.
            cut = t.body.instructions[0]
        source = cut.block
        assert source is not None
        rest = split_block(cut, f"{source.name}.rest")
        self.latch = rest if t.latch is source else t.latch
        following = self.function.add_block(f"{t.header.name}.next", after=self.latch)
        branch = source.terminator
        ask = Builder(before=branch)
        ask.loc = branch.loc
        ask.cond_br(self.takes_part, rest, following)
        branch.erase()
        return source, following

    def _return(self, wait: tuple[BasicBlock, BasicBlock]) -> None:
        """Lanes that wait carry what they have."""
        t, (source, following) = self.traversal, wait
        latch = self.latch
        branch = latch.terminator
        for phi in list(t.header.phis()):
            i = phi.blocks.index(latch)
            value: Value = phi
            if phi is not t.height:
                joined = Builder(following).phi(phi.type, f"{phi.name}.next")
                joined.add_incoming(phi.operands[i], latch)
                joined.add_incoming(phi, source)
                value = joined
            phi.set_operand(i, value)
            phi.set_block(i, following)
        back = Builder(following).br(t.header)
        back.loc, back.metadata = branch.loc, branch.metadata
        branch.metadata = {}
        for i, target in enumerate(branch.blocks):
            if target is t.header:
                branch.set_block(i, following)

    def _put(self, put: Put) -> None:
        branch = branch_around(put, self.is_uniform) if self.is_uniform is not None else None
        builder = Builder(before=branch or put.stores[-1])
        builder.loc = put.stores[-1].loc
        height = builder.load(I64, self.height, name="height")

        def there(higher: Value) -> Value:
            if branch is None:
                return higher
            ways = (higher, height) if branch.blocks[0] is put.stores[0].block else (height, higher)
            return builder.select(branch.operands[0], *ways, name="height")

        self._put_at(builder, height, put.places, there)
        for store in put.stores:
            store.erase()
