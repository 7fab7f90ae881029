"""PTX from LLVM IR, through LLVM's code generator for NVIDIA's GPUs and libdevice."""

from __future__ import annotations

import re
from collections.abc import Collection

from weft.diag.errors import SettingError
from weft.machine.gpus import ARCHITECTURES, architecture
from weft.target.libdevice import library_text
from weft.target.machine import TargetSpec, emit_assembly
from weft.target.passes import Pipeline

TRIPLE = "nvptx64-nvidia-cuda"
LEAST = 70
"""The least architecture that code is made for: threads of a warp go their own ways from there on."""

WHOLE_PROGRAM = Pipeline("ptx", 3)
"""All of LLVM's O3 but its vectorizers: threads are scalar, and what they share LLVM does not see."""

_LEAST_VERSION = "+ptx63"
_EMISSION = re.compile(r"emissionKind: \w+")


def require_target(arch: str) -> str:
    """Return `arch` if code can be made for it.

    Raises
    ------
    SettingError
        There is no such architecture, or none that is still served.
    """
    if architecture(arch).capability < LEAST:
        served = ", ".join(a.name for a in ARCHITECTURES.values() if a.capability >= LEAST)
        raise SettingError(f"no PTX is made for {arch}", hint=f"it is for {served}")
    return arch


def emit_ptx(
    text: str, arch: str, functions: Collection[str], present: Collection[str], *, lines: bool, exact: bool
) -> str:
    """Return the PTX of a module.

    Parameters
    ----------
    text
        LLVM IR for NVPTX (`weft.transform.nvptx.lower`).
    arch
        As ``ptxas`` spells it, ``sm_90``.
    functions
        Functions of libdevice that it calls.
    present
        All that it declares or defines.
    lines
        Whether PTX says from which line of the source each instruction is (``.loc``).
    exact
        Whether functions of libdevice use exact roots and keep denormals; else they are approximated.

    Raises
    ------
    SettingError
        There is no such architecture.
    UnresolvedError
        libdevice is needed and not installed, or lacks a function.
    CompileError
        LLVM refuses the module.
    """
    require_target(arch)
    answers = {
        "__CUDA_ARCH": 10 * architecture(arch).capability,
        "__CUDA_FTZ": 0,
        "__CUDA_PREC_SQRT": int(exact),
        "__CUDA_PREC_DIV": int(exact),
    }
    if functions:
        text = _without_declarations(text, functions) + library_text(functions, present, answers)
    text = _EMISSION.sub(f"emissionKind: {'DebugDirectivesOnly' if lines else 'NoDebug'}", text)
    return emit_assembly(
        text,
        TargetSpec(TRIPLE, arch, _LEAST_VERSION if architecture(arch).capability < 75 else "", 3),
        WHOLE_PROGRAM,
    )


def _without_declarations(text: str, names: Collection[str]) -> str:
    """The text without the declarations of functions that are defined behind it."""
    wanted = "|".join(map(re.escape, sorted(names)))
    return re.sub(rf"^declare [^@\n]*@(?:{wanted})\(.*$", "", text, flags=re.MULTILINE)
