"""Scalar replacement of array accesses by question propagation: SRQP, ESRQP, SSRQP and SSRQP_S.

Precondition: P-LLVM without predicates, shadows, guards and total instructions. Loops may have any form; those in
simplified form with a preheader give most. Postcondition: loads whose value is known, from a load or a store on the
way here, in this iteration or up to some before, are replaced by it, with φs that hand it on, and with loads on edges
where only some ways have it. Under the policies that look at divergence no load is inserted into what depends on a
divergent branch, other than loads of a first iteration for the threads that enter the loop. Preserves the program
under FR.

Fukuhara and Takimoto (2021): §4.2 is SRQP, §5.1 ESRQP, §5.2 and A.2 SSRQP.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.counted_loops import counted_loop
from weft.analysis.questions.graph import MAX_DISTANCE, QuestionGraph
from weft.analysis.questions.kills import Kills
from weft.analysis.questions.places import Places
from weft.analysis.questions.presence import Presence
from weft.analysis.questions.regions import DivergentBranch, Regions
from weft.analysis.questions.solution import EdgeRules, Solution
from weft.analysis.questions.speculation import Hoist, Speculation
from weft.graph.block_index import block_index
from weft.graph.loops import loop_forest
from weft.ir import BasicBlock, Function, Instruction, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.types import Type
from weft.transform.scalar_replacement.loop_entry import entered_bodies
from weft.transform.scalar_replacement.notes import LoadNote, Note, hoisted_note, refused_note, removed_note
from weft.transform.scalar_replacement.policy import Policy
from weft.transform.scalar_replacement.rewriting import Rewriting, insert_load, known_alignment

MAX_ROUNDS = 4
"""How often loads are hoisted, and looked at again."""

Choice = Callable[[Solution], set[Instruction]]
"""Which of the loads that can be replaced are to stay."""


@dataclass(slots=True)
class ReplacementSummary:
    """What became of the loads of a function.

    Parameters
    ----------
    removed, inserted, hoisted
        Loads that are gone, that are new on edges, that left the arms of branches.
    notes
        What there is to say of each load.
    """

    removed: int = 0
    inserted: int = 0
    hoisted: int = 0
    notes: list[LoadNote] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether the function is another one."""
        return bool(self.removed or self.inserted or self.hoisted)


@dataclass(slots=True)
class _Facts:
    """What is known of the function as it is."""

    function: Function
    view: CFGView
    graph: QuestionGraph
    presence: Presence
    entered: dict[tuple[BasicBlock, BasicBlock], BasicBlock]

    @classmethod
    def of(cls, function: Function, diverges: DivergentBranch, max_distance: int) -> _Facts:
        view = cfg_of(function)
        ranges = Ranges(function, view, block_index(view.cfg))
        kills = Kills(function, view, Places(function.layout), ranges.of)
        regions = Regions(view, diverges)
        graph = QuestionGraph(kills, regions, max_distance, finite_loops(view))
        return cls(function, view, graph, Presence(function, graph, ranges), entered_bodies(view))

    def rules(self, policy: Policy) -> EdgeRules:
        """Where the policy lets loads be inserted."""
        regions = self.graph.regions

        def entered(source: BasicBlock, target: BasicBlock) -> BasicBlock | None:
            if regions.is_divergent(target) and not policy.masks_first:
                return None
            return self.entered.get((source, target))

        allows = regions.edge_in_region if policy.keeps_convergent else lambda source, target: True
        return EdgeRules(allows, entered, self.presence.is_there if policy.wide else None)


def finite_loops(view: CFGView) -> frozenset[BasicBlock]:
    """The headers of loops that count to a bound."""
    loops = loop_forest(view.cfg).loops
    return frozenset(
        view.blocks[loop.header] for loop in loops if not isinstance(counted_loop(view, loop), str)
    )


def replace_loads(
    function: Function,
    policy: Policy,
    divergence: Callable[[], DivergentBranch],
    *,
    stay: Choice = lambda solution: set(),
    max_distance: int = MAX_DISTANCE,
) -> ReplacementSummary:
    """Replace loads of a function whose values are known.

    Parameters
    ----------
    function
        The function.
    policy
        Where loads may be inserted.
    divergence
        Finds the divergent branches of the function as it is.
    stay
        Which loads are not worth it.
    max_distance
        Iterations over which values are kept.
    """
    summary = ReplacementSummary()
    facts = _Facts.of(function, divergence(), max_distance)
    facts = _replace(facts, policy, divergence, stay, max_distance, summary)
    for _ in range(MAX_ROUNDS if policy.speculates else 0):
        if not _hoist(facts, policy, stay, summary):
            break
        facts = _Facts.of(function, divergence(), max_distance)
        facts = _replace(facts, policy, divergence, stay, max_distance, summary)
    _note_refused(facts, policy, summary)
    if summary.changed:
        remove_dead_instructions(function)
    return summary


def _replace(
    facts: _Facts,
    policy: Policy,
    divergence: Callable[[], DivergentBranch],
    stay: Choice,
    max_distance: int,
    summary: ReplacementSummary,
) -> _Facts:
    """Replace what can be replaced; what is known of the function behind that."""
    solution = Solution(facts.graph, facts.rules(policy))
    while chosen := {load for load in stay(solution) if solution.is_replaced(load)}:
        solution.excluded |= chosen
        solution.solve()
    loads = solution.replaced
    if not loads:
        return facts
    summary.notes.extend(removed_note(load, solution) for load in loads)
    rewriting = Rewriting(solution)
    rewriting.apply()
    summary.removed += len(loads)
    summary.inserted += len(rewriting.inserted)
    return _Facts.of(facts.function, divergence(), max_distance)


def _hoist(facts: _Facts, policy: Policy, stay: Choice, summary: ReplacementSummary) -> bool:
    """Put loads where those in the arms of divergent branches may as well be done; whether there are any."""
    graph, presence = facts.graph, facts.presence

    def diverges(block: BasicBlock) -> bool:
        return policy.any_branch or graph.regions.is_divergent(block)

    speculation = Speculation(graph, diverges, presence.is_there)
    chosen: dict[Hoist, Instruction] = {}
    objects: set[tuple[Value, Type]] = set()
    for load in graph.origins:
        # What one load's going up does for others of the same array shows in the next round.
        place = graph.places.of_access(load)
        hoists = None if (place.base, place.type) in objects else speculation.hoists(load)
        if hoists:
            objects.add((place.base, place.type))
            summary.notes.append(hoisted_note(load, hoists))
            for hoist in hoists:
                chosen.setdefault(hoist, load)
    for hoist, load in chosen.items():
        align = known_alignment(hoist.place, facts.function, load.alignment)
        insert_load(hoist.place, hoist.block, load, align)
    summary.hoisted += len(chosen)
    return bool(chosen)


def _note_refused(facts: _Facts, policy: Policy, summary: ReplacementSummary) -> None:
    solution = Solution(facts.graph, facts.rules(policy))
    for load in facts.graph.origins:
        note = None if solution.is_replaced(load) else refused_note(load, solution)
        if note is not None:
            summary.notes.append(note)


__all__ = ["LoadNote", "Note", "ReplacementSummary", "finite_loops", "replace_loads"]
