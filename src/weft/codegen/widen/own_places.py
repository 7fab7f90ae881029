"""Accesses of lanes at places of their own in their own stack objects, where gathers and scatters are taken apart.

Elements of these objects lie side by side across the lanes (`weft.codegen.widen.stack_objects`), so that a place is a
number of elements behind one address, in 32 bits: the loads and stores that LLVM makes of it take that out of a
vector and add it. Lanes that take no part go to a row of the object that is there for them, one of zeros for what
they load and another for what they store, and need no address of their own.

Two objects of 32-bit elements that are always accessed at one place, as the nodes of a stack and what is kept with
them, are one object of pairs (`weft.codegen.widen.own_pairs`): a push stores 64 bits for each lane, a pop loads 64. All
accesses of both go in pairs then, so no half of a pair is read that was not written with the other one.

Where there are registers for masks, these are instructions with masks, and all of this is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from weft.codegen.widen.context import Widening
from weft.codegen.widen.masked import masked_gather, masked_scatter
from weft.codegen.widen.own_pairs import HALF, OwnPair, find_own_pairs, site_of
from weft.codegen.widen.stack import element_numbers
from weft.codegen.widen.stack_objects import CACHE_LINE
from weft.ir import ConstInt, Instruction, Poison, Value
from weft.ir.constants import zero_of
from weft.ir.types import I8, I32, I64, VOID, ArrayType, VectorType, int_type


class OwnObjects(Struct):
    """What is known of the stack objects of a function.

    Parameters
    ----------
    pairs
        The pairs, by each of their accesses (`weft.codegen.widen.own_pairs`).
    spares
        The rows for lanes that take no part, by object, and by whether they are written: their number.
    joined
        The objects of pairs, by the first of both.
    """

    pairs: Mapping[Instruction, OwnPair]
    spares: dict[tuple[Value, bool], int]
    joined: dict[Value, Instruction]


def _objects_of(w: Widening) -> OwnObjects:
    if w.own_objects is None:
        w.own_objects = OwnObjects(find_own_pairs(w), {}, {})
    return w.own_objects


def load_own(w: Widening, load: Instruction) -> bool:
    """Load from places in lanes' own objects; False where this is none of these."""
    numbers = _numbers(w, load)
    if numbers is None:
        return False
    pair = _objects_of(w).pairs.get(load)
    w.remark(load, "gather")
    if pair is None:
        base = _object(w, load)
        size = w.module.layout.store_size(load.type)
        places = _active_places(w, base, numbers, size, written=False)
        address = _gep(w, base, places, size)
        result = masked_gather(w, w.lanes.vector(load.type), address, w.lanes.all_lanes, size)
        result.loc = load.loc
        w.set_vector(load, result)
    elif load is pair.first:
        _load_pair(w, pair, numbers)
    return True


def store_own(w: Widening, store: Instruction) -> bool:
    """Store to places in lanes' own objects; False where this is none of these."""
    numbers = _numbers(w, store)
    if numbers is None:
        return False
    pair = _objects_of(w).pairs.get(store)
    w.remark(store, "scatter")
    if pair is None:
        base, data = _object(w, store), w.vector(store.stored_value)
        size = w.module.layout.store_size(store.accessed_type)
        places = _active_places(w, base, numbers, size, written=True)
        address = _gep(w, base, places, size)
        built = masked_scatter(w, data, address, w.lanes.all_lanes, size)
        built.loc = store.loc
    elif store is pair.last:
        _store_pair(w, pair, numbers)
    return True


def _object(w: Widening, access: Instruction) -> Instruction:
    base = w.scalar(w.addresses.location(access.pointer).base)
    assert isinstance(base, Instruction)
    return base


def _numbers(w: Widening, access: Instruction) -> Value | None:
    """Each lane's number of the element that it accesses; None where places are not counted so."""
    site = None if w.isa.mask_registers else site_of(w, access)
    if site is None:
        return None
    size, width = w.divergence.interleaved[site], w.lanes.width
    location = w.addresses.location(access.pointer)
    if any(scale % size for scale in (location.offset, *location.terms.values())):
        return None
    first = [location.offset // size * width + lane for lane in range(width)]
    return element_numbers(w, first, location.terms.items(), size)


def _active_places(w: Widening, base: Instruction, numbers: Value, size: int, *, written: bool) -> Value:
    """The numbers of active lanes, and of the others those of a row that is there for them."""
    if w.mask is None:
        return numbers
    first = _spare_row(w, base, size, written=written) * w.lanes.width
    row = w.lanes.constant(I32, [first + lane for lane in range(w.lanes.width)])
    return w.builder.select(w.mask, numbers, row)


def _gep(w: Widening, base: Instruction, places: Value, size: int) -> Value:
    """The addresses of elements of an object, in vectors of 64 bits."""
    wide = w.builder.cast("zext", places, w.lanes.vector(I64), ("nneg",))
    return w.builder.gep(int_type(8 * size), base, (wide,))


def _spare_row(w: Widening, base: Instruction, size: int, *, written: bool) -> int:
    """The number of the row behind an object's own for lanes that take no part."""
    spares = _objects_of(w).spares
    if (base, written) not in spares:
        whole, row = _bytes(base), size * w.lanes.width
        spares[base, written] = number = whole // row
        base.attrs["allocated_type"] = ArrayType(I8, whole + row)
        if not written:
            _clear(w, base, number * row, row)
    return spares[base, written]


def _clear(w: Widening, base: Instruction, offset: int, size: int) -> None:
    """Store zeros where the function begins: with what else is on the stack arithmetic may take long."""
    entry, type = w.target.entry, VectorType(I8, size)
    at = entry.instructions.index(base) + 1
    place = Instruction("getelementptr", base.type, (base, ConstInt(I64, offset)), attrs={"source_type": I8})
    entry.insert(at, place)
    attrs = {"align": min(size, CACHE_LINE) & -min(size, CACHE_LINE), "volatile": False}
    entry.insert(at + 1, Instruction("store", VOID, (zero_of(type), place), attrs=attrs))


def _bytes(stack_object: Value) -> int:
    assert isinstance(stack_object, Instruction)
    type = stack_object.attrs["allocated_type"]
    assert isinstance(type, ArrayType)
    return type.count


def _joined(w: Widening, pair: OwnPair) -> Instruction:
    """The object of pairs."""
    joined = _objects_of(w).joined
    sites = [w.addresses.location(a.pointer).base for a in (pair.low, pair.high)]
    if sites[0] not in joined:
        size = max(_bytes(w.scalar(site)) for site in sites)
        made = w.stack_slot(ArrayType(I8, 2 * size), CACHE_LINE, "pairs")
        assert isinstance(made, Instruction)
        joined[sites[0]] = made
    return joined[sites[0]]


def _addresses(w: Widening, pair: OwnPair, numbers: Value, *, written: bool) -> list[Value]:
    """The address of each lane's pair."""
    base, builder = _joined(w, pair), w.builder
    numbers = _active_places(w, base, numbers, 2 * HALF, written=written)
    found: list[Value] = []
    for lane in range(w.lanes.width):
        number = builder.cast("zext", builder.extract_element(numbers, ConstInt(I64, lane)), I64)
        found.append(builder.gep(I64, base, (number,)))
    return found


def _chunks(w: Widening) -> Iterator[list[int]]:
    """Lanes as shuffles within halves of registers take them: first those of one register of pairs, then another's."""
    width = w.lanes.width
    if width & (width - 1):
        order = list(range(width))
    elif w.isa.vector_bits >= 256 and width >= 8:
        order = [0, 1, 4, 5, 2, 3, 6, 7]
    else:
        order = list(range(min(width, 4)))
    for first in range(0, width, len(order)):
        yield [first + lane for lane in order]


def _load_pair(w: Widening, pair: OwnPair, numbers: Value) -> None:
    builder, addresses = w.builder, _addresses(w, pair, numbers, written=False)
    parts: tuple[list[Value], list[Value]] = [], []
    for chunk in _chunks(w):
        count = len(chunk)
        halves: list[Value] = []
        for lanes in (chunk[: count // 2], chunk[count // 2 :]):
            pairs: Value = Poison(VectorType(I64, len(lanes)))
            for k, lane in enumerate(lanes):
                loaded = builder.load(I64, addresses[lane], align=2 * HALF)
                pairs = builder.insert_element(pairs, loaded, ConstInt(I64, k))
            halves.append(builder.cast("bitcast", pairs, VectorType(I32, count)))
        # Where each lane's pair is among those of both registers.
        at = {lane: 2 * k for k, lane in enumerate(chunk)}
        for half, part in enumerate(parts):
            part.append(builder.shuffle(halves[0], halves[1], [at[lane] + half for lane in sorted(chunk)]))
    for load, part in zip((pair.low, pair.high), parts, strict=True):
        whole = _concatenated(w, part)
        if load.type != I32:
            whole = builder.cast("bitcast", whole, w.lanes.vector(load.type))
        w.set_vector(load, whole)


def _store_pair(w: Widening, pair: OwnPair, numbers: Value) -> None:
    builder, addresses = w.builder, _addresses(w, pair, numbers, written=True)
    low, high = (_bits(w, access.stored_value) for access in (pair.low, pair.high))
    for chunk in _chunks(w):
        count = len(chunk)
        for lanes in (chunk[: count // 2], chunk[count // 2 :]):
            order = [place for lane in lanes for place in (lane, w.lanes.width + lane)]
            pairs = builder.cast("bitcast", builder.shuffle(low, high, order), VectorType(I64, len(lanes)))
            for k, lane in enumerate(lanes):
                both = builder.extract_element(pairs, ConstInt(I64, k))
                builder.store(both, addresses[lane], 2 * HALF).loc = pair.last.loc


def _bits(w: Widening, value: Value) -> Value:
    """Numbers of 32 bits; frozen, as half a pair that is poison would make the other half so."""
    vector = w.vector(value)
    if vector.type.scalar != I32:
        vector = w.builder.cast("bitcast", vector, w.lanes.vector(I32))
    return w.builder.unary("freeze", vector)


def _concatenated(w: Widening, parts: list[Value]) -> Value:
    count = w.lanes.width // len(parts)
    while len(parts) > 1:
        count *= 2
        parts = [
            w.builder.shuffle(one, other, range(count))
            for one, other in zip(parts[::2], parts[1::2], strict=True)
        ]
    return parts[0]
