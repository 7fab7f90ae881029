"""Minima of floats, and what a NaN does to them."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.loops.analysis import analyze_file

HEAD = "float f(int n, float *a, int *b) { float best = a[0]; int at = 0; for (int i = 1; i < n; i++) {"
TAIL = "} return best + at; }\n"


@pytest.mark.parametrize(
    ("body", "takes_nan"),
    [
        ("best = a[i] < best ? a[i] : best;", False),
        ("best = best < a[i] ? best : a[i];", True),
        ("best = best > a[i] ? best : a[i];", True),
        ("best = !(a[i] >= best) ? a[i] : best;", True),
        ("if (a[i] < best) { best = a[i]; at = i; }", False),
        ("if (!(best <= a[i])) { best = a[i]; at = i; }", True),
    ],
)
def test_a_nan_replaces_it_or_is_left_out(tmp_path: Path, body: str, takes_nan: bool) -> None:
    file = tmp_path / "f.c"
    file.write_text(HEAD + body + TAIL)
    (loop,) = analyze_file(file).loops
    assert loop.verdict.value == "reduction"
    assert ("nan" in {a.kind for a in loop.assumptions}) == takes_nan


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("if (fabsf(a[i]) > best) best = fabsf(a[i]);", "reduction"),
        ("if (abs(b[i]) > at) at = abs(b[i]);", "reduction"),
        ("if (a[i] * a[i] - 1 < best) { best = a[i] * a[i] - 1; at = i; }", "reduction"),
        ("if (fabsf(a[i]) > best) best = sqrtf(a[i]);", "sequential"),
        ("if (a[i] - 1 < best) best = a[i] - 2;", "sequential"),
        ("if (a[i] > best) { b[0] = i; best = a[i]; }", "sequential"),
    ],
)
def test_what_is_compared_is_computed_twice(tmp_path: Path, body: str, verdict: str) -> None:
    file = tmp_path / "f.c"
    file.write_text(f"#include <math.h>\n#include <stdlib.h>\n{HEAD}{body}{TAIL}")
    (loop,) = analyze_file(file).loops
    assert loop.verdict.value == verdict


def sequential(values: list[float], takes_nan: bool) -> float:
    best = values[0]
    for x in values[1:]:
        best = (best if best < x else x) if takes_nan else (x if x < best else best)
    return best


def test_why() -> None:
    nan = float("nan")
    # In parts, [1, NaN] and [5], it is 5; without the NaN it is 1.
    assert sequential([1, nan, 5], True) == 5
    assert sequential([5, nan, 1], True) == 1 and sequential([1, nan, 5], False) == 1
