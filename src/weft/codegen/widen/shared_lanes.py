"""Values that many lanes have in common: computed for one lane of each, and spread.

In a lane group of 8 by 8 threads ``row < n`` is the same in each row, and there are eight answers to it, not 64.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.widen.context import Widening
from weft.ir import ConstAggregate, ConstInt, Instruction, Poison, Value
from weft.ir.types import I1, IntType, VectorType

FEW_BITS = 32
"""Comparisons of numbers of so many bits are as well done in all lanes: spreading few answers takes LLVM as many
instructions, or many more (64 lanes of AVX2: 130 insertions of a byte, where the answers are found before a loop)."""


def widen_shared(w: Widening, instruction: Instruction) -> Value | None:
    """The lanes' results, if all operands are the same along some dimension; None where they are not."""
    extents = w.lanes.extents
    if len(extents) < 2 or not all(
        w.is_scalar(v) and isinstance(v.type, IntType) for v in instruction.operands
    ):
        return None
    strides = [w.divergence.shape(v).strides for v in instruction.operands]
    same = [d for d, extent in enumerate(extents) if extent > 1 and all(s[d] == 0 for s in strides)]
    if not same:
        return None
    if instruction.type == I1 and all(_bits(v) <= FEW_BITS for v in instruction.operands):
        return None
    own = [t for t in range(w.lanes.width) if w.lanes.at_origin(t, same) == t]
    place = {t: k for k, t in enumerate(own)}
    few = w.builder.insert(
        Instruction(
            instruction.op,
            VectorType(instruction.type, len(own)),
            [_of_lanes(w, v, own) for v in instruction.operands],
            flags=instruction.flags,
            attrs=instruction.attrs,
            name=instruction.name,
            loc=instruction.loc,
        )
    )
    spread = [place[w.lanes.at_origin(t, same)] for t in range(w.lanes.width)]
    return w.builder.shuffle(few, Poison(few.type), spread)


def _of_lanes(w: Widening, value: Value, lanes: Sequence[int]) -> Value:
    """A vector of the values that some lanes have of what is kept as a scalar."""
    scalar = w.scalar(value)
    assert isinstance(scalar.type, IntType)
    type = VectorType(scalar.type, len(lanes))
    single = w.builder.insert_element(Poison(type), scalar, ConstInt(scalar.type, 0))
    vector = w.builder.shuffle(single, Poison(type), [0] * len(lanes))
    if w.is_uniform(value):
        return vector
    offsets = w.lanes.offsets([s for s in w.divergence.shape(value).strides if isinstance(s, int)])
    steps = ConstAggregate(type, [ConstInt(scalar.type, offsets[t]) for t in lanes])
    return w.builder.binary("add", vector, steps)


def _bits(value: Value) -> int:
    assert isinstance(value.type, IntType)
    return value.type.bits
