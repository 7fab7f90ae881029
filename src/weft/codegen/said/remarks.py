"""What vectorization did, as remarks for the user (statistics as in Moll, Fig. 13.1)."""

from __future__ import annotations

from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.said.memory_remarks import MEMORY_REMARKS
from weft.diag.remarks import RemarkKind, RemarkLog
from weft.diag.source import SourceSpan
from weft.diag.words import counted
from weft.ir import Instruction
from weft.ir.locations import span_of, span_of_block
from weft.transform.groups.guard_splitting import GuardSplit
from weft.transform.groups.merge_groups import GroupMerge
from weft.transform.loops.alone import AloneLoops
from weft.transform.loops.masked_sums import LANES
from weft.transform.scalar_replacement.notes import Note
from weft.transform.scalar_replacement.replacement import ReplacementSummary

THREADS_ALONE = "threads alone"
"""The pass of loops of threads by themselves."""


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
    notes, branches = summary.notes, summary.branches
    counts = f"{counted(notes.vector, 'value is a vector', 'values are vectors')}"
    counts += f", {counted(notes.scalar, 'stays scalar', 'stay scalar')}"
    if branches.folded:
        counts += f"; of its branches {counted(branches.folded, 'is divergent', 'are divergent')}"
        counts += f", {counted(branches.kept, 'is uniform and kept', 'are uniform and kept')}"
    log.add(
        RemarkKind.VECTORIZED,
        f"{subject} runs {summary.width} {what} at a time{behind}, {reason}; {counts}",
        span,
        pass_name="widening",
    )
    loops: set[tuple[str, int] | None] = set()
    for loop in summary.loops:
        if loop.divergent:
            place = span_of_block(loop.header)
            loops.add(_line(place))
            exits = loop.rebound_exits + loop.kept_exits
            which = f"{loop.rebound_exits} of its {exits} exits {'is' if loop.rebound_exits == 1 else 'are'}"
            log.add(
                RemarkKind.DIVERGENT_LOOP,
                "lanes leave this loop in different iterations: it runs until the last is done; "
                f"{which if exits > 1 else 'its exit is'} divergent",
                place,
                pass_name="divergent loops",
            )
    for place in branches.places:
        # Of a divergent loop the exit is a branch too.
        if place is None or _line(place) not in loops:
            log.add(
                RemarkKind.DIVERGENT_BRANCH,
                "lanes disagree at this branch: both sides run, under masks",
                place,
                pass_name="linearization",
            )
    for place in summary.guessed:
        log.add(
            RemarkKind.TRANSFORM,
            "this is computed in 32 bits while its numbers fit; a copy goes on in 64 bits where one does not",
            place,
            pass_name="guessed ranges",
        )
    for count, bits in ((summary.small, "8 or 16"), (summary.narrowed, "32")):
        if count:
            log.add(
                RemarkKind.TRANSFORM,
                f"{counted(count, 'number that differs', 'numbers that differ')} from lane to lane "
                f"{'is' if count == 1 else 'are'} computed in {bits} bits",
                span,
                pass_name="narrowing",
            )
    for place in summary.together:
        log.add(
            RemarkKind.TRANSFORM,
            f"{what} that run together walk by one stack here, not each by its own: one waits while others visit what "
            "it does not",
            place,
            pass_name="shared stacks",
        )
    for place in summary.copied:
        log.add(
            RemarkKind.TRANSFORM,
            f"each of the {what} reads this row again and again: it is copied when it is read first",
            place,
            pass_name="row copies",
        )
    for place in summary.strips:
        log.add(
            RemarkKind.TRANSFORM,
            f"each of the {what} goes along a row of its own here: rows are accessed a line of the cache at a time",
            place,
            pass_name="row strips",
        )
    if summary.aligned:
        log.add(
            RemarkKind.TRANSFORM,
            f"{subject} has a version for {what} that run together and lie in one stretch of what it divides or masks "
            f"by, as all do where that is a multiple of {summary.width}",
            span,
            pass_name="aligned versions",
        )
    if summary.front:
        log.add(
            RemarkKind.TRANSFORM,
            f"{subject} has a version for {what} that run together and have no index that counts from the end",
            span,
            pass_name="front versions",
        )
    if summary.inner:
        log.add(
            RemarkKind.TRANSFORM,
            f"{subject} has a version for {what} that run together and are at no edge: minima, maxima and remainders "
            "of their numbers are these themselves",
            span,
            pass_name="inner versions",
        )
    for place in summary.full_loops:
        log.add(
            RemarkKind.TRANSFORM,
            f"{what} leave this loop in their order: it runs without masks while all that run together stay",
            place,
            pass_name="full groups",
        )
    remark_loads(log, summary.replacement)
    for gadget in summary.gadgets:
        what = (
            "what it guards has a copy without masks for lane groups all of whose lanes take it"
            if gadget.twin
            else "what it guards is skipped by lane groups none of whose lanes take it"
        )
        log.add(
            RemarkKind.TRANSFORM,
            f"at this divergent branch {what} ({counted(gadget.blocks, 'block', 'blocks')})",
            gadget.span,
            pass_name="boscc",
        )
    for instruction, what in summary.notes.notes:
        _remark_instruction(log, instruction, what)


def remark_alone(log: RemarkLog, loops: AloneLoops, what: str = "threads") -> None:
    """Note which loops of a thread, or an iteration, by itself run in lanes or in several totals."""
    for place in loops.masked:
        log.add(
            RemarkKind.TRANSFORM,
            f"where {what} run one after the other, this loop is left to LLVM's vectorizer in {LANES} lanes, the last"
            " ones under a mask",
            place,
            pass_name=THREADS_ALONE,
        )
    for place, many in loops.totals:
        log.add(
            RemarkKind.TRANSFORM,
            f"where {what} run one after the other, this loop goes on in {many} totals, which are joined behind it",
            place,
            pass_name=THREADS_ALONE,
        )


def remark_loads(log: RemarkLog, replacement: ReplacementSummary) -> None:
    """Note each load that was replaced by a known value, hoisted, or left, and why."""
    for note in dict.fromkeys(replacement.notes):
        kind = RemarkKind.MISSED if note.kind is Note.REFUSED else RemarkKind.TRANSFORM
        log.add(kind, note.message, note.span, pass_name="scalar replacement")


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
    if guards is not None:
        remark_guards(log, guards)


def remark_guards(log: RemarkLog, guards: GuardSplit, who: str = "which") -> None:
    """Note which guards threads do not ask any more, be it that only some, `who`, do not."""
    for span in guards.guards:
        message = f"this guard is a bound of the loop over threads, {who} need no mask for it"
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


def _line(span: SourceSpan | None) -> tuple[str, int] | None:
    return None if span is None else (span.file, span.line)
