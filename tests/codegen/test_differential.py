"""Vectorized machine code does what scalar machine code and the interpreter do, on random programs.

Each program runs at one width and for one instruction set; with ``WEFT_FUZZ`` there are six times as many.
``python -m codegen.fuzz`` searches on without end.
"""

import os

import pytest

from codegen.differential import choice_of, judge

PROGRAMS = 500 if os.environ.get("WEFT_FUZZ") else 24
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_mean_the_same_vectorized(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(part, PROGRAMS, PARTS):
        # Every stage is verified for some of them: that costs a third more.
        monkeypatch.setenv("WEFT_CHECK", "1" if part % 4 == 0 else "0")
        choice = choice_of(seed)
        verdict = judge(choice)
        assert verdict.wrong is None, f"seed {seed}: {verdict.wrong}\n{choice.text()}"
