"""Scalar replacement in machine code: random kernels of loops over arrays do what the interpreter says."""

import os

import pytest

from codegen.array_loops_code import check_code

FUZZ = int(os.environ.get("WEFT_FUZZ") or 0)


@pytest.mark.parametrize("seed", range(max(12, FUZZ)))
def test_random_kernels_compute_the_same(seed: int) -> None:
    check_code(seed)
