"""Elements of a copy, combined atomically with those of the array that it is a copy of, by eight bytes at a time.

Elements of less than eight bytes are combined several in one step: they are read together, combined in a vector, and
exchanged by one compare and exchange of eight bytes, again where another thread has been there in between. That is one
locked instruction in place of one for each element; and floats, whose atomic operation is such a loop anyway, have one
loop instead of several. Elements that have not changed in the copy keep their bits. In front of the first multiple of
eight bytes, and behind the last, elements go one by one.

Locked instructions of different sizes on the same bytes exclude each other: a processor holds the line of the cache.
So other threads may update elements by operations of their own size meanwhile.

Precondition: addresses of elements are multiples of their size. Postcondition: each element is combined with that of
the copy, in one atomic step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from weft.analysis.memory.updated_arrays import UpdatedArray
from weft.codegen.loops import counted_loop, two_arms
from weft.codegen.parallel.combine import OF_ATOMIC, combine, neutral_value
from weft.ir import Builder, Function, Value
from weft.ir.builder import const_int
from weft.ir.constants import ConstSplat
from weft.ir.types import I64, FloatType, FunctionType, IntType, VectorType, int_type

_TOGETHER = 8
"""Bytes that processors of all levels compare and exchange."""

_CHOICE = FunctionType(I64, (I64, I64))


def merge(
    builder: Builder, function: Function, array: UpdatedArray, whole: Value, copy: Value, number: Value
) -> None:
    """Update the elements of an array at `whole` by those of its copy that have changed."""
    few = _TOGETHER // array.size
    start: Value = const_int(0)
    if few > 1 and array.align >= array.size:
        start = _merge_together(builder, function, array, whole, copy, number, few)
    with counted_loop(builder, function, start, number, "merge") as index:
        _merge_one(builder, function, array, whole, copy, index)


def _merge_one(
    builder: Builder, function: Function, array: UpdatedArray, whole: Value, copy: Value, index: Value
) -> None:
    more = builder.load(array.type, builder.gep(array.type, copy, (index,)))
    attrs = {"rmw": array.kind, "ordering": "monotonic", "align": array.align}
    with _where(builder, function, _has_changed(builder, array, more)):
        place = builder.gep(array.type, whole, (index,))
        builder.build("atomicrmw", array.type, (place, more), attrs=attrs)


def _merge_together(
    builder: Builder,
    function: Function,
    array: UpdatedArray,
    whole: Value,
    copy: Value,
    number: Value,
    few: int,
) -> Value:
    """Merge all elements up to the last multiple of eight bytes; the index of the next one."""
    smaller = builder.module.declare("llvm.smin.i64", _CHOICE)
    behind = builder.binary("sub", const_int(0), builder.cast("ptrtoint", whole, I64))
    behind = builder.binary("and", behind, const_int(_TOGETHER - 1))
    first = builder.binary("udiv", behind, const_int(array.size))
    first = builder.call(smaller, (first, number))
    with counted_loop(builder, function, const_int(0), first, "merge") as index:
        _merge_one(builder, function, array, whole, copy, index)
    rest = builder.binary("and", builder.binary("sub", number, first), const_int(few - 1))
    end = builder.binary("sub", number, rest)
    type = VectorType(array.type, few)
    with counted_loop(builder, function, first, end, "merge", few) as index:
        more = builder.load(I64, builder.gep(array.type, copy, (index,)), align=array.size)
        several = builder.cast("bitcast", more, type)
        unchanged = ConstSplat(type, neutral_value(OF_ATOMIC[array.kind], array.type))
        none = builder.cast("bitcast", unchanged, I64)
        with _where(builder, function, builder.icmp("ne", more, none)):
            place = builder.gep(array.type, whole, (index,))
            _exchange(builder, function, array, place, several)
    return end


def _exchange(
    builder: Builder, function: Function, array: UpdatedArray, place: Value, several: Value
) -> None:
    attrs = {"ordering": "monotonic", "align": _TOGETHER}
    before = builder.block
    known = builder.build("load", I64, (place,), attrs=attrs)
    again, done = (function.add_block(f"exchange.{part}") for part in ("again", "done"))
    changed = _has_changed(builder, array, several) if isinstance(array.type, FloatType) else None
    builder.br(again)
    builder.at_end(again)
    expected = builder.phi(I64, "expected")
    assert before is not None
    expected.add_incoming(known, before)
    old = builder.cast("bitcast", expected, several.type)
    new = combine(builder.module, builder, OF_ATOMIC[array.kind], old, several)
    if changed is not None:
        # A sum with what changes nothing may lose a denormal number, or a signalling NaN.
        new = builder.select(changed, new, old)
    pair = builder.cmpxchg(place, expected, builder.cast("bitcast", new, I64))
    expected.add_incoming(builder.extract_value(pair, (0,)), again)
    builder.cond_br(builder.extract_value(pair, (1,)), done, again)
    builder.at_end(done)


def _has_changed(builder: Builder, array: UpdatedArray, value: Value) -> Value:
    """Whether elements of a copy are not what changes nothing, by their bits: -0.0 and 0.0 differ."""
    neutral: Value = neutral_value(OF_ATOMIC[array.kind], array.type)
    bits: IntType | VectorType = int_type(array.type.bits)
    if isinstance(value.type, VectorType):
        neutral = ConstSplat(value.type, neutral)
        bits = VectorType(bits, value.type.count)
    if isinstance(array.type, FloatType):
        value, neutral = (builder.cast("bitcast", v, bits) for v in (value, neutral))
    return builder.icmp("ne", value, neutral)


@contextmanager
def _where(builder: Builder, function: Function, condition: Value) -> Iterator[None]:
    with two_arms(builder, function, condition) as otherwise:
        yield
        otherwise()
