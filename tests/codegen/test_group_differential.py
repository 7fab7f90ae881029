"""Kernels with barriers: machine code does what the interpreter does, on random programs.

Each program runs at one width, for one instruction set, with two shapes of work-groups. With ``WEFT_FUZZ=n`` there are
n programs, larger ones and work-groups of up to 1024 threads among them, from seed ``WEFT_FUZZ_FROM`` on, so that a
long search can be taken up where another ended.
"""

import os

import pytest

from codegen.group_differential import check, choice_of

LARGE = bool(os.environ.get("WEFT_FUZZ"))
PROGRAMS = int(os.environ.get("WEFT_FUZZ") or 20)
FIRST = int(os.environ.get("WEFT_FUZZ_FROM") or 0)
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS))
def test_random_work_groups_mean_the_same_vectorized(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every stage is verified for some of them: that costs a third more.
    monkeypatch.setenv("WEFT_CHECK", "1" if part % 4 == 0 else "0")
    for seed in range(FIRST + part, FIRST + PROGRAMS, PARTS):
        choice = choice_of(seed, LARGE)
        wrong = check(choice)
        assert wrong is None, f"{wrong}\n{choice.text}"
