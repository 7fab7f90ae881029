"""Permutations of vectors by numbers known at run time only.

LLVM has no instruction for that. A vector made element by element from another of at most one register, at indices
from a third, is what its code generators turn into one permutation instruction; so vectors are taken apart into
registers, each part of the result being chosen from all parts of the source.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.widen.context import Widening
from weft.ir import Builder, ConstInt, ConstSplat, Function, Instruction, Poison, Value
from weft.ir.types import I32, I64, FunctionType, IntType, VectorType

_WHERE_64_BITS_PERMUTE = 512
"""Machines with narrower registers have no good permutation of 64-bit elements."""

_PURE = ("alwaysinline", "nounwind", "willreturn", "memory(none)")


def permute(w: Widening, vector: Value, lanes: Value) -> Instruction:
    """Element t of the result is element ``lanes[t]`` of `vector`, i32 or i64; `lanes` are in range."""
    assert isinstance(vector.type, VectorType) and isinstance(lanes.type, VectorType)
    element, count = vector.type.element, vector.type.count
    assert isinstance(element, IntType)
    if element is I64 and w.isa.vector_bits < _WHERE_64_BITS_PERMUTE:
        low, high = (permute(w, half, lanes) for half in _halves(w.builder, vector, count))
        high = w.builder.binary("shl", w.builder.cast("zext", high, vector.type), _splat(I64, count, 32))
        return w.builder.binary("or", w.builder.cast("zext", low, vector.type), high)
    name = f"weft.permute.v{count}i{element.bits}"
    function = w.module.functions.get(name)
    if function is None:
        function = _define(w, name, vector.type, min(count, w.isa.lanes(element.bits)))
    return w.builder.call(function, (vector, lanes))


def _halves(builder: Builder, vector: Value, count: int) -> tuple[Value, Value]:
    """The lower and the upper 32 bits of each element."""
    narrow = VectorType(I32, count)
    upper = builder.binary("lshr", vector, _splat(I64, count, 32))
    return builder.cast("trunc", vector, narrow), builder.cast("trunc", upper, narrow)


def _define(w: Widening, name: str, type: VectorType, part: int) -> Function:
    """A function that permutes vectors of `type`, taken apart into registers of `part` elements."""
    count = type.count
    lanes_type = VectorType(I32, count)
    function = w.module.add_function(
        Function(name, FunctionType(type, (type, lanes_type)), ("vector", "lanes"))
    )
    function.linkage.linkage = "internal"
    function.attributes = _PURE
    vector, lanes = function.args
    builder = Builder(function.add_block("entry"))
    sources = in_parts(builder, vector, count, part)
    results: list[Value] = []
    for wanted in in_parts(builder, lanes, count, part):
        within = builder.binary("and", wanted, _splat(I32, part, part - 1))
        result = _permute_register(builder, sources[0], within, part)
        for number, source in enumerate(sources[1:], 1):
            there = builder.icmp("uge", wanted, _splat(I32, part, number * part))
            result = builder.select(there, _permute_register(builder, source, within, part), result)
        results.append(result)
    builder.ret(_joined(builder, results, part))
    return function


def _splat(type: IntType, count: int, value: int) -> ConstSplat:
    return ConstSplat(VectorType(type, count), ConstInt(type, value))


def in_parts(builder: Builder, vector: Value, count: int, part: int) -> list[Value]:
    """A vector of `count` elements as vectors of `part` elements."""
    if part == count:
        return [vector]
    return [
        builder.shuffle(vector, Poison(vector.type), range(start, start + part))
        for start in range(0, count, part)
    ]


def _permute_register(builder: Builder, source: Value, lanes: Value, count: int) -> Instruction:
    assert isinstance(source.type, VectorType)
    result: Value = Poison(source.type)
    for t in range(count):
        lane = builder.extract_element(lanes, ConstInt(I64, t))
        result = builder.insert_element(result, builder.extract_element(source, lane), ConstInt(I64, t))
    assert isinstance(result, Instruction)
    return result


def _joined(builder: Builder, parts: Sequence[Value], count: int) -> Value:
    while len(parts) > 1:
        parts = [
            builder.shuffle(a, b, range(2 * count)) for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        count *= 2
    return parts[0]
