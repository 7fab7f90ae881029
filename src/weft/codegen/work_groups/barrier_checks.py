"""What users are told of a kernel's barriers: which are not needed, which may diverge, and what each costs."""

from __future__ import annotations

from weft.analysis.barrier_divergence import divergent_barriers
from weft.analysis.divergence import Divergence, FunctionFacts, Scope, analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.ir import Function, Value
from weft.ir.intrinsics import is_numbered_barrier
from weft.ir.locations import span_of
from weft.transform.groups.work_items import WorkItems
from weft.transform.splitting.barriers import FRAME_PARAMETERS, BarrierProgram, barriers_of
from weft.transform.splitting.numbered_barriers import drop_arrivals
from weft.transform.splitting.redundant_barriers import remove_redundant_barriers


def analyze_group(kernel: Function, linear: bool = False, facts: FunctionFacts | None = None) -> Divergence:
    """The divergence of a kernel with work-item parameters, for the threads of a work-group.

    With `linear`, its parameter ``tid.x`` is the linear number of a thread. `facts` are those of the kernel.
    """
    domain = domain_named("product", (None, None, None))
    ids: dict[Value, Shape] = {
        a: domain.varying(64) if linear else domain.lane_id(d, 64)
        for d, a in enumerate(WorkItems.of(kernel).tid)
    }
    for argument in kernel.args:
        if argument.name == FRAME_PARAMETERS[0]:
            ids[argument] = domain.varying(64)
    return analyze_divergence(kernel, domain=domain, initial=ids, scope=Scope.GROUP, facts=facts)


def check_barriers(kernel: Function, remarks: RemarkLog) -> bool:
    """Warn of barriers that not all threads may reach together, and remove those that order nothing.

    Returns whether all threads that have not returned reach each barrier that is left together.
    """
    barriers = barriers_of(kernel)
    if not barriers:
        drop_arrivals(kernel)
        return True
    if any(is_numbered_barrier(b.callee_name) for b in barriers):
        # Some are meant to wait here while others go on.
        return False
    group = analyze_group(kernel)
    doubtful = {item.barrier: item for item in divergent_barriers(group)}
    for barrier, item in doubtful.items():
        message = (
            "threads of a work-group wait at different barriers: some here, the others elsewhere"
            if item.certain
            else "not all threads of a work-group may reach this barrier together"
        )
        hint = "let all threads that have not returned run it"
        remarks.add(RemarkKind.BARRIER, message, span_of(barrier), hint, "barriers")
    if doubtful:
        # Those who wait at one of these may be waited for at any other.
        return False
    spans = {b: span_of(b) for b in barriers}
    for barrier in remove_redundant_barriers(kernel):
        message = "this barrier is not needed: no thread accesses memory between it and the one next to it"
        remarks.add(RemarkKind.TRANSFORM, message, spans[barrier], pass_name="barriers")
    return True


def remark_kept_values(split: BarrierProgram, remarks: RemarkLog) -> None:
    """Note how much waits in memory across each barrier."""
    for values, span in zip(split.kept, split.spans, strict=True):
        slots = [split.slots[v] for v in values if v in split.slots]
        vectors = sum(slot.stride is None for slot in slots)
        counts = (
            (vectors, "vector", "lane group"),
            (len(slots) - vectors, "number", "lane group"),
            (len(values) - len(slots), "number", "work-group"),
        )
        parts = [f"{n} {what}{'s' * (n > 1)} of each {whose}" for n, what, whose in counts if n]
        message = f"what waits in memory across this barrier: {', '.join(parts) or 'nothing'}"
        remarks.add(RemarkKind.TRANSFORM, message, span, pass_name="barriers")
