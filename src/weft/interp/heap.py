"""The heap of compiled functions (`weft.ir.heap`), and C's: a block is an object of its own, until it is freed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from weft.interp.calls.pure import lanewise
from weft.interp.code import Compute
from weft.interp.faults import FaultKind
from weft.interp.lanes import Array, Lanes, is_poison
from weft.interp.memory.memory import HeapFrame, Memory
from weft.ir.heap import PREFIX
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

_ALIGNMENT = 64
_LARGEST = 1 << 40
"""Bytes that a block may have; there is no memory for more."""

Operation = Callable[..., int | None]
"""What a function does with memory and its arguments."""


def _frame_at(memory: Memory, address: int) -> HeapFrame:
    # A caller that is not part of the program has a frame that nobody has entered.
    return memory.heap_frames.setdefault(address, HeapFrame())


def _enter(memory: Memory, frame: int) -> None:
    memory.heap_frames[frame] = HeapFrame()


def _allocate(memory: Memory, frame: int, size: int, zero: int) -> int:
    if size >= _LARGEST:
        return 0
    block = memory.allocate(size, "allocated array", align=_ALIGNMENT, initialized=bool(zero))
    _frame_at(memory, frame).blocks.append(block)
    return block.base


def _mark(memory: Memory, frame: int) -> int:
    blocks = _frame_at(memory, frame).blocks
    return blocks[-1].base if blocks else 0


def _younger(found: HeapFrame, mark: int) -> int:
    """The index of the first block that is younger than the one with the address `mark`."""
    return next((k + 1 for k, block in enumerate(found.blocks) if block.base == mark), 0)


def _keep(memory: Memory, frame: int, mark: int, pointer: int) -> None:
    found = _frame_at(memory, frame)
    for block in found.blocks[_younger(found, mark) :]:
        # The end of a block is in it too: a view of no elements may begin there.
        if block.base <= pointer <= block.end:
            found.kept.add(block.base)


def _sweep(memory: Memory, frame: int, mark: int) -> None:
    found = _frame_at(memory, frame)
    first = _younger(found, mark)
    staying = [block for block in found.blocks[first:] if block.base in found.kept]
    for block in found.blocks[first:]:
        if block.base not in found.kept:
            memory.remove(block)
    found.blocks[first:] = staying
    found.kept.difference_update(block.base for block in staying)


def _leave(memory: Memory, frame: int, parent: int) -> None:
    _sweep(memory, frame, 0)
    found, caller = memory.heap_frames.pop(frame, HeapFrame()), _frame_at(memory, parent)
    caller.blocks += found.blocks
    caller.error = max(caller.error, found.error)


def _fail(memory: Memory, frame: int, error: int) -> None:
    found = _frame_at(memory, frame)
    found.error = max(found.error, error)


def _error(memory: Memory, frame: int) -> int:
    return _frame_at(memory, frame).error


_MALLOC = "memory of malloc"


def _malloc(memory: Memory, size: int) -> int:
    return memory.allocate(max(size, 1), _MALLOC, align=16).base if size < _LARGEST else 0


def _free(decoder: Decoder, i: Instruction) -> Compute:
    """Each block goes; what is none is an error."""
    slot = decoder.slot(i.args[0])

    def compute(frame: Frame) -> None:
        value, memory = frame.env[slot], frame.machine.image.memory
        _refuse_poison(frame, i, [value])
        for lane in _active(frame):
            address = int(value.data[lane if value.data.shape[0] > 1 else 0])
            block = memory.find(address)
            if block is not None and block.base == address and block.name == _MALLOC:
                memory.remove(block)
            elif address:
                where = np.arange(frame.machine.lanes) == lane
                message = f"free of {address:#x}, where no block of malloc begins"
                frame.machine.fault(FaultKind.OUT_OF_BOUNDS, i, where, message)

    return compute


def _by_lane(operation: Operation) -> Callable[[Decoder, Instruction], Compute]:
    """A call that each active lane makes for itself, one after the other."""

    def decode(decoder: Decoder, i: Instruction) -> Compute:
        slots = [decoder.slot(a) for a in i.args]
        has_result = not i.type.is_void

        def compute(frame: Frame) -> Lanes | None:
            lanes = frame.machine.lanes
            values = [frame.env[s] for s in slots]
            _refuse_poison(frame, i, values)
            result = np.zeros(lanes, np.uint64)
            for lane in _active(frame):
                given = [int(v.data[lane if v.data.shape[0] > 1 else 0]) for v in values]
                result[lane] = operation(frame.machine.image.memory, *given) or 0
            return Lanes(result) if has_result else None

        return compute

    return decode


def _active(frame: Frame) -> Iterator[int]:
    lanes = frame.machine.lanes
    yield from map(int, np.flatnonzero(np.broadcast_to(frame.active.mask(lanes), (lanes,))))


def _refuse_poison(frame: Frame, i: Instruction, values: list[Lanes]) -> None:
    for value in values:
        poison = is_poison(value.flags)
        if poison is not None and (bad := frame.active.split(poison)[0]).count:
            where = bad.mask(frame.machine.lanes)
            frame.machine.fault(FaultKind.POISON, i, where, "an argument of an allocation is poison")


def _product(a: Array, b: Array) -> Array:
    exact = a.astype(object) * b.astype(object)
    return np.where(exact < 1 << 64, exact, (1 << 64) - 1).astype(np.uint64)


TABLE = {
    "malloc": _by_lane(_malloc),
    "free": _free,
    **{
        PREFIX + name: _by_lane(operation)
        for name, operation in {
            "enter": _enter,
            "allocate": _allocate,
            "mark": _mark,
            "keep": _keep,
            "sweep": _sweep,
            "leave": _leave,
            "fail": _fail,
            "error": _error,
        }.items()
    },
    PREFIX + "bytes": lambda decoder, i: lanewise(decoder, i, _product),
}
