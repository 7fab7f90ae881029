"""How a place that a loop looks up comes from the one number that the loop carries to it, for the iteration after.

What the number becomes is computed of what is there where the lookup stands, but for conditions that are not: these are
taken to be one thing or the other. Whoever asks says how numbers are computed: as vectors, as scalars, or as numbers to
try. By such numbers `ways_apart` finds whether a place becomes one of a few, each in a cache line of its own::

    d = x - tree[node]
    node = 2 * node + (1 if d < 0 else 2)        2 * node + 1 or 2 * node + 2: one line
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from weft.analysis.memory.alias import Location
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, LoopForest
from weft.ir import ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import I1, IntType

CACHE_LINE = 64
"""Bytes of a line: what is that near is asked for at once."""

ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "shl": lambda a, b: a << (b & 31),
    "lshr": lambda a, b: a >> (b & 31),
    "ashr": lambda a, b: a >> (b & 31),
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_SAME = ("trunc", "sext", "zext", "freeze")
_DEEPEST = 16
_MOST_WAYS = 4
_MOST_LINES = 2
_PROBES = 3
_FEW = 2

Number = TypeVar("Number")
Way = tuple[Value, int]
"""What a carried number becomes, and what conditions that are not there yet are: 0 or 1."""


class UnknownError(Exception):
    """A number that is not there yet."""


class Algebra(Generic[Number]):
    """How numbers are computed of which low bits are enough."""

    def __init__(
        self,
        known: Callable[[Value], Number],
        constant: Callable[[int], Number],
        binary: Callable[[str, Number, Number], Number],
    ) -> None:
        self.known, self.constant, self.binary = known, constant, binary


class CarriedPlace:
    """How the place that a load looks up comes from the one number of its loop that it has."""

    def __init__(
        self,
        load: Instruction,
        location: Location,
        loop: Loop,
        view: CFGView,
        carried: Instruction,
        was_computed: Callable[[Value], bool],
    ) -> None:
        self.carried = carried
        self._load, self._loop, self._view, self._location = load, loop, view, location
        self._was_computed = was_computed
        self._following = carried.incoming_value(view.blocks[loop.latches[0]])
        self._dominators: DominatorTree = dominator_tree(view.cfg)
        self._depending = _depending_on(carried)
        assert load.block is not None
        self._before = set(load.block.instructions[: load.block.instructions.index(load)])

    @classmethod
    def of(
        cls,
        load: Instruction,
        location: Location,
        view: CFGView,
        loops: LoopForest,
        was_computed: Callable[[Value], bool] = lambda value: True,
    ) -> CarriedPlace | None:
        """How the place of a load comes, which is at `location`; None if it has no number of its loop, or several.

        `was_computed` tells what of what stands before the load is there.
        """
        block = load.block
        assert block is not None
        loop = loops.innermost[view.index[block]]
        if loop is None or len(loop.latches) != 1:
            return None
        terms = set(location.terms)
        phis = view.blocks[loop.header].phis()
        carried = [phi for phi in phis if not terms.isdisjoint(_depending_on(phi))]
        if len(carried) != 1 or not isinstance(carried[0].type, IntType):
            return None
        return cls(load, location, loop, view, carried[0], was_computed)

    def is_of_loop(self, value: Value) -> bool:
        """Whether a value is computed in the loop."""
        return (
            isinstance(value, Instruction)
            and value.block is not None
            and self._view.index[value.block] in self._loop.blocks
        )

    def leaves(self) -> list[Value]:
        """What the carried number may become, but for what is chosen by conditions that are not there yet."""
        return [value for value in self._outcomes() if value in self._depending]

    def turns_back(self) -> bool:
        """Whether the number may become another one, which does not come from it: what was put on a stack."""
        return any(
            isinstance(value, Instruction) and value not in self._depending for value in self._outcomes()
        )

    def _outcomes(self) -> list[Value]:
        """What the carried number becomes, behind choices and ways that meet; not where it stays what it is."""
        found: dict[Value, None] = {}
        seen: set[Value] = {self.carried}
        work = [self._following]
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            if isinstance(value, Instruction) and value.op == "select":
                work += value.operands[1:]
            elif isinstance(value, Instruction) and value.is_phi:
                work += value.operands if value.block is not self.carried.block else ()
            else:
                found[value] = None
        return list(found)

    def place(self, algebra: Algebra[Number], way: Way, unit: int) -> Number:
        """The place in the next iteration, in units, by one of the ways."""
        total = algebra.constant(self._location.offset // unit)
        for index, scale in self._location.terms.items():
            number = self._next(algebra, index, way, _DEEPEST)
            total = algebra.binary(
                "add", total, algebra.binary("mul", number, algebra.constant(scale // unit))
            )
        return total

    def _next(self, algebra: Algebra[Number], value: Value, way: Way, deep: int) -> Number:
        if value is self.carried:
            return self._now(algebra, way[0], way[1], _DEEPEST)
        if value not in self._depending:
            return self._now(algebra, value, way[1], deep)
        return self._of_parts(algebra, value, way[1], deep, lambda v: self._next(algebra, v, way, deep - 1))

    def _now(self, algebra: Algebra[Number], value: Value, choice: int, deep: int) -> Number:
        if value.type != I1 and self._is_there(value):
            return algebra.known(value)
        return self._of_parts(algebra, value, choice, deep, lambda v: self._now(algebra, v, choice, deep - 1))

    def _of_parts(
        self, algebra: Algebra[Number], value: Value, choice: int, deep: int, of: Callable[[Value], Number]
    ) -> Number:
        if value.type == I1:
            return algebra.constant(choice)
        if not deep or not isinstance(value, Instruction) or not isinstance(value.type, IntType):
            raise UnknownError
        if value.op in ARITHMETIC:
            return algebra.binary(value.op, of(value.operands[0]), of(value.operands[1]))
        if value.op in _SAME:
            return of(value.operands[0])
        if value.op == "select":
            condition, one, other = value.operands
            counted = _counted_from_the_end(condition)
            return of(counted if counted in (one, other) else (other, one)[choice])
        raise UnknownError

    def _is_there(self, value: Value) -> bool:
        """Whether a value has been computed where the load stands."""
        if not isinstance(value, Instruction):
            return True
        if not self._was_computed(value):
            return False
        block, here = value.block, self._load.block
        assert block is not None and here is not None
        if block is here:
            return value.is_phi or value in self._before
        return self._dominators.dominates(self._view.index[block], self._view.index[here])


def _counted_from_the_end(condition: Value) -> Value | None:
    """An index that is asked whether it is negative: hardly any is."""
    if not isinstance(condition, Instruction) or condition.op != "icmp" or condition.predicate != "slt":
        return None
    index, bound = condition.operands
    return index if isinstance(bound, ConstInt) and not bound.value else None


def _depending_on(carried: Instruction) -> set[Value]:
    """What is computed of a carried number, itself included, up to what is looked up and what other numbers become."""
    found: set[Value] = {carried}
    work: list[Instruction] = [carried]
    while work:
        for user in work.pop().instruction_users():
            if (
                user not in found
                and not user.is_phi
                and (user.op in ARITHMETIC or user.op in (*_SAME, "select"))
            ):
                found.add(user)
                work.append(user)
    return found


def ways_apart(chain: CarriedPlace) -> list[Way]:
    """The ways that lead to places of their own, in order, one for each line; none where there are not at least two.

    How far places are apart is found by numbers for what is there: that is no proof, and need be none.
    """

    def probed(way: Way) -> tuple[int, ...]:
        return tuple(chain.place(_probe(n, chain), way, 1) for n in range(_PROBES))

    found: dict[tuple[int, ...], Way] = {}
    try:
        here = probed((chain.carried, 0))
    except UnknownError:
        return []
    for leaf in chain.leaves():
        for choice in (0, 1):
            try:
                found.setdefault(probed((leaf, choice)), (leaf, choice))
            except UnknownError:
                break
    found.pop(here, None)
    if not 1 < len(found) <= _MOST_WAYS:
        return []
    kept: list[tuple[int, ...]] = []
    for place in sorted(found):
        if not any(_is_near(place, other) for other in kept):
            kept.append(place)
    is_away = not any(_is_near(place, here) for place in kept)
    return [found[place] for place in kept] if is_away and len(kept) <= _MOST_LINES else []


def _is_near(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(abs(a - b) < CACHE_LINE for a, b in zip(one, other, strict=True))


def _probe(number: int, chain: CarriedPlace) -> Algebra[int]:
    """Some number for each that is there, a multiple of 64; few of what the loop does not change, as of columns."""
    numbers: dict[Value, int] = {}

    def known(value: Value) -> int:
        if isinstance(value, ConstInt):
            return value.signed
        if not chain.is_of_loop(value):
            return _FEW
        return numbers.setdefault(value, 64 * (7 * len(numbers) + 5) * (number + 2))

    return Algebra(known, lambda n: n, lambda op, a, b: ARITHMETIC[op](a, b))
