"""Whole-function vectorization of C and C++: SIMD functions against their scalar originals, called from C.

Each function of ``functions.c`` and ``functions.cpp`` is vectorized at some width for some instruction set; those of
one width and instruction set are linked with a C program that calls both and compares results and memory. The passes
of every sixth one are checked, too, those of all at all widths with ``WEFT_FUZZ``.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from codegen.machine_code import ISAS, spec_to_run
from conformance.runner import passes_checked
from weft.cli import main
from weft.frontend.clang import compile_c
from weft.loops.llvm_ir import vectorize_ir
from weft.machine.targets import AVX2, NEON
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import PassList, optimize

FOLDER = Path(__file__).parent
SOURCES = {
    name: FOLDER / file
    for file in ("functions.c", "functions.cpp")
    for name in re.findall(r"^float (\w+)\(ARGS\)", (FOLDER / file).read_text(), re.M)
}
NAMES = list(SOURCES)
SHAPES = "T_T_T_U_U_rT"
REACHABLE = PassList("reachable", ("globaldce",))
WIDTHS = (2, 4, 8, 16)
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static") or ""
CROSS_COMPILER = shutil.which("aarch64-linux-gnu-gcc") or ""
EVERY = bool(os.environ.get("WEFT_FUZZ"))
LARGE = ("sort",)
"""Takes as long as 30 others, since most of a library is compiled with it."""

GROUPS = [(width, isa) for isa in ISAS for width in WIDTHS]

DRIVER = """
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define FUNCTION(f) float f(float, float, int, long, float *); \\
  void simd_##f(const float *, const float *, const int *, long, float *, float *);
FUNCTIONS
#undef FUNCTION
#define FUNCTION(f) { #f, f, simd_##f },
static const struct {
  const char *name;
  float (*one)(float, float, int, long, float *);
  void (*all)(const float *, const float *, const int *, long, float *, float *);
} tests[] = { FUNCTIONS };
static unsigned seed = 12345;
static int random_bits(void) { return (int)(seed = seed * 1664525u + 1013904223u); }
static const char *name;
static void crash(int signal) {
  printf("%s %s\\n", name, signal == SIGSEGV ? "crashes" : "does not end");
  fflush(stdout);
  _exit(2);
}
int main(void) {
  signal(SIGSEGV, crash);
  signal(SIGALRM, crash);
  static float p[64] __attribute__((aligned(64))), q[64] __attribute__((aligned(64)));
  float x[W], y[W], r[W]; int k[W], failed = 0;
  for (unsigned t = 0; t < sizeof tests / sizeof *tests; t++) {
    name = tests[t].name;
    alarm(30);
    for (int round = 0, wrong = 0; round < 48 && !wrong; round++) {
      long s = round % 9;
      for (int i = 0; i < 64; i++) p[i] = (random_bits() >> 24) / 32.0f + 1;
      for (int i = 0; i < W; i++) {
        x[i] = (random_bits() >> 20) / 512.0f; y[i] = (random_bits() >> 20) / 512.0f; k[i] = random_bits() >> 16;
      }
      memcpy(q, p, sizeof p);
      tests[t].all(x, y, k, s, p, r);
      for (int i = 0; i < W; i++) {
        float e = tests[t].one(x[i], y[i], k[i], s, q);
        if (memcmp(&e, &r[i], 4) && !(e != e && r[i] != r[i])) {
          printf("%s(%g, %g, %d, %ld) = %g, and %g in lane %d\\n", tests[t].name, x[i], y[i], k[i], s, e, r[i], i);
          wrong = 1;
        }
      }
      if (memcmp(p, q, sizeof p)) { printf("%s leaves other memory\\n", tests[t].name); wrong = 1; }
      failed += wrong;
    }
  }
  return failed != 0;
}
"""


def caller(name: str, simd: str, width: int) -> str:
    """A function for C that takes the vectors from memory: no two compilers agree on how to pass wide ones."""
    floats, ints = f"<{width} x float>", f"<{width} x i32>"
    return f"""
define void @simd_{name}(ptr %x, ptr %y, ptr %k, i64 %s, ptr %p, ptr %out) {{
  %a = load {floats}, ptr %x, align 4
  %b = load {floats}, ptr %y, align 4
  %c = load {ints}, ptr %k, align 4
  %r = call {floats} @{simd}({floats} %a, {floats} %b, {ints} %c, i64 %s, ptr %p)
  store {floats} %r, ptr %out, align 4
  ret void
}}
"""


DEFINITION = re.compile(r"(^define .*?^}\n)", re.M | re.S)
PARTS: dict[tuple[Path, str], list[str]] = {}
"""The definitions in the text of a file, and what is between them."""


def text_of(name: str, spec: TargetSpec) -> str:
    """LLVM IR of one of the functions: the module without the others that are seen outside."""
    place = SOURCES[name], spec.triple
    if place not in PARTS:
        # Without type information nothing of a C++ library has to be linked.
        text = compile_c(*place, ("-fno-rtti",) if place[0].suffix == ".cpp" else ())
        PARTS[place] = DEFINITION.split(text)
    kept = (
        part
        for part in PARTS[place]
        if not part.startswith("define dso_local float") or f" @{name}(" in part.partition("\n")[0]
    )
    return optimize("".join(kept), REACHABLE, spec.machine)


def object_of(name: str, width: int, isa) -> bytes:
    spec = TargetSpec.of_isa(isa)
    made = vectorize_ir(text_of(name, spec), name, width=width, args=SHAPES, target=isa.name)
    assert isa is not NEON or (made.name.startswith("_ZGVn") and made.libraries == ())
    return emit_object(made.llvm + caller(name, made.name, width), spec if isa is NEON else spec_to_run(isa))


def call_from_c(folder: Path, objects: dict[str, bytes], width: int, isa) -> None:
    """Let a C program compare each function's lanes with the function."""
    names = "\n".join(f"FUNCTION({name})" for name in objects)
    text = DRIVER.replace("FUNCTIONS", " ".join(names.split("\n")))
    (folder / "main.c").write_text(re.sub(r"\bW\b", str(width), text))
    files = [folder / "main.c"]
    for name, code in objects.items():
        files.append(folder / f"{name}.o")
        files[-1].write_bytes(code)
    program = folder / "program"
    subprocess.run([*compiler_for(isa), *files, "-lm", "-o", program], check=True)
    emulator = [EMULATOR] if isa is NEON else []
    done = subprocess.run([*emulator, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def compiler_for(isa) -> list[str]:
    if isa is NEON:
        return [CROSS_COMPILER, "-static", "-w"]
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler is not None
    return [compiler, "-w", f"-march={spec_to_run(isa).isa.cpu}", "-lmvec"]


@pytest.mark.parametrize(("width", "isa"), GROUPS, ids=lambda value: getattr(value, "name", value))
def test_lanes_give_what_the_function_gives(width: int, isa, tmp_path: Path) -> None:
    number = GROUPS.index((width, isa))
    names = NAMES if EVERY else [n for n in NAMES[number :: len(GROUPS)] if n not in LARGE]
    objects = {}
    for number, name in enumerate(names):
        with passes_checked(EVERY or number % 6 == 0):
            objects[name] = object_of(name, width, isa)
    call_from_c(tmp_path, objects, width, isa)


@pytest.mark.parametrize("width", WIDTHS if EVERY else (4,))
def test_the_same_for_another_architecture(width: int, tmp_path: Path) -> None:
    with passes_checked(EVERY):
        objects = {name: object_of(name, width, NEON) for name in (NAMES if EVERY else NAMES[::12])}
    for code in objects.values():
        assert code[:4] == b"\x7fELF" and code[18] == 183  # EM_AARCH64
    if EMULATOR and CROSS_COMPILER:
        call_from_c(tmp_path, objects, width, NEON)


CALLER = """
#include "simd.h"
float mandelbrot(float, float, int, long, float *);
int main(void) {
  float_x8 x, y; int32_t_x8 k;
  for (int i = 0; i < 8; i++) { x[i] = i * 0.5f - 2; y[i] = i * 0.25f - 1; k[i] = i; }
  float_x8 r = mandelbrot_x8(x, y, k, 3, 0);
  for (int i = 0; i < 8; i++) if (r[i] != mandelbrot(x[i], y[i], k[i], 3, 0)) return 1;
  return 0;
}
"""


def test_the_command_writes_object_file_and_header(tmp_path: Path) -> None:
    isa = AVX2
    if spec_to_run(isa) != TargetSpec.of_isa(isa):
        pytest.skip("C passes vectors of 256 bits as LLVM does with AVX2 only")
    out, header = tmp_path / "simd.o", tmp_path / "simd.h"
    text = SOURCES["mandelbrot"].read_text()
    found = re.search(r"(?ms)^float mandelbrot\(ARGS\).*?^}", text)
    assert found is not None
    source = tmp_path / "mandelbrot.c"
    source.write_text(text[: text.index("\nfloat ")] + "\n" + found[0])
    command = ["vectorize", str(source), "--function", "mandelbrot", "--width", "8", "--args", SHAPES]
    command += ["--target", isa.name, "--name", "mandelbrot_x8", "--header", str(header), "-o", str(out)]
    assert main(command) == 0
    declaration = "float_x8 mandelbrot_x8(float_x8 x, float_x8 y, int32_t_x8 k, int64_t s, void * p);"
    assert declaration in header.read_text()
    (tmp_path / "main.c").write_text(CALLER)
    program = tmp_path / "program"
    subprocess.run([*compiler_for(isa), tmp_path / "main.c", out, "-lm", "-o", program], check=True)
    assert subprocess.run([program], check=False).returncode == 0


def test_remarks_say_whose_choice_the_lanes_are() -> None:
    text = "define float @twice(float %x) {\n  %y = fadd float %x, %x\n  ret float %y\n}\n"
    chosen = vectorize_ir(text, "twice", args="T", target="avx2").remarks
    wanted = vectorize_ir(text, "twice", args="T", target="avx2", width=4).remarks
    assert "twice runs 8 lanes at a time, a register of 32-bit values;" in str(chosen)
    assert "twice runs 4 lanes at a time, as asked for;" in str(wanted)


def test_there_are_many() -> None:
    assert len(NAMES) >= 140


def test_numbers_of_functions_are_as_narrow_as_they_may_be(tmp_path):
    text = """void f(long i, const unsigned char *restrict a, unsigned char *restrict o) {
        int s = 0;
        for (int k = -1; k < 2; k++)
            s += a[i + k];
        o[i] = s == 3 || (s == 2 && a[i] == 1);
    }"""
    (tmp_path / "f.c").write_text(text)
    with passes_checked(True):
        made = vectorize_ir(tmp_path / "f.c", "f", width=32, args="Cn")
    assert any("are computed in 8 or 16 bits" in r.message for r in made.remarks)
