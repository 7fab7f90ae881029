"""Scalar replacement on random kernels: the same memory, no thread reads more, nothing out of bounds."""

import os

import pytest

from transform.replaced_loads import NAMES, check

FUZZ = int(os.environ.get("WEFT_FUZZ") or 0)


@pytest.mark.parametrize("seed", range(max(3, FUZZ)))
def test_random_kernels_do_the_same_with_fewer_loads(seed: int) -> None:
    check(seed)


@pytest.mark.parametrize("name", NAMES)
def test_a_hundred_small_ones_by_one_policy_each(name: str) -> None:
    small = [seed for seed in range(100, 234) if seed % 4]
    for seed in small[NAMES.index(name) :: len(NAMES)]:
        check(seed, (name,))
