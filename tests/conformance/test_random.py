"""`cuda.random`: xoroshiro128+ with the streams of numba.cuda."""

import time

import numpy as np
import pytest

from conformance import reference_random
from conformance.cases import Case, Cases
from conformance.runner import assert_same, check
from weft import cuda
from weft.cuda.random import (
    create_xoroshiro128p_states,
    init_xoroshiro128p_states,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

cases = Cases()


def streams(dtype, count=3, threads=48):
    """Make an output for some numbers of each thread, and the states."""
    return lambda rng: (np.ones((threads, count), dtype), reference_random.make_states(threads, 42))


@cases.kernel(streams(np.float32))
def uniform_float32(out, states):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_uniform_float32(states, i)


@cases.kernel(streams(np.float64))
def uniform_float64(out, states):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_uniform_float64(states, i)


@cases.kernel(streams(np.float32), ulp=16)
def normal_float32(out, states):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_normal_float32(states, i)


# The logarithm is float32's in both precisions: some of its ulp are many of float64's.
@cases.kernel(streams(np.float64), ulp=1 << 33)
def normal_float64(out, states):
    i = cuda.grid(1)
    if i < out.shape[0]:
        for k in range(out.shape[1]):
            out[i, k] = xoroshiro128p_normal_float64(states, i)


@cases.kernel(streams(np.float64, 2))
def by_the_namespace(out, states):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i, 0] = cuda.random.xoroshiro128p_uniform_float64(states, i)
        out[i, 1] = cuda.random.xoroshiro128p_uniform_float32(states, i)


@cases.kernel(streams(np.int64, 1))
def hits_of_a_circle(out, states):
    i = cuda.grid(1)
    if i < out.shape[0]:
        hits = 0
        for _ in range(20):
            x = xoroshiro128p_uniform_float32(states, i)
            y = xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y <= 1.0:
                hits += 1
        out[i, 0] = hits


@cases.kernel(streams(np.float64, 1))
def rejection_draws_a_varying_count(out, states):
    i = cuda.grid(1)
    if i < out.shape[0]:
        u = xoroshiro128p_uniform_float64(states, i)
        while u > 0.3:
            u = xoroshiro128p_uniform_float64(states, i)
        out[i, 0] = u


@pytest.mark.parametrize("case", cases, ids=str)
def test_agrees(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("count", "seed", "start"), [(0, 1, 0), (5, 1, 0), (3, 2**63 + 11, 2), (1, 0, 1), (2, -3, 5), (257, 9, 0)]
)
def test_states_are_those_of_the_reference(count: int, seed: int, start: int) -> None:
    states = create_xoroshiro128p_states(count, seed, subsequence_start=start).copy_to_host()
    assert_same((states,), (reference_random.make_states(count, seed, start),), 0, "states")


def test_states_of_the_array_are_set() -> None:
    expected = reference_random.make_states(3, 7, 1)
    on_host = np.empty_like(expected)
    on_device = cuda.device_array_like(on_host)
    for states in (on_host, on_device):
        init_xoroshiro128p_states(states, 7, subsequence_start=1)
    assert_same((on_host, on_device.copy_to_host()), (expected, expected), 0, "states")


def test_later_states_are_reached_without_those_before() -> None:
    states = create_xoroshiro128p_states(40, 11).copy_to_host()
    for start in (1, 16, 37):
        assert create_xoroshiro128p_states(1, 11, start).copy_to_host()[0] == states[start]
    far = create_xoroshiro128p_states(2, 11, 2**60).copy_to_host()
    assert create_xoroshiro128p_states(1, 11, 2**60 + 1).copy_to_host()[0] == far[1]


def test_two_million_states_take_less_than_a_second() -> None:
    began = time.process_time()
    states = create_xoroshiro128p_states(2_000_000, 3).copy_to_host()
    assert time.process_time() - began < 1
    assert create_xoroshiro128p_states(1, 3, 1_999_999).copy_to_host()[0] == states[-1]


def test_reference_streams_are_those_of_numba() -> None:
    numba_random = pytest.importorskip("numba.cuda.random")
    ours = reference_random.make_states(4, 123, 1)
    theirs = np.empty(4, numba_random.xoroshiro128p_dtype)
    numba_random.init_xoroshiro128p_states_cpu.py_func(theirs, 123, 1)
    assert_same((ours,), (theirs,), 0, "states")
    for name in ("uniform_float32", "uniform_float64", "normal_float32", "normal_float64"):
        draw = getattr(numba_random, f"xoroshiro128p_{name}")
        mine = getattr(reference_random, f"xoroshiro128p_{name}")
        for index in range(4):
            np.testing.assert_allclose(mine(ours, index), draw(theirs, index), rtol=1e-6)
    assert_same((ours,), (theirs,), 0, "states after drawing")
