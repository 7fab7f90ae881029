"""Bounds that a loop's test computes from what is known before the loop."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.loops.analysis import analyze_file
from weft.loops.emission.source import emit_report

BOUNDS = [
    ("unsigned i = 0", "i < (unsigned)(m & 63)", "m - 64*floor(m / 64)", "m & 63"),
    ("int i = 0", "i < (n & ~3)", "max(0, 4*floor(n / 4))", "n & -4"),
    ("long i = 0", "i < (n & -8)", "max(0, 8*floor(n / 8))", "n & -8"),
    (
        "int i = 0",
        "i < n / 4 * 4",
        "max(0, 4*max(floor(n / 4), min(0, -floor(-n / 4))))",
        "_quotient(n, 4) * 4",
    ),
    ("int i = 0", "i < (int)x", "max(0, conv)", "int(x)"),
    ("int i = 0", "i < (n < m ? n : m)", "max(0, min(m, n))", ""),
]


@pytest.mark.parametrize(("start", "test", "iterations", "text"), BOUNDS)
def test_bounds_are_computed_once(tmp_path: Path, start: str, test: str, iterations: str, text: str) -> None:
    file = tmp_path / "f.c"
    file.write_text(f"void f(int n, int m, double x, int *a) {{ for ({start}; {test}; i++) a[i] = 1; }}\n")
    report = analyze_file(file, order=True)
    assert (report.loops[0].verdict.value, report.loops[0].iterations) == ("parallel", iterations)
    assert f"if i < {text}" in emit_report(report, "cuda").text


@pytest.mark.parametrize(
    ("counter", "verdict"),
    [
        ("unsigned i = 0; i < (unsigned)n; i++", "search"),
        ("unsigned i = 0; i <= (unsigned)n; i++", "sequential"),
        ("unsigned i = 0; i < (unsigned)n; i += 2", "sequential"),
        ("int i = 0; i < n; i++", "search"),
    ],
)
def test_counters_of_loops_that_are_left_early(tmp_path: Path, counter: str, verdict: str) -> None:
    """The test at the top says that the next value does not wrap around, if it is reached by ones."""
    file = tmp_path / "f.c"
    file.write_text(f"int f(int n, const int *a) {{ for ({counter}) if (a[i] == 7) return i; return -1; }}\n")
    (loop,) = analyze_file(file).loops
    assert loop.verdict.value == verdict


def test_what_the_loop_changes_is_no_bound(tmp_path: Path) -> None:
    file = tmp_path / "f.c"
    file.write_text("void f(int *n, int *a) { for (int i = 0; i < (*n & ~3); i++) a[i] = 1; }\n")
    (loop,) = analyze_file(file).loops
    assert loop.verdict.value == "parallel" and "a and n do not overlap" in str(loop.assumptions)
    file.write_text(
        "void f(int n, int *a) { for (int i = 0; i < (n & ~3); i++) { a[i] = 1; n = a[i + 1]; } }\n"
    )
    assert analyze_file(file).loops[0].verdict.value == "sequential"
