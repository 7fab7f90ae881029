"""What scalar replacement leaves of a loop on GPUs: PTX by LLVM, registers and machine code by ``ptxas``."""

from __future__ import annotations

import re

from bench.ptx import Assembled, assemble
from bench.scalar_replacement.loops import replaced
from weft.ir import Module
from weft.ir.writer import write_module
from weft.target.ptx import emit_ptx
from weft.transform.scalar_replacement.policy import PolicyName

WARP = 32
_TARGET = re.compile(r"^(target (datalayout|triple)|attributes|source_filename).*$", re.MULTILINE)
_ATTRIBUTES = re.compile(r" #\d+")


def on_gpu(module: Module, loop: str, policy: PolicyName, arch: str) -> tuple[int, Assembled]:
    """Loads in the PTX of a loop, and what ``ptxas`` makes of it; arguments are in global memory."""
    copy = replaced(module, loop, policy, WARP)
    for name in [f.name for f in copy.definitions() if f.name != loop]:
        del copy.functions[name]
    text = _ATTRIBUTES.sub("", _TARGET.sub("", write_module(copy, plain=True)))
    # A kernel, so that its pointers are known to lead to global memory.
    text = re.sub(rf"define [^@]*@{loop}\(", f"define ptx_kernel void @{loop}(", text)
    found = emit_ptx(text, arch, (), (), lines=False, exact=True)
    return len(re.findall(r"^\s+ld\.global", found, re.MULTILINE)), assemble(found, arch)
