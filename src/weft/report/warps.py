"""What accesses of the warps of a GPU cost: requests of global memory, turns of the banks of shared memory.

Lanes are the 32 threads of a warp along x, whatever lanes the code for the CPU has. Strides are those of the divergence
analysis; what addresses they are is settled by `weft.machine.transactions`, as the cost model of GPUs does.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from weft.analysis.divergence import Divergence, Scope, analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.ir import Function, Instruction, Value
from weft.ir.types import PointerType
from weft.machine.gpus import WARP
from weft.machine.transactions import SECTOR, bank_turns, units
from weft.report import hints
from weft.report.explanation import explain_value
from weft.report.facts import access_form, access_instructions, loops_of
from weft.report.model import AccessForm, Finding, FindingKind
from weft.report.source_map import SourceMap

SHARED = 3
_BASE = 1 << 20
_ROUNDS = 10


def warp_findings(function: Function, given: Mapping[Value, Shape], source: SourceMap) -> tuple[Finding, ...]:
    """Accesses of a kernel that take a warp more requests, or more turns, than they need, the worst first.

    Their cost is how many more.
    """
    initial = {v: s for v, s in given.items() if s.is_uniform}
    divergence = analyze_divergence(
        function, domain=domain_named("product", (WARP,)), initial=initial, scope=Scope.LANES
    )
    found = [f for i in access_instructions(function) if (f := _finding(divergence, i, source)) is not None]
    return tuple(sorted(found, key=lambda finding: -finding.cycles))


def _finding(divergence: Divergence, access: Instruction, source: SourceMap) -> Finding | None:
    form, stride = access_form(divergence, access)
    if form in (AccessForm.UNIFORM, AccessForm.PRIVATE):
        return None
    size = divergence.engine.layout.size(access.accessed_type)
    pointer = access.pointer.type
    shared = isinstance(pointer, PointerType) and pointer.space == SHARED
    if shared:
        if stride is None:
            # Any banks: most threads of a warp find one of their own.
            return None
        turns, least = bank_turns(_addresses(stride), size), bank_turns(_addresses(size), size)
        kind, text = (
            FindingKind.BANK_CONFLICT,
            f"{turns} turns of the banks of shared memory, where {least} would do",
        )
        hint = hints.BANKS
    else:
        least = len(units(_addresses(size), size, SECTOR))
        turns = WARP if stride is None else len(units(_addresses(stride), size, SECTOR))
        kind = FindingKind.UNCOALESCED
        text = f"a warp asks for {turns} sectors of memory, where {least} would do"
        if stride is None:
            text = f"a warp asks for up to {turns} sectors of memory, where {least} would do"
        hint = hints.COALESCE
    if turns <= least:
        return None
    block = access.block
    assert block is not None
    place = source.place(access)
    depth = divergence.engine.control.propagation.loops.depth(divergence.engine.blocks[block])
    return Finding(
        kind,
        None if place is None else place.line,
        (turns - least) * float(_ROUNDS**depth),
        text,
        explain_value(divergence, access.pointer, source),
        hint,
        "" if place is None else place.file,
        access.loc.column if access.loc is not None else 0,
        bool(depth and loops_of(divergence)),
    )


def _addresses(stride: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return (np.arange(WARP, dtype=np.int64) * stride + _BASE).astype(np.uint64)
