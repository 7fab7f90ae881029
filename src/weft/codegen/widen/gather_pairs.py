"""Gathers of two neighbours at once: ``a[i].x`` and ``a[i].y`` at an index of each lane's own.

What a gather costs is the number of its lanes, not of its bytes. So two loads of 32 bits that stand side by side in
each lane's memory, at addresses of which no more is known, are one gather of 64 bits and two shuffles. Both happen
where the first one stands; as in `access_groups`, no write in between may touch what the second one reads. Only bytes
that the two loads read themselves are read. Stack objects are left alone: one half of 64 bits may not be initialized.
"""

from __future__ import annotations

from msgspec import Struct, field

from weft.codegen.widen.access_groups import MAX_OPEN
from weft.codegen.widen.accesses import under_the_mask
from weft.codegen.widen.context import Widening
from weft.codegen.widen.lane_addresses import lane_addresses
from weft.codegen.widen.masked import masked_gather
from weft.ir import BasicBlock, Instruction, Poison, Value
from weft.ir.effects import may_write
from weft.ir.types import I32, I64, VectorType

_BYTES = 4


class GatherPair(Struct, frozen=True):
    """Two loads: `low` is the one at the lower address, `first` the one that comes first."""

    first: Instruction
    low: Instruction
    high: Instruction


class _Waiting(Struct):
    """A load that may find a neighbour, and the writes behind it."""

    load: Instruction
    writes: list[tuple[Value, int]] = field(default_factory=list)


def find_pairs(w: Widening, block: BasicBlock) -> dict[Instruction, GatherPair]:
    """The pairs of a block, by both loads."""
    found: dict[Instruction, GatherPair] = {}
    waiting: list[_Waiting] = []
    for instruction in under_the_mask(block):
        if not instruction.is_plain_access:
            if may_write(instruction):
                waiting.clear()
        elif instruction.op == "store":
            written = (instruction.pointer, w.module.layout.store_size(instruction.accessed_type))
            for earlier in waiting:
                earlier.writes.append(written)
        elif _may_be_paired(w, instruction):
            pair = next((p for e in waiting if (p := _pair(w, e, instruction)) is not None), None)
            if pair is None:
                waiting = [*waiting[1 - MAX_OPEN :], _Waiting(instruction)]
            else:
                waiting = [e for e in waiting if e.load is not pair.first]
                found[pair.low] = found[pair.high] = pair
    return found


def _may_be_paired(w: Widening, load: Instruction) -> bool:
    """Whether it loads 32 bits for each lane from an address of its own."""
    pointer, type = load.pointer, load.type
    if not (type.is_integer or type.is_float) or w.divergence.engine.leads_to_stack(pointer):
        return False
    return w.module.layout.bit_size(type) == 8 * _BYTES and not w.is_scalar(pointer)


def _pair(w: Widening, earlier: _Waiting, load: Instruction) -> GatherPair | None:
    here, there = (w.addresses.location(i.pointer) for i in (load, earlier.load))
    distance = here.offset - there.offset
    if abs(distance) != _BYTES or here.base is not there.base or here.terms != there.terms:
        return None
    if any(w.addresses.may_overlap(load.pointer, _BYTES, p, s) for p, s in earlier.writes):
        return None
    low, high = (earlier.load, load) if distance > 0 else (load, earlier.load)
    return GatherPair(earlier.load, low, high)


def widen_pair(w: Widening, pair: GatherPair) -> None:
    """Gather both at once."""
    builder, width = w.builder, w.lanes.width
    addresses = lane_addresses(w, pair.first, 0 if pair.first is pair.low else -_BYTES)
    both = masked_gather(w, w.lanes.vector(I64), addresses, w.active(), min(pair.low.alignment, _BYTES))
    both.loc = pair.first.loc
    halves = builder.cast("bitcast", both, VectorType(I32, 2 * width))
    for k, load in enumerate((pair.low, pair.high)):
        half: Value = builder.shuffle(halves, Poison(halves.type), range(k, 2 * width, 2))
        if load.type != I32:
            half = builder.cast("bitcast", half, w.lanes.vector(load.type))
        w.set_vector(load, half)
