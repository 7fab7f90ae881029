"""Loops with barriers whose shared arrays are registers do what their rounds say (`rounds_in_registers`)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loops.python_doors import functions
from pairs import WHOLE
from weft import cuda, opencl
from weft.codegen.widen.shuffles import lane_numbers
from weft.ir import Builder, Value
from weft.ir.intrinsics import declare
from weft.ir.reader import read_module
from weft.ir.types import I32, I64
from weft.transform.groups.lane_tables import LaneTables

THREADS = 64


def scan(a, out, n):
    """Blelloch's tree: places rise by twice the distance; the second loop begins with what the first one leaves."""
    tile = cuda.shared.array(2 * THREADS, np.int32)
    t = cuda.threadIdx.x
    for k in range(t, 2 * THREADS, cuda.blockDim.x):
        tile[k] = a[k]
    off, d = 1, THREADS
    while d > 0:
        cuda.syncthreads()
        if t < d:
            tile[off * (2 * t + 2) - 1] += tile[off * (2 * t + 1) - 1]
        off *= 2
        d //= 2
    cuda.syncthreads()
    if t == 0:
        tile[2 * THREADS - 1] = 0
    d = 1
    while d < 2 * THREADS:
        off //= 2
        cuda.syncthreads()
        if t < d:
            low, high = off * (2 * t + 1) - 1, off * (2 * t + 2) - 1
            kept = tile[low]
            tile[low] = tile[high]
            tile[high] += kept
        d *= 2
    cuda.syncthreads()
    for k in range(t, 2 * THREADS, cuda.blockDim.x):
        out[k] = tile[k] + off


def pairs(a, out, n):
    """Values wait in registers at a barrier between loads and stores."""
    slope, at = cuda.shared.array(THREADS, np.float32), cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    slope[t], at[t] = a[t] * np.float32(0.01), a[t + THREADS]
    cuda.syncthreads()
    s = 1
    while s < THREADS:
        x, y = slope[t], at[t]
        if t >= s:
            y += x * at[t - s]
            x *= slope[t - s]
        cuda.syncthreads()
        slope[t], at[t] = x, y
        cuda.syncthreads()
        s *= 2
    out[t], out[t + THREADS] = at[t] * 100, slope[t] * 1000


def sort(a, out, n):
    """Conditions on data, for which threads store elsewhere, too."""
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    q = 2
    while q <= THREADS:
        j = q // 2
        while j > 0:
            p = t ^ j
            if p > t:
                x, y = tile[t], tile[p]
                if (x > y) == ((t & q) == 0):
                    tile[t], tile[p] = y, x
            cuda.syncthreads()
            j //= 2
        q *= 2
    out[t] = tile[t]


def greatest(a, out, n):
    """A tree under conditions; between equal elements another one, by a way of its own, decides."""
    tile, index = cuda.shared.array(THREADS, np.int32), cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t], index[t] = a[t] // 300, t
    cuda.syncthreads()
    s = THREADS // 2
    while s > 0:
        if t < s:
            if tile[t + s] > tile[t]:
                tile[t], index[t] = tile[t + s], index[t + s]
            elif tile[t + s] == tile[t]:
                index[t] = max(index[t], index[t + s])
            else:
                tile[t] -= 1
        cuda.syncthreads()
        s //= 2
    out[t], out[t + THREADS] = tile[t], index[t]


def two_buffers(a, out, n):
    """Two halves of one array take turns; a stencil whose ends do something else, with a factor of all threads."""
    tile = cuda.shared.array((2, THREADS), np.int32)
    t, source = cuda.threadIdx.x, 0
    tile[0, t] = a[t]
    cuda.syncthreads()
    for k in range(5):
        if t == 0:
            value = tile[source, t] * n
        elif t == THREADS - 1:
            value = tile[source, t] - k
        else:
            value = tile[source, t - 1] + tile[source, t + 1]
        tile[1 - source, t] = value
        source = 1 - source
        cuda.syncthreads()
    out[t], out[t + THREADS] = tile[0, t], tile[1, t]


def of_the_group(a, out, n):
    """How many threads there are says how many rounds there are."""
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    s = 1
    while s < cuda.blockDim.x:
        x = tile[t - s] if t >= s else 0
        cuda.syncthreads()
        tile[t] += x
        cuda.syncthreads()
        s *= 2
    out[t] = tile[t] + s


def told(a, out, n):
    """The rounds are known to the launch alone."""
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    s = 1
    while s < n:
        x = tile[t - s] if t >= s else 0
        cuda.syncthreads()
        tile[t] += x
        cuda.syncthreads()
        s *= 2
    out[t] = tile[t]


def own(a, out, n):
    """What a thread has from elsewhere other lane groups have, too."""
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t], mine = a[t], a[t] * a[t]
    cuda.syncthreads()
    s = THREADS // 2
    while s > 0:
        if t < s:
            tile[t] = tile[t + s] - tile[t] ^ mine
        cuda.syncthreads()
        s //= 2
    out[t] = tile[t]


def loads(a, out, n):
    """Other memory is read."""
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    for s in range(5):
        x = tile[t ^ 1 << s] + a[t + s]
        cuda.syncthreads()
        tile[t] = x
        cuda.syncthreads()
    out[t] = tile[t]


def until(a, out, n):
    """How many rounds there are, data says."""
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t] = a[t] % 8
    cuda.syncthreads()
    s = 0
    while tile[0] < 1000:
        x = tile[(t + 1) % THREADS] + 1
        cuda.syncthreads()
        tile[t] += x
        cuda.syncthreads()
        s += 1
    out[t] = tile[t] + s


def long(a, out, n):
    """Threads go around a loop of their own between the barriers."""
    tile = cuda.shared.array(THREADS, np.int32)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    for s in range(5):
        x = tile[t ^ 1 << s]
        while x > 50:
            x //= 2
        cuda.syncthreads()
        tile[t] += x
        cuda.syncthreads()
    out[t] = tile[t]


def more_threads(a, out, n):
    """The first loop is known for half as many threads as the second one: what it leaves behind is for these alone."""
    tile, moved = cuda.shared.array(THREADS, np.int32), cuda.shared.array(2 * THREADS, np.int32)
    t = cuda.threadIdx.x
    moved[t] = a[t]
    if t < THREADS:
        tile[t] = 0
    off, s = 1, 1
    cuda.syncthreads()
    while s < THREADS:
        if t < THREADS:
            tile[t] += s
            off *= 2
        else:
            out[t] = s
            off *= 3
        cuda.syncthreads()
        s *= 2
    cuda.syncthreads()
    for _ in range(5):
        y = moved[(t + off) % (2 * THREADS)]
        cuda.syncthreads()
        moved[t] = y
        cuda.syncthreads()
    out[t] = moved[t] + off + tile[t % THREADS]


def divisions(a, out, n):
    """More divisions of 64-bit integers than LLVM compiles in seconds."""
    tile = cuda.shared.array(THREADS, np.int64)
    t = cuda.threadIdx.x
    tile[t] = a[t]
    cuda.syncthreads()
    for s in range(12):
        x = (tile[t % 7] * 3 + tile[(t + s) % THREADS]) % 1000
        cuda.syncthreads()
        tile[t] = x
        cuda.syncthreads()
    out[t] = tile[t]


@pytest.mark.spread
@pytest.mark.parametrize("width", [None, 8])
@pytest.mark.parametrize(
    ("program", "threads", "found"),
    [
        (scan, (64, 100, 128, 200), True),
        (pairs, (64,), True),
        (sort, (64,), True),
        (greatest, (64,), True),
        (two_buffers, (64,), True),
        (of_the_group, (64, 48, 32), True),
        (more_threads, (128,), True),
        (divisions, (64,), False),
        (told, (64,), False),
        (own, (64,), False),
        (loads, (64,), False),
        (until, (64,), False),
        (long, (64,), False),
    ],
)
def test_rounds_in_registers_do_what_they_say(
    program: Callable[..., None], threads: tuple[int, ...], found: bool, width: int | None
) -> None:
    a = np.random.default_rng(7).integers(-1000, 1000, 2 * THREADS).astype(np.int32)
    kernel: Any = cuda.jit(program, width=width) if width else cuda.jit(program)
    interpreted: Any = cuda.jit(program, debug=True)
    for n in threads:
        out, wanted = np.zeros(2 * THREADS, np.int32), np.zeros(2 * THREADS, np.int32)
        kernel[1, n](a, out, 3)
        interpreted[1, n](a, wanted, 3)
        assert (out == wanted).all(), n
    said = any("this loop waits at no barrier" in remark.message for remark in kernel.remarks)
    assert said == found


def test_any_number_of_values_may_be_computed_in_front_of_the_loop() -> None:
    """They are looked at one by one, none of them by way of others, and each once."""
    steps = "\n".join(f"    u, v = v, u * v ^ (u - {k})" for k in range(500 if WHOLE else 150))
    text = f"""
import numpy as np
from weft import cuda
def drawn(a, out):
    tile = cuda.shared.array({THREADS}, np.int32)
    t = cuda.threadIdx.x
    u, v = a[0], a[1]
{steps}
    tile[t] = a[t]
    cuda.syncthreads()
    s = 1
    while s < {THREADS}:
        x = tile[t - s] if t >= s else v
        cuda.syncthreads()
        tile[t] += x
        cuda.syncthreads()
        s *= 2
    out[t] = tile[t]
"""
    program = functions(text, "<much in front of rounds>")["drawn"]
    a = np.random.default_rng(3).integers(-9, 9, THREADS).astype(np.int32)
    out, wanted = np.zeros_like(a), np.zeros_like(a)
    kernel: Any = cuda.jit(program)
    kernel[1, THREADS](a, out)
    cuda.jit(program, without=("register-rounds",))[1, THREADS](a, wanted)
    assert (out == wanted).all()
    assert any("this loop waits at no barrier" in r.message for r in kernel.remarks)


OPENCL = """
kernel void scan(global const int *a, global int *out) {
  local int tile[64];
  int t = get_local_id(0);
  tile[t] = a[t];
  for (int s = 1; s < 64; s <<= 1) {
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = t >= s ? tile[t - s] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[t] += x;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[t] = tile[63 - t];
}"""

CUDA_C = """
template <int B> __global__ void scan(const int *a, int *out) {
  __shared__ int tile[B];
  int t = threadIdx.x;
  tile[t] = a[t];
  __syncthreads();
#pragma nounroll
  for (int s = 1; s < B; s <<= 1) {
    int x = t >= s ? tile[t - s] : 0;
    __syncthreads();
    tile[t] += x;
    __syncthreads();
  }
  out[t] = tile[B - 1 - t];
}"""


def test_rounds_of_opencl_and_cuda_c() -> None:
    a = np.random.default_rng(5).integers(-1000, 1000, THREADS).astype(np.int32)
    wanted = np.cumsum(a, dtype=np.int32)[::-1]
    out, other = np.zeros_like(a), np.zeros_like(a)
    kernel = opencl.Program(OPENCL).scan
    kernel(THREADS, THREADS, a, out)
    of_cuda: Any = cuda.Module(CUDA_C)["scan<64>"]
    of_cuda[1, THREADS](a, other)
    assert (out == wanted).all()
    assert (other == wanted).all()
    for k in (kernel, of_cuda):
        assert any("this loop waits at no barrier" in r.message for r in k.remarks)


def _tables(lanes: int) -> tuple[LaneTables, Value]:
    module = read_module("define void @f() {\n  ret void\n}")
    block = module.functions["f"].blocks[0]
    builder = Builder(before=block.terminator)
    lane = builder.call(declare(module, "weft.lane.id"), ())
    return LaneTables(builder, lane, lanes), lane


@pytest.mark.parametrize("lanes", [4, 16, 32, 64])
def test_tables_have_the_lanes_that_they_are_made_of(lanes: int) -> None:
    tables, _ = _tables(lanes)
    every = range(lanes)
    rules: list[Callable[[int], int | None]] = [
        lambda k: k ^ 3,
        lambda k: (k - 1) % lanes,
        lambda k: (2 * k + 1) % lanes if k < lanes // 2 else None,
        lambda k: (k - 1) // 2 if k % 2 else None,
        lambda k: (k + lanes - 1) // 2 if k % 2 else None,
        lambda k: lanes - 1 - k,
        lambda k: (k * k + 7 * k) // 2 % lanes,
        lambda k: None if k % 3 else k // 3,
    ]
    for rule in rules:
        table = [rule(k) for k in every]
        source = tables.source(table)
        assert source is not None
        found = lane_numbers(source, lanes)
        assert found is not None
        assert all(b is None or a == b for a, b in zip(found, table, strict=True)), table
    assert tables.source([k if k else None for k in every]) is None
    for bits in (
        [1, 0, *([1] * (lanes - 2))],
        [0] * lanes,
        [k % 2 for k in every],
        [int(k > 1) for k in every],
    ):
        mask = tables.mask(bits)
        assert lane_numbers(mask, lanes) == bits
    # One lane, and one behind it: what the lanes before are, nobody asks.
    seen = lane_numbers(tables.mask([None, 1, 0, *([None] * (lanes - 3))]), lanes)
    assert seen is not None
    assert list(seen[1:3]) == [1, 0]
    for numbers in ([3 * k - 1 for k in every], [k * k for k in every]):
        for type in (I32, I64):
            unsigned = [n % (1 << type.bits) for n in numbers]
            assert lane_numbers(tables.numbers(unsigned, type), lanes) == unsigned
