"""Reductions of numbers that C computes with in a wider type."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.loops.analysis import analyze_file

SOURCE = (
    "{result} f(int n, {element} *a, int *b) {{ {result} v = a[0];"
    " for (int i = 1; i < n; i++) {{ {body} }} return v; }}\n"
)

REDUCTIONS = [
    ("unsigned char", "unsigned char", "v += a[i];"),
    ("unsigned char", "int", "v -= a[i];"),
    ("short", "short", "v ^= a[i];"),
    ("unsigned short", "unsigned char", "v *= a[i];"),
    ("short", "short", "if (a[i] > v) v = a[i];"),
    ("int", "short", "if (a[i] > v) v = a[i];"),
    ("unsigned char", "unsigned char", "if (a[i] < v) v = a[i];"),
]

OTHERS = [
    ("unsigned char", "unsigned char", "v += a[i]; b[i] = v;", "scan"),
    ("unsigned char", "unsigned char", "b[i] = v + 1; v += a[i];", "scan"),
    ("unsigned char", "unsigned char", "v = (v + a[i]) / 2;", "sequential"),
    ("unsigned char", "unsigned char", "v = a[i] - v;", "sequential"),
    ("unsigned char", "unsigned char", "v += a[i] * v;", "sequential"),
    ("short", "short", "int w = v; if (a[i] > w) v = a[i]; b[i] = w;", "scan"),
    ("short", "short", "v = a[i] > v ? a[i] : v; b[i] = v;", "scan"),
    ("short", "short", "v = a[i] > v ? a[i] : v + 1; b[i] = v;", "sequential"),
    ("short", "short", "v = a[i] > v ? a[i + 1] : v; b[i] = v;", "sequential"),
    ("unsigned char", "int", "if (a[i] < v) v = a[i];", "sequential"),
]


def verdict_of(tmp_path: Path, result: str, element: str, body: str) -> str:
    file = tmp_path / "f.c"
    file.write_text(SOURCE.format(result=result, element=element, body=body))
    (loop,) = analyze_file(file).loops
    return loop.verdict.value


@pytest.mark.parametrize(("result", "element", "body"), REDUCTIONS)
def test_what_is_cut_off_does_not_matter(tmp_path: Path, result: str, element: str, body: str) -> None:
    assert verdict_of(tmp_path, result, element, body) == "reduction"


@pytest.mark.parametrize(("result", "element", "body", "verdicts"), OTHERS)
def test_others_are_none(tmp_path: Path, result: str, element: str, body: str, verdicts: str) -> None:
    assert verdict_of(tmp_path, result, element, body) in verdicts.split()
