"""Whole-function vectorization of C: SIMD functions against their scalar originals, called from C.

Each function of ``functions.c`` is vectorized at some width for some instruction set, through `vectorize_ir`, and
linked with a C program that calls both.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from weft.cli import main
from weft.loops.llvm_ir import vectorize_ir
from weft.machine.host import host
from weft.machine.targets import AVX2, AVX512, NEON

SOURCE = Path(__file__).with_name("functions.c")
NAMES = re.findall(r"^float (\w+)\(ARGS\)", SOURCE.read_text(), re.M)
SHAPES = "T_T_T_U_U_rT"
TARGETS = [isa for isa in (AVX2, AVX512) if isa.features <= host().features]
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static") or ""
CROSS_COMPILER = shutil.which("aarch64-linux-gnu-gcc") or ""
EVERY = bool(os.environ.get("WEFT_FUZZ"))

DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <string.h>
float NAME(float, float, int, long, float *);
typedef float vf __attribute__((vector_size(4 * W)));
typedef int vi __attribute__((vector_size(4 * W)));
vf SIMD(vf, vf, vi, long, float *);
int main(void) {
  unsigned seed = 12345; float p[64] __attribute__((aligned(64)));
  for (int round = 0; round < 64; round++) {
    vf x, y, r; vi k; long s = round % 9;
    for (int i = 0; i < 64; i++) { seed = seed * 1664525u + 1013904223u; p[i] = (int)(seed >> 24) / 32.0f - 3; }
    for (int i = 0; i < W; i++) {
      seed = seed * 1664525u + 1013904223u; x[i] = (int)(seed >> 20) / 512.0f - 4;
      seed = seed * 1664525u + 1013904223u; y[i] = (int)(seed >> 20) / 512.0f - 4;
      seed = seed * 1664525u + 1013904223u; k[i] = (int)(seed >> 16) - 32768;
    }
    r = SIMD(x, y, k, s, p);
    for (int i = 0; i < W; i++) {
      float e = NAME(x[i], y[i], k[i], s, p), g = r[i];
      if (memcmp(&e, &g, 4) && !(e != e && g != g)) {
        printf("NAME(%g, %g, %d, %ld) = %g, and %g in lane %d\\n", x[i], y[i], k[i], s, e, g, i);
        return 1;
      }
    }
  }
  return 0;
}
"""


def combinations():
    """Of each function every width and instruction set, or one in turn."""
    widths = (2, 4, 8, 16)
    found = []
    every = [(w, isa) for isa in TARGETS for w in widths if 32 * w <= isa.vector_bits]
    for number, name in enumerate(NAMES):
        chosen = every if EVERY else [every[number % len(every)]]
        for width, isa in chosen:
            found.append(pytest.param(name, width, isa, id=f"{name}-{isa.name}-{width}"))
    return found


def alone(name: str, folder: Path) -> Path:
    """A file with one of the functions, and what they share."""
    parts = re.split(r"^(?=\S)", SOURCE.read_text(), flags=re.M)
    start = next(i for i, part in enumerate(parts) if part.startswith(f"float {name}(ARGS)"))
    end = next(
        (i for i in range(start + 1, len(parts)) if re.match(r"float \w+\(ARGS|\w+ |//|__", parts[i])),
        len(parts),
    )
    shared = [p for p in parts[:start] if re.match(r"#|typedef|static|__attribute__", p)]
    file = folder / "function.c"
    file.write_text("".join([*shared, *parts[start:end]]))
    return file


def call_from_c(folder: Path, name: str, simd: str, width: int, isa, code: bytes) -> None:
    text = DRIVER.replace("NAME", name).replace("SIMD", simd).replace("W)", f"{width})")
    (folder / "main.c").write_text(re.sub(r"\bW\b", str(width), text))
    (folder / "simd.o").write_bytes(code)
    program = folder / "program"
    sources = [folder / "main.c", folder / "simd.o"]
    subprocess.run([*compiler_for(isa), *sources, "-lm", "-o", program], check=True)
    emulator = [EMULATOR] if isa is NEON else []
    done = subprocess.run([*emulator, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def compiler_for(isa) -> list[str]:
    if isa is NEON:
        return [CROSS_COMPILER, "-static", "-w"]
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler is not None
    return [compiler, "-w", f"-march={isa.cpu}", "-lmvec"]


@pytest.mark.parametrize(("name", "width", "isa"), combinations())
def test_lanes_give_what_the_function_gives(name: str, width: int, isa, tmp_path: Path) -> None:
    made = vectorize_ir(alone(name, tmp_path), name, width=width, args=SHAPES, target=isa.name)
    call_from_c(tmp_path, name, made.name, width, isa, made.object_code)


@pytest.mark.parametrize("name", NAMES if EVERY else NAMES[::9])
def test_the_same_for_another_architecture(name: str, tmp_path: Path) -> None:
    made = vectorize_ir(alone(name, tmp_path), name, width=4, args=SHAPES, target="neon")
    assert made.name.startswith("_ZGVnN4vvvuu_") and made.libraries == ()
    code = made.object_code
    assert code[:4] == b"\x7fELF" and code[18] == 183  # EM_AARCH64
    if EMULATOR and CROSS_COMPILER:
        call_from_c(tmp_path, name, made.name, 4, NEON, code)


def test_the_command_writes_object_file_and_header(tmp_path: Path) -> None:
    isa = TARGETS[0]
    out, header = tmp_path / "simd.o", tmp_path / "simd.h"
    source = str(alone("mandelbrot", tmp_path))
    command = ["vectorize", source, "--function", "mandelbrot", "--width", "8", "--args", SHAPES]
    command += ["--target", isa.name, "--name", "mandelbrot_x8", "--header", str(header), "-o", str(out)]
    status = main(command)
    assert status == 0
    assert (
        "float_x8 mandelbrot_x8(float_x8 x, float_x8 y, int32_t_x8 k, int64_t s, void * p);"
        in header.read_text()
    )
    call_from_c(tmp_path, "mandelbrot", "mandelbrot_x8", 8, isa, out.read_bytes())


def test_there_are_many() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 60
