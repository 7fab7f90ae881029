"""Elements of small arrays at one of few places, chosen among the elements there.

    before:  p = select(c, 1, 2)                  behind:  x = select(p == 2, a[2], a[1])
             x = a[p]                                      a[1] = select(p == 1, y, a[1])
             a[p] = y                                      a[2] = select(p == 2, y, a[2])

Rows of a matrix are exchanged so, which pivots ask for. The array can be values then: in lanes, choices between them
are faster than a gather and a scatter, behind which the whole array is in memory.

Precondition: P-LLVM without predicates, shadows and guards; the array is an alloca of which each access is a plain load
or store of one of its elements (`weft.analysis.loops.own_arrays`). Postcondition: valid; where the place of an access
is computed of one number, which is chosen among at most `FEW` constants, it is an access at each of them, unless one is
outside of the array. Preserves the program under FR.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.analysis.loops.followed_rounds import FEW
from weft.analysis.memory.alias import locate
from weft.ir import BasicBlock, Builder, ConstInt, Function, Instruction, Value
from weft.ir.builder import const_int
from weft.ir.layout import DataLayout
from weft.ir.types import I8, Type

_FORWARDING = ("freeze", "phi", "select")


def choose_elements(function: Function, arrays: Iterable[Instruction], blocks: set[BasicBlock]) -> None:
    """Do so for the accesses to these arrays in these blocks."""
    for array in arrays:
        for access in list(_accesses(array)):
            if access.block in blocks:
                _choose(access, array, function.layout)


def _accesses(array: Instruction) -> Iterable[Instruction]:
    work: list[Value] = [array]
    while work:
        for user in work.pop().instruction_users():
            if user.op == "getelementptr":
                work.append(user)
            elif user.is_plain_access:
                yield user


def _choose(access: Instruction, array: Instruction, layout: DataLayout) -> None:
    location = locate(access.pointer, layout)
    if location.base is not array or len(location.terms) != 1:
        return
    ((number, scale),) = location.terms.items()
    numbers = _constants(number)
    if not numbers:
        return
    type = access.type if access.op == "load" else access.stored_value.type
    size, last = layout.store_size(type), _bytes(array, layout) - layout.store_size(type)
    places = {n: location.offset + scale * n for n in numbers}
    # Where it would be outside, or in parts of two elements, the program is left as it is.
    if any(place % size or not 0 <= place <= last for place in places.values()):
        return
    builder = Builder(access.block, access)
    builder.loc = access.loc
    found: Value | None = None
    for n, place in sorted(places.items()):
        pointer = builder.gep(I8, array, (const_int(place),))
        there = builder.load(type, pointer, _align(place, array, type, layout))
        if access.op == "load" and found is None:
            found = there
            continue
        is_here = builder.icmp("eq", number, const_int(n, number.type))
        if access.op == "load":
            assert found is not None
            found = builder.select(is_here, there, found)
        else:
            chosen = builder.select(is_here, access.stored_value, there)
            builder.store(chosen, pointer, _align(place, array, type, layout))
    if found is not None:
        access.replace_all_uses(found)
    access.erase()


def _constants(value: Value) -> set[int] | None:
    """The few constants among which a number is chosen; None if there are others, or none."""
    found, seen, work = set[int](), set[Value](), [value]
    while work:
        at = work.pop()
        if at in seen:
            continue
        seen.add(at)
        if isinstance(at, ConstInt):
            found.add(at.signed)
        elif isinstance(at, Instruction) and at.op in _FORWARDING:
            work += at.operands[1:] if at.op == "select" else at.operands
        else:
            return None
    return found if len(found) <= FEW else None


def _bytes(array: Instruction, layout: DataLayout) -> int:
    (count,) = array.operands
    assert isinstance(count, ConstInt)
    return layout.size(array.attrs["allocated_type"]) * count.value


def _align(place: int, array: Instruction, type: Type, layout: DataLayout) -> int:
    """What is known of an address, by the alignment of the array."""
    known = array.attrs["align"] or layout.align(array.attrs["allocated_type"])
    while place % known:
        known //= 2
    return min(known, layout.align(type))
