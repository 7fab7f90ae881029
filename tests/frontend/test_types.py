import pickle
from collections import namedtuple

import numpy as np
import pytest

from weft import types
from weft.errors import ArgumentError, SignatureError
from weft.types import (
    Array,
    Record,
    Tuple,
    array_type,
    float32,
    float64,
    int32,
    parse_signature,
    typeof,
    void,
)

Point = namedtuple("Point", "x y")


def test_types_are_interned_so_they_can_be_keys() -> None:
    assert float32[:, ::1] is float32[:, ::1]
    assert typeof(np.zeros((2, 3), np.float32)) is float32[:, ::1]
    assert typeof((1, 2.0)) is typeof((3, 4.0))


@pytest.mark.parametrize(
    "type",
    [
        float32,
        types.pyint,
        float32[:, ::1],
        typeof((1, Point(1, 2.0))),
        types.none,
        typeof(np.zeros(2, "i4,f8")),
    ],
    ids=str,
)
def test_types_survive_pickling(type: types.KernelType) -> None:
    assert pickle.loads(pickle.dumps(type)) is type


def test_layout_tells_whether_strides_are_known() -> None:
    array = np.zeros((4, 6), np.int32)
    assert str(typeof(array)) == "int32[:, ::1]"
    assert str(typeof(array.T)) == "int32[:, :]"
    assert str(typeof(array[:, ::2])) == "int32[:, :]"
    assert str(typeof(array[1])) == "int32[::1]"


def test_readonly_and_unaligned_arrays_have_types_of_their_own() -> None:
    array = np.zeros(4)
    array.flags.writeable = False
    kept = typeof(array)
    assert isinstance(kept, Array) and kept.readonly and kept.aligned
    raw = np.zeros(33, np.uint8)[1:].view(np.float64)
    loose = typeof(raw)
    assert isinstance(loose, Array) and not loose.aligned


@pytest.mark.parametrize(
    ("value", "name"),
    [(1, "int"), (1.0, "float"), (1j, "complex"), (True, "bool"), (np.int8(1), "int8"), (np.float16(1), "float16"),
     (np.bool_(True), "bool"), (None, "none"),
     ((1, np.float32(2)), "(int, float32)"), (Point(1, 2.0), "Point(int, float)")],
    ids=str,
)  # fmt: skip
def test_python_numbers_are_weak_and_numpy_scalars_strong(value: object, name: str) -> None:
    assert str(typeof(value)) == name


def test_records_know_their_fields_and_what_alignment_is_left() -> None:
    inner = np.dtype([("a", np.int32), ("b", np.float64)], align=True)
    packed = np.dtype([("tag", np.uint8), ("inner", inner), ("m", np.float32, (2, 3))])
    type = typeof(np.zeros(2, packed))
    assert isinstance(type, Array) and isinstance(type.dtype, Record)
    record = type.dtype
    assert list(record.fields) == ["tag", "inner", "m"]
    assert record.align == 1
    assert record.fields["m"].shape == (2, 3)
    nested = record.fields["inner"].type
    assert isinstance(nested, Record) and nested.align == 1


@pytest.mark.parametrize(
    "value",
    [
        [1, 2],
        {},
        b"bytes",
        pytest.param(object(), id="object"),
        np.zeros(2, np.longdouble),
        np.zeros(2, object),
    ],
    ids=str,
)
def test_values_that_no_kernel_takes_are_refused(value: object) -> None:
    with pytest.raises(ArgumentError):
        typeof(value)


def test_bytes_in_foreign_order_are_refused_with_a_remedy() -> None:
    with pytest.raises(ArgumentError, match="newbyteorder"):
        typeof(np.zeros(2, ">f4"))


def test_signatures_in_every_notation_say_the_same() -> None:
    wanted = void(float32[:, ::1], int32)
    assert parse_signature("void(float32[:, ::1], int32)") == wanted
    assert parse_signature(wanted) is wanted
    assert parse_signature((float32[:, ::1], int32)).args == wanted.args
    assert parse_signature("(f4[:, ::1], i4)").args == wanted.args


def test_tuples_and_dtypes_in_signatures() -> None:
    signature = parse_signature("void(UniTuple(float64, 2), Tuple((int32, float32)), boolean)")
    assert [str(arg) for arg in signature.args] == ["(float64, float64)", "(int32, float32)", "bool"]
    assert parse_signature((np.float64, np.dtype("i4"), float)).args == (float64, int32, types.pyfloat)


def test_types_of_numba_are_recognized_without_importing_it() -> None:
    numba = pytest.importorskip("numba")
    given = numba.void(
        numba.float32[:, ::1], numba.int32, numba.types.UniTuple(numba.float64, 2), numba.boolean
    )
    assert [str(a) for a in parse_signature(given).args] == [
        "float32[:, ::1]", "int32", "(float64, float64)", "bool",
    ]  # fmt: skip
    several = numba.types.Tuple((numba.float32[::1], numba.int32, numba.float64))
    assert str(parse_signature((several,)).args[0]) == "(float32[::1], int32, float64)"


@pytest.mark.parametrize(
    ("text", "column"), [("void(float33)", 6), ("void(float32[3])", 14), ("void(", 6)], ids=str
)
def test_a_mistake_in_a_signature_is_shown_where_it_is(text: str, column: int) -> None:
    with pytest.raises(SignatureError) as caught:
        parse_signature(text)
    assert caught.value.span is not None
    assert abs(caught.value.span.column - column) <= 1


def test_array_type_keeps_what_is_not_changed() -> None:
    type = array_type(float32, 2, "C", readonly=True)
    assert type.replace(ndim=1) is array_type(float32, 1, "C", readonly=True)


def test_a_tuple_type_knows_its_class() -> None:
    type = typeof(Point(1, 2))
    assert isinstance(type, Tuple) and type.cls is Point and type.fields == ("x", "y")
