"""Arrays that threads only update: runs of groups update copies of their own."""

import threading

import numpy as np
import pytest

import weft
from weft import cuda, opencl

LEVELS = ["x86-64", "x86-64-v3", ""]
N, FEW = 3000, 230


def says(kernel) -> list[str]:
    (compiled,) = kernel.overloads.values()
    return [r.message for r in compiled.remarks if r.pass_name == "copies"]


def histogram(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)


def by_walk(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], 1)


def by_walk_in_floats(x, out):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(out, x[i], np.float32(1))


def two_arrays(x, out, lowest):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)
        if i % 3 != 0:
            cuda.atomic.min(lowest, x[i] // 2, i)


@pytest.mark.spread
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("level", LEVELS)
def test_histograms(level: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    rng = np.random.default_rng(3)
    before = weft.get_num_threads()
    weft.set_num_threads(threads)
    try:
        for type, kernel in ((np.uint8, cuda.jit(histogram)), (np.int64, cuda.jit(by_walk))):
            x = rng.integers(0, 20, FEW).astype(type)
            for width in (32, 40):
                out = np.arange(20, dtype=np.int32)
                kernel[-(-FEW // width) if type is np.uint8 else 3, width](x, out)
                assert out.tolist() == (np.bincount(x, minlength=20) + np.arange(20)).tolist()
            assert len(says(kernel)) == 1
        both = cuda.jit(two_arrays)
        out, lowest = np.zeros(20, np.int64), np.full(10, FEW, np.int32)
        both[-(-FEW // 64), 64](x, out, lowest)
        expected = np.full(10, FEW)
        for i in (i for i in range(FEW) if i % 3):
            expected[x[i] // 2] = min(expected[x[i] // 2], i)
        assert lowest.tolist() == expected.tolist() and out.tolist() == np.bincount(x, minlength=20).tolist()
        assert len(says(both)) == 2
    finally:
        weft.set_num_threads(before)


def updates(name: str):
    """A kernel that updates elements by an operation of ``cuda.atomic``."""
    operation = getattr(cuda.atomic, name)

    @cuda.jit(fastmath=True)
    def kernel(x, w, out):
        i = cuda.grid(1)
        if i < x.size:
            operation(out, x[i], w[i])

    return kernel


@pytest.mark.spread
@pytest.mark.parametrize("type", [np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("name", ["add", "sub", "min", "max", "and_", "or_", "xor"])
def test_operations(name: str, type: type) -> None:
    rng = np.random.default_rng(4)
    x, w = rng.integers(0, 20, N), rng.integers(0, 1 << 31, N).astype(type)
    out = rng.integers(0, 1 << 31, 20).astype(type)
    if np.dtype(type).kind == "i":
        w, out = w - type(1 << 30), out - type(1 << 30)
    expected = out.copy()
    ufuncs = {
        "sub": "subtract",
        "min": "minimum",
        "max": "maximum",
        "and_": "bitwise_and",
        "or_": "bitwise_or",
    }
    getattr(np, ufuncs.get(name, "add" if name == "add" else "bitwise_xor")).at(expected, x, w)
    kernel = updates(name)
    kernel[-(-N // 128), 128](x, w, out)
    assert out.tolist() == expected.tolist() and says(kernel)


def test_sums_of_floats_are_formed_in_copies_where_their_order_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    x, w = rng.integers(0, 20, N), rng.random(N)
    kernel, in_order = updates("add"), cuda.jit(updates("add").py_func)
    for one in (kernel, in_order):
        out = np.zeros(20)
        one[-(-N // 128), 128](x, w, out)
        np.testing.assert_allclose(out, np.bincount(x, w, 20), rtol=1e-12)
    assert says(kernel) and not says(in_order)
    # What changes nothing is -0.0: an element that nobody updates keeps its sign.
    out = np.full(20, -0.0)
    kernel[-(-N // 128), 128](np.full(N, 3), w, out)
    assert np.signbit(out).tolist() == [k != 3 for k in range(20)]


def planes(x, out):
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        cuda.atomic.add(out, (x[i, j], j % 4), 1)


def test_walks_of_the_grid_have_copies_where_they_have_rounds_enough() -> None:
    # Two thousand elements are too many for 64 threads that each are taken to update sixteen.
    x = np.tile(np.arange(2000), 32)
    for updates, sum in ((len(x), 1e8 + 32), (4000, 1e8)):
        out = np.full(2000, 1e8, np.float32)
        # Added to such a number one by one, ones are lost.
        cuda.jit(fastmath=True)(by_walk_in_floats)[1, 64](x[:updates], out)
        assert out.tolist() == [sum] * 2000


def test_updates_of_threads_are_counted_and_runs_are_long() -> None:
    # As above: a sum that has not been lost has been made in a copy.
    def by_row(x, out):
        for k in range(x.size):
            cuda.atomic.add(out, x[k], np.float32(1))

    def twice(x, out):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(out, x[i], np.float32(1))
            cuda.atomic.add(out, x[i], np.float32(1))

    before = weft.get_num_threads()
    weft.set_num_threads(1)
    try:
        for kernel, groups, size, sum in ((by_row, 2, 1000, 1e8 + 64_000), (twice, 33, 1056, 1e8 + 2112)):
            out = np.full(2000, 1e8, np.float32)
            cuda.jit(fastmath=True)(kernel)[groups, 32](np.zeros(size, np.int32), out)
            assert out.tolist() == [sum] + [1e8] * 1999
    finally:
        weft.set_num_threads(before)


def test_arrays_with_strides() -> None:
    x = np.random.default_rng(6).integers(0, 10, (32, 24))
    expected = np.zeros((10, 4), np.int32)
    np.add.at(expected, (x, np.arange(24) % 4), 1)
    kernel = cuda.jit(planes)
    whole = np.zeros((20, 12), np.int32)
    for out in (np.zeros((10, 4), np.int32), np.asfortranarray(np.zeros((10, 4), np.int32)),
                whole[::2, ::3], whole[::-2, 2::3], np.zeros((4, 10), np.int32).T):  # fmt: skip
        kernel[(4, 3), (8, 8)](x, out)
        assert out.tolist() == expected.tolist()
    assert whole.sum() == 2 * x.size


def test_elements_that_nobody_updates_are_not_touched() -> None:
    page = np.zeros(64, np.int32)
    page[50:].flags.writeable = False
    kernel = cuda.jit(histogram)
    kernel[-(-N // 128), 128](np.full(N, 7, np.uint8), page)
    assert page.tolist() == [N if k == 7 else 0 for k in range(64)]


def read_as_well(x, out):
    i = cuda.grid(1)
    if i < x.size and out[x[i]] >= 0:
        cuda.atomic.add(out, x[i], 1)


def old_value(x, out):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = cuda.atomic.add(out, x[i], 1)


def two_operations(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 2)
        cuda.atomic.max(out, x[i], 1)


def set_first(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 0
    cuda.atomic.add(out, x[i % x.size], 1)


@pytest.mark.parametrize("function", [read_as_well, old_value, two_operations, set_first])
def test_arrays_that_threads_do_more_with_have_no_copies(function) -> None:
    kernel = cuda.jit(function)
    kernel[4, 64](np.zeros(256, np.int32), np.zeros(16, np.int32))
    assert not says(kernel)


def test_arrays_that_overlap_have_no_copies() -> None:
    kernel = cuda.jit(histogram)
    memory = np.zeros(N, np.int32)
    kernel[-(-N // 128), 128](memory, memory)
    # Of thread 0 or a later one: what is read is what has been counted by then.
    assert memory.sum() == N
    apart = np.zeros(N, np.int32)
    kernel[-(-N // 128), 128](np.zeros(N, np.int32), apart)
    assert apart.tolist() == [N] + [0] * (N - 1)


def test_launches_at_the_same_time() -> None:
    kernel = cuda.jit(histogram)
    x, out = np.random.default_rng(7).integers(0, 256, 40_000).astype(np.uint8), np.zeros(256, np.int32)
    kernel[10, 64](x[:640], np.zeros(256, np.int32))
    ready = threading.Barrier(4)

    def launch() -> None:
        ready.wait()
        for _ in range(5):
            kernel[-(-x.size // 128), 128](x, out)

    all_ = [threading.Thread(target=launch) for _ in range(4)]
    for one in all_:
        one.start()
    for one in all_:
        one.join()
    assert out.tolist() == (20 * np.bincount(x, minlength=256)).tolist()


def test_left_out() -> None:
    kernel = cuda.jit(without=("updated-arrays",))(histogram)
    x, out = np.arange(N) % 50, np.zeros(50, np.int32)
    kernel[-(-N // 128), 128](x, out)
    assert not says(kernel) and out.tolist() == [N // 50] * 50


IN_OPENCL = """
kernel void histogram(global const uchar *x, global int *out, int n) {
    int i = get_global_id(0);
    if (i < n) atomic_inc(&out[x[i]]);
}
kernel void low_bits(global const int *x, global int *out, int n) {
    int i = get_global_id(0);
    if (i < n) atomic_add(&out[x[i] & 31], i);
}
kernel void any_place(global const int *x, global int *out, int n) {
    int i = get_global_id(0);
    if (i < n) atomic_add(&out[x[i]], i);
}
"""


def test_opencl_has_them_where_places_are_bounded_or_python_launches() -> None:
    program = opencl.Program(IN_OPENCL)
    octets = np.random.default_rng(8).integers(0, 256, N).astype(np.uint8)
    out = np.zeros(256, np.int32)
    program.histogram(N // 8 * 8 + 8, 8, octets, out, np.int32(N))
    assert out.tolist() == np.bincount(octets, minlength=256).tolist()
    x = np.random.default_rng(9).integers(-(1 << 31), 1 << 31, N).astype(np.int32)
    for name, places in (("low_bits", x & 31), ("any_place", x & 31)):
        out = np.zeros(32, np.int32)
        values = x if name == "low_bits" else places.astype(np.int32)
        getattr(program, name)(N // 8 * 8 + 8, 8, values, out, np.int32(N))
        expected = np.zeros(32, np.int64)
        np.add.at(expected, places, np.arange(N))
        assert out.tolist() == expected.tolist()
    found = {
        n: [r for r in getattr(program, n).remarks if r.pass_name == "copies"] for n in program.kernel_names
    }
    assert {n: len(r) for n, r in found.items()} == {"histogram": 1, "low_bits": 1, "any_place": 1}


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("begin", [0, 1])
@pytest.mark.parametrize("many", [1, 2, 33, 256])
def test_elements_go_back_two_at_a_time(
    many: int, begin: int, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    rng = np.random.default_rng(11)
    x = rng.integers(0, many, N)
    # Some elements are not updated.
    x = x[(x % 5 != 3) & (x != 6)]
    counts = np.bincount(x, minlength=many)
    for type, kernel in (
        (np.int32, cuda.jit(by_walk)),
        (np.float32, cuda.jit(fastmath=True)(by_walk_in_floats)),
    ):
        around = np.full(many + 4, 7, type)
        out = around[begin : begin + many]
        kernel[1, 64](x, out)
        assert out.tolist() == (7 + counts).tolist()
        assert around[:begin].tolist() == [7] * begin and around[begin + many :].tolist() == [7] * (4 - begin)
        (text,) = kernel.inspect_asm().values()
        assert "cmpxchgq" in text


@pytest.mark.parametrize("begin", [0, 1])
def test_elements_that_nobody_updates_keep_their_bits(begin: int) -> None:
    # Zeros with a sign, denormal numbers, NaNs that signal and infinities, beside elements that are updated.
    kept = np.array([1 << 31, 1, 0x807FFFFF, 0x7FA00001, 0xFF800000, 0], np.uint32)
    whole = np.zeros(2 * len(kept) + 1, np.float32)
    bits = whole.view(np.uint32)[begin:][: 2 * len(kept)]
    bits[::2] = kept
    kernel = cuda.jit(fastmath=True)(by_walk_in_floats)
    kernel[1, 64](np.repeat(np.arange(1, 2 * len(kept), 2), 100), whole[begin:][: 2 * len(kept)])
    assert bits[::2].tolist() == kept.tolist()
    assert bits[1::2].view(np.uint32).tolist() == [int(np.float32(100).view(np.uint32))] * len(kept)


@pytest.mark.parametrize("type", [np.int32, np.float32])
def test_launches_meet_in_one_pair_of_elements(type: type) -> None:
    # One launch updates elements of even numbers by copies, one those of odd numbers by locked instructions.
    kernel = cuda.jit(fastmath=True)(by_walk if type is np.int32 else by_walk_in_floats)
    locked = cuda.jit(without=("updated-arrays",), fastmath=True)(kernel.py_func)
    out = np.zeros(64, type)
    even = np.tile(np.arange(0, 64, 2), 100)
    kernel[1, 64](even[:0], out[:0])
    locked[1, 64](even[:0], out[:0])
    ready = threading.Barrier(2)

    def launch(one, x) -> None:
        ready.wait()
        for _ in range(100):
            one[1, 64](x, out)

    both = [threading.Thread(target=launch, args=pair) for pair in ((kernel, even), (locked, even + 1))]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert out.tolist() == [100 * 100] * 64
