"""What a walk knows of extents: which numbers are the same, and which are 1 or another one.

Shapes are checked where arrays meet. Behind a check, wherever control can only come through it, what it has found is
known: that an extent is another one, or is 1. This is transitive, so of expressions on arrays that have met before
nothing is asked again, and their extents are values that exist.

Two values are one number where the same is computed of the same numbers, and where a variable's slot is loaded that has
not been assigned to since another load, or since a value was stored. A loop forgets, as it begins, what it assigns to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from weft.frontend.python.lowering.places import Place
from weft.ir.constants import ConstInt
from weft.ir.heap import is_allocation
from weft.ir.instruction import Instruction
from weft.ir.values import Argument, Value

if TYPE_CHECKING:
    from weft.frontend.python.lowering.context import Lowering

Number = Value | int
"""What stands for all values that are the same number: the first of them, or the number itself."""

_PURE = frozenset(
    (
        "add",
        "getelementptr",
        "icmp",
        "mul",
        "ptrtoint",
        "sdiv",
        "select",
        "sext",
        "sub",
        "trunc",
        "udiv",
        "zext",
    )
)
_EXTREMES = frozenset(f"llvm.{name}.i64" for name in ("smin", "smax", "umin", "umax"))

_DEEPEST = 32
"""Values computed in more steps than that are not looked through."""

_MOST = 64
"""How many extents are looked at to find out what is known of one."""

Fact = tuple[Value, Value]
"""The first value is the second one, or 1."""


class KnownExtents:
    """What is known in one walk over one function."""

    __slots__ = ("_contents", "_joined", "_low", "_numbers", "_same", "_uppers")

    def __init__(self, low: Lowering) -> None:
        self._low = low
        self._numbers: dict[Value, Number] = {}
        self._same: dict[object, Value] = {}
        self._contents: dict[Value, tuple[Value, Place]] = {}
        self._uppers: dict[Number, dict[Number, list[Place]]] = {}
        self._joined: dict[tuple[Number, Number], list[tuple[Value, Place]]] = {}

    def stored(self, slot: Value, value: Value) -> None:
        """Note what a variable's slot holds from here on."""
        place = self._here()
        if place is None:
            self._contents.pop(slot, None)
        else:
            self._contents[slot] = (value, place)

    def loaded(self, slot: Value, load: Value) -> None:
        """Note that this is what a variable's slot holds."""
        held = self._contents.get(slot)
        if held is not None and self._is_before(held[1]):
            self._numbers[load] = self.number(held[0])
        else:
            self.stored(slot, load)

    def forget(self, slots: Iterable[Value]) -> None:
        """Know no more what slots hold: a loop begins that assigns to them."""
        for slot in slots:
            self._contents.pop(slot, None)

    def note_length(self, length: Value, extent: Value, left_out: int) -> None:
        """Note that this is what is left of an extent without so many elements, or 0 where there are fewer."""
        if not isinstance(length, ConstInt):
            key = "length", self.number(extent), left_out
            self._numbers[length] = self._same.setdefault(key, length)

    def number(self, value: Value) -> Number:
        """What stands for all values that are known to be the same."""
        return self._number(value, _DEEPEST)

    def _number(self, value: Value, depth: int) -> Number:
        if isinstance(value, ConstInt):
            return value.signed
        found = self._numbers.get(value)
        if found is not None:
            return found
        key = self._key(value, depth) if depth else None
        number = value if key is None else self._same.setdefault(key, value)
        self._numbers[value] = number
        return number

    def _key(self, value: Value, depth: int) -> object:
        """What makes two values the same number; None where it is not looked at."""
        if not isinstance(value, Instruction):
            return None
        if value.op == "call" and value.callee_name in _EXTREMES:
            what: object = value.callee_name
            of = value.operands[:-1]
        elif value.op in _PURE:
            what = value.attrs.get("predicate", value.attrs.get("source_type"))
            of = value.operands
        else:
            return None
        numbers = tuple((self._number(operand, depth - 1), operand.type) for operand in of)
        return value.op, value.type, what, numbers

    def are_same(self, ones: Sequence[Value], others: Sequence[Value]) -> bool:
        """Whether values are known to be the same, each as the other in its place."""
        return len(ones) == len(others) and all(
            one is other or self.number(one) == self.number(other)
            for one, other in zip(ones, others, strict=True)
        )

    def are_apart(self, one: Value, other: Value) -> bool:
        """Whether two addresses are known to lead into different memory: one of them to what the function allocates.

        The other leads to what has been there before it was called, or is allocated in another place.
        """
        roots = self._root(one), self._root(other)
        return (
            roots[0] is not roots[1]
            and any(map(is_allocation, roots))
            and all(isinstance(root, Argument) or is_allocation(root) for root in roots)
        )

    def _root(self, address: Value) -> Value:
        """What an address is computed from."""
        while True:
            value = self.number(address)
            if not (isinstance(value, Instruction) and value.op == "getelementptr"):
                return address if isinstance(value, int) else value
            address = value.operands[0]

    def are_equal(self, one: Value, other: Value) -> bool:
        """Whether two extents are known to be the same here."""
        return one is other or (self.fits(one, other) and self.fits(other, one))

    def fits(self, one: Value, other: Value) -> bool:
        """Whether it is known here that an extent is another one, or is 1."""
        mine, wanted = self.number(one), self.number(other)
        return mine == wanted or mine == 1 or wanted in self._above(mine)

    def fit_together(self, one: Value, other: Value) -> bool:
        """Whether there is an extent known here to which both fit."""
        return not self._above(self.number(one)).isdisjoint(self._above(self.number(other)))

    def learn(self, facts: Iterable[Fact]) -> None:
        """Note what is known where control comes through here."""
        place = self._here()
        if place is None:
            return
        for one, other in facts:
            mine, wanted = self.number(one), self.number(other)
            if mine not in (wanted, 1):
                self._uppers.setdefault(mine, {}).setdefault(wanted, []).append(place)

    def joined(self, one: Value, other: Value) -> Value | None:
        """The extent of an operation on arrays of these, where it has been computed before."""
        for value, place in self._joined.get((self.number(one), self.number(other)), ()):
            if self._is_before(place):
                return value
        return None

    def keep_joined(self, one: Value, other: Value, value: Value) -> None:
        """Note the extent of an operation on arrays of these, computed here."""
        place = self._here()
        if place is not None:
            self._joined.setdefault((self.number(one), self.number(other)), []).append((value, place))

    def _above(self, number: Number) -> set[Number]:
        """The extents that one is known to be, or to be 1: those that are found soon."""
        found = {number}
        pending = [number]
        while pending and len(found) < _MOST:
            for upper, places in self._uppers.get(pending.pop(), {}).items():
                if upper not in found and any(map(self._is_before, places)):
                    found.add(upper)
                    pending.append(upper)
        return found

    def _here(self) -> Place | None:
        return self._low.places.at(self._low.builder.block)

    def _is_before(self, place: Place) -> bool:
        return self._low.places.is_before(place, self._low.builder.block)
