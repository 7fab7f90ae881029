"""NumPy's functions that are written in the kernel language, beside NumPy's own."""

from __future__ import annotations

import functools
import itertools
import linecache
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from pairs import in_turn
from weft import cuda

RANDOM = np.random.default_rng(7)
FLOATS = RANDOM.random(23) * 10 - 5
NAN = np.where(RANDOM.random(23) < 0.2, np.nan, FLOATS)
VECTORS = {
    "float64": FLOATS,
    "float32": (RANDOM.random(17) * 10 - 5).astype(np.float32),
    "int64": RANDOM.integers(-9, 9, 20),
    "uint8": RANDOM.integers(0, 9, 12).astype(np.uint8),
    "nan": NAN,
    "empty": FLOATS[:0],
    "one": FLOATS[:1],
    "backwards": FLOATS[::-2],
}
MATRIX = RANDOM.random((5, 7))
MATRICES = {
    "float64": MATRIX,
    "int64": RANDOM.integers(-5, 9, (4, 3)),
    "turned": MATRIX.T,
    "strided": MATRIX[::2, ::-1],
}
SQUARE = RANDOM.random((6, 6))
SQUARES = {
    "float64": SQUARE,
    "float32": SQUARE.astype(np.float32),
    "int64": RANDOM.integers(-5, 9, (4, 4)),
    "complex": SQUARE + 1j * RANDOM.random((6, 6)),
    "turned": SQUARE.T,
    "one": SQUARE[:1, :1],
    "empty": SQUARE[:0, :0],
    "singular": np.ones((3, 3)),
    "oblong": MATRIX,
}
EDGES = np.array([-3.0, -1.0, 0.0, 0.5, 4.0])


@functools.cache
def compiled(call: str, *names: str) -> tuple[Callable[..., Any], Any]:
    """A function of the arguments, and what weft makes of it."""
    text = f"def function({', '.join(names)}):\n    return {call}\n"
    file = f"<{call}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space: dict[str, Any] = {"np": np, "EDGES": EDGES}
    exec(compile(text, file, "exec"), space)
    return space["function"], weft.jit(space["function"])


def assert_as_numpy(call: str, *arguments: Any) -> None:
    names = "abc"[: len(arguments)]
    plain, ours = compiled(call, *names)
    try:
        wanted = plain(*(a.copy() if isinstance(a, np.ndarray) else a for a in arguments))
    except (TypeError, ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError) as error:
        with pytest.raises(type(error)):
            ours(*arguments)
        return
    found = ours(*arguments)
    several = isinstance(wanted, tuple)
    for one, other in zip(wanted if several else (wanted,), found if several else (found,), strict=True):
        is_single = np.asarray(one).dtype == np.float32
        assert np.shape(one) == np.shape(other)
        assert np.ndim(one) == 0 or one.dtype == other.dtype
        tolerance = {"rtol": 1e-5, "atol": 1e-6} if is_single else {"rtol": 1e-9, "atol": 1e-11}
        np.testing.assert_allclose(other, one, **tolerance)


@pytest.mark.spread
@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize(
    "call",
    [
        "np.flip(a), np.diff(a), np.diff(a, 2), np.roll(a, -3), np.roll(a, 100), np.repeat(a, 3)",
        "np.cumprod(a), a[np.argsort(a)], np.unique(a), np.diag(a), np.diag(a, k=-1)",
        "np.digitize(a, EDGES), np.digitize(a, EDGES[::-1], right=True), np.interp(a, EDGES, EDGES * EDGES)",
        "np.trapezoid(a), np.trapezoid(a, dx=0.5), np.trapezoid(a, a * a), np.linalg.norm(a)",
        "np.vstack((a, a * 2)), np.stack((a, a), axis=1), np.column_stack((a, a)), np.hstack((a, a))",
    ],
)
def test_of_vectors(call: str, kind: str) -> None:
    assert_as_numpy(call, VECTORS[kind])


@pytest.mark.parametrize("kind", sorted(VECTORS.keys() - {"nan"}))
def test_histograms(kind: str) -> None:
    turn = sorted(VECTORS).index(kind)
    for bins in in_turn(("10", "bins=7, range=(-1, 2.5)", "EDGES"), turn, 2):
        assert_as_numpy(f"np.histogram(a, {bins})", VECTORS[kind])
    if VECTORS[kind].size > 1:
        weights = VECTORS[kind][::-1].copy()
        for bins in in_turn(("6", "5, (-1, 2.5)", "EDGES"), turn, 3):
            assert_as_numpy(f"np.histogram(a, {bins}, weights=b)", VECTORS[kind], weights)


@pytest.mark.parametrize("kind", sorted(MATRICES))
def test_reductions_keep_axes(kind: str) -> None:
    a = MATRICES[kind]
    given: tuple[tuple[Any, ...], ...] = (
        ("np.sum(a, axis=1, keepdims=True), a - a.mean(axis=0, keepdims=True)", a),
        ("np.max(a, keepdims=True), a.std(0, keepdims=True), np.any(a, 1, keepdims=False)", a),
        ("np.sum(b, axis=(0, 2), keepdims=True), np.min(b, axis=1, keepdims=True)", a, a[:, :, None]),
    )
    for call, *arrays in in_turn(given, sorted(MATRICES).index(kind), 3):
        assert_as_numpy(call, *arrays)


def test_functions_of_two_numbers_have_methods() -> None:
    a, b = FLOATS[:5], MATRIX[:2, :3]
    assert_as_numpy("np.add.outer(a, b), np.minimum.outer(b, a), np.multiply.outer(b, 2)", a, b)
    assert_as_numpy("np.add.outer(a, 2.0)", a.astype(np.float32))
    assert_as_numpy("np.maximum.reduce(b), np.multiply.reduce(b, 1), np.logical_or.reduce(b > 0.5)", a, b)
    assert_as_numpy("np.add.accumulate(a), np.multiply.accumulate(a)", a)
    with pytest.raises(weft.errors.UnsupportedError, match="'reduce' of subtract"):
        compiled("np.subtract.reduce(a)", "a")[1](a)
    with pytest.raises(weft.errors.TypingError, match=r"add\.accumulate\(\) takes an array of one dimension"):
        compiled("np.add.accumulate(a)", "a")[1](b)


@pytest.mark.parametrize("type", ["np.float32", "np.int64", "np.uint8", "np.complex128", "bool"])
def test_numbers_at_equal_distances_have_a_type(type: str) -> None:
    assert_as_numpy(f"np.linspace(a, 5, 8, dtype={type}), np.linspace(0, a, num=4, endpoint=False)", 0.25)
    if type != "np.uint8":
        assert_as_numpy(f"np.linspace(-a, a, 5, dtype={type})", 1.5)


def test_histograms_count_by_bounds_and_not_by_quotients() -> None:
    for bins in (3, 10, 49):
        edges = np.linspace(0.1, 0.7, bins + 1)
        near = np.concatenate((edges, np.nextafter(edges, 1), np.nextafter(edges, 0)))
        assert_as_numpy("np.histogram(a, b, (0.1, 0.7))", near, bins)
    assert_as_numpy("np.histogram(a)", np.full(4, 2.5))
    assert_as_numpy("np.histogram(a, b)", FLOATS, 0)
    assert_as_numpy("np.histogram(a)", np.array([1.0, np.inf]))
    assert_as_numpy("np.histogram(a, b)", FLOATS, EDGES[::-1])
    # Bins between numbers that have too few others between them.
    assert_as_numpy("np.histogram(a)", np.array([1.0, np.nextafter(1, 2)]))
    assert_as_numpy("np.histogram(a)", np.array([0.0, 5e-324, 5e-324]))


@pytest.mark.parametrize("kind", sorted(VECTORS.keys() - {"empty"}))
def test_quantiles(kind: str) -> None:
    assert_as_numpy("np.median(a)", VECTORS[kind])
    for q in (0.0, 0.3, 0.77, 1.0, -0.1):
        assert_as_numpy("np.quantile(a, b), np.percentile(a, 100 * b)", VECTORS[kind], q)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_sums_of_products(mode: str) -> None:
    call = f"np.convolve(a, b, '{mode}'), np.correlate(a, b, '{mode}')"
    kinds = list(itertools.product(("float32", "int64"), ("float64", "uint8", "one")))
    for a, b in in_turn(kinds, ("full", "same", "valid").index(mode), 3):
        assert_as_numpy(call, VECTORS[a], VECTORS[b])
    assert_as_numpy("np.convolve(a, b), np.correlate(a, b)", FLOATS, FLOATS[:4])
    assert_as_numpy("np.convolve(a, b)", FLOATS, FLOATS[:0])


def test_counts_of_numbers() -> None:
    small, signed = VECTORS["uint8"], VECTORS["int64"]
    assert_as_numpy("np.bincount(a), np.bincount(a, minlength=30)", small)
    assert_as_numpy("np.bincount(a, b)", abs(signed), FLOATS[:20])
    assert_as_numpy("np.bincount(a)", signed)
    assert_as_numpy("np.bincount(a, b)", abs(signed), FLOATS)


def test_two_vectors_of_any_types() -> None:
    for a in (FLOATS, VECTORS["int64"], VECTORS["backwards"]):
        for b in (VECTORS["uint8"], VECTORS["float32"], FLOATS[:0]):
            assert_as_numpy("np.outer(a, b), np.concatenate((a, b, a))", a, b)


@pytest.mark.spread
@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize(
    ("call", "others"),
    [
        ("np.triu(a, b), np.tril(a, k=b), np.diag(a, b), np.trace(a, b)", (-2, 0, 1, 9)),
        ("np.flip(a), np.flip(a, 0), np.flip(a, axis=-1), np.flipud(a), np.fliplr(a), np.roll(a, 3)", ()),
        ("np.cov(a), np.cov(a, rowvar=False, bias=True), np.corrcoef(a)", ()),
        ("np.concatenate((a, a), axis=1), np.hstack((a, a)), np.vstack((a, a[0])), np.unique(a)", ()),
        ("np.column_stack((b, a)), np.linalg.norm(a), np.median(a), np.outer(a, b)", ("rows",)),
    ],
)
def test_of_matrices(call: str, others: tuple[Any, ...], kind: str) -> None:
    m = MATRICES[kind]
    for other in others:
        assert_as_numpy(call, m, np.arange(len(m)) if other == "rows" else other)
    if not others:
        assert_as_numpy(call, m)


@pytest.mark.parametrize("kind", SQUARES)
def test_linear_systems(kind: str) -> None:
    m = SQUARES[kind]
    right = RANDOM.random((m.shape[0], 3))
    positive = m @ m.conj().T + np.eye(m.shape[0]).astype(m.dtype)
    given: list[tuple[str, tuple[Any, ...], ...]] = [
        ("np.linalg.inv(a)", (m,)),
        ("np.linalg.solve(a, b)", (m, right)),
        ("np.linalg.det(a)", (m,)),
        ("np.linalg.solve(a, b)", (m, right[:, 0])),
        ("np.linalg.cholesky(a)", (m if kind == "oblong" else positive,), (-positive,)),
    ]
    # Matrices of other types, and in another order, are code of their own; with complex numbers it is other code.
    turn = ("float32", "turned", "int64").index(kind) if kind in ("float32", "turned", "int64") else None
    for call, *several in given if turn is None else in_turn(given, turn, 3):
        for arguments in several:
            assert_as_numpy(call, *arguments)


@pytest.mark.parametrize("n", [16, 17, 83])
def test_matrices_of_several_panels(n: int) -> None:
    m, right = RANDOM.random((n, n)) - 0.5, RANDOM.random((n, 5))
    assert_as_numpy("np.linalg.solve(a, b)", m, right)
    assert_as_numpy("np.linalg.inv(a)", m)
    assert_as_numpy("np.linalg.det(a)", m)
    assert_as_numpy("np.linalg.cholesky(a)", m @ m.T + n * np.eye(n))
    m[n - 1] = m[0]
    assert_as_numpy("np.linalg.cholesky(a)", m @ m.T - np.eye(n))


def test_complex_matrices_of_several_panels() -> None:
    n = 35
    m = RANDOM.random((n, n)) - 0.5 + 1j * RANDOM.random((n, n))
    assert_as_numpy("np.linalg.solve(a, b)", m, m[:, :3].copy())
    assert_as_numpy("np.linalg.inv(a)", m)
    assert_as_numpy("np.linalg.det(a)", m)
    assert_as_numpy("np.linalg.cholesky(a)", m @ m.conj().T + n * np.eye(n))


def test_products_with_complex_matrices() -> None:
    m = RANDOM.random((19, 11)) + 1j * RANDOM.random((19, 11))
    for a, b in ((m, m.T), (m.real.copy(), m.T.copy()), (m, m.real.T.copy()), (m[:2], m.T[:, 3:])):
        assert_as_numpy("a @ b", a, b)


@pytest.mark.spread
@pytest.mark.parametrize(
    ("turn", "shape"),
    list(enumerate([(9, 40), (7, 3), (3, 6, 2, 9), (2, 5, 17), (4, 0), (0, 20), (1, 1100)])),
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint16", "bool", "complex128"])
def test_reductions_along_axes_that_are_not_the_last(turn: int, shape: tuple[int, ...], dtype: str) -> None:
    a = (RANDOM.random(shape) * 6 - 2).astype(dtype)
    calls = ["np.sum(a, axis={0})", "a.mean(axis={0})", "np.prod(a, axis={0})"]
    # Of nothing, weft and NumPy say so by errors of one type.
    calls += ["a.min(axis={0})", "np.max(a, axis={0})"] if dtype not in ("bool", "complex128") else []
    if len(shape) > 2:
        calls = list(in_turn(calls, turn, 2))
    for axis in in_turn(range(len(shape) - 1), turn * (len(shape) > 2), 2):
        # What raises no error is one function.
        for call in [", ".join(calls)] if a.size else calls:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert_as_numpy(call.format(axis), a)
    if dtype == "float64" and a.size > 3:
        a.flat[3] = np.nan
        assert_as_numpy("a.min(axis=0), a.max(axis=0), a.sum(axis=0)", a)


def test_numbers_that_are_not_finite_or_in_no_order() -> None:
    infinite = np.array([np.inf, 1.0, 2.0])
    assert_as_numpy("np.trapezoid(a), np.trapezoid(a, b)", infinite, EDGES[:3])
    assert_as_numpy("np.digitize(a, b)", FLOATS, np.array([1.0, 3.0, 2.0]))
    assert_as_numpy("np.digitize(a, b)", FLOATS, np.array([3.0, 1.0, 2.0]))
    single = EDGES.astype(np.float32) / 3
    assert_as_numpy("np.interp(a, b, b * b), np.interp(b, b, b)", FLOATS, single)


@pytest.mark.parametrize("kind", MATRICES)
def test_new_axes(kind: str) -> None:
    m = MATRICES[kind]
    row = np.arange(float(m.shape[1]))
    calls = (
        "a[:, None], a[None], a[..., np.newaxis], a[None, ..., 1, None], a[2, None], a[1, 2, None], b",
        "a[:, None] * a, a[None, 1:3] + b, (a + b)[:, None, ::2], b[:, None] - b[None, :]",
        "((a[:, None] - a[None]) ** 2).sum(-1), np.max(abs(a[:, :, None] - b), axis=2)",
        "np.sum(a[:0, None] * b, axis=-1), a[:1][:, None] + a, b[None, None]",
    )
    for call in in_turn(calls, list(MATRICES).index(kind), 2):
        assert_as_numpy(call, m, row)


def test_assignments_through_new_axes() -> None:
    def assigns(a, b):
        c = np.zeros((a.shape[0], 2, a.shape[1]))
        c[:, 0] = a
        c[None, :, 1] = b
        d = np.zeros_like(a)
        d[:, None] += a[:, None] * 2
        d[None, 0, None] = 1
        return c, d

    for one, other in zip(assigns(MATRIX, MATRIX[0]), weft.jit(assigns)(MATRIX, MATRIX[0]), strict=True):
        np.testing.assert_array_equal(other, one)


def test_axes_in_another_order() -> None:
    block = RANDOM.random((2, 3, 4))
    assert_as_numpy("np.transpose(a, axes=(1, 0, 2)), np.transpose(a, (2, 0, 1)), np.transpose(a)", block)
    assert_as_numpy("a.transpose(0, 2, -2), a.transpose((1, 2, 0)), a.transpose(None), a.T", block)


SPARSE = np.where(RANDOM.random((4, 6)) < 0.5, 0, RANDOM.random((4, 6)))
BLOCK = RANDOM.integers(0, 2, (2, 3, 4))
ARRAYS = (SPARSE, SPARSE[::2, ::-1], BLOCK, BLOCK.T)
"""Matrices and blocks, each in two ways in which they lie in memory."""


@pytest.mark.spread
@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize(
    ("call", "others"),
    [
        ("np.flatnonzero(a), np.argwhere(a), np.nonzero(a)[0], np.flatnonzero(a > 1), a.nonzero()[0]", ()),
        ("np.isclose(a, b), np.isclose(a, a, equal_nan=True), np.allclose(a, a[::-1], atol=b)", (0.5,)),
        ("np.allclose(a, a), np.array_equal(a, a), np.array_equal(a, a[::-1]), np.vdot(a, a)", ()),
        ("np.append(a, b), np.append(a, a), np.append(a, [1, 2.5]), np.tile(a, 3), np.tile(a, (2, 0))", (3,)),
        ("np.atleast_1d(a), np.atleast_2d(a), np.expand_dims(a, 0), np.expand_dims(a, axis=-1)", ()),
        ("a.argsort(kind='mergesort')[:0], a.clip(0, 2), a.cumprod(), a.repeat(2), a.round()", ()),
        ("np.kron(a, a[:3]), np.roll(a, b, 0), np.tile(a, b)", (2,)),
    ],
)
def test_what_is_found_in_vectors(call: str, others: tuple[float, ...], kind: str) -> None:
    assert_as_numpy(call, VECTORS[kind], *others)


@pytest.mark.parametrize("kind", sorted(VECTORS.keys() - {"empty"}))
def test_averages(kind: str) -> None:
    v = VECTORS[kind]
    with np.errstate(invalid="ignore"):
        assert_as_numpy("np.average(a), np.average(a, weights=b), np.ptp(a)", v, np.arange(1.0, v.size + 1))


@pytest.mark.parametrize(
    ("call", "arrays"),
    [
        (call, in_turn(ARRAYS, n + 2, 4))
        for n, call in enumerate(
            [
                "np.flatnonzero(a), np.argwhere(a), np.ptp(a), np.nonzero(a)[-1],"
                " np.average(a, axis=0), np.roll(a, 1, 0)",
                "np.nonzero(a)",
                "np.array_equal(a, a[::-1]), np.array_equal(a, a.T), np.array_equal(a, a[0])",
                "np.roll(a, -3, axis=1), np.roll(a, 2, -1), np.swapaxes(a, 0, -1)",
                "np.tile(a, 2), np.tile(a, (2, 1)), np.tile(a, (1, 2, 1)), np.expand_dims(a, (0, -1))",
            ]
        )
    ],
)
def test_what_is_found_in_arrays_of_more_dimensions(call: str, arrays: tuple[Any, ...]) -> None:
    for a in arrays:
        assert_as_numpy(call, a)


def test_products_of_more_kinds() -> None:
    m, n = MATRIX[:, :3], SPARSE[:4, 1:4]
    assert_as_numpy("np.kron(a, b), np.cross(a[1], b[1]), np.cross(a[:4], b), np.cross(a, b[0])", m, n)
    assert_as_numpy("np.vdot(a, a), np.vdot(a, a * 1j), np.outer(a, a)", SQUARES["complex"][0])
    assert_as_numpy("np.average(a, weights=b)", FLOATS, np.zeros_like(FLOATS))
    assert_as_numpy("np.average(a, weights=b)", FLOATS, FLOATS[:3])
    assert_as_numpy("np.cross(a, b)", m[0], FLOATS)
    infinite = np.array([np.inf, -np.inf, np.nan, 1.0])
    assert_as_numpy(
        "np.isclose(a, b), np.isclose(a, a), np.isclose(a, b, equal_nan=True)", infinite, infinite[::-1]
    )
    assert_as_numpy("np.isclose(a, b), np.isclose(b, a), np.allclose(a, b, 0.2), np.atleast_2d(a)", 1.0, 1.1)


def test_arrays_are_unpacked() -> None:
    def unpacks(a):
        first, second = a[:2] - a[1:3]
        x, y, z = a[0, :3]
        return first * second, x - y * z

    def swaps(a):
        a[0, 0], a[0, 1] = a[0, 1::-1]
        return a

    one, other = weft.jit(unpacks)(MATRIX)
    np.testing.assert_allclose(one, unpacks(MATRIX)[0])
    assert other == pytest.approx(unpacks(MATRIX)[1])
    np.testing.assert_array_equal(weft.jit(swaps)(MATRIX.copy()), swaps(MATRIX.copy()))
    with pytest.raises(weft.errors.ArrayShapeError, match="an array of another length than 3 is unpacked"):
        weft.jit(unpacks)(MATRIX[:, :2])


def negates_where_positive(a):
    a[a > 0.2] = -a[a > 0.2]
    a[a < -0.5] = a[:1] if a.ndim == 1 else a[0, :1]
    return a


def moves(a):
    b = np.arange(a.size)[::-1] // 2
    a[b] = a
    a[b[:3]] = a[::-1][:3]
    return a


def misses(a):
    a[a > 0.2] = a[:2]
    return a


def stores_tuples(a):
    a[:3] = a[-3:] = 1, 2.5, 3
    return a


@pytest.mark.spread
@pytest.mark.parametrize("change", [negates_where_positive, moves, misses, stores_tuples])
@pytest.mark.parametrize("kind", ["float64", "float32", "backwards"])
def test_what_arrays_select_is_assigned_arrays_and_tuples(change: Callable[..., Any], kind: str) -> None:
    given = VECTORS[kind] / 10
    try:
        wanted = change(given.copy())
    except ValueError:
        with pytest.raises(weft.errors.ArrayShapeError, match="the shapes of the arrays do not go together"):
            weft.jit(change)(given.copy())
        return
    np.testing.assert_array_equal(weft.jit(change)(given.copy()), wanted)
    if change is negates_where_positive:
        np.testing.assert_array_equal(
            weft.jit(change)(SPARSE[::2, ::-1].copy()), change(SPARSE[::2, ::-1].copy())
        )


def test_rows_that_an_array_of_indices_selects() -> None:
    order = np.array([3, 0, -1, 3])
    for a in (SPARSE, SPARSE[:, ::-2], BLOCK.transpose(2, 0, 1), MATRIX.T):
        assert_as_numpy("a[b], a[b[:2]].sum(axis=0), a[b[:0]], a[b][:, None]", a, order)
    assert_as_numpy("a[b]", SPARSE, order.astype(np.uint8) % 4)


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(0.0, 1.0, 0.1), (1.0, -2.0, -0.3), (0.0, 9.0, 2.0), (5.0, 1.0, 1.0), (0.5, 0.75, 1.0), (1.0, 2.0, 0.0)],
)
def test_floats_at_equal_distances(start: float, stop: float, step: float) -> None:
    assert_as_numpy("np.arange(a, b, c), np.arange(0, b, c), np.arange(b)", start, stop, step)
    assert_as_numpy("np.arange(1.0, 7), np.arange(0.25, 4, dtype=np.float64), np.arange(a, np.inf)", start)


def test_limits_of_types_are_constants() -> None:
    assert_as_numpy("np.finfo(np.float64).eps + a, np.finfo(a.dtype).max, np.iinfo(np.int32).min", FLOATS)
    with pytest.raises(weft.errors.TypingError, match=r"iinfo\(\) takes a type of integers, not float64"):
        compiled("np.iinfo(a.dtype).max", "a")[1](FLOATS)


def test_identities() -> None:
    assert_as_numpy("np.eye(a), np.eye(a, 6, 1), np.eye(a, k=-2, dtype=np.int32), np.identity(a)", 4)
    assert_as_numpy("np.interp(a, b, b * b), np.digitize(a, b)", 0.3, EDGES)


@pytest.mark.parametrize(
    ("call", "argument", "message"),
    [
        (
            "np.triu(a)",
            FLOATS,
            "triu() takes an array of numbers of 2 dimensions here, not float64[::1]",
        ),
        ("np.histogram(a, 2.5)", FLOATS, "the argument 'bins' of histogram() is a whole number"),
        ("np.diff(a, axis=0)", FLOATS, "diff() takes no argument 'axis' here"),
        ("np.bincount(a)", FLOATS, "bincount() takes whole numbers"),
        (
            "np.concatenate((a, a), axis=1)",
            FLOATS,
            "the axis of concatenate() is a literal number of a dimension",
        ),
        ("np.median(a)", FLOATS * 1j, "median() takes real numbers"),
    ],
)
def test_what_they_do_not_take_is_refused_where_it_stands(call: str, argument: Any, message: str) -> None:
    _, ours = compiled(call, "a")
    with pytest.raises((weft.errors.TypingError, weft.errors.UnsupportedError)) as refused:
        ours(argument)
    told = str(refused.value)
    assert message in told and f"<{call}>:2:" in told and f"    return {call}" in told


def test_kernels_do_not_make_arrays_but_look_things_up() -> None:
    @cuda.jit
    def looks_up(a, x, o):
        o[0] = np.interp(x, a, a)
        o[1] = np.digitize(x, a)

    @cuda.jit
    def makes(a, o):
        o[0] = np.median(a)

    out = np.zeros(2)
    with pytest.raises(
        weft.errors.UnsupportedError, match=r"test_written_functions.py:\d+:16: median\(\) of float64"
    ):
        makes[1, 4](EDGES, out)
    looks_up[1, 4](EDGES, 0.25, out)
    assert out.tolist() == [0.25, 3]


def test_arrays_that_do_not_fit_are_refused_as_the_code_runs() -> None:
    _, ours = compiled("np.vstack((a, b))", "a", "b")
    with pytest.raises(weft.errors.ArrayShapeError):
        ours(FLOATS, FLOATS[:3])
