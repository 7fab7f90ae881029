"""The launch itself: signatures, configurations, device arrays, specialization, compiled attributes."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, of, small, to_out
from conformance.runner import check
from weft import cuda, types

cases = Cases()


@cases.kernel(to_out(np.float32, of(floats, np.float32), size=48))
def saxpy(y, x):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += np.float32(2.5) * x[i]


@cases.kernel(lambda rng: (np.ones((3, 8), np.int64),), grid=3, block=8)
def ids_and_sizes(out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    out[b, t] = t + 10 * b + 100 * cuda.blockDim.x + 10000 * cuda.gridDim.x + 1000000 * cuda.gridsize(1)


@cases.kernel(lambda rng: (np.ones((4, 6, 12), np.int64),), grid=(2, 3, 2), block=(6, 2, 2))
def ids_in_three_dimensions(out):
    x = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    y = cuda.threadIdx.y + cuda.blockIdx.y * cuda.blockDim.y
    z = cuda.threadIdx.z + cuda.blockIdx.z * cuda.blockDim.z
    w, h, d = cuda.gridsize(3)
    out[z, y, x] = x + 100 * (y + 100 * z) + w * 10**6 + h * 10**8 + d * 10**10 + cuda.gridDim.y


@cases.kernel(lambda rng: (np.ones(80, np.int64),), grid=1, block=80)
def lanes_of_a_warp(out):
    i = cuda.grid(1)
    out[i] = cuda.laneid + 100 * cuda.warpsize


@cases.kernel(lambda rng: (np.ones((6, 8), np.int64),), grid=(2, 3), block=(4, 2))
def lanes_count_x_first(out):
    x, y = cuda.grid(2)
    out[y, x] = cuda.laneid


@cases.kernel(to_out(np.int64, of(small, np.int64)))
def docstring_annotations_and_comments(out, x: int) -> None:
    """Do nothing that matters."""
    i: int = cuda.grid(1)
    # A comment in the body.
    if i < out.size:
        v: int = x[i]
        out[i] = v


@cases.kernel(to_out(np.int64, of(small, np.int64)))
def names_that_need_care(out, x):
    i = cuda.grid(1)
    if i < out.size:
        entry = x[i]
        undef = entry + 1
        double = undef * 2
        ret = double - 1
        λ = ret
        out[i] = λ


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)


def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@pytest.mark.parametrize(
    "signature",
    [
        "void(int32[:])",
        "void(int32[::1])",
        "(int32[:],)",
        types.void(types.int32[:]),
        (types.int32[::1],),
    ],
    ids=str,
)
def test_explicit_signature(signature) -> None:
    kernel = cuda.jit(signature)(add_one)
    x = np.arange(10, dtype=np.int32)
    kernel[1, 16](x)
    np.testing.assert_array_equal(x, np.arange(1, 11))


def test_signatures_of_numba_are_accepted() -> None:
    theirs = pytest.importorskip("numba").types
    x = np.arange(10, dtype=np.int32)
    cuda.jit(theirs.void(theirs.int32[::1]))(add_one)[1, 16](x)
    np.testing.assert_array_equal(x, np.arange(1, 11))


def test_one_kernel_serves_several_types() -> None:
    kernel = cuda.jit(add_one)
    for dtype in (np.int8, np.uint64, np.float32, np.complex128):
        x = np.arange(5).astype(dtype)
        kernel[1, 8](x)
        np.testing.assert_array_equal(x, (np.arange(5) + 1).astype(dtype))
    strided = np.arange(10, dtype=np.int8)
    kernel[1, 8](strided[::2])
    np.testing.assert_array_equal(strided, [1, 1, 3, 3, 5, 5, 7, 7, 9, 9])


def test_forall_covers_every_element() -> None:
    x = np.zeros(1000, np.int32)
    cuda.jit(add_one).forall(x.size)(x)
    assert (x == 1).all()


def test_configuration_is_a_value() -> None:
    configured = cuda.jit(add_one)[4, 8]
    x = np.zeros(30, np.int32)
    configured(x)
    configured(x)
    assert (x == 2).all()


@pytest.mark.parametrize("grid", [2, (2,), (2, 1), (2, 1, 1)], ids=str)
@pytest.mark.parametrize("block", [16, (16,), (16, 1, 1)], ids=str)
def test_configuration_takes_numbers_and_tuples(grid, block) -> None:
    x = np.zeros(30, np.int32)
    cuda.jit(add_one)[grid, block](x)
    assert (x == 1).all()


def test_device_arrays_and_streams() -> None:
    stream = cuda.stream()
    x = np.arange(20, dtype=np.float32)
    on_device = cuda.to_device(x.copy())
    cuda.jit(add_one)[2, 16, stream](on_device)
    cuda.synchronize()
    np.testing.assert_array_equal(on_device.copy_to_host(), x + 1)


def test_kernel_changes_no_more_than_its_array() -> None:
    padded = np.zeros(40, np.int32)
    cuda.jit(add_one)[2, 32](padded[10:30])
    assert (padded[10:30] == 1).all()
    assert not padded[:10].any()
    assert not padded[30:].any()


def test_machine_code_can_be_inspected() -> None:
    kernel = cuda.jit("void(float32[::1])")(add_one)
    (signature,) = kernel.signatures
    assert "fadd" in kernel.inspect_llvm(signature)
    assert "add" in kernel.inspect_asm(signature)
