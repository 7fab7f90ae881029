"""Rows that are added up in order go several at a time (`auto`); results are those of the loop as written."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from loops.test_auto import agree, auto
from weft.frontend.clang import compile_c
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec

SUMS = {
    "a sum for each row": "q[i] = 0; for (int j = 0; j < m; j++) q[i] += a[i][j] * p[j];",
    "what is there already": "for (int j = 0; j < m; j++) q[i] = q[i] - a[i][j] * p[j];",
    "sums across rows beside": (
        "q[i] = 0; for (int j = 0; j < m; j++) { s[j] += q[i] * a[i][j]; q[i] += a[i][j] * p[j]; }"
    ),
    "one behind the other": (
        "double t = 0; for (int j = 0; j < m; j++) t += a[i][j] * p[j]; "
        "for (int j = 0; j < m; j++) s[j] += a[i][j] * t;"
    ),
}

REFUSED = {
    "the sum of the row before": "q[i] = q[i - 1]; for (int j = 0; j < m; j++) q[i] += a[i][j] * p[j];",
    "elements of the row before": "for (int j = 1; j < m; j++) { q[i] += a[i][j] * p[j]; s[j] += s[j - 1]; }",
    "neighbours in lanes": "q[i] = 0; for (int j = 0; j < m; j++) q[i] += a[j][i] * p[j];",
}


def source(body: str, qualifier: str = "") -> str:
    rest = ", ".join(f"double *{qualifier} {name}" for name in "spq")
    return (
        f"void sums(int n, int m, double (*{qualifier} a)[16], {rest}) {{\n"
        f"  for (int i = 1; i < n; i++) {{ {body} }}\n}}\n"
    )


def made_of(tmp_path: Path, text: str, name: str = "sums"):
    file = tmp_path / "sums.c"
    file.write_text(text)
    original = compile_c(file, TargetSpec.chosen().triple, ["-w", "-ffp-contract=off"])
    return original, vectorize_ir(original, name, loop="auto")


def told(made) -> str:
    return " ".join(r.message for r in made.remarks)


@pytest.mark.parametrize("body", SUMS.values(), ids=SUMS)
def test_rows_are_added_up_together(tmp_path: Path, body: str) -> None:
    original, made = made_of(tmp_path, source(body))
    assert "8 iterations of this loop at a time add up their rows together, each in order" in told(made)
    code = load_object(made.object_code, ["sums"])
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * 2, *[ctypes.c_void_p] * 4)(code.address("sums"))
    program = read_module(original)
    draw = np.random.default_rng(7)
    for n, m in ((0, 0), (-1, 5), (1, 3), (2, 1), (8, 0), (9, 16), (10, 7), (20, 15), (25, 17)):
        # Apart, and over one another.
        for starts in (
            (0, 600, 700, 800),
            (0, 600, 600, 800),
            (0, 0, 700, 800),
            (0, 600, 700, 40),
            (0, 600, 700, 699),
        ):
            before = draw.integers(-90, 90, 900) / 7
            wanted, got = before.copy(), before.copy()
            memory = Memory()
            pointer = memory.map_array(wanted)
            run_function(program, "sums", [n, m, *(pointer + 8 * s for s in starts)], 1, memory=memory)
            run(n, m, *(got.ctypes.data + 8 * s for s in starts))
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_rows_that_depend_on_each_other_or_have_neighbours_stay(tmp_path: Path, body: str) -> None:
    _, made = made_of(tmp_path, source(body, "restrict"))
    assert "add up their rows together" not in told(made)


def test_float_sums_in_any_order_have_lanes(tmp_path: Path) -> None:
    file = tmp_path / "sums.c"
    file.write_text(source(SUMS["a sum for each row"], "restrict"))
    original = compile_c(file, TargetSpec.chosen().triple, ["-w"])
    made = vectorize_ir(original, "sums", loop="auto", fastmath=True)
    assert "add up their rows together" not in told(made)


def across(a, s, q, p):
    for i in range(a.shape[0]):
        q[i] = 0.0
        for j in range(a.shape[1]):
            s[j] += q[i] * a[i, j]
            q[i] += a[i, j] * p[j]


def test_python_does_so_where_cores_cannot_share_the_rows() -> None:
    compiled = auto(across)
    draw = np.random.default_rng(3)
    for n, m in ((0, 0), (1, 3), (8, 1), (9, 4), (25, 17), (7, 0)):
        agree(compiled, draw.random((n, m)), draw.random(m), draw.random(n), draw.random(m))
    assert "add up their rows together" in told(compiled)
    # Strides that are negative or wide, and arrays that overlap.
    whole = draw.random(40)
    agree(compiled, draw.random((11, 9))[::-1], whole[:9], whole[3:14], draw.random(9))
    agree(compiled, draw.random((11, 18))[:, ::2], draw.random(9), draw.random(22)[::-2], draw.random(9))
