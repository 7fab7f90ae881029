"""Radix sort, least significant digit first: sort each group's keys by a digit, count, scan, and distribute."""

from __future__ import annotations

import numpy as np

from examples.workgroups.checking import agree, blocks_for, timed
from examples.workgroups.scan import exclusive_scan
from weft import cuda

SIZE = 1 << 20
THREADS = 256
DIGIT_BITS = 4
DIGITS = 1 << DIGIT_BITS
BEYOND = 0xFFFFFFFF


@cuda.jit
def sort_groups_by_digit(keys, partly_sorted, counts, shift):
    """Sort each group's keys by the digit at `shift`, stably, one bit at a time; count the digits."""
    shared = cuda.shared.array(THREADS, dtype=np.uint32)
    ranks = cuda.shared.array(THREADS, dtype=np.int32)
    own_counts = cuda.shared.array(DIGITS, dtype=np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    # What lies beyond the last key sorts behind every key, as it comes last and sorting is stable.
    key = keys[i] if i < keys.size else np.uint32(BEYOND)
    if t < DIGITS:
        own_counts[t] = 0
    for bit in range(DIGIT_BITS):
        one = np.int32((key >> np.uint32(shift + bit)) & np.uint32(1))
        ranks[t] = 1 - one
        cuda.syncthreads()
        distance = 1
        while distance < THREADS:
            before = ranks[t - distance] if t >= distance else np.int32(0)
            cuda.syncthreads()
            ranks[t] += before
            cuda.syncthreads()
            distance *= 2
        zeros = ranks[THREADS - 1]
        # As many zeros come before a zero as it has rank; ones follow all zeros.
        place = zeros + t - ranks[t] if one else ranks[t] - 1
        shared[place] = key
        cuda.syncthreads()
        key = shared[t]
        cuda.syncthreads()
    if i < keys.size:
        partly_sorted[i] = key
        cuda.atomic.add(own_counts, (key >> np.uint32(shift)) & np.uint32(DIGITS - 1), 1)
    cuda.syncthreads()
    if t < DIGITS:
        counts[t, cuda.blockIdx.x] = own_counts[t]


@cuda.jit
def distribute(partly_sorted, result, offsets, shift):
    """Move each key to its place: its digit's offset for the group plus its rank among equal digits."""
    digits = cuda.shared.array(THREADS, dtype=np.int32)
    starts = cuda.shared.array(DIGITS, dtype=np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    digit = np.int32(-1)
    if i < partly_sorted.size:
        digit = np.int32((partly_sorted[i] >> np.uint32(shift)) & np.uint32(DIGITS - 1))
    digits[t] = digit
    cuda.syncthreads()
    if digit >= 0 and (t == 0 or digits[t - 1] != digit):
        starts[digit] = t
    cuda.syncthreads()
    if digit >= 0:
        result[offsets[digit, cuda.blockIdx.x] + t - starts[digit]] = partly_sorted[i]


def sort(keys: np.ndarray) -> np.ndarray:
    """Return uint32 keys in ascending order."""
    groups = blocks_for(keys.size, THREADS)
    source, partly_sorted = keys.copy(), np.zeros_like(keys)
    counts = np.zeros((DIGITS, groups), np.int64)
    for shift in range(0, 32, DIGIT_BITS):
        sort_groups_by_digit[groups, THREADS](source, partly_sorted, counts, shift)
        offsets = exclusive_scan(counts.reshape(-1)).reshape(counts.shape)
        distribute[groups, THREADS](partly_sorted, source, offsets, shift)
    return source


def main(size: int = SIZE) -> None:
    keys = np.random.default_rng(10).integers(0, 1 << 32, size, dtype=np.uint32)
    result = timed(f"radix sort of {size} keys", lambda: sort(keys))
    agree("sort", result, np.sort(keys))


if __name__ == "__main__":
    main()
