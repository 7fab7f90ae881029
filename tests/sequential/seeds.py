"""Goes through the seeds of a random driver, from the first argument of the command line up to the second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

BATCH = 50


def go_through(check: Callable[[int, int, dict[str, int]], list[str]]) -> None:
    """Print what `check` finds wrong of the seeds, and its counts behind each batch."""
    first, last = (int(a) for a in sys.argv[1:3])
    counts: dict[str, int] = {}
    begin = time.monotonic()
    for seed in range(first, last, BATCH):
        for text in check(seed, min(seed + BATCH, last), counts):
            print(text, flush=True)
        print(seed + BATCH, counts, f"{time.monotonic() - begin:.0f} s", flush=True)
