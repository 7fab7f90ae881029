"""Random loops that hand something on do in lanes what they do as they were written (`loops.random_patterns`)."""

import os

import pytest

from loops.random_patterns import check

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LOOPS = 400 if os.environ.get("WEFT_FUZZ") else 6


@pytest.mark.parametrize("width", [None, 8])
def test_random_loops(width: int | None) -> None:
    counts: dict[str, int] = {}
    assert not check(0, LOOPS, counts, width)
    # SSE2 leaves compactions in order.
    assert counts["in lanes"] >= LOOPS // 6
