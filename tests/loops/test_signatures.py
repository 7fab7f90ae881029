"""Functions whose parameters or results have several components, and calls through pointers."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from weft.errors import ArgumentError
from weft.interp import run_function
from weft.ir.clone import clone_module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.loops.llvm_ir import vectorize_ir
from weft.transform.foreign.scalar_signatures import give_scalar_signatures, scalar_form_of

COMPOSITE = """
%Big = type { [3 x double], i64 }
define internal { float, i32 } @g({ float, i32 } %p, float %x) noinline {
  %a = extractvalue { float, i32 } %p, 0
  %b = fadd float %a, %x
  %n = extractvalue { float, i32 } %p, 1
  %m = add i32 %n, 1
  %q = insertvalue { float, i32 } %p, float %b, 0
  %r = insertvalue { float, i32 } %q, i32 %m, 1
  ret { float, i32 } %r
}
define internal i64 @change(ptr byval(%Big) align 8 %b, i64 %i) noinline {
  %e = getelementptr %Big, ptr %b, i32 0, i32 1
  %k = load i64, ptr %e
  %s = add i64 %k, %i
  store i64 %s, ptr %e
  ret i64 %s
}
define i64 @f(float %x, i32 %n) {
  %v = alloca %Big, align 8
  %e = getelementptr %Big, ptr %v, i32 0, i32 1
  store i64 5, ptr %e
  %p = insertvalue { float, i32 } { float 1.0, i32 poison }, i32 %n, 1
  %odd = trunc i32 %n to i1
  br i1 %odd, label %then, label %done
then:
  %r = call { float, i32 } @g({ float, i32 } %p, float %x)
  br label %done
done:
  %q = phi { float, i32 } [ %r, %then ], [ %p, %0 ]
  %a = extractvalue { float, i32 } %q, 0
  %i = fptosi float %a to i64
  %c = call i64 @change(ptr byval(%Big) align 8 %v, i64 %i)
  %k = load i64, ptr %e
  %t = add i64 %c, %k
  %m = extractvalue { float, i32 } %q, 1
  %w = sext i32 %m to i64
  %z = add i64 %t, %w
  ret i64 %z
}
"""


def test_a_program_with_scalar_signatures_means_the_same() -> None:
    module = read_module(COMPOSITE)
    changed = clone_module(module)
    assert give_scalar_signatures(changed)
    verify(changed)
    arguments = [np.arange(4, dtype=np.float32) * 3, np.array([1, 2, 3, 4], np.int32)]
    wanted, got = (run_function(m, "f", arguments, 4).data for m in (module, changed))
    assert got.tolist() == wanted.tolist()
    made = scalar_form_of(changed, "g")
    assert made is not None
    version, origins = made
    assert str(version.fn_type) == "void (float, i32, float, ptr, ptr)"
    assert [(o.parameter, o.bytes) for o in origins] == [(0, 0), (0, 0), (1, 0), (-1, 4), (-1, 4)]
    callers = [i.callee_name for i in changed.functions["f"].instructions() if i.op == "call"]
    assert "g.parts" in callers and "change.parts" in callers and "g" not in callers


STRUCTS = """
typedef struct { float re, im; } Complex;
Complex square(Complex z) { Complex r = { z.re * z.re - z.im * z.im, 2 * z.re * z.im }; return r; }
typedef struct { double m[3]; long k; } Big;
Big big(Big b, int i) { if (i > 1) b.m[i & 1] += i; b.k++; return b; }
float length(Complex z, float by) { return z.re * by + z.im; }
"""
DRIVER = """
#include <string.h>
#include "square.h"
#include "length.h"
STRUCTS_DECLARED
typedef int vi __attribute__((vector_size(16)));
void big_x4(Big *, Big *, vi);
int main(void) {
  float_x4 a = { 1, 2, 3, 4 }, b = { 0.5f, -1, 7, 0 }; float re[4], im[4];
  square_x4(a, b, re, im);
  float_x4 l = length_x4(a, b, 3);
  Big given[4] = { 0 }, got[4] = { 0 }; vi n = { 0, 1, 2, 3 };
  for (int i = 0; i < 4; i++) { given[i].m[0] = i; given[i].m[1] = 2 * i; given[i].m[2] = 9; given[i].k = 100 * i; }
  big_x4(got, given, n);
  for (int i = 0; i < 4; i++) {
    Complex z = { a[i], b[i] }, r = square(z);
    Big e = big(given[i], i);
    if (r.re != re[i] || r.im != im[i] || l[i] != length(z, 3)) return 1;
    if (memcmp(&e, &got[i], sizeof e)) return 2;
  }
  return 0;
}
"""


def test_structs_by_value_from_c(tmp_path: Path) -> None:
    source = tmp_path / "structs.c"
    source.write_text(STRUCTS)
    objects = []
    for name, args in (("square", "T"), ("big", "C_T"), ("length", "T_U")):
        made = vectorize_ir(source, name, width=4, args=args, name=f"{name}_x4", target="sse4")
        (tmp_path / f"{name}.h").write_text(made.header)
        objects.append(tmp_path / f"{name}.o")
        objects[-1].write_bytes(made.object_code)
    declared = STRUCTS.replace(" {", " {").splitlines()
    kept = "\n".join(line.partition(") {")[0] + ");" if ") {" in line else line for line in declared)
    (tmp_path / "main.c").write_text(DRIVER.replace("STRUCTS_DECLARED", kept))
    program, compiler = tmp_path / "program", shutil.which("gcc") or shutil.which("cc")
    assert compiler is not None
    # Each object holds all functions of the file.
    command = [
        compiler,
        "-w",
        tmp_path / "main.c",
        *objects,
        "-Wl,--allow-multiple-definition",
        "-o",
        program,
    ]
    subprocess.run(command, check=True)
    assert subprocess.run([program], check=False).returncode == 0


def test_letters_are_for_the_parameters_of_the_source(tmp_path: Path) -> None:
    source = tmp_path / "structs.c"
    source.write_text(STRUCTS)
    with pytest.raises(ArgumentError, match="length has 2 parameters, and shapes were given for 3") as caught:
        vectorize_ir(source, "length", args="T_T_T")
    assert caught.value.hint == "in LLVM IR they are: <2 x float> z, float by"
    with pytest.raises(ArgumentError, match="the parameter by is a float, which cannot be C"):
        vectorize_ir(source, "length", args="T_C")


POINTERS = """
float sinhf(float);
static float plus(float a) { return a + 1; }
static float half(float a) { return a > 3 ? a / 2 : a; }
float f(float x, int k) { float (*g)(float) = k & 1 ? plus : half; return g(x); }
float h(float x, int k) { float (*g)(float) = k & 1 ? plus : sinhf; return g(x); }
"""


def test_functions_that_pointers_lead_to_run_once_for_their_lanes(tmp_path: Path) -> None:
    source = tmp_path / "pointers.c"
    source.write_text(POINTERS)
    for name, remark in (("f", "once for each function"), ("h", "once for each function")):
        made = vectorize_ir(source, name, width=4, args="T_T", name="simd", target="sse4")
        assert remark in str(made.remarks)
        body = made.llvm.partition("@simd(")[2].partition("\\n}")[0]
        assert "fadd <4 x float>" in body and "@plus(" not in body


GLOBALS = """
extern int own, shared, table[4];
static int next(void) { return table[1] += own; }
int f(int x) { if (x > 1) own += x; return own * 100 + shared + next() + (x > 2 ? *(table + 2) : 0); }
"""


def test_global_variables_have_shapes(tmp_path: Path) -> None:
    source = tmp_path / "globals.c"
    source.write_text(GLOBALS)
    shapes = {"own": "C", "table": "S16a16", "shared": "U"}
    made = vectorize_ir(source, "f", width=4, args="T", name="simd", target="sse4", shapes=shapes)
    driver = """
typedef int vi __attribute__((vector_size(16)));
int own[4] = { 1, 2, 3, 4 }, shared = 7, table[16] __attribute__((aligned(16)));
int f(int); vi simd(vi);
int main(void) {
  for (int i = 0; i < 16; i++) table[i] = i;
  vi x = { 0, 2, 3, 1 }, r = simd(x);
  int own_of[4] = { 1, 4, 6, 4 };
  for (int i = 0; i < 4; i++) {
    int next = 4 * i + 1 + own_of[i];
    if (own[i] != own_of[i] || table[4 * i + 1] != next) return 1;
    if (r[i] != own_of[i] * 100 + 7 + next + (x[i] > 2 ? 4 * i + 2 : 0)) return 2;
  }
  // The function for one lane uses the first.
  return f(0) != 100 + 7 + 3 ? 3 : 0;
}
"""
    (tmp_path / "main.c").write_text(driver)
    (tmp_path / "simd.o").write_bytes(made.object_code)
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler is not None
    program = tmp_path / "program"
    subprocess.run([compiler, "-w", tmp_path / "main.c", tmp_path / "simd.o", "-o", program], check=True)
    assert subprocess.run([program], check=False).returncode == 0
    for wrong, message in (
        ({"onw": "C"}, "no global variable 'onw'"), ({"own": "T"}, "own=T: the address"), ({"own": "U_C"}, "one shape"),
    ):  # fmt: skip
        with pytest.raises(ArgumentError, match=message):
            vectorize_ir(source, "f", args="T", shapes=wrong)
