"""Random loops of Python, and functions for `vectorize`, do through every door what they do in plain Python."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Any

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from generators import python_far_nests, python_kinds, python_ranges, python_scalars, python_stacks
from loops.python_doors import compare

PROGRAMS = int(os.environ.get("WEFT_FUZZ") or 0) or 4
DRAWN: dict[Any, Sequence[int]] = {
    python_far_nests.PythonFarNest: python_far_nests.SIZES,
    python_kinds.PythonKinds: python_kinds.SIZES,
    python_ranges.PythonRange: python_ranges.SIZES,
    python_scalars.PythonScalar: python_scalars.SIZES,
    python_stacks.PythonStack: python_stacks.SIZES,
}


@pytest.mark.parametrize("drawn", DRAWN)
def test_random_loops(drawn: Any) -> None:
    counts: dict[str, int] = {}
    for seed in range(PROGRAMS):
        program = drawn(seed)
        compare(program, [(functools.partial(program.arguments, n), n) for n in DRAWN[drawn]], counts)
    assert sum(counts.values()) == PROGRAMS
