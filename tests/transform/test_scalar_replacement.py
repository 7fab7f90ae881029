"""Scalar replacement on random kernels: the same memory, no thread reads more, nothing out of bounds."""

import os

import pytest

from transform.replaced_loads import check

FUZZ = int(os.environ.get("WEFT_FUZZ") or 0)


@pytest.mark.parametrize("seed", range(max(12, FUZZ)))
def test_random_kernels_do_the_same_with_fewer_loads(seed: int) -> None:
    check(seed)
