"""What is left over behind whole lane groups runs in groups of one register (``--loop auto``)."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

from weft.frontend.clang import compile_c
from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec

BODIES = {
    "neighbours": ("double", "y[i + 1] = 0.5 * (x[i] + x[i + 1] + x[i + 2]);"),
    "floats": ("float", "y[i] = x[i] * x[i] + 3;"),
    "a condition": ("double", "if (x[i] > 1) y[i] = x[i + 1] * 2;"),
    "several sizes": ("short", "y[i] = x[i] * 2.5 + ((char) i >> 1);"),
    "a call": ("double", "y[i] = half(x[i]) + i;"),
    "downwards": ("double", "y[n - 1 - i] = x[i] - 1;"),
    "rounds inside": ("double", "for (int k = 0; k < 3; k++) y[i] = x[i + k] + y[i] * 0.5;"),
}


def source(type: str, body: str) -> str:
    return (
        "static double half(double v) { return v > 1 ? v * 0.5 : v; }\n"
        f"void rows(int m, int n, {type} *restrict x, {type} *restrict y) {{\n"
        "  for (int t = 0; t < m; t++) {\n"
        f"    for (int i = 0; i < n; i++) {{ {body} }}\n"
        "    x[t] = y[0];\n"
        "  }\n}\n"
    )


def made_of(folder: Path, text: str, target: str = "host"):
    file = folder / "rows.c"
    file.write_text(text)
    original = compile_c(file, TargetSpec.chosen().triple, ["-w", "-ffp-contract=off"])
    return original, vectorize_ir(original, "rows", loop="auto", target=target)


@pytest.mark.parametrize(("type", "body"), BODIES.values(), ids=BODIES)
def test_rows_of_any_length_are_what_they_are_in_order(type: str, body: str, tmp_path: Path) -> None:
    original, made = made_of(tmp_path, source(type, body))
    assert made.loops
    code = load_object(made.object_code, ["rows"])
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_int] * 2, *[ctypes.c_void_p] * 2)(code.address("rows"))
    program = read_module(original)
    draw = np.random.default_rng(3)
    kind = {"double": np.float64, "float": np.float32, "short": np.int16}[type]
    for n in (0, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 19, 31, 32, 33, 36, 38, 45, 63, 64, 65, 79, 101):
        before = [draw.integers(-20, 60, n + 4).astype(kind) / kind(4) for _ in "xy"]
        before = [a.astype(kind) for a in before]
        wanted, got = ([a.copy() for a in before] for _ in "ab")
        memory = Memory()
        run_function(program, "rows", [2, n, *(memory.map_array(a) for a in wanted)], 1, memory=memory)
        run(2, n, *(a.ctypes.data for a in got))
        for mine, theirs in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_what_is_left_of_a_row_runs_in_groups_of_a_register(tmp_path: Path) -> None:
    def under_a_mask(target: str) -> set[str]:
        _, made = made_of(tmp_path, source(*BODIES["neighbours"]), target)
        return set(re.findall(r"masked\.store\.(v\d+f64)", made.text))

    assert under_a_mask("x86-64-v3") == {"v4f64"}
    assert under_a_mask("x86-64-v4") == {"v8f64"}
