"""Calls whose result depends on the lane's own operands alone, computed by a function on data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.interp.code import Compute
from weft.interp.lanes import Array, Flags, Lanes, LaneValue, add_poison, join_flags
from weft.ir.instruction import Instruction

if TYPE_CHECKING:
    from weft.interp.decode import Decoder
    from weft.interp.frame import Frame

Kernel = Callable[..., Array]


def lanewise(
    decoder: Decoder,
    i: Instruction,
    kernel: Kernel,
    operands: int | None = None,
    poison: Callable[..., Array] | None = None,
) -> Compute:
    """The call as a closure: `kernel` on the data of the first `operands` arguments (all by default).

    `poison` gets the same data and the result, and says where the result is poison.
    """
    slots = [decoder.slot(a) for a in i.args[:operands]]

    def compute(frame: Frame) -> LaneValue:
        env = frame.env
        values = [env[s] for s in slots]
        flags: Flags = None
        for value in values:
            if value.flags is not None:
                flags = join_flags(flags, value.flags)
        inputs = [value.data for value in values]
        data = kernel(*inputs)
        if poison is not None:
            flags = add_poison(flags, poison(*inputs, data))
        return Lanes(data, flags)

    return compute
