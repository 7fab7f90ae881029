"""States for xoroshiro128+, one for each thread: seeded by SplitMix64, each 2^64 steps behind the one before.

A step of the generator is linear over GF(2) in the 128 bits of its state, and so is a jump over 2^64 steps: a matrix J.
State k is J^k times the first, so the states m to 2m are J^m times the states 0 to m, and few products of whole arrays
make them all, with no loop over states and no wait for a compiler. A matrix is applied through 16 tables, one for each
byte of a state, of what each value of that byte contributes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.frontend.python.device_random import xoroshiro128p_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint64]
    """Vectors over GF(2), one to a row: the words ``s0`` and ``s1`` of a state."""

_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
_MASK = (1 << 64) - 1
_BITS = 128
_AT_ONCE = 1 << 13
"""So many states are multiplied at once: operands and tables stay in the second level of cache."""


def create_states(n: int, seed: int, subsequence_start: int = 0) -> NDArray[Any]:
    """An array of `n` states, the first of them `subsequence_start` times 2^64 steps behind the seed's."""
    states = np.empty((n, 2), np.uint64)
    if n:
        jump = _jump_matrix()
        states[:1] = _jumped(
            jump, np.full((1, 2), _split_mix(int(seed) & _MASK), np.uint64), subsequence_start
        )
        made = 1
        while made < n:
            more = min(made, n - made)
            _multiply(_tables(jump), states[:more], states[made : made + more])
            jump = _product(jump, jump)
            made += more
    return states.view(xoroshiro128p_dtype).reshape(n)


def _split_mix(seed: int) -> int:
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def _jump_matrix() -> Words:
    """The matrix of a jump: in row k, what becomes of a state of which bit k alone is set."""
    s0, s1 = np.zeros((2, _BITS), np.uint64)
    s0[:64] = s1[64:] = np.uint64(1) << np.arange(64, dtype=np.uint64)
    jumped = np.zeros((2, _BITS), np.uint64)
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                jumped ^= (s0, s1)
            s1 = s1 ^ s0
            s0 = ((s0 << 55) | (s0 >> 9)) ^ s1 ^ (s1 << 14)
            s1 = (s1 << 36) | (s1 >> 28)
    return np.ascontiguousarray(jumped.T)


def _jumped(jump: Words, state: Words, times: int) -> Words:
    """A state that many jumps later."""
    while times > 0:
        if times & 1:
            state = _product(jump, state)
        jump = _product(jump, jump)
        times >>= 1
    return state


def _product(matrix: Words, vectors: Words) -> Words:
    result = np.empty_like(vectors)
    _multiply(_tables(matrix), vectors, result)
    return result


def _tables(matrix: Words) -> Words:
    """For each byte of a vector and each value of it the sum of the matrix's rows that it chooses."""
    rows = matrix.reshape(_BITS // 8, 8, 2)
    tables = np.zeros((_BITS // 8, 256, 2), np.uint64)
    for bit in range(8):
        half = 1 << bit
        tables[:, half : 2 * half] = tables[:, :half] ^ rows[:, bit, None]
    return tables


def _multiply(tables: Words, vectors: Words, result: Words) -> None:
    # NumPy moves a complex number, two words, at once.
    pairs = tables.view(np.complex128)[..., 0]
    for begin in range(0, len(vectors), _AT_ONCE):
        digits = vectors[begin : begin + _AT_ONCE].view(np.uint8).T.astype(np.intp, order="C")
        total = result[begin : begin + _AT_ONCE]
        total[...] = 0
        for table, digit in zip(pairs, digits, strict=True):
            total ^= table.take(digit).view(np.uint64).reshape(-1, 2)
