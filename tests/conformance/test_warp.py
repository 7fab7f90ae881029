"""Warp operations: votes, ballots, shuffles and matches among 32 threads with consecutive linear numbers.

The plain Python execution lets the threads that a mask names wait for each other, so under divergent control the masks
here name exactly the threads that come.
"""

from pathlib import Path

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import floats, of, small, to_out
from conformance.runner import check, compiled
from weft import cuda
from weft.diag.remarks import RemarkKind

cases = Cases()

ALL = 0xFFFFFFFF
EVEN = 0x55555555

FEW_INTS = to_out(np.int64, of(small, np.int64, 128), size=128)
FLOATS = to_out(np.float32, of(floats, np.float32, 128), size=128)

BLOCKS = [((2,), 48), ((2,), (8, 8)), ((2, 2), (5, 3, 2)), ((2,), (32, 2))]
"""One row and several; rows of whole warps, of parts of one, and warps over rows; last warps that are not full."""


def at_some_blocks(make_args):
    """A case for the kernel at two of `BLOCKS`, in turn."""

    def decorate(kernel):
        first = len(cases) // 2 % 2
        for grid, block in BLOCKS[first::2]:
            cases.add(kernel, make_args, f"{kernel.__name__}-{block}", grid=grid, block=block)
        return kernel

    return decorate


@cuda.jit(device=True)
def linear():
    t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    size = cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z
    return t + size * (cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y)


@at_some_blocks(FEW_INTS)
def butterfly_sum(out, x):
    i = linear()
    v = x[i]
    for k in range(5):
        v += cuda.shfl_xor_sync(ALL, v, 1 << k)
    out[i] = v


@at_some_blocks(FLOATS)
def sum_down(out, x):
    i = linear()
    v = x[i]
    for offset in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, offset)
    out[i] = v


@at_some_blocks(FEW_INTS)
def running_sum_up(out, x):
    i = linear()
    v = x[i]
    delta = 1
    while delta < 32:
        below = cuda.shfl_up_sync(ALL, v, delta)
        if cuda.laneid >= delta:
            v += below
        delta *= 2
    out[i] = v


@at_some_blocks(FEW_INTS)
def votes(out, x):
    i = linear()
    some = cuda.any_sync(ALL, x[i] > 4)
    each = cuda.all_sync(ALL, x[i] > -4)
    same = cuda.eq_sync(ALL, x[i] > 0)
    out[i] = (100 if some else 0) + (10 if each else 0) + (1 if same else 0)


@at_some_blocks(FEW_INTS)
def place_among_the_chosen(out, x):
    i = linear()
    chosen = cuda.ballot_sync(ALL, x[i] > 0)
    out[i] = cuda.popc(chosen & cuda.lanemask_lt()) + 100 * cuda.laneid


@at_some_blocks(FEW_INTS)
def equal_values(out, x):
    i = linear()
    out[i] = cuda.match_any_sync(ALL, x[i] % 3)


@at_some_blocks(FEW_INTS)
def positions_within_warps(out, x):
    i = linear()
    first = cuda.shfl_sync(ALL, cuda.threadIdx.x + 100 * cuda.threadIdx.y + 10000 * cuda.threadIdx.z, 0)
    out[i] = first + x[i]


@cases.kernel(FEW_INTS, grid=2, block=64)
def lane_read_by_index(out, x):
    i = linear()
    out[i] = cuda.shfl_sync(ALL, x[i], x[i]) + 1000 * cuda.shfl_sync(ALL, i, (i * 7) % 32)


@cases.kernel(FLOATS, grid=2, block=64)
def broadcast_in_turn(out, x):
    i = linear()
    total = np.float32(0)
    for k in range(32):
        total += cuda.shfl_sync(ALL, x[i], k) * (k + 1)
    out[i] = total


@cases.kernel(to_out(np.float64, of(floats, np.float64, 64), size=64), grid=1, block=64)
def doubles_move_whole(out, x):
    i = linear()
    out[i] = cuda.shfl_xor_sync(ALL, x[i], 5) + cuda.shfl_sync(ALL, x[i], (i * 11) % 32)


@cases.kernel(to_out(np.int8, of(small, np.int8, 64), size=64), grid=1, block=64)
def bytes_move_too(out, x):
    i = linear()
    out[i] = cuda.shfl_down_sync(ALL, x[i], 3)


@cases.kernel(FEW_INTS, grid=2, block=64)
def some_lanes_shuffle(out, x):
    i = linear()
    v = x[i]
    if i % 2 == 0:
        v += cuda.shfl_xor_sync(EVEN, v, 2)
        v += 10 * cuda.shfl_sync(EVEN, v, (i * 6) % 32)
        v += 100 * cuda.shfl_sync(EVEN, v, 4)
    out[i] = v


@cases.kernel(FEW_INTS, grid=2, block=64)
def some_lanes_vote(out, x):
    i = linear()
    v = x[i]
    if i % 2 == 0:
        v = cuda.ballot_sync(EVEN, v > 0)
        if cuda.any_sync(EVEN, v > 7):
            v += cuda.match_any_sync(EVEN, x[i] % 2)
    out[i] = v


@cases.kernel(FEW_INTS, grid=2, block=64)
def votes_decide_a_loop(out, x):
    i = linear()
    v = x[i] & 15
    turns = 0
    while cuda.any_sync(ALL, v > 0):
        v -= 1
        turns += 1
    out[i] = turns


@cases.kernel(FEW_INTS, grid=2, block=64)
def neighbours_through_shared_memory(out, x):
    s = cuda.shared.array(64, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncwarp()
    before = s[t ^ 1]
    cuda.syncwarp()
    s[t] = before + t
    cuda.syncwarp()
    out[i] = s[t ^ 1] + 1000 * before


@at_some_blocks(FLOATS)
def sum_of_a_block(out, x):
    sums = cuda.shared.array(32, dtype=np.float32)
    t = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    i = linear()
    v = x[i]
    for k in range(5):
        v += cuda.shfl_xor_sync(ALL, v, 1 << k)
    if cuda.laneid == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    before = np.float32(0)
    for w in range(t // 32):
        before += sums[w]
    out[i] = v + before
    cuda.syncthreads()
    if cuda.any_sync(ALL, x[i] > 6):
        out[i] += sums[0]


@cases.kernel(FEW_INTS, grid=2, block=64)
def warps_that_return_before_a_barrier(out, x):
    s = cuda.shared.array(64, dtype=np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    if t >= 32 and cuda.blockIdx.x == 0:
        return
    cuda.syncthreads()
    out[i] = cuda.shfl_down_sync(ALL, s[t], 1) + s[31 - t % 32]


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("width", [1, 16])
def test_a_warp_has_32_threads_whatever_width_is_asked_for(
    width: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    # What comes from the cache has no remarks.
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    case = next(c for c in cases if c.kernel is butterfly_sum)
    for got, wanted in zip(compiled(case, width=width), compiled(case), strict=True):
        np.testing.assert_array_equal(got, wanted)
    kernel = cuda.jit("void(int64[:], int64[:])", width=width)(butterfly_sum)
    (code,) = kernel.overloads.values()
    assert any(r.kind is RemarkKind.VECTORIZED and f"not {width}" in r.message for r in code.remarks)


def active_threads(out):
    i = linear()
    out[i] = 0
    if i % 3 == 1:
        out[i] = cuda.activemask()


def all_the_same(out):
    i = linear()
    found, same = cuda.match_all_sync(ALL, i // 32)
    other, differ = cuda.match_all_sync(ALL, i)
    out[i] = found + 10 * (1 if same else 0) + other + (1 if differ else 0)


def test_active_lanes_are_those_that_come() -> None:
    out = np.zeros(48, np.int64)
    cuda.jit(active_threads)[1, 48](out)
    mask = (
        sum(1 << lane for lane in range(1, 32, 3)),
        sum(1 << lane for lane in range(16) if (lane + 32) % 3 == 1),
    )
    assert out.tolist() == [mask[i // 32] if i % 3 == 1 else 0 for i in range(48)]


def test_match_all_tells_whether_all_values_are_the_same() -> None:
    out = np.zeros(48, np.int64)
    cuda.jit(all_the_same)[1, 48](out)
    assert out.tolist() == [ALL + 10] * 32 + [0xFFFF + 10] * 16
