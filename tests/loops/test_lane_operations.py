"""Horizontal operations in C (`weft.frontend.lane_operations`): SIMD code against the interpreter, lane by lane."""

import ctypes
import os
import re
from pathlib import Path

import numpy as np
import pytest

from codegen.machine_code import ISAS, spec_to_run
from foreign_ir import canonical_module
from weft.errors import TypingError, UnsupportedError
from weft.frontend.clang import compile_c
from weft.interp import Memory, run_function
from weft.loops.llvm_ir import vectorize_ir
from weft.machine.targets import Isa
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object

SOURCE = Path(__file__).with_name("lane_operations.c")
NAMES = re.findall(r"^float (\w+)\(ARGS\)", SOURCE.read_text(), re.M)
TARGETS = ISAS
SPEC = TargetSpec.chosen()
rng = np.random.default_rng(7)


@pytest.fixture(scope="module")
def text() -> str:
    return compile_c(SOURCE, SPEC.triple)


def only(text: str, name: str) -> str:
    """The module without the other functions of arguments ARGS."""

    def kept(definition: re.Match[str]) -> str:
        head = definition[0].splitlines()[0]
        return definition[0] if f" @{name}(" in head or head.startswith("define internal") else ""

    return re.sub(r"(?ms)^define .*?^}\n", kept, text)


def caller(name: str, width: int) -> str:
    """A function that takes the vectors from memory."""
    floats, ints = f"<{width} x float>", f"<{width} x i32>"
    return f"""
define void @go(ptr %x, ptr %y, ptr %k, i64 %s, ptr %p, ptr %out) {{
  %a = load {floats}, ptr %x, align 4
  %b = load {floats}, ptr %y, align 4
  %c = load {ints}, ptr %k, align 4
  %r = call {floats} @{name}({floats} %a, {floats} %b, {ints} %c, i64 %s, ptr %p)
  store {floats} %r, ptr %out, align 4
  ret void
}}
"""


def on_lanes(text: str, name: str, width: int, isa: Isa) -> None:
    source, spec = only(text, name), TargetSpec.of_isa(isa)
    made = vectorize_ir(source, name, width=width, args="T_T_T_U_U_rT", name="simd", target=isa.name)
    assert "@rv_" not in made.llvm and "@weft" not in made.llvm
    code = load_object(emit_object(made.llvm + caller("simd", width), spec_to_run(isa)), ["go"])
    pointers = [ctypes.c_void_p] * 3
    go = ctypes.CFUNCTYPE(None, *pointers, ctypes.c_long, *pointers[:2])(code.address("go"))
    module = canonical_module(source, spec)
    for s in range(5):
        x, y, p = (rng.integers(-12, 13, n).astype(np.float32) / 4 for n in (width, width, 64))
        k, out = rng.integers(-100, 100, width).astype(np.int32), np.zeros(width, np.float32)
        memory = Memory()
        wanted = run_function(module, name, [x, y, k, s, memory.map_array(p.copy())], width, memory=memory)
        go(*(a.ctypes.data for a in (x, y, k)), s, p.ctypes.data, out.ctypes.data)
        defined = np.ones(width, bool) if wanted.flags is None else wanted.flags == 0
        assert defined.any()
        expected = np.broadcast_to(wanted.data, width)
        np.testing.assert_array_equal(out[defined], expected[defined], f"{x} {y} {k} {s}")


def combinations():
    """Of each function every width and instruction set, or one in turn."""
    every = [(width, isa) for isa in TARGETS for width in (2, 4, 8, 16, 32)]
    return [
        pytest.param(name, width, isa, id=f"{name}-{isa.name}-{width}")
        for number, name in enumerate(NAMES)
        for width, isa in (every if os.environ.get("WEFT_FUZZ") else [every[number % len(every)]])
    ]


@pytest.mark.parametrize(("name", "width", "isa"), combinations())
def test_lanes_do_what_the_interpreter_does(name: str, width: int, isa: Isa, text: str) -> None:
    on_lanes(text, name, width, isa)


def test_the_function_for_one_lane_asks_itself(text: str) -> None:
    made = vectorize_ir(only(text, "ballot"), "ballot", width=8, args="T_T_T_U_U")
    code = load_object(emit_object(made.llvm, SPEC), ["ballot"])
    scalar = ctypes.CFUNCTYPE(
        ctypes.c_float, *[ctypes.c_float] * 2, ctypes.c_int, ctypes.c_long, ctypes.c_void_p
    )
    assert [scalar(code.address("ballot"))(x, 1, 0, 0, None) for x in (0, 2)] == [0, 1]


LOOP = """
#include <stdbool.h>
int rv_popcount(bool); int rv_lane_id(void); int rv_num_lanes(void); float rv_shuffle(float, int);
void f(float *restrict a, int *restrict b, int n) {
  int before = rv_lane_id();
  for (int i = 0; i < n; i++) {
    b[i] = 1000 * rv_popcount(a[i] > 0) + 10 * rv_lane_id() + before;
    a[i] = rv_shuffle(a[i], 1);
  }
}
"""


def test_the_lanes_of_a_loop_are_its_iterations(tmp_path: Path) -> None:
    (tmp_path / "loop.c").write_text(LOOP)
    made = vectorize_ir(tmp_path / "loop.c", "f", width=4, loop="outermost")
    code = load_object(made.object_code, ["f"])
    a, b = np.array([1, -1, 2, 3, -4, 5], np.float32), np.zeros(6, np.int32)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(code.address("f"))(
        a.ctypes.data, b.ctypes.data, 6
    )
    # The last two run alone: there is no lane behind them whose value could be had.
    assert b.tolist() == [3000, 3010, 3020, 3030, 1000, 1010]
    assert a[:5].tolist() == [-1, 2, 3, 1, 5]


@pytest.mark.parametrize(
    ("declared", "used", "wrong"),
    [
        ("int rv_any(int);", "rv_any(k)", "rv_any is declared as i32 (i32)"),
        ("int rv_lane_id(int);", "rv_lane_id(k)", "rv_lane_id is declared as i32 (i32)"),
        ("float rv_extract(int, int);", "rv_extract(k, 0)", "rv_extract is declared as float (i32, i32)"),
        ("_Bool rv_all(_Bool);", "apply(rv_all, k)", "rv_all is a lane operation, which can only be called"),
        ("signed char rv_ballot(_Bool);", "rv_ballot(k)", "rv_ballot is declared as i8 (i1)"),
    ],
)
def test_wrong_declarations_are_refused_at_their_line(
    declared: str, used: str, wrong: str, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.c"
    file.write_text(f"int apply(_Bool (*)(_Bool), int);\n{declared}\nint f(int k) {{\n  return {used};\n}}\n")
    with pytest.raises(TypingError) as caught:
        vectorize_ir(file, "f", width=4, args="T")
    assert wrong in str(caught.value) and "wrong.c:4:" in str(caught.value)
    assert caught.value.hint is not None and caught.value.hint.startswith("declare it as ")


def test_in_text_the_declaration_is_shown() -> None:
    text = "define i32 @f(i32 %k) {\n  %r = call i32 @rv_any(i32 %k)\n  ret i32 %r\n}\ndeclare i32 @rv_any(i32)\n"
    with pytest.raises(TypingError) as caught:
        vectorize_ir(text, "f", width=4, args="T")
    assert "<text>:" in str(caught.value)


def test_a_ballot_of_too_many_lanes_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedError, match="a ballot of 64 lanes does not fit 32 bits"):
        vectorize_ir(only(text, "ballot"), "ballot", width=64, args="T_T_T")


def test_what_runs_lane_by_lane_cannot_ask_the_others(tmp_path: Path) -> None:
    (tmp_path / "varying.c").write_text(
        "int rv_lane_id(void);\n__attribute__((noinline)) static int g(int n) { volatile char t[n]; t[n / 2] = 1;"
        " return rv_lane_id() + t[n / 2]; }\nint f(int k) { return g(k); }\n"
    )
    with pytest.raises(UnsupportedError, match="cannot be called for all lanes at once"):
        vectorize_ir(tmp_path / "varying.c", "f", width=4, args="T")


def test_names_of_cpp_are_known_too(tmp_path: Path) -> None:
    file = tmp_path / "shuffles.cpp"
    file.write_text(
        "template <class T> T rv_extract(T, int);\nbool weft_any(bool);\n"
        'extern "C" float f(float x, int k) { return weft_any(k > 3) ? rv_extract(x, 1) : rv_extract(k, 0); }\n'
    )
    assert "extractelement" in vectorize_ir(file, "f", width=4, args="T_T").llvm
