"""Arrays in blocks (Moll, §11.7): the host's object, and the same results as of ordinary arrays through every door."""

import copy
import pickle
import random

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda, prange
from weft.diag.errors import ArgumentError, ArrayShapeError, SignatureError, TypingError, UnsupportedError
from weft.frontend.python.encoding import encode_type
from weft.types import float32, float64, parse_signature, tiled_type, typeof

MODULE = weft.tiled(np.zeros((2, 2)), (2, 2))
BLOCKS = [(2, 2), (4, 4), (1, 8), (8, 2)]


def test_figure_11_9_a_block_of_two_by_two_is_contiguous() -> None:
    a = np.arange(24).reshape(4, 6)
    assert weft.tiled(a, (2, 2)).memory.ravel().tolist() == [
        *[0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11],
        *[12, 13, 18, 19, 14, 15, 20, 21, 16, 17, 22, 23],
    ]


def test_rows_and_columns_that_are_no_multiple_are_padded() -> None:
    made = weft.tiled(np.arange(1, 16).reshape(3, 5), (2, 2))
    assert made.memory.shape == (2, 3, 2, 2)
    assert made.memory[0, 2].tolist() == [[5, 0], [10, 0]]
    assert made.memory[1, 2].tolist() == [[15, 0], [0, 0]]
    assert (made.size, made.nbytes, made.memory.nbytes) == (15, 120, 192)


def test_another_element_than_the_first_may_begin_a_block() -> None:
    made = weft.tiled(np.arange(1, 16).reshape(3, 5), (2, 2), origin=(1, 3))
    assert made.origin == (1, 1)
    assert made.memory.shape == (2, 3, 2, 2)
    assert made.memory[:, 0].tolist() == [[[0, 0], [0, 1]], [[0, 6], [0, 11]]]
    assert made.memory[1, 1].tolist() == [[7, 8], [12, 13]]
    assert made[1, 1] == 7 and made[-1, -1] == 15
    for wrong in ((1,), (1, -1), 1, (0.5, 1)):
        with pytest.raises(ArgumentError, match="an origin of"):
            weft.tiled(np.zeros((4, 4)), (2, 2), origin=wrong)


def test_there_and_back() -> None:
    rng = random.Random(1)
    for _ in range(90):
        rank = rng.choice([2, 3])
        shape = [rng.randint(0, 19) for _ in range(rank)]
        block = tuple(1 << rng.randint(0, 3) for _ in range(rank))
        dtype = rng.choice([np.int8, np.float32, np.float64, np.complex128, [("x", "f4"), ("y", "i2")]])
        a = np.frombuffer(random.Random(2).randbytes(1 << 17), np.uint8)[
            : np.prod(shape) * np.dtype(dtype).itemsize
        ]
        a = a.view(dtype).reshape(shape)
        if rng.random() < 0.5:
            a = a.T
        origin = tuple(rng.randint(0, 9) for _ in range(rank)) if rng.random() < 0.5 else None
        made = weft.tiled(a, block, origin=origin)
        assert made.shape == a.shape and made.block == block
        assert not made.size or made.memory.ctypes.data % 64 == 0
        assert made.to_array().tobytes() == np.ascontiguousarray(a).tobytes()
        out = np.zeros(a.shape[::-1], a.dtype).T
        assert made.to_array(out) is out
        assert out.tobytes() == a.tobytes()


def test_elements_on_the_host() -> None:
    made = weft.TiledArray.zeros((3, 5), (2, 4), np.float32)
    made[1, -1] = 7
    assert made[1, 4] == 7 and made.to_array()[1, 4] == 7
    made[...] = np.arange(15).reshape(3, 5)
    assert made[2, 3] == 13 and len(made) == 3 and made.ndim == 2 and made.itemsize == 4
    assert np.sum(made) == 105 and np.asarray(made, np.int64).dtype == np.int64
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 1 with size 5"):
        made[0, 5]
    for index in (0, slice(None), (slice(None), 0), (0, 0, 0), (0.5, 1)):
        with pytest.raises(ArgumentError, match="indexed by 2 integers"):
            made[index]
    with pytest.raises(ArrayShapeError, match=r"\(2, 5\) assigned to one of shape \(3, 5\)"):
        made[...] = np.zeros((2, 5))
    with pytest.raises(ArrayShapeError):
        made.to_array(np.zeros((5, 3)))
    with pytest.raises(ValueError, match="a copy only"):
        np.asarray(made, copy=False)


@pytest.mark.parametrize("block", [(2,), (2, 3), (2, 0), (2, 2, 2, 2), 2, "2x2", (2.0, 2), (128, 128)])
def test_what_is_no_block_is_refused(block) -> None:
    with pytest.raises(ArgumentError, match="blocks of"):
        weft.tiled(np.zeros((4, 4)), block)


def test_a_block_has_the_dimensions_of_its_array() -> None:
    with pytest.raises(ArgumentError, match="blocks of 2 dimensions for an array of 3"):
        weft.tiled(np.zeros((4, 4, 4)), (2, 2))
    with pytest.raises(ArrayShapeError, match="cannot have the shape"):
        weft.TiledArray.zeros((-1, 4), (2, 2))
    with pytest.raises(ArrayShapeError, match="memory of shape"):
        weft.TiledArray(np.zeros((2, 2, 2, 2)), (9, 9))


def test_copies_and_pickles() -> None:
    made = weft.tiled(np.arange(15.0).reshape(3, 5), (2, 4))
    made.memory.flags.writeable = False
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), copy.copy(made), made.copy()):
        assert np.array_equal(other, made) and other.block == (2, 4) and other.memory is not made.memory
    other = pickle.loads(pickle.dumps(weft.tiled(np.ones((3, 5)), (2, 2), origin=(1, 0))))
    assert other.origin == other.copy().origin == (1, 0) and np.array_equal(other, np.ones((3, 5)))
    assert "(2, 2), origin=(1, 0))" in repr(other)
    assert repr(weft.tiled([[1, 2]], (1, 2))) == "tiled(array([[1, 2]]), (1, 2))"


def test_the_type_has_the_block_in_it() -> None:
    made = weft.tiled(np.zeros((3, 5), np.float32), (2, 4))
    assert typeof(made) is tiled_type(float32, (2, 4))
    assert str(typeof(made)) == "tiled(float32, (2, 4))"
    assert parse_signature("void(tiled(float32, (2, 4)), int64)").args[0] is typeof(made)
    assert parse_signature("tiled(float32, (2, 4))").args == (typeof(made),)
    assert pickle.loads(pickle.dumps(typeof(made))) is typeof(made)
    moved = typeof(weft.tiled(np.zeros((3, 5)), (2, 4), origin=(1, 5)))
    assert str(moved) == "tiled(float64, (2, 4), (1, 1))"
    assert parse_signature(f"void({moved})").args[0] is moved is pickle.loads(pickle.dumps(moved))
    codes = {
        encode_type(tiled_type(d, b, o, r))
        for d in (float32, float64)
        for b in BLOCKS[:2]
        for o in ((0, 0), (1, 0))
        for r in (False, True)
    }
    assert len(codes) == 16
    for text in (
        "void(tiled(float32, (3, 4)))",
        "void(tiled(float32, n))",
        "void(tiled(float32[:], (2, 2)))",
    ):
        with pytest.raises(SignatureError, match="an array in blocks is written as"):
            parse_signature(text)


def jacobi(a, b):
    for j in prange(1, a.shape[0] - 1):
        for i in prange(1, a.shape[1] - 1):
            b[j, i] = 0.25 * (a[j - 1, i] + a[j, i - 1] + a[j, i + 1] + a[j + 1, i])


def transposed(a, b):
    for j in prange(a.shape[0]):
        for i in prange(a.shape[1]):
            if a[j, i] > 0.5:
                b[-1 - i, j] += a[j, i]


NESTS = pairs(
    BLOCKS, [{}, {"debug": True}, {"brush": (2, 8)}, {"brush": (4, 4), "projection": (0, 1)}], [False, True]
)


@pytest.mark.spread
@pytest.mark.parametrize(("block", "options", "turned"), NESTS)
def test_nests(block, options, turned) -> None:
    for function in (transposed if turned else jacobi,):
        brushed = weft.jit(**options)(function)
        for shape in ((0, 3), (5, 6), (17, 21)):
            a = np.random.default_rng(1).random(shape)
            wanted = np.ones(shape[::-1] if turned else shape)
            found = weft.tiled(wanted, block[::-1], origin=(1, 1))
            function(a, wanted)
            brushed(weft.tiled(a, block, origin=(0, 1)), found)
            assert np.allclose(found, wanted, rtol=1e-14), (function, shape)


@pytest.mark.spread
@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("options", [{}, {"brush": (4, 8)}, {"brush": (2, 4), "projection": (0, 1)}])
def test_kernels(options, debug) -> None:
    @cuda.jit(debug=debug, **options)
    def smooth(a, b, sums):
        x, y = cuda.grid(2)
        if 0 < y < a.shape[0] - 1 and 0 < x < a.shape[1] - 1:
            b[y, x] = a[y - 1, x] + a[y, x - 1] - a[y, x + 1] - a[y + 1, x]
            cuda.atomic.add(sums, (y % 2, x % 2), 1)

    a = np.random.default_rng(1).random((19, 29))
    b, sums = weft.TiledArray.zeros(a.shape, (2, 2)), weft.TiledArray.zeros((2, 2), (1, 2), np.int32)
    smooth[(4, 3), (8, 8)](weft.tiled(a, (4, 2), origin=(1, 1)), b, sums)
    inside = slice(1, -1)
    wanted = a[:-2, inside] + a[inside, :-2] - a[inside, 2:] - a[2:, inside]
    assert np.array_equal(b.to_array()[inside, inside], wanted)
    assert np.asarray(sums).tolist() == [[8 * 13, 8 * 14], [9 * 13, 9 * 14]]


def test_three_dimensions() -> None:
    @weft.jit(brush=(2, 2, 4))
    def sums(a, b):
        for k in prange(1, a.shape[0] - 1):
            for j in prange(1, a.shape[1] - 1):
                for i in prange(1, a.shape[2] - 1):
                    b[k, j, i] = a[k - 1, j, i] + a[k, j - 1, i] + a[k, j, i - 1] + a[k, j, i]

    a = np.random.default_rng(1).integers(0, 9, (6, 7, 11)).astype(np.float32)
    wanted, found = np.zeros_like(a), weft.TiledArray.zeros(a.shape, (2, 4, 2), np.float32)
    sums.py_func(a, wanted)
    sums(weft.tiled(a, (2, 2, 4)), found)
    assert np.array_equal(found, wanted)


def test_functions_take_and_return_them() -> None:
    @weft.jit
    def corner(pair, other):
        a, scale = pair
        chosen = a if scale > 1 else other
        chosen[0, 0] += scale
        return chosen, a[-1, -1], a.size, a.ndim, a.block, a.nbytes, len(a), a.itemsize

    @weft.jit
    def outer(a):
        return corner((a, 2.0), a)

    made = weft.tiled(np.arange(15.0).reshape(3, 5), (2, 2))
    returned, *rest = outer(made)
    assert returned is made and made[0, 0] == 2
    assert rest == [14.0, 15, 2, (2, 2), 120, 3, 8]


def test_records_and_truth_values_in_blocks() -> None:
    @weft.jit
    def flags(records, found):
        for j in prange(found.shape[0]):
            for i in prange(found.shape[1]):
                records[j, i].count += i
                found[j, i] = records[j, i].value > 0.5

    rng = np.random.default_rng(1)
    records = np.zeros((5, 9), np.dtype([("value", "f4"), ("count", "i8")], align=True))
    records["value"] = rng.random((5, 9))
    made, found = weft.tiled(records, (2, 4)), weft.TiledArray.zeros((5, 9), (4, 2), np.bool_)
    flags(made, found)
    assert np.array_equal(found, records["value"] > 0.5)
    assert np.array_equal(made.to_array()["count"], np.broadcast_to(np.arange(9), (5, 9)))


def row(a):
    return a[0]


def slice_of(a):
    return a[1:, 0]


def plus(a):
    return a + 1


def too_many(a):
    return a[0, 0, 0]


def turned_round(a):
    return a.T


def of_the_module(a):
    return MODULE[0, 0]


def looped(a):
    total = 0.0
    for each in a:
        total += each
    return total


def filled(a):
    a[...] = 0


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (row, UnsupportedError, "has no views"),
        (slice_of, UnsupportedError, "has no views"),
        (filled, UnsupportedError, "has no views"),
        (plus, TypingError, "tiled"),
        (too_many, TypingError, "has 2 dimensions, not 3"),
        (turned_round, UnsupportedError, "have no 'T'"),
        (of_the_module, UnsupportedError, "from outside the function"),
        (looped, TypingError, "cannot be looped over"),
    ],
)
def test_what_they_cannot_do_is_an_error_in_its_line(function, error, message) -> None:
    with pytest.raises(error, match=message) as caught:
        weft.jit(function)(weft.tiled(np.zeros((4, 4)), (2, 2)))
    assert caught.value.span is not None and caught.value.span.file.endswith("test_layouts.py")


def test_arguments_that_do_not_fit() -> None:
    @weft.jit("void(tiled(float64, (2, 2)))")
    def one(a):
        a[0, 0] = 1

    with pytest.raises(ArgumentError):
        one(np.zeros((4, 4)))
    for options in ({"block": (4, 4)}, {"block": (2, 2), "origin": (0, 1)}):
        with pytest.raises(ArgumentError):
            one(weft.tiled(np.zeros((4, 4)), **options))
    made = weft.tiled(np.zeros((4, 4)), (2, 2))
    one(made)
    assert made[0, 0] == 1
    made.memory.flags.writeable = False
    with pytest.raises(ArgumentError):
        one(made)
    with pytest.raises(TypingError, match="read-only"):
        weft.jit(one.py_func)(made)


def test_indices_outside_of_it_are_found() -> None:
    @weft.jit(debug=True)
    def beyond(a):
        return a[0, 5]

    with pytest.raises(IndexError):
        beyond(weft.tiled(np.zeros((4, 5)), (2, 2)))


def test_arrays_in_blocks_of_one_memory_are_seen_to_overlap() -> None:
    @cuda.jit
    def shifted(a, b):
        x = cuda.grid(1)
        if x < a.shape[1]:
            b[0, x] = a[0, x] + 1

    made = weft.tiled(np.arange(40.0).reshape(2, 20), (2, 2))
    shifted[2, 32](made, made)
    assert np.array_equal(made.to_array()[0], np.arange(20) + 1.0)


def test_a_choice_may_be_measured_on_them(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    measured = weft.jit(brush="auto", tune="measure")(jacobi)
    a = np.random.default_rng(1).random((18, 34))
    wanted, found = np.zeros_like(a), weft.TiledArray.zeros(a.shape, (2, 2))
    jacobi(a, wanted)
    measured(weft.tiled(a, (2, 2)), found)
    assert np.allclose(found, wanted)
