"""Loops of C are made ready for lanes: steps known at run time, counters raised on both ways, places handed on."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

ROOM = """
static double a[1100], b[1100], c[1100];
double *f(int n, int s)
{
    for (int i = 0; i < 1100; i++) { a[i] = i * 0.5; b[i] = (i * 7) % 13; c[i] = i % 3; }
    run(n, s);
    return a;
}
"""

LOOPS = {
    "a step": "for (int i = 0; i < n; i += s) a[i] += b[i];",
    "a step in an index": "for (int i = 0; i < n; i += s) a[i] = a[i + s] + b[i];",
    "a counter of steps": "int k = 0; for (int i = 0; i < n; i += s) { k += 1; a[i] += b[1100 - k]; }",
    "both ways": """int j = -1;
        for (int i = 0; i < n; i++)
            if (b[i] > 5) { j++; a[j] = b[i] + c[i]; } else { j++; a[j] = c[i] * 2; }""",
    "a handed place": "double x = b[1099]; for (int i = 0; i < n; i++) { a[i] = (b[i] + x) * 0.5; x = b[i]; }",
    "two handed places": """double x = b[1099], y = b[1098];
        for (int i = 0; i < n; i++) { a[i] = (b[i] + x + y) * 0.333; y = x; x = b[i]; }""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_prepared_loops_run_in_lanes(name: str, tmp_path: Path) -> None:
    file = tmp_path / "loop.c"
    begin, end = ROOM.split("double *f")
    file.write_text(f"{begin}void run(int n, int s) {{ {LOOPS[name]} }}\ndouble *f{end}")
    spec = TargetSpec.chosen()
    original = compile_c(file, spec.triple, ["-ffp-contract=off", "-w"])
    made = vectorize_ir(original, "run", loop="auto")
    assert made.loops
    codes = [load_object(emit_object(original, spec), ["f"]), load_object(made.object_code, ["f"])]
    kind = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_double), ctypes.c_int, ctypes.c_int)
    for n in (0, 1, 2, 63, 64, 500, 1000):
        for step in (1, 2, 7):
            first, second = (
                np.ctypeslib.as_array(kind(code.address("f"))(n, step), (1100,)).copy() for code in codes
            )
            np.testing.assert_array_equal(first, second, err_msg=f"{n} {step}")


# The place that is handed on may be in nobody's memory where no iteration comes.
UNKNOWN = """
void run(int n, const double *b, double *restrict a)
{
    double x = b[n];
    for (int i = 0; i < n; i++) { a[i] = b[i] + x; x = b[i]; }
}
"""


def test_a_place_of_unknown_memory_is_loaded_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "loop.c"
    file.write_text(UNKNOWN)
    spec = TargetSpec.chosen()
    made = vectorize_ir(compile_c(file, spec.triple, ["-w"]), "run", loop="auto")
    code = load_object(made.object_code, ["run"])
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    draw = np.random.default_rng(1)
    for n in (0, 1, 5, 300):
        b, a = draw.random(n + 1), np.zeros(n)
        kind(code.address("run"))(n, b.ctypes.data, a.ctypes.data)
        np.testing.assert_array_equal(a, b[:n] + np.concatenate(([b[n]], b[:n]))[:n])


# The store that all begin with comes behind what an iteration before reads under its condition.
AT_END = """
void run(int n, int m, short *restrict c, int *restrict b)
{
    int i = 0;
    do {
        c[i < m ? i : m] = 7;
        if (i != n)
            b[i] += c[i + m];
        i++;
    } while (i < 2 * m);
}
"""


def test_what_a_loop_begins_with_is_not_behind_what_it_ends_with(tmp_path: Path) -> None:
    file = tmp_path / "loop.c"
    file.write_text(AT_END)
    spec = TargetSpec.chosen()
    original = compile_c(file, spec.triple, ["-w"])
    texts = emit_object(original, spec), vectorize_ir(original, "run", loop="auto").object_code
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    for m in (1, 3, 40):
        results: list[list[int]] = []
        for text in texts:
            c, b = np.arange(200, dtype=np.int16), np.zeros(200, np.int32)
            code = load_object(text, ["run"])
            kind(code.address("run"))(5, m, c.ctypes.data, b.ctypes.data)
            results.append([*c.tolist(), *b.tolist()])
        assert results[0] == results[1]
