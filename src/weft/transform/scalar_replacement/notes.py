"""What there is to say of each load: by what it is replaced, whereto it goes, or what stands in the way."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from weft.analysis.questions.graph import Asked, Found, Lost, State
from weft.analysis.questions.regions import Regions
from weft.analysis.questions.solution import Solution
from weft.analysis.questions.speculation import Hoist
from weft.diag.source import SourceSpan
from weft.diag.words import counted
from weft.ir import Instruction
from weft.ir.intrinsics import IntrinsicKind, kind_of
from weft.ir.locations import span_of
from weft.transform.scalar_replacement.sinking import Sink

_MEMORY = frozenset(("load", "store", "call", "atomicrmw", "cmpxchg", "fence"))


class Note(StrEnum):
    """What became of a load, or of a store."""

    REMOVED = "removed"
    HOISTED = "hoisted"
    SUNK = "sunk"
    REFUSED = "refused"


class LoadNote(Struct, frozen=True):
    """What became of one load or store.

    Parameters
    ----------
    kind
        What.
    load
        Its name; stores have none.
    message
        One sentence without a full stop.
    span
        Where it is.
    """

    kind: Note
    load: str
    message: str
    span: SourceSpan | None


def removed_note(load: Instruction, solution: Solution) -> LoadNote:
    """By what a load is replaced, the nearest occurrence first."""
    by, trips = _nearest(load, solution)
    when = "" if not trips else f" {counted(trips, 'iteration', 'iterations')} before"
    if by is None or by is load:
        message = "this load reads the same in each iteration"
    else:
        done = "wrote" if by.op == "store" else "read"
        message = f"this load reads what {_the(by)} {done}{when}"
    states = solution.demanded((load,))
    missing = [i for found in solution.insertions(states).values() for i in found.values()]
    if missing:
        guarded = any(i.guarded for i in missing)
        message += (
            ", but for the first time, before the loop" if guarded else ", but where a load is inserted"
        )
        if any(i.tested for i in missing):
            message += ", for the threads that will take its arm"
    return LoadNote(Note.REMOVED, load.name, message, span_of(load))


def hoisted_note(load: Instruction, hoists: Sequence[Hoist], regions: Regions) -> LoadNote:
    """Whereto a load goes."""
    span = span_of(hoists[0].block.terminator)
    message = "this load is done before the divergent branch"
    if span is not None:
        message += f" in line {span.line}"
    if not all(regions.in_region(hoist.block) for hoist in hoists):
        message += ", by the threads that come to it"
    return LoadNote(Note.HOISTED, load.name, message, span_of(load))


def sunk_note(found: Sink) -> LoadNote:
    """That stores go behind their loop."""
    return LoadNote(Note.SUNK, "", "this store is done once, behind the loop", span_of(found.stores[0]))


def refused_note(load: Instruction, solution: Solution) -> LoadNote | None:
    """What stands in the way of a load, if another access of the array has its value, or might have had it."""
    message = _obstacle(load, solution) if _has_company(load, solution) else None
    if message is None:
        return None
    return LoadNote(Note.REFUSED, load.name, f"this load stays: {message}", span_of(load))


def _obstacle(load: Instruction, solution: Solution) -> str | None:
    source = solution.graph.origins[load]
    states = _reached(source.state, solution) if isinstance(source, Asked) else []
    answers = [(s, block, answer) for s in states for block, answer in solution.graph.sources.get(s, ())]
    for lost in (source, *(answer for _, _, answer in answers)):
        if not isinstance(lost, Lost) or lost.at is None or lost.place is None or lost.at.op not in _MEMORY:
            continue
        if solution.graph.kills.changes(lost.at, lost.place):
            return f"what it reads may be changed by {_the(lost.at)}"
    if not any(isinstance(answer, Found) and answer.by is not load for _, _, answer in answers):
        return None
    for state, block, answer in answers:
        if not solution.has(state, answer) and not solution.rules.allows(block, state.block):
            return "it would be done in an arm of a divergent branch as well"
    return "where its value is missing it is not sure to be read, and may not be readable"


def _has_company(load: Instruction, solution: Solution) -> bool:
    place = solution.graph.places.of_access(load)
    return any(
        other is not load and (there.base, there.type) == (place.base, place.type)
        for other, there in solution.graph.plain_accesses()
    )


def _reached(state: State, solution: Solution) -> list[State]:
    found = {state: None}
    for here in (pending := [state]):
        for _, answer in solution.graph.sources.get(here, ()):
            if (
                isinstance(answer, Asked)
                and answer.state not in found
                and answer.state in solution.graph.sources
            ):
                found[answer.state] = None
                pending.append(answer.state)
    return list(found)


def _nearest(load: Instruction, solution: Solution) -> tuple[Instruction | None, int]:
    """The access of least distance that gives a load its value, and the iterations in between."""
    source = solution.graph.origins[load]
    if isinstance(source, Found):
        return source.by, 0
    assert isinstance(source, Asked)
    best: Instruction | None = None
    pending = deque([(source.state, 0)])
    seen: set[State] = set()
    while pending:
        state, trips = pending.popleft()
        if state in seen:
            continue
        seen.add(state)
        for block, answer in solution.graph.sources[state]:
            far = trips + solution.graph.is_retreating(block, state.block)
            if isinstance(answer, Found):
                if answer.by is not load:
                    return answer.by, far
                best = load
            elif isinstance(answer, Asked) and solution.has(state, answer):
                (pending.append if far > trips else pending.appendleft)((answer.state, far))
    return best, 0


def _the(instruction: Instruction) -> str:
    """An instruction as remarks call it."""
    name = {"atomicrmw": "atomic operation", "cmpxchg": "atomic operation"}.get(
        instruction.op, instruction.op
    )
    if instruction.op == "call":
        name = "barrier" if kind_of(instruction.callee_name) is IntrinsicKind.BARRIER else "call"
    span = span_of(instruction)
    return f"the {name} in line {span.line}" if span is not None else f"a {name}"
