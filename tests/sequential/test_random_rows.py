"""Random loops whose rows may be added up several at a time."""

import os

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from sequential.random_rows import check, check_triangles

SEEDS = range(300) if os.environ.get("WEFT_FUZZ") else (3, 4, 6, 10, 12, 13, 14, 15, 20, 29)


def test_rows_together_are_what_they_are_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    # Machine code is compared here.
    monkeypatch.setenv("WEFT_CHECK", "0")
    counts: dict[str, int] = {}
    assert not [text for seed in SEEDS for text in check(seed, seed + 1, counts)]
    assert counts["together"] >= 3


def test_rows_that_begin_together_are_what_they_are_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    counts: dict[str, int] = {}
    assert not [text for seed in SEEDS for text in check_triangles(seed, seed + 1, counts)]
    assert counts["together"] >= 3
