"""Random loops of C whose counters wrap do in lanes what they do as they were written (`loops.random_counters`)."""

from __future__ import annotations

import os

import pytest

from loops.random_counters import check

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LOOPS = int(os.environ.get("WEFT_FUZZ") or 0) or 6


@pytest.mark.parametrize("width", [None, 8])
def test_random_loops(width: int | None) -> None:
    counts: dict[str, int] = {}
    assert not check(0, LOOPS, counts, width)
    assert counts["in lanes"] >= LOOPS // 4
