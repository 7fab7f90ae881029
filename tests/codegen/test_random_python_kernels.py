"""Random kernels of Python, of work-groups and over grids, do through every door what they do in plain Python."""

from __future__ import annotations

import os
from typing import Any

import pytest

from codegen.kernel_doors import compare
from generators.python_grids import PythonGrid
from generators.python_groups import PythonGroup

PROGRAMS = int(os.environ.get("WEFT_FUZZ") or 0) or 2


@pytest.mark.parametrize("drawn", [PythonGrid, PythonGroup])
def test_random_kernels(drawn: Any) -> None:
    counts: dict[str, int] = {}
    for seed in range(PROGRAMS):
        compare(drawn(seed), counts)
    assert sum(counts.values()) >= PROGRAMS
