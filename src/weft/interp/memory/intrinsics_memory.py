"""Semantics of LLVM's memory intrinsics, and of those that only speak to the optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.calls.pure import lanewise
from weft.interp.code import Compute
from weft.interp.faults import FaultKind
from weft.interp.lanes import UNDEF, Lanes, LaneValue, is_poison
from weft.interp.memory.blockcopy import copy_bytes, fill_bytes
from weft.interp.threads.active import ActiveSet
from weft.ir.constants import ConstInt
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Decode = Callable[["Decoder", Instruction], Compute]


def _sizes(frame: Frame, size: Lanes) -> list[tuple[int, ActiveSet]]:
    """The distinct sizes that active lanes ask for, each with its lanes."""
    if not frame.active.count:
        return []
    if size.data.shape[0] == 1:
        return [(int(size.data[0]), frame.active)]
    lanes = frame.machine.lanes
    wanted = np.unique(size.data[np.broadcast_to(frame.active.mask(lanes), (lanes,))])
    return [(int(n), frame.active.split(size.data == n)[0]) for n in wanted]


def _copy(decoder: Decoder, i: Instruction) -> Compute:
    target_slot, source_slot, size_slot = (decoder.slot(a) for a in i.args[:3])

    def compute(frame: Frame) -> None:
        target, source, size = frame.env[target_slot], frame.env[source_slot], frame.env[size_slot]
        for count, lanes in _sizes(frame, size):
            copy_bytes(frame, i, target, source, count, lanes)

    return compute


def _fill(decoder: Decoder, i: Instruction) -> Compute:
    target_slot, value_slot, size_slot = (decoder.slot(a) for a in i.args[:3])

    def compute(frame: Frame) -> None:
        target, value, size = frame.env[target_slot], frame.env[value_slot], frame.env[size_slot]
        byte = Lanes(value.data.astype(np.uint8), value.flags)
        for count, lanes in _sizes(frame, size):
            fill_bytes(frame, i, target, byte, count, lanes)

    return compute


def _assume(decoder: Decoder, i: Instruction) -> Compute:
    slot = decoder.slot(i.args[0])

    def compute(frame: Frame) -> None:
        condition = frame.env[slot]
        bad = ~condition.data
        poison = is_poison(condition.flags)
        if poison is not None:
            bad = bad | poison
        if bad.any():
            culprits = frame.active.split(bad)[0]
            if culprits.count:
                lanes = frame.machine.lanes
                where = np.broadcast_to(culprits.mask(lanes), (lanes,))
                frame.machine.fault(FaultKind.ASSERTION, i, where, "an assumption does not hold")

    return compute


def _nothing(decoder: Decoder, i: Instruction) -> Compute:
    return lambda frame: None


def _begin_life(decoder: Decoder, i: Instruction) -> Compute:
    """A stack object is as if it were new: what it has is undefined."""
    site = i.args[-1]
    if not isinstance(site, Instruction) or site.op != "alloca" or not isinstance(site.operands[0], ConstInt):
        return _nothing(decoder, i)
    slot, size = decoder.slot(site), decoder.layout.size(site.allocated_type) * site.operands[0].value
    undefined = Lanes(np.zeros(1, np.uint8), np.array([UNDEF]))

    def compute(frame: Frame) -> None:
        if frame.active.count and size:
            fill_bytes(frame, i, frame.env[slot], undefined, size, frame.active)

    return compute


def _first(decoder: Decoder, i: Instruction) -> Compute:
    """The first argument, unchanged."""
    slot = decoder.slot(i.args[0])
    return lambda frame: frame.env[slot]


def _constant(value: int, dtype: str) -> Decode:
    data = Lanes(np.array([value], dtype))
    return lambda decoder, i: lambda frame: data


def _object_size(decoder: Decoder, i: Instruction) -> Compute:
    """Unknown: all ones, or zero when the least size is asked for."""
    bits = getattr(i.type, "bits", 64)
    least = decoder.slot(i.args[1])
    dtype = np.dtype(f"u{bits // 8}")

    def compute(frame: Frame) -> LaneValue:
        smallest = frame.env[least]
        return Lanes(np.where(smallest.data, dtype.type(0), ~dtype.type(0)))

    return compute


def _trap(decoder: Decoder, i: Instruction) -> Compute:
    def compute(frame: Frame) -> None:
        if frame.active.count:
            lanes = frame.machine.lanes
            where = np.broadcast_to(frame.active.mask(lanes), (lanes,))
            frame.machine.fault(FaultKind.UNREACHABLE, i, where, "a trap was reached")

    return compute


TABLE: dict[str, Decode] = {
    "memcpy": _copy,
    "memcpy.inline": _copy,
    "memmove": _copy,
    "memset": _fill,
    "memset.inline": _fill,
    "assume": _assume,
    "expect": _first,
    "expect.with.probability": _first,
    "launder.invariant.group": _first,
    "strip.invariant.group": _first,
    "threadlocal.address": _first,
    "annotation": _first,
    "ptr.annotation": _first,
    "ssa.copy": _first,
    "ptrmask": lambda decoder, i: lanewise(decoder, i, lambda a, b: a & b),
    "objectsize": _object_size,
    "is.constant": _constant(0, "?"),
    "stacksave": _constant(0, "u8"),
    "invariant.start": _constant(0, "u8"),
    "trap": _trap,
    "ubsantrap": _trap,
    "debugtrap": _nothing,
    "lifetime.start": _begin_life,
    **dict.fromkeys(
        (
            "lifetime.end", "invariant.end", "experimental.noalias.scope.decl", "donothing",
            "sideeffect", "pseudoprobe", "prefetch", "stackrestore", "var.annotation",
            "dbg.declare", "dbg.value", "dbg.label", "dbg.assign", "fake.use",
        ),
        _nothing,
    ),
}  # fmt: skip
