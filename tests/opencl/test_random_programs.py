"""Random kernels in OpenCL C: machine code does what the interpreter does.

With ``WEFT_FUZZ=n`` there are n programs, larger ones, from seed ``WEFT_FUZZ_FROM`` on.
"""

import os

import pytest

pytest.importorskip("ziglang")

from codegen.opencl_programs import BATCH, choice_of, differences

LARGE = bool(os.environ.get("WEFT_FUZZ"))
PROGRAMS = int(os.environ.get("WEFT_FUZZ") or 6)
FIRST = int(os.environ.get("WEFT_FUZZ_FROM") or 0)


@pytest.mark.parametrize("first", range(FIRST, FIRST + PROGRAMS, BATCH))
def test_random_programs_mean_the_same_in_lanes(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "0")
    choices = [choice_of(seed, LARGE) for seed in range(first, min(first + BATCH, FIRST + PROGRAMS))]
    assert not list(differences(choices))
