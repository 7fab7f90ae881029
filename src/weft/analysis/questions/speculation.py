"""The question of speculation: whether a load may leave the arms of divergent branches (paper 004, §5.2 and A.2).

The question ``(e, m, n)`` goes up from a load. It passes blocks in which nothing changes what `e` reads; `m` is the
node nearest to the top that the load was found to depend on so far. At a divergent branch `n` on which `m` depends,
the load may go to the end of `n`, and further if what is above allows it; a branch that does not diverge is passed
where the load is anticipated at its end. The rules (1) to (6) are taken in their order, with lines 7 to 9 of A.2:
where ways meet and some of them refuse, loads go to the ends of those, if these are in the CDRND and the place is
anticipated at the meeting.

What is different, and why:

* Where a load is to stand it must be allowed to run: the place is read on all ways behind, or its bytes are there for
  each thread (`weft.analysis.questions.presence`). The paper takes any address for readable.
* A way on which the value is found already needs no load; the paper asks only of expressions that are nowhere
  available.
* A.2 answers a question that comes back to itself by true, and keeps what it found on the way, though the assumption
  may turn out false. Here the truth of all questions ``(state, m)`` is one greatest fixed point (rule 4 is monotone:
  it is true if the load may stand at `n` or further up), and nodes are collected behind it. There are at most states
  · branches questions; each is asked again when one that it leads to has become false.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from weft.analysis.questions.graph import Asked, Found, Lost, QuestionGraph, State
from weft.analysis.questions.places import Place
from weft.ir import BasicBlock, Instruction

MAX_QUESTIONS = 400
"""Questions that one load may lead to."""


class Hoist(Struct, frozen=True):
    """A load at the end of a block, before its branch.

    Parameters
    ----------
    block
        The block.
    place
        What is read, as it is named there.
    """

    block: BasicBlock
    place: Place


class _Question(Struct, frozen=True):
    """Whether what is read at `state` may be read further up, for the sake of `node`."""

    state: State
    node: BasicBlock


_Way = tuple[BasicBlock, Place | None, _Question | None]
"""A predecessor, the place at its end, and what is asked above it where nothing changes it there."""


class Speculation(Struct):
    """Answers the questions of speculation of one function.

    Parameters
    ----------
    graph
        Its states and regions.
    diverges
        The branches that count as divergent; SSRQP_S takes all for such.
    is_there
        Whether each thread at the end of a block can read a place.
    """

    graph: QuestionGraph
    diverges: Callable[[BasicBlock], bool]
    is_there: Callable[[Place, BasicBlock], bool]
    _read: dict[State, bool] = field(default_factory=dict)
    _false: set[_Question] = field(default_factory=set)
    _ways: dict[_Question, list[_Way]] = field(default_factory=dict)

    def hoists(self, load: Instruction) -> list[Hoist] | None:
        """Where the load goes, by the paper's (canHoist, Node); None where it stays."""
        source = self.graph.origins[load]
        if not isinstance(source, Asked):
            return None
        assert load.block is not None
        first = _Question(source.state, load.block)
        self._ways, self._false = {}, set()
        if not self._reach(first):
            return None
        asking: dict[_Question, list[_Question]] = {}
        for question, ways in self._ways.items():
            for _, _, above in ways:
                if above is not None:
                    asking.setdefault(above, []).append(question)
        pending = [above for above in self._false for above in asking.get(above, ())]
        while pending:
            question = pending.pop()
            if question not in self._false and not self._holds(question):
                self._false.add(question)
                pending += asking.get(question, ())
        if first in self._false:
            return None
        return self._nodes(first)

    def _ways_up(self, question: _Question) -> list[_Way]:
        """Per predecessor the place at its end, and what is asked above it where nothing changes it there."""
        found: list[_Way] = []
        for source in question.state.block.predecessors:
            place = self.graph.places.back(question.state.place, source, question.state.block)
            if place != question.state.place and self.graph.is_retreating(source, question.state.block):
                # Rule (3): the iteration before is another statement's (and around the loop there would be no end).
                place = None
            answer = Lost(None, None) if place is None else self.graph.at_end(source, place)
            above = None
            if isinstance(answer, Asked):
                above = _Question(answer.state, self._moved(question.node, source))
            found.append((source, place, above))
        return found

    def _moved(self, node: BasicBlock, source: BasicBlock) -> BasicBlock:
        """The node that the question is asked for above `source` (rules 4 and 5)."""
        return source if len(source.successors) > 1 and self.graph.regions.depends(node, source) else node

    def _reach(self, first: _Question) -> bool:
        """Find the questions that one leads to, each with its ways; False if it fails, or they are too many.

        What is asked above one that fails whatever is above does not matter.
        """
        pending = [first]
        while pending:
            question = pending.pop()
            if question in self._ways:
                continue
            if len(self._ways) >= MAX_QUESTIONS:
                return False
            ways = self._ways[question] = self._ways_up(question)
            if self._holds(question):
                pending += [above for _, _, above in ways if above is not None]
            elif question is first:
                return False
            else:
                self._false.add(question)
        return True

    def _holds(self, question: _Question) -> bool:
        ways = self._ways[question]
        refusing = [way for way in ways if not self._answer(question, *way)]
        if not refusing:
            return bool(ways)
        return len(refusing) < len(ways) and self._completes(question.state, refusing)

    def _completes(self, state: State, refusing: list[_Way]) -> bool:
        """Lines 7 to 9: whether loads may go to the ends of the predecessors that refuse."""
        allowed = all(
            place is not None and len(source.successors) == 1 and self.graph.regions.in_region(source)
            for source, place, _ in refusing
        )
        return allowed and self._is_read(state)

    def _answer(
        self, question: _Question, source: BasicBlock, place: Place | None, above: _Question | None
    ) -> bool:
        """The rules, for one predecessor; which nodes it leads to is another matter."""
        if place is None:
            return False
        if above is None and isinstance(self.graph.at_end(source, place), Found):
            return True
        goes_on = above is not None and above not in self._false
        if len(source.successors) == 1:
            return goes_on
        if self.diverges(source):
            return goes_on or self._may_stand(question, source, place)
        return goes_on and self.is_read_behind(source, place)

    def _may_stand(self, question: _Question, source: BasicBlock, place: Place) -> bool:
        """Rules (3) (i) and (4) (i): whether the load may stand at the end of a divergent branch."""
        if not self.graph.regions.depends(question.node, source):
            return False
        return self.is_read_behind(source, place) or self.is_there(place, source)

    def _nodes(self, first: _Question) -> list[Hoist]:
        found: dict[Hoist, None] = {}
        seen = {first}
        pending = [first]
        while pending:
            question = pending.pop()
            for source, place, above in self._ways[question]:
                assert place is not None, "a load is hoisted to where its place has no form"
                if above is None and isinstance(self.graph.at_end(source, place), Found):
                    continue
                goes_on = above is not None and above not in self._false
                if goes_on and self._answer(question, source, place, above):
                    assert above is not None
                    if above not in seen:
                        seen.add(above)
                        pending.append(above)
                else:
                    found[Hoist(source, place)] = None
        return list(found)

    def is_read_behind(self, block: BasicBlock, place: Place) -> bool:
        """Whether the place is read on each way from the end of a block before anything changes it."""
        following = self.graph.behind(block, place)
        return following is not None and all(map(self._is_read, following))

    def _is_read(self, state: State) -> bool:
        """The same from the beginning of a block: a greatest fixed point over the states ahead."""
        known = self._read.get(state)
        if known is not None:
            return known
        ahead: dict[State, tuple[State, ...] | bool] = {}
        pending = [state]
        while pending:
            here = pending.pop()
            if here in ahead:
                continue
            if here in self._read or len(ahead) > MAX_QUESTIONS:
                ahead[here] = self._read.get(here, False)
                continue
            found = self.graph.ahead(here)
            ahead[here] = found.load is not None or (found.following or False)
            pending.extend(found.following or ())
        before: dict[State, list[State]] = {}
        for one, following in ahead.items():
            for other in following if isinstance(following, tuple) else ():
                before.setdefault(other, []).append(one)
        wrong: set[State] = set()
        pending = [one for one, following in ahead.items() if following is False]
        while pending:
            here = pending.pop()
            if here not in wrong:
                wrong.add(here)
                pending += before.get(here, ())
        self._read.update((s, s not in wrong) for s in ahead)
        return self._read[state]
