"""Addresses of lanes a step apart, as vector code computes them: ``base + step * <0, 1, 2, ...>``."""

from __future__ import annotations

from msgspec import Struct

from weft.ir.builder import Builder
from weft.ir.constants import ConstAggregate, ConstInt, ConstSplat, Poison
from weft.ir.instruction import Instruction
from weft.ir.types import I8, I64, VectorType
from weft.ir.values import Value


class LaneSteps(Struct, frozen=True):
    """The first lane's address, and how many bytes each other one is behind the one before it, an i64."""

    first: Value
    step: Value


def lanes_apart(builder: Builder, steps: LaneSteps, lanes: int) -> Value:
    """Compute the addresses of so many lanes."""
    type = VectorType(I64, lanes)
    if isinstance(steps.step, ConstInt):
        each: Value = ConstSplat(type, steps.step)
    else:
        single = builder.insert_element(Poison(type), steps.step, ConstInt(I64, 0))
        each = builder.shuffle(single, Poison(type), [0] * lanes)
    return builder.gep(I8, steps.first, (builder.binary("mul", each, _numbers(lanes)),))


def steps_of(addresses: Value) -> LaneSteps | None:
    """What `lanes_apart` has computed addresses of, if it has."""
    if (
        not isinstance(addresses, Instruction)
        or addresses.op != "getelementptr"
        or addresses.attrs["source_type"] != I8
        or len(addresses.operands) != 2
    ):
        return None
    first, index = addresses.operands
    type = index.type
    if first.type.is_vector or not isinstance(type, VectorType):
        return None
    if not isinstance(index, Instruction) or index.op != "mul":
        return None
    each, numbers = index.operands
    if numbers != _numbers(type.count):
        return None
    if isinstance(each, ConstSplat):
        return LaneSteps(first, each.element)
    if not isinstance(each, Instruction) or each.op != "shufflevector" or any(each.attrs["mask"]):
        return None
    single = each.operands[0]
    if not isinstance(single, Instruction) or single.op != "insertelement":
        return None
    _, step, at = single.operands
    return LaneSteps(first, step) if at == ConstInt(I64, 0) else None


def _numbers(lanes: int) -> ConstAggregate:
    return ConstAggregate(VectorType(I64, lanes), [ConstInt(I64, k) for k in range(lanes)])
