"""Random loop nests: what is said of them is what the interpreter sees."""

import os

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from sequential.random_nests import check

LAST = 2000 if os.environ.get("WEFT_FUZZ") else 8


def test_random_nests() -> None:
    counts: dict[str, int] = {}
    assert check(0, LAST, counts) == []
    # Enough is compared for that to mean something.
    assert counts["parallel"] > 50 and counts["trips"] > 200 and counts["values"] > 3000
    assert counts["exact"] > 0.7 * (counts["begin"] + counts["end"])


def test_a_test_for_inequality_that_does_not_leave_the_loop() -> None:
    # In this nest one stands in the block of the loop's own test, and was once taken for it.
    assert check(1377, 1378, {}) == []
