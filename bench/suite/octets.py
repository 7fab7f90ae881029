"""Kernels over bytes and short integers: strings, encodings, runs, digits, sequences."""

from __future__ import annotations

import numpy as np

from examples.irregular.problem import Problem, blocks_for
from examples.workgroups import smith_waterman
from weft import cuda
from weft.cuda.kernel import Kernel

LINE = 256
CHUNK = 4096
"""Keys that a thread sorts by a digit."""
LENGTH = smith_waterman.LENGTH
MATCH = smith_waterman.MATCH
MISMATCH = smith_waterman.MISMATCH
GAP = smith_waterman.GAP


@cuda.jit
def find_pattern(text, pattern, found):
    """Say whether a text has a pattern at a place."""
    i = cuda.grid(1)
    if i < found.size:
        k = 0
        while k < pattern.size and text[i + k] == pattern[k]:
            k += 1
        found[i] = 1 if k == pattern.size else 0


@cuda.jit
def valid_utf8(text, starts, valid):
    """Say whether a string is UTF-8."""
    i = cuda.grid(1)
    if i < valid.size:
        place = starts[i]
        end = starts[i + 1]
        good = 1
        while place < end:
            first = np.int32(text[place])
            place += 1
            if first < 0x80:
                continue
            low = 0x80
            high = 0xBF
            if 0xC2 <= first <= 0xDF:
                more = 1
            elif 0xE0 <= first <= 0xEF:
                more = 2
                if first == 0xE0:
                    low = 0xA0
                elif first == 0xED:
                    high = 0x9F
            elif 0xF0 <= first <= 0xF4:
                more = 3
                if first == 0xF0:
                    low = 0x90
                elif first == 0xF4:
                    high = 0x8F
            else:
                good = 0
                break
            if place + more > end or text[place] < low or text[place] > high:
                good = 0
                break
            for k in range(1, more):
                if text[place + k] & 0xC0 != 0x80:
                    good = 0
            if good == 0:
                break
            place += more
        valid[i] = good


@cuda.jit
def decode_runs(values, starts, result):
    """Write one run of equal bytes."""
    i = cuda.grid(1)
    if i < values.size:
        for k in range(starts[i], starts[i + 1]):
            result[k] = values[i]


@cuda.jit
def count_digits(keys, shift, counts):
    """Count the digits of one chunk of keys."""
    chunk = cuda.grid(1)
    if chunk < counts.shape[0]:
        for digit in range(256):
            counts[chunk, digit] = 0
        for k in range(chunk * CHUNK, min((chunk + 1) * CHUNK, keys.size)):
            counts[chunk, (keys[k] >> shift) & np.uint32(255)] += 1


@cuda.jit
def add_up_counts(counts):
    """Turn counts into the place of the first key of each digit of each chunk; for one thread."""
    total = 0
    for digit in range(256):
        for chunk in range(counts.shape[0]):
            count = counts[chunk, digit]
            counts[chunk, digit] = total
            total += count


@cuda.jit
def distribute(keys, shift, counts, result):
    """Move the keys of one chunk to their places."""
    chunk = cuda.grid(1)
    if chunk < counts.shape[0]:
        for k in range(chunk * CHUNK, min((chunk + 1) * CHUNK, keys.size)):
            digit = (keys[k] >> shift) & np.uint32(255)
            place = counts[chunk, digit]
            counts[chunk, digit] = place + 1
            result[place] = keys[k]


@cuda.jit
def align(first, second, scores):
    """Score the best local alignment of a pair of sequences (Smith and Waterman 1981)."""
    pair = cuda.grid(1)
    if pair < scores.size:
        above = cuda.local.array(LENGTH + 1, np.int32)
        for column in range(LENGTH + 1):
            above[column] = 0
        best = 0
        for row in range(LENGTH):
            letter = first[pair, row]
            diagonal = 0
            left = 0
            for column in range(LENGTH):
                reward = MATCH if second[pair, column] == letter else MISMATCH
                score = max(0, diagonal + reward, above[column + 1] - GAP, left - GAP)
                diagonal = above[column + 1]
                above[column + 1] = score
                left = score
                best = max(best, score)
        scores[pair] = best


def texts(size: int) -> Problem:
    """Return a text of few letters, and a pattern that is often begun in it."""
    rng = np.random.default_rng(307)
    text = rng.integers(97, 101, size, np.uint8)
    pattern = np.frombuffer(b"abacadab", np.uint8).copy()
    for place in rng.integers(0, size - pattern.size, size // 500):
        text[place : place + pattern.size] = pattern
    found = np.zeros(size - pattern.size, np.uint8)

    def expected() -> tuple[np.ndarray, ...]:
        pieces = (text[k : k + found.size] == letter for k, letter in enumerate(pattern))
        return (np.logical_and.reduce(list(pieces)),)

    return Problem(find_pattern, (text, pattern, found), blocks_for(found.size, LINE), LINE, (2,), expected)


def strings(count: int, length: int) -> Problem:
    """Return strings of all alphabets, of which every tenth has a byte changed."""
    rng = np.random.default_rng(311)
    ranges = np.array([[32, 127], [32, 127], [0xA0, 0x7FF], [0x800, 0xD7FF], [0x10000, 0x10FFFF]])
    encoded = []
    for k in range(count):
        kinds = ranges[rng.integers(0, 3 if k % 3 else 5, rng.integers(1, length))]
        letters = bytearray("".join(map(chr, rng.integers(kinds[:, 0], kinds[:, 1]))).encode())
        if k % 10 == 0:
            letters[rng.integers(len(letters))] = rng.integers(256)
        encoded.append(bytes(letters))

    def is_valid(letters: bytes) -> bool:
        try:
            letters.decode()
        except UnicodeDecodeError:
            return False
        return True

    starts = np.concatenate([[0], np.cumsum(list(map(len, encoded)))]).astype(np.int32)
    # Behind the last string is room for what a letter may need.
    text = np.frombuffer(b"".join(encoded) + bytes(4), np.uint8).copy()
    arguments = text, starts, np.zeros(count, np.uint8)
    return Problem(
        valid_utf8,
        arguments,
        blocks_for(count, LINE),
        LINE,
        (2,),
        lambda: (np.array(list(map(is_valid, encoded))),),
    )


def runs(count: int, longest: int) -> Problem:
    """Return runs of random lengths."""
    rng = np.random.default_rng(313)
    lengths = rng.integers(1, longest, count)
    values = rng.integers(0, 256, count, np.uint8)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    arguments = values, starts, np.zeros(starts[-1], np.uint8)
    return Problem(
        decode_runs,
        arguments,
        blocks_for(count, LINE),
        LINE,
        (2,),
        lambda: (np.repeat(values, lengths),),
    )


def digits(count: int) -> Problem:
    """Return random keys, which are sorted by their second byte."""
    keys = np.random.default_rng(317).integers(0, 1 << 32, count, np.uint32)
    chunks = blocks_for(count, CHUNK)
    counts = np.zeros((chunks, 256), np.int32)

    def expected() -> tuple[np.ndarray, ...]:
        return (keys[np.argsort(keys >> 8 & 255, kind="stable")],)

    arguments = keys, np.uint32(8), counts, np.zeros_like(keys)
    return Problem(distribute, arguments, blocks_for(chunks, 64), 64, (3,), expected)


class RadixPass:
    """Launches the three kernels of one pass, compiled as the last one is."""

    def __init__(self) -> None:
        self.others: dict[Kernel, list[Kernel]] = {}

    def __call__(self, kernel: Kernel, problem: Problem) -> None:
        keys, shift, counts, result = problem.arguments
        if kernel not in self.others:
            options = kernel.options
            made = (
                cuda.jit(k.py_func, fastmath=True, width=options.width) for k in (count_digits, add_up_counts)
            )
            self.others[kernel] = list(made)
        count, add_up = self.others[kernel]
        count[problem.grid, problem.block](keys, shift, counts)
        add_up[1, 1](counts)
        kernel[problem.grid, problem.block](keys, shift, counts, result)


def sequences(pairs: int) -> Problem:
    """Return pairs of sequences, of which the second has letters changed and moved."""
    rng, letters = np.random.default_rng(331), smith_waterman.LETTERS
    first = rng.integers(0, letters, (pairs, LENGTH), dtype=np.uint8)
    second = np.where(rng.random(first.shape) < 0.3, rng.integers(0, letters, first.shape), first)
    second = np.roll(second, 5, axis=1).astype(np.uint8)
    return Problem(
        align,
        (first, second, np.zeros(pairs, np.int32)),
        blocks_for(pairs, LINE),
        LINE,
        (2,),
        lambda: (smith_waterman.by_numpy(first, second),),
    )
