"""Random loops over time, whose steps may be done in waves."""

import os

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from sequential.random_times import check

SEEDS = range(100) if os.environ.get("WEFT_FUZZ") else (0, 10, 13, 61)


def test_waves_do_what_the_loop_does_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    # Machine code is compared here.
    monkeypatch.setenv("WEFT_CHECK", "0")
    counts: dict[str, int] = {}
    assert not [text for seed in SEEDS for text in check(seed, seed + 1, counts)]
    assert counts["in waves"] + counts["at once"] >= 2
