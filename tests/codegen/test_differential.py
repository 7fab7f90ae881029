"""Vectorized machine code does what scalar machine code and the interpreter do, on random programs.

Each program runs at one width and for one instruction set. With ``WEFT_FUZZ=n`` there are n programs, from seed
``WEFT_FUZZ_FROM`` on, so that a long search can be taken up where another ended.
"""

import os

import pytest

from codegen.differential import check, choice_of, text_of

PROGRAMS = int(os.environ.get("WEFT_FUZZ") or 300)
FIRST = int(os.environ.get("WEFT_FUZZ_FROM") or 0)
PARTS = 16


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_mean_the_same_vectorized(part: int) -> None:
    for seed in range(FIRST + part, FIRST + PROGRAMS, PARTS):
        choice = choice_of(seed)
        wrong = check(choice)
        assert wrong is None, f"{wrong}\n{text_of(choice)}"
