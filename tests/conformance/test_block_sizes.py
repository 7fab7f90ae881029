"""Each kernel whose problem does not depend on the group's size does the same at sizes of every kind.

Sizes below, at and above the vector width and a warp, and such as are no multiple of either; kernels take two of them,
by turns. Of the cases of one kernel, which differ in types, the first runs; of kernels whose threads have nothing to do
with each other, one in `APART`. Passes are checked for a sample. With ``WEFT_FUZZ`` both are done for all cases, the
one at all sizes, the other at those that ``WEFT_BLOCKS=7,100`` names.
"""

import os
import zlib
from collections.abc import Sequence

import pytest

from conformance.cases import Case
from conformance.runner import assert_same, compiled_many, expected
from conformance.suite import every_case

CHOSEN = os.environ.get("WEFT_BLOCKS")
EVERY = bool(CHOSEN or os.environ.get("WEFT_FUZZ"))

SIZES = ((1, 7, 32, 100, 256, 1024),) if EVERY else ((1, 100), (7, 256))
"""Work-groups of 1024 threads take Python and the interpreter longest, and are rows of whole lane groups as 256 are."""

TOGETHER = ("atomics", "local_const", "shared_barriers", "warp")
"""Areas in which threads of a work-group meet, or have memory of their own in it."""

APART = 40


def is_wanted(name: str, case: Case) -> bool:
    """Whether the case runs here."""
    if EVERY:
        return True
    return not case.number and (name.split(".")[0] in TOGETHER or zlib.crc32(name.encode()) % APART == 0)


CASES = {
    name: case
    for name, case in every_case().items()
    if case.any_block and case.threads is not None and is_wanted(name, case)
}

CHECKED_SIZES = tuple(map(int, (CHOSEN or "100").split(",")))
"""A size that gives both whole and partial lane groups at every width but 1, 2 and 4, if none is chosen."""

SHARE = 1 if EVERY else 5
"""Of so many cases one has its passes checked here too."""

SAMPLE = {name: case for name, case in CASES.items() if zlib.crc32(name.encode()) % SHARE == 0}


def assert_agrees(case: Case, sizes: Sequence[int]) -> None:
    launches = [case.at_block(size) for size in sizes]
    for launch, got in zip(launches, compiled_many(launches), strict=True):
        assert_same(got, expected(launch), case.ulp, f"block of {launch.block}")


@pytest.mark.parametrize(
    ("case", "sizes"), [(case, SIZES[n % len(SIZES)]) for n, case in enumerate(CASES.values())], ids=CASES
)
def test_agrees_at_every_block_size(
    case: Case, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The interpreter would take minutes for all of them.
    monkeypatch.setenv("WEFT_CHECK", "0")
    assert_agrees(case, sizes)


@pytest.mark.parametrize("case", SAMPLE.values(), ids=SAMPLE)
def test_no_pass_changes_it(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    assert_agrees(case, CHECKED_SIZES)
