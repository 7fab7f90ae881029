"""Stores that fill a stretch of memory together, though none of them does (Moll, §11.6.2).

The two stores of a butterfly write every element of a window of twice the lanes, each of them some: what both write is
shuffled into the order of memory and stored in whole registers. So it is for consecutive stores of one type whose
elements follow from lanes' numbers (`lane_expressions`), each once, without a gap. Nothing that touches memory stands
between them, so the first ones may wait for the last.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from weft.codegen.widen.chunked import elements_of
from weft.codegen.widen.context import Widening
from weft.codegen.widen.masked import store_some
from weft.codegen.widen.sums_of_products import Strip
from weft.ir import ConstInt, Instruction, Value
from weft.ir.effects import is_convergent, may_not_return, may_read, may_write
from weft.ir.types import I8, I64

MOST_STORES = 2
"""A shuffle has two operands."""


class JointStores(Struct, frozen=True):
    """Stores that are made together, by the last one.

    Parameters
    ----------
    stores
        In the order of the program.
    strip, offset
        Where the stretch begins.
    places
        For each element in the order of memory, the number of its store, and of the lane there.
    """

    stores: tuple[Instruction, ...]
    strip: Strip
    offset: int
    places: tuple[tuple[int, int], ...]


def joint_stores_of(w: Widening, store: Instruction) -> JointStores | None:
    """The stores that this one is made with; None where it is made by itself."""
    block = store.block
    assert block is not None
    if block not in w.joint_stores:
        w.joint_stores[block] = {}
        stores: list[Instruction] = []
        for i in block.non_phis():
            if i.op == "store" and i.is_plain_access:
                stores.append(i)
                if len(stores) == MOST_STORES:
                    found = _together(w, stores)
                    if found is not None:
                        w.joint_stores[block] |= dict.fromkeys(found.stores, found)
                    stores = [] if found is not None else stores[1:]
            elif may_read(i) or may_write(i) or may_not_return(i) or is_convergent(i):
                stores = []
    return w.joint_stores[block].get(store)


def _together(w: Widening, stores: Sequence[Instruction]) -> JointStores | None:
    """The stores as one, if they fill a stretch."""
    type = stores[0].accessed_type
    size = w.module.layout.store_size(type)
    if any(s.accessed_type != type for s in stores):
        return None
    where: dict[int, tuple[int, int]] = {}
    strips: set[Strip] = set()
    for number, store in enumerate(stores):
        elements = elements_of(w, store, strided=True)
        if elements is None:
            return None
        for lane, (strip, offset) in enumerate(elements):
            strips.add(strip)
            where[offset] = number, lane
    first = min(where)
    filled = [first + k * size for k in range(len(stores) * w.lanes.width)]
    if len(strips) > 1 or sorted(where) != filled:
        return None
    return JointStores(tuple(stores), next(iter(strips)), first, tuple(where[offset] for offset in filled))


def store_jointly(w: Widening, joint: JointStores) -> None:
    """Store what all of them do, where the last one stands."""
    one, other = joint.stores
    size = w.module.layout.store_size(one.accessed_type)
    slots = min(w.lanes.width, w.isa.lanes(8 * size))
    data = [w.vector(store.stored_value) for store in joint.stores]
    base = w.expressions(everywhere=w.mask is not None).build(joint.strip)
    width, may_write_back = w.lanes.width, w.may_write_back(one) and w.may_write_back(other)
    for first in range(0, len(joint.places), slots):
        order = [number * width + lane for number, lane in joint.places[first : first + slots]]
        part = w.builder.shuffle(data[0], data[1], order)
        mask: Value | None = None
        if w.mask is not None:
            mask = w.builder.shuffle(w.mask, w.mask, order)
        address = w.builder.gep(I8, base, (ConstInt(I64, joint.offset + first * size),))
        store_some(w, other, part, address, mask, min(one.alignment, other.alignment), may_write_back)
