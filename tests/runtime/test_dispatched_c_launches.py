"""Launches by machine code of kernels of C dialects do what those through Python do, with the same errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft
from blur_ptx import PTX
from weft import cuda, opencl, ptx
from weft.cuda.configuration import ConfiguredKernel
from weft.errors import ArgumentError, FailedAssertionError, LaunchError
from weft.opencl.kernel import Kernel
from weft.runtime.dispatch import calls

pytestmark = pytest.mark.skipif(calls() is None, reason="objects lie otherwise here")
pytest.importorskip("ziglang")

AXPY = """
KERNEL void axpy(GLOBAL const float *x, GLOBAL float *y, float a, int n) {
    int i = ID;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
NUMBERS = """
KERNEL void numbers(GLOBAL TYPE *y, TYPE a) { y[ID] = a; }
"""
Launch = Callable[..., None]


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches that are checked go through Python."""
    monkeypatch.setenv("WEFT_CHECK", "0")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """An item for each launch through Python."""
    found: list[int] = []
    for cls in (ConfiguredKernel, Kernel):

        def noted(self: Any, *args: Any, plain: Launch = cls._call, **named: Any) -> None:
            found.append(len(args))
            plain(self, *args, **named)

        monkeypatch.setattr(cls, "_call", noted)
    return found


def of_opencl(text: str, name: str, threads: int = 64) -> Launch:
    words = ("KERNEL", "kernel"), ("GLOBAL", "global"), ("ID", "get_global_id(0)")
    for word, said in words:
        text = text.replace(word, said)
    kernel = opencl.Program(text).kernel(name)
    return lambda *args: kernel((threads,), 32, *args)


def of_cuda(text: str, name: str, threads: int = 64) -> Launch:
    words = (
        ("KERNEL", 'extern "C" __global__'),
        ("GLOBAL", ""),
        ("ID", "blockIdx.x * blockDim.x + threadIdx.x"),
    )
    for word, said in words:
        text = text.replace(word, said)
    return getattr(cuda.Module(text), name)[threads // 32, 32]


doors = pytest.mark.parametrize("door", [of_opencl, of_cuda])


@doors
def test_launches_are_those_of_python(door: Callable[..., Launch], seen: list[int]) -> None:
    launch = door(AXPY, "axpy")
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    x.flags.writeable = False
    for round in range(1, 5):
        launch(x, y, 2.0, 60)
        np.testing.assert_array_equal(y[:60], 1 + 2 * round * x[:60])
    assert (y[60:] == 1).all() and len(seen) == 1
    y[:] = 0
    for a, n in ((3, 64), (np.float32(1), np.int32(64)), (-1.5, np.uint32(64)), (0.5, 64)):
        before = y.copy()
        for round in range(1, 4):
            launch(x, y, a, n)
            np.testing.assert_array_equal(y, before + round * np.float32(a) * x)
    # One for each tuple of classes, but for the last, which is known; sizes are not told by numbers.
    assert len(seen) == 4


def test_device_arrays_and_empty_ones_are_launched_by_machine_code(seen: list[int]) -> None:
    launch = of_cuda(AXPY, "axpy")
    x, y = cuda.to_device(np.arange(64, dtype=np.float32)), cuda.to_device(np.ones(64, np.float32))
    for round in range(1, 5):
        launch(x, y, 2.0, 64)
        np.testing.assert_array_equal(y.array, 1 + 2 * round * x.array)
    known = len(seen)
    assert known <= 2
    launch(x[:0], y[32:32], 2.0, 0)
    assert len(seen) == known
    # Aligned otherwise than pointers to floats have to be, and of another class.
    with pytest.raises(ArgumentError):
        launch(x, cuda.to_device(np.zeros(257, np.uint8))[1:].view(np.float32), 2.0, 64)
    launch(x, y.array, 2.0, 64)
    np.testing.assert_array_equal(y.array, 1 + 10 * x.array)


@pytest.mark.spread
@doors
@pytest.mark.parametrize("kind", ["float", "double", "signed char", "unsigned", "long"])
def test_numbers_are_those_of_python(door: Callable[..., Launch], kind: str) -> None:
    launch = door(NUMBERS.replace("TYPE", kind), "numbers")
    codes = {"float": "f4", "double": "f8", "signed char": "i1", "unsigned": "u4", "long": "i8"}
    dtype = np.dtype(codes[kind])
    y, by_python = np.zeros(64, dtype), door(NUMBERS.replace("TYPE", kind), "numbers")
    edges = [e for b in (7, 8, 15, 16, 24, 31, 32, 53, 63, 64) for e in (2**b, 2**b - 1, 2**b + 1, -(2**b))]
    floats = [0.1, -0.0, 1e300, 1e-320, 1e-42, float("inf"), float("nan"), 3.4028235e38, 16777217.0]
    for values in ([0, 1, -1, 5, *edges, True], floats, [dtype.type(7)], [np.int32(-3)], [np.uint8(250)]):
        for value in values:
            outcomes = []
            for made in (launch, by_python):
                y[:] = 1
                try:
                    with np.errstate(over="ignore"):
                        if made is by_python:
                            with weft.profile():
                                made(y, value)
                        else:
                            made(y, value)
                    outcomes.append(y.tobytes())
                except ArgumentError as error:
                    outcomes.append(error.message)
            assert outcomes[0] == outcomes[1], value


SIGNLESS = """.version 7.0
.target sm_70
.address_size 64
.visible .entry put(.param .u64 p, .param .u32 v, .param .u64 w) {
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd0, [p];
    ld.param.u32 %r0, [v];
    ld.param.u64 %rd1, [w];
    st.global.u32 [%rd0], %r0;
    st.global.u64 [%rd0+8], %rd1;
    ret;
}
"""


def test_integers_that_may_have_a_sign() -> None:
    launch, by_python = (ptx.Module(SIGNLESS).put[1, 1] for _ in range(2))
    for value in (5, -1, *(s * 2**b - k for b in (31, 32, 63, 64) for s in (1, -1) for k in (0, 1))):
        outcomes = []
        for made in (launch, by_python):
            for args in ((value, 1), (1, value)):
                y = np.zeros(2, np.int64)
                try:
                    if made is by_python:
                        with weft.profile():
                            made(y, *args)
                    else:
                        made(y, *args)
                    outcomes.append(y.tolist())
                except ArgumentError as error:
                    outcomes.append(error.message)
        assert outcomes[:2] == outcomes[2:], value
    assert launch._records


@doors
def test_what_does_not_fit_is_refused_by_python(door: Callable[..., Launch]) -> None:
    launch = door(AXPY, "axpy")
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    for _ in range(3):
        launch(x, y, 1.0, 64)
    fixed = y.copy()
    fixed.flags.writeable = False
    bytes_ = np.zeros(4 * 64 + 1, np.uint8)
    wrong = (
        ((x, y, 1.0), "takes 4 arguments"),
        ((x, y, 1.0, 2.5), "pass|integer|was given"),
        ((x, y, 1.0, 1 << 31), "does not fit the type"),
        ((x, y, np.float64(1), 64), "NumPy number of type float64"),
        ((x, y.astype(np.float64), 1.0, 64), "the array is of float64"),
        ((x, fixed, 1.0, 64), "read-only"),
        ((x, np.ones(128, np.float32)[::2], 1.0, 64), "not C-contiguous"),
        ((x, bytes_[1:], 1.0, 64), "no multiple of 4"),
        ((x, "y", 1.0, 64), "an array is wanted"),
    )
    for args, message in wrong:
        for _ in range(2):
            with pytest.raises(ArgumentError, match=message):
                launch(*args)
    assert (y == 3).all()


@doors
def test_null_pointers_bytes_and_shapes(door: Callable[..., Launch], seen: list[int]) -> None:
    text = "KERNEL void fill(GLOBAL int *y, GLOBAL const int *x) { y[ID] = x ? x[ID] : 7; }"
    launch, x = door(text, "fill"), np.arange(64, dtype=np.int32)
    for given, wanted in ((None, np.full(64, 7)), (x, x), (x.view(np.uint8), x), (x.reshape(4, 4, 4), x)):
        for _ in range(3):
            y = np.zeros(64, np.int32)
            launch(y, given)
            np.testing.assert_array_equal(y, wanted)
    assert len(seen) == 3, "shapes do not matter"


BLUR = """
KERNEL void blur(GLOBAL const float *a, GLOBAL float *out, int n, int w) {
    int t = ID;
    if (t < w)
        for (int i = 0; i < n; i++) out[i * w + t] = a[i * w + t] + a[(i + 1) * w + t] + a[(i + 2) * w + t];
}
"""


def overlapping(launch: Launch, seen: list[int]) -> None:
    """Launch on arrays that are apart, and on some that are not, by turns."""
    a, out = np.random.default_rng(1).random((12, 64), np.float32), np.zeros((10, 64), np.float32)
    for _ in range(4):
        launch(a, out, 10, 64)
        np.testing.assert_allclose(out, a[:-2] + a[1:-1] + a[2:], rtol=1e-6)
        both, wanted = a.copy(), a.copy()
        for i in range(10):
            wanted[i + 2] = wanted[i] + wanted[i + 1] + wanted[i + 2]
        launch(both, both[2:], 10, 64)
        np.testing.assert_allclose(both, wanted, rtol=1e-6)
    assert len(seen) == 2, "code for either has a record"


@doors
def test_arrays_that_overlap(door: Callable[..., Launch], seen: list[int]) -> None:
    overlapping(door(BLUR, "blur"), seen)


def test_arrays_that_overlap_in_ptx(seen: list[int]) -> None:
    overlapping(ptx.Module(PTX).blur[2, 32], seen)


def test_variables_of_the_program_may_overlap_arrays(seen: list[int]) -> None:
    text = "__device__ float a[768];\n" + BLUR.replace("GLOBAL const float *a, ", "")
    module = cuda.Module(
        text.replace("KERNEL", "__global__").replace("GLOBAL", "").replace("ID", "threadIdx.x")
    )
    launch, a = module.blur[1, 64], module.a.reshape(12, 64)
    start, out = np.random.default_rng(1).random((12, 64), np.float32), np.zeros((10, 64), np.float32)
    wanted = start.copy()
    for i in range(10):
        wanted[i + 2] = wanted[i] + wanted[i + 1] + wanted[i + 2]
    for _ in range(3):
        a[:] = start
        launch(out, 10, 64)
        np.testing.assert_allclose(out, a[:-2] + a[1:-1] + a[2:], rtol=1e-6)
        launch(a[2:], 10, 64)
        np.testing.assert_allclose(a, wanted, rtol=1e-6)
    assert len(seen) == 2


def test_sizes_of_opencl(seen: list[int]) -> None:
    kernel = opencl.Program(
        "kernel void at(global int *y) { y[get_global_id(1) * get_global_size(0) + get_global_id(0)]"
        " = get_work_dim() * 1000 + get_local_size(0) * 10 + get_global_offset(0); }"
    ).kernel("at")

    def launch(size: Any, local: Any, wanted: int, **named: Any) -> None:
        y = np.zeros(64, np.int32)
        kernel(size, local, y, **named)
        assert set(y.tolist()) == {wanted}

    for _ in range(3):
        launch(64, 32, 1320)
        launch((64,), (16,), 1160)
        launch((16, 4), (8, 2), 2080)
        launch((16, 4), None, 2160)
    assert len(seen) == 4, "one for each size"
    for _ in range(2):
        launch([64], 32, 1320)
    assert len(seen) == 6, "lists are Python's"
    y = np.zeros(80, np.int32)
    for _ in range(2):
        kernel(64, 32, y, global_offset=16)
        assert set(y[16:].tolist()) == {1336}
    for size, local in ((64, 0), (64, (8, 8)), (True, 32)):
        with pytest.raises(LaunchError):
            kernel(size, local, y)


def test_assertions_are_looked_at_after_each_launch() -> None:
    module = cuda.Module(
        "#include <cassert>\n__global__ void positive(const int *x) { assert(x[threadIdx.x] > 0); }"
    )
    launch, x = module.positive[1, 32], np.ones(32, np.int32)
    for _ in range(3):
        launch(x)
    x[5] = 0
    with pytest.raises(FailedAssertionError):
        launch(x)


def test_launches_are_told_of_while_somebody_looks_on(seen: list[int]) -> None:
    launch = of_opencl(AXPY, "axpy")
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    for _ in range(2):
        launch(x, y, 1.0, 64)
    with weft.profile() as profile:
        launch(x, y, 1.0, 64)
    assert "axpy" in str(profile) and len(seen) == 2
    launch(x, y, 1.0, 64)
    assert len(seen) == 2 and (y == 4).all()


def test_local_memory_is_told_by_its_size(seen: list[int]) -> None:
    """Two of them, whose second begins behind the first: other sizes have records of their own."""
    kernel = opencl.Program("""
    kernel void k(local int *a, global int *out, local int *b) {
      int t = get_local_id(0);
      a[t] = t; b[t] = 10 * t;
      barrier(CLK_LOCAL_MEM_FENCE);
      out[t] = a[31 - t] + b[31 - t];
    }""").k
    expected = [11 * (31 - t) for t in range(32)]
    out = np.zeros(32, np.int32)
    for nbytes in (128, 4096, 128, 4096):
        for _ in range(3):
            out[:] = 0
            kernel(32, 32, opencl.LocalMemory(nbytes), out, opencl.LocalMemory(128))
            assert out.tolist() == expected
    # The first of a process is never known.
    assert 2 <= len(seen) <= 3
    with pytest.raises(LaunchError, match="local memory"):
        kernel(32, 32, opencl.LocalMemory(1 << 30), out, opencl.LocalMemory(128))
    with pytest.raises(ArgumentError, match="local memory"):
        kernel(32, 32, 128, out, opencl.LocalMemory(128))
    of_numpy: Any = np.int64(128)
    kernel(32, 32, opencl.LocalMemory(of_numpy), out, opencl.LocalMemory(128))
    assert out.tolist() == expected


ROW_BEFORE = """
KERNEL void row_before(GLOBAL const unsigned char *x, GLOBAL unsigned char *y, unsigned w, unsigned n) {
    unsigned i = ID;
    if (i < n) y[i] = x[(int)(i - w)];
}
"""


@doors
def test_parts_of_arrays_are_accessed_in_front_of_where_they_begin(
    door: Callable[..., Launch], seen: list[int]
) -> None:
    launch = door(ROW_BEFORE, "row_before")
    x, y = np.arange(100, dtype=np.uint8), np.zeros(64, np.uint8)
    for _ in range(3):
        launch(x[:64], y, 0, 64)
        np.testing.assert_array_equal(y, x[:64])
        launch(x[20:84], y, 7, 64)
        np.testing.assert_array_equal(y, x[13:77])
        launch(x[30:94], y, 16, 64)
        np.testing.assert_array_equal(y, x[14:78])
    # Those from where the array begins have a record, and those inside it.
    assert len(seen) == 2
