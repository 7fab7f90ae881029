"""Integers are combined ahead of what earlier iterations have found; results are those of the loop as written."""

import ctypes
import os
import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from loops.test_auto import agree, auto
from loops.test_rows_together import made_of, told
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.passes.forms import combined_ahead
from weft.target.jit import load_object

WIDTH = 20


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(combined_ahead, "COUNT", 4)


AHEAD = {
    "the greatest": (
        "for (int j = i + 1; j < n; j++) { t[i][j] = t[i][j - 1] > t[i][j] ? t[i][j - 1] : t[i][j];"
        "for (int k = i + 1; k < j; k++)"
        " t[i][j] = t[i][j] >= t[i][k] + t[k + 1][j] ? t[i][j] : t[i][k] + t[k + 1][j]; }"
    ),
    "the least": (
        "for (int j = i + 1; j < n; j++) { int s = 9999;"
        "for (int k = i; k < j; k++) { int x = t[i][k] + t[k + 1][j] + p[k]; s = x < s ? x : s; } t[i][j] = s; }"
    ),
    "a sum in memory": (
        "for (int j = i; j < n; j++) { t[i][j] = p[j]; for (int k = i; k < j; k++) t[i][j] += t[i][k] * t[k + 1][j]; }"
    ),
    "bits": (
        "for (int j = i; j < n; j++) { int s = t[i][j]; for (int k = i; k < j; k++) s |= t[i][k] & t[k + 1][j];"
        " t[i][j] = s ^ 5; p[j] = s; }"
    ),
    "rows behind the first one": (
        "for (int j = 3; j < n; j++) { int s = 1; for (int k = 7; k < j; k++) s ^= t[k][j] + p[k]; p[j] = s; }"
    ),
}

REFUSED = {
    "an element that is not known yet": (
        "for (int j = i; j < n; j++) { int s = 0; for (int k = i; k < j; k++) s += t[i][k + 1] * t[k + 1][j];"
        " t[i][j] = s; }"
    ),
    "what is written before it in the same iteration": (
        "for (int j = i + 1; j < n; j++) { p[j - 1] = j; int s = 0;"
        " for (int k = i; k < j; k++) s += p[k] * t[k + 1][j]; t[i][j] = s; }"
    ),
    "floats": (
        "for (int j = i; j < n; j++) { float s = f[j]; for (int k = i; k < j; k++) s += t[k + 1][j] * f[k]; f[j] = s; }"
    ),
    "under a condition": (
        "for (int j = i; j < n; j++) { int s = 0;"
        " if (p[j] & 1) for (int k = i; k < j; k++) s += t[i][k] * t[k + 1][j]; t[i][j] = s; }"
    ),
    "of what the iteration loads": (
        "for (int j = i; j < n; j++) { int s = 0, w = p[j];"
        " for (int k = i; k < j; k++) s += t[i][k] * t[k + 1][j] * w; t[i][j] = s; }"
    ),
    "neighbours in each round": (
        "for (int j = i; j < n; j++) { int s = 0; for (int k = i; k < j; k++) s += t[i][k] * p[k]; t[i][j] = s; }"
    ),
}


def source(body: str) -> str:
    return (
        f"void run(int n, int (* restrict t)[{WIDTH}], int *restrict p, float *restrict f)"
        f" {{\n  for (int i = n - 1; i >= 0; i--) {{ {body} }}\n}}\n"
    )


def agrees(original: str, made, sizes: tuple[int, ...]) -> None:
    """Compare what the compiled code does with what the program does on the interpreter."""
    code = load_object(made.object_code, ["run"])
    run = ctypes.CFUNCTYPE(None, ctypes.c_int, *[ctypes.c_void_p] * 3)(code.address("run"))
    program = read_module(original)
    for n in sizes:
        draw = np.random.default_rng(n + 9)
        before = draw.integers(-50, 50, WIDTH * 30).astype(np.int32)
        wanted, got = before.copy(), before.copy()
        memory = Memory()
        pointer = memory.map_array(wanted)
        starts = (WIDTH * 2 * 4, WIDTH * 26 * 4, WIDTH * 28 * 4)
        run_function(program, "run", [n, *(pointer + s for s in starts)], 1, memory=memory)
        run(n, *(got.ctypes.data + s for s in starts))
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("body", AHEAD.values(), ids=AHEAD)
def test_integers_are_combined_ahead(tmp_path: Path, body: str) -> None:
    original, made = made_of(tmp_path, source(body), "run")
    assert "combine in lanes what those before them have found" in told(made)
    # Behind column 19 rows overlap.
    agrees(original, made, (-1, 0, 1, 5, 11, 22))


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_is_not_known_ahead_or_would_be_rounded_stays(tmp_path: Path, body: str) -> None:
    original, made = made_of(tmp_path, source(body), "run")
    assert "combine in lanes" not in told(made)
    agrees(original, made, (3, 14))


def chain(costs, table):
    n = table.shape[0]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            best = table[i, j]
            for k in range(i, j):
                best = min(best, table[i, k] + table[k + 1, j] + costs[k])
            table[i, j] = best


def test_loops_in_python_combine_ahead() -> None:
    compiled = auto(chain)
    draw = np.random.default_rng(3)
    for n in (0, 1, 2, 7, 18):
        agree(compiled, draw.integers(0, 90, n), draw.integers(0, 900, (n, n)))
    agree(compiled, draw.integers(0, 90, 14)[::-1], draw.integers(0, 900, (14, 28))[:, ::2])
    assert "combine in lanes what those before them have found" in told(compiled)
    overlapping = np.lib.stride_tricks.as_strided(draw.integers(0, 90, 200), (12, 12), (64, 8))
    agree(compiled, draw.integers(0, 90, 12), overlapping)


@pytest.mark.parametrize("seed", range(200 if os.environ.get("WEFT_FUZZ") else 2))
def test_drawn_nests(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)

    def near(name: str, most: int = 1) -> str:
        offset = draw.choice((0, 0, draw.randint(-1, most)))
        return f"{name} + {offset}" if offset else name

    row = f"t[{near('i')}][{near('k')}]"
    loaded = draw.choice((row, f"{row} + p[{near('k')}]", f"p[{near('k')}]", f"{row} * p[{near('j')}]"))
    value = f"({loaded}) {draw.choice('+-*&')} t[{near('k')}][{near('j')}]"
    update = draw.choice(
        ("s += {0};", "s ^= {0};", "s = {0} > s ? {0} : s;", "s = s < ({0}) ? s : {0};", "s |= {0};")
    ).format(value)
    begin = draw.choice(("0", "i", "i + 1", "2"))
    first = draw.choice(("t[i][j]", "t[i][j - 1]", "p[j]", "7"))
    kept = draw.choice(("t[i][j] = s;", "p[j] = s; t[i][j] = s;", f"t[i][{near('j')}] = s;"))
    body = (
        f"for (int j = {draw.choice(('i + 1', '1', 'i + 2'))}; j < n; j++) {{ unsigned s = {first};"
        f" for (int k = {begin}; k < j; k++) {update} {kept} }}"
    )
    text = source(body).replace("int (*", "unsigned (*").replace("int *restrict p", "unsigned *restrict p")
    original, made = made_of(tmp_path, text.replace("i >= 0", "i >= 1"), "run")
    agrees(original, made, (1, 13, 18))
