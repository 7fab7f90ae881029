"""The figures of Moll ch. 7, and traps.

The thesis is at hand as text without drawings. The graphs are rebuilt from captions and prose, and each has
every property that the prose states. Figure 7.2 is left out: the text says nothing that determines it.
"""

import time

import pytest

from weft.analysis.control_divergence import ControlDivergence, SyncResult
from weft.graph.cfg import CFG
from weft.graph.control_dependence import control_dependence


def effects(text: str, branch: str) -> SyncResult:
    cfg = CFG.parse(text)
    return ControlDivergence(cfg).joins(cfg.block(branch))


def joins(text: str, branch: str) -> set[str]:
    return named(text, effects(text, branch).join_blocks)


def exits(text: str, branch: str) -> dict[str, str]:
    """Divergent exit edges, each with the header of the outermost loop left in different iterations."""
    labels = CFG.parse(text).labels
    found = effects(text, branch).divergent_exits
    return {f"{labels[p]}->{labels[z]}": labels[loop.header] for (p, z), loop in found.items()}


def partial(text: str, branch: str) -> set[str]:
    return named(text, effects(text, branch).activation_dependent)


def apart(text: str, branch: str) -> set[str]:
    return named(text, effects(text, branch).apart)


def named(text: str, blocks: frozenset[int]) -> set[str]:
    labels = CFG.parse(text).labels
    return {labels[b] for b in blocks}


def test_figure_7_1a_threads_that_part_in_a_join_in_d():
    #    A
    #   / \
    #  B   C
    #   \ /
    #    D
    text = "A -> B C; B -> D; C -> D"
    assert joins(text, "A") == {"D"}
    assert exits(text, "A") == {}
    assert partial(text, "A") == {"B", "C"}


def test_figure_7_1c_threads_leave_the_loop_in_different_iterations():
    #  A -> B -> X,  B -> B
    text = "A -> B; B -> B X"
    assert joins(text, "B") == set()
    assert exits(text, "B") == {"B->X": "B"}
    assert partial(text, "B") == {"B"}


FIGURE_7_3A = "P -> A; A -> B D; B -> C E; C -> D F; D -> A; E -> X; F -> X"
"""Loop {A, B, C, D} with exits E and F that no disjoint paths from A lead to; B, C, D run in that order."""


def test_figure_7_3_exits_of_a_divergent_loop_are_concurrent_and_join_in_x():
    assert joins(FIGURE_7_3A, "A") == {"D", "X"}
    assert exits(FIGURE_7_3A, "A") == {"B->E": "A", "C->F": "A"}


def test_figure_7_3_outside_of_the_loop_only_the_exits_run_for_some_threads():
    assert partial(FIGURE_7_3A, "A") == {"A", "B", "C", "D", "E", "F"}


@pytest.mark.parametrize(
    ("text", "pattern"),
    [("A -> x z; x -> z", "{x, z} are concurrent and x -> z"), ("A -> x y; x -> z; y -> z", "x -> z <- y")],
)
def test_figure_7_4_both_patterns_of_sync_dependence(text: str, pattern: str):
    assert joins(text, "A") == {"z"}, pattern


def test_figure_7_5_paths_that_share_a_block_behind_the_branch_do_not_join():
    # All paths from A to z lead through m: threads are together again when they part for p and q.
    text = "A -> s t; s -> m; t -> m; m -> p q; p -> z; q -> z"
    assert joins(text, "A") == {"m"}
    assert joins(text, "m") == {"z"}
    assert partial(text, "A") == {"s", "t"}


FIGURE_7_6 = "0 -> 1 W; 1 -> 2 X; 2 -> 3 5; 3 -> 4 Y; 4 -> 5 Z; 5 -> 0"
"""Loop {0..5}; threads part in 2, behind the exits W and X and before the exits Y and Z."""


def test_figure_7_6_exits_before_the_divergent_branch_stay_uniform():
    assert exits(FIGURE_7_6, "2") == {"3->Y": "0", "4->Z": "0"}


@pytest.mark.parametrize("pair", ["WX", "WY", "WZ", "XY", "XZ", "YZ"])
def test_figure_7_6c_all_exits_but_the_two_uniform_ones_are_concurrent_in_pairs(pair: str):
    others = " ".join(f"; {exit_block} -> R" for exit_block in "WXYZ" if exit_block not in pair)
    text = f"{FIGURE_7_6}; {pair[0]} -> J; {pair[1]} -> J; J -> R{others}"
    assert ("J" in joins(text, "2")) == (pair != "WX")


def test_figure_7_7a_the_walkthrough():
    text = "0 -> 1 6; 1 -> 2 7; 2 -> 3 5; 3 -> 4 8; 4 -> 5 9; 5 -> 0"
    assert joins(text, "2") == {"5"}
    assert exits(text, "2") == {"3->8": "0", "4->9": "0"}


def test_figure_7_7b_uniform_exits_of_a_divergent_inner_loop_do_not_join():
    # Loop {1..4} has the uniform exits 5 and 6 and the divergent exit 8, also the exit of loop {0..7}.
    text = "0 -> 1; 1 -> 2 5; 2 -> 3 6; 3 -> 4 8; 4 -> 1; 5 -> 7; 6 -> 7; 7 -> 0"
    assert joins(text, "3") == set()
    assert exits(text, "3") == {"3->8": "0"}
    assert len(effects(text, "3").divergent_loops) == 2


FIGURE_7_9A = "P -> H; H -> B D; B -> C Q; C -> Q E; Q -> H"


def test_figure_7_9a_each_exit_depends_on_its_own_branches():
    assert exits(FIGURE_7_9A, "H") == {"H->D": "H"}
    assert exits(FIGURE_7_9A, "B") == {"C->E": "H"}
    assert exits(FIGURE_7_9A, "C") == {"C->E": "H"}


FIGURE_7_9B = "A -> B C; B -> D E; C -> D; D -> F; E -> F"


def test_figure_7_9b_threads_join_before_the_post_dominator_and_only_where_paths_are_disjoint():
    assert joins(FIGURE_7_9B, "A") == {"D", "F"}
    assert joins(FIGURE_7_9B, "B") == {"F"}


def test_a_switch_joins_only_what_it_parts():
    text = "A -> B C D; B -> E; C -> E; D -> F; E -> F"
    assert joins(text, "A") == {"E", "F"}


def test_a_branch_with_equal_targets_parts_nothing():
    assert joins("A -> B B; B -> C", "A") == set()
    assert partial("A -> B B; B -> C", "A") == set()


def test_a_join_behind_a_loop_that_one_arm_runs_is_found():
    # The loop between the branch and the join has a uniform exit condition.
    text = "A -> L J; L -> L M; M -> J"
    assert joins(text, "A") == {"J"}
    assert exits(text, "A") == {}
    assert partial(text, "A") == {"L", "M"}


def test_an_exit_block_shared_by_a_divergent_and_a_uniform_exit_is_a_join():
    # A φ in X may hold constants: one for threads that left from B, one for those that left from H.
    text = "P -> H; H -> B X; B -> L X; L -> H"
    cfg = CFG.parse(text)
    result = effects(text, "B")
    assert exits(text, "B") == {"B->X": "H"}
    assert set(result.disjoint_preds[cfg.block("X")]) == {
        frozenset({cfg.block("B")}),
        frozenset({cfg.block("H")}),
    }


def test_predecessors_in_one_group_bring_the_same_thread_set():
    # P, Q are reached only together from S, so a φ at J with one operand from P and Q is not varying.
    text = "A -> S T; S -> P Q; P -> J; Q -> J; T -> J"
    cfg = CFG.parse(text)
    p, q, t = map(cfg.block, "PQT")
    assert set(effects(text, "A").disjoint_preds[cfg.block("J")]) == {frozenset({p, q}), frozenset({t})}


def test_a_header_joins_back_edges_from_several_latches():
    text = "P -> H; H -> B X; B -> C D; C -> H; D -> H"
    assert joins(text, "B") == {"H"}
    assert exits(text, "B") == {}
    assert partial(text, "B") == {"C", "D"}


def test_a_block_that_post_dominates_the_branch_may_still_run_for_some_threads_only():
    # Threads that take B -> L come to Z an iteration later than those that take B -> Z.
    text = "P -> H; H -> B; B -> Z L; Z -> L X; L -> H"
    cfg = CFG.parse(text)
    assert cfg.block("Z") not in control_dependence(cfg).iterated([cfg.block("B")])
    assert "Z" in partial(text, "B")


def test_nested_loops_left_at_once_diverge_together():
    text = "P -> O; O -> I; I -> J X; J -> I K; K -> O Y; X -> Y"
    assert exits(text, "I") == {"I->X": "O"}
    assert joins(text, "I") == {"Y"}


def test_values_of_the_outer_loop_stay_uniform_behind_the_exit_of_an_inner_one():
    # All threads meet in K before the next outer iteration: only the inner loop is left at different times.
    text = "P -> O; O -> I; I -> I K; K -> O X"
    assert exits(text, "I") == {"I->K": "I"}
    assert [loop.header for loop in effects(text, "I").divergent_loops] == [CFG.parse(text).block("I")]


def test_an_early_return_leaves_the_rest_partial_but_not_apart():
    text = "A -> R B; B -> C D; C -> E; D -> E"
    assert partial(text, "A") == {"R", "B", "C", "D", "E"}
    assert apart(text, "A") == {"R"}
    assert joins(text, "A") == set()


def test_irreducible_loops_are_joins_throughout_and_all_their_exits_diverge():
    text = "A -> B C; B -> C X; C -> B Y"
    assert joins(text, "A") == {"B", "C"}
    assert set(exits(text, "A")) == {"B->X", "C->Y"}
    assert joins(text, "B") == {"B", "C"}


def test_an_irreducible_loop_entered_together_does_no_harm():
    text = "P -> Q R; Q -> S; R -> S; S -> B C; B -> C X; C -> B Y"
    assert joins(text, "P") == {"S"}
    assert exits(text, "P") == {}


def test_dead_blocks_have_no_effects_and_are_in_no_group():
    cfg = CFG([[1, 2], [3], [3], [], [3, 0]])
    divergence = ControlDivergence(cfg)
    assert divergence.joins(4).join_blocks == frozenset()
    assert set(divergence.joins(0).disjoint_preds[3]) == {frozenset({1}), frozenset({2})}


def test_answers_are_kept():
    divergence = ControlDivergence(CFG.parse("A -> B C; B -> D; C -> D"))
    assert divergence.joins(0) is divergence.joins(0)


def test_cost_does_not_grow_with_what_lies_behind_the_reconvergence():
    def diamonds(count: int) -> float:
        succs: list[list[int]] = []
        for top in range(0, 3 * count, 3):
            succs += [[top + 1, top + 2], [top + 3], [top + 3]]
        divergence = ControlDivergence(CFG([*succs, []]))
        begin = time.process_time()
        for top in range(0, 3 * count, 3):
            divergence.joins(top)
        return (time.process_time() - begin) / count

    assert diamonds(4_000) < 10 * min(diamonds(400) for _ in range(3))
