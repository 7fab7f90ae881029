"""Stencils in kernels: what a block and the threads around it read of an array, in shared memory.

A thread (x, y) loads elements at constant distances, (y + dy, x + dx), of an array that the kernel does not write. Each
thread loads the one at the least distance for the block; at another distance it loads those alone that no thread of
the block loads at one before. So an element is loaded once for a block, by one thread, and nothing is loaded that the
loop does not read: what lies between the corners of two blocks need not be there.

Juravle, Automatic program analysis for data parallel kernels, §5.2 (overlap of the elements that threads share).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from weft.ir.types import I1, I64
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.negation import negated
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
    If,
    Node,
    Shared,
    Statement,
    Store,
    Variable,
    assigned_in,
    names_in,
    number,
    substituted,
    written_in,
)

LEAST_PLACES = 5
"""Of fewer elements each, threads get them from the cache as fast."""

_Terms = dict[tuple[str, ...], int]
_Place = tuple[int, int]
_Atom = tuple[int, int]
"""An axis, 0 for y and 1 for x, and how far along it another thread is."""


class _Halo(Struct, frozen=True):
    """The elements of one array that a thread loads, by their distances, the least first."""

    tile: str
    loads: dict[_Place, Node]

    @property
    def low(self) -> _Place:
        """The least distance along each axis."""
        return min(y for y, _ in self.loads), min(x for _, x in self.loads)

    def size(self, block: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of the tile."""
        (low_y, low_x), (width, height) = self.low, block
        return height + max(y for y, _ in self.loads) - low_y, width + max(x for _, x in self.loads) - low_x


class _Axis(Struct, frozen=True):
    """A counter of threads, where a thread is in its block, how many a block has, and up to where there are threads."""

    counter: Variable
    place: Variable
    length: int
    limits: tuple[Node, ...]

    def is_beyond(self, distance: int) -> Node:
        """Whether a thread so far away is of another block, or has no iteration."""
        if distance < 0:
            return Node("<", I1, (self.place.node, number(-distance, self.place.type)))
        moved = Node("+", self.counter.type, (self.counter.node, number(distance, self.counter.type)))
        beyond = Node(">=", I1, (self.place.node, number(self.length - distance, self.place.type)))
        for limit in self.limits:
            beyond = Node("or", I1, (beyond, negated(substituted(limit, {self.counter.name: moved}))))
        return beyond


def with_halos(parts: KernelParts, body: list[Statement], block: tuple[int, int]) -> list[Statement] | None:
    """A kernel of two dimensions whose stencils read shared memory; None if it has none.

    Parameters
    ----------
    block
        The threads of a block in x and y.
    """
    own = own_counters(body)
    if own is None:
        return None
    x, y, guarded = own
    changed = {v.name for v in assigned_in(guarded.then)}
    if has_return(guarded.then) or not all(_rises(s.value) for s in body if isinstance(s, Assign)):
        return None
    limits: dict[str, list[Node]] = {x.name: [], y.name: []}
    for condition in conjuncts(guarded.condition):
        counter = condition.args[0].text if condition.op in ("<", "<=") else ""
        if counter not in limits or names_in(condition.args[1]) & (changed | {x.name, y.name}):
            return None
        limits[counter].append(condition)
    halos = _halos(parts, guarded.then, x.name, y.name, changed | written_in(body))
    if not halos:
        return None
    column, row = (Variable(parts.unique(n), v.type, "s") for n, v in (("column", x), ("row", y)))
    axes = (
        _Axis(y, row, block[1], tuple(limits[y.name])),
        _Axis(x, column, block[0], tuple(limits[x.name])),
    )
    loads = [s for halo in halos for s in _loads(halo, axes)]
    used = {load: _in_tile(halo, place, axes) for halo in halos for place, load in halo.loads.items()}
    return [
        *(
            Shared(h.tile, load.type, load.reading, h.size(block))
            for h in halos
            for load in [next(iter(h.loads.values()))]
        ),
        *(Assign(a.place, _local(a.place, d)) for a, d in zip(reversed(axes), "xy", strict=True)),
        *body[:-1],
        If(guarded.condition, loads),
        Barrier(),
        If(guarded.condition, [with_loads(s, used) for s in guarded.then]),
    ]


def _local(variable: Variable, dimension: str) -> Node:
    return Node("narrow", variable.type, (Node("local", I64, text=dimension, is_nonnegative=True),))


def _rises(value: Node) -> bool:
    """Whether a counter is the number of a thread, and what is the same for all."""
    while value.op in ("narrow", "widen"):
        (value,) = value.args
    return value.op == "thread" or (value.op == "+" and any(a.op == "thread" for a in value.args))


def _halos(parts: KernelParts, body: list[Statement], x: str, y: str, changed: set[str]) -> list[_Halo]:
    """The arrays that are read at several places each, none of which changes."""
    found: dict[object, dict[_Place, Node]] = {}
    for load in certain_loads(body):
        if load.text in changed or any(names_in(a) & changed for a in load.args):
            continue
        known = _place(load, x, y)
        if known is not None:
            array, place = known
            found.setdefault(array, {}).setdefault(place, load)
    halos: list[_Halo] = []
    for loads in found.values():
        if len(loads) >= LEAST_PLACES:
            order = sorted(loads, key=lambda p: (abs(p[0]) + abs(p[1]), p))
            name = parts.unique(f"{loads[order[0]].text}_tile")
            halos.append(_Halo(name, {p: loads[p] for p in order}))
    return halos


def _place(load: Node, x: str, y: str) -> tuple[object, _Place] | None:
    """Which rows of an array a load is of, and where in them, as seen from the thread."""
    known = [_terms(a) for a in load.args]
    if any(t is None for t in known):
        return None
    terms = [t for t in known if t is not None]
    along = terms[-1]
    if along.pop((x,), 0) != 1 or any(x in m for t in terms for m in t):
        return None
    rows = [(t, m) for t in terms for m in t if y in m]
    if len(rows) != 1:
        return None
    ((holder, monomial),) = rows
    scale = holder.pop(monomial)
    pitch = tuple(n for n in monomial if n != y)
    if len(pitch) != len(monomial) - 1:
        return None
    if holder is not along:
        if pitch or scale != 1:
            return None
        place = holder.pop((), 0), along.pop((), 0)
    elif pitch:
        if scale != 1:
            return None
        place = holder.pop(pitch, 0), holder.pop((), 0)
    else:
        # Rows of a number of elements: what is nearer to the next row is before it.
        down, right = divmod(holder.pop((), 0) + scale // 2, scale)
        place = down, right - scale // 2
    rest = tuple(frozenset(t.items()) for t in terms)
    return (load.text, pitch, scale, terms.index(holder), rest), place


def _terms(node: Node) -> _Terms | None:
    """A number as a sum of products of names; None where it is none."""
    match node.op:
        case "int":
            return {(): int(node.number)} if node.number else {}
        case "name":
            return {(node.text,): 1}
        case "widen" | "narrow":
            return _terms(node.args[0])
        case "+" | "-" | "*" | "neg":
            parts = [_terms(a) for a in node.args]
            known = [p for p in parts if p is not None]
            if len(known) != len(parts):
                return None
            if node.op == "*":
                return _product(*known)
            signs = (-1,) if node.op == "neg" else (1, -1 if node.op == "-" else 1)
            return _sum([{m: c * s for m, c in p.items()} for p, s in zip(known, signs, strict=True)])
        case _:
            return None


def _sum(parts: Sequence[_Terms]) -> _Terms:
    found: _Terms = {}
    for part in parts:
        for monomial, factor in part.items():
            found[monomial] = found.get(monomial, 0) + factor
    return {m: c for m, c in found.items() if c}


def _product(a: _Terms, b: _Terms) -> _Terms:
    return _sum([{tuple(sorted((*m, *n))): c * d} for m, c in a.items() for n, d in b.items()])


def _in_tile(halo: _Halo, place: _Place, axes: tuple[_Axis, _Axis]) -> Node:
    """An element of the tile, as seen from a thread."""
    args: list[Node] = []
    for axis, distance, low in zip(axes, place, halo.low, strict=True):
        here, moved = axis.place.node, distance - low
        args.append(
            Node("+", here.type, (here, number(moved, here.type)), is_nonnegative=True) if moved else here
        )
    return replace(halo.loads[place], text=halo.tile, args=tuple(args))


def _loads(halo: _Halo, axes: tuple[_Axis, _Axis]) -> list[Statement]:
    """What a thread loads for the block."""
    found: list[Statement] = []
    earlier: list[_Place] = []
    for place, load in halo.loads.items():
        store = Store(_in_tile(halo, place, axes), load)
        condition: Node | None = None
        for clause in _clauses(place, earlier):
            either: Node | None = None
            for axis, distance in clause:
                beyond = axes[axis].is_beyond(distance)
                either = beyond if either is None else Node("or", I1, (either, beyond))
            assert either is not None
            condition = either if condition is None else Node("and", I1, (condition, either))
        found.append(store if condition is None else If(condition, [store]))
        earlier.append(place)
    return found


def _clauses(place: _Place, earlier: Sequence[_Place]) -> list[tuple[_Atom, ...]]:
    """When no other thread loads an element at an earlier distance: in each clause one of the threads is not there."""
    found: list[tuple[_Atom, ...]] = []
    for other in earlier:
        clause = tuple((axis, a - b) for axis, (a, b) in enumerate(zip(place, other, strict=True)) if a != b)
        if any(_follows(clause, known) for known in found):
            continue
        found = [known for known in found if not _follows(known, clause)]
        found.append(clause)
    return found


def _follows(clause: tuple[_Atom, ...], known: tuple[_Atom, ...]) -> bool:
    """Whether a clause holds wherever another one does: a thread that is farther away is not there either."""
    return all(any(a == b and c * d > 0 and abs(c) <= abs(d) for b, d in clause) for a, c in known)
