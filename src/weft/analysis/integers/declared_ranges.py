"""Ranges that a program states: by metadata, by attributes, or by the name of what is called."""

from __future__ import annotations

import re

from weft.analysis.integers.intervals import Interval, join, wrapped
from weft.ir import ConstInt, Instruction, MDTuple, MDValue
from weft.ir.work_item_names import Dialect, Meaning, meaning_of

_RANGE_ATTRIBUTE = re.compile(r"range\(i\d+ (-?\d+), (-?\d+)\)")
_OF_WORK_ITEMS = {
    (Dialect.WEFT, Meaning.LOCAL_ID): Interval(0, 1023),
    (Dialect.WEFT, Meaning.LOCAL_SIZE): Interval(1, 1024),
    (Dialect.WEFT, Meaning.GROUP_ID): Interval(0, 2**31 - 2),
    (Dialect.WEFT, Meaning.NUM_GROUPS): Interval(1, 2**31 - 1),
    (Dialect.WEFT, Meaning.LANE_ID): Interval(0, 1023),
    (Dialect.WEFT, Meaning.LANE_COORDINATE): Interval(0, 1023),
    (Dialect.WEFT, Meaning.NUM_LANES): Interval(1, 1024),
    (Dialect.NVVM, Meaning.LOCAL_ID): Interval(0, 1023),
    (Dialect.NVVM, Meaning.LOCAL_SIZE): Interval(1, 1024),
    (Dialect.NVVM, Meaning.LANE_ID): Interval(0, 31),
}
"""Limits of CUDA's launches, which weft keeps (`weft.runtime.shape`)."""


def declared(instruction: Instruction, bits: int) -> Interval | None:
    """The range that is promised of an instruction's result."""
    name = instruction.callee_name
    row = meaning_of(name) if name is not None else None
    if row is not None and (row.dialect, row.meaning) in _OF_WORK_ITEMS:
        return _OF_WORK_ITEMS[row.dialect, row.meaning] if bits >= 32 else None
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
