"""Ranges that a program states: by metadata, by attributes, or by the name of what is called."""

from __future__ import annotations

import re

from weft.analysis.intervals import Interval, join, wrapped
from weft.ir import ConstInt, Instruction, MDTuple, MDValue

_RANGE_ATTRIBUTE = re.compile(r"range\(i\d+ (-?\d+), (-?\d+)\)")
_OF_WORK_ITEMS = {
    "weft.local.id": Interval(0, 1023), "weft.local.size": Interval(1, 1024),
    "weft.group.id": Interval(0, 2**31 - 2), "weft.num.groups": Interval(1, 2**31 - 1),
    "weft.lane.id": Interval(0, 1023), "weft.num.lanes": Interval(1, 1024),
    "llvm.nvvm.read.ptx.sreg.laneid": Interval(0, 31),
    **{f"llvm.nvvm.read.ptx.sreg.tid.{c}": Interval(0, 1023) for c in "xyz"},
    **{f"llvm.nvvm.read.ptx.sreg.ntid.{c}": Interval(1, 1024) for c in "xyz"},
}  # fmt: skip
"""Limits of CUDA's launches, which weft keeps (`weft.runtime.shape`)."""


def declared(instruction: Instruction, bits: int) -> Interval | None:
    """The range that is promised of an instruction's result."""
    name = instruction.callee_name
    if name is not None and name in _OF_WORK_ITEMS:
        promised = _OF_WORK_ITEMS[name]
        return promised if bits >= 32 else None
    node = instruction.metadata.get("range")
    if isinstance(node, MDTuple):
        bounds = [
            item.value.value
            for item in node.items
            if isinstance(item, MDValue) and isinstance(item.value, ConstInt)
        ]
        result: Interval | None = None
        for low, high in zip(bounds[::2], bounds[1::2], strict=False):
            result = join(result, _half_open(low, high, bits))
        return result
    if instruction.op == "call":
        return attributed(instruction.attrs.get("ret_attrs", ()), bits)
    return None


def attributed(attributes: tuple[str, ...], bits: int) -> Interval | None:
    """The range that an attribute of a parameter or result promises."""
    for text in attributes:
        match = _RANGE_ATTRIBUTE.fullmatch(text)
        if match is not None:
            return _half_open(int(match[1]), int(match[2]), bits)
    return None


def _half_open(low: int, high: int, bits: int) -> Interval:
    """[low, high) as LLVM means it: it may go around the end of the unsigned range."""
    mask = (1 << bits) - 1
    low, high = low & mask, high & mask
    return wrapped(low, (high - 1) if high > low else high - 1 + (1 << bits), bits)
