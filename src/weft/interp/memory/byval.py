"""Arguments that the caller passes in memory: a ``byval(T)`` pointer refers to a copy of the callee's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from weft.diag.errors import UnsupportedError
from weft.interp.faults import span_of
from weft.interp.lanes import Lanes, LaneValue
from weft.interp.memory.blockcopy import copy_bytes
from weft.interp.threads.active import ActiveSet
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame


def copies_of_arguments(decoder: Decoder, i: Instruction) -> list[tuple[int, int, int]]:
    """Position, size and alignment of each argument of a call that is to be copied."""
    copies: list[tuple[int, int, int]] = []
    all_attributes: tuple[tuple[str, ...], ...] = i.attrs.get("arg_attrs") or ()
    for position, attributes in enumerate(all_attributes):
        for text in attributes:
            if not text.startswith("byval("):
                continue
            name = text[len("byval(") : -1].lstrip("%").strip('"')
            type = decoder.program.module.types.get(name)
            if type is None:
                raise UnsupportedError(f"an argument with {text}, whose type has no name", span_of(i))
            aligns = [int(t.split()[1].strip("()")) for t in attributes if t.startswith("align ")]
            copies.append((position, decoder.layout.size(type), max([decoder.layout.align(type), *aligns])))
    return copies


def local_copy(
    frame: Frame, i: Instruction, pointer: LaneValue, size: int, align: int, active: ActiveSet
) -> LaneValue:
    """A copy, local to `frame`, of the `size` bytes that each active thread's pointer refers to."""
    assert isinstance(pointer, Lanes)
    machine = frame.machine
    made = machine.image.memory.allocate(
        size, "an argument passed by value", align=align, parts=machine.lanes, is_private=True
    )
    frame.locals.append(made)
    steps = np.arange(machine.lanes, dtype=np.uint64) * np.uint64(made.stride)
    target = Lanes(steps + np.uint64(made.base))
    copy_bytes(frame, i, target, pointer, size, active)
    return target
