"""Stores that each iteration of a loop does anew are done once, behind the loop.

Precondition: loops with a single entry block. Postcondition: stores of a loop to one place that does not change in it
are gone, where nothing else in the loop reads, changes or shows that place; instead the value is carried, and stored
on the edges that leave the loop, by the threads that would have stored it. The blocks on these edges are the exits
then: the program is loop-closed once `weft.transform.loops.close_loops` has run::

    for (...)                    for (...)
        if (c)          ─▶           if (c) { value = x; stored = true; }
            p = x;               if (stored) p = value;

No thread stores where it did not; another one sees the value later, but not later than the next barrier, fence, atomic
operation that orders memory, call or trap: none of them may be in the loop. Preserves the program under FR.

The paper has loads alone; what it replaces in a loop leaves such stores behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.memory.promises import Promise
from weft.analysis.questions.company import is_fixed
from weft.analysis.questions.kills import Kills
from weft.analysis.questions.places import Place, Places
from weft.graph.dominators import dominator_tree
from weft.graph.loops import Loop, LoopForest
from weft.ir import FALSE, TRUE, BasicBlock, Builder, Instruction, Poison, Value
from weft.ir.cfg_edit import split_edge
from weft.ir.cfg_view import CFGView
from weft.ir.types import I1, FloatType, IntType, PointerType
from weft.transform.scalar_replacement.addresses import build_address
from weft.transform.ssa_repair import ReachingDefinition

MAX_EXITS = 3
"""Edges out of a loop, each of which gets the store."""

MAX_SINKS = 16
"""Of a function; each changes its graph."""


class Sink(Struct, frozen=True):
    """Stores that may go.

    Parameters
    ----------
    loop
        The loop.
    place
        Where they store.
    stores
        The stores.
    certain
        Whether each thread that leaves the loop has done one of them.
    """

    loop: Loop
    place: Place
    stores: tuple[Instruction, ...]
    certain: bool


def may_sink(view: CFGView, loops: LoopForest) -> bool:
    """Whether a store of some loop is to an address that stays the same in it: a test that takes no time."""
    for number, block in enumerate(view.blocks):
        loop = loops.innermost[number]
        if loop is not None and any(_is_store(i) and is_fixed(i.pointer, loop, view) for i in block):
            return True
    return False


def sink_stores(
    divergence: Divergence,
    analyze: Callable[[], Divergence],
    is_worth_it: Callable[[Sink, Divergence], bool] = lambda sink, divergence: True,
    promise: Promise | None = None,
) -> Iterator[Sink]:
    """Sink stores one after the other; yield what was done.

    Parameters
    ----------
    divergence
        Of the function as it is.
    analyze
        Finds it again for the function as it was changed.
    is_worth_it
        Which ones are worth it.
    promise
        What the function's launcher promises.
    """
    for _ in range(MAX_SINKS):
        facts = divergence.facts
        view, loops = facts.view, facts.propagation.loops
        if not may_sink(view, loops):
            return
        kills = Kills(Places(divergence.function.layout), facts.objects, facts.ranges.of, promise)
        found = next((s for s in find_sinks(kills, view, loops) if is_worth_it(s, divergence)), None)
        if found is None:
            return
        yield found
        sink(found, view)
        divergence = analyze()


def find_sinks(kills: Kills, view: CFGView, loops: LoopForest) -> list[Sink]:
    """The stores of innermost loops that may go, and of loops around them."""
    found: list[Sink] = []
    for loop in reversed(loops.loops):
        if loop.is_irreducible or len(loop.exit_edges) > MAX_EXITS or not loop.exit_edges:
            continue
        blocks = {view.blocks[b] for b in loop.blocks}
        inside = [i for b in sorted(loop.blocks) for i in view.blocks[b]]
        stores: dict[Place, list[Instruction]] = {}
        for store in (i for i in inside if _is_store(i) and is_fixed(i.pointer, loop, view)):
            stores.setdefault(kills.places.of_access(store), []).append(store)
        for place, group in stores.items():
            own = set(group)
            fixed = not any(isinstance(v, Instruction) and v.block in blocks for v in place.values)
            if fixed and all(i in own or kills.leaves_alone(i, place) for i in inside):
                found.append(Sink(loop, place, tuple(group), _is_certain(group, loop, view)))
    return found


def _is_store(instruction: Instruction) -> bool:
    return (
        instruction.op == "store"
        and instruction.is_plain_access
        and isinstance(instruction.stored_value.type, (IntType, FloatType, PointerType))
    )


def _is_certain(stores: list[Instruction], loop: Loop, view: CFGView) -> bool:
    dominators = dominator_tree(view.cfg)
    blocks = [view.index[s.block] for s in stores if s.block is not None]
    return any(all(dominators.dominates(b, source) for source in loop.exiting) for b in blocks)


def sink(found: Sink, view: CFGView) -> list[Instruction]:
    """Carry the value of a place through its loop, and store it behind; the new stores."""
    stores = found.stores
    last: dict[BasicBlock, Value] = {}
    for store in stores:
        assert store.block is not None
        last[store.block] = [i for i in store.block if i in stores][-1].stored_value
    name = f"{stores[0].pointer.name}.kept" if stores[0].pointer.name else ""
    header = view.blocks[found.loop.header]
    inside = {view.blocks[b] for b in found.loop.blocks}
    value = ReachingDefinition(found.place.type, last, name)
    stored = ReachingDefinition(I1, dict.fromkeys(last, TRUE), f"{name}.stored" if name else "", FALSE)
    for before in header.predecessors:
        if before not in inside:
            value.at_end[before], stored.at_end[before] = value.unreached, FALSE
    edges = [(view.blocks[b], view.blocks[e]) for b, e in found.loop.exit_edges]
    new = [_store_on(edge, found, value, stored) for edge in edges]
    for reaching in (value, stored):
        reaching.simplify()
    for store in stores:
        store.erase()
    _merge(value.new_phis)
    return new


def _store_on(
    edge: tuple[BasicBlock, BasicBlock], found: Sink, value: ReachingDefinition, stored: ReachingDefinition
) -> Instruction:
    """Store on an edge that leaves the loop what reaches it, if anything does."""
    source, target = edge
    room = split_edge(source, target, f"{source.name}.leaves")
    kept = _closed(value.end_of(source), source, room)
    first = found.stores[0]
    if found.certain:
        return _store(found, kept, Builder(before=room.terminator))
    function = room.function
    assert function is not None
    join = split_edge(room, target, f"{source.name}.left")
    then = function.add_block(f"{source.name}.stores", after=room)
    Builder(then).br(join)
    condition = _closed(stored.end_of(source), source, room)
    room.terminator.erase()
    builder = Builder(room)
    builder.loc = first.loc
    builder.cond_br(condition, then, join)
    return _store(found, kept, Builder(before=then.terminator))


def _store(found: Sink, value: Value, builder: Builder) -> Instruction:
    first = found.stores[0]
    builder.loc = first.loc
    return builder.store(value, build_address(found.place, builder), min(s.alignment for s in found.stores))


def _closed(value: Value, source: BasicBlock, room: BasicBlock) -> Value:
    """A value of the loop as it is called behind it."""
    if not isinstance(value, Instruction):
        return value
    phi = room.insert(0, Instruction("phi", value.type, name=value.name))
    phi.add_incoming(value, source)
    return phi


def _merge(phis: dict[Instruction, None]) -> None:
    """Replace new φs by φs that were there and take the same values, but where the new ones have nothing yet."""
    for phi in list(phis):
        if phi not in phis or phi.block is None:
            continue
        for other in phi.block.phis():
            same: dict[Value, Value] = {}
            if other not in phis and other.type == phi.type and _agree(phi, other, phis, same):
                for new, old in same.items():
                    assert isinstance(new, Instruction)
                    new.replace_all_uses(old)
                for new in same:
                    assert isinstance(new, Instruction)
                    del phis[new]
                    new.erase()
                break


def _agree(new: Value, old: Value, phis: dict[Instruction, None], same: dict[Value, Value]) -> bool:
    """Whether a new φ takes what an old one takes, if the φs in `same` do; a greatest fixed point."""
    if new is old or isinstance(new, Poison):
        return True
    if new not in phis or not isinstance(new, Instruction):
        return False
    if new in same:
        return same[new] is old
    if not isinstance(old, Instruction) or not old.is_phi or old in phis or old.block is not new.block:
        return False
    same[new] = old
    return all(_agree(value, old.incoming_value(source), phis, same) for value, source in new.incoming())
