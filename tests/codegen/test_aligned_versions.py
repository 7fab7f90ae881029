"""Remainders, quotients and masks by uniform numbers: a version for lane groups that lie in one stretch."""

import numpy as np
import pytest

import weft
from codegen.kernels import Launch, agree, guarded, kernel_text, stored, widened
from codegen.machine_code import ISAS
from codegen.stretches import check
from codegen.test_forms import lines
from weft import cuda, opencl

BELOW = (1 << 32) - 32
DIVISORS = (1, 3, 8, 16, 32, 48, 64, BELOW, 1 << 31)
CASES = {
    "and": (0, 1, 7, 15, 31, 47, 63, (1 << 32) - 1),
    **dict.fromkeys(("urem", "srem", "udiv", "sdiv"), DIVISORS),
    **dict.fromkeys(("lshr", "ashr"), (0, 2, 3, 4, 5)),
}
NUMBERS = {
    "from 0": "  %x = add i32 %t32, 0\n",
    "negative first": "  %x = add i32 %t32, -32\n",
    "unaligned": "  %x = add i32 %t32, 5\n",
    "two apart": "  %x = shl i32 %t32, 1\n",
}


def body(op: str, number: str = "from 0") -> str:
    index = f"{NUMBERS[number]}  %r = {op} i32 %x, %u\n  %index = and i32 %r, 127\n"
    load = "  %g = getelementptr i32, ptr %in, i32 %index\n  %w = load i32, ptr %g\n"
    return index + load + stored("%w")


@pytest.mark.spread
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("op", CASES)
def test_kernels_agree_with_the_interpreter(op: str, number: str) -> None:
    choice = list(CASES).index(op) + list(NUMBERS).index(number)
    width, isa = (4, 8, 16)[choice % 3], ISAS[choice % len(ISAS)]
    agree(kernel_text(body(op, number)), width, isa, [Launch(u=u) for u in CASES[op]] + [Launch(45, u=16)])


@pytest.mark.parametrize("op", CASES)
def test_remainders_are_contiguous_in_it_and_quotients_uniform(op: str) -> None:
    text = widened(kernel_text(body(op)))
    _, aligned = text.split("aligned:", 1)
    aligned = aligned.split("unaligned:")[0] if "unaligned:" in aligned else aligned
    whole = "load <8 x i32>" if op in ("and", "urem", "srem") else "load i32"
    assert lines(aligned, whole) and not lines(aligned, "gather")


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels_agree_with_the_interpreter(seed: int) -> None:
    check(seed)


def test_operands_behind_a_branch_are_computed_before_it() -> None:
    divisor = "  %m = add i32 %u, 8\n  %x = add i32 %t32, 8\n  %index = urem i32 %x, %m\n"
    load = "  %g = getelementptr i32, ptr %in, i32 %index\n  %w = load i32, ptr %g\n"
    text = kernel_text(guarded(divisor + load + stored("%w")))
    assert lines(widened(text), "^aligned")
    agree(text, 8, ISAS[-1], [Launch(u=u) for u in (0, 8, 9, 24)])


@pytest.mark.parametrize(
    "unknown",
    [
        "  %r = and i32 %t32, 15\n",
        "  %p = getelementptr i32, ptr %in, i32 %t32\n  %m = load i32, ptr %p\n  %r = and i32 %t32, %m\n",
        "  %s = mul i32 %t32, 3\n  %r = and i32 %s, %u\n",
        "  %a = and i32 %t32, %u\n  %r = mul i32 %a, %t32\n",
    ],
    ids=["constant", "varying", "three apart", "of no use"],
)
def test_there_is_no_version_without_hope(unknown: str) -> None:
    index = f"{unknown}  %index = and i32 %r, 127\n"
    load = "  %g = getelementptr i32, ptr %in, i32 %index\n  %w = load i32, ptr %g\n"
    assert not lines(widened(kernel_text(index + load + stored("%w"))), "^aligned")


def rotated(a, out, w):
    near = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    near[t] = a[t % w]
    cuda.syncthreads()
    out[t] = near[63 - t] + a[t // w]


@pytest.mark.parametrize("w", [1, 5, 16, 32, 64])
def test_what_lies_between_barriers_has_a_version(w: int) -> None:
    a, out, t = np.arange(100), np.zeros(64, np.int64), np.arange(64)
    kernel = cuda.jit(rotated)
    kernel[1, 64](a, out, w)
    np.testing.assert_array_equal(out, a[(63 - t) % w] + a[t // w])
    assert any("has a version" in r.message for r in kernel.remarks)


def both(a, out, w):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 1000 * a[i // w] + a[i % w]


def in_loop(a, out, w):
    for i in weft.prange(out.size):
        out[i] = 1000 * a[i // w] + a[i % w]


@pytest.mark.parametrize("type", [np.int32, np.int64])
def test_rows_and_columns_of_python_are_right_and_said_to_be_better(type: type) -> None:
    a = np.arange(200)
    kernel, loop = cuda.jit(both, without=("bands",)), weft.jit(parallel=True)(in_loop)
    for w in (1, 5, 32, 64, 96, 150, -1, -32, -64):
        i = np.arange(190)
        wanted = 1000 * a[i // w] + a[i % w]
        one, other = np.zeros_like(wanted), np.zeros_like(wanted)
        kernel[4, 64](a, one, type(w))
        loop(a, other, type(w))
        np.testing.assert_array_equal(one, wanted, f"kernel, {w}")
        np.testing.assert_array_equal(other, wanted, f"loop, {w}")
    for function in (kernel, loop):
        assert any("has a version" in r.message for r in function.remarks)


def corners(a, out):
    i = cuda.grid(1)
    if i < out.size:
        x, y, z = i % 64, i // 64 % 7, i // (64 * 7)
        out[i] = 2.0 * a[z, y, x] + a[z, y + 1, x + 1] - a[z + 1, y, x]


def corners_in_loop(a, out, first):
    for i in weft.prange(first, out.size):
        x, y, z = i % 64, i // 64 % 7, i // (64 * 7)
        out[i] = 2.0 * a[z, y, x] + a[z, y + 1, x + 1] - a[z + 1, y, x]


@pytest.mark.parametrize("first", [0, 5, 64])
def test_rows_of_a_power_of_two_have_a_version_though_nothing_is_divided(first: int) -> None:
    a = np.random.default_rng(first).random((4, 8, 65)).astype(np.float32)
    wanted = 2 * a[:3, :7, :64] + a[:3, 1:, 1:] - a[1:, :7, :64]
    kernel, loop = cuda.jit(corners), weft.jit(corners_in_loop)
    one, other = (np.zeros(wanted.size, np.float32) for _ in range(2))
    kernel[6, 256](a, one)
    loop(a, other, first)
    np.testing.assert_array_equal(one, wanted.ravel())
    np.testing.assert_array_equal(other[first:], wanted.ravel()[first:])
    assert any("has a version" in r.message for r in loop.remarks)
    # Threads of a kernel that run together begin at a multiple of their number.
    told = [x for f in kernel.report().functions for e in f.excerpts for x in e.lines]
    assert [x.memory for x in told if "a[z, y, x]" in x.text] == [("contiguous",)]


def cells(values, side, k, out):
    for i in weft.prange(out.size):
        cell = values[i // side]
        near = (i ^ (k + 1)) + (i ^ (k + 2)) + (i ^ (k + 3)) + (i ^ (k + 4)) + (i ^ (k + 5))
        far = (i ^ (k - 1)) + (i ^ (k - 2)) + (i ^ (k - 3)) + (i ^ (k - 4)) + (i ^ (k - 5))
        out[i] = cell + near - far


def test_what_is_asked_of_a_divisor_is_computed_in_the_loop_whatever_else_is_known_before_it() -> None:
    compiled = weft.jit(cells)
    values = np.arange(20, dtype=np.int64) ** 2
    for side in (32, 7):
        out, wanted = np.zeros(128, np.int64), np.zeros(128, np.int64)
        compiled(values, side, 9, out)
        cells(values, side, 9, wanted)
        np.testing.assert_array_equal(out, wanted)
    assert any("lie in one stretch" in r.message for r in compiled.remarks)


def means(image, sums, out):
    h, w = image.shape
    for i in weft.prange(h * w):
        y = i // w
        x = i % w
        out[y, x] = image[y, x] - sums[y] * sums[x]


@pytest.mark.parametrize("isa", ISAS, ids=lambda isa: isa.name)
@pytest.mark.parametrize("op", ["udiv", "urem", "sdiv", "srem"])
def test_a_lane_group_within_a_row_of_any_length_is_in_one_stretch(op: str, isa) -> None:
    index = f"  %x = add i32 %t32, 5\n  %r = {op} i32 %x, %u\n  %index = zext i32 %r to i64\n"
    load = "  %g = getelementptr i32, ptr %in, i64 %index\n  %w = load i32, ptr %g\n"
    text = kernel_text(index + load + stored("%w"))
    code = widened(text, 8, isa)
    aligned = code.split("aligned:", 1)[1].split("unaligned:")[0]
    assert not lines(aligned, "gather|lshr exact")
    agree(text, 8, isa, [Launch(u=u) for u in (1, 7, 8, 9, 13, 20, 69)])


@pytest.mark.parametrize("op", ["udiv", "urem", "sdiv", "srem"])
def test_rows_of_a_length_that_the_program_says_need_be_no_multiples(op: str) -> None:
    """Those of less than twice the lanes are mostly met by two of them."""
    for divisor, has_version in ((37, True), (15, False)):
        index = f"  %x = add i32 %t32, -5\n  %r = {op} i32 %x, {divisor}\n  %s = add i32 %r, 6\n"
        load = "  %g = getelementptr i32, ptr %in, i32 %s\n  %w = load i32, ptr %g\n"
        text = kernel_text(guarded(index + load + stored("%w"), "%c = icmp sge i32 %t32, 5"))
        assert bool(lines(widened(text), "^aligned")) == has_version
        agree(text, 8, ISAS[1], [Launch(u=3), Launch(45, u=3)])


def test_numbers_at_the_ends_of_their_types_are_in_no_stretch() -> None:
    """Numbers that wrap around within a lane group are in two stretches, however long these are."""
    for first in (-4, (1 << 31) - 4, (1 << 31) - 8, -(1 << 31)):
        for op in ("udiv", "urem", "sdiv", "srem"):
            index = f"  %x = add i32 %t32, {first}\n  %r = {op} i32 %x, %u\n  %index = and i32 %r, 127\n"
            load = "  %g = getelementptr i32, ptr %in, i32 %index\n  %w = load i32, ptr %g\n"
            text = kernel_text(index + load + stored("%w"))
            agree(text, 8, ISAS[1], [Launch(u=u) for u in (3, 100, 1 << 31, (1 << 31) - 1, BELOW)])


def test_rows_whose_length_is_no_multiple_are_right() -> None:
    compiled = weft.jit(means)
    draw = np.random.default_rng(3)
    for shape in ((3, 37), (40, 3), (5, 64), (1, 9)):
        image, sums = draw.random(shape), draw.random(64)
        out = np.zeros(shape)
        compiled(image, sums, out)
        np.testing.assert_allclose(out, image - sums[: shape[0], None] * sums[: shape[1]])
    assert any("lie in one stretch" in r.message for r in compiled.remarks)


SHIFTED = """
__kernel void shifted(__global const float *a, __global float *r, int n, int h, int w) {
    int i = get_global_id(0), x = (i - 3) % w, y = i / w % h, z = i / (w * h);
    if (i > 2 && i < n && y < 50 && z < 50) r[(x * 50 + y) * 50 + z] = a[(y * 50 + x) * 50 + z] + y;
}
"""


@pytest.mark.parametrize("level", ["x86-64", "x86-64-v3", "x86-64-v4"])
def test_divisions_before_the_operands_of_others(level: str, monkeypatch: pytest.MonkeyPatch):
    """The quotient of i is there before i - 3 is."""
    monkeypatch.setenv("WEFT_CPU", level)
    program = opencl.Program(SHIFTED)
    a = np.random.default_rng(5).random(50 * 50 * 50, np.float32)
    n, h, w = 2000, 9, 40
    result, wanted = np.zeros((2, a.size), np.float32)
    program.shifted((2048,), (64,), a, result, np.int32(n), np.int32(h), np.int32(w))
    i = np.arange(3, n)
    x, y, z = (i - 3) % w, i // w % h, i // (w * h)
    wanted[(x * 50 + y) * 50 + z] = a[(y * 50 + x) * 50 + z] + y
    np.testing.assert_array_equal(result, wanted)
