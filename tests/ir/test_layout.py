"""Sizes, alignments and offsets are LLVM's."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.ir.layout import X86_64_LAYOUT, parse_datalayout
from weft.ir.types import (
    BF16,
    F16,
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    PTR,
    ArrayType,
    StructType,
    Type,
    VectorType,
    int_type,
    pointer,
)

LAYOUT = parse_datalayout(X86_64_LAYOUT)

scalars = st.sampled_from(
    [I8, I16, I32, I64, F16, BF16, F32, F64, PTR, I1, int_type(128), int_type(24), int_type(65)]
)
vectors = st.builds(VectorType, st.sampled_from([I8, I16, I32, F32, F64, I1, F16]), st.integers(1, 17))


def _composites(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    structs = st.builds(StructType, st.lists(inner, max_size=5).map(tuple), st.booleans())
    return st.one_of(structs, st.builds(ArrayType, inner, st.integers(0, 5)))


types = st.recursive(st.one_of(scalars, vectors), _composites, max_leaves=8)


@given(types)
def test_sizes_and_offsets_are_those_of_llvm(type: Type) -> None:
    struct = StructType((I8, type, I8))
    text = f'target datalayout = "{X86_64_LAYOUT}"\n@x = global {struct} zeroinitializer\n'
    module = llvm.parse_assembly(text, context=llvm.create_context())
    data = llvm.create_target_data(X86_64_LAYOUT)
    global_type = module.get_global_variable("x").global_value_type
    assert LAYOUT.size(struct) == data.get_abi_size(global_type)
    assert LAYOUT.align(struct) == data.get_abi_alignment(global_type)
    for index in range(3):
        assert LAYOUT.offset(struct, (index,)) == data.get_element_offset(global_type, index)


@pytest.mark.parametrize(
    ("type", "indices", "offset"),
    [
        (StructType((I8, ArrayType(StructType((I32, F64)), 3))), (1, 2, 1), 8 + 2 * 16 + 8),
        (StructType((I8, I32), packed=True), (1,), 1),
        (ArrayType(I16, 9), (4,), 8),
    ],
)
def test_offsets_go_through_members(type: Type, indices: tuple[int, ...], offset: int) -> None:
    assert LAYOUT.offset(type, indices) == offset


def test_pointer_sizes_come_from_the_layout() -> None:
    layout = parse_datalayout("E-p:64:64-p3:32:32-i64:32")
    assert layout.size(PTR) == 8
    assert layout.size(pointer(3)) == 4
    assert layout.align(I64) == 4
    assert not layout.little_endian


def test_opaque_struct_has_no_size() -> None:
    with pytest.raises(TypeError, match="opaque"):
        LAYOUT.size(StructType(None, name="o"))
