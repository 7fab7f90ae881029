"""Random kernels: what lanes of several widths leave in memory beside what the interpreter does.

    PYTHONPATH=tests python -m ptx.random_kernels FIRST END

runs the seeds from FIRST to before END, says where they are after each hundred, and ends with those that differ.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from generators.ptx_kernels import ROW, random_kernel
from weft.cuda.ptx.module import Module

THREADS, BLOCKS = 64, 2
WIDTHS = (1, 4, 8, 32)


def results(text: str, seed: int, **options: Any) -> np.ndarray[Any, Any]:
    """What a kernel writes."""
    x = np.random.default_rng(seed).integers(0, 200, 4 * THREADS * BLOCKS, np.uint32)
    out = np.zeros(ROW * THREADS * BLOCKS, np.uint32)
    Module(text, **options).k[BLOCKS, THREADS](out, x)
    return out


def differences(seed: int, widths: Sequence[int | None] = ()) -> list[str]:
    """What is wrong with the kernel of a seed, at the width that weft chooses and one that the seed does."""
    text = random_kernel(random.Random(seed), THREADS)
    wanted = results(text, seed, debug=True)
    found = []
    for width in widths or (None, WIDTHS[seed % len(WIDTHS)]):
        got = results(text, seed, width=width)
        if not np.array_equal(got, wanted):
            first = int(np.flatnonzero(got != wanted)[0])
            found.append(f"width {width}: word {first} is {got[first]}, and {wanted[first]} was wanted")
    return found


def main(first: int, end: int) -> int:
    """Run a range of seeds."""
    wrong = 0
    for seed in range(first, end):
        try:
            found = differences(seed)
        except Exception as error:
            found = [f"{type(error).__name__}: {error}"]
        for text in found:
            print(f"seed {seed}: {text}", flush=True)
        wrong += bool(found)
        if seed % 100 == 99:
            print(f"{seed + 1 - first} kernels, {wrong} wrong, {time.process_time():.0f} s", flush=True)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
