"""What vectorization did, as remarks for the user (statistics as in Moll, Fig. 13.1)."""

from __future__ import annotations

from weft.codegen.memory_remarks import MEMORY_REMARKS
from weft.codegen.vectorization import VectorizationSummary
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.diag.source import SourceSpan
from weft.ir import BasicBlock, Instruction
from weft.ir.locations import span_of
from weft.transform.guard_splitting import GuardSplit
from weft.transform.merge_groups import GroupMerge


def remark_vectorization(
    log: RemarkLog,
    subject: str,
    reason: str,
    summary: VectorizationSummary,
    what: str = "threads",
    span: SourceSpan | None = None,
    behind: str = "",
) -> None:
    """Note width, divergent loops and branches, and each access and call that has no cheap vector form.

    Parameters
    ----------
    subject
        The kernel, function or loop.
    reason
        Why so many lanes, as words that go on from "runs so many threads at a time, ".
    what
        What runs in the lanes.
    behind
        What is said behind their number.
    """
    counts = f"{summary.notes.vector} values are vectors, {summary.notes.scalar} stay scalar"
    log.add(
        RemarkKind.VECTORIZED,
        f"{subject} runs {summary.width} {what} at a time{behind}, {reason}; {counts}",
        span,
        pass_name="widening",
    )
    for loop in summary.loops:
        if loop.divergent:
            exits = f"{loop.rebound_exits} of its {loop.rebound_exits + loop.kept_exits} exits are divergent"
            log.add(
                RemarkKind.DIVERGENT_LOOP,
                f"lanes leave this loop in different iterations: it runs until the last is done; {exits}",
                _span_of_block(loop.header),
                pass_name="divergent loops",
            )
    if summary.branches.folded:
        kept = f"{summary.branches.kept} uniform ones are kept"
        log.add(
            RemarkKind.DIVERGENT_BRANCH,
            f"{summary.branches.folded} divergent branches run both sides under masks; {kept}",
            pass_name="linearization",
        )
    for gadget in summary.gadgets:
        what = (
            "what it guards has a copy without masks for lane groups all of whose threads take it"
            if gadget.twin
            else "what it guards is skipped by lane groups none of whose threads take it"
        )
        log.add(
            RemarkKind.TRANSFORM,
            f"at this divergent branch {what} ({gadget.blocks} blocks)",
            gadget.span,
            pass_name="boscc",
        )
    for instruction, what in summary.notes.notes:
        _remark_instruction(log, instruction, what)


def remark_rows(
    log: RemarkLog, kernel: str, dimension: str, merge: GroupMerge | None, guards: GuardSplit | None
) -> None:
    """Note along which dimension lane groups are cut, whether beyond work-groups, and the guards that are gone."""
    along = f" along {dimension}, where its memory accesses are contiguous" if dimension != "x" else ""
    beyond = "within each work-group"
    if merge is not None:
        size = f" of {merge.size} threads" if merge.size is not None else ""
        beyond = f"and beyond work-groups{size}, which it cannot tell apart"
    if along or merge is not None:
        message = f"threads of {kernel} that run together are neighbours{along} {beyond}"
        log.add(RemarkKind.TRANSFORM, message, pass_name="rows of threads")
    for span in guards.guards if guards is not None else ():
        message = "this guard is a bound of the loop over threads, which need no mask for it"
        log.add(RemarkKind.TRANSFORM, message, span, pass_name="guard splitting")


def _remark_instruction(log: RemarkLog, instruction: Instruction, what: str) -> None:
    span = span_of(instruction)
    if what in MEMORY_REMARKS:
        log.add(RemarkKind.MEMORY, MEMORY_REMARKS[what].format(op=instruction.op), span)
    elif what == "target by target":
        message = "this call runs once for each function that an active lane's pointer leads to"
        log.add(RemarkKind.TRANSFORM, message, span, pass_name="widening")
    else:
        name = instruction.callee_name if instruction.op == "call" else None
        subject = f"the call of {name}" if name is not None else f"this {instruction.op}"
        log.add(RemarkKind.LANE_BY_LANE, f"{subject} runs once for each active lane", span)


def _span_of_block(block: BasicBlock) -> SourceSpan | None:
    return next((span for i in block.instructions if (span := span_of(i)) is not None), None)
