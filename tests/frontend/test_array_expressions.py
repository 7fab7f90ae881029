"""Expressions, reductions and selections of whole arrays, beside NumPy."""

import types

import numpy as np
import pytest

import weft
from pairs import WHOLE, in_turn
from weft import cuda, errors

RANDOM = np.random.default_rng(3)
SHAPES = {
    "vector": RANDOM.normal(size=37),
    "float32": RANDOM.normal(size=(5, 7)).astype(np.float32),
    "columns": np.asfortranarray(RANDOM.integers(-5, 5, (4, 6)).astype(np.int8)),
    "unsigned": RANDOM.integers(0, 200, 11).astype(np.uint16),
    "strided": RANDOM.normal(size=40)[::-3],
    "three": RANDOM.normal(size=(2, 3, 4)),
    "bools": RANDOM.integers(0, 2, 9).astype(bool),
    "one": np.array([2.5]),
}


def same(made, wanted, close=False):
    made, wanted = np.asarray(made), np.asarray(wanted)
    assert made.shape == wanted.shape and made.dtype.kind.replace("u", "i") == wanted.dtype.kind.replace(
        "u", "i"
    )
    if close:
        np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)
    else:
        np.testing.assert_array_equal(made, wanted)


@weft.jit
def with_a_number(a, b, s):
    return a * s + b, np.where(a > b, a, s)


@weft.jit
def arithmetic(a, b):
    return -a, a - 1, abs(a) // 3, a / (b * b + 1), a > b, (a < 2) & (b != 1)


SCALARS = [2, 0.5, np.float32(3)]
EXPRESSIONS = [
    (name, scalar)
    for k, name in enumerate(name for name in SHAPES if name != "bools")
    # All of them with one array of each kind of numbers.
    for scalar in (SCALARS if WHOLE or name in ("vector", "float32", "columns") else SCALARS[k % 3 :][:1])
]


@pytest.mark.parametrize(("name", "scalar"), EXPRESSIONS, ids=repr)
def test_expressions_with_numbers_are_numpys(name, scalar):
    a = SHAPES[name]
    if a.dtype.kind == "u" and scalar == 0.5:
        scalar = np.float64(0.5)
    b = a[::-1].copy()
    with np.errstate(all="ignore"):
        wanted = with_a_number.py_func(a, b, scalar)
    for made, expected in zip(with_a_number(a, b, scalar), wanted, strict=True):
        # A Python int that is not known when compiling may need all of int64, here.
        assert made.dtype == expected.dtype or (made.dtype == np.int64 and type(scalar) is int)
        same(made, expected)


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "bools"])
def test_expressions_of_arrays_alone_are_numpys(name):
    a = SHAPES[name]
    b = a[::-1].copy()
    with np.errstate(all="ignore"):
        wanted = arithmetic.py_func(a, b)
    for made, expected in zip(arithmetic(a, b), wanted, strict=True):
        assert made.dtype == expected.dtype
        same(made, expected)


@weft.jit
def broadcast(a, b):
    return a + b * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((3, 4), (4,)),
        ((3, 1), (4,)),
        ((3, 1), (1, 4)),
        ((1,), (5,)),
        ((2, 3, 4), (3, 1)),
        ((0, 3), (3,)),
        ((1, 1), (2, 2)),
    ],
)
def test_shapes_broadcast(one, other):
    a, b = np.arange(np.prod(one), dtype=float).reshape(one), np.arange(np.prod(other)).reshape(other)
    same(broadcast(a, b), a + b * 2)
    same(broadcast(b, a), b + a * 2)


def test_shapes_that_do_not_go_together_are_an_error():
    with pytest.raises(errors.ArrayShapeError, match="do not go together"):
        broadcast(np.zeros(3), np.zeros(4))
    with pytest.raises(ValueError, match="do not go together"):
        weft.jit(store_into)(np.zeros(3), np.zeros(4))


def store_into(a, b):
    a[:] = b


def in_place(a, b):
    a[1:] = a[:-1] + b[1:]
    b[::2] = a[::2] * 3
    a[:] = a[::-1]
    a += b
    b[2:5] -= 1
    a *= 2
    b[:] = 7 if a.size > 100 else a[0]


@pytest.mark.parametrize("n", [6, 7, 64])
def test_targets_may_overlap_what_is_read(n):
    made = RANDOM.normal(size=n), RANDOM.normal(size=n)
    wanted = made[0].copy(), made[1].copy()
    weft.jit(in_place)(*made)
    in_place(*wanted)
    for one, other in zip(made, wanted, strict=True):
        same(one, other)


def test_an_operand_is_read_before_a_call_changes_an_array():
    @weft.jit
    def change(a):
        a[0] = 100.0
        return 1.0

    @weft.jit
    def f(a):
        return a * 2 + change(a)

    def in_python(a):
        made = a * 2
        a[0] = 100
        return made + 1

    x = np.arange(4.0)
    same(f(x.copy()), in_python(x.copy()))


def test_a_function_of_another_module_may_change_an_array_too():
    def change(a):
        a[0] = 100.0
        return 1.0

    other = types.ModuleType("other")
    other.change = change
    g = weft.jit(lambda a: a * 2 + other.change(a))
    same(g(np.arange(4.0)), np.arange(4.0) * 2 + 1)


@weft.jit
def functions(a, b):
    return (
        np.sqrt(np.abs(a)),
        np.maximum(a, b),
        np.clip(a, -1, 1),
        np.exp(a * 0.1),
        np.isnan(a),
        np.arctan2(a, b),
    )


@pytest.mark.parametrize("name", ["vector", "float32", "strided", "three"])
def test_functions_work_on_elements(name):
    a = SHAPES[name]
    for made, wanted in zip(functions(a, a + 1), functions.py_func(a, a + 1), strict=True):
        assert made.dtype == wanted.dtype
        same(made, wanted, close=True)


@weft.jit
def reductions(a):
    return (
        a.sum(), np.prod(a), a.mean(), np.var(a), a.std(), a.min(), np.max(a), a.argmin(), np.argmax(a),
        a.any(), np.all(a), np.count_nonzero(a), np.amin(a), np.amax(a), np.sum(a * 2 + 1), (a > 1).any(),
    )  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_reductions_are_numpys(name):
    a = SHAPES[name]
    if a.dtype == bool:
        a = a.astype(np.uint8)
    for made, wanted in zip(reductions(a), reductions.py_func(a), strict=True):
        same(made, wanted, close=True)


sum_of = weft.jit(lambda a: a.sum())
variance = weft.jit(lambda a, d: np.var(a, ddof=d))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 31, 1000])
def test_sums_of_any_length(n):
    a = np.arange(n, dtype=np.float64)
    assert sum_of(a) == a.sum()
    assert sum_of(a > 3) == (a > 3).sum()
    assert variance(a + 1, 1) == pytest.approx(np.var(a + 1, ddof=1), nan_ok=True)


def test_nan_is_the_least_and_the_greatest():
    a = np.array([3, np.nan, -1, np.nan])
    made = weft.jit(lambda a: (a.min(), a.max(), a.argmin(), a.argmax()))(a)
    assert np.isnan(made[:2]).all() and made[2:] == (1, 1)


def test_the_least_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="empty"):
        weft.jit(lambda a: a.min())(np.zeros(0))


def along(a):
    return (
        a.sum(axis=0),
        np.max(a, axis=1),
        a.mean(-1),
        np.argmin(a, axis=0),
        np.any(a > 1, axis=1),
        a.var(1, ddof=1),
    )


@pytest.mark.parametrize("name", ["columns", "three"])
def test_axes_are_reduced(name):
    a = SHAPES[name].astype(np.float64)
    for made, wanted in zip(
        weft.jit(along)(a),
        (a.sum(axis=0), a.max(axis=1), a.mean(-1), a.argmin(axis=0), (a > 1).any(axis=1), a.var(1, ddof=1)),
        strict=True,
    ):
        same(made, wanted, close=True)


@weft.jit
def products(a, b, v, w):
    return a @ b, a @ v, w @ b, v.dot(v), np.dot(a, b)


def test_matrices_are_multiplied():
    a, b, v, w = (RANDOM.normal(size=size) for size in ((4, 6), (6, 3), 6, 6))
    for made, wanted in zip(products(a, b, v, w), (a @ b, a @ v, w @ b, v @ v, a @ b), strict=True):
        same(made, wanted, close=True)
    same(product(a.T.copy().T, b.astype(np.float32)), a @ b.astype(np.float32), close=True)
    with pytest.raises(errors.ArrayShapeError):
        products(a, a, v, w)


product = weft.jit(lambda a, b: a @ b)


SHAPES_OF_PRODUCTS = [
    *((1, 1, 1), (3, 0, 4), (0, 3, 2), (5, 70, 3)),
    *((9, 131, 515), (2, 64, 513), (4, 3, 1)),
]


@pytest.mark.spread
@pytest.mark.parametrize("shape", SHAPES_OF_PRODUCTS)
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex128])
def test_products_of_matrices_add_up_in_order(shape: tuple[int, int, int], dtype: type) -> None:
    rows, inner, columns = shape
    rng = np.random.default_rng(4)
    a, b = (
        rng.integers(-9, 9, (rows, inner)).astype(dtype),
        rng.integers(-9, 9, (inner, columns)).astype(dtype),
    )
    given = [(a, b), (a[::-1], b.T.copy().T), (a, b[:, 0].copy()), *([(a[0], b)] if rows else [])]
    for one, other in in_turn(given, SHAPES_OF_PRODUCTS.index(shape), 4):
        assert np.array_equal(product(one, other), one @ other)
    if dtype is np.float64 and inner:
        a, b = rng.random((rows, inner)), rng.random((inner, columns))
        in_order = np.zeros((rows, columns))
        for k in range(inner):
            in_order = in_order + a[:, k : k + 1] * b[k]
        assert np.array_equal(product(a, b), in_order)


fast_dot = weft.jit(lambda a, b: a.dot(b), fastmath=True)
fast_product = weft.jit(lambda m, x: m @ x, fastmath=True)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 1000])
def test_sums_of_products_may_be_in_any_order_under_fastmath(size: int) -> None:
    a, b = np.random.default_rng(5).random((2, size))
    assert np.isclose(fast_dot(a, b), a.dot(b), rtol=1e-12)
    assert np.allclose(fast_product(np.stack([a, b]), b), [a.dot(b), b.dot(b)])


def products_of_expressions(a, b, x, n):
    total = a @ x
    for k in range(n):
        total = (2 * a) @ (x + k) + (c := a - k) @ x + c @ (b * k @ x)
        a = c * 1 @ b
    return total, a, n * c @ x


@pytest.mark.parametrize("debug", [False, True])
def test_arrays_that_products_are_of_go_behind_them(debug: bool) -> None:
    """But for those that variables, and the product itself, lead into."""
    compiled = weft.jit(products_of_expressions, debug=debug)
    a, b, x = (RANDOM.integers(-3, 4, shape).astype(np.float64) for shape in ((5, 5), (5, 5), 5))
    for made, expected in zip(compiled(a, b, x, 3), products_of_expressions(a, b, x, 3), strict=True):
        assert np.array_equal(made, expected)
    assert "weft_heap_sweep" in str(compiled.inspect_llvm())


def products_in_lanes(a, x, out):
    for i in weft.prange(out.shape[0]):
        out[i] = ((a * i) @ (x + i)).sum()


def test_products_of_expressions_in_parallel_loops() -> None:
    a, x, out, wanted = RANDOM.random((4, 4)), RANDOM.random(4), np.zeros(50), np.zeros(50)
    weft.jit(products_in_lanes)(a, x, out)
    products_in_lanes(a, x, wanted)
    assert np.allclose(out, wanted)


@weft.jit
def others(a, v):
    v = np.sort(v)
    return (
        np.cumsum(a), v, np.searchsorted(v, 0.3), np.searchsorted(v, v, side="right"), np.linspace(0, 1, 5),
        np.linspace(2, 1, 4, False), a.ravel(), a.flatten(),
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 5, 33, 500])
def test_other_functions_are_numpys(n):
    a, v = RANDOM.integers(-9, 9, (2, 3)), RANDOM.normal(size=n)
    v[n // 2] = np.nan
    s = np.sort(v)
    wanted = (
        np.cumsum(a), s, np.searchsorted(s, 0.3), np.searchsorted(s, s, side="right"), np.linspace(0, 1, 5),
        np.linspace(2, 1, 4, False), a.ravel(), a.ravel(),
    )  # fmt: skip
    for made, expected in zip(others(a, v), wanted, strict=True):
        same(made, expected, close=True)


def test_arrays_are_indices():
    @weft.jit
    def f(a, order):
        positive = a[a > 0]
        chosen = a[order]
        a[a < 0] = -1
        a[order[:1]] = 9
        return positive, chosen, a[order] * 2

    a, order = RANDOM.normal(size=20), np.array([3, -1, 0, 3])
    wanted = a[a > 0], a[order].copy()
    b = a.copy()
    made = f(b, order)
    same(made[0], wanted[0])
    same(made[1], wanted[1])
    a[a < 0] = -1
    a[3] = 9
    same(b, a)
    same(made[2], a[order] * 2)
    same(weft.jit(lambda m: m[m > 1])(np.arange(6).reshape(2, 3)), np.arange(2, 6))


@weft.jit
def by_mask(a, mask):
    return a[mask], np.flatnonzero(mask), mask.sum(), np.count_nonzero(mask)


@weft.jit
def by_mask_of_two(a, mask):
    return a[mask], np.nonzero(mask), mask.sum(axis=1)


@pytest.mark.parametrize("n", [0, 7, 8, 17, 203])
@pytest.mark.parametrize("share", [0, 0.02, 0.5, 1])
def test_masks_choose_in_order(n, share):
    truths = RANDOM.random(n + 1) < share
    for mask in (truths[:n], truths[1:], np.repeat(truths, 2)[2::2]):
        for a in (np.arange(n), RANDOM.normal(size=2 * n)[::2], np.arange(n).astype(np.uint8)):
            found = by_mask(a, mask)
            for made, wanted in zip(found, by_mask.py_func(a, mask), strict=True):
                same(made, wanted)
            assert found[0].dtype == a.dtype


def test_any_byte_but_zero_is_true_in_a_mask():
    mask = np.array([0, 2, 255, 1, 128, 0, 0, 64, 0, 3], np.uint8).view(bool)
    for made, wanted in zip(
        by_mask(np.arange(10), mask), ([1, 2, 3, 4, 7, 9], [1, 2, 3, 4, 7, 9], 6, 6), strict=True
    ):
        assert np.array_equal(made, wanted)


def test_masks_of_two_dimensions_choose_in_order():
    a, mask = RANDOM.normal(size=(6, 9)), RANDOM.random((6, 9)) < 0.4
    for its, chosen in ((a, mask), (a.T, mask.T), (a[:, ::2], mask[:, ::2]), (a, mask.T.copy().T)):
        made, wanted = by_mask_of_two(its, chosen), by_mask_of_two.py_func(its, chosen)
        same(made[0], wanted[0])
        same(np.array(made[1]), np.array(wanted[1]))
        same(made[2], wanted[2])


@pytest.mark.parametrize("width", [1, 8, None])
def test_kernels_store_expressions_in_lanes(width):
    @cuda.jit(width=width)
    def kernel(a, b, out, sums):
        i = cuda.grid(1)
        if i < a.shape[0]:
            out[i] = a[i] * 2 + b
            out[i, 1:] += np.sqrt(b[1:])
            np.multiply(out[i], 0.5, out[i])
            sums[i] = a[i].sum() + np.max(a[i]) * a[i].dot(b)

    a, b = RANDOM.normal(size=(50, 9)), np.abs(RANDOM.normal(size=9))
    out, sums = np.zeros_like(a), np.zeros(50)
    kernel[1, 64](a, b, out, sums)
    wanted = a * 2 + b
    wanted[:, 1:] += np.sqrt(b[1:])
    same(out, wanted * 0.5)
    same(sums, a.sum(1) + a.max(1) * (a @ b), close=True)


def test_kernels_make_no_arrays():
    @cuda.jit
    def kernel(a):
        b = a * 2
        a[0] = b[0]

    with pytest.raises(errors.UnsupportedError, match="cannot allocate"):
        kernel[1, 1](np.zeros(3))


def test_loops_in_parallel_use_expressions():
    @weft.jit
    def f(a, out):
        for i in weft.prange(a.shape[0]):
            row = a[i] * 2
            out[i] = row.sum() + (row - row.mean()).max()

    a, out = RANDOM.normal(size=(40, 7)), np.zeros(40)
    f(a, out)
    row = a * 2
    same(out, row.sum(1) + (row - row.mean(1)[:, None]).max(1), close=True)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: a * (1, 2), "no operation on arrays"),
        (lambda a: a.sum(axis=3), "axis of sum"),
        (lambda a: a.sum(axis=(0, 0)), "axes of sum"),
        (lambda a: a.argmin(axis=(0,)), "axis of argmin"),
        (lambda a: a.sum(dtype=1), "takes the arguments axis"),
        (lambda a: a @ 2, "no operation"),
        (lambda a: np.searchsorted(a, 1, "up"), "side of searchsorted"),
        (lambda a: a[a, 0], "1 dimensions"),
        (lambda a: a[a], "is no index"),
    ],
)
def test_what_arrays_cannot_do_is_said(function, message):
    with pytest.raises(errors.WeftError, match=message):
        weft.jit(function)(np.zeros(3))


def test_checks_run_in_expressions():
    @weft.jit(debug=True)
    def f(a, order):
        return a[order] + 1

    with pytest.raises(IndexError):
        f(np.zeros(3), np.array([0, 5]))


@weft.jit
def sorted_in_place(a):
    a.sort()


@weft.jit
def places(a):
    return a.argmin(), a.argmax()


def test_sorting_and_places_of_many_kinds_of_numbers() -> None:
    random = np.random.default_rng(5)
    kinds = {
        "random": lambda n: random.random(n),
        "few": lambda n: random.integers(0, 4, n).astype(np.int16),
        "rising": lambda n: np.arange(n, dtype=np.float32),
        "falling": lambda n: np.arange(n, dtype=np.uint8)[::-1].copy(),
        "with NaN": lambda n: np.where(random.random(n) < 0.3, np.nan, random.random(n)),
        "for medians": lambda n: np.concatenate([np.arange(0, n, 2), np.arange(1, n, 2)[::-1]]),
    }
    for name, make in kinds.items():
        for n in (*range(1, 70, 3), 129, 1000, 5000):
            a = make(n)
            mine = a.copy()
            sorted_in_place(mine)
            np.testing.assert_array_equal(mine, np.sort(a), err_msg=f"{name} {n}")
            assert places(a) == (a.argmin(), a.argmax()), (name, n)


@weft.jit
def without_nan(a):
    return (
        np.nansum(a), np.nanprod(a), np.nanmean(a), np.nanvar(a), np.nanstd(a), np.nanmin(a), np.nanmax(a),
    )  # fmt: skip


def test_reductions_without_nan() -> None:
    for a in (np.array([1.0, np.nan, 3, -4]), np.array([[np.nan, 2], [3, np.nan]]), np.array([7, 5])):
        wanted = [
            getattr(np, f"nan{name}")(a) for name in ("sum", "prod", "mean", "var", "std", "min", "max")
        ]
        np.testing.assert_allclose(without_nan(a), wanted)


@weft.jit
def order_of_complex_numbers(a, b):
    return np.less(a, b), np.less_equal(a, b), np.greater(a, b), np.greater_equal(a, b)


def test_numpy_orders_complex_numbers() -> None:
    values = np.array([1 + 1j, 1 + 2j, 2 + 0j, -1j, 1 + 1j])
    for shift in range(5):
        other = np.roll(values, shift)
        for made, wanted in zip(
            order_of_complex_numbers(values, other),
            order_of_complex_numbers.py_func(values, other),
            strict=True,
        ):
            np.testing.assert_array_equal(made, wanted)


def several(a):
    return (
        a.sum(axis=(0, 1)),
        np.max(a, axis=(-1, 1)),
        a.mean((0, 2)),
        np.var(a, axis=(2, 0), ddof=1),
        np.any(a > 1, axis=(0, 1, 2)),
    )


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_several_axes_are_reduced(order):
    a = RANDOM.normal(size=(4, 5, 7)).transpose(order)
    for made, wanted in zip(weft.jit(several)(a), several(a), strict=True):
        same(made, wanted, close=True)


def of_expressions(a, b):
    return (
        (a * b).sum(), (a > b).any(), np.max(np.where(a > 0, a, b)), np.count_nonzero(a > 0),
        ((a - a.mean()) ** 2).mean(), (a * 1).std(),
    )  # fmt: skip


MATRIX = RANDOM.normal(size=(6, 9))
LINE = RANDOM.normal(size=1003)


@pytest.mark.parametrize(
    ("a", "b"),
    [(LINE, LINE[::-1]), (LINE[:999:3], LINE[1:1000:3]), (LINE, LINE[:1]), (MATRIX, MATRIX + 1), (MATRIX, MATRIX[0]),
     (MATRIX.T, MATRIX.T * 2)],
    ids=["reversed", "strided", "stretched", "matrix", "rows", "columns"],
)  # fmt: skip
def test_expressions_are_reduced(a, b):
    for made, wanted in zip(weft.jit(of_expressions)(a, b), of_expressions(a, b), strict=True):
        same(made, wanted, close=True)


def test_the_sum_of_an_expression_is_made_in_the_order_of_that_of_an_array():
    @weft.jit
    def both(a, b):
        product = a * b
        return (a * b).sum(), product.sum()

    for n in (0, 1, 7, 8, 1003):
        direct, stored = both(LINE[:n], LINE[::-1][:n])
        assert direct == stored


def test_the_sum_of_an_expression_needs_no_array():
    @weft.jit
    def f(a, b):
        return (a * b).sum() + np.abs(a).max()

    f(LINE, LINE)
    (made,) = f.overloads.values()
    assert "weft_new" not in made.lowered().text and "malloc" not in made.llvm()

    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i] = (a[i] * b).sum()

    out = np.zeros(6)
    kernel[1, 6](MATRIX, MATRIX[0], out)
    same(out, (MATRIX * MATRIX[0]).sum(1), close=True)


def test_the_least_of_an_expression_without_elements_is_an_error():
    with pytest.raises(ValueError, match="empty"):
        weft.jit(lambda a: (a * 2).min())(np.zeros(0))
    with pytest.raises(errors.ArrayShapeError):
        weft.jit(lambda a, b: (a * b).sum())(np.zeros(3), np.zeros(4))
