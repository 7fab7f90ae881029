"""Atomic operations on global and shared memory, on results that no order of execution changes."""

import numpy as np
import pytest

from conformance.cases import Case, Cases
from conformance.data import ints, of, small
from conformance.runner import check
from weft import cuda

cases = Cases()


def on(start, *inputs):
    """Make arguments: a copy of the array that the kernel updates, then inputs."""
    return lambda rng: (np.array(start), *(make(rng) for make in inputs))


def add_to_one_place(total, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(total, 0, x[i])


def subtract(total, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.sub(total, 0, x[i])


def greatest_and_least(extremes, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(extremes, 0, x[i])
        cuda.atomic.min(extremes, 1, x[i])


for dtype in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64):
    name = np.dtype(dtype).name
    start = np.array([5, 7], dtype)
    cases.add(add_to_one_place, on(start, of(small, dtype)), f"add_{name}")
    cases.add(greatest_and_least, on(np.array([40, 60], dtype), of(small, dtype)), f"max_min_{name}")
for dtype in (np.int32, np.uint32, np.float32):
    cases.add(subtract, on(np.array([5], dtype), of(small, dtype)), f"sub_{np.dtype(dtype).name}")


@cases.kernel(on(np.array([0xFFFFFFFF, 0, 0], np.uint32), of(ints, np.uint32)))
def bitwise_32(words, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.and_(words, 0, x[i] | np.uint32(0xFF))
        cuda.atomic.or_(words, 1, x[i] & np.uint32(0x0F0F))
        cuda.atomic.xor(words, 2, x[i])


@cases.kernel(on(np.zeros(2, np.uint64), of(ints, np.uint64)))
def bitwise_64(words, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.or_(words, 0, x[i])
        cuda.atomic.xor(words, 1, x[i])


@cases.kernel(on(np.zeros(10, np.int32), of(small, np.int32)))
def histogram(bins, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, x[i] % 10, 1)


@cases.kernel(on(np.zeros((4, 5), np.int64), of(small, np.int64)))
def index_is_a_tuple(bins, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins, (x[i] % 4, i % 5), x[i])


@cases.kernel(on(np.zeros(49, np.int32), of(small, np.int32)))
def tickets_are_all_different(seen, x):
    i = cuda.grid(1)
    if i < x.size:
        ticket = cuda.atomic.add(seen, 48, 1)
        cuda.atomic.add(seen, ticket, 1)


@cases.kernel(on(np.zeros(2, np.uint32), of(small, np.uint32)))
def increment_wraps(counter, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.inc(counter, 0, np.uint32(6))
        cuda.atomic.inc(counter, 1, np.uint32(1000))


@cases.kernel(on(np.array([3, 1000], np.uint32), of(small, np.uint32)))
def decrement_wraps(counter, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.dec(counter, 0, np.uint32(6))
        cuda.atomic.dec(counter, 1, np.uint32(1000))


@cases.kernel(on(np.zeros(50, np.int32), of(small, np.int32)))
def exchange_hands_each_value_on_once(chain, x):
    i = cuda.grid(1)
    if i < x.size:
        previous = cuda.atomic.exch(chain, 48, i + 1)
        cuda.atomic.add(chain, 49, i + 1 - previous)
        cuda.atomic.add(chain, i, 1)
    # What was handed on cancels: the sum is the last value, whichever it is.


@cases.kernel(on(np.zeros(4, np.int32), of(small, np.int32)))
def compare_and_swap_elects_one(state, x):
    i = cuda.grid(1)
    if i < x.size:
        if cuda.atomic.cas(state, 0, 0, 7) == 0:
            cuda.atomic.add(state, 1, 1)
        cuda.atomic.cas(state, 2, 99, 5)


@cases.kernel(on(np.zeros(1, np.int64), of(small, np.int64)))
def compare_and_swap_on_the_first_element(state, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.compare_and_swap(state, 0, 42)


@cases.kernel(on(np.zeros(8, np.int32), of(small, np.int32)), grid=3, block=32)
def shared_histogram(bins, x):
    local = cuda.shared.array(8, dtype=np.int32)
    t = cuda.threadIdx.x
    if t < 8:
        local[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(local, x[i] % 8, 1)
    cuda.syncthreads()
    if t < 8:
        cuda.atomic.add(bins, t, local[t])


@cases.kernel(on(np.array([1e30, -1e30]), of(small, np.float64, low=-40, high=40)))
def float_extremes_of_either_sign(extremes, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.min(extremes, 0, x[i])
        cuda.atomic.max(extremes, 1, x[i])


@cases.kernel(on(np.zeros(3, np.int32), of(small, np.int32)))
def under_divergent_control(counts, x):
    i = cuda.grid(1)
    if i < x.size:
        if x[i] < 30:
            cuda.atomic.add(counts, 0, 1)
        elif x[i] < 60:
            cuda.atomic.add(counts, 1, x[i])
        for k in range(x[i] % 4):
            cuda.atomic.max(counts, 2, k * x[i])


@cases.kernel(on(np.zeros(6, np.int32), of(small, np.int32)))
def on_a_strided_view(bins, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(bins[::2], x[i] % 3, 1)


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)
