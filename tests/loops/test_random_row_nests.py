"""Random nests of Python over rows do, through every door, what they do in plain Python (`generators.python_nests`)."""

from __future__ import annotations

import functools
import os
import random

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from generators.python_nests import SIZES, PythonNest
from loops.python_doors import compare

PROGRAMS = max(4, int(os.environ.get("WEFT_FUZZ") or 0))
PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_random_nests(part: int) -> None:
    counts: dict[str, int] = {}
    for seed in range(part, PROGRAMS, PARTS):
        program = PythonNest(seed)
        sizes = [*random.Random(seed).sample(SIZES, 2), (0, 4), (1, 1)]
        compare(program, [(functools.partial(program.arguments, *s), s[0]) for s in sizes], counts)
    assert sum(counts.values()) == len(range(part, PROGRAMS, PARTS))
