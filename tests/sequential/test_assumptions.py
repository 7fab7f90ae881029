"""Assumptions under which a loop would do next to nothing are none."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.analysis.sequential.verdicts import Verdict
from weft.loops.analysis import analyze_file
from weft.report.loops.nests import LoopReport


def outermost(tmp_path: Path, body: str) -> LoopReport:
    file = tmp_path / "loop.c"
    file.write_text(f"void f(int n, int m, unsigned long z, int *a, char *c) {{\n{body}\n}}\n")
    return next(r for r in analyze_file(file).loops if r.depth == 1)


@pytest.mark.parametrize(
    "body",
    [
        # Apart if n is at most 2.
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[2 * i + 3 * j] = i;",
        # Apart if n is at most -1: eight bytes each four bytes.
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) *(double *)(c + 4 * i + 2 * j) = i;",
        # Apart if n is at most 1.
        "for (int i = 0; i < n; i++) a[i * m] = a[n * m - i];",
        # No row has space for what the loop over j writes.
        "double (*r)[100] = (void *)a; for (int i = 0; i < n; i++) for (int j = i; j < n + 100; j++) r[i][j] = 0;",
    ],
)
def test_no_assumption_leaves_hardly_an_iteration(tmp_path: Path, body: str) -> None:
    found = outermost(tmp_path, body)
    assert found.verdict is Verdict.SEQUENTIAL
    assert not any("rows" in a.text for a in found.assumptions)


@pytest.mark.parametrize(
    ("body", "assumed"),
    [
        ("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) a[i * m + j] = i;", "m >= n: rows do not overlap"),
        # Loops that never have many iterations are judged by those that they have.
        ("for (int i = 0; i < 3; i++) for (int j = 0; j < n; j++) a[i * m + j] = i;", "m >= n: rows do not overlap"),
        # The column is the same in all rows.
        ("for (int i = 0; i < m; i++) a[i * 100] = a[i * 100 + n - 1] = i;", "100 >= n: rows do not overlap"),
    ],
)  # fmt: skip
def test_rows_are_still_assumed_to_be_apart(tmp_path: Path, body: str, assumed: str) -> None:
    found = outermost(tmp_path, body)
    assert found.verdict is Verdict.PARALLEL
    assert assumed in [a.text for a in found.assumptions]


def test_what_always_wraps_is_not_assumed_not_to(tmp_path: Path) -> None:
    """i - z is below 0 in each iteration, so as an unsigned number it is a large one."""
    found = outermost(tmp_path, "for (unsigned long i = 0; i < z; i++) if ((i - z) / 8 > 5) a[i] = 1;")
    assert found.verdict is Verdict.SEQUENTIAL
    assert "what is computed here is not negative; it never is so" in found.reasons[0].text
    found = outermost(tmp_path, "for (unsigned long i = 0; i < z; i++) if ((z - i) / 8 > 5) a[i] = 1;")
    assert found.verdict is Verdict.PARALLEL
