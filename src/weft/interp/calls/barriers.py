"""Semantics of barriers: what they note and give; `weft.interp.threads.waiting` has the meeting itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.interp.code import Compute
from weft.interp.lanes import Array, Lanes, LaneValue
from weft.interp.threads.numbered import packed
from weft.ir.instruction import Instruction
from weft.ir.intrinsics import ARRIVE, SOME

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]


def _warp_sync(decoder: Decoder, i: Instruction) -> Compute:
    def compute(frame: Frame) -> None:
        for listener in frame.machine.hooks.on_barrier:
            listener(frame.machine, i, frame.active)

    return compute


def _barrier(decoder: Decoder, i: Instruction) -> Compute:
    """The meeting itself is the frame's business (`weft.interp.threads.waiting`)."""
    return lambda frame: None


def _numbered_barrier(decoder: Decoder, i: Instruction) -> Compute:
    """Which barrier it is and for how many it waits; `weft.interp.threads.waiting` does the rest."""
    keys = _keys(decoder, i)
    return lambda frame: Lanes(keys(frame))


def _arrive(decoder: Decoder, i: Instruction) -> Compute:
    keys = _keys(decoder, i)

    def compute(frame: Frame) -> None:
        machine = frame.machine
        here = np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,))
        machine.numbered.count(machine, here, keys(frame), waits=False)
        for listener in machine.hooks.on_barrier:
            listener(machine, i, frame.active)

    return compute


def _keys(decoder: Decoder, i: Instruction) -> Callable[[Frame], Array]:
    """The number of a barrier and of the threads that it waits for, of each lane."""
    slots = [decoder.slot(a) for a in i.args]

    def keys(frame: Frame) -> Array:
        number, threads = (np.broadcast_to(frame.env[s].data, (frame.machine.lanes,)) for s in slots)
        return packed(number, threads)

    return keys


def _barrier_vote(reduce: Callable[[Array, Array], Any]) -> Decode:
    """A barrier that counts: the result is about all threads of the work-group that are at it."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        slot = decoder.slot(i.args[0])

        def compute(frame: Frame) -> LaneValue:
            machine = frame.machine
            operand = frame.env[slot]
            shape = (-1, machine.geometry.group_lanes)
            data = np.broadcast_to(operand.data, (machine.lanes,)).reshape(shape)
            here = np.broadcast_to(frame.active.mask(machine.lanes), (machine.lanes,)).reshape(shape)
            result = reduce(data, here).astype(np.uint32)
            if result.shape[0] > 1:
                result = np.repeat(result, machine.geometry.group_lanes)
            return Lanes(result, operand.flags)

        return compute

    return decode


BARRIERS: dict[str, Decode] = {
    "weft.warp.sync": _warp_sync,
    "weft.barrier": _barrier,
    SOME: _numbered_barrier,
    ARRIVE: _arrive,
    "weft.barrier.grid": _barrier,
    "weft.barrier.count": _barrier_vote(lambda data, here: (data & here).sum(axis=1)),
    "weft.barrier.and": _barrier_vote(lambda data, here: (data | ~here).all(axis=1)),
    "weft.barrier.or": _barrier_vote(lambda data, here: (data & here).any(axis=1)),
}
"""Per intrinsic the function that decodes a call of it."""
