"""Kernels in PTX under the cost model of GPUs: every access of the text is one, and every instruction is its own."""

from __future__ import annotations

import copy

from weft.cuda.c.compiled import KernelOrigin
from weft.cuda.ptx.build import PtxProgram
from weft.device.simulation import WatchedKernel
from weft.ptx import syntax
from weft.simt.ptx_weights import lifted_weights

_ORDERED = ("volatile", "relaxed", "acquire", "release", "mmio", "nc", "param", "const")


def watched(program: PtxProgram, name: str) -> WatchedKernel:
    """Lift a kernel so that its accesses all stay, and its instructions are found by their places in the text."""
    text = _as_written(program.text)
    source = PtxProgram.of(text, program.file).kernel(name)
    origin = KernelOrigin(source, name)
    module = origin.module(small=True)
    return WatchedKernel(origin, module, lifted_weights(module, text))


def _as_written(text: syntax.Module) -> syntax.Module:
    """The module without lines of other sources, its loads and stores volatile: none is forwarded or left out."""
    made = copy.deepcopy(text)
    for function in made.functions():
        if function.body is None:
            continue
        function.body = [s for s in function.body if not isinstance(s, syntax.Loc)]
        for i in function.body:
            if isinstance(i, syntax.Instruction) and i.opcode in ("ld", "st") and not _is_ordered(i):
                i.modifiers = ("volatile", *(m for m in i.modifiers if m != "weak"))
    return made


def _is_ordered(i: syntax.Instruction) -> bool:
    return any(m.partition("::")[0].partition("[")[0] in _ORDERED for m in i.modifiers)
