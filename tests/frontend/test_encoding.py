"""Types as bytes: the same bytes for the same type, and for no other, in one process and the next."""

from __future__ import annotations

import itertools
import pickle
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.frontend.python.encoding import encode_code, encode_constant, encode_dtype, encode_types, framed
from weft.frontend.python.typeof import from_dtype, record_type, typeof
from weft.frontend.python.types import STRONG, array_type, none, pycomplex, pyfloat, pyint, tuple_type

Point = namedtuple("Point", "x y")
Swapped = namedtuple("Swapped", "y x")
Swapped.__qualname__ = "Point"

NAMES = st.sampled_from(["a", "b", "ab", "é", "a:1"])
SHAPES = st.sampled_from([(), (1,), (2,), (1, 2), (2, 1), (12,)])


@st.composite
def structures(draw: st.DrawFn, depth: int = 2) -> np.dtype[Any]:
    """Structured dtypes: packed or aligned, with gaps, titles, arrays and structures inside."""
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    scalars = st.sampled_from(["i1", "i4", "f4", "f8", "u2", "c8"]).map(np.dtype)
    element = scalars if depth == 0 else st.one_of(scalars, structures(depth - 1))
    formats = [draw(element) for _ in names]
    shapes = [draw(SHAPES) for _ in names]
    members = [np.dtype((f, s)) if s else f for f, s in zip(formats, shapes, strict=True)]
    if draw(st.booleans()):
        return np.dtype(list(zip(names, members, strict=True)), align=draw(st.booleans()))
    offsets, end = [], 0
    for member in members:
        offsets.append(end + draw(st.sampled_from([0, 0, 1, 4])))
        end = offsets[-1] + member.itemsize
    layout: dict[str, Any] = {"names": names, "formats": members, "offsets": offsets}
    layout["itemsize"] = end + draw(st.sampled_from([0, 0, 3]))
    if draw(st.booleans()):
        layout["titles"] = [f"title of {name}" for name in names]
    return np.dtype(layout)


def elements() -> st.SearchStrategy[Any]:
    return st.one_of(st.sampled_from(STRONG), structures().map(from_dtype))


def arrays() -> st.SearchStrategy[Any]:
    return st.builds(
        array_type,
        elements(),
        st.integers(1, 12),
        st.sampled_from("CA"),
        st.booleans(),
        st.booleans(),
        st.sampled_from([0, 3]),
        st.one_of(st.none(), SHAPES),
    )


def types() -> st.SearchStrategy[Any]:
    leaves = st.one_of(elements(), arrays(), st.sampled_from([none, pyint, pyfloat, pycomplex]))
    classes = st.sampled_from([None, Point, Swapped])
    return st.recursive(
        leaves,
        lambda inner: st.builds(tuple_type, st.lists(inner, max_size=3).map(tuple), classes),
        max_leaves=4,
    )


def meaning(dtype: np.dtype[Any]) -> Any:
    """All that NumPy knows of a dtype, by other means than the encoding's."""
    if dtype.subdtype is not None:
        return ("array", meaning(dtype.subdtype[0]), dtype.subdtype[1])
    if dtype.fields is None:
        return (dtype.str, dtype.alignment)
    fields = [(name, meaning(f[0]), *f[1:]) for name, f in dtype.fields.items() if name in dtype.names]
    return (dtype.names, sorted(fields, key=str), dtype.itemsize, dtype.alignment, dtype.isalignedstruct)


@given(st.lists(types(), max_size=3).map(tuple), st.lists(types(), max_size=3).map(tuple))
def test_equal_bytes_only_for_equal_types(a: Any, b: Any) -> None:
    assert (encode_types(a) == encode_types(b)) == (a == b)


@given(types())
def test_a_type_comes_through_a_pickle_as_itself(type: Any) -> None:
    again = pickle.loads(pickle.dumps(type)) if "Swapped" not in repr(type) else type
    assert again is type


@given(structures(), structures(), st.sampled_from([1, 8]))
def test_equal_bytes_only_for_equal_dtypes(a: np.dtype[Any], b: np.dtype[Any], limit: int) -> None:
    same = meaning(a) == meaning(b)
    assert (encode_dtype(a) == encode_dtype(b)) == same
    assert (record_type(a, limit) is record_type(b, limit)) == same


def layout(**changes: Any) -> np.dtype[Any]:
    return np.dtype(
        {"names": ["a", "b"], "formats": ["i4", "i4"], "offsets": [0, 4], "itemsize": 8} | changes
    )


PACKED = np.dtype([("a", "i4"), ("b", "f4")])
ALIGNED = np.dtype([("a", "i4"), ("b", "f4")], align=True)


NEIGHBOURS = [
    layout(),
    layout(names=["a", "c"]),
    layout(names=["b", "a"]),
    layout(formats=["i4", "f4"]),
    layout(formats=["f4", "i4"]),
    layout(formats=["i4", ("i4", (1,))]),
    layout(formats=["i4", ("i2", (2,))]),
    layout(formats=["i4", ("i2", (1, 2))]),
    layout(formats=["i4", ("i2", (2, 1))]),
    layout(formats=["i4", layout(offsets=[0, 0], itemsize=4)]),
    layout(formats=["i4", layout(offsets=[0, 0], itemsize=4, titles=["x", "y"])]),
    layout(offsets=[4, 0]),
    layout(offsets=[0, 0]),
    layout(offsets=[0, 3]),
    layout(itemsize=9),
    layout(itemsize=12),
    layout(titles=["x", "y"]),
    layout(titles=["x", "z"]),
    np.dtype([("a", "i4"), ("b", "i4")], align=True),
    np.dtype([("a", "i1"), ("b", "i4")]),
    np.dtype([("a", "i1"), ("b", "i4")], align=True),
    np.dtype([("s", np.dtype([("a", "i4"), ("b", "i4")]))]),
    np.dtype([("s", np.dtype([("a", "i4"), ("b", "i4")], align=True))]),
]


def test_structures_that_differ_in_one_thing_differ() -> None:
    assert len({encode_dtype(dtype) for dtype in NEIGHBOURS}) == len(NEIGHBOURS)
    assert len({from_dtype(dtype) for dtype in NEIGHBOURS}) == len(NEIGHBOURS)
    assert len({repr(meaning(dtype)) for dtype in NEIGHBOURS}) == len(NEIGHBOURS)


def test_types_that_differ_in_one_thing_differ() -> None:
    base = (STRONG[4], 2, "A", False, True, 0, None)
    changes = [
        *(
            (0, element)
            for element in (*STRONG, from_dtype(ALIGNED), record_type(ALIGNED, 1), pyint, pyfloat)
        ),
        *((1, ndim) for ndim in (0, 1, 3, 12)),
        *[(2, "C"), (3, True), (4, False), (5, 3)],
        *((6, shape) for shape in [(1, 2), (2, 1), (12,), (-1,), ()]),
    ]
    arrays = {
        array_type(*(value if i == place else b for i, b in enumerate(base))) for place, value in changes
    }
    tuples = {
        tuple_type(items, cls)
        for items in itertools.product([pyint, pyfloat, array_type(*base), tuple_type(())], repeat=2)
        for cls in (None, Point, Swapped)
    }
    flat = {tuple_type(()), tuple_type((tuple_type(()),)), none, pyint, pycomplex, *STRONG}
    every = [(), *((type,) for type in arrays | tuples | flat), (none, none), (tuple_type((none, none)),)]
    assert len({encode_types(types) for types in every}) == len(every) == len(set(every))


@given(*[st.lists(st.one_of(st.binary(max_size=3), st.text(max_size=3)), max_size=4)] * 2)
def test_frames_do_not_run_together(a: list[Any], b: list[Any]) -> None:
    a, b = ([p if isinstance(p, bytes) else p.encode() for p in parts] for parts in (a, b))
    assert (framed(b"x", *a) == framed(b"x", *b)) == (a == b)


@pytest.mark.parametrize(("first", "second"), [(PACKED, ALIGNED), (ALIGNED, PACKED)])
def test_structures_that_numpy_takes_for_equal_have_types_of_their_own(first: Any, second: Any) -> None:
    assert first == second
    assert [typeof(np.zeros(1, dtype)).dtype.align for dtype in (first, second)] == [  # type: ignore[attr-defined]
        dtype.alignment for dtype in (first, second)
    ]


def test_a_dtype_whose_fields_are_renamed_is_another_type() -> None:
    dtype = np.dtype([("a", "i4"), ("b", "f4")])
    before = from_dtype(dtype)
    dtype.names = ("c", "d")
    assert list(from_dtype(dtype).fields) == ["c", "d"]  # type: ignore[union-attr]
    assert from_dtype(dtype) is not before


def code_of(text: str) -> Any:
    return compile(text, "file", "exec")


def test_code_counts_each_constant_as_what_it_is() -> None:
    values = ["0.0", "-0.0", "0", "False", "0j", "'0'", "b'0'", "(0,)", "(False,)", "(0.0,)", "1e999", "..."]
    assert len({encode_code(code_of(f"x = {value}")) for value in values}) == len(values)


def test_slices_are_constants_since_python_3_14() -> None:
    slices = [slice(None), slice(1), slice(1, None), slice(1, 2), slice(1, 2, 1), slice(1.0)]
    encoded = [encode_constant(each) for each in slices]
    assert None not in encoded and len(set(encoded)) == len(slices)
    assert encode_constant(slice([])) is None


def test_sets_in_code_count_in_any_order() -> None:
    texts = [f"x in {{{a!r}, {b!r}}}" for a, b in [("left", "right"), ("up", "down")]]
    assert len({encode_code(code_of(text)) for text in texts}) == 2
    assert encode_code(code_of(texts[0])) == encode_code(code_of(texts[0]))
