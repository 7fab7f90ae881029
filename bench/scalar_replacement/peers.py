"""One side of the comparison each: a loop as machine code, called for all threads."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace as changed
from pathlib import Path

import numpy as np

from bench.harness import Peer, Prepared
from bench.scalar_replacement.loops import ROWS, SOURCE, THREADS, data, program, replaced
from weft.ir.writer import write_module
from weft.loops.llvm_ir import vectorize_ir
from weft.switches import ALL_ON
from weft.target.machine import TargetSpec, emit_object
from weft.target.passes import WHOLE
from weft.transform.scalar_replacement.policy import PolicyName

_DRIVER = """
void {name}(int, const float *, const float *, const int *, float *, int);
void run(const float *a, const float *b, const int *k, float *out, int n, int threads, int repeat) {{
    for (int r = 0; r < repeat; r++)
        for (int t = 8; t < threads - 8; t += {step})
            {name}(t, a, b, k, out, n);
}}
"""
_COMPILER_LOOP = '#include "{source}"\n' + _DRIVER.replace(
    "void {name}(int, const float *, const float *, const int *, float *, int);\n", ""
)
FLAGS = ("-O3", "-march=native", "-fPIC", "-std=gnu11", "-fno-math-errno")
REPEAT = 40


def weft(loop: str, policy: PolicyName, width: int, folder: Path) -> Peer:
    """Machine code of weft's, in lanes by the option, in one lane by all that can be replaced and LLVM's pipeline."""

    def prepare() -> Prepared:
        begin = time.perf_counter()
        if width > 1:
            switches = changed(ALL_ON, scalar_replacement=policy.value)
            made = vectorize_ir(SOURCE, loop, width=width, args="C", name=f"{loop}_simd", switches=switches)
            name, code = made.name, made.object_code
        else:
            spec = TargetSpec.chosen()
            module = replaced(program(spec), loop, policy, 1)
            name, code = loop, emit_object(write_module(module, plain=True), spec, WHOLE)
        seconds = time.perf_counter() - begin
        code_file = folder / f"{loop}.{policy}.{width}.o"
        code_file.write_bytes(code)
        driver = _DRIVER.format(name=name, step=width)
        return _prepared(["gcc"], driver, folder, f"{loop}.{policy}.{width}", loop, seconds, [str(code_file)])

    return Peer(f"{policy} x{width}", prepare)


def compiler(loop: str, which: str, folder: Path) -> Peer:
    """The same source by a C compiler, which sees the loop over threads."""

    def prepare() -> Prepared:
        command = _gcc() if which == "gcc" else _clang()
        source = _COMPILER_LOOP.format(name=loop, step=1, source=SOURCE)
        return _prepared(command, source, folder, f"{loop}.{which}", loop, 0.0, [])

    return Peer(f"{which} -O3", prepare)


def _gcc() -> list[str]:
    if not shutil.which("gcc"):
        raise ImportError("no gcc on PATH")
    return ["gcc"]


def _clang() -> list[str]:
    if shutil.which("clang"):
        return ["clang"]
    if not importlib.util.find_spec("ziglang"):
        raise ImportError("no clang on PATH, and no ziglang package")
    return [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all"]


def _prepared(
    command: Sequence[str],
    driver: str,
    folder: Path,
    stem: str,
    loop: str,
    seconds: float,
    objects: Sequence[str],
) -> Prepared:
    source, library = folder / f"{stem}.c", folder / f"{stem}.so"
    source.write_text(driver)
    begin = time.perf_counter()
    call = [*command, *FLAGS, "-shared", str(source), *objects, "-o", str(library), "-lm"]
    subprocess.run(call, check=True, capture_output=True)
    seconds += time.perf_counter() - begin
    run = ctypes.CDLL(str(library)).run
    arrays = data()
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]

    def called(repeat: int) -> None:
        run(*pointers, ROWS, THREADS, repeat)

    def sample() -> float:
        begin = time.process_time()
        called(REPEAT)
        return time.process_time() - begin

    def check() -> str | None:
        arrays[3][:] = 0
        called(1)
        wanted = expected(loop, folder)
        if np.allclose(arrays[3], wanted, rtol=1e-3, atol=1e-4, equal_nan=True):
            return None
        return f"{int((~np.isclose(arrays[3], wanted, rtol=1e-3, atol=1e-4)).sum())} numbers differ"

    return Prepared(sample, check, seconds)


_EXPECTED: dict[str, np.ndarray] = {}


def expected(loop: str, folder: Path) -> np.ndarray:
    """What gcc makes of the loop without optimization."""
    known = _EXPECTED.get(loop)
    if known is None:
        source, library = folder / f"{loop}.plain.c", folder / f"{loop}.plain.so"
        source.write_text(_COMPILER_LOOP.format(name=loop, step=1, source=SOURCE))
        call = [*_gcc(), "-O0", "-std=gnu11", "-fPIC", "-shared", str(source), "-o", str(library)]
        subprocess.run(call, check=True, capture_output=True)
        arrays = data()
        run: Callable[..., None] = ctypes.CDLL(str(library)).run
        run(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays), ROWS, THREADS, 1)
        known = _EXPECTED[loop] = arrays[3]
    return known
