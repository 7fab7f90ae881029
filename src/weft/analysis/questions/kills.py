"""What may change a place in memory between two points of a thread's program (rule 4 of paper 004, §4.2).

The rules follow `docs/memory_model.md`. Another thread's plain store is seen behind a barrier only, and what orders
memory (barriers, fences, atomic operations stronger than monotonic, calls that may do any of this) changes all that
other threads can reach. A thread's own store changes what it may overlap with: by object, by linear distance, by
range. Private objects that do not escape are changed by the thread's own accesses alone; constant memory is not
changed.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from weft.analysis.integers.intervals import Interval
from weft.analysis.memory.alias import Alias, Location, alias, are_apart, is_same_object
from weft.analysis.memory.promises import Promise
from weft.analysis.memory.stack_objects import StackObjects, is_block_write
from weft.analysis.questions.places import Place, Places, difference
from weft.analysis.questions.polynomials import Monomial, Narrow, as_narrow
from weft.ir import GlobalVariable, Instruction, Value
from weft.ir.effects import may_not_return, may_read, may_write
from weft.ir.types import PointerType

_WEAK = ("monotonic", "unordered")
_HARMLESS = ("llvm.assume", "llvm.dbg.", "llvm.experimental.noalias.scope.decl", "llvm.invariant.")
_CONSTANT_SPACE = 4

RangeOf = Callable[[Value], Interval | None]
"""What is known of a value's range, extended by sign."""


class Kills(Struct):
    """Which instructions may change which places, in one function.

    Parameters
    ----------
    places
        The function's places.
    objects
        Its stack objects.
    range_of
        Ranges of its integers; nothing is known of them by default.
    promise
        What the launcher promises of its arguments.
    """

    places: Places
    objects: StackObjects
    range_of: RangeOf = lambda value: None
    promise: Promise | None = None
    _apart: dict[tuple[Value, Value], bool] = field(default_factory=dict)

    def changes(self, instruction: Instruction, place: Place) -> bool:
        """Whether the instruction may change what is at the place, or let the thread see that others did."""
        op = instruction.op
        if op == "store" and instruction.is_plain_access:
            return self.overlaps(instruction, place)
        if not may_write(instruction) or is_constant(place.base):
            return False
        if op == "call":
            return self._call_changes(instruction, place)
        if op in ("load", "store", "atomicrmw", "cmpxchg") and self.overlaps(instruction, place):
            return True
        return _orders_memory(instruction) and not self.is_private(place)

    def is_private(self, place: Place) -> bool:
        """Whether the place is in a stack object that nobody else can reach."""
        sites = self.objects.of(place.base)
        return bool(sites) and sites.isdisjoint(self.objects.escaped)

    def _call_changes(self, call: Instruction, place: Place) -> bool:
        name = call.callee_name or ""
        if name.startswith(_HARMLESS):
            return False
        if is_block_write(call):
            return not self.are_apart(self.places.of(call.args[0], place.type).base, place.base)
        if name.startswith("llvm.lifetime."):
            pointer = next(a for a in call.args if isinstance(a.type, PointerType))
            return not self.are_apart(self.places.of(pointer, place.type).base, place.base)
        return not self.is_private(place)

    def are_apart(self, a: Value, b: Value) -> bool:
        """Whether two bases lead to different objects."""
        if a is b or is_same_object(a, b):
            return False
        if are_apart(a, b):
            return True
        if self.promise is not None and self.promise.parts(a, b):
            return True
        sites, others = self.objects.of(a), self.objects.of(b)
        if sites and others:
            return sites.isdisjoint(others)
        return bool(sites or others) and (sites or others).isdisjoint(self.objects.escaped)

    def leaves_alone(self, instruction: Instruction, place: Place) -> bool:
        """Whether the instruction neither reads nor changes what is at the place, nor shows it to others."""
        if instruction.is_plain_access:
            return not self.overlaps(instruction, place)
        if self.changes(instruction, place):
            return False
        return (
            self.is_private(place)
            or not (may_read(instruction) or may_not_return(instruction))
            or (instruction.op in ("load", "atomicrmw", "cmpxchg"))
        )

    def overlaps(self, access: Instruction, place: Place) -> bool:
        """Whether an access may touch the bytes of the place."""
        other = self.places.of_access(access)
        if other.base is not place.base and self._are_known_apart(other.base, place.base):
            return False
        layout = self.places.layout
        size, other_size = layout.store_size(place.type), layout.store_size(other.type)
        if alias(_location(place), size, _location(other), other_size) is Alias.NO:
            return False
        return not (other.base is place.base and self._distant(place, size, other, other_size))

    def _are_known_apart(self, a: Value, b: Value) -> bool:
        """`are_apart`, kept: functions have many accesses and few bases."""
        known = self._apart.get((a, b))
        if known is None:
            known = self._apart[a, b] = self.are_apart(a, b)
        return known

    def _distant(self, a: Place, size: int, b: Place, other_size: int) -> bool:
        """Whether the ranges of what two addresses differ in keep the accesses apart."""
        low, rest = difference(a, b)
        high = low
        narrow = _narrow_distances(rest)
        if narrow is not None:
            return all(low + d >= other_size or low + d <= -size for d in narrow)
        for monomial, coefficient in rest.items():
            value, signed = monomial[0]
            if len(monomial) != 1 or not signed or isinstance(value, Narrow):
                return False
            interval = self.range_of(value)
            if interval is None:
                return False
            ends = sorted((coefficient * interval[0], coefficient * interval[1]))
            low, high = low + ends[0], high + ends[1]
        if low < -(1 << 62) or high >= 1 << 62:
            return False
        return low >= other_size or high <= -size


def is_constant(base: Value) -> bool:
    """Whether nobody writes the memory that a base leads to."""
    if isinstance(base, GlobalVariable) and base.is_constant:
        return True
    return isinstance(base.type, PointerType) and base.type.space == _CONSTANT_SPACE


def _location(place: Place) -> Location:
    # Terms are monomials here: `alias` asks whether they are equal, and for their coefficients.
    return Location(place.base, place.offset, dict(place.terms))  # type: ignore[arg-type]


def _narrow_distances(rest: dict[Monomial, int]) -> list[int] | None:
    """What the difference of two extended sums can be, if these differ by a constant modulo their bits."""
    if len(rest) != 2:
        return None
    (first, c), (second, d) = rest.items()
    if c != -d or len(first) != 1 or len(second) != 1 or first[0][1] != second[0][1]:
        return None
    if not isinstance(first[0][0], Narrow) and not isinstance(second[0][0], Narrow):
        return None
    a, b = as_narrow(first[0][0]), as_narrow(second[0][0])
    if a.bits != b.bits or a.terms != b.terms:
        return None
    apart, whole = a.offset - b.offset, 1 << a.bits
    return [c * k for k in (apart - whole, apart, apart + whole)]


def _orders_memory(instruction: Instruction) -> bool:
    """Whether other threads' stores may be seen behind it: fences, atomic operations that say so, volatile accesses."""
    attrs = instruction.attrs
    if attrs.get("volatile") or instruction.op not in ("load", "store", "atomicrmw", "cmpxchg"):
        return True
    orderings = [attrs.get(key) for key in ("ordering", "success", "failure") if attrs.get(key)]
    return any(ordering not in _WEAK for ordering in orderings)
