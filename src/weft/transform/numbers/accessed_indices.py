"""What an index may be if what is computed from it is accessed.

An object of less than 2 GiB, as shared memory is, has no byte that is 2 GiB or more from a pointer that leads into it.
So where memory is accessed at ``base + scale·x + offset``, x is in an interval; in a thread in which it is not, the
access is outside the object, which is undefined. `window` is what x is in if the thread is defined, whatever comes of
x. There are two ways to know that:

* The first that x is used for is an access in its own block. Whoever has computed x comes to that access, or to nothing
  more, before anything else is done with x.
* Every use ends in the address of an access. If x is outside all of their intervals, each of them is undefined.

Where the object begins at the pointer, as arrays do that are passed from Python, the interval begins there, too.

A number that goes around a loop is accessed with distances that grow. There the first way is taken behind the φ:
whoever comes along the edge comes to the first access of the φ's block.
"""

from __future__ import annotations

from msgspec import Struct

from weft.analysis.integers.intervals import Interval
from weft.analysis.memory.alias import locate
from weft.ir import Argument, ConstInt, Function, Instruction, Value
from weft.ir.effects import is_speculatable
from weft.ir.function import GlobalVariable
from weft.ir.intrinsics import (
    ARRAY_BEGINS_ATTRIBUTE,
    SHARED_SPACE,
    SMALL_ARRAYS_ATTRIBUTE,
    IntrinsicKind,
    kind_of,
)
from weft.ir.types import I64, PointerType

_REACH = (1 << 31) - 1
_ACCESSES = ("load", "store", "atomicrmw", "cmpxchg")
_MOST_USES = 256


class _Place(Struct, frozen=True):
    """``scale·x + offset``, as a number, or as that many bytes from a pointer into a small object, or to its begin."""

    scale: int
    offset: int
    is_pointer: bool = False
    from_begin: bool = False

    @property
    def least(self) -> int:
        """The least x that is in the object."""
        return -((self.offset if self.from_begin else _REACH + self.offset) // self.scale)


def window(number: Instruction, function: Function) -> Interval | None:
    """What a number of 64 bits is in, in each thread that is defined and uses it; None if that is not known."""
    start = _Place(1, 0)
    first = _first_access(number, start, function)
    found = [first] if first is not None else _accesses(number, start, function)
    if not found:
        return None
    return Interval(
        min(p.least for p in found),
        max((_REACH - p.offset) // p.scale for p in found),
    )


def _accesses(number: Instruction, start: _Place, function: Function) -> list[_Place]:
    """The accesses that all uses of a number end in; none if there are other uses."""
    found: list[_Place] = []
    work: list[tuple[Value, _Place]] = [(number, start)]
    uses = 0
    while work:
        value, place = work.pop()
        for user in value.instruction_users():
            uses += 1
            if uses > _MOST_USES:
                return []
            if user.op == "phi":
                first = _first_access(user, place, function)
                if first is None:
                    return []
                found.append(first)
            elif user.op in _ACCESSES:
                if not _only_accesses(user, value, place):
                    return []
                found.append(place)
            else:
                further = _follow(user, value, place, function)
                if further is None:
                    return []
                work.append((user, further))
    return found


def first_access(number: Instruction, function: Function) -> Instruction | None:
    """The access to a small object that is the first use of a number in its block, at a place computed of it alone."""
    assert number.block is not None
    place = _first_access(number, _Place(1, 0), function)
    if place is None:
        return None
    instructions = number.block.instructions
    derived: set[Value] = {number}
    for i in instructions[instructions.index(number) + 1 :]:
        if i.op != "phi" and any(o in derived for o in i.operands):
            if i.op in _ACCESSES:
                return i
            derived.add(i)
    return None


def is_small(base: Value, function: Function) -> bool:
    """Whether a pointer leads into an object of less than 2 GiB."""
    if isinstance(base.type, PointerType) and base.type.space == SHARED_SPACE:
        return isinstance(base, Argument) or _is_shared_memory(base)
    if isinstance(base, Argument):
        return function.attribute(SMALL_ARRAYS_ATTRIBUTE) is not None
    return isinstance(base, GlobalVariable) or (isinstance(base, Instruction) and base.op == "alloca")


def _begins(base: Value, function: Function) -> bool:
    """Whether a pointer is where its object begins."""
    return isinstance(base, Argument) and function.attribute(ARRAY_BEGINS_ATTRIBUTE) is not None


def _is_shared_memory(value: Value) -> bool:
    return isinstance(value, Instruction) and kind_of(value.callee_name) is IntrinsicKind.SHARED


def _only_accesses(access: Instruction, value: Value, place: _Place) -> bool:
    """Whether an instruction uses a value as its address, and no other way."""
    return place.is_pointer and [o for o in access.operands if o is value] == [access.pointer]


def _follow(user: Instruction, value: Value, place: _Place, function: Function) -> _Place | None:
    """What comes of a place by an instruction that uses it; None if that is not known."""
    operands = user.operands
    if user.op in ("shl", "mul") and user.type == I64 and isinstance(operands[1], ConstInt):
        amount = operands[1].signed
        if amount <= 0 or (user.op == "shl" and amount > 31) or amount > _REACH:
            return None
        factor = 1 << amount if user.op == "shl" else amount
        return _checked(_Place(place.scale * factor, place.offset * factor))
    if user.op in ("add", "sub") and user.type == I64 and isinstance(operands[1], ConstInt):
        distance = operands[1].signed if user.op == "add" else -operands[1].signed
        return _checked(_Place(place.scale, place.offset + distance))
    if user.op == "addrspacecast" and place.is_pointer:
        return place
    if user.op != "getelementptr" or len(operands) != 2 or user.type.is_vector:
        return None
    size = function.layout.size(user.source_type)
    if place.is_pointer:
        index = operands[1]
        if not isinstance(index, ConstInt):
            return None
        return _checked(_Place(place.scale, place.offset + size * index.signed, True, place.from_begin))
    base = locate(operands[0], function.layout)
    if operands[0] is value or not size or not is_small(base.base, function):
        return None
    # A place in the object is as good as its beginning.
    if base.terms and not _is_inside(operands[0]):
        return None
    offset = 0 if base.terms else base.offset
    begins = not base.terms and _begins(base.base, function)
    return _checked(_Place(place.scale * size, place.offset * size + offset, True, begins))


def _is_inside(pointer: Value) -> bool:
    """Whether a pointer into an object is in it, or behind its last byte."""
    return isinstance(pointer, Instruction) and pointer.op == "getelementptr" and "inbounds" in pointer.flags


def _checked(place: _Place) -> _Place | None:
    """The place, if 64 bits have room for it whatever a number of 32 bits is."""
    return place if place.scale <= _REACH and abs(place.offset) <= _REACH else None


def _first_access(number: Instruction, place: _Place, function: Function) -> _Place | None:
    """The first use of a number in its block, behind computations that have no effect, if that is an access."""
    assert number.block is not None
    derived: dict[Value, _Place | None] = {number: place}
    instructions = number.block.instructions
    for i in instructions[instructions.index(number) + 1 :]:
        used = [] if i.op == "phi" else [o for o in i.operands if o in derived]
        if not used:
            continue
        known = derived[used[0]]
        if i.op in _ACCESSES:
            return known if known is not None and _only_accesses(i, used[0], known) else None
        if not is_speculatable(i):
            return None
        derived[i] = _follow(i, used[0], known, function) if known is not None and len(used) == 1 else None
    return None
