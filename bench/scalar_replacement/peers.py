"""One side of the comparison each: a loop as machine code, called for all threads."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
FLAGS = ("-O3", "-fPIC", "-std=gnu11", "-fno-math-errno")
LEAST_SAMPLE = 8e-3
"""Seconds of a sample."""


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code of weft's for a loop, and what its function is called."""

    function: str
    object: bytes


def weft_code(loop: str, policy: PolicyName, width: int) -> Code:
    """Compile in lanes by the option, in one lane by all that can be replaced and LLVM's pipeline."""
    if width > 1:
        switches = changed(ALL_ON, scalar_replacement=policy.value)
        made = vectorize_ir(SOURCE, loop, width=width, args="C", name=f"{loop}_simd", switches=switches)
        return Code(made.name, made.object_code)
    spec = TargetSpec.chosen()
    module = replaced(program(spec), loop, policy, 1)
    return Code(loop, emit_object(write_module(module, plain=True), spec, WHOLE))


def weft(loop: str, name: str, code: Code, width: int, folder: Path) -> Peer:
    """One code as a peer of some name."""

    def prepare() -> Prepared:
        code_file = folder / f"{loop}.{name}.o"
        code_file.write_bytes(code.object)
        driver = _DRIVER.format(name=code.function, step=width)
        return _prepared(["gcc"], driver, folder, f"{loop}.{name}", loop, [str(code_file)])

    return Peer(name, prepare)


def compiler(loop: str, which: str, folder: Path) -> Peer:
    """The same source by a C compiler, which sees the loop over threads."""

    def prepare() -> Prepared:
        command = [*_gcc(), _machine("-march=")] if which == "gcc" else _clang()
        source = _COMPILER_LOOP.format(name=loop, step=1, source=SOURCE)
        return _prepared(command, source, folder, f"{loop}.{which}", loop, [])

    return Peer(f"{which} -O3", prepare)


def _gcc() -> list[str]:
    if not shutil.which("gcc"):
        raise ImportError("no gcc on PATH")
    return ["gcc"]


def _clang() -> list[str]:
    if shutil.which("clang"):
        return ["clang", _machine("-march=")]
    if not importlib.util.find_spec("ziglang"):
        raise ImportError("no clang on PATH, and no ziglang package")
    # It takes the names of processors with underscores.
    machine = _machine("-mcpu=").replace("x86-64-", "x86_64_").replace("x86-64", "x86_64")
    return [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all", machine]


def _machine(option: str) -> str:
    return option + os.environ.get("WEFT_CPU", "native")


def _prepared(
    command: Sequence[str],
    driver: str,
    folder: Path,
    stem: str,
    loop: str,
    objects: Sequence[str],
) -> Prepared:
    source, library = folder / f"{stem}.c", folder / f"{stem}.so"
    source.write_text(driver)
    call = [*command, *FLAGS, "-shared", str(source), *objects, "-o", str(library), "-lm"]
    subprocess.run(call, check=True, capture_output=True)
    run = ctypes.CDLL(str(library)).run
    arrays = data()
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]

    def called(repeat: int) -> None:
        run(*pointers, ROWS, THREADS, repeat)

    def timed(repeat: int) -> float:
        begin = time.process_time()
        called(repeat)
        return (time.process_time() - begin) / repeat

    times: list[int] = []

    def sample() -> float:
        if not times:
            times.append(1 + int(LEAST_SAMPLE / max(timed(5), 1e-7)))
        return timed(times[0])

    def check() -> str | None:
        arrays[3][:] = 0
        called(1)
        wanted = expected(loop, folder)
        if np.allclose(arrays[3], wanted, rtol=1e-3, atol=1e-4, equal_nan=True):
            return None
        return f"{int((~np.isclose(arrays[3], wanted, rtol=1e-3, atol=1e-4)).sum())} numbers differ"

    return Prepared(sample, check)


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
