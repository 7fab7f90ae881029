"""Work-groups smaller than a lane group: kernels with barriers have versions for them."""

import os

import numpy as np
import pytest

from weft import cuda
from weft import errors as errors
from weft.cuda.kernel import Kernel

THREADS = 128


def exchanged(out, votes):
    s = cuda.shared.array(THREADS, dtype=np.int64)
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    n = cuda.blockDim.x * cuda.blockDim.y
    v = cuda.blockIdx.x * 1000 + t
    for k in range(3):
        s[t] = v
        cuda.syncthreads()
        v = s[(t + k + 1) % n] + s[n - 1 - t]
        cuda.syncthreads()
    count = cuda.syncthreads_count(v % 3 == 0)
    every = cuda.syncthreads_and(v >= 0)
    some = cuda.syncthreads_or(v % 7 == 6)
    out[cuda.blockIdx.x * n + t] = v
    if t == 0:
        votes[cuda.blockIdx.x] = count * 4 + every * 2 + some


def expected(groups: int, threads: int) -> tuple[np.ndarray, np.ndarray]:
    v = np.arange(groups)[:, None] * 1000 + np.arange(threads)
    for k in range(3):
        v = np.roll(v, -k - 1, axis=1) + v[:, ::-1]
    votes = (v % 3 == 0).sum(axis=1) * 4 + (v >= 0).all(axis=1) * 2 + (v % 7 == 6).any(axis=1)
    return v.ravel(), votes


BLOCKS = (1, 3, 8, 16, 17, (4, 3), (1, 9))
MORE = (2, 5, 13, (8, 8), (3, 1))


@pytest.mark.parametrize("block", BLOCKS + MORE if os.environ.get("WEFT_FUZZ") else BLOCKS)
def test_each_shape_gives_the_same(block: int | tuple[int, int]) -> None:
    threads = int(np.prod(block))
    out, votes = np.zeros(3 * threads, np.int64), np.zeros(3, np.int64)
    KERNEL[3, block](out, votes)
    wanted, wanted_votes = expected(3, threads)
    assert out.tolist() == wanted.tolist()
    assert votes.tolist() == wanted_votes.tolist()


KERNEL = Kernel(exchanged)


def test_a_work_group_that_fits_in_a_lane_group_has_no_barrier_left() -> None:
    kernel = Kernel(exchanged)
    out, votes = np.zeros(THREADS, np.int64), np.zeros(8, np.int64)
    kernel[1, THREADS](out, votes)
    (code,) = kernel.overloads.values()
    lanes = code.terms.barrier_width
    kernel[8, lanes // 2](out, votes)
    kernel[1, (lanes // 4, 4)](out, votes)
    for version in kernel._specializations.made.values():
        assert version.lowered().barrier_lines == ()
        assert "switch i32 %barrier" not in version.lowered().text
    kernel[1, (lanes // 2, 2 * THREADS // lanes)](out, votes)
    other = list(kernel._specializations.made.values())[2]
    assert len(other.lowered().barrier_lines) == 5
    assert "switch i32 %barrier" in other.lowered().text


def test_only_rows_that_are_no_whole_lane_groups_have_code_for_some_lanes() -> None:
    kernel = cuda.jit(width=4)(exchanged)
    out, votes = np.zeros(24, np.int64), np.zeros(4, np.int64)
    kernel[3, 8](out, votes)
    (code,) = kernel.overloads.values()
    assert code.terms.row_multiple == 4
    assert ".some" not in code.lowered().text
    assert not kernel._specializations.made
    kernel[4, 6](out, votes)
    assert out.tolist() == expected(4, 6)[0].tolist()
    (version,) = kernel._specializations.made.values()
    assert version.terms.row_multiple == 1
    assert ".some" in version.lowered().text


def returns_by_rows(out, rows):
    s = cuda.shared.array(THREADS, dtype=np.int64)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    s[x + 8 * y] = x
    if y >= rows[cuda.blockIdx.x]:
        return
    cuda.syncthreads()
    out[cuda.blockIdx.x, y, x] = s[7 - x + 8 * y] + 1


def test_lane_groups_may_return_before_others() -> None:
    kernel = cuda.jit(width=4)(returns_by_rows)
    out, rows = np.zeros((3, 4, 8), np.int64), np.array([4, 1, 0])
    kernel[3, (8, 4)](out, rows)
    wanted = [[[8 - x if y < n else 0 for x in range(8)] for y in range(4)] for n in rows]
    assert out.tolist() == wanted
    (code,) = kernel.overloads.values()
    assert code.terms.row_multiple == 4


def test_threads_in_step_leave_no_notes() -> None:
    compiled = cuda.jit(width=4)(exchanged).compile("void(int64[::1], int64[::1])")
    apart = cuda.jit(width=4)(returns_by_rows).compile("void(int64[:, :, ::1], int64[::1])")
    assert "next.lanes" not in compiled.lowered().text
    assert "next.lanes" in apart.lowered().text


@cuda.jit
def with_large_local_arrays(out):
    mine = cuda.local.array(40000, dtype=np.int64)
    s = cuda.shared.array(THREADS, dtype=np.int64)
    t = cuda.threadIdx.x
    mine[t * 100] = t * 3
    s[t] = t
    cuda.syncthreads()
    out[t] = mine[t * 100] + s[cuda.blockDim.x - 1 - t]


@pytest.mark.parametrize("threads", [3, 8])
def test_large_local_arrays_leave_room_for_fewer_lanes(threads: int) -> None:
    out = np.zeros(threads, np.int64)
    with_large_local_arrays[1, threads](out)
    assert out.tolist() == [3 * t + threads - 1 - t for t in range(threads)]


def test_a_width_that_is_asked_for_is_kept() -> None:
    kernel = cuda.jit(width=16)(exchanged)
    kernel[8, 8](np.zeros(64, np.int64), np.zeros(8, np.int64))
    assert {options.width for _, options in kernel._specializations.made} == {16}


@cuda.jit
def parted(x):
    if x[cuda.threadIdx.x] > 0:
        cuda.syncthreads()
    else:
        x[0] = 1
        cuda.syncthreads()


def test_divergent_barriers_are_found_in_small_groups_too() -> None:
    parted[1, 8](np.ones(8))
    with pytest.raises(errors.BarrierDivergence):
        parted[1, 8](np.arange(8.0))
