"""What atomic operations cost that are none in machine code: those on copies of arrays, and on shared memory."""

import numpy as np
import pytest

from weft import cuda


def rows(begins, columns, counts):
    row = cuda.grid(1)
    if row < begins.size - 1:
        for k in range(begins[row], begins[row + 1]):
            cuda.atomic.add(counts, columns[k], 1)


def digits(keys, shift, counts):
    own = cuda.shared.array(256, np.int32)
    thread = cuda.threadIdx.x
    own[thread] = 0
    cuda.syncthreads()
    for round in range(16):
        i = cuda.blockIdx.x * 4096 + round * 256 + thread
        if i < keys.size:
            cuda.atomic.add(own, (keys[i] >> shift) & np.uint64(255), 1)
    cuda.syncthreads()
    counts[cuda.blockIdx.x, thread] = own[thread]


def said(kernel, *args) -> str:
    kernel = cuda.jit(kernel)
    kernel[2, 256](*args)
    (compiled,) = kernel.overloads.values()
    return "; ".join(r.message for r in compiled.remarks)


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4"])
def test_rows_that_threads_update_copies_along_run_one_by_one(
    level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    counts = np.zeros(5, np.int32)
    args = np.minimum(np.arange(513), 5), np.arange(5, dtype=np.int32), counts
    assert "rows runs thread after thread" in said(rows, *args)
    assert counts.tolist() == [1] * 5


def test_lanes_that_update_shared_memory_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CPU", "x86-64-v3")
    keys, counts = np.arange(5000, dtype=np.uint64), np.zeros((2, 256), np.int32)
    assert "digits runs 16 threads at a time" in said(digits, keys, np.uint64(0), counts)
    assert counts.sum(0).tolist() == np.bincount(keys & 255).tolist()
