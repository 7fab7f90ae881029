"""Peers that compile C: gcc, clang, and ISPC for the kernels that have a version in its language."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench import levels

SOURCES = Path(__file__).parent / "c"
FLAGS = ("-O3", "-ffast-math", "-std=gnu11", "-fPIC")
ON_THREADS = '-DPARALLEL_FOR=_Pragma("omp parallel for num_threads({}) schedule(guided)")'

_SCALARS = {
    np.dtype(np.float32): ctypes.c_float,
    np.dtype(np.float64): ctypes.c_double,
    np.dtype(np.int32): ctypes.c_int32,
    np.dtype(np.uint32): ctypes.c_uint32,
}


def gcc() -> list[str]:
    """Return how gcc is called; it takes vector functions from libmvec under -ffast-math."""
    if not shutil.which("gcc"):
        raise ImportError("no gcc on PATH")
    return ["gcc"]


def clang() -> list[str]:
    """Return how a clang is called: one on PATH, or that of the ziglang package."""
    if shutil.which("clang"):
        command = ["clang"]
    elif importlib.util.find_spec("ziglang"):
        command = [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all"]
    else:
        raise ImportError("no clang on PATH, and no ziglang package")
    return [*command, "-fveclib=libmvec"]


def build(
    command: Sequence[str], source: Path, threads: int, folder: Path, real: str = ""
) -> tuple[ctypes.CDLL, float]:
    """Compile the C version of a kernel; return the library and how many seconds that took."""
    code, library = folder / f"{source.stem}.o", folder / f"{source.stem}.so"
    parallel = ["-fopenmp", ON_THREADS.format(threads)] if threads > 1 else ["-DPARALLEL_FOR="]
    begin = time.perf_counter()
    _run(
        [
            *command,
            *FLAGS,
            *levels.march(command),
            *parallel,
            *_real(real),
            "-c",
            str(source),
            "-o",
            str(code),
        ]
    )
    # Linked under -ffast-math, gcc's libraries make the whole process flush denormal numbers when they are loaded.
    threading = ["-fopenmp"] if threads > 1 else []
    _run([*command, "-shared", *threading, str(code), "-o", str(library), "-lm", *_vector_math()])
    seconds = time.perf_counter() - begin
    try:
        return ctypes.CDLL(str(library)), seconds
    except OSError as error:
        # clang leaves the functions of its OpenMP library to the linker, and not every clang brings one.
        raise ImportError(f"no OpenMP library for it ({str(error).rpartition(': ')[2]})") from None


def build_ispc(source: Path, folder: Path, real: str = "") -> tuple[ctypes.CDLL, float]:
    """Compile the ISPC version of a kernel; return the library and how many seconds that took."""
    if not shutil.which("ispc"):
        raise ImportError("no ispc on PATH")
    if not source.exists():
        raise ImportError("no version of this kernel in its language")
    code, library = folder / f"{source.stem}.o", folder / f"{source.stem}.so"
    target = f"--target={levels.ispc_target()}"
    # Under fast math its quotients of doubles have ten digits with AVX-512.
    fast = [] if real == "double" or "double " in source.read_text() else ["--opt=fast-math"]
    options = ["-O3", *fast, "--addressing=32", "--woff", "--pic", target, *_real(real)]
    begin = time.perf_counter()
    _run(["ispc", *options, str(source), "-o", str(code)])
    _run([*gcc(), "-shared", str(code), "-o", str(library), "-lm"])
    return ctypes.CDLL(str(library)), time.perf_counter() - begin


def _real(real: str) -> list[str]:
    return [f"-DREAL={real}"] if real else []


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[0])


def _vector_math() -> list[str]:
    """Return libmvec by its path: linkers that bring a C library of their own do not look for this one."""
    found = (Path(f"/lib/{folder}/libmvec.so.1") for folder in ("x86_64-linux-gnu", "../lib64"))
    return [str(path.resolve()) for path in found if path.exists()][:1]


def caller(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[], object]:
    """Return a call with fixed arguments: an array as its address and extents, a Python int as 64 bits."""
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            passed.append(ctypes.c_void_p(argument.ctypes.data))
            passed.extend(map(ctypes.c_int64, argument.shape))
        elif isinstance(argument, np.generic):
            passed.append(_SCALARS[argument.dtype](argument.item()))
        else:
            passed.append(ctypes.c_int64(argument))
    # An address does not keep its array.
    kept = tuple(arguments)
    return lambda: (kept, function(*passed))[1]
