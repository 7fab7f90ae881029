"""Constants survive writing and reading bit for bit, and LLVM reads the same bits."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

import llvmlite.binding as llvm
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft.diag.errors import IRSyntaxError
from weft.ir import (
    ConstAggregate,
    Constant,
    ConstBytes,
    ConstFloat,
    ConstInt,
    ConstSplat,
    GlobalVariable,
    Module,
)
from weft.ir.constants import Poison, Undef, zero_of
from weft.ir.float_format import format_float, parse_float
from weft.ir.reader import read_module
from weft.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I8,
    ArrayType,
    FloatType,
    StructType,
    Type,
    VectorType,
    int_type,
)
from weft.ir.writer import write_module

FLOATS = (F16, BF16, F32, F64)


def text_of(constant: Constant) -> str:
    module = Module()
    module.add_global(GlobalVariable("c", constant.type, constant))
    return write_module(module, plain=True)


def survives(constant: Constant) -> bool:
    return read_module(text_of(constant)).globals["c"].initializer == constant


integers = st.integers(1, 200).flatmap(
    lambda bits: st.integers(0, (1 << bits) - 1).map(lambda v: ConstInt(int_type(bits), v))
)
floats = st.sampled_from(FLOATS).flatmap(
    lambda t: st.integers(0, (1 << t.bits) - 1).map(lambda bits: ConstFloat(t, bits))
)
scalars = st.one_of(integers, floats)


def members(inner: st.SearchStrategy[Constant]) -> st.SearchStrategy[Constant]:
    struct_of = st.tuples(st.lists(inner, max_size=4), st.booleans()).map(
        lambda x: ConstAggregate(StructType(tuple(c.type for c in x[0]), x[1]), x[0])
    )
    array_of = st.tuples(inner, st.integers(1, 4)).map(
        lambda x: ConstAggregate(ArrayType(x[0].type, x[1]), (x[0],) * x[1])
    )
    other = inner.flatmap(lambda c: st.sampled_from([Poison(c.type), Undef(c.type), zero_of(c.type)]))
    return st.one_of(struct_of, array_of, other)


vectors = st.tuples(scalars, st.integers(1, 9)).flatmap(
    lambda x: st.sampled_from(
        [
            ConstSplat(VectorType(x[0].type, x[1]), x[0]),
            ConstAggregate(VectorType(x[0].type, x[1]), (x[0],) * x[1]),
        ]
    )
)
constants = st.recursive(st.one_of(scalars, vectors), members, max_leaves=6)


@given(constants)
def test_constants_survive(constant: Constant) -> None:
    assert survives(constant)


@given(st.binary(max_size=20))
def test_byte_strings_survive(data: bytes) -> None:
    assert survives(ConstBytes(ArrayType(I8, len(data)), data))


@given(st.sampled_from([F32, F64]), st.data())
def test_llvm_reads_the_bits_that_a_float_text_means(type: FloatType, data: st.DataObject) -> None:
    bits = data.draw(st.integers(0, (1 << type.bits) - 1))
    text = format_float(type.kind, bits)
    module = llvm.parse_assembly(f"@x = global {type} {text}\n", context=llvm.create_context())
    again = str(module).split("@x = global ")[1].split()[1]
    assert parse_float(type.kind, again) == bits


@given(st.floats(width=32, allow_subnormal=False))
@example(1000001.0)
@example(1000010.0)
def test_decimal_floats_print_as_llvm_prints_them(value: float) -> None:
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    text = format_float("float", bits)
    module = llvm.parse_assembly(f"@x = global float {text}\n", context=llvm.create_context())
    assert f"@x = global float {text}\n" in str(module)


@pytest.mark.parametrize("type", [F16, BF16])
def test_every_16_bit_float_survives(type: FloatType) -> None:
    for bits in range(1 << 16):
        assert parse_float(type.kind, format_float(type.kind, bits)) == bits


@pytest.mark.parametrize(
    ("type", "text", "bits"),
    [
        (F32, "1.0", 0x3F800000),
        (F32, "-0.0", 0x80000000),
        (F32, "0x7FF4000000000000", 0x7FA00000),
        (F32, "0xFFF8000000000000", 0xFFC00000),
        (F32, "0x36A0000000000000", 1),
        (F64, "1.5e-300", struct.unpack("<Q", struct.pack("<d", 1.5e-300))[0]),
        (F64, "0x1", 1),
        (F16, "0xH7C01", 0x7C01),
        (F16, "1.5", 0x3E00),
        (BF16, "0xRFF80", 0xFF80),
        (BF16, "-2.0", 0xC000),
    ],
)
def test_float_texts_have_these_bits(type: FloatType, text: str, bits: int) -> None:
    assert parse_float(type.kind, text) == bits


@pytest.mark.parametrize(
    ("type", "text", "why"),
    [
        (F32, "0.1", "not exactly a float"),
        (F32, "0x3FB999999999999A", "not exactly a float"),
        (F32, "0x7FF0000000000001", "a NaN that no float can hold"),
        (F32, "0x47F0000000000000", "not exactly a float"),
        (F16, "65520.0", "not exactly a half"),
        (F16, "0xR3F80", "no constant of type half"),
        (F64, "0x12345678123456789", "more than 16 digits"),
        (F64, "1", "no float constant"),
        (F64, "nan", "no float constant"),
    ],
)
def test_float_texts_without_such_a_value_are_refused(type: FloatType, text: str, why: str) -> None:
    answer = parse_float(type.kind, text)
    assert isinstance(answer, str)
    assert why in answer


@given(st.lists(scalars, min_size=1, max_size=6))
def test_llvm_reads_what_is_written(elements: list[Constant]) -> None:
    constant = ConstAggregate(StructType(tuple(c.type for c in elements)), elements)
    module = llvm.parse_assembly(text_of(constant), context=llvm.create_context())
    again = read_module(str(module)).globals["c"].initializer
    assert again is not None
    expected = zero_of(constant.type) if all(_is_zero(c) for c in elements) else constant
    assert again == expected


def _is_zero(constant: Constant) -> bool:
    return constant == zero_of(constant.type)


@pytest.mark.parametrize(
    "text",
    [
        "i64 ptrtoint (ptr @c to i64)",
        "ptr getelementptr inbounds nuw ({ i8, [4 x i32] }, ptr @c, i64 0, i32 1, i64 2)",
        "ptr getelementptr inrange(-8, 24) (i8, ptr @c, i64 8)",
        "ptr inttoptr (i64 add (i64 ptrtoint (ptr @c to i64), i64 16) to ptr)",
        "i32 trunc (i64 sub (i64 ptrtoint (ptr @c to i64), i64 1) to i32)",
        "ptr addrspace(1) addrspacecast (ptr @c to ptr addrspace(1))",
        "<2 x ptr> <ptr @c, ptr null>",
    ],
)
def test_expressions_survive(text: str, expression_text: Callable[[str], str]) -> None:
    assert expression_text(text) == f"@c = global {text}"


@pytest.fixture
def expression_text() -> Callable[[str], str]:
    def written(text: str) -> str:
        lines = write_module(read_module(f"@c = global {text}\n")).splitlines()
        return next(line for line in lines if line.startswith("@c"))

    return written


@given(st.integers(-(1 << 70), 1 << 70), st.integers(1, 64))
def test_integer_that_does_not_fit_is_refused(value: int, bits: int) -> None:
    type: Type = int_type(bits)
    fits = -(1 << (bits - 1)) <= value < 1 << bits
    text = f"@c = global {type} {value}\n"
    if fits:
        assert read_module(text).globals["c"].initializer == ConstInt(int_type(bits), value)
    else:
        with pytest.raises(ValueError, match="does not fit"):
            read_module(text)


def test_infinity_and_nan_are_bit_patterns() -> None:
    assert format_float("double", ConstFloat.of(F64, math.inf).bits) == "0x7FF0000000000000"
    assert format_float("half", ConstFloat.of(F16, -math.inf).bits) == "0xHFC00"
    assert format_float("bfloat", ConstFloat.of(BF16, 1.0).bits) == "0xR3F80"


@pytest.mark.parametrize(
    "text", ["<i32 1, i32 2, i32 1>", "<i32 1, i32 2>", "<i32 1, i32 2, i32 1, i32 2>", "<i32 1, i8 2, i32 1>",
             "<i32 1, i32 2, i32 1,>", "<i32 1, i32 2, i32 1", "<i32 1, i32 2, i32 poison>"],
)  # fmt: skip
def test_numbers_that_were_read_before_are_read_as_the_first_were(text: str) -> None:
    first, again = f"@a = global <3 x i32> {text}", "@n = global [2 x i32] [i32 1, i32 2]\n"
    found = []
    # Behind the second line all numbers are known.
    for source in (first, again + first):
        try:
            value = read_module(source + "\n").globals["a"].initializer
            assert isinstance(value, ConstAggregate)
            found.append([e.value if isinstance(e, ConstInt) else str(e.type) for e in value.elements])
        except IRSyntaxError as error:
            found.append(error.message)
    assert found[0] == found[1]
    assert isinstance(found[0], list) == (text in ("<i32 1, i32 2, i32 1>", "<i32 1, i32 2, i32 poison>"))
