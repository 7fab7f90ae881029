"""Random loops in strips do what they do as they were written (`loops.random_strips`)."""

import os

import pytest

from loops.random_strips import check

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

LOOPS = 400 if os.environ.get("WEFT_FUZZ") else 6


@pytest.mark.parametrize("width", [None, 8])
def test_random_loops(width: int | None) -> None:
    counts: dict[str, int] = {}
    assert not check(0, LOOPS, counts, width)
    assert counts["in strips"] >= LOOPS // 12


def test_more_dependences_than_are_looked_for_keep_a_loop_as_it_is() -> None:
    counts: dict[str, int] = {}
    assert not check(9219, 9220, counts)
    assert "in strips" not in counts
