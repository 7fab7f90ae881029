"""Random loop nests whose parallel loops run in lanes do what they did before."""

import os

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from sequential.random_auto import check

LAST = 1000 if os.environ.get("WEFT_FUZZ") else 8


def test_random_nests(monkeypatch: pytest.MonkeyPatch) -> None:
    # The whole way is compared here, and not each pass.
    monkeypatch.setenv("WEFT_CHECK", "0")
    counts: dict[str, int] = {}
    assert check(0, LAST, counts) == []
    assert counts["in lanes"] >= LAST // 4 and counts["runs"] >= 3 * LAST
