"""xoroshiro128+ as the dialect defines it, in Python integers (Blackman and Vigna; streams as numba's)."""

from __future__ import annotations

from typing import Any

import numpy as np

_MASK = (1 << 64) - 1
_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)

STATE = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)


def _rotate(value: int, count: int) -> int:
    return ((value << count) | (value >> (64 - count))) & _MASK


def _step(s0: int, s1: int) -> tuple[int, int]:
    s1 ^= s0
    return _rotate(s0, 55) ^ s1 ^ ((s1 << 14) & _MASK), _rotate(s1, 36)


def _jumped(s0: int, s1: int) -> tuple[int, int]:
    """Return the state 2^64 steps on."""
    a = b = 0
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                a, b = a ^ s0, b ^ s1
            s0, s1 = _step(s0, s1)
    return a, b


def _split_mix(seed: int) -> int:
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def make_states(count: int, seed: int, subsequence_start: int = 0) -> np.ndarray:
    """Return states whose streams lie 2^64 steps apart."""
    first = _split_mix(seed & _MASK)
    state = (first, first)
    for _ in range(subsequence_start):
        state = _jumped(*state)
    states = np.empty(count, STATE)
    for index in range(count):
        states[index] = state
        state = _jumped(*state)
    return states


def xoroshiro128p_next(states: Any, index: Any) -> np.uint64:
    s0, s1 = int(states[index]["s0"]), int(states[index]["s1"])
    states[index]["s0"], states[index]["s1"] = _step(s0, s1)
    return np.uint64((s0 + s1) & _MASK)


def xoroshiro128p_uniform_float64(states: Any, index: Any) -> np.float64:
    return np.float64((int(xoroshiro128p_next(states, index)) >> 11) * 2.0**-53)


def xoroshiro128p_uniform_float32(states: Any, index: Any) -> np.float32:
    return np.float32(xoroshiro128p_uniform_float64(states, index))


def _normal(states: Any, index: Any, kind: Any) -> Any:
    """Box-Muller from two float32 uniforms; the logarithm is float32's in both precisions."""
    u = xoroshiro128p_uniform_float32(states, index)
    v = xoroshiro128p_uniform_float32(states, index)
    logarithm = np.float32(np.log(np.float64(u)))
    angle = kind(2 * np.pi) * kind(v)
    return np.sqrt(kind(-2) * kind(logarithm)) * kind(np.cos(np.float64(angle)))


def xoroshiro128p_normal_float32(states: Any, index: Any) -> np.float32:
    return _normal(states, index, np.float32)


def xoroshiro128p_normal_float64(states: Any, index: Any) -> np.float64:
    return _normal(states, index, np.float64)
