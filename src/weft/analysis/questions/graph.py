"""The graph of questions: where a value in memory is asked for, and who answers (paper 004, §4.2, rules 1 to 7).

A *state* is a place at the beginning of a block. Its value comes from the predecessors of the block; at the end of
each the place is converted, and the block is searched upwards. What is found is one of three: the value (rule 5), a
statement that may have changed it, or an operand that is no sum (rules 1 and 4), or the beginning of that block,
which is a state again (rules 6 and 7). The answer of a state depends on the state alone, so it is shared by all
questions that come by. With `weft.analysis.questions.conditions` a state also says of which threads it asks, and a
predecessor that none of them comes from needs no value. There are many more of these states, and none of them finds
what is not found without conditions: those are asked first, and only where one of them leads to a value are its
conditions looked at.

Termination. Around a loop the place may be another one each time. The paper lets questions visit a node twice, which
is a distance of one iteration. Here the *trips* of a state are the least number of retreating edges from a load to
it, and states of more than `max_distance` trips are not asked (rule 2). So there are at most loads · blocks ·
(distance + 1) states.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from msgspec import Struct

from weft.analysis.questions.assumptions import Assumed
from weft.analysis.questions.company import is_candidate
from weft.analysis.questions.conditions import Conditions
from weft.analysis.questions.kills import Kills
from weft.analysis.questions.nearness import distances
from weft.analysis.questions.places import Place
from weft.analysis.questions.regions import Regions
from weft.graph.cfg import reverse_postorder
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.effects import may_not_return, may_write

MAX_DISTANCE = 8
"""Iterations between two accesses of a place that are still seen."""

MAX_STATES = 20_000
"""States of a function; what lies behind is not asked."""


class State(Struct, frozen=True, eq=False):
    """A place at the beginning of a block. The graph makes one object of each: two are equal if they are one.

    Parameters
    ----------
    block, place
        The two.
    assumed
        What is so of the threads that ask; all that are there if nothing is.
    """

    block: BasicBlock
    place: Place
    assumed: Assumed = ()


class Found(Struct, frozen=True):
    """The value is there: a load read it, or a store wrote it.

    Parameters
    ----------
    value
        What is there.
    by
        The access.
    """

    value: Value
    by: Instruction


class Lost(Struct, frozen=True):
    """The value is not there.

    Parameters
    ----------
    at
        What may have changed it, or computes its address; None at the beginning of the function.
    place
        The place at the end of the block that was searched; None if it has no form there.
    """

    at: Instruction | None
    place: Place | None


class Asked(Struct, frozen=True):
    """The value is what it is at the beginning of a block.

    Parameters
    ----------
    state
        The place there.
    """

    state: State


class Unreached(Struct, frozen=True):
    """None of the threads that ask comes this way."""


Source = Found | Lost | Asked | Unreached


class Touch(Struct, frozen=True):
    """An instruction of a block that reads or changes memory, or may not come back.

    Parameters
    ----------
    position
        Where it stands in its block.
    instruction
        The instruction.
    place
        Of a plain load or store; None of everything else.
    """

    position: int
    instruction: Instruction
    place: Place | None


class Ahead(Struct, frozen=True):
    """What becomes of a place from the beginning of a block on.

    Parameters
    ----------
    load
        The load in the block that reads it first; None if there is none.
    passes
        Whether the block neither reads nor changes it.
    following
        Where it passes the states at the successors; None where it has no name there, or nothing follows.
    """

    load: Instruction | None
    passes: bool = False
    following: tuple[State, ...] | None = None


class QuestionGraph:
    """The states of one function, as it is now.

    Attributes
    ----------
    origins
        Each load that may be replaced, with what answers it above.
    sources
        Per state its answers, in the order of the block's predecessors.
    """

    __slots__ = (
        "_ahead", "_finite", "_order", "_predecessors", "_states", "_touches", "_users", "conditions", "kills",
        "origins", "places", "regions", "sources",
    )  # fmt: skip

    def __init__(
        self,
        kills: Kills,
        regions: Regions,
        max_distance: int = MAX_DISTANCE,
        is_finite: frozenset[BasicBlock] = frozenset(),
        candidates: Container[Instruction] | None = None,
        conditions: Conditions | None = None,
        asked: QuestionGraph | None = None,
    ) -> None:
        """Ask the questions.

        Parameters
        ----------
        kills, regions
            What changes memory, and where.
        max_distance
            Iterations that are looked back on.
        is_finite
            The headers of loops that are known to end.
        candidates
            The loads that are asked for; by default all.
        conditions
            What states may assume; nothing by default.
        asked
            The graph of the same `kills` for these candidates, and perhaps for others, that assumes nothing. By
            default these questions are asked first.
        """
        self.kills, self.regions, self.places = kills, regions, kills.places
        self.conditions = conditions
        view = regions.view
        self._finite = is_finite
        order = reverse_postorder(view.cfg.succs)
        self._order = {view.blocks[b]: k for k, b in enumerate(order)}
        self._predecessors = {block: block.predecessors for block in self._order}
        self._touches = {block: list(self._touching(block)) for block in self._order}
        self._ahead: dict[State, Ahead] = {}
        self._states: dict[tuple[BasicBlock, Place, Assumed], State] = {}
        self._users: dict[tuple[State, BasicBlock], list[State]] = {}
        self.sources: dict[State, list[tuple[BasicBlock, Source]]] = {}
        self.origins: dict[Instruction, Source] = {}
        near = distances(dict(self.plain_accesses()), max_distance)
        for block in self._order:
            for touch in self._touches[block]:
                load = touch.instruction
                if is_candidate(load) and load in near and (candidates is None or load in candidates):
                    assert touch.place is not None
                    self.origins[load] = self.above(block, touch.position, touch.place)
        useful: set[tuple[BasicBlock, Place]] | None = None
        if conditions is not None:
            if asked is None:
                asked = QuestionGraph(kills, regions, max_distance, is_finite, candidates)
            useful = asked.useful
        self._explore(max_distance, near, useful)

    def _touching(self, block: BasicBlock) -> Iterator[Touch]:
        for position, instruction in enumerate(block.instructions):
            if instruction.is_plain_access:
                yield Touch(position, instruction, self.places.of_access(instruction))
            elif may_write(instruction) or may_not_return(instruction):
                yield Touch(position, instruction, None)

    def state(self, block: BasicBlock, place: Place, assumed: Assumed = ()) -> State:
        """The state of a place at the beginning of a block."""
        key = block, place, assumed
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = State(block, place, assumed)
        return state

    def touches(self, block: BasicBlock) -> list[Touch]:
        """What happens to memory in a block, in order."""
        return self._touches[block]

    def plain_accesses(self) -> Iterator[tuple[Instruction, Place]]:
        """Plain loads and stores with their places, in reverse postorder of the blocks."""
        for touches in self._touches.values():
            yield from ((touch.instruction, touch.place) for touch in touches if touch.place is not None)

    def above(self, block: BasicBlock, position: int, place: Place, assumed: Assumed = ()) -> Source:
        """Who answers for `place` at a position of a block, for threads of which something is `assumed`."""
        # Behind the last operand that the block computes, the address is not known.
        computed = [
            v for v in place.values if isinstance(v, Instruction) and v.block is block and not v.is_phi
        ]
        last: tuple[int, Instruction | None] = (-1, None)
        for value in computed:
            last = max(last, (block.instructions.index(value), value), key=lambda found: found[0])
        for touch in reversed(self._touches[block]):
            if touch.position >= position:
                continue
            if touch.position < last[0]:
                break
            if touch.place == place:
                instruction = touch.instruction
                stores = instruction.op == "store"
                return Found(instruction.stored_value if stores else instruction, instruction)
            if self.kills.changes(touch.instruction, place):
                return Lost(touch.instruction, place)
        if last[1] is not None:
            return Lost(last[1], place)
        if assumed and self.conditions is not None:
            assumed = self.conditions.at_start(assumed, block)
        return Asked(self.state(block, place, assumed))

    def at_end(self, block: BasicBlock, place: Place, assumed: Assumed = ()) -> Source:
        """Who answers for `place` at the end of a block."""
        return self.above(block, len(block.instructions), place, assumed)

    @property
    def promising(self) -> set[State]:
        """The states from which an occurrence is reached."""
        users: dict[State, list[State]] = {}
        found: list[State] = []
        for state, sources in self.sources.items():
            for _, source in sources:
                if isinstance(source, Asked):
                    users.setdefault(source.state, []).append(state)
            if any(isinstance(source, Found) for _, source in sources):
                found.append(state)
        reached = set(found)
        for state in found:
            more = [user for user in users.get(state, ()) if user not in reached]
            reached.update(more)
            found.extend(more)
        return reached

    @property
    def useful(self) -> set[tuple[BasicBlock, Place]] | None:
        """Blocks and places of the promising states; None where states were left out, so that others may be."""
        return {(s.block, s.place) for s in self.promising} if len(self.sources) < MAX_STATES else None

    def is_retreating(self, source: BasicBlock, target: BasicBlock) -> bool:
        """Whether an edge goes back in reverse postorder, as every cycle does somewhere."""
        return self._order.get(source, -1) >= self._order[target]

    def _explore(
        self,
        max_distance: int,
        near: Mapping[Instruction, int],
        useful: Container[tuple[BasicBlock, Place]] | None,
    ) -> None:
        """Find the states that loads lead to, those of few trips first; `near` says where trips begin.

        Behind states that are not `useful` nothing is asked: an answer is looked for in vain there.
        """
        levels: list[list[State]] = [[] for _ in range(max_distance)]
        for load, source in self.origins.items():
            if isinstance(source, Asked):
                levels[max_distance - near[load]].append(source.state)
        for trips, pending in enumerate(levels):
            while pending:
                state = pending.pop()
                if state in self.sources or len(self.sources) >= MAX_STATES:
                    continue
                self.sources[state] = found = self._answers(state)
                in_vain = useful is not None and (state.block, state.place) not in useful
                for source, answer in found:
                    if not isinstance(answer, Asked):
                        continue
                    self._users.setdefault((answer.state, state.block), []).append(state)
                    if in_vain:
                        continue
                    if not self.is_retreating(source, state.block):
                        pending.append(answer.state)
                    elif trips + 1 < max_distance:
                        levels[trips + 1].append(answer.state)

    def _answers(self, state: State) -> list[tuple[BasicBlock, Source]]:
        """Who answers for a state at the end of each predecessor."""
        found: list[tuple[BasicBlock, Source]] = []
        for source in self._predecessors[state.block]:
            assumed: Assumed | None = ()
            if self.conditions is not None:
                assumed = self.conditions.before(state.assumed, source, state.block)
            place = self.places.back(state.place, source, state.block)
            if assumed is None:
                found.append((source, Unreached()))
            elif place is None:
                found.append((source, Lost(state.block.instructions[0], None)))
            else:
                found.append((source, self.at_end(source, place, assumed)))
        return found

    def users(self, state: State, target: BasicBlock) -> list[State]:
        """The states at a successor of its block that ask a state."""
        return self._users.get((state, target), [])

    def ahead(self, state: State) -> Ahead:
        """What becomes of a place from the beginning of a block on."""
        known = self._ahead.get(state)
        if known is None:
            known = self._ahead[state] = self._look_ahead(state)
        return known

    def _look_ahead(self, state: State) -> Ahead:
        block, place = state.block, state.place
        for touch in self._touches[block]:
            if touch.place == place:
                return Ahead(touch.instruction if touch.instruction.op == "load" else None)
            if may_not_return(touch.instruction) or self.kills.changes(touch.instruction, place):
                return Ahead(None)
        return Ahead(None, True, self.behind(block, place, state.assumed))

    def behind(self, block: BasicBlock, place: Place, assumed: Assumed = ()) -> tuple[State, ...] | None:
        """The states at the successors of a block for a place at its end, without those that no thread goes to."""
        following: list[State] = []
        for target in block.successors:
            if self.is_retreating(block, target) and target not in self._finite:
                # A thread that goes round for ever reads nothing.
                return None
            then: Assumed | None = ()
            if self.conditions is not None:
                then = self.conditions.after(assumed, block, target)
            if then is None:
                continue
            there = self.places.ahead(place, block, target, self.regions.is_valid)
            if there is None:
                return None
            following.append(self.state(target, there, then))
        return tuple(following) or None
