"""Gathers of two neighbours at once: ``a[i].x`` and ``a[i].y`` at an index of each lane's own.

What a gather costs is the number of its lanes, not of its bytes. So two loads of 32 bits that stand side by side in
each lane's memory, at addresses of which no more is known, are one gather of 64 bits and two shuffles. Both happen
where the first one stands; as in `access_groups`, no write in between may touch what the second one reads. Only bytes
that the two loads read themselves are read. Stack objects are left alone: one half of 64 bits may not be initialized.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from weft.codegen.widen.access_groups import MAX_OPEN, made_with
from weft.codegen.widen.accesses import under_the_mask
from weft.codegen.widen.context import Widening
from weft.codegen.widen.gathers import gather
from weft.ir import BasicBlock, Instruction, Poison, Value
from weft.ir.effects import may_write
from weft.ir.types import I32, I64, VectorType

_BYTES = 4


class GatherPair(Struct, frozen=True):
    """Two loads: `low` is the one at the lower address, `first` the one that comes first."""

    first: Instruction
    low: Instruction
    high: Instruction


class _Load(Struct):
    """A load that may find a neighbour: how many come before it, and how many writes do."""

    load: Instruction
    number: int
    written: int


def find_pairs(
    w: Widening, block: BasicBlock, is_single: Callable[[Instruction], bool]
) -> dict[Instruction, GatherPair]:
    """The pairs of a block, by both loads; `is_single` says which loads are in no larger group."""
    found: dict[Instruction, GatherPair] = {}
    loads: list[_Load] = []
    writes: list[tuple[Value, int]] = []
    for instruction in under_the_mask(block):
        if not instruction.is_plain_access:
            if may_write(instruction):
                _pair_up(w, loads, writes, found)
                loads, writes = [], []
        elif instruction.op == "store":
            waiting = made_with(w, instruction, w.own_rows.get(block, {}))
            writes += [(s.pointer, w.module.layout.store_size(s.accessed_type)) for s in waiting]
        elif _may_be_paired(w, instruction) and is_single(instruction):
            loads.append(_Load(instruction, len(loads), len(writes)))
    _pair_up(w, loads, writes, found)
    return found


def _may_be_paired(w: Widening, load: Instruction) -> bool:
    """Whether it loads 32 bits for each lane from an address of its own."""
    pointer, type = load.pointer, load.type
    if not (type.is_integer or type.is_float) or w.divergence.engine.leads_to_stack(pointer):
        return False
    return w.module.layout.bit_size(type) == 8 * _BYTES and not w.is_scalar(pointer)


def _pair_up(
    w: Widening,
    loads: list[_Load],
    writes: list[tuple[Value, int]],
    found: dict[Instruction, GatherPair],
) -> None:
    """Pair loads from the lowest address of each row of neighbours on, so that at most one of a row is left."""
    rows: dict[tuple[Value, frozenset[tuple[Value, int]]], dict[int, list[_Load]]] = {}
    for candidate in loads:
        place = w.addresses.location(candidate.load.pointer)
        row = rows.setdefault((place.base, frozenset(place.terms.items())), {})
        row.setdefault(place.offset, []).append(candidate)
    for row in rows.values():
        for offset in sorted(row):
            for low in row[offset]:
                if low.load in found:
                    continue
                for high in row.get(offset + _BYTES, ()):
                    if high.load not in found and _may_be_together(w, low, high, writes):
                        first = min(low, high, key=lambda candidate: candidate.number)
                        pair = GatherPair(first.load, low.load, high.load)
                        found[low.load] = found[high.load] = pair
                        break


def _may_be_together(w: Widening, a: _Load, b: _Load, writes: list[tuple[Value, int]]) -> bool:
    """Whether two loads are close, and the later one may happen where the earlier one stands."""
    first, second = sorted((a, b), key=lambda candidate: candidate.number)
    if second.number - first.number > MAX_OPEN:
        return False
    between = writes[first.written : second.written]
    return not any(w.addresses.may_overlap(second.load.pointer, _BYTES, p, s) for p, s in between)


def widen_pair(w: Widening, pair: GatherPair) -> None:
    """Gather both at once."""
    builder, width = w.builder, w.lanes.width
    moved = 0 if pair.first is pair.low else -_BYTES
    both = gather(w, pair.first, w.lanes.vector(I64), min(pair.low.alignment, _BYTES), moved)
    both.loc = pair.first.loc
    halves = builder.cast("bitcast", both, VectorType(I32, 2 * width))
    for k, load in enumerate((pair.low, pair.high)):
        half: Value = builder.shuffle(halves, Poison(halves.type), range(k, 2 * width, 2))
        if load.type != I32:
            half = builder.cast("bitcast", half, w.lanes.vector(load.type))
        w.set_vector(load, half)
