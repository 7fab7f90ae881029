"""Random functions of whole arrays do what NumPy does (`generators.python_arrays`)."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

import weft
from generators.python_arrays import SIZES, PythonArrays
from loops.python_doors import functions, levels, same

PROGRAMS = int(os.environ.get("WEFT_FUZZ") or 0) or 3


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_random_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    # Results are compared here, and not what each pass does.
    monkeypatch.setenv("WEFT_CHECK", "0")
    for seed in range(PROGRAMS):
        program, rng = PythonArrays(seed), random.Random(f"arrays {seed}")
        text = program.text()
        function = functions(text, f"<arrays {seed}>")["plain"]
        monkeypatch.setenv("WEFT_CPU", rng.choice(levels() or [""]))
        compiled = weft.jit(function, **({"parallel": "auto"} if rng.random() < 0.3 else {}))
        for size in SIZES:
            given, wanted = program.arguments(size), program.arguments(size)
            try:
                function(*wanted)
            except (IndexError, ValueError) as error:
                with pytest.raises(type(error)):
                    compiled(*given)
                continue
            compiled(*given)
            for number, (a, b) in enumerate(zip(given, wanted, strict=True)):
                where = f"seed {seed}, {size}, argument {number}"
                assert not isinstance(a, np.ndarray) or same(a, b), f"{where}\n{a}\nnot\n{b}\n{text}"


def third(a, n):
    a[::3] = a[: (n + 2) // 3]


def test_tests_in_front_of_loops_divide_by_no_zero() -> None:
    """One with a quotient by 0 in it left LLVM nothing but the way on which there is no memory."""
    a = np.arange(20.0)
    weft.jit(third, parallel="auto")(a, 20)
    assert a.tolist() == [x // 3 if x % 3 == 0 else x for x in range(20)]
