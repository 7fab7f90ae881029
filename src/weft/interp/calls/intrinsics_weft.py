"""Semantics of weft's own intrinsics (`weft.ir.intrinsics`): ids, sizes, horizontal operations, barriers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.diag.errors import UnsupportedError
from weft.interp.calls.barriers import BARRIERS
from weft.interp.calls.printing import decode_print
from weft.interp.code import Compute
from weft.interp.faults import FaultKind, span_of
from weft.interp.lanes import POISON, Array, Flags, Lanes, LaneValue, full
from weft.interp.numbers.combinations import combination_of
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import FIRST, INTRINSICS, PREFIX

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]

DYNAMIC_SHARED = -1


def _dimension(i: Instruction) -> int:
    dimension = i.args[0]
    if not isinstance(dimension, ConstInt) or dimension.value > 2:
        raise UnsupportedError(f"@{i.callee_name} needs a constant dimension 0, 1 or 2", span_of(i))
    return dimension.value


def _local_id(decoder: Decoder, i: Instruction) -> Compute:
    dimension = _dimension(i)
    return lambda frame: Lanes(frame.machine.geometry.local_id(dimension))


def _group_id(decoder: Decoder, i: Instruction) -> Compute:
    dimension = _dimension(i)
    return lambda frame: Lanes(frame.machine.geometry.group_id(dimension))


def _local_size(decoder: Decoder, i: Instruction) -> Compute:
    dimension = _dimension(i)
    return lambda frame: Lanes(np.array([frame.machine.geometry.block[dimension]], np.uint64))


def _num_groups(decoder: Decoder, i: Instruction) -> Compute:
    dimension = _dimension(i)
    return lambda frame: Lanes(np.array([frame.machine.geometry.grid[dimension]], np.uint64))


def _lane_id(decoder: Decoder, i: Instruction) -> Compute:
    def compute(frame: Frame) -> LaneValue:
        machine = frame.machine
        return Lanes(np.arange(machine.lanes, dtype=np.uint32) % np.uint32(machine.width))

    return compute


def _lane_coordinate(decoder: Decoder, i: Instruction) -> Compute:
    dimension = _dimension(i)
    # Of a lane function the box is all of the launch; other lane groups are rows.
    return lambda frame: Lanes(frame.machine.geometry.local_id(dimension).astype(np.uint32))


def _num_lanes(decoder: Decoder, i: Instruction) -> Compute:
    return lambda frame: Lanes(np.array([frame.machine.width], np.uint32))


def _mask(decoder: Decoder, i: Instruction) -> Compute:
    """``weft.mask``: the activation of the block, assigned on all threads (Moll, rule W-CMD-MASK).

    The frame runs it as a total instruction, so the activation is that of the block, not `frame.active`.
    """
    return lambda frame: Lanes(frame.activation.mask(frame.machine.lanes))


def _shared(decoder: Decoder, i: Instruction) -> Compute:
    number = i.args[0]
    if not isinstance(number, ConstInt):
        raise UnsupportedError("weft.shared needs a constant number", span_of(i))
    return lambda frame: shared_pointer(frame, i, number.value)


def _shared_dynamic(decoder: Decoder, i: Instruction) -> Compute:
    return lambda frame: shared_pointer(frame, i, DYNAMIC_SHARED)


def _shared_dynamic_size(decoder: Decoder, i: Instruction) -> Compute:
    return lambda frame: Lanes(np.array([frame.machine.shared_sizes[DYNAMIC_SHARED][0]], np.uint64))


def shared_pointer(frame: Frame, i: Instruction, number: int) -> Lanes:
    """The address of a shared object, one part of it for each work-group."""
    machine = frame.machine
    made = machine.shared.get(number)
    if made is None:
        if number not in machine.shared_sizes:
            raise machine.error(f"the kernel declares no shared object {number}", i)
        size, align = machine.shared_sizes[number]
        name = "dynamic shared memory" if number == DYNAMIC_SHARED else f"shared array {number}"
        memory = machine.image.memory
        made = memory.allocate(size, name, align=align, parts=machine.geometry.groups)
        made.is_of_lane_groups = number == machine.spill_slots
        machine.shared[number] = made
    base, stride = np.uint64(made.base), np.uint64(made.stride)
    if machine.geometry.groups == 1:
        return Lanes(np.array([base]))
    return Lanes(machine.geometry.group_of_lane().astype(np.uint64) * stride + base)


def _rows(frame: Frame, operand: Lanes, i: Instruction) -> tuple[Array, Array, Array]:
    """Operand, activation and poison, one row per lane group."""
    if frame.block.per_thread:
        raise UnsupportedError(
            f"@{i.callee_name} in an irreducible loop", span_of(i),
            "write the loop with one entry",
        )  # fmt: skip
    machine = frame.machine
    shape = (machine.lane_groups, machine.width)
    data = full(operand.data, (machine.lanes,)).reshape(shape)
    active = full(frame.active.mask(machine.lanes), (machine.lanes,)).reshape(shape)
    poison = np.zeros(1, np.bool_)
    if operand.flags is not None:
        flags = np.broadcast_to(operand.flags, (machine.lanes,)).reshape(shape)
        poison = ((flags & POISON) != 0) & active
    return data, active, poison


def _per_lane(frame: Frame, per_group: Any) -> Array:
    """One value per lane group, spread over its lanes."""
    if per_group.shape[0] == 1:
        return per_group
    return np.repeat(per_group, frame.machine.width)


def _horizontal(reduce: Callable[[Frame, Array, Array], Any]) -> Decode:
    """An operation on the values of a lane group's active lanes, whose result all its lanes get."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        slot = decoder.slot(i.args[0]) if i.args else -1

        def compute(frame: Frame) -> LaneValue:
            operand = frame.env[slot] if slot >= 0 else Lanes(np.ones(1, np.bool_))
            data, active, poison = _rows(frame, operand, i)
            result = _per_lane(frame, reduce(frame, data, active))
            flags: Flags = None
            if np.count_nonzero(poison):
                flags = _per_lane(frame, poison.any(axis=1)) * POISON
            return Lanes(result, flags)

        return compute

    return decode


def _ballot_bits(frame: Frame, true: Array, word: type[np.unsignedinteger[Any]] = np.uint64) -> Array:
    bits = 8 * np.dtype(word).itemsize
    if frame.machine.width > bits:
        raise UnsupportedError(f"a ballot of {frame.machine.width} lanes does not fit {bits} bits")
    weights = np.uint64(1) << np.arange(frame.machine.width, dtype=np.uint64)
    return (true * weights).sum(axis=1, dtype=np.uint64).astype(word)


def _sources(frame: Frame, index: Lanes) -> tuple[np.ndarray, np.ndarray]:
    """The thread that each thread names by a lane of its group, and whether there is one that is active."""
    lanes, width = frame.machine.lanes, frame.machine.width
    own = np.arange(lanes)
    wanted = np.broadcast_to(index.data.view(np.int32), (lanes,)).astype(np.int64)
    inside = (wanted >= 0) & (wanted < width)
    source = own - own % width + np.where(inside, wanted, 0)
    active = np.broadcast_to(frame.active.mask(lanes), (lanes,))
    return source, inside & active[source]


def _shuffle(decoder: Decoder, i: Instruction) -> Compute:
    value_slot, index_slot = decoder.slot(i.args[0]), decoder.slot(i.args[1])

    def compute(frame: Frame) -> LaneValue:
        machine = frame.machine
        value, index = frame.env[value_slot], frame.env[index_slot]
        _rows(frame, value, i)
        lanes = machine.lanes
        source, there = _sources(frame, index)
        source = np.where(there, source, np.arange(lanes))
        data = np.broadcast_to(value.data, (lanes,))[source]
        flags = None if value.flags is None else np.broadcast_to(value.flags, (lanes,))[source]
        if index.flags is not None:
            flags = index.flags if flags is None else flags | index.flags
        return Lanes(data, flags)

    return compute


def _extract(decoder: Decoder, i: Instruction) -> Compute:
    value_slot, index_slot = decoder.slot(i.args[0]), decoder.slot(i.args[1])

    def compute(frame: Frame) -> LaneValue:
        machine = frame.machine
        value, index = frame.env[value_slot], frame.env[index_slot]
        _rows(frame, value, i)
        lanes = machine.lanes
        source, there = _sources(frame, index)
        flags = np.where(there, np.uint8(0), POISON)
        if value.flags is not None:
            flags = flags | np.broadcast_to(value.flags, (lanes,))[source]
        if index.flags is not None:
            flags = flags | index.flags
        return Lanes(np.broadcast_to(value.data, (lanes,))[source], flags)

    return compute


def _compact(decoder: Decoder, i: Instruction) -> Compute:
    value_slot, chosen_slot = decoder.slot(i.args[0]), decoder.slot(i.args[1])

    def compute(frame: Frame) -> LaneValue:
        machine = frame.machine
        value = frame.env[value_slot]
        chosen, active, poison = _rows(frame, frame.env[chosen_slot], i)
        rows = np.broadcast_to(value.data, (machine.lanes,)).reshape(chosen.shape)
        # The lanes that are chosen first, each kind in order.
        order = np.argsort(~(chosen & active), axis=1, kind="stable")
        count = (chosen & active).sum(axis=1)
        places = np.arange(machine.width)[None, :]
        order = np.where(places < count[:, None], order, places)
        flags = np.broadcast_to(poison.any(axis=-1, keepdims=True) * POISON, order.shape)
        if value.flags is not None:
            given = np.broadcast_to(value.flags, (machine.lanes,)).reshape(chosen.shape)
            flags = flags | np.take_along_axis(given, order, axis=1)
        return Lanes(np.take_along_axis(rows, order, axis=1).reshape(-1), flags.reshape(-1))

    return compute


def _first(data: Array, active: Array) -> Array:
    """The value of the first active lane of each lane group."""
    return np.take_along_axis(data, active.argmax(axis=1)[:, None], axis=1)[:, 0]


def _match_any(decoder: Decoder, i: Instruction) -> Compute:
    slot = decoder.slot(i.args[0])

    def compute(frame: Frame) -> LaneValue:
        value = frame.env[slot]
        data, active, poison = _rows(frame, value, i)
        same = (data[:, :, None] == data[:, None, :]) & active[:, None, :]
        weights = np.uint64(1) << np.arange(frame.machine.width, dtype=np.uint64)
        flags = (_per_lane(frame, poison.any(axis=1)) * POISON) if poison.any() else None
        return Lanes((same * weights).sum(axis=2, dtype=np.uint64).reshape(-1), flags)

    return compute


def _prefix(decoder: Decoder, i: Instruction) -> Compute:
    slot = decoder.slot(i.args[0])
    assert i.callee_name is not None
    operation = i.callee_name.removeprefix(PREFIX).partition(".")[0]
    combine = combination_of(operation, i.type)

    def compute(frame: Frame) -> LaneValue:
        data, active, poison = _rows(frame, frame.env[slot], i)
        result, bad = data.copy(), np.broadcast_to(poison, data.shape).copy()
        so_far, known = data[:, 0].copy(), active[:, 0].copy()
        any_poison = bad[:, 0].copy()
        for lane in range(1, frame.machine.width):
            here = active[:, lane]
            both = here & known
            together = combine(so_far, data[:, lane])
            so_far = np.where(both, together, np.where(here, data[:, lane], so_far))
            known |= here
            any_poison |= bad[:, lane]
            result[:, lane] = np.where(here, so_far, data[:, lane])
            bad[:, lane] = here & any_poison
        flags = bad.reshape(-1) * POISON if bad.any() else None
        return Lanes(result.reshape(-1), flags)

    return compute


def _reached_end(decoder: Decoder, i: Instruction) -> Compute:
    """``weft.reached.end()``: threads come to the end of a kernel, which they do not leave by ``return``."""

    def compute(frame: Frame) -> None:
        frame.machine.ended |= frame.active.mask(frame.machine.lanes)

    return compute


def _in_memory(decoder: Decoder, i: Instruction) -> Compute:
    """``weft.in.memory(ptr)``: LLVM keeps the object in memory, where reads of what was not written are seen."""
    return lambda frame: None


CHECK_KINDS = {
    1: (FaultKind.DIVISION, "integer division by zero"),
    2: (FaultKind.ASSERTION, "the assertion does not hold"),
    3: (FaultKind.OUT_OF_BOUNDS, "an index is outside its dimension"),
    4: (FaultKind.OUT_OF_BOUNDS, "an array without elements has no minimum or maximum"),
    6: (FaultKind.RAISED, "an exception is raised"),
    7: (FaultKind.RAISED, "the step of a range is zero"),
    8: (FaultKind.OUT_OF_BOUNDS, "tuple index out of range"),
    5: (FaultKind.UNINITIALIZED, "a variable is read before it has a value"),
}
"""What ``weft.check`` reports, by its first argument."""


def _check(decoder: Decoder, i: Instruction) -> Compute:
    """``weft.check(kind, bad)``: what the front end has checked for the sanitizer."""
    number = i.args[0]
    if not isinstance(number, ConstInt) or number.value not in CHECK_KINDS:
        raise UnsupportedError("weft.check needs a constant kind", span_of(i))
    kind, message = CHECK_KINDS[number.value]
    slot = decoder.slot(i.args[1])

    def compute(frame: Frame) -> None:
        bad = frame.env[slot]
        if not bad.data.any():
            return
        culprits = frame.active.split(bad.data)[0]
        if culprits.count:
            lanes = frame.machine.lanes
            frame.machine.fault(kind, i, np.broadcast_to(culprits.mask(lanes), (lanes,)), message)

    return compute


TABLE: dict[str, Decode] = {
    "weft.local.id": _local_id,
    "weft.group.id": _group_id,
    "weft.local.size": _local_size,
    "weft.num.groups": _num_groups,
    "weft.lane.id": _lane_id,
    "weft.lane.coordinate": _lane_coordinate,
    "weft.num.lanes": _num_lanes,
    "weft.mask": _mask,
    "weft.any": _horizontal(lambda frame, data, active: (data & active).any(axis=1)),
    "weft.all": _horizontal(lambda frame, data, active: (data | ~active).all(axis=1)),
    "weft.ballot": _horizontal(lambda frame, data, active: _ballot_bits(frame, data & active)),
    "weft.ballot.i32": _horizontal(lambda frame, data, active: _ballot_bits(frame, data & active, np.uint32)),
    "weft.active": _horizontal(lambda frame, data, active: _ballot_bits(frame, active)),
    "weft.popcount": _horizontal(lambda frame, data, active: (data & active).sum(axis=1, dtype=np.uint64)),
    FIRST: _horizontal(lambda frame, data, active: _first(data, active)),
    "weft.shfl.idx.i32": _shuffle,
    "weft.shfl.idx.i64": _shuffle,
    "weft.extract.i32": _extract,
    "weft.extract.i64": _extract,
    "weft.compact.i32": _compact,
    "weft.compact.i64": _compact,
    "weft.match.any.i64": _match_any,
    "weft.shared": _shared,
    "weft.shared.dynamic": _shared_dynamic,
    "weft.shared.dynamic.size": _shared_dynamic_size,
    "weft.check": _check,
    "weft.reached.end": _reached_end,
    "weft.in.memory": _in_memory,
    "weft.print": decode_print,
    **{name: _prefix for name in INTRINSICS if name.startswith(PREFIX)},
    **BARRIERS,
}
"""Per intrinsic the function that decodes a call of it."""
