"""The C family: clang makes LLVM IR of C and C++, for the host or another target, as the source says it.

clang runs with ``-O1`` and no passes, so that nothing is unrolled or vectorized before weft looks at it, and what
clang tells the optimizer (lifetimes, aliasing, promises of parallel loops) is there. It comes from the wheel
``ziglang`` (``pip install weft[clang]``), whose LLVM is that of llvmlite, or from the search path.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from weft.diag.errors import CompileError, UnsupportedError
from weft.diag.source import SourceSpan

SUFFIXES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".C": "c++"}
"""File endings, and what clang calls their language."""

LLVM_IR = (
    *("-S", "-emit-llvm", "-O1", "-Xclang", "-disable-llvm-passes", "-g", "-fno-discard-value-names"),
    # With -O1 alone, each loop says that it is not to be unrolled, whatever the source says.
    "-funroll-loops",
)
"""Options for LLVM IR in which nothing is optimized yet, and which says what is where in the source."""

OPTIONS = (
    *LLVM_IR,
    # A math function that may set errno could not be called for several lanes at once.
    *("-fno-math-errno", "-fopenmp-simd"),
)

_CPP_OPTIONS = ("-fno-exceptions", "-gline-tables-only")
"""Lanes cannot unwind one by one; and what headers define would be most of the debug information."""

_LIBCXX = (
    *(
        "_LIBCPP_ABI_VERSION=1",
        "_LIBCPP_ABI_NAMESPACE=__1",
        "_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
    ),
    "_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE",
    *(
        "_LIBCPP_HAS_THREADS=1",
        "_LIBCPP_HAS_MONOTONIC_CLOCK",
        "_LIBCPP_HAS_LOCALIZATION",
        "_LIBCPP_HAS_UNICODE",
    ),
    *("_LIBCPP_HAS_WIDE_CHARACTERS", "_LIBCPP_HAS_RANDOM_DEVICE", "_LIBCPP_HAS_TERMINAL"),
    *("_LIBCPP_HAS_FILESYSTEM=1", "_LIBCPP_HAS_TIME_ZONE_DATABASE", "_LIBCPP_HAS_MUSL_LIBC=0"),
    *("_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0", "_LIBCPP_PSTL_BACKEND_SERIAL"),
)
"""What a configured libc++ defines of itself; the wheel's is not configured."""

_DIAGNOSTIC = re.compile(
    r"^(?P<file>.*?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$", re.M
)

_ASSEMBLY = re.compile(r'^module asm| asm (?:[a-z]+ )*"[^"]*[^"\s]', re.M)
"""Assembly in LLVM IR, of which something is to be assembled."""


def find_clang(triple: str, language: str = "c") -> list[str]:
    """The command that runs clang for a target and a language.

    The wheel's clang is given the headers that come in the wheel: its own, and those of glibc for each architecture.

    Raises
    ------
    UnsupportedError
        There is none.
    """
    wheel = _wheel()
    if wheel is not None:
        library = wheel / "lib"
        headers = library / "libc" / "include"
        folders = [
            *([library / name / "include" for name in ("libcxx", "libcxxabi")] if language == "c++" else []),
            library / "include",
            *(headers / name for name in _glibc_headers(triple.split("-")[0])),
        ]
        command = [*bare_clang(), "-nostdinc"]
        command += [f"-D{definition}" for definition in _LIBCXX] if language == "c++" else []
        return command + [text for folder in folders for text in ("-isystem", str(folder))]
    return bare_clang()


def bare_clang() -> list[str]:
    """The command that runs clang without any headers.

    Raises
    ------
    UnsupportedError
        There is none.
    """
    wheel = _wheel()
    if wheel is not None:
        return [str(wheel / "zig"), "clang"]
    found = shutil.which("clang")
    if found is None:
        raise UnsupportedError("there is no clang to read C with", hint="pip install 'weft[clang]'")
    return [found]


def _wheel() -> Path | None:
    """The folder of the wheel `ziglang`."""
    wheel = importlib.util.find_spec("ziglang")
    return None if wheel is None or wheel.origin is None else Path(wheel.origin).parent


def _glibc_headers(arch: str) -> tuple[str, ...]:
    family = "x86" if arch in ("x86_64", "i386") else arch
    return (f"{family}-linux-gnu", "generic-glibc", f"{family}-linux-any", "any-linux-any")


def compile_c(file: Path, triple: str, options: Sequence[str] = ()) -> str:
    """Return the LLVM IR of a C or C++ file, as text.

    Parameters
    ----------
    file
        Its ending tells the language.
    triple
        What to compile for, as LLVM writes it.
    options
        More options for clang, ``-DNAME`` or ``-Ifolder``.

    Raises
    ------
    CompileError
        clang refuses the file; the first error is named, with its place.
    UnsupportedError
        There is no clang.
    """
    language = SUFFIXES[file.suffix]
    command = [*find_clang(triple, language), f"--target={triple}", "-x", language, *OPTIONS, *options]
    command += [*(_CPP_OPTIONS if language == "c++" else ()), str(file), "-o", "-"]
    # What clang quotes of the file has the file's bytes.
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", errors="backslashreplace", check=False
    )
    if done.returncode:
        raise _refused(done.stderr, file)
    if _ASSEMBLY.search(done.stdout):
        _assemble(command, file)
    return done.stdout


def _assemble(command: Sequence[str], file: Path) -> None:
    """See that clang can assemble what a file has of assembly: LLVM ends the process for what is no assembly."""
    words = ("-c" if word == "-S" else word for word in command[:-1] if word != "-emit-llvm")
    done = subprocess.run(
        [*words, os.devnull], capture_output=True, encoding="utf-8", errors="backslashreplace", check=False
    )
    if done.returncode:
        raise _refused(done.stderr, file)


def _refused(diagnostics: str, file: Path) -> CompileError:
    found = _DIAGNOSTIC.search(diagnostics)
    if found is None:
        lines = diagnostics.strip().splitlines()
        return CompileError(f"clang cannot compile {file}: {lines[-1] if lines else 'it says nothing'}")
    span = SourceSpan(found["file"], int(found["line"]), int(found["column"]))
    return CompileError(f"clang: {found['message']}", span)
