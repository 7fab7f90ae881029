"""Arrays that `weft.jit` functions make and return: against the same function as plain Python, and their lifetime."""

import gc
import re
import resource
import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import prange
from weft.errors import ArrayShapeError, OutOfMemoryError, TypingError, UnsupportedError, WeftError


def check(result, wanted) -> None:
    """Assert that a result is what Python gives, dtypes and shapes included."""
    if isinstance(wanted, tuple):
        assert isinstance(result, tuple) and len(result) == len(wanted)
        for one, other in zip(result, wanted, strict=True):
            check(one, other)
    elif isinstance(wanted, np.ndarray):
        assert isinstance(result, np.ndarray)
        assert result.dtype == wanted.dtype and np.array_equal(result, wanted), (result, wanted)
    else:
        assert result == wanted


def compare(function, *args) -> None:
    check(function(*args), function.py_func(*args))


@weft.jit
def makers(n, a):
    whole = np.full((n, 2), 7)
    return (
        np.zeros(n), np.ones((n, 3), np.float32), whole, np.full(3, 2.5, dtype=np.int16), np.zeros(()),
        np.zeros_like(a), np.ones_like(a, dtype=np.int8), np.full_like(a, 3), np.zeros((2, n), dtype=bool),
        np.full(2, 1j), whole.shape, np.empty_like(a).size, np.ones(n, dtype="u2"), np.full(n, True),
    )  # fmt: skip


def test_functions_that_make_arrays() -> None:
    for n in (0, 1, 5):
        compare(makers, n, np.arange(6, dtype=np.float32).reshape(2, 3)[:, ::2])


@weft.jit
def views(a, n):
    b = np.zeros((n, 4))
    for i in range(n):
        for j in range(4):
            b[i, j] = 10 * i + j
    return b[1:], b[::-1, 2], b.T, b[n:], a[1:, ::-1], a.T, a[0]


def test_views_of_new_arrays_and_of_arguments() -> None:
    a = np.arange(12.0).reshape(3, 4)
    compare(views, a, 3)
    *new, mirrored, turned, row = views(a, 3)
    assert all(np.shares_memory(part, a) for part in (mirrored, turned, row))
    assert not any(np.shares_memory(part, a) for part in new)
    mirrored[0, 0] = 99
    assert a[1, 3] == 99


@weft.jit
def given(a, pair):
    return a, pair[1], pair


def test_an_argument_comes_back_as_itself() -> None:
    a, b = np.arange(4.0)[::2], np.zeros((0, 3), np.int8)
    first, second, (third, fourth) = given(a, (b, a))
    assert first is a and second is a and third is b and fourth is a
    c = np.arange(3)
    c.flags.writeable = False
    assert given(c, (c, c))[0] is c


TABLE = np.arange(4)


@weft.jit
def outside():
    return TABLE[1:]


def test_an_array_from_outside_comes_back_as_a_copy_that_is_read_only() -> None:
    compare(outside)
    assert not outside().flags.writeable


def test_memory_lives_as_long_as_an_array_that_leads_into_it() -> None:
    part = views(np.zeros((2, 2)), 100)[1]
    gc.collect()
    others = [views(np.zeros((2, 2)), 100) for _ in range(50)]
    assert np.array_equal(part, 10 * np.arange(99, -1, -1) + 2.0) and len(others) == 50
    assert makers(3, part)[0].ctypes.data % 64 == 0


@weft.jit
def row_sums(a):
    sums = np.empty(a.shape[0])
    for i in range(a.shape[0]):
        sums[i] = 0.0
        for j in range(a.shape[1]):
            sums[i] += a[i, j]
    return sums


@weft.jit
def pair_of_sums(a):
    return row_sums(a), row_sums(a.T)


@weft.jit
def centred(a):
    rows, columns = pair_of_sums(a)
    scaled = np.empty_like(a)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            scaled[i, j] = a[i, j] - rows[i] / a.shape[1] - columns[j] / a.shape[0]
    return scaled, pair_of_sums(scaled)[1]


def test_functions_pass_arrays_on() -> None:
    compare(centred, np.arange(20.0).reshape(4, 5))


@weft.jit
def halves(a, depth):
    if depth == 0 or a.shape[0] < 2:
        return a
    middle = a.shape[0] // 2
    left, right = halves(a[:middle], depth - 1), halves(a[middle:], depth - 1)
    merged = np.empty(a.shape[0], a.dtype)
    i, j = 0, 0
    while i + j < a.shape[0]:
        if j == right.shape[0] or (i < left.shape[0] and left[i] <= right[j]):
            merged[i + j] = left[i]
            i += 1
        else:
            merged[i + j] = right[j]
            j += 1
    return merged


def test_recursive_functions_return_arrays() -> None:
    a = np.random.default_rng(1).integers(0, 100, 50)
    check(halves(a, 10), np.sort(a))
    assert halves(a, 0) is a


@weft.jit
def relaxed(steps, n):
    old = np.zeros(n)
    best = old
    for step in range(steps):
        new = np.empty_like(old)
        for i in range(n):
            new[i] = old[i] + i
        if step % 3 == 0:
            best = new[1:]
        spare = np.empty(n)
        spare[0] = step
        old = new
        for k in range(2):
            scratch = np.full(n, float(k))
            new[0] += scratch[0] + spare[0] * 0
    return old, best


def test_what_variables_lead_into_survives_iterations() -> None:
    for steps in (0, 1, 2, 7, 30):
        compare(relaxed, steps, 5)


@weft.jit
def late(n):
    total = 0.0
    for t in range(n):
        for k in range(2):
            scratch = np.full(8, float(k))
            total += scratch[3]
        if t % 4 == 1:
            kept = np.full(8, float(t))
        if t > 1:
            total += kept[5]  # pyright: ignore[reportPossiblyUnboundVariable]
    return total


@weft.jit
def running(n):
    total = 0
    for x in np.ones(n, np.int64):
        for row in (np.full(3, 1), np.full(3, 2)):
            for _ in range(2):
                other = np.full(3, 50)
                total += row[1] + x + other[0] * 0
    for i, y in enumerate(np.full(n, 2)):
        total += np.full(9, y)[i]
    while np.full(4, total)[2] < 1000:
        total += 100
    return total


def test_loops_over_new_arrays_and_variables_assigned_further_down() -> None:
    compare(late, 20)
    compare(running, 7)


@weft.jit
def many(count, n):
    total = 0.0
    for i in range(count):
        a = np.empty(n)
        b = a[1:]
        b[0] = i
        total += b[0] - centred(np.ones((2, 2)))[0][0, 0] * 0
    return total


def test_a_loop_of_many_allocations_needs_the_memory_of_one() -> None:
    many(1, 1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert many(100_000, 1000) == sum(range(100_000))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000


@weft.jit
def left_early(n):
    for i in range(n):
        a = np.full(1000, i)
        if a[3] == 5:
            return a
    return np.zeros(1, np.int64)


@weft.jit
def outer(n, m):
    a = np.zeros(n)
    return left_early(n)[0] + row_sums(np.zeros((m, 1)))[0] + a[0]


def test_early_returns() -> None:
    compare(left_early, 3)
    compare(left_early, 9)


def test_errors_name_the_line() -> None:
    with pytest.raises(ArrayShapeError) as caught:
        outer(-1, 3)
    line = outer.py_func.__code__.co_firstlineno
    assert isinstance(caught.value, ValueError) and caught.value.span and caught.value.span.line == line + 2
    assert "zeros() of a negative extent" in str(caught.value)
    with pytest.raises(ArrayShapeError, match="zeros"):
        outer(8, -1)
    with pytest.raises(OutOfMemoryError) as caught:
        outer(1 << 60, 2)
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(OutOfMemoryError):
        makers(1 << 62, np.zeros((1, 1)))
    assert outer(8, 2) == 5


@weft.jit
def large_array(n):
    return np.full(n, 0.5)


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such advice")
def test_large_arrays_ask_for_huge_pages() -> None:
    made = large_array(3 << 20)
    assert made.sum() == 1.5 * (1 << 20)
    place = made.ctypes.data + made.nbytes // 2
    for mapping in re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text())[1:]:
        begin, end = (int(bound, 16) for bound in mapping.split()[0].split("-"))
        if begin <= place < end:
            flags = mapping.partition("VmFlags:")[2].split()
            assert "hg" in flags or not Path("/sys/kernel/mm/transparent_hugepage").exists()
            return
    pytest.fail("no mapping holds the array")


def test_what_is_refused() -> None:
    @weft.jit
    def fortran(n):
        return np.zeros((n, n), order="F")

    @weft.jit
    def literal():
        return np.empty((3, -2))

    with pytest.raises(UnsupportedError, match="C order only"):
        fortran(3)
    with pytest.raises(TypingError, match="the extent -2"):
        literal()

    @weft.cuda.jit
    def kernel(a):
        scratch = np.zeros(3)
        a[0] = scratch[1]

    with pytest.raises(UnsupportedError, match="a kernel cannot allocate arrays"):
        kernel[1, 1](np.zeros(1))


@weft.jit
def three(x, first):
    values = np.empty(3)
    for k in range(3):
        values[k] = x + k
    return values[first:]


@weft.jit(width=8)
def small_scratch(a, out):
    total = 0.0
    for i in prange(a.shape[0]):
        scratch = np.zeros((2, 2))
        for k in range(4):
            scratch[k // 2, k % 2] = a[i] * k
        out[i] = scratch[1, 0] + scratch[int(a[i]) % 2, 1]
        total += three(a[i], 1)[1]
    return total


@weft.jit
def large_scratch(a, n, out):
    total = 0.0
    for i in prange(a.shape[0]):
        scratch = np.zeros(n)
        previous = scratch
        for t in range(4):
            following = np.full(n, a[i] + t)
            if t % 2:
                spare = np.ones(n)
                scratch[0] += spare[n - 1]
            scratch[n - 1] += previous[0] + following[0]
            previous = following
        out[i] = scratch[n - 1] + scratch[0]
        total += previous[n - 1]
    return total


def test_arrays_of_one_iteration_of_a_parallel_loop() -> None:
    before = weft.get_num_threads()
    try:
        for threads in (1, 2):
            weft.set_num_threads(threads)
            for n in (0, 1, 37, 1000):
                a = np.arange(n, dtype=np.float64) % 11
                out, wanted = np.zeros(n), np.zeros(n)
                assert small_scratch(a, out) == small_scratch.py_func(a, wanted)
                assert np.array_equal(out, wanted)
                assert large_scratch(a, 5, out) == large_scratch.py_func(a, 5, wanted)
                assert np.array_equal(out, wanted)
    finally:
        weft.set_num_threads(before)
    assert "iterations at a time" in small_scratch.remarks[0].message
    assert "because it allocates arrays" in large_scratch.remarks[0].message


@weft.jit
def sized(sizes, out):
    for i in prange(sizes.shape[0]):
        out[i] = np.ones(sizes[i])[0]


def test_an_error_in_a_parallel_loop_names_the_line() -> None:
    out = np.zeros(100)
    sized(np.full(100, 3), out)
    assert out.sum() == 100
    with pytest.raises(ArrayShapeError, match=r"ones\(\) of a negative extent"):
        sized(np.arange(99, -1, -1) - 50, out)


@weft.jit(parallel="if-legal")
def filled(x, n):
    a, b = np.empty(n), np.empty(n)
    for i in prange(n):
        a[i] = x[i] + 1
        b[i] = a[i]
    for i in prange(1, n):
        last = np.full(3, a[i - 1])
        a[i] = last[2] + 1
    return a, b


def test_new_arrays_overlap_nothing() -> None:
    compare(filled, np.arange(50.0), 50)
    messages = [r.message for r in filled.remarks if r.message.startswith(("this loop", "this prange"))]
    assert len(messages) == 2 and "cannot run in parallel" in messages[0]
    assert "iterations at a time" in messages[1]


@weft.jit
def at_least(a, count):
    if a.size < count:
        raise ValueError("too few elements")
    return np.full(count, a[0])


@weft.jit
def raising(a, count):
    total = 0.0
    for i in prange(a.size):
        if a[i] < 0:
            raise ArithmeticError
        total += a[i]
    return total + at_least(a, count)[0]


def test_exceptions() -> None:
    compare(raising, np.ones(5), 3)
    with pytest.raises(ValueError, match="too few elements") as caught:
        raising(np.ones(5), 6)
    line = at_least.py_func.__code__.co_firstlineno + 3
    assert str(caught.value) == "too few elements"
    assert caught.value.__notes__[0].endswith(f"test_arrays.py:{line}:9")
    with pytest.raises(ArithmeticError):
        raising(-np.ones(50), 3)

    @weft.jit
    def varying(n):
        raise ValueError(n)

    with pytest.raises(UnsupportedError, match="one text, which is known"):
        varying(3)


def test_functions_that_kernels_call_do_not_allocate() -> None:
    @weft.cuda.jit
    def allocating(a):
        a[0] = three(a[0], 1)[0]

    @weft.cuda.jit
    def behind_a_test(a):
        a[0] = at_least(a, 1)[0]

    for kernel in (allocating, behind_a_test):
        with pytest.raises(UnsupportedError, match="a kernel cannot allocate arrays"):
            kernel[1, 1](np.zeros(1))


@weft.jit
def copies(a, b):
    c = a[1:, ::-2].copy()
    c[0, 0] = 7
    b[1:3] = 1
    b[:, 2] = a[0, 0]
    b[0].fill(9)
    d = np.copy(c)
    d[...] = 0.5
    e = np.array((1, 2.5, a[0, 1]))
    return c, d, e, np.array(a[0]), np.array((1, 2), dtype=np.float32), b


@weft.jit
def counted(first, last, step):
    return np.arange(last), np.arange(first, last), np.arange(first, last, step, dtype=np.int16)


@weft.jit
def small_copies(a):
    total = 0.0
    for i in prange(a.size):
        point = np.array((1.0, 2.0, a[i]))
        point[:2] = 3
        total += point.copy()[2] + point[0]
    return total


def test_copying_filling_and_counting() -> None:
    compare(copies, np.arange(20.0).reshape(4, 5), np.zeros((4, 6)))
    for bounds in ((2, 9, 3), (9, 2, -3), (5, 5, 1)):
        compare(counted, *bounds)
    compare(small_copies, np.arange(40.0))
    assert "iterations at a time" in small_copies.remarks[0].message


@weft.jit
def chosen(a, n):
    out = np.empty(a.size)
    for i in prange(a.size):
        x = np.full(n, a[i])
        if a[i] < 3:
            x = np.full(4, a[i] + 1)
        elif a[i] < 5:
            x = np.zeros(4)
        for k in range(2):
            x[k] += 1
        x = x[1:]
        out[i] = x[0] + x[2]
    return out


def test_small_arrays_of_which_one_is_chosen() -> None:
    compare(chosen, np.arange(40.0) % 7, 4)


@weft.jit
def itself(x, depth):
    return x if depth == 0 else itself(x, depth - 1)


@weft.jit
def passed_on(n):
    best = itself(np.zeros(4), n)
    for k in range(n):
        x = np.full(4, float(k))
        if k % 3 == 1:
            best = itself(x, 2)
        x[1] += best[1]
    return best


def test_a_small_array_that_comes_back_from_a_function() -> None:
    compare(passed_on, 9)


@weft.jit
def doubled(depth, n):
    if depth == 0:
        return np.ones(n)
    left, right = doubled(depth - 1, n), doubled(depth - 1, n)
    out = np.empty(2 * left.size)
    for i in range(left.size):
        out[i], out[i + left.size] = left[i], right[i] + depth
    return out


@weft.jit
def calls_recursively(n):
    out = np.empty(n)
    for i in prange(n):
        total = 0.0
        for k in range(3):
            total += doubled(i % 4, k)[-1] if k > 0 else 0.0
        out[i] = total
    return out


def test_recursive_functions_that_allocate_in_a_parallel_loop() -> None:
    compare(doubled, 4, 3)
    compare(calls_recursively, 300)
    with pytest.raises(ArrayShapeError):
        doubled(2, -1)


@weft.jit
def extremes(a):
    return min(a), max(a)


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "i8", "f2", "f4", "f8"])
def test_extremes_of_an_array(dtype) -> None:
    for a in (np.array([3, 0, 7, 1], dtype), np.array([2], dtype), np.arange(9).astype(dtype)[::-2]):
        assert extremes(a) == (min(a), max(a))


def test_extremes_of_an_empty_array_raise_as_in_python() -> None:
    with pytest.raises(ValueError, match=r"min\(\) iterable argument is empty"):
        extremes(np.zeros(0))


@pytest.mark.parametrize(
    "wrong",
    [lambda a: max(a.shape[0]), lambda a: max(range(3)), lambda a: max((1, 2), (3, 4)), lambda a: max((a,)),
     lambda a: min(a.reshape), lambda a: min(a.T)],
)  # fmt: skip
def test_extremes_of_what_has_none_are_refused(wrong) -> None:
    with pytest.raises(WeftError) as caught:
        weft.jit(wrong)(np.zeros((2, 3)))
    assert caught.value.span is not None


@weft.jit
def other_shapes(a):
    return (
        a.reshape(3, -1),
        a.T.reshape(6),
        a.transpose(),
        a.astype(np.float32),
        a.view(np.int64),
        np.ravel(a.T),
    )


def test_other_shapes() -> None:
    compare(other_shapes, np.arange(6.0).reshape(2, 3))
    with pytest.raises(ArrayShapeError, match="another number of elements"):
        other_shapes(np.arange(4.0).reshape(2, 2))


@weft.jit
def parts(z):
    z.imag = 2
    z.real += 1
    return z.real.sum(), z.imag.copy(), z[::2].real, z.conj()


def test_parts_of_complex_arrays() -> None:
    for z in (np.arange(4) * 1j, (np.arange(6) * (1 + 2j)).astype(np.complex64).reshape(2, 3).T):
        mine, other = z.copy("K"), z.copy("K")
        check(parts(mine), parts.py_func(other))
        check(mine, other)


def test_raise_in_a_kernel_ends_the_thread() -> None:
    def roots(out, x):
        i = weft.cuda.grid(1)
        if x[i] < 0:
            raise ValueError("negative")
        out[i] = x[i] ** 0.5

    x, out = np.array([4.0, -1.0, 9.0]), np.zeros(3)
    kernel = weft.cuda.jit(roots)
    kernel[1, 3](out, x)
    assert out.tolist() == [2, 0, 3]
    assert any("ends the thread" in remark.message for remark in kernel.remarks)
    with pytest.raises(weft.errors.SanitizerError, match="ValueError: negative, raised by block 0 thread 1"):
        weft.cuda.jit(roots, debug=True)[1, 3](out, x)
