"""Each kernel whose problem does not depend on the group's size does the same at sizes of every kind.

Sizes below, at and above the vector width and a warp, and such as are no multiple of either.
"""

import pytest

from conformance.cases import Case
from conformance.runner import assert_same, compiled_many, expected
from conformance.suite import every_case

SIZES = (1, 7, 32, 100, 256, 1024)

CASES = {name: case for name, case in every_case().items() if case.any_block and case.threads is not None}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_agrees_at_every_block_size(case: Case) -> None:
    launches = [case.at_block(size) for size in SIZES]
    for launch, got in zip(launches, compiled_many(launches), strict=True):
        assert_same(got, expected(launch), case.ulp, f"block of {launch.block}")
