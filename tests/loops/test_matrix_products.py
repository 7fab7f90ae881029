"""Products of matrices: nests found to be parallel run in boxes, packed; ``a @ b`` is one that runs where it stands."""

import numpy as np
import pytest

import weft
from pairs import in_turn
from weft import prange
from weft.ir import Builder, Function
from weft.ir.loop_metadata import mark_parallel, mark_scalar, mark_unrolled, unrolling
from weft.ir.types import I64, VOID, FunctionType
from weft.machine.host import is_runnable

LEVELS = ["x86-64", "x86-64-v3", "x86-64-v4"]
BOXES = {"x86-64": "4x4", "x86-64-v3": "4x8", "x86-64-v4": "8x16"}
PACKED = "is copied to one piece of memory"


def product(a, b):
    return a @ b


def nest(a, b, out):
    for i in prange(out.shape[0]):
        for j in prange(out.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


def two_sums(a, b, out):
    for i in prange(out.shape[0]):
        for j in prange(out.shape[1]):
            total, most = 0.0, 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
                most = max(most, b[k, j])
            out[i, j] = total + most


def batch(stack, other, out):
    for n in prange(stack.shape[0]):
        out[n] = (stack[n] @ other).sum()


def in_order(a, b):
    """The sums of NumPy's elementwise operations, each in the order of the inner index."""
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k : k + 1]
    return total


def matrices(rows, inner, columns, dtype):
    random = np.random.default_rng(rows + inner + columns)
    return (
        (random.random((rows, inner)) * 9 - 4).astype(dtype),
        (random.random((inner, columns)) * 9 - 4).astype(dtype),
    )


@pytest.mark.parametrize(("cpu", "dtype"), [*((cpu, np.float64) for cpu in LEVELS), (LEVELS[1], np.int16)])
def test_sums_are_in_order_for_any_shape_and_strides(cpu, dtype, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    if not is_runnable():
        pytest.skip(f"needs {cpu}")
    weft.set_num_threads(2)
    made = weft.jit(product)
    # Fewer rows than a box, a whole number of boxes, borders along both loops, panels, nothing at all.
    shapes = ((3, 5, 9), (16, 20, 16), (19, 33, 21), (70, 17, 37), (9, 0, 8), (0, 3, 8))
    a, b = matrices(70, 17, 37, dtype)
    given = [matrices(*shape, dtype) for shape in shapes]
    given += [(a.T.copy().T, b), (a, b.T.copy().T), (a[::-1, ::2], b[::2, ::-1])]
    for a, b in in_turn(given, LEVELS.index(cpu) + (dtype is np.int16), 3):
        assert np.array_equal(made(a, b), in_order(a, b))


def test_sums_of_more_terms_than_boxes_add_up_go_on_in_order(monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    a, b = matrices(9, 4103, 10, np.float64)
    assert np.array_equal(weft.jit(product)(a, b), in_order(a, b))


@pytest.mark.parametrize("rows", [8, 11])
def test_few_rows_go_along_a_large_matrix(rows, monkeypatch) -> None:
    """Columns of a large matrix are not read one by one for boxes of a few rows; the last of 11 has no other one."""
    monkeypatch.setenv("WEFT_CHECK", "0")
    a, b = matrices(rows, 523, 1030, np.float64)
    assert b.nbytes > 4 << 20
    assert np.array_equal(weft.jit(product)(a, b), in_order(a, b))


def test_products_of_each_iteration_of_a_prange() -> None:
    stack = np.random.default_rng(3).random((5, 17, 12))
    other = np.random.default_rng(4).random((12, 19))
    out = np.zeros(5)
    weft.jit(batch)(stack, other, out)
    np.testing.assert_allclose(out, [(each @ other).sum() for each in stack])


@pytest.mark.parametrize("cpu", LEVELS)
def test_a_nest_that_shares_rows_is_packed_and_its_last_boxes_overlap(cpu, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    if not is_runnable():
        pytest.skip(f"needs {cpu}")
    made = weft.jit(nest)
    for shape in ((19, 33, 21), (70, 17, 37)):
        a, b = matrices(*shape, np.float64)
        out = np.full((shape[0] + 1, shape[2]), 7.0)
        made(a, b, out[:-1])
        assert np.array_equal(out[:-1], in_order(a, b)) and (out[-1] == 7).all()
    (compiled,) = made.overloads.values()
    told = " ".join(str(remark) for remark in compiled.remarks())
    assert PACKED in told and f"as a box of {BOXES[cpu]}" in told


@pytest.mark.parametrize("cpu", LEVELS[1:])
def test_boxes_have_fewer_rows_where_loops_inside_carry_more(cpu, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", cpu)
    if not is_runnable():
        pytest.skip(f"needs {cpu}")
    made = weft.jit(two_sums)
    a, b = matrices(19, 33, 21, np.float64)
    out = np.zeros((19, 21))
    made(a, b, out)
    assert np.array_equal(out, in_order(a, b) + np.maximum(b.max(0), 0))
    (compiled,) = made.overloads.values()
    told = " ".join(str(remark) for remark in compiled.remarks())
    rows, columns = map(int, BOXES[cpu].split("x"))
    assert f"as a box of {rows // 2}x{columns}" in told


def test_the_loop_that_reads_a_panel_is_unrolled_in_lanes() -> None:
    made = weft.jit(nest)
    a, b = matrices(19, 33, 21, np.float64)
    made(a, b, np.zeros((19, 21)))
    (compiled,) = made.overloads.values()
    assert "llvm.loop.unroll.count" in compiled.lowered().text


def test_a_wish_to_unroll_is_found_among_others() -> None:
    function = Function("f", FunctionType(VOID, (I64,)), ("n",))
    block = function.add_block("loop")
    back = Builder(block).br(block)
    assert unrolling(back) is None
    mark_parallel(back)
    assert unrolling(back) is None
    mark_scalar(back)
    mark_unrolled(back, 4)
    wish = unrolling(back)
    assert wish is not None and len(wish.items) == 2
