"""The answers: which loads have their value already, and where a load is missing for it (paper 004, §4.2 and §5.1).

*Availability* has two parts, as the paper's tuple (isAvail, isReal). A state is available if each of its answers is:
a value, or an available state. Where some are not, it can be made so by inserting loads on their edges, if one of the
others is
*real*, that is leads to an occurrence (else loads would wander through empty loops, Fig. 3), if the place is
*anticipated* at the beginning of the block, and if the policy allows a load on each edge. isAvail is a greatest fixed
point (rule 3: a question that comes back to itself is answered by true), isReal a least one.

*Anticipation*, the test of down-safety, asks whether on each path the place is read before anything changes it. The
paper lets a read of ``A[i]`` answer for ``A[i + 1]``; then Fig. 4 (f) reads ``A[N]``. Here the place itself must be
read, and by a load that *will be replaced*, to which the value is available all the way: so each inserted load is
paid for by one that goes, on each path, and no thread ever does more loads than before. Availability and anticipation
so depend on each other; both only ever lose answers, and are repeated until neither does. In a round, what has lost its
answer has those that depend on it asked again, in any order: the tests are monotone, so the fixed point is one. A
state that assumes conditions is anticipated by the threads it asks for, and the loads that are inserted for it are done
by them alone.

Why not A.1 as printed. It keeps one answer a node, though several places are asked there: ``before ─▶ body ↺`` with a
store to ``a[0]`` before and one to ``a[i + 2]`` in the body makes it say that ``a[i]`` is available, since the answer
of `before` to the question for ``a[0]`` is taken for that for ``a[1]``. And it counts visits of a node, whatever was
asked: over three iterations a value that is there is not found. Here answers belong to (node, place), and there is no
order of visits that they could depend on. ``tests/analysis/test_questions_paper.py`` has the listing and both graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from weft.analysis.questions.assumptions import AnyOf, Assumed, any_of
from weft.analysis.questions.graph import Asked, Found, QuestionGraph, Source, State, Unreached
from weft.analysis.questions.places import Place
from weft.ir import BasicBlock, Instruction

EdgeTest = Callable[[BasicBlock, BasicBlock], bool]
"""Whether a load may be inserted on an edge."""


@dataclass(frozen=True, slots=True)
class EdgeRules:
    """Where loads may be inserted.

    Parameters
    ----------
    allows
        Whether a load may stand on an edge, if the place is anticipated behind it.
    entered
        For an edge into a loop that tests before its body, the first block of the body, if a load on the edge can be
        guarded by the test of the first iteration; None for other edges.
    is_there
        Whether the bytes of a place at the end of a block can be read by each thread that is there; None keeps loads
        where they are anticipated.
    masks
        Whether loads may be inserted for the threads of a condition alone, where states assume one.
    """

    allows: EdgeTest
    entered: Callable[[BasicBlock, BasicBlock], BasicBlock | None] = lambda source, target: None
    is_there: Callable[[Place, BasicBlock], bool] | None = None
    masks: bool = True


@dataclass(frozen=True, slots=True)
class Insertion:
    """A load that is missing.

    Parameters
    ----------
    source, target
        The edge it goes on.
    place
        What it reads, at the end of `source`.
    guarded
        Whether only threads that begin the loop's body read it.
    tested
        What else has to be so of the threads that read it.
    """

    source: BasicBlock
    target: BasicBlock
    place: Place
    guarded: bool = False
    tested: AnyOf = ()


@dataclass(slots=True)
class Solution:
    """The answers of a function under some rules.

    Parameters
    ----------
    graph
        The states.
    rules
        Where loads may be inserted.
    excluded
        Loads that stay.

    Attributes
    ----------
    available
        The states that have, or are given, their value.
    real
        Those of them that lead to an occurrence.
    anticipated
        The states whose place is read behind them by loads that are replaced.
    guarded
        States at the head of a loop that only threads which begin the body have a value for, and the body's first
        block.
    """

    graph: QuestionGraph
    rules: EdgeRules
    excluded: set[Instruction] = field(default_factory=set)
    available: set[State] = field(init=False)
    real: set[State] = field(default_factory=set)
    anticipated: set[State] = field(init=False)
    guarded: dict[State, BasicBlock] = field(default_factory=dict)
    _promising: set[State] = field(init=False)
    _alike: dict[tuple[object, ...], list[State]] = field(default_factory=dict)
    _asking: dict[State, list[State]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._promising = self.graph.promising
        for state, sources in self.graph.sources.items():
            self._alike.setdefault(_family(state), []).append(state)
            for _, source in sources:
                if isinstance(source, Asked):
                    self._asking.setdefault(source.state, []).append(state)
        self.solve()

    def solve(self) -> None:
        """Find the answers anew; those of loads that are excluded meanwhile are no more.

        A state from which no occurrence is reached is not real, and available only in code that is never reached.
        """
        self.available = set(self._promising)
        self.anticipated = set(self.graph.sources) if self._promising else set()
        self.guarded = {}
        while True:
            self._find_real()
            changed = self._lose_anticipated()
            changed |= self._lose_available()
            if not changed:
                return

    def is_replaced(self, load: Instruction) -> bool:
        """Whether the load's value is available above it."""
        source = self.graph.origins.get(load)
        if load in self.excluded or source is None:
            return False
        return isinstance(source, Found) or (isinstance(source, Asked) and source.state in self.real)

    @property
    def replaced(self) -> list[Instruction]:
        """The loads whose values are available, in program order."""
        return [load for load in self.graph.origins if self.is_replaced(load)]

    def demanded(self, loads: Iterable[Instruction] | None = None) -> list[State]:
        """The states that loads get their values from; by default all loads that are replaced."""
        found: dict[State, None] = {}
        pending = [self.graph.origins[load] for load in (self.replaced if loads is None else loads)]
        pending.reverse()
        while pending:
            source = pending.pop()
            if isinstance(source, Asked) and source.state not in found:
                found[source.state] = None
                state = source.state
                pending.extend(s for _, s in reversed(self.graph.sources[state]) if self.has(state, s))
        return list(found)

    def insertions(self, states: Iterable[State]) -> dict[State, dict[BasicBlock, Insertion]]:
        """The loads that are missing for available states, by predecessor.

        States that need the same place on the same edge for different threads have one load together: a lane group
        with threads of both does no two loads for them.
        """
        missing = {state: self._missing(state) for state in states}
        together: dict[Insertion, list[Assumed]] = {}
        for found in missing.values():
            for insertion, assumed in found.values():
                together.setdefault(insertion, []).append(assumed)
        merged = {i: replace(i, tested=any_of(parts)) for i, parts in together.items()}
        return {
            state: {source: merged[insertion] for source, (insertion, _) in found.items()}
            for state, found in missing.items()
        }

    def _missing(self, state: State) -> dict[BasicBlock, tuple[Insertion, Assumed]]:
        """The loads, and the threads that they are for."""
        found: dict[BasicBlock, tuple[Insertion, Assumed]] = {}
        for source, answer in self.graph.sources[state]:
            if not self.has(state, answer):
                place = self.graph.places.back(state.place, source, state.block)
                assert place is not None, "a load is inserted at a place without a form"
                guarded = state in self.guarded and self.rules.entered(source, state.block) is not None
                assumed = self._tested(state, source)
                assert assumed is not None, "a load is inserted where its condition cannot be computed"
                found[source] = Insertion(source, state.block, place, guarded), assumed
        return found

    def has(self, state: State, source: Source) -> bool:
        """Whether an answer of `state` gives it a value."""
        if isinstance(source, Asked):
            first = self.guarded.get(source.state)
            return source.state in self.available and (first is None or first is state.block)
        return isinstance(source, (Found, Unreached))

    def _find_real(self) -> None:
        """The least fixed point: available states from which an occurrence is reached through others."""
        sources = self.graph.sources
        pending = [
            s for s in sources if s in self.available and any(isinstance(a, Found) for _, a in sources[s])
        ]
        self.real = set(pending)
        while pending:
            state = pending.pop()
            for user in self._asking.get(state, ()):
                if user in self.available and user not in self.real and self.has(user, Asked(state)):
                    self.real.add(user)
                    pending.append(user)

    def _lose_anticipated(self) -> bool:
        pending = [state for state in self.graph.sources if state in self.anticipated]
        before = len(self.anticipated)
        while pending:
            state = pending.pop()
            if state in self.anticipated and not self._is_anticipated(state):
                self.anticipated.discard(state)
                pending.extend(a.state for _, a in self.graph.sources[state] if isinstance(a, Asked))
        return len(self.anticipated) < before

    def _is_anticipated(self, state: State) -> bool:
        ahead = self.graph.ahead(state)
        if ahead.load is not None:
            return self.is_replaced(ahead.load)
        return ahead.following is not None and all(
            self._is_anticipated_by(state, target) for target in {s.block: None for s in ahead.following}
        )

    def _is_anticipated_by(self, state: State, target: BasicBlock) -> bool:
        """Whether the threads of a state that go on to `target` are asked for there, and read the place behind."""
        return any(
            user in self.available and user in self.anticipated and self._covers(user, state)
            for user in self.graph.users(state, target)
        )

    def _covers(self, user: State, state: State) -> bool:
        """Whether a state asks for all threads that come from another, which it asks."""
        conditions = self.graph.conditions
        if conditions is None or not user.assumed:
            return True
        return conditions.is_met(user.assumed, state.assumed, state.block, user.block)

    def _lose_available(self) -> bool:
        before = len(self.available), len(self.guarded)
        pending = [state for state in self.graph.sources if state in self.available]
        while pending:
            state = pending.pop()
            if state not in self.available:
                continue
            was_guarded = state in self.guarded
            if not self._is_available(state):
                self.available.discard(state)
            elif was_guarded or state not in self.guarded:
                continue
            pending.extend(self._asking.get(state, ()))
        return (len(self.available), len(self.guarded)) != before

    def _is_available(self, state: State) -> bool:
        sources = self.graph.sources[state]
        missing = [source for source, answer in sources if not self.has(state, answer)]
        if not missing:
            return bool(sources)
        return state in self.real and all(self._can_insert(state, source) for source in missing)

    def _can_insert(self, state: State, source: BasicBlock) -> bool:
        place = self.graph.places.back(state.place, source, state.block)
        if place is None or not self.rules.allows(source, state.block):
            return False
        tested = self._tested(state, source)
        if tested is None or (tested and not self.rules.masks):
            return False
        if state in self.anticipated:
            return True
        is_there = self.rules.is_there
        if is_there is not None and self._has_neighbour(state) and is_there(place, source):
            return True
        first = self._begun(state, source)
        if first is not None:
            self.guarded[state] = first
        return first is not None

    def _has_neighbour(self, state: State) -> bool:
        """The paper's wider test: a place that differs by a constant is read behind the state."""
        return any(other in self.anticipated for other in self._alike[_family(state)])

    def _begun(self, state: State, source: BasicBlock) -> BasicBlock | None:
        """The first block of a loop's body, if threads that begin it read the place before anything changes it."""
        first = self.rules.entered(source, state.block)
        if first is None or not self.graph.ahead(state).passes:
            return None
        return first if self._is_anticipated_by(state, first) else None

    def _tested(self, state: State, source: BasicBlock) -> Assumed | None:
        """What threads have to be tested for before they read for a state on an edge; None if they cannot be."""
        conditions = self.graph.conditions
        if conditions is None or not state.assumed:
            return ()
        return conditions.on_edge(state.assumed, source, state.block)


def _family(state: State) -> tuple[object, ...]:
    place = state.place
    return state.block, place.base, place.type, place.terms
