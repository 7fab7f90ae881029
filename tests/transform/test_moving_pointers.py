"""Pointers that loops move: what becomes of them, and that nothing else changes."""

import ctypes
from pathlib import Path

import numpy as np
import pytest

from weft.frontend.clang import compile_c
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.loops.llvm_ir import vectorize_ir
from weft.target.jit import load_object
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import CANONICAL, optimize
from weft.transform.loops.moving_pointers import count_moving_pointers

SOURCE = r"""
long copy(int n, float *restrict a, const float *restrict b) {
  for (int i = 0; i < n; i++) *a++ = *b++ * 2;
  return 0;
}
long backwards(int n, float *restrict a, const float *restrict b) {
  float *last = a + n;
  for (int i = n; i > 0; i--) *--last = b[i];
  return 0;
}
long pairs(int n, float *restrict a, const float *restrict b) {
  for (int i = 0; i < n; i++, b += 2) a[i] = b[0] - b[1];
  return 0;
}
long before(int n, float *restrict a, const float *restrict b) {
  const float *p = b;
  for (long i = 0; i < n; i++) a[i] = *++p;
  return p - b;
}
long on_and_on(int n, float *restrict a, const float *restrict b) {
  const float *p = b;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < n; i++) a[i] += *p++;
  return p - b;
}
long last(int n, float *restrict a, const float *restrict b) {
  float *p = a, *kept = a;
  for (int i = 0; i < n; i++) { kept = p; *p++ = b[i] + i; }
  return kept - a;
}
long summed(int n, float *restrict a, const float *restrict b) {
  long s = 0;
  for (int i = 0; i < n; i++) s += (long)*b++;
  return s;
}
"""
NAMES = ("copy", "backwards", "pairs", "before", "on_and_on", "last", "summed")
MOVED = {"copy": 2, "backwards": 1, "pairs": 1, "before": 0, "on_and_on": 1, "last": 1, "summed": 1}
IN_LANES = {"copy", "backwards", "pairs", "summed"}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    file: Path = tmp_path_factory.mktemp("c") / "pointers.c"
    file.write_text(SOURCE)
    return compile_c(file, TargetSpec.chosen().triple)


def results(code: object, name: str) -> list[object]:
    function = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    found: list[object] = []
    for n in (0, 1, 7, 33, 100):
        a = np.arange(400, dtype=np.float32)
        b = np.arange(400, dtype=np.float32)[::-1].copy()
        result = function(code.address(name))(n, a.ctypes.data, b.ctypes.data)  # type: ignore[attr-defined]
        found.append((n, result, a.tolist()))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_addresses_stay_the_same(text: str, name: str) -> None:
    spec = TargetSpec.chosen()
    module = read_module(optimize(text, CANONICAL, spec.machine))
    assert count_moving_pointers(module.functions[name]) == MOVED[name]
    verify(module)
    assert count_moving_pointers(module.functions[name]) == 0
    made = load_object(emit_object(write_module(module, plain=True), spec), [name])
    assert results(made, name) == results(load_object(emit_object(text, spec), [name]), name)


@pytest.mark.parametrize("name", NAMES)
def test_loops_run_in_lanes(text: str, name: str) -> None:
    pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")
    spec = TargetSpec.chosen()
    made = vectorize_ir(text, name, loop="auto")
    assert bool(made.loops) == (name in IN_LANES), [r.message for r in made.remarks]
    before = load_object(emit_object(text, spec), [name])
    assert results(load_object(made.object_code, [name]), name) == results(before, name)


def test_the_place_is_counted_where_the_pointer_was() -> None:
    module = read_module(
        """
define void @fill(ptr %a, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %more, %body ]
  %p = phi ptr [ %a, %entry ], [ %next, %body ]
  %go = icmp slt i64 %i, %n
  br i1 %go, label %body, label %end
body:
  store i32 7, ptr %p, align 4
  %next = getelementptr inbounds i32, ptr %p, i64 1
  %more = add nsw i64 %i, 1
  br label %head
end:
  ret void
}
"""
    )
    assert count_moving_pointers(module.functions["fill"]) == 1
    lines = [line.strip() for line in write_module(module, plain=True).splitlines()]
    assert "%0 = phi i64 [ 0, %entry ], [ %1, %body ]" in lines
    assert "%p = getelementptr inbounds i32, ptr %a, i64 %0" in lines
    assert "%1 = add nsw i64 %0, 1" in lines and not any("phi ptr" in line for line in lines)
