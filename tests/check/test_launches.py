"""Launches that the check goes through with: which passes it runs, and on what inputs."""

import logging

import numpy as np
import pytest

from check.kernels import add, reverse_blocks, steps_of_collatz
from weft import cuda

SCALAR = ["front end", "canonical", "work items", "group loops", "machine code"]
WHOLE = ["lane groups", "linearization", "widening"]
PARTIAL = [f"{name} (partial lane groups)" for name in WHOLE[1:]]


@pytest.fixture(autouse=True)
def _checking(monkeypatch):
    monkeypatch.setenv("WEFT_CHECK", "1")


def checked(kernel):
    """Return the passes that the latest launch of a kernel went through."""
    (compiled,) = kernel.overloads.values()
    return compiled.launcher.checked


def launch_add(grid, block, dtype=np.float32, n=40, **options):
    x, y, out = np.arange(n, dtype=dtype), np.full(n, 3, dtype), np.zeros(n, dtype)
    kernel = cuda.jit(**options)(add)
    kernel[grid, block](x, y, out)
    np.testing.assert_array_equal(out, x + y)
    return kernel


def test_all_passes_of_the_scalar_path_are_run():
    assert checked(launch_add(2, 32, width=1)) == SCALAR


def test_both_versions_are_run_in_rows_of_threads():
    # Where masked accesses are slow, there would be copies without masks.
    assert checked(launch_add(4, 11, width=8, boscc="off")) == [*SCALAR[:3], *WHOLE, *PARTIAL, *SCALAR[3:]]


def test_a_work_group_without_its_barriers_is_run():
    def transpose(x):
        tile = cuda.shared.array((2, 2), np.float32)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        tile[i, j] = x[i, j]
        cuda.syncthreads()
        x[i, j] = tile[j, i]

    kernel = cuda.jit(transpose)
    # As many threads as the smallest registers have lanes.
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    before = x.copy()
    kernel[1, (2, 2)](x)
    np.testing.assert_array_equal(x, before.T)
    (compiled,) = kernel._specializations.made.values()
    assert "lock step" in compiled.launcher.checked


def test_arrays_of_two_gigabytes_are_not_copied_for_each_pass():
    def mark(out):
        out[out.size - 1 - cuda.threadIdx.x] = 1

    out = np.zeros(1 << 31, np.int8)
    kernel = cuda.jit(width=1)(mark)
    kernel[1, 4](out)
    assert out[-5:].tolist() == [0, 1, 1, 1, 1]
    (compiled,) = kernel._specializations.made.values()
    assert compiled.launcher.checked == []


@pytest.mark.parametrize(("grid", "block"), [((2, 2), (5, 3)), ((2, 1, 2), (3, 2, 2)), ((1, 3), (8, 1))])
def test_blocks_of_several_dimensions(grid, block):
    def mark(out):
        x, y, z = cuda.grid(3)
        out[z, y, x] += cuda.threadIdx.x + 10 * cuda.threadIdx.y + 100 * cuda.blockIdx.x

    extents = [g * b for g, b in zip((*grid, 1, 1)[:3], (*block, 1, 1)[:3], strict=True)]
    out = np.zeros(extents[::-1], np.int32)
    kernel = cuda.jit(width=4)(mark)
    kernel[grid, block](out)
    assert "machine code" in checked(kernel)


def test_boxes_of_threads():
    def tilted(a, out):
        x, y = cuda.threadIdx.x, cuda.threadIdx.y
        tile = cuda.shared.array((3, 2), dtype=np.int64)
        tile[y, x] = a[y, x] + a[0, y]
        out[cuda.blockIdx.x, y, x] = tile[y, x] * a[y, 0]

    a, out = np.arange(1, 10).reshape(3, 3), np.zeros((2, 3, 2), np.int64)
    kernel = cuda.jit(tilted)
    kernel[2, (2, 3)](a, out)
    np.testing.assert_array_equal(out, [(a + a[0, :, None])[:, :2] * a[:, :1]] * 2)
    (version,) = kernel._specializations.made.values()
    assert version.launcher.checked == [*SCALAR[:3], *WHOLE, *PARTIAL, *SCALAR[3:]]


def test_divergent_loops_are_followed():
    start = np.arange(1, 60, dtype=np.int64)
    steps = np.zeros_like(start)
    kernel = cuda.jit(width=8)(steps_of_collatz)
    kernel[2, 32](start, steps)
    assert steps[26] == 111
    assert set(WHOLE) <= set(checked(kernel))


def test_barriers_and_shared_memory():
    x = np.arange(64, dtype=np.float32)
    # A block of one lane group would be compiled in lock step.
    kernel = cuda.jit(reverse_blocks, width=8)
    kernel[2, 32](x)
    np.testing.assert_array_equal(x[:32], np.arange(31, -1, -1))
    assert "machine code" in checked(kernel)


def test_strided_and_overlapping_views():
    memory = np.arange(100, dtype=np.float64)
    kernel = cuda.jit(add)
    kernel[1, 32](memory[0:40:2], memory[59:39:-1], memory[60:80])
    np.testing.assert_array_equal(memory[60:80], np.arange(0, 40, 2) + np.arange(59, 39, -1))
    assert "machine code" in checked(kernel)


def test_structures_complex_numbers_and_tuples():
    def halve(records, z, pair):
        i = cuda.grid(1)
        records[i].weight = records[i].weight / 2
        z[i] = z[i] * 1j
        pair[1][i] = pair[0]

    records = np.zeros(4, np.dtype([("weight", "f4"), ("number", "i2")], align=True))
    z, last = np.full(4, np.nan + 1j), np.zeros(4, np.int8)
    kernel = cuda.jit(halve)
    kernel[1, 4](records, z, (np.int8(5), last))
    assert last.tolist() == [5] * 4
    assert "machine code" in checked(kernel)


def test_vector_math_is_compared_with_what_the_c_library_gives():
    def exponential(x):
        i = cuda.grid(1)
        x[i] = np.exp(x[i])

    x = np.linspace(-3, 3, 32).astype(np.float32)
    kernel = cuda.jit(width=8)(exponential)
    kernel[1, 32](x)
    assert {"widening", "group loops", "machine code"} <= set(checked(kernel))


def test_printing_happens_once(capsys):
    def say(x):
        print("x is", x)

    cuda.jit(say)[1, 2](7)
    assert capsys.readouterr().out == "x is 7\nx is 7\n"


def take_numbers(counter, numbers):
    numbers[cuda.grid(1)] = cuda.atomic.add(counter, 0, 1)


def add_floats(total, x):
    cuda.atomic.add(total, 0, x[cuda.grid(1)])


def count(total, x):
    cuda.atomic.add(total, 0, 1)


def race(total, x):
    total[0] = x[cuda.grid(1)]


@pytest.mark.parametrize(
    ("kernel", "options", "reason"),
    [
        (take_numbers, {}, "order of threads"),
        (add_floats, {}, "order of threads"),
        (add_floats, {"fastmath": True}, "fastmath"),
    ],
)
def test_reasons_not_to_check_are_logged(kernel, options, reason, caplog):
    jitted = cuda.jit(**options)(kernel)
    with caplog.at_level(logging.INFO, "weft.check"):
        jitted[1, 32](np.zeros(1, np.float32), np.arange(32, dtype=np.float32))
    assert reason in caplog.text
    assert checked(jitted) == []


def test_too_many_threads_are_not_checked(caplog):
    with caplog.at_level(logging.INFO, "weft.check"):
        kernel = launch_add(1 << 10, 32)
    assert "too many" in caplog.text
    assert checked(kernel) == []


def test_atomics_whose_order_does_not_matter_are_checked():
    kernel = cuda.jit(count)
    kernel[2, 32](np.zeros(1, np.int32), np.zeros(64, np.float32))
    assert "machine code" in checked(kernel)


def test_arguments_are_refused_as_ever():
    kernel = cuda.jit("void(float32[::1], float32[::1], float32[::1])")(add)
    x = np.zeros(4)
    with pytest.raises(TypeError):
        kernel[1, 4](x, x, x)
