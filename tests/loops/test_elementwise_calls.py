"""Calls of elementwise functions by machine code give what those through Python give, and leave the rest to these."""

import gc
import math
import os
import resource
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.errors import ArgumentError
from weft.loops.elementwise import VectorizedFunction
from weft.runtime import elementwise_calls as machine

pytestmark = pytest.mark.skipif(machine.elementwise_calls() is None, reason="objects lie otherwise here")

EXAMPLES = 600 if os.environ.get("WEFT_FUZZ") else 15


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls that are checked go through Python."""
    monkeypatch.setenv("WEFT_CHECK", "0")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """Arguments of calls that go through Python."""
    found: list[tuple[Any, ...]] = []
    plain = VectorizedFunction._call

    def noted(self: VectorizedFunction, *args: Any, **keywords: Any) -> Any:
        found.append((*args, *keywords.values()))
        return plain(self, *args, **keywords)

    monkeypatch.setattr(VectorizedFunction, "_call", noted)
    return found


@weft.vectorize
def combine(x, y):
    if x > y:
        return x - y
    return x * y


@weft.vectorize
def choose(x, y, z):
    return x if z else y


def through_python(function: VectorizedFunction, args: Any, out: Any = None, where: Any = True) -> Any:
    return function._of_any_arrays(args, out, where, None, "same_kind", "K")


def same(made: Any, wanted: Any) -> None:
    assert type(made) is type(wanted) and made.dtype == wanted.dtype and made.shape == wanted.shape
    assert np.array_equal(made, wanted, equal_nan=made.dtype.kind in "fc")
    if made.size:
        assert made.strides == wanted.strides


SQUARE = np.arange(36.0).reshape(6, 6)
LINE = np.arange(6.0)


def expected(x: Any, y: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.where(np.greater(x, y), np.subtract(x, y), np.multiply(x, y))


CASES = {
    "vectors": (LINE, LINE + 1),
    "vector and float": (LINE, 0.5),
    "vector and int": (LINE, 2),
    "float32 and float": (LINE.astype(np.float32), 0.1),
    "float32 and int": (LINE.astype(np.float32), 16_777_217),
    "int8 and int": (np.arange(6, dtype=np.int8), -3),
    "uint64 and int": (np.arange(6, dtype=np.uint64), 3),
    "int64 and float": (np.arange(6), 0.5),
    "mixed": (np.arange(6, dtype=np.int16), LINE.astype(np.float32)),
    "half": (LINE.astype(np.float16), np.float16(2)),
    "floats": (1.5, 2.5),
    "ints": (7, 2),
    "int and float": (7, 2.5),
    "NumPy's numbers": (np.float32(1.5), np.float32(0.5)),
    "NumPy's number and int": (np.int16(5), 2),
    "vector and NumPy's number": (LINE, np.float64(2.5)),
    "truth and vector": (True, LINE),
    "arrays without dimensions": (np.array(3.0), np.array(2.0)),
    "array and one without dimensions": (SQUARE, np.array(2.0)),
    "one element": (np.ones((1, 1)), np.ones(1)),
    "none": (np.ones((0, 3)), np.ones((1, 3))),
    "row": (SQUARE, SQUARE[2]),
    "column": (SQUARE, SQUARE[:, 2:3]),
    "row and column": (LINE, SQUARE[:, 1:2]),
    "column and number": (SQUARE[:, 1:2], 3.0),
    "every second": (SQUARE[::2, ::2], SQUARE[1::2, 1::2]),
    "transposed": (SQUARE.T, SQUARE.T),
    "transposed and not": (SQUARE.T, SQUARE),
    "backwards": (LINE[::-1], LINE),
    "all backwards": (SQUARE[::-1, ::-1], SQUARE[::-1, ::-1]),
    "repeated": (np.broadcast_to(2.0, (4, 5)), np.broadcast_to(np.ones((4, 1)), (4, 5))),
    "three dimensions": (np.arange(24.0).reshape(2, 3, 4), np.arange(3.0).reshape(3, 1)),
    "middle": (np.arange(24.0).reshape(2, 3, 4), np.arange(8.0).reshape(2, 1, 4)),
    "four dimensions": (np.arange(24.0).reshape(1, 2, 3, 4).T, np.arange(2.0).reshape(2, 1)),
    "read-only": (np.frombuffer(LINE.tobytes()), LINE),
}


@pytest.mark.parametrize("name", CASES)
def test_from_the_second_call_on_no_python_code_runs(name: str, seen: list[tuple[Any, ...]]) -> None:
    args = CASES[name]
    wanted = through_python(combine, args)
    same(combine(*args), wanted)
    seen.clear()
    same(combine(*args), wanted)
    out = np.empty_like(wanted, shape=np.shape(wanted))
    assert combine(*args, out) is out and np.array_equal(out, wanted)
    assert not seen or name in ("none", "row and column", "column and number", "repeated")
    seen.clear()
    assert combine(*args, out=out) is out and np.array_equal(out, wanted)
    assert not seen or name == "none"


def test_complex_numbers_and_truths(seen: list[tuple[Any, ...]]) -> None:
    @weft.vectorize
    def product(x, y):
        return x * y

    z = np.arange(12).reshape(3, 4) * (1 + 0.5j)
    mask = np.arange(4) % 2 == 0
    for _ in range(2):
        seen.clear()
        for x in (z, z.astype(np.complex64)):
            assert np.array_equal(product(x, x[0]), x * x[0]) and np.array_equal(
                product(x, x[:, :1]), x * x[:, :1]
            )
        assert np.array_equal(product(z, 2j), z * 2j)
        assert np.array_equal(choose(z.real, z.imag, mask), np.where(mask, z.real, z.imag))
        assert np.array_equal(choose(z.real, z.imag, False), z.imag)
    assert not seen


def test_arrays_that_are_converted_first(seen: list[tuple[Any, ...]]) -> None:
    @weft.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    def mean(x, y):
        return (x + y) / 2

    ints, swapped, single = np.arange(6), LINE.astype(">f8"), LINE.astype(np.float32)
    for x, y in (
        (ints, LINE),
        (swapped, LINE),
        (single, ints),
        (SQUARE, ints),
        (ints, 2),
        (ints.astype(np.int8), 0.5),
    ):
        wanted = through_python(mean, (x, y))
        for _ in range(2):
            same(mean(x, y), wanted)
            out = np.empty_like(wanted)
            assert mean(x, y, out=out) is out and np.array_equal(out, wanted)
    seen.clear()
    same(mean(ints, LINE), through_python(mean, (ints, LINE)))
    assert len(seen) == 1, "Python code converts, and machine code does the rest"
    assert combine(swapped, LINE).tolist() == expected(LINE, LINE).tolist()
    back = ints[::-1]
    with pytest.raises(ArgumentError):
        mean(ints, LINE, out=back)


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((np.arange(3, dtype=np.uint8), 300), "out of bounds for uint8"),
        ((np.arange(3, dtype=np.uint8), -1), "out of bounds for uint8"),
        ((LINE, LINE[:4]), "broadcast"),
        ((np.ones((3, 4)), np.ones(3)), "broadcast"),
        ((LINE,), "takes 2 arguments"),
    ],
    ids=["large", "negative", "extents", "axes", "too few"],
)
def test_what_does_not_fit_is_refused_as_before(args: tuple[Any, ...], error: str) -> None:
    combine(np.arange(3, dtype=np.uint8), 2)
    for _ in range(2):
        with pytest.raises(ArgumentError, match=error):
            combine(*args)


def test_great_ints_are_what_they_are_for_numpy() -> None:
    assert combine(1, 2) == 2 and type(combine(1, 2)) is np.int64
    for _ in range(2):
        assert type(combine(1 << 63, 1)) in (np.uint64, np.float64)
        assert combine(LINE, (1 << 53) + 1).tolist() == (LINE * float((1 << 53) + 1)).tolist()
    assert type(combine(1, 2)) is np.int64


def test_what_becomes_infinite_is_told() -> None:
    x = np.ones(3, np.float32)
    combine(x, 2.0)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(combine(x, -1e300)).all()
    assert np.isinf(combine(x, -math.inf)).all() and np.isnan(combine(x, math.nan)).all()


def test_results_that_cannot_be_written_are_refused() -> None:
    x, out = np.ones(4), np.zeros(4)
    assert combine(x, x, out) is out
    fixed = np.zeros(4)
    fixed.flags.writeable = False
    for wrong in (fixed, np.zeros(5), np.zeros((1, 4))[:, :3], np.zeros(1)):
        with pytest.raises((ArgumentError, ValueError)):
            combine(x, x, out=wrong)
    wide = np.zeros((3, 4))
    for _ in range(2):
        assert combine(x, 2.0, out=wide) is wide and (wide == 2).all()
    for _ in range(2):
        assert combine(x, x, out=(out,)) is out
    narrow = np.zeros(4, np.float32)
    assert combine(x, x, out=narrow) is narrow and (narrow == 1).all()


def test_errors_of_functions() -> None:
    @weft.vectorize
    def checked(x, y):
        if x > y:
            raise OverflowError("too much")
        return x

    a = np.zeros((300, 300))
    for threads in (1, 2):
        weft.set_num_threads(threads)
        for _ in range(2):
            assert checked(a, np.ones(300)).sum() == 0
            with pytest.raises(OverflowError, match="too much"):
                checked(a, -np.arange(300.0))
            with pytest.raises(OverflowError, match="too much"):
                checked(2.0, 1.0)


@pytest.mark.parametrize("threads", [1, 2])
def test_many_rows_are_shared_among_threads(threads: int) -> None:
    weft.set_num_threads(threads)
    a, b = np.random.default_rng(3).random((2, 70, 30, 90))
    cut = a[:, 1:, :80], b[:, :-1, 3:83]
    for args in (
        (a, b[0, 0]),
        (a, b[:, :, :1]),
        (a, b[:, :1]),
        (a[:, :1], b[:1]),
        cut,
        (a[..., ::3], b[..., 1::3]),
    ):
        for _ in range(2):
            same(combine(*args), through_python(combine, args))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.float32, np.float64, np.complex128])
def test_short_rows_in_blocks(dtype: type) -> None:
    @weft.vectorize
    def product(x, y):
        return x * y + x

    rng = np.random.default_rng(5)
    for n, width, threads in ((65, 2, 1), (171, 3, 1), (2600, 15, 1), (20_000, 3, 2), (20_000, 7, 2)):
        weft.set_num_threads(threads)
        a = (rng.random((n, width)) * 5).astype(dtype)
        wide = (rng.random((n, width + 2)) * 5).astype(dtype)
        turned = (rng.random((width, n)) * 5).astype(dtype)
        deep = (rng.random((2, n, width)) * 5).astype(dtype)
        mask = rng.random((n, width)) > 0.5
        pairs = [(a, a[0]), (a, a[:, :1]), (a[:, :1], a[:1]), (wide[:, 1:-1], a), (wide[:, 2:], wide[:, :-2])]
        pairs += [
            (turned.T, a),
            (a[::-1], a[0, ::-1]),
            (wide[:, ::2][:, :1], a),
            (deep, a),
            (deep, deep[:, :1]),
        ]
        for x, y in pairs:
            wanted = x * y + x
            made = product(x, y)
            assert np.allclose(made, wanted, rtol=1e-5) and made.strides == np.add(x, y).strides
            if wanted.ndim == 2:
                for where in (mask, mask[:, :1], mask[:1]):
                    out = np.zeros_like(wanted)
                    product(x, y, out=out, where=where)
                    assert np.allclose(out, np.where(where, wanted, 0), rtol=1e-5)


@pytest.mark.parametrize("step", [2, 3, -1, -2, 5])
def test_other_steps_than_from_element_to_element(step: int) -> None:
    for dtype in (np.int16, np.float32, np.float64):
        for n in (1, 2, 3, 4, 5, 8, 9, 511, 512, 513, 1500, 70_000):
            # The last element is the last of its memory.
            x = np.arange(1 + (n - 1) * abs(step), dtype=dtype)[::step]
            y = np.ones(n, dtype)
            assert x.size == n and np.array_equal(combine(x, y), expected(x, y))
        plane = np.arange(6 * 40 * abs(step), dtype=dtype).reshape(6, -1)[:, ::step]
        assert np.array_equal(combine(plane, plane[1]), expected(plane, plane[1]))


def test_calls_from_many_threads() -> None:
    x, wrong = np.arange(500.0).reshape(20, 25), [False]
    wanted = combine(x, x[0])

    def run() -> None:
        for _ in range(200):
            wrong[0] |= not np.array_equal(combine(x, x[0]), wanted) or combine(3.0, 2.0) != 1

    others = [threading.Thread(target=run) for _ in range(4)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert not wrong[0]


def test_memory_of_results_is_freed() -> None:
    x = np.ones((400, 300))
    combine(x, x[0])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1000):
        combine(x, x[0])
        with pytest.raises(ArgumentError):
            combine(x, np.ones(7))
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


DTYPES = (np.int8, np.float32, np.float64)


@st.composite
def views(draw: Any, shape: tuple[int, ...], dtypes: Sequence[type] = DTYPES) -> np.ndarray:
    """An array cut out of a larger one by steps, with its axes in any order."""
    steps = [draw(st.sampled_from((1, 1, 1, 2, -1))) for _ in shape]
    order = draw(st.permutations(range(len(shape))))
    full = [n * abs(s) for n, s in zip(shape, steps, strict=True)]
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    base = rng.integers(0, 7, [full[k] for k in order]).astype(draw(st.sampled_from(dtypes)))
    return np.asarray(base.transpose(np.argsort(order))[tuple(slice(None, None, s) for s in steps)])


@st.composite
def operands(draw: Any) -> tuple[Any, Any]:
    """Two arrays that broadcast together, or an array and a number."""
    shape = tuple(draw(st.lists(st.integers(0, 6), max_size=4)))
    found: list[Any] = []
    for _ in range(2):
        if draw(st.integers(0, 5)) == 0:
            found.append(draw(st.sampled_from((3, 2.5, np.float32(1.5), np.int8(4)))))
            continue
        cut = draw(st.integers(0, len(shape)))
        own = tuple(1 if draw(st.integers(0, 4)) == 0 else n for n in shape[cut:])
        found.append(draw(views(own)))
    return found[0], found[1]


@settings(max_examples=EXAMPLES, deadline=None)
@given(operands())
def test_any_operands_give_the_same_by_machine_code(args: tuple[Any, Any]) -> None:
    with np.errstate(all="ignore"):
        wanted = through_python(combine, args)
        for _ in range(2):
            same(combine(*args), wanted)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_results_and_masks_of_any_layout(data: Any) -> None:
    types = DTYPES if os.environ.get("WEFT_FUZZ") else (np.float32,)
    shape = tuple(data.draw(st.lists(st.integers(0, 6), max_size=3)))
    x = data.draw(views(shape, types))
    y = data.draw(views(shape[data.draw(st.integers(0, len(shape))) :], types))
    out = data.draw(views(shape, types)).astype(through_python(combine, (x, y)).dtype)
    mask = data.draw(views(shape[data.draw(st.integers(0, len(shape))) :], types)) > 3
    with np.errstate(all="ignore"):
        for where in (True, mask):
            wanted = out.copy()
            through_python(combine, (x, y), wanted, where)
            for _ in range(2):
                made = out.copy(order="K")
                assert combine(x, y, out=made, where=where) is made
                assert np.array_equal(made, wanted)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_results_that_overlap_operands_are_as_if_these_had_been_copied(data: Any) -> None:
    base = np.random.default_rng(data.draw(st.integers(0, 1 << 16))).random(200)

    def view() -> np.ndarray:
        strides = [8 * data.draw(st.sampled_from((1, 2, 5, 10, 0, -1))) for _ in range(2)]
        begin = 20 + data.draw(st.integers(0, 3))
        return np.lib.stride_tricks.as_strided(base[begin:], (5, 4), strides)

    x, y, out = view(), view(), np.lib.stride_tricks.as_strided(base[20:], (5, 4), (40, 8))
    wanted = through_python(combine, (x.copy(), y.copy()))
    before = base.copy()
    for _ in range(2):
        base[:] = before
        combine(x, y, out=out)
        assert np.array_equal(out, wanted)
