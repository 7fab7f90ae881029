"""The kernels over bytes as loops, for numba and weft.jit; `prange` where they are parallel."""

from __future__ import annotations

import numpy as np
from numba import prange

from bench.suite.octets import CHUNK, GAP, LENGTH, MATCH, MISMATCH


def find_pattern(text, pattern, found):
    for i in prange(found.size):
        k = 0
        while k < pattern.size and text[i + k] == pattern[k]:
            k += 1
        found[i] = 1 if k == pattern.size else 0


def valid_utf8(text, starts, valid):
    for i in prange(valid.size):
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


def decode_runs(values, starts, result):
    for i in prange(values.size):
        for k in range(starts[i], starts[i + 1]):
            result[k] = values[i]


def radix_pass(keys, shift, counts, result):
    for chunk in prange(counts.shape[0]):
        for digit in range(256):
            counts[chunk, digit] = 0
        for k in range(chunk * CHUNK, min((chunk + 1) * CHUNK, keys.size)):
            counts[chunk, (keys[k] >> shift) & np.uint32(255)] += 1
    total = 0
    for digit in range(256):
        for chunk in range(counts.shape[0]):
            count = counts[chunk, digit]
            counts[chunk, digit] = total
            total += count
    for chunk in prange(counts.shape[0]):
        for k in range(chunk * CHUNK, min((chunk + 1) * CHUNK, keys.size)):
            digit = (keys[k] >> shift) & np.uint32(255)
            place = counts[chunk, digit]
            counts[chunk, digit] = place + 1
            result[place] = keys[k]


def align(first, second, scores):
    for pair in prange(scores.size):
        above = np.zeros(LENGTH + 1, np.int32)
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
