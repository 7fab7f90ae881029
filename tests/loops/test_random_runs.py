"""Random loops of C over runs do at once, and in lanes, what they do as they were written (`loops.random_runs`)."""

from __future__ import annotations

import os

import pytest

from loops.random_runs import check

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LOOPS = int(os.environ.get("WEFT_FUZZ") or 0) or 12


@pytest.mark.parametrize("cpu", ["host", "sse2"])
def test_random_runs(cpu: str) -> None:
    counts: dict[str, int] = {}
    assert not check(0, LOOPS, counts, (cpu,))
    assert counts["@llvm.memmove"] >= LOOPS // 6 and counts["@weft.fill("] >= LOOPS // 24
