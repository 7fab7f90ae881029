"""Scalar replacement of array accesses by question propagation: SRQP, ESRQP, SSRQP and SSRQP_S.

Precondition: P-LLVM without predicates, shadows, guards and total instructions. Loops may have any form; those in
simplified form with a preheader give most. Postcondition: loads whose value is known, from a load or a store on the
way here, in this iteration or up to some before, are replaced by it, with φs that hand it on, and with loads on edges
where only some ways have it. Under the policies that look at divergence no load is inserted into what depends on a
divergent branch, other than in an arm of its own: loads of a first iteration for the threads that enter the loop, and
loads of an arm for the threads that will take it. Preserves the program under FR.

Fukuhara and Takimoto (2021): §4.2 is SRQP, §5.1 ESRQP, §5.2 and A.2 SSRQP.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct, field

from weft.analysis.divergence import Divergence
from weft.analysis.loops.counted_loops import counted_loop
from weft.analysis.memory.promises import Promise
from weft.analysis.questions.company import loads_in_company
from weft.analysis.questions.conditions import Conditions
from weft.analysis.questions.graph import MAX_DISTANCE, Found, QuestionGraph
from weft.analysis.questions.kills import Kills
from weft.analysis.questions.places import Places
from weft.analysis.questions.presence import Presence
from weft.analysis.questions.regions import Regions
from weft.analysis.questions.solution import EdgeRules, Solution
from weft.analysis.questions.speculation import Hoist, Speculation
from weft.analysis.questions.splits import loads_served_twice
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import CFGView
from weft.ir.types import Type
from weft.transform.loops.close_loops import close_loops
from weft.transform.scalar_replacement.loop_entry import entered_bodies
from weft.transform.scalar_replacement.notes import (
    LoadNote,
    Note,
    hoisted_note,
    refused_note,
    removed_note,
    sunk_note,
)
from weft.transform.scalar_replacement.policy import Policy
from weft.transform.scalar_replacement.rewriting import Rewriting, insert_load, known_alignment
from weft.transform.scalar_replacement.sinking import Sink, sink_stores

MAX_ROUNDS = 4
"""How often loads are hoisted, and looked at again."""

LONG = 3_000
"""Instructions of functions in which that is done once: each time takes as long as all else that is asked of them."""


class Judge(Protocol):
    """Says what is worth it in a function as it is."""

    def not_worth_it(self, solution: Solution) -> set[Instruction]:
        """Which of the loads that can be replaced had better stay; none if those that are replaced are worth it."""
        ...

    def is_worth_hoisting(self, hoisted: Instruction, served: list[Instruction]) -> bool:
        """Whether a load that left an arm is worth the loads that get their value from it."""
        ...

    def is_worth_sinking(
        self, stores: Sequence[Instruction], exits: Sequence[BasicBlock], certain: bool
    ) -> bool:
        """Whether stores in a loop are worth one at each of its exits, behind a test unless that is `certain`."""
        ...


class ReplacementSummary(Struct):
    """What became of the loads of a function.

    Parameters
    ----------
    removed, inserted, hoisted
        Loads that are gone, that are new on edges, that left the arms of branches.
    sunk
        Stores that are done behind their loop.
    weighed
        Whether there was anything to change, be it worth it or not.
    arrays_apart
        Whether the function holds only where no two arrays overlap, as it says (`ARRAYS_APART_ATTRIBUTE`).
    notes
        What there is to say of each load.
    """

    removed: int = 0
    inserted: int = 0
    hoisted: int = 0
    sunk: int = 0
    weighed: bool = False
    arrays_apart: bool = False
    notes: list[LoadNote] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether the function is another one."""
        return bool(self.removed or self.inserted or self.hoisted or self.sunk)


class _Facts(Struct):
    """What is known of the function as it is."""

    divergence: Divergence
    graph: QuestionGraph
    presence: Presence
    entered: dict[tuple[BasicBlock, BasicBlock], BasicBlock]

    @classmethod
    def of(
        cls,
        divergence: Divergence,
        max_distance: int,
        promise: Promise | None,
        by_condition: bool,
        asked: QuestionGraph | None = None,
    ) -> _Facts:
        """`by_condition` asks for the loads of arms alone, and for the threads that take the arm.

        What was `asked` before for all threads of the function, as it still is, is not asked again.
        """
        function, shared = divergence.function, divergence.facts
        kills = (
            asked.kills
            if asked
            else Kills(Places(function.layout), shared.objects, shared.ranges.of, promise)
        )
        regions = Regions(shared.view, divergence.is_divergent_branch)
        loops = shared.propagation.loops
        candidates = loads_in_company(shared.view, loops)
        conditions = Conditions(regions, loops) if by_condition else None
        if conditions is not None:
            candidates = _in_arms(candidates, conditions)
        finite = finite_loops(shared.view)
        graph = QuestionGraph(kills, regions, max_distance, finite, candidates, conditions, asked)
        presence = Presence(function, graph, shared.ranges)
        return cls(divergence, graph, presence, entered_bodies(shared.view))

    def rules(self, policy: Policy) -> EdgeRules:
        """Where the policy lets loads be inserted."""
        regions = self.graph.regions

        def entered(source: BasicBlock, target: BasicBlock) -> BasicBlock | None:
            if regions.is_divergent(target) and not policy.masks:
                return None
            return self.entered.get((source, target))

        allows = regions.edge_in_region if policy.keeps_convergent else lambda source, target: True
        is_there = self.presence.is_there if policy.wide else None
        return EdgeRules(allows, entered, is_there, policy.masks)


def _in_arms(loads: set[Instruction], conditions: Conditions) -> set[Instruction]:
    """Those of the loads that are in arms whose condition can be the same elsewhere."""
    return {load for load in loads if load.block is not None and conditions.is_asked_again(load.block)}


def finite_loops(view: CFGView) -> frozenset[BasicBlock]:
    """The headers of loops that count to a bound."""
    loops = loop_forest(view.cfg).loops
    return frozenset(
        view.blocks[loop.header] for loop in loops if not isinstance(counted_loop(view, loop), str)
    )


class _Replacing(Struct):
    """One run of the pass."""

    policy: Policy
    analyze: Callable[[], Divergence]
    judge: Callable[[Divergence], Judge] | None
    max_distance: int
    facts: _Facts
    summary: ReplacementSummary = field(default_factory=ReplacementSummary)
    lonely: set[Instruction] = field(default_factory=set)
    by_condition: bool = False

    def run(self) -> ReplacementSummary:
        refused = self.refused(self.replace_and_hoist())
        if self.ask_by_condition():
            self.replace_and_hoist()
        # What was refused may be gone since.
        self.summary.notes.extend(note for load, note in refused.items() if load.block is not None)
        return self.summary

    def ask_by_condition(self) -> bool:
        """From here on ask for the threads that take an arm; whether there are such loads."""
        facts = self.facts
        loops = facts.divergence.facts.propagation.loops
        loads = loads_in_company(facts.graph.regions.view, loops)
        if not _in_arms(loads, Conditions(facts.graph.regions, loops)):
            return False
        self.by_condition = True
        promise = facts.graph.kills.promise
        self.facts = _Facts.of(facts.divergence, self.max_distance, promise, self.by_condition, facts.graph)
        return True

    def replace_and_hoist(self) -> Solution:
        """Replace loads; hoist others as long as that makes more of them known."""
        solution = self.replace()
        rounds = 1 if len(self.facts.divergence.facts.instructions) > LONG else MAX_ROUNDS
        for _ in range(rounds if self.policy.speculates else 0):
            if not self.hoist():
                break
            solution = self.replace()
        return solution

    def refresh(self) -> None:
        """Look at the function again, which was changed."""
        promise = self.facts.graph.kills.promise
        self.facts = _Facts.of(self.analyze(), self.max_distance, promise, self.by_condition)

    def solve(self) -> Solution:
        """The loads that can be replaced, and are worth it."""
        facts = self.facts
        solution = Solution(facts.graph, facts.rules(self.policy))
        judge = None if self.judge is None else self.judge(facts.divergence)
        self.summary.weighed |= bool(solution.replaced)
        while solution.replaced:
            chosen = (
                loads_served_twice(solution) if self.by_condition and self.policy.keeps_convergent else set()
            )
            if not chosen and judge is not None:
                chosen = {load for load in judge.not_worth_it(solution) if solution.is_replaced(load)}
            if not chosen:
                break
            solution.excluded |= chosen
            solution.solve()
        return solution

    def replace(self) -> Solution:
        """Replace what can be replaced; the answers that hold then."""
        solution = self.solve()
        loads = solution.replaced
        if not loads:
            return solution
        self.summary.notes.extend(removed_note(load, solution) for load in loads)
        rewriting = Rewriting(solution)
        rewriting.apply()
        self.summary.removed += len(loads)
        self.summary.inserted += len(rewriting.inserted)
        self.refresh()
        return Solution(self.facts.graph, self.facts.rules(self.policy))

    def hoist(self) -> bool:
        """Put loads where those in the arms of divergent branches may as well be done; whether there are any."""
        chosen = self.hoists()
        if not chosen:
            return False
        self.summary.weighed = True
        hoisted: dict[Instruction, tuple[Hoist, Instruction]] = {}
        for hoist, (load, align) in chosen.items():
            hoisted[insert_load(hoist.place, hoist.block, load, align, "hoisted")] = hoist, load
        self.refresh()
        if self.judge is not None:
            self.take_back(hoisted)
        for load in dict.fromkeys(load for _, load in hoisted.values()):
            of_it = [hoist for hoist, other in hoisted.values() if other is load]
            self.summary.notes.append(hoisted_note(load, of_it, self.facts.graph.regions))
        self.summary.hoisted += len(hoisted)
        return bool(hoisted)

    def hoists(self) -> dict[Hoist, tuple[Instruction, int]]:
        """Where loads may go, one of each array, and how they are aligned there."""
        graph, function = self.facts.graph, self.facts.divergence.function

        def diverges(block: BasicBlock) -> bool:
            return self.policy.any_branch or graph.regions.is_divergent(block)

        speculation = Speculation(graph, diverges, self.facts.presence.is_there)
        chosen: dict[Hoist, tuple[Instruction, int]] = {}
        objects: set[tuple[Value, Type]] = set()
        for load in graph.origins:
            # What one load's going up does for others of the same array shows in the next round.
            place = graph.places.of_access(load)
            if load in self.lonely or (place.base, place.type) in objects:
                continue
            hoists = speculation.hoists(load)
            if hoists:
                objects.add((place.base, place.type))
                for hoist in hoists:
                    if speculation.is_read_behind(hoist.block, hoist.place):
                        align = self.least_alignment(load)
                    else:
                        align = known_alignment(hoist.place, function, load.alignment)
                    chosen.setdefault(hoist, (load, align))
        return chosen

    def least_alignment(self, load: Instruction) -> int:
        """The least alignment that loads of the type claim: each thread that does one of them sees to it."""
        accesses = (access for access, _ in self.facts.graph.plain_accesses())
        return min(a.alignment for a in accesses if a.op == "load" and a.type == load.type)

    def take_back(self, hoisted: dict[Instruction, tuple[Hoist, Instruction]]) -> None:
        """Erase the loads that were hoisted and are not worth it; they are not tried again."""
        solution = self.solve()
        assert self.judge is not None
        judge = self.judge(self.facts.divergence)
        served = served_loads(solution)
        wrong = [load for load in hoisted if not judge.is_worth_hoisting(load, served.get(load, []))]
        for load in wrong:
            self.lonely.add(hoisted.pop(load)[1])
            load.erase()
        if wrong:
            remove_dead_instructions(self.facts.divergence.function)
            self.refresh()

    def refused(self, solution: Solution) -> dict[Instruction, LoadNote]:
        """What stands in the way of loads that stay."""
        found: dict[Instruction, LoadNote] = {}
        for load in self.facts.graph.origins:
            note = None if solution.is_replaced(load) else refused_note(load, solution)
            if note is not None:
                found[load] = note
        return found


def served_loads(solution: Solution) -> dict[Instruction, list[Instruction]]:
    """For each access the loads that are replaced and may get their value from it."""
    found: dict[Instruction, list[Instruction]] = {}
    for load in solution.replaced:
        origin = solution.graph.origins[load]
        answers = [origin] if isinstance(origin, Found) else []
        answers += [a for s in solution.demanded((load,)) for _, a in solution.graph.sources[s]]
        for access in dict.fromkeys(a.by for a in answers if isinstance(a, Found)):
            found.setdefault(access, []).append(load)
    return found


def replace_loads(
    function: Function,
    policy: Policy,
    analyze: Callable[[], Divergence],
    *,
    judge: Callable[[Divergence], Judge] | None = None,
    max_distance: int = MAX_DISTANCE,
) -> ReplacementSummary:
    """Replace loads of a function whose values are known.

    Parameters
    ----------
    function
        The function.
    policy
        Where loads may be inserted.
    analyze
        Finds the divergence of the function as it is.
    judge
        Says which loads are worth it; by default all that can be are replaced.
    max_distance
        Iterations over which values are kept.
    """
    divergence, promise, summary = analyze(), Promise.of(function), ReplacementSummary()
    if loads_in_company(divergence.facts.view, divergence.facts.propagation.loops):
        facts = _Facts.of(divergence, max_distance, promise, False)
        replacing = _Replacing(policy, analyze, judge, max_distance, facts)
        summary = replacing.run()
        divergence = replacing.facts.divergence

    def is_worth_it(found: Sink, divergence: Divergence) -> bool:
        summary.weighed = True
        if judge is None:
            return True
        exits = [divergence.facts.view.blocks[b] for b in found.loop.exits]
        return judge(divergence).is_worth_sinking(found.stores, exits, found.certain)

    for found in sink_stores(divergence, analyze, is_worth_it, promise):
        summary.sunk += len(found.stores)
        summary.notes.append(sunk_note(found))
    if summary.sunk:
        # The blocks that store are the exits now.
        close_loops(function)
    if summary.changed:
        remove_dead_instructions(function)
        summary.arrays_apart = promise is not None and promise.is_used
    return summary


__all__ = ["LoadNote", "Note", "ReplacementSummary", "finite_loops", "replace_loads"]
