"""Threads of a work-group that meet: run one at a time, switching only at barriers and warp operations.

Each thread of the group is an OS thread that holds the baton while it runs, so execution is deterministic:
threads run in order of their linear id up to their next meeting. Threads that have returned do not count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, slots=True)
class Member:
    """One thread of a group: where it waits, with what, and what it was told."""

    number: int
    wake: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    scope: frozenset[int] | None = None
    offer: Any = None
    answer: dict[int, Any] = field(default_factory=dict)
    done: bool = False


class Abandoned(BaseException):
    """Another thread of the group failed, or the group can make no progress."""


class Group:
    """Runs the bodies of one work-group's threads.

    Parameters
    ----------
    bodies
        What each thread does, by linear id.
    enter
        Called with a thread's number each time it gets the baton.
    """

    def __init__(self, bodies: Sequence[Callable[[], None]], enter: Callable[[int], None]) -> None:
        self._bodies = bodies
        self._enter = enter
        self._turn = threading.Semaphore(0)
        self._members = [Member(number) for number in range(len(bodies))]
        self._current = self._members[0]
        self._failure: BaseException | None = None

    def meet(self, scope: frozenset[int], offer: Any = None) -> dict[int, Any]:
        """Wait for every unfinished thread of `scope`; return what each of them offered."""
        member = self._current
        member.scope, member.offer = scope, offer
        self._turn.release()
        member.wake.acquire()
        if self._failure is not None:
            raise Abandoned
        return member.answer

    def run(self) -> None:
        workers = [threading.Thread(target=self._work, args=(member,)) for member in self._members]
        for worker in workers:
            worker.start()
        try:
            while unfinished := [member for member in self._members if not member.done]:
                for member in unfinished:
                    if member.scope is None and self._failure is None:
                        self._hand_baton(member)
                self._release(unfinished)
        except BaseException as error:
            self._failure = self._failure or error
        if self._failure is not None:
            for member in self._members:
                if not member.done:
                    self._hand_baton(member)
        for worker in workers:
            worker.join()
        if self._failure is not None:
            raise self._failure

    def _hand_baton(self, member: Member) -> None:
        self._current = member
        self._enter(member.number)
        member.wake.release()
        self._turn.acquire()

    def _release(self, unfinished: list[Member]) -> None:
        if self._failure is not None:
            raise self._failure
        waiting = {member.number: member for member in unfinished if not member.done}
        progress = not waiting
        for scope in {member.scope for member in waiting.values() if member.scope is not None}:
            present = [member for member in waiting.values() if member.number in scope]
            if all(member.scope == scope for member in present):
                answer = {member.number: member.offer for member in present}
                for member in present:
                    member.scope, member.answer = None, answer
                progress = True
        if not progress:
            raise RuntimeError("threads of a work-group wait at different barriers")

    def _work(self, member: Member) -> None:
        member.wake.acquire()
        try:
            if self._failure is None:
                self._bodies[member.number]()
        except Abandoned:
            pass
        except BaseException as error:
            self._failure = self._failure or error
        member.done = True
        self._turn.release()
