"""Each kernel whose problem does not depend on the group's size does the same at sizes of every kind.

Sizes below, at and above the vector width and a warp, and such as are no multiple of either.
"""

import os
import zlib

import pytest

from conformance.cases import Case
from conformance.runner import assert_same, compiled, compiled_many, expected
from conformance.suite import every_case

SIZES = (1, 7, 32, 100, 256, 1024)

CASES = {name: case for name, case in every_case().items() if case.any_block and case.threads is not None}


SHARE = 1 if os.environ.get("WEFT_FUZZ") else 3
"""Of so many cases one has its passes checked here too."""

SAMPLE = {name: case for name, case in CASES.items() if zlib.crc32(name.encode()) % SHARE == 0}

WHOLE_AND_PARTIAL = 100
"""A size that gives both whole and partial lane groups at every width but 1, 2 and 4."""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_agrees_at_every_block_size(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    # The interpreter would take minutes for all of them.
    monkeypatch.setenv("WEFT_CHECK", "0")
    launches = [case.at_block(size) for size in SIZES]
    for launch, got in zip(launches, compiled_many(launches), strict=True):
        assert_same(got, expected(launch), case.ulp, f"block of {launch.block}")


@pytest.mark.parametrize("case", SAMPLE.values(), ids=SAMPLE)
def test_no_pass_changes_it_with_partial_lane_groups(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    launch = case.at_block(WHOLE_AND_PARTIAL)
    assert_same(compiled(launch), expected(launch), case.ulp, f"block of {launch.block}")
