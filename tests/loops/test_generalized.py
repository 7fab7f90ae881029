"""`weft.guvectorize` against NumPy."""

import pickle

import numpy as np
import pytest

import weft
from weft.errors import ArgumentError, SignatureError
from weft.loops.core_plan import MOST_PLANS
from weft.loops.core_signature import parse_core_signature


@weft.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
def dot(x, y, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    out[0] = s


@weft.guvectorize(
    ["void(float32[:], float32, float32[:])", "void(float64[:], float64, float64[:])"], "(n),()->(n)"
)
def scale(x, a, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * a


@weft.guvectorize(["void(float64[:,:], float64[:], float64[:])"], "(m,n),(n)->(m)")
def apply(a, x, out):
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        out[i] = s


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def test_loop_dimensions_broadcast(rng) -> None:
    a, b = rng.random((7, 33, 5)), rng.random((33, 5))
    assert np.allclose(dot(a, b), (a * b).sum(-1))
    assert np.allclose(apply(a, b[:7, None]), np.einsum("kij,lj->lki", a, b[:7]))


def test_without_loop_dimensions_the_result_is_a_number(rng) -> None:
    a, b = rng.random((2, 5))
    assert isinstance(dot(a, b), np.float64) and np.isclose(dot(a, b), a @ b)


def test_the_first_signature_that_takes_the_arguments_is_used(rng) -> None:
    x = rng.random((3, 4))
    assert scale(x.astype(np.float32), np.float32(2)).dtype == np.float32
    assert scale(x.astype(np.float32), 2.0).dtype == np.float64
    with pytest.raises(ArgumentError, match="has no signature for"):
        scale(x.astype(complex), 1)


def test_results_go_where_the_caller_says_even_onto_an_argument(rng) -> None:
    x = rng.random((33, 5))
    out = np.empty((5, 33)).T
    assert scale(x, 3, out=out) is out and np.allclose(out, x * 3)
    wanted = x * 3
    scale(x, 3, x)
    assert np.allclose(x, wanted)


def test_shapes_that_do_not_fit_are_refused(rng) -> None:
    with pytest.raises(ArgumentError, match="dimension n of dot is 3, and 4 in argument 2"):
        dot(rng.random(3), rng.random(4))
    with pytest.raises(ArgumentError, match="has 0 dimensions, its core 1"):
        dot(1.0, rng.random(4))
    with pytest.raises(ArgumentError, match=r"result 1 of scale is float64\[2\], not float64\[3\]"):
        scale(rng.random(3), 1.0, out=np.zeros(2))


def test_core_dimensions_without_elements_are_those_of_numpy() -> None:
    for a, x in [((2, 0), (0,)), ((4, 2, 0), (0,)), ((0, 3), (3,)), ((4, 0, 3), (4, 3)), ((0, 2, 0), (0,))]:
        made, wanted = apply(np.ones(a), np.ones(x)), np.einsum("...mn,...n->...m", np.ones(a), np.ones(x))
        assert np.array_equal(made, wanted) and made.dtype == wanted.dtype
    assert dot(np.zeros(0), np.zeros(0)) == 0
    out = np.ones(3)
    assert dot(np.ones((3, 0)), np.ones(0), out=out) is out and not out.any()
    assert scale(np.ones((3, 0)), 2.0).shape == (3, 0)


def test_no_rows_give_no_results() -> None:
    assert dot(np.zeros((0, 4)), np.zeros(4)).shape == (0,)


@pytest.mark.parametrize("text", ["(n),(n)", "n->()", "(n)(n)->()", "(n)->(m)", "->()", "(2)->()"])
def test_core_signatures_are_checked(text: str) -> None:
    with pytest.raises(SignatureError):
        parse_core_signature(text)


def test_without_signatures_for_the_types_that_come():
    @weft.guvectorize("(n),(),(m)->(),(m)")
    def scaled(x, factor, y, total, out):
        total[0] = x.sum()
        for i in range(y.shape[0]):
            out[i] = y[i] * factor + total[0]

    for dtype in (np.float64, np.float32, np.int64):
        x, y = np.arange(8, dtype=dtype).reshape(2, 4), np.arange(3, dtype=dtype)
        total, out = np.zeros(2, dtype), np.zeros((2, 3), dtype)
        scaled(x, np.array([2, 3], dtype), y, total, out)
        np.testing.assert_array_equal(total, x.sum(1))
        np.testing.assert_array_equal(out, np.outer([2, 3], y) + x.sum(1)[:, None])
        scaled(x, 2, y, out=(total, out))
        np.testing.assert_array_equal(out, 2 * y + x.sum(1)[:, None])
    with pytest.raises(ArgumentError, match="give the arrays for results"):
        scaled(x, 2, y)
    assert pickle.loads(pickle.dumps(scaled)).signatures == ()


def test_what_is_in_a_given_result_is_there():
    @weft.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
    def added(x, out):
        for i in range(x.shape[0]):
            out[i] += x[i]

    x = np.arange(12.0).reshape(3, 4)
    plain, turned = np.ones((3, 4)), np.ones((4, 3))
    added(x, plain)
    added(x, out=turned.T)
    np.testing.assert_array_equal(plain, x + 1)
    np.testing.assert_array_equal(turned.T, x + 1)


def test_axes_of_the_core():
    @weft.guvectorize(["void(float64[:], float64[:])"], "(n)->(n)")
    def running(x, out):
        s = 0.0
        for i in range(x.shape[0]):
            s += x[i]
            out[i] = s

    @weft.guvectorize(["void(float64[:, :], float64[:], float64[:])"], "(m,n),(n)->(m)")
    def times(a, x, out):
        for i in range(a.shape[0]):
            out[i] = 0.0
            for j in range(a.shape[1]):
                out[i] += a[i, j] * x[j]

    x = np.random.default_rng(1).random((2, 3, 4))
    for axis in range(-3, 3):
        np.testing.assert_allclose(running(x, axis=axis), np.cumsum(x, axis))
        out = np.empty_like(x)
        assert running(x, out, axis=axis) is out
        np.testing.assert_allclose(out, np.cumsum(x, axis))
    np.testing.assert_allclose(running(x, axes=[0, 1]), np.moveaxis(np.cumsum(x, 0), 0, 1))
    np.testing.assert_allclose(dot(x, x, axis=1), (x * x).sum(1))
    np.testing.assert_allclose(dot(x, np.moveaxis(x, 0, 2), axes=[0, 2]), (x * x).sum(0))
    v = np.arange(2.0)
    np.testing.assert_allclose(times(x, v, axes=[(1, 0), (0,), (0,)]), np.einsum("nmk,n->mk", x, v))
    for wrong in ({"axis": 0}, {"axes": [(1, 0), 0]}, {"axis": 0, "axes": [(1, 0), 0, 0]}):
        with pytest.raises(ArgumentError, match="axes="):
            times(x, v, **wrong)


def test_calls_that_are_known_take_whatever_has_the_same_extents(rng) -> None:
    b = rng.random(5)
    for a in (rng.random((6, 5)), rng.random((5, 6)).T, rng.random((6, 10))[:, ::-2], rng.random((6, 5))):
        for y in (b, np.repeat(b, 2)[::2], b[::-1]):
            y.setflags(write=False)
            assert np.allclose(dot(a, y), a @ y)
    # By position, where the result is an operand, and lies in steps.
    x = rng.random((4, 3))
    for _ in range(2):
        wanted = x * np.float64(2)
        assert scale(x, np.array(2.0), x) is x and np.allclose(x, wanted)
        out = np.zeros((4, 6))[:, ::2]
        assert scale(x, np.array(2.0), out) is out and np.allclose(out, x * 2)
        with pytest.raises(ArgumentError, match=r"result 1 of scale is float64\[3\], not float64\[4, 3\]"):
            scale(x, np.array(2.0), np.zeros(3))


def test_python_numbers_choose_a_signature_in_each_call(rng) -> None:
    x = rng.random(3).astype(np.float32)
    assert [scale(x, a).dtype for a in (np.float32(2), 2.0, np.array(2.0), np.float32(2))] == [
        np.float32,
        np.float64,
        np.float64,
        np.float32,
    ]


def test_plans_are_few(rng) -> None:
    for n in range(1, 200):
        a, b = rng.random((2, n)), rng.random(n)
        assert np.allclose(dot(a, b), a @ b)
    assert 0 < len(dot._plans) <= MOST_PLANS


def test_an_array_for_all_rows_is_only_read(rng) -> None:
    @weft.guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(n)->()")
    def spoils(x, y, out):
        y[0] = x[0]
        out[0] = y[0]

    with pytest.raises(weft.errors.TypingError, match="this array is read-only"):
        spoils(rng.random((4, 3)), rng.random(3))
    y = rng.random(3)
    with pytest.raises(weft.errors.TypingError, match="this array is read-only"):
        spoils(rng.random((4, 3)), y)
    assert y.flags.writeable
