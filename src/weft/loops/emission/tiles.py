"""Loops in kernels whose threads read the same elements, as in products of matrices: tiles in shared memory.

A thread (x, y) runs a loop over k that loads elements which depend on k and on one of x and y: the threads of a row, or
of a column, of the block load the same ones. The loop is taken in steps of `SIDE`. In each step the block loads a
square of each array, one element a thread and neighbours in memory side by side, and then uses it `SIDE` times. Each
thread adds up in the order of before.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from weft.ir.types import I1, IntType
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.thread_squares import (
    certain_loads,
    conjuncts,
    has_return,
    own_counters,
    with_loads,
)
from weft.loops.emission.tree import (
    Assign,
    Barrier,
    Break,
    For,
    If,
    Node,
    Shared,
    Statement,
    Store,
    Variable,
    assigned_in,
    has_jump,
    names_in,
    number,
    substituted,
    written_in,
)

SIDE = 16
"""The side of a block and of a tile."""


class _Tile(Struct, frozen=True):
    """An element that several threads load.

    Parameters
    ----------
    load
        The load.
    shared
        The array of the tile.
    of_row
        Whether the threads of one row (of one y) load the same.
    along
        Whether k goes along neighbours in memory.
    """

    load: Node
    shared: str
    of_row: bool
    along: bool


class _Names(Struct, frozen=True):
    """The counters of a kernel's threads and of its loop, and the place of a thread in its block."""

    x: Variable
    y: Variable
    k: Variable
    first: Variable
    column: Variable
    row: Variable


def tiled(parts: KernelParts, body: list[Statement]) -> list[Statement] | None:
    """A kernel of two dimensions with tiles; None if it has no such loop."""
    own = own_counters(body)
    if own is None:
        return None
    x, y, guarded = own
    position = next((p for p, s in enumerate(guarded.then) if isinstance(s, For)), None)
    if position is None:
        return None
    loop = guarded.then[position]
    assert isinstance(loop, For)
    before, behind = guarded.then[:position], guarded.then[position + 1 :]
    kinds = {v.type for v in (x, y, loop.variable)}
    is_plain = loop.step == 1 and all(v.reading == "s" for v in (x, y, loop.variable)) and len(kinds) == 1
    if not is_plain or has_return(guarded.then) or has_jump(loop.body, Break) or not loop.body:
        return None
    if not isinstance(loop.stop.type, IntType) or (loop.stop.op != "int" and loop.stop.type not in kinds):
        return None
    changed = {v.name for v in assigned_in(guarded.then)} | {x.name, y.name}
    if (names_in(loop.start) | names_in(loop.stop)) & changed:
        return None
    conditions = list(conjuncts(guarded.condition))
    # One condition of each is the loop's own test; another one could leave out what a tile would load.
    if any(sum(v.name in names_in(c) for c in conditions) != 1 for v in (x, y)):
        return None
    if any({x.name, y.name} <= names_in(c) or names_in(c) & (changed - {x.name, y.name}) for c in conditions):
        return None
    made = (Variable(parts.unique(n), loop.variable.type, "s") for n in ("first", "column", "row"))
    names = _Names(x, y, loop.variable, *made)
    found = _tiles(parts, loop, names, changed, written_in(body))
    if {t.of_row for t in found} != {True, False}:
        return None
    shared = [Shared(t.shared, t.load.type, t.load.reading, (SIDE, _width(t))) for t in found]
    place = [
        Assign(v, Node("narrow", v.type, (Node("local", IntType(64), text=d, is_nonnegative=True),)))
        for v, d in ((names.column, "x"), (names.row, "y"))
    ]
    condition = guarded.condition
    return [
        *shared,
        *place,
        *body[:-1],
        *(before if all(map(_is_simple, before)) else [If(condition, before)]),
        _steps(loop, names, found, conditions, condition),
        *([If(condition, behind)] if behind else []),
    ]


def _is_simple(statement: Statement) -> bool:
    """Whether a statement does no harm in threads that have no iteration."""
    if not isinstance(statement, Assign):
        return False
    return statement.value.op in ("int", "float", "name")


def _steps(loop: For, names: _Names, tiles: list[_Tile], conditions: list[Node], condition: Node) -> For:
    """The loop over tiles."""
    type = names.k.type
    loads: list[Statement] = [_load(t, names, conditions, loop.stop) for t in tiles]
    end = Node("+", type, (names.first.node, number(SIDE, type)))
    stop = Node("call", type, (end, replace(loop.stop, type=type)), "min")
    within = Node("-", type, (names.k.node, names.first.node), is_nonnegative=True)
    used = {t.load: _element(t, names, within) for t in tiles}
    inner = For(names.k, names.first.node, stop, 1, [with_loads(s, used) for s in loop.body])
    body = [*loads, Barrier(), If(condition, [inner]), Barrier()]
    return For(names.first, loop.start, loop.stop, SIDE, body)


def _load(tile: _Tile, names: _Names, conditions: list[Node], stop: Node) -> Statement:
    """A thread's part of a tile: neighbours in memory are those of the next thread in x."""
    mine, other = (names.y, names.x) if tile.of_row else (names.x, names.y)
    place = names.row if tile.of_row else names.column
    across = names.column if tile.along else names.row
    moved: dict[str, Node] = {names.k.name: _sum(names.first, across)}
    if place is across:
        # The thread that is next along k holds another row or column than its own.
        turned = names.column if place is names.row else names.row
        moved[mine.name] = Node("+", mine.type, (Node("-", mine.type, (mine.node, place.node)), turned.node))
    guards = [substituted(c, moved) for c in conditions if other.name not in names_in(c)]
    condition = Node("<", I1, (moved[names.k.name], stop))
    for guard in reversed(guards):
        condition = Node("and", I1, (guard, condition))
    target = replace(tile.load, text=tile.shared, args=(names.row.node, names.column.node))
    return If(condition, [Store(target, substituted(tile.load, moved))])


def _element(tile: _Tile, names: _Names, within: Node) -> Node:
    """The element of a tile that a thread uses for one k."""
    place = names.row.node if tile.of_row else names.column.node
    args = (place, within) if tile.along else (within, place)
    return replace(tile.load, text=tile.shared, args=args)


def _width(tile: _Tile) -> int:
    """The length of a tile's rows; threads that walk along a column of it need rows in different banks."""
    return SIDE + 1 if tile.along and not tile.of_row else SIDE


def _tiles(parts: KernelParts, loop: For, names: _Names, changed: set[str], written: set[str]) -> list[_Tile]:
    """The loads of a loop's iterations, in each of them, that depend on k and one of x and y."""
    found: dict[Node, _Tile] = {}
    for load in certain_loads(loop.body):
        read = set().union(*(names_in(a) for a in load.args))
        threads = read & {names.x.name, names.y.name}
        others = read & (changed - threads)
        if load in found or load.text in written or others - {names.k.name}:
            continue
        if names.k.name in read and len(threads) == 1:
            of_row = names.y.name in threads
            along = _is_addend(load.args[-1], names.k.name)
            found[load] = _Tile(load, parts.unique(f"{load.text}_tile"), of_row, along)
    return list(found.values())


def _is_addend(node: Node, name: str) -> bool:
    """Whether an index rises by one with a counter."""
    if node.op == "name":
        return node.text == name
    if node.op in ("+", "widen", "narrow"):
        return any(_is_addend(a, name) for a in node.args)
    return node.op == "-" and _is_addend(node.args[0], name)


def _sum(a: Variable, b: Variable) -> Node:
    return Node("+", a.type, (a.node, b.node), is_nonnegative=True)
