"""What each lane has of a value, as scalars, where an instruction runs for one lane after the other.

It is taken out of the value's vector, but not behind extensions and address computations: these are made for each lane
alone, as processors have them for nothing in an access, or nearly so. Bytes and shorts are shifted out of words of 64
bits, since taking each out of a vector takes longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from weft.codegen.widen.context import Widening
from weft.ir import ConstInt, Instruction, Poison, Value
from weft.ir.types import I64, IntType, Type, VectorType


def for_each_lane(
    w: Widening, result: Type, operands: Sequence[Value], body: Callable[[list[Value]], Value]
) -> Value | None:
    """Call `body` to build an instruction for each lane, all of which are active; the vector of its results.

    `operands` are P-LLVM values; `body` receives them as scalars of the lane. None for no result.
    """
    gathered: Value | None = None if result.is_void else Poison(w.lanes.vector(result))
    here = zip(*(in_lanes(w, o) for o in operands), strict=True)
    for lane, each in enumerate(here):
        value = body(list(each))
        if gathered is not None:
            gathered = w.builder.insert_element(gathered, value, ConstInt(I64, lane))
    return gathered


def in_lanes(w: Widening, value: Value) -> Iterator[Value]:
    """What lanes have of a value, from the first to the last, each computed when it is asked for."""
    builder, lanes = w.builder, range(w.lanes.width)
    if w.is_uniform(value):
        same = w.scalar(value)
        yield from (same for _ in lanes)
    elif isinstance(value, Instruction) and value.op in ("sext", "zext"):
        for operand in in_lanes(w, value.operands[0]):
            yield builder.cast(value.op, operand, value.type, value.flags)
    elif isinstance(value, Instruction) and value.op == "getelementptr" and len(value.operands) == 2:
        for base, index in zip(*(in_lanes(w, o) for o in value.operands), strict=True):
            yield builder.gep(value.source_type, base, (index,), value.flags)
    elif _fills_words(w, value):
        yield from _parts_of_words(w, value)
    else:
        vector = w.vector(value)
        yield from (builder.extract_element(vector, ConstInt(I64, lane)) for lane in lanes)


def _fills_words(w: Widening, value: Value) -> bool:
    type = value.type
    return isinstance(type, IntType) and type.bits in (8, 16) and w.lanes.width * type.bits >= I64.bits


def _parts_of_words(w: Widening, value: Value) -> Iterator[Value]:
    builder, type = w.builder, value.type
    assert isinstance(type, IntType)
    each = I64.bits // type.bits
    count = w.lanes.width // each
    words = builder.cast("bitcast", w.vector(value), VectorType(I64, count))
    for number in range(count):
        word = builder.extract_element(words, ConstInt(I64, number))
        for lane in range(each):
            moved = builder.binary("lshr", word, ConstInt(I64, lane * type.bits)) if lane else word
            yield builder.cast("trunc", moved, type)
