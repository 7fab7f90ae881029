"""Random kernels: lanes, one thread after the other and the interpreter leave the same memory."""

from __future__ import annotations

import os

import pytest

from ptx.random_kernels import WIDTHS, differences

_BATCH = 10
_EACH = _BATCH if os.environ.get("WEFT_FUZZ") else 1
"""Kernels of a batch that run."""


@pytest.mark.parametrize("seed", range(int(os.environ.get("WEFT_FUZZ", "0")) or 2))
def test_lanes_do_what_the_interpreter_does(seed: int) -> None:
    """Each pass as well, with WEFT_CHECK=1."""
    assert differences(seed, (None, 1)) == []


@pytest.mark.parametrize("first", range(100, 200, _BATCH))
def test_results_at_several_widths(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    for seed in range(first, first + _EACH):
        assert differences(seed, (WIDTHS[seed % len(WIDTHS)],)) == [], seed
