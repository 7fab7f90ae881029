"""Levels of instructions that a bench holds weft and all its peers to, by what each of them reads.

Beside the levels there are processors by LLVM's names, to see what one of these gets on a machine that has more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

_AVX2 = {
    "POCL_KERNELLIB_NAME": "kernel-x86_64-pc-linux-gnu-avx2",
    "CL_CONFIG_CPU_TARGET_ARCH": "core-avx2",
}

RUNTIMES = {
    "x86-64": {
        "POCL_LLVM_CPU_NAME": "x86-64",
        "POCL_KERNELLIB_NAME": "kernel-x86_64-pc-linux-gnu-sse2",
        "CL_CONFIG_CPU_TARGET_ARCH": "corei7",
    },
    "x86-64-v3": {**_AVX2, "POCL_LLVM_CPU_NAME": "haswell"},
    "x86-64-v4": {
        "POCL_LLVM_CPU_NAME": "skylake-avx512",
        "POCL_KERNELLIB_NAME": "kernel-x86_64-pc-linux-gnu-avx512",
        "CL_CONFIG_CPU_TARGET_ARCH": "skx",
    },
    "skylake": {**_AVX2, "POCL_LLVM_CPU_NAME": "skylake"},
    "alderlake": {**_AVX2, "POCL_LLVM_CPU_NAME": "alderlake"},
}
"""What holds the OpenCL runtimes to a level; without, they use all that there is. Intel's has SSE4.2 at least."""

_NUMBA = {"x86-64": "x86-64", "x86-64-v3": "haswell", "x86-64-v4": "skylake-avx512"}

_HIDDEN = {"alderlake": "avxvnni"}
"""What virtual machines hide of a processor, with which code would run on few."""

_ISPC = {
    "x86-64": "sse2-i32x4",
    "x86-64-v4": "avx512skx-x16",
    **dict.fromkeys(("x86-64-v3", "skylake", "alderlake"), "avx2-i32x8"),
}

LEVELS = tuple(RUNTIMES)

_TUNABLES = "GLIBC_TUNABLES"
_NO_AVX512 = "-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD"
_LIBRARY = {
    "x86-64": f"-AVX,-AVX2,{_NO_AVX512}",
    **dict.fromkeys(("x86-64-v3", "skylake", "alderlake"), _NO_AVX512),
}
"""What the C library is told not to use: compilers make `memset` and `memcpy` of loops, which are its own elsewhere."""


def library_environment(level: str | None, environment: Mapping[str, str]) -> dict[str, str] | None:
    """The environment in which the C library is held to a level, too; None where it is, or nothing is asked."""
    told = f"glibc.cpu.hwcaps={_LIBRARY[level]}" if level in _LIBRARY else ""
    known = environment.get(_TUNABLES, "")
    if not told or told in known.split(":"):
        return None
    return {**environment, _TUNABLES: f"{known}:{told}" if known else told}


def begin_again(level: str | None) -> None:
    """Begin the process again with its C library held to a level: it reads what it is told when a process begins."""
    environment = library_environment(level, os.environ)
    if environment is not None and sys.platform == "linux":
        os.execve(sys.executable, sys.orig_argv, environment)


def hold(level: str | None) -> None:
    """Hold this process, and those that it starts, to a level; before numba compiles anything."""
    if not level:
        return
    hidden = f"-{_HIDDEN[level]}" if level in _HIDDEN else ""
    os.environ.update(
        RUNTIMES[level],
        WEFT_CPU=f"{level},{hidden}".rstrip(","),
        NUMBA_CPU_NAME=_NUMBA.get(level, level),
        # Without, numba takes all that this machine has.
        NUMBA_CPU_FEATURES=hidden,
    )
    if "numba" in sys.modules:
        sys.modules["numba"].config.reload_config()


def march(command: Sequence[str]) -> list[str]:
    """What tells gcc and clang the level, tuned for this machine, or the processor.

    zig has names of its own for levels, and takes any other, and ``-mtune=native``, for all that the machine has.
    """
    level, _, hidden = os.environ.get("WEFT_CPU", "").partition(",-")
    if level and "ziglang" in command:
        return [f"-march={level.replace('-', '_')}"]
    if level not in _NUMBA:
        return [f"-march={level or 'native'}", *([f"-mno-{hidden}"] if hidden else [])]
    return [f"-march={level}", "-mtune=native"]


def ispc_target() -> str:
    """What tells ISPC the level: registers full of 32-bit lanes."""
    return _ISPC.get(os.environ.get("WEFT_CPU", "").partition(",")[0], "host")
