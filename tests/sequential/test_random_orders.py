"""Random nests of three loops, whose loops may change places."""

import os

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from sequential.random_orders import check

SEEDS = range(100) if os.environ.get("WEFT_FUZZ") else (2, 21, 34, 37, 42, 55, 60, 92)


def test_loops_do_what_they_do_in_the_order_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    # Machine code is compared here.
    monkeypatch.setenv("WEFT_CHECK", "0")
    counts: dict[str, int] = {}
    assert not [text for seed in SEEDS for text in check(seed, seed + 1, counts)]
    assert counts["changed"] >= 3
    assert counts["taken apart"] >= 3
    assert counts["tiled"] >= 3
    assert counts["copied"] >= 2
