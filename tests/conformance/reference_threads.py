"""Threads of a work-group that meet at barriers and warp operations, as generators that take turns.

Each thread runs to its next meeting and yields a `Meeting`; when every unfinished thread of a meeting's scope
has come, all of them go on with their answers. Threads that have returned do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a thread yields where it waits for others.

    Parameters
    ----------
    name
        The operation; threads that meet must name the same.
    scope
        The linear ids of the threads that take part.
    offer
        What this thread brings.
    answer
        Computes from everyone's offers, by linear id, what this thread gets.
    """

    name: str
    scope: frozenset[int]
    offer: Any = None
    answer: Callable[[dict[int, Any]], Any] = lambda offers: None


Thread = Generator[Meeting, Any, None]


def run_group(threads: Sequence[Thread], enter: Callable[[int], None]) -> None:
    """Run the threads of one work-group to their ends; `enter` is told whose turn it is."""
    waiting: dict[int, Meeting] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(threads)))
    while answers:
        for number, value in answers.items():
            enter(number)
            try:
                waiting[number] = threads[number].send(value)
            except StopIteration:
                waiting.pop(number, None)
        answers = {}
        for scope in {meeting.scope for meeting in waiting.values()}:
            answers |= _meet(scope, waiting)
        for number in answers:
            del waiting[number]
        if waiting and not answers:
            raise RuntimeError("threads of a work-group wait at different barriers")


def _meet(scope: frozenset[int], waiting: dict[int, Meeting]) -> dict[int, Any]:
    """Return what each thread of a scope is answered, nothing when some of them wait elsewhere."""
    present = {number: waiting[number] for number in scope if number in waiting}
    names = {(meeting.name, meeting.scope) for meeting in present.values()}
    if len(names) != 1:
        return {}
    offers = {number: meeting.offer for number, meeting in sorted(present.items())}
    return {number: meeting.answer(offers) for number, meeting in present.items()}
