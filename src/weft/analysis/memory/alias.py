"""Whether two accesses may touch the same bytes: by object, then by linear offset.

An address is taken apart into an *object*, an offset in bytes that is a constant, and multiples of index values. Two
addresses in different identified objects (allocas, globals, ``noalias`` arguments, shared objects) do not alias, nor
do a ``noalias`` argument and any other argument, as in LLVM; two with the same object and the same multiples differ
by a constant, which tells. All answers hold for one thread, for one execution of both addresses without a redefinition
of the indices in between.

Escape: an object whose address never leaves the function's own pointers (`escapes`) is not touched by calls, nor
through pointers that come from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from weft.analysis.memory.addresses import decompose, with_factors
from weft.analysis.memory.stack_objects import StackObjects
from weft.ir import Argument, ConstExpr, GlobalVariable, Instruction, Value
from weft.ir.heap import is_allocation
from weft.ir.intrinsics import FIRST, IntrinsicKind, kind_of
from weft.ir.layout import DataLayout

MAX_DEPTH = 32
"""How many getelementptrs and casts are followed."""

MAX_BASES = 8
"""How many φs and choices are followed on the way to where a pointer begins."""


class Alias(Enum):
    """How two accesses are related."""

    NO = "no"
    """They touch no common byte."""
    MAY = "may"
    """Nothing is known."""
    MUST = "must"
    """They begin at the same byte."""


class Location(Struct, frozen=True):
    """``base + offset + Σ scale·index``, in bytes.

    Parameters
    ----------
    base
        Where the walk ended: an object, or a pointer of unknown origin.
    offset
        The constant part.
    terms
        The scale of each index, in an order that follows from the program's text: code is made from it.
    """

    base: Value
    offset: int
    terms: Mapping[Value, int]


def locate(pointer: Value, layout: DataLayout) -> Location:
    """Take an address apart."""
    offset = 0
    terms: dict[Value, int] = {}
    for _ in range(MAX_DEPTH):
        if not isinstance(pointer, (Instruction, ConstExpr)):
            break
        if pointer.op == "getelementptr" and not pointer.type.is_vector:
            address = with_factors(decompose(pointer.operands, pointer.source_type, layout))
            offset += address.offset
            for index, scale in zip(address.indices, address.scales, strict=True):
                terms[index] = terms.get(index, 0) + scale
            pointer = address.base
        elif pointer.op in ("bitcast", "addrspacecast", "freeze"):
            pointer = pointer.operands[0]
        else:
            break
    return Location(pointer, offset, {index: scale for index, scale in terms.items() if scale})


def bases_of(pointer: Value, layout: DataLayout) -> set[Value]:
    """Where a pointer begins, by whichever way it has come."""
    found: set[Value] = set()
    seen: set[Value] = set()
    work = [pointer]
    while work:
        base = locate(work.pop(), layout).base
        if base in seen:
            continue
        seen.add(base)
        if isinstance(base, Instruction) and len(seen) < MAX_BASES:
            if base.is_phi:
                work += [value for value, _ in base.incoming()]
                continue
            if base.op == "select":
                work += base.operands[1:]
                continue
        found.add(base)
    return found


def is_identified(value: Value) -> bool:
    """Whether the pointer is the address of an object of its own: no other such object overlaps it."""
    if isinstance(value, GlobalVariable):
        return True
    if isinstance(value, Argument):
        return "noalias" in value.attributes or any(text.startswith("byval") for text in value.attributes)
    if isinstance(value, Instruction):
        return _is_own(value) or kind_of(value.callee_name) is IntrinsicKind.SHARED
    return False


def goes_to_shared(pointer: Value) -> bool:
    """Whether a pointer leads into an object that the lanes of a group share."""
    while isinstance(pointer, Instruction) and pointer.op == "getelementptr":
        pointer = pointer.operands[0]
    return isinstance(pointer, Instruction) and pointer.callee_name == FIRST


def are_apart(a: Value, b: Value) -> bool:
    """Whether two pointers, not derived from others, lead to different objects.

    No argument leads into what the function makes itself. What one argument owns, no other leads to while it runs.
    """
    if a is b or is_same_object(a, b):
        return False
    if is_identified(a) and is_identified(b):
        return True
    if isinstance(a, Argument) and isinstance(b, Argument):
        return is_identified(a) or is_identified(b)
    return (_is_own(a) and isinstance(b, Argument)) or (_is_own(b) and isinstance(a, Argument))


def _is_own(pointer: Value) -> bool:
    """Whether it leads into an object that a thread that runs the function has made there."""
    if not isinstance(pointer, Instruction):
        return False
    return pointer.op == "alloca" or is_allocation(pointer) or pointer.callee_name == FIRST


def alias(a: Location, a_bytes: int, b: Location, b_bytes: int) -> Alias:
    """How accesses of so many bytes at two locations are related."""
    if a.base is not b.base and not is_same_object(a.base, b.base):
        return Alias.NO if are_apart(a.base, b.base) else Alias.MAY
    if a.terms != b.terms:
        return _by_common_factor(a, a_bytes, b, b_bytes)
    distance = b.offset - a.offset
    if distance == 0:
        return Alias.MUST
    return Alias.NO if distance >= a_bytes or -distance >= b_bytes else Alias.MAY


def is_same_object(a: Value, b: Value) -> bool:
    """Shared objects are the same when their numbers are."""
    return (
        isinstance(a, Instruction)
        and isinstance(b, Instruction)
        and kind_of(a.callee_name) is IntrinsicKind.SHARED
        and a.callee_name == b.callee_name
        and a.args == b.args
    )


def _by_common_factor(a: Location, a_bytes: int, b: Location, b_bytes: int) -> Alias:
    """Addresses whose variable parts are multiples of one power of two differ by their constants modulo it.

    Only a power of two survives if an address computation wraps around.
    """
    factor = 0
    for scale in (*a.terms.values(), *b.terms.values()):
        factor |= scale
    factor &= -factor
    distance = (b.offset - a.offset) % factor
    return Alias.NO if distance >= a_bytes and factor - distance >= b_bytes else Alias.MAY


class AliasAnalysis:
    """Alias questions about one function's loads, stores and atomics.

    Parameters
    ----------
    objects
        Its stack objects, with those that escape.
    layout
        The data layout of its module.
    """

    __slots__ = ("_layout", "_locations", "_objects")

    def __init__(self, objects: StackObjects, layout: DataLayout) -> None:
        self._objects = objects
        self._layout = layout
        self._locations: dict[Value, Location] = {}

    def location(self, pointer: Value) -> Location:
        """`locate`, remembered."""
        found = self._locations.get(pointer)
        if found is None:
            found = self._locations[pointer] = locate(pointer, self._layout)
        return found

    def escapes(self, value: Value) -> bool:
        """Whether an object may be touched through pointers that do not come from its address in the function."""
        return value not in self._objects.sites or value in self._objects.escaped

    def alias(self, a: Value, a_bytes: int, b: Value, b_bytes: int) -> Alias:
        """How accesses through two pointers are related."""
        here, there = self.location(a), self.location(b)
        found = alias(here, a_bytes, there, b_bytes)
        if found is Alias.MAY and here.base is not there.base and self._apart(a, b):
            return Alias.NO
        return found

    def _apart(self, a: Value, b: Value) -> bool:
        """Whether one pointer leads to stack objects to which the other one cannot."""
        sites, others = self._objects.of(a), self._objects.of(b)
        if sites and others:
            return sites.isdisjoint(others)
        kept = sites or others
        return bool(kept) and not any(self.escapes(site) for site in kept)
