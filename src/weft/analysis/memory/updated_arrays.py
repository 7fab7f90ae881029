"""Arrays of a kernel that its threads only update, so that each thread of the processor may do so in a copy of its own.

The threads of a launch do nothing with such an array but atomic operations whose results nobody uses, all by the same
operation that may be done in any order: on integers, and on floats where the kernel may be reassociated (fastmath).
Then who updates an element when cannot be told from what is in memory behind the launch (privatization; Juravle, §4.1:
a histogram is "atomic or privatized").

How many bytes are updated is known where the extents of the array, or its bytes, are parameters of the kernel, or where
ranges bound the places of all updates.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from weft.analysis.divergence import FunctionFacts
from weft.analysis.integers.intervals import Interval
from weft.analysis.memory.update_counts import UpdateCount, update_counts
from weft.analysis.questions.kills import Kills, Promise
from weft.analysis.questions.places import Place, Places
from weft.analysis.questions.polynomials import Atom, Narrow
from weft.ir import Argument, Function, Instruction
from weft.ir.array_sizes import sized_parameters, updates_alone
from weft.ir.effects import may_read, may_write
from weft.ir.intrinsics import REASSOCIATE_ATTRIBUTE
from weft.ir.types import I8, FloatType, IntType, PointerType, Type

LARGEST = 1 << 20
"""Bytes of the largest array that copies are made of."""

_KINDS = {
    "add": "add", "sub": "add", "fadd": "fadd", "fsub": "fadd",
    **{name: name for name in ("and", "or", "xor", "min", "max", "umin", "umax")},
}  # fmt: skip
"""Operations that may be mixed have the same kind."""


class Extent(Struct, frozen=True):
    """The bytes from where an array begins to where the last update may end.

    Parameters
    ----------
    size
        Those of an element; or all, if there is no shape. 1 where the one extent counts bytes, of which 0 may be any
        number.
    shape, strides
        The numbers of the kernel's parameters that have its extents, and the bytes from one element to the next; no
        strides if elements lie one behind the other.
    """

    size: int
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


class UpdatedArray(Struct, frozen=True):
    """An array that threads only update.

    Parameters
    ----------
    number, name
        The kernel's parameter that leads to it.
    type
        That of its elements.
    kind
        The operation, as ``atomicrmw`` names it; ``add`` and ``fadd`` for differences, too.
    align
        What the elements begin at a multiple of.
    extent
        Where the updates may be.
    counts
        How many elements a thread updates, in each block that updates some.
    """

    number: int
    name: str
    type: IntType | FloatType
    kind: str
    align: int
    extent: Extent
    counts: tuple[UpdateCount, ...]

    @property
    def size(self) -> int:
        """The bytes of an element."""
        return self.type.bits // 8


class UpdatedArrays(Struct, frozen=True):
    """What was found.

    Parameters
    ----------
    arrays, updates
        The arrays, and all atomic operations on each.
    arrays_apart
        Whether that holds only where no two arrays overlap, as the launcher promises.
    """

    arrays: tuple[UpdatedArray, ...] = ()
    updates: tuple[tuple[Instruction, ...], ...] = ()
    arrays_apart: bool = False


def updated_arrays(facts: FunctionFacts) -> UpdatedArrays:
    """The arrays that the threads of a kernel only update."""
    function = facts.function
    atomics = [i for i in facts.instructions if i.op == "atomicrmw"]
    if not atomics:
        return UpdatedArrays()
    promise = Promise.of(function)
    places = Places(function.layout)
    kills = Kills(places, facts.objects, facts.ranges.of, promise)
    reassociate = function.attribute(REASSOCIATE_ATTRIBUTE) is not None
    arrays: list[UpdatedArray] = []
    found: list[tuple[Instruction, ...]] = []
    for number, argument in enumerate(function.args):
        updates = [i for i in atomics if places.of_access(i).base is argument]
        kind = _kind_of(updates, reassociate) if updates else None
        extent = None if kind is None else _extent(function, argument, updates, kills)
        if kind is None or extent is None or not _are_alone(facts, argument, updates, kills):
            continue
        type, align = updates[0].accessed_type, min(i.alignment for i in updates)
        assert isinstance(type, IntType | FloatType)
        counts = update_counts(facts.view, facts.propagation.loops, updates)
        arrays.append(UpdatedArray(number, argument.name, type, kind, align, extent, counts))
        found.append(tuple(updates))
    apart = bool(arrays) and promise is not None and promise.is_used
    return UpdatedArrays(tuple(arrays), tuple(found), apart)


def _kind_of(updates: list[Instruction], reassociate: bool) -> str | None:
    """The operation of updates that may be done in any order; None for others."""
    kinds = {_KINDS.get(i.attrs["rmw"]) for i in updates}
    types: set[Type] = {i.accessed_type for i in updates}
    if len(kinds) != 1 or len(types) != 1 or any(i.is_used or i.attrs.get("volatile") for i in updates):
        return None
    type = types.pop()
    if isinstance(type, IntType):
        is_free = type.bits in (8, 16, 32, 64)
    else:
        is_free = isinstance(type, FloatType) and type.bits in (32, 64) and reassociate
    return kinds.pop() if is_free else None


def _are_alone(facts: FunctionFacts, argument: Argument, updates: list[Instruction], kills: Kills) -> bool:
    """Whether nothing else in the kernel reads or writes what the argument leads to, or shows it to others."""
    own = set(updates)
    found = updates_alone(argument)
    if not found or not found <= own:
        return False
    return all(i in own or _leaves_alone(i, argument, kills) for i in facts.instructions)


def _leaves_alone(instruction: Instruction, argument: Argument, kills: Kills) -> bool:
    if instruction.op in ("load", "store", "atomicrmw", "cmpxchg"):
        return kills.are_apart(kills.places.of_access(instruction).base, argument)
    if instruction.op != "call" or not (may_read(instruction) or may_write(instruction)):
        return True
    if not (instruction.callee_name or "").startswith(("llvm.", "weft.")):
        return False
    pointers = (a for a in instruction.args if isinstance(a.type, PointerType))
    return all(kills.are_apart(kills.places.of(p, I8).base, argument) for p in pointers)


def _extent(
    function: Function, argument: Argument, updates: list[Instruction], kills: Kills
) -> Extent | None:
    """Where the updates may be, if that is known before the launch."""
    ends = [_bounds(kills.places.of_access(i), kills) for i in updates]
    size = kills.places.layout.store_size(updates[0].accessed_type)
    known = [e for e in ends if e is not None]
    if len(known) == len(ends) and all(low >= 0 for low, _ in known):
        most = max(high for _, high in known) + size
        if most <= LARGEST:
            return Extent(-(-most // size) * size)
    numbers = {a.name: k for k, a in enumerate(function.args)}
    whole = sized_parameters(function.args).get(argument.index)
    if whole is not None:
        return Extent(1, (whole,))
    shape, strides = (tuple(_numbered(f"{argument.name}.{part}.", numbers)) for part in ("shape", "strides"))
    if not shape or len(strides) not in (0, len(shape)):
        return None
    return Extent(size, shape, strides)


def _numbered(prefix: str, numbers: dict[str, int]) -> Iterable[int]:
    dimension = 0
    while (number := numbers.get(f"{prefix}{dimension}")) is not None:
        yield number
        dimension += 1


def _bounds(place: Place, kills: Kills) -> Interval | None:
    """Between which bytes of its object a place begins, if ranges tell."""
    low = high = place.offset
    for monomial, coefficient in place.terms:
        interval = _atom_range(monomial[0], kills) if len(monomial) == 1 else None
        if interval is None:
            return None
        ends = sorted((coefficient * interval[0], coefficient * interval[1]))
        low, high = low + ends[0], high + ends[1]
    return Interval(low, high)


def _atom_range(atom: Atom, kills: Kills) -> Interval | None:
    value, signed = atom
    if isinstance(value, Narrow):
        return None
    known = kills.range_of(value)
    if signed or (known is not None and known[0] >= 0):
        return known
    return Interval(0, (1 << value.type.bits) - 1) if isinstance(value.type, IntType) else None
