"""Random loops do the same as kernels."""

import os

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from sequential.random_kernels import check

LAST = 400 if os.environ.get("WEFT_FUZZ") else 6


def test_kernels_do_what_loops_do(monkeypatch: pytest.MonkeyPatch) -> None:
    # Results are compared here.
    monkeypatch.setenv("WEFT_CHECK", "0")
    counts: dict[str, int] = {}
    assert check(0, LAST, counts) == []
    assert counts["cuda"] + counts["opencl"] >= LAST // 2 - 1


def test_the_identity_of_unsigned_minima_is_the_greatest_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    assert check(218, 219, {}) == []
