"""Random loops of Python do, through every door, what they do in plain Python (`generators.python_loops`).

Without the mend of what NewGVN does to stores, or that of remainders of unsigned numbers, they differ within a hundred.
"""

from __future__ import annotations

import functools
import os
import random

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from generators.python_loops import SIZES, PythonLoop
from loops.python_doors import compare

PROGRAMS = max(4, int(os.environ.get("WEFT_FUZZ") or 0))
PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_random_loops(part: int) -> None:
    counts: dict[str, int] = {}
    for seed in range(part, PROGRAMS, PARTS):
        program = PythonLoop(seed)
        sizes = [*random.Random(seed).sample(SIZES, 2), 0, 1]
        compare(program, [(functools.partial(program.arguments, n), n) for n in sizes], counts)
    assert sum(counts.values()) == len(range(part, PROGRAMS, PARTS))
