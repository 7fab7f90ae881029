"""Random numbers in kernels: xoroshiro128+ with one state per thread, the streams that numba's `cuda.random` has.

The device functions are written in the kernel language itself. Blackman and Vigna, *Scrambled Linear
Pseudorandom Number Generators*, ACM TOMS 47(4), 2021. `weft.cuda.random_states` makes the states.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
"""The state of one generator."""

_JUMP_LOW, _JUMP_HIGH = np.uint64(0xBEAC0467EBA5FACB), np.uint64(0xD86B048B86AA9922)
_UNIT = np.float64(2.0**-53)
_TWO_PI_32, _TWO_PI_64 = np.float32(2 * math.pi), np.float64(2 * math.pi)


def xoroshiro128p_next(states: Any, index: Any) -> Any:
    """Return the next 64 random bits of ``states[index]``."""
    s0 = states[index]["s0"]
    s1 = states[index]["s1"]
    result = s0 + s1
    s1 ^= s0
    states[index]["s0"] = ((s0 << 55) | (s0 >> 9)) ^ s1 ^ (s1 << 14)
    states[index]["s1"] = (s1 << 36) | (s1 >> 28)
    return result


def xoroshiro128p_jump(states: Any, index: Any) -> None:
    """Advance ``states[index]`` by 2^64 steps."""
    s0 = np.uint64(0)
    s1 = np.uint64(0)
    for word in (_JUMP_LOW, _JUMP_HIGH):
        for bit in range(64):
            if (word >> np.uint64(bit)) & 1:
                s0 ^= states[index]["s0"]
                s1 ^= states[index]["s1"]
            xoroshiro128p_next(states, index)
    states[index]["s0"] = s0
    states[index]["s1"] = s1


def xoroshiro128p_uniform_float64(states: Any, index: Any) -> Any:
    """Return a float64 in [0, 1)."""
    return np.float64(xoroshiro128p_next(states, index) >> 11) * _UNIT


def xoroshiro128p_uniform_float32(states: Any, index: Any) -> Any:
    """Return a float32 in [0, 1], rounded from a float64."""
    return np.float32(xoroshiro128p_uniform_float64(states, index))


def xoroshiro128p_normal_float32(states: Any, index: Any) -> Any:
    """Return a normally distributed float32 (Box-Muller, two steps)."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(np.float32(-2.0) * math.log(u1)) * math.cos(_TWO_PI_32 * u2)


def xoroshiro128p_normal_float64(states: Any, index: Any) -> Any:
    """Return a normally distributed float64 (Box-Muller on two uniform float32, as numba has it)."""
    u1 = xoroshiro128p_uniform_float32(states, index)
    u2 = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(np.float64(-2.0) * math.log(u1)) * math.cos(_TWO_PI_64 * u2)
