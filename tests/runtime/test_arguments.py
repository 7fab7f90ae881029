import struct
from collections import namedtuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from weft.diag.errors import ArgumentError, SignatureError
from weft.frontend.python import types
from weft.frontend.python.components import parameter_components
from weft.frontend.python.typeof import typeof
from weft.runtime.arguments import BufferParameter
from weft.runtime.array_memory import byte_extent, data_pointer
from weft.runtime.packing import ArgumentPacker
from weft.runtime.parameters import packer_for, parameter_for

Pair = namedtuple("Pair", "left right")
RECORD = np.dtype([("a", "i4"), ("b", "f4", (2,))], align=True)


def packed(packer: ArgumentPacker, *args: object) -> list[bytes]:
    data = struct.pack("@" + packer.formats, *packer.pack(args))
    assert len(data) % 8 == 0
    return [data[i : i + 8] for i in range(0, len(data), 8)]


def one(type: types.KernelType) -> ArgumentPacker:
    return packer_for("k", ["x"], [type])


@pytest.mark.parametrize(
    ("type", "value", "low_bytes"),
    [
        (types.float32, 2, np.float32(2).tobytes()),
        (types.float64, np.float32(0.5), np.float64(0.5).tobytes()),
        (types.float16, 1.5, np.float16(1.5).tobytes()),
        (types.int8, -3, b"\xfd"),
        (types.uint16, np.int64(65535), b"\xff\xff"),
        (types.int32, True, b"\1\0\0\0"),
        (types.uint64, 2**64 - 1, b"\xff" * 8),
        (types.boolean, np.True_, b"\1"),
        (types.pyint, -1, b"\xff" * 8),
        (types.pyfloat, 1, np.float64(1).tobytes()),
    ],
)
def test_scalar_stands_in_the_low_bytes_of_its_slot(type, value, low_bytes):
    assert packed(one(type), value) == [low_bytes.ljust(8, b"\0")]


def test_complex_number_is_two_floats():
    slots = packed(one(types.complex64), 3 - 2j)
    assert [np.frombuffer(slot[:4], "f4")[0] for slot in slots] == [3, -2]
    assert packed(one(types.complex128), 5) == [np.float64(5).tobytes(), bytes(8)]


def test_contiguous_array_is_pointer_and_extents_and_others_add_byte_strides():
    array = np.zeros((4, 6), np.float32)
    pointer = array.ctypes.data
    assert one(types.float32[:, ::1]).pack([array]) == [pointer, 4, 6]
    assert one(types.float32[:, :]).pack([array]) == [pointer, 4, 6, 24, 4]
    view = array[::2, 1:]
    assert one(types.float32[:, :]).pack([view]) == [pointer + 4, 2, 5, 48, 4]


def test_tuples_are_flattened_and_none_takes_no_slot():
    type = types.tuple_type((types.int32, types.tuple_type((types.float64, types.float32[::1])), types.none))
    array = np.ones(3, np.float32)
    assert one(type).pack([(1, (2.0, array), None)]) == [1, 2.0, array.ctypes.data, 3]


ARGUMENTS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.complex_numbers(),
    st.booleans(),
    st.none(),
    st.sampled_from([np.float32(1), np.uint8(3), np.complex64(1j), np.zeros((), RECORD)[()]]),
    hnp.arrays(
        st.sampled_from(["f4", "i2", "?", "c8", RECORD]),
        hnp.array_shapes(min_dims=0, max_dims=3),
        fill=st.nothing(),
    ).map(lambda array: array.T),
)


@given(
    st.lists(
        st.recursive(ARGUMENTS, lambda inner: st.tuples(inner, inner) | st.builds(Pair, inner, inner)),
        max_size=4,
    )
)
def test_slots_are_the_components_of_the_type_of_every_argument(args):
    kernel_types = [typeof(arg) for arg in args]
    packer = packer_for("k", [f"a{i}" for i in range(len(args))], kernel_types)
    components = [c for type in kernel_types for c in parameter_components(type)]
    assert repr(packer.pack(args)) == repr(packer.pack(args, checked=True))
    assert len(packed(packer, *args)) == len(components)


@pytest.mark.parametrize(
    ("type", "value", "message"),
    [
        (types.float32[:], np.zeros(3), "array of float32 is wanted, not of float64"),
        (types.float32[:], np.zeros(3, ">f4"), "not of >f4"),
        (types.float32[:], np.zeros((3, 3), "f4"), "1 dimensions is wanted, not of 2"),
        (types.float32[:], [1.0], "array of float32 is wanted, not list"),
        (types.float32[:, ::1], np.zeros((3, 3), "f4").T, "C-contiguous"),
        (types.float32[:], np.broadcast_to(np.float32(1), 3), "read-only"),
        (types.int32[:], np.zeros(9, "u1")[1:].view("i4"), "not aligned"),
        (types.float32, np.zeros(1, "f4"), "number is wanted, not an array of float32"),
        (types.float32, 1j, "number is wanted, not complex"),
        (types.complex64, "1", "complex number is wanted, not str"),
        (types.int32, None, "number is wanted, not NoneType"),
        (types.tuple_type((types.int32, types.int32)), (1,), "tuple of 2 is wanted"),
        (types.tuple_type((types.int32, types.int32)), (1, "2"), "item 1: a number is wanted"),
        (types.none, 1, "tuple of 0"),
    ],
)
def test_argument_of_another_kind_is_refused_by_name(type, value, message):
    with pytest.raises(ArgumentError, match=message) as caught:
        one(type).pack([value])
    assert "argument 'x' of k:" in str(caught.value)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        (types.int32, 2**31),
        (types.uint8, -1),
        (types.pyint, 2**63),
        (types.int64, 1.0),
        (types.float32, 10**400),
        (types.tuple_type((types.int8, types.int8)), (1, 128)),
    ],
)
def test_number_that_does_not_fit_is_blamed_by_name(type, value):
    packer = packer_for("k", ["y", "x"], [types.float64, type])
    args = (1.0, value)
    with pytest.raises((struct.error, OverflowError)):
        struct.pack(packer.formats, *packer.pack(args))
    assert "argument 'x' of k:" in str(packer.blame(args))


@pytest.mark.parametrize(
    ("args", "accepted"),
    [
        ((1, 2.5), True),
        ((1, 2), True),
        ((1.5, 2.5), False),
        ((300, 2.5), False),
        (("1", 2.5), False),
        ((1,), False),
    ],
)
def test_packer_accepts_what_it_can_pack(args, accepted):
    assert packer_for("k", ["a", "b"], [types.int8, types.float64]).accepts(args) is accepted


def test_wrong_number_of_arguments_lists_the_parameters():
    packer = packer_for("k", ["a", "b"], [types.int32, types.int32])
    with pytest.raises(ArgumentError, match=r"k takes 2 arguments \(a, b\), and got 3"):
        packer.pack([1, 2, 3])


def test_read_only_and_unaligned_arrays_pass_where_the_type_says_so():
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    assert one(typeof(frozen)).pack([frozen])
    unaligned = np.zeros(9, "u1")[1:].view("f4")
    assert one(typeof(unaligned)).pack([unaligned])


def test_buffer_takes_any_shape_and_only_the_pointer():
    array = np.zeros((2, 3), np.float32)
    packer = ArgumentPacker("k", ("x",), (BufferParameter(np.dtype("f4")),))
    assert packer.pack([array]) == [array.ctypes.data]
    with pytest.raises(ArgumentError, match="C-contiguous"):
        packer.pack([array.T])
    with pytest.raises(ArgumentError, match="float32 is wanted"):
        packer.pack([array.astype(int)])


def test_shared_arrays_and_functions_are_no_parameters():
    for type in (types.array_type(types.int32, 1, "C", space=3), types.Static(len)):
        with pytest.raises(SignatureError):
            parameter_for(type)


@given(
    hnp.arrays("u1", hnp.array_shapes(max_dims=3, max_side=6)),
    st.tuples(*[st.sampled_from([slice(None), slice(None, None, -1), slice(1, None, 2)])] * 3),
)
def test_data_pointer_and_byte_extent_agree_with_numpy(array, index):
    view = array[index[: array.ndim]]
    assert data_pointer(view) == view.ctypes.data
    low, high = np.lib.array_utils.byte_bounds(view)
    if view.size:
        assert byte_extent(view) == high - low
    else:
        assert byte_extent(view) == 0
