"""Which values on the way are a scan: what they are combined with has to be there without them."""

from pathlib import Path

import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
pytest.importorskip("ziglang", reason="clang comes with the ziglang wheel (extra 'clang')")

from weft.loops.analysis import analyze_file

SOURCE = """void f(int n, {t} *restrict a, {t} *restrict b, {t} *restrict c, {t} first) {{
  {t} s = first; int i;
  for (i = 1; i < n; i++) {{ {body} }}
}}
"""

SCANS = [
    ("int", "s += a[i]; b[i] = s;"),
    ("int", "if (a[i] > 3) { c[i] = 1; } s += a[i]; b[i] = s;"),
    (
        "int",
        "int t; if (a[i] > 3) { t = 1; c[2 * i] = 1; } else { t = 2; c[2 * i + 1] = 3; } s += t; b[i] = s;",
    ),
    ("int", "b[i] = a[i] * 2; s += b[i]; c[i] = s;"),
    ("int", "s += b[i]; b[i] = s;"),
    ("double", "if (a[i] > s) s = a[i]; b[i] = s;"),
    ("double", "s = a[i] <= s ? a[i] : s; b[i] = s;"),
    ("float", "b[i] = s; s = s < a[i] ? a[i] : s;"),
    ("short", "a[i] = a[i - 1] - b[i];"),
    ("unsigned char", "a[i] ^= a[i - 1];"),
]

OTHERS = [
    # What is added is chosen by the sum so far.
    (
        "int",
        "int t; if (s > 5) { t = 1; c[2 * i] = 1; } else { t = a[i]; c[2 * i + 1] = 3; } s += t; b[i] = s;",
    ),
    # It is counted how often a loop runs that ends by the sum so far.
    ("int", "int k = 0; while (k < s % 5) k++; s += k; b[i] = s;"),
    # What is added was stored by the same iteration, from the sum so far.
    ("int", "b[i] = s; s += b[i];"),
    ("int", "b[i] = a[i]; if (s > 5) b[i] = 0; s += b[i];"),
    ("double", "if (a[i] > s) s = b[i]; c[i] = s;"),
    ("double", "if (a[i] == s) s = a[i]; c[i] = s;"),
    ("double", "if (a[i] > s + 1) s = a[i]; c[i] = s;"),
    ("short", "a[i] = b[i] - a[i - 1];"),
    ("short", "a[i] = (a[i - 1] + b[i]) / 2;"),
    ("short", "a[i] = a[i - 1] + b[i]; c[i] = a[i - 1];"),
]


def verdict(tmp_path: Path, element: str, body: str) -> str:
    file = tmp_path / "f.c"
    file.write_text(SOURCE.format(t=element, body=body))
    return analyze_file(file).loops[0].verdict.value


@pytest.mark.parametrize(("element", "body"), SCANS)
def test_scans(tmp_path: Path, element: str, body: str) -> None:
    assert verdict(tmp_path, element, body) == "scan"


@pytest.mark.parametrize(("element", "body"), OTHERS)
def test_others_are_none(tmp_path: Path, element: str, body: str) -> None:
    assert verdict(tmp_path, element, body) == "sequential"
