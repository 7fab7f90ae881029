"""Partial linearization: the examples of Moll's chapter 8, and his theorems on random graphs.

In drawings, ``B?`` ends in a divergent branch; all others are uniform.
"""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_cfgs import acyclic_cfgs, brute_dominators
from weft.graph.block_index import block_index
from weft.graph.cfg import CFG
from weft.graph.control_dependence import control_dependence
from weft.graph.loops import loop_forest
from weft.transform.linearization.partial_linearization import partially_linearize


def linearized(cfg: CFG, divergent: set[int]) -> CFG:
    loops = loop_forest(cfg)
    back_edges = {(latch, loop.header) for loop in loops.loops for latch in loop.latches}
    succs = partially_linearize(cfg.succs, block_index(cfg, None, loops).order, divergent, back_edges)
    return CFG(succs, cfg.labels)


def redrawn(text: str) -> str:
    """The graph after linearization; blocks with a question mark end in divergent branches."""
    cfg = CFG.parse(text.replace("?", ""))
    divergent = {cfg.block(part.split("->")[0].strip()[:-1]) for part in text.split(";") if "?" in part}
    after = linearized(cfg, divergent)
    edges = (
        f"{after.labels[b]} -> {' '.join(after.labels[t] for t in ts)}" for b, ts in enumerate(after.succs)
    )
    return "; ".join(edge for edge, ts in zip(edges, after.succs, strict=True) if ts)


def test_fig_8_1_the_uniform_branch_stays():
    r"""
        A            A
       / \          / \
      B?  |        B   |
     / \  |   ==>  |   |
    C   D |        C   |
     \  | /        |   |
      \ |/         D   |
        E           \ /
                     E
    """
    assert redrawn("A -> B E; B? -> C D; C -> E; D -> E") == "A -> B E; B -> C; C -> D; D -> E"


def test_fig_8_1c_without_uniform_branches_all_blocks_follow_each_other():
    assert redrawn("A? -> B E; B? -> C D; C -> E; D -> E") == "A -> B; B -> C; C -> D; D -> E"


def test_fig_8_2_what_is_deferred_on_one_side_of_a_uniform_branch_is_not_on_the_other():
    r"""
           a                  a
         /   \              /   \
        b?    c            b     c
       / \   / \           |    / \
      d   e f   |          d   f   |
       \ /   \  |     ==>  |   |   |
        h     g?|          e   g   |
         \   / \|          |    \  |
          \ /   i          h     \ |
           k---/            \     i
                             \   /
                               k
    """
    after = redrawn("a -> b c; b? -> d e; d -> h; e -> h; c -> f i; f -> g; g? -> i k; i -> k; h -> k")
    assert after == "a -> b c; b -> d; c -> f i; d -> e; e -> h; h -> k; f -> g; i -> k; g -> i"


def test_fig_8_3_back_edges_stay_and_what_was_deferred_before_the_loop_waits_for_its_exit():
    r"""
      a?              a
     / \              |
    h<+ |             h<+
    |\| |     ==>     |\|
    | l |             | l
    x   |             x
     \ /              |
      e               e
    """
    assert redrawn("a? -> h e; h -> l x; l -> h; x -> e") == "a -> h; h -> l x; l -> h; x -> e"


def test_a_block_deferred_past_a_loop_is_run_behind_it():
    r"""
      a?              a
     / \              |
    h<+ c             h<+
    |\| |             |\|
    | l |     ==>     | l
    x   |             x
     \  |             |
      e-+             c
                      |
                      e
    """
    assert (
        redrawn("a? -> h c; h -> l x; l -> h; x -> e; c -> e") == "a -> h; h -> l x; c -> e; l -> h; x -> c"
    )


def test_fig_8_5_a_uniform_branch_under_a_divergent_one_stays_within_what_its_block_dominates():
    r"""
        a?              a
       / \              |
      b   |             b
     / \  |            / \
    c   d |    ==>    c   d
     \ / /             \ /
      e /               e
      |/                |
      f                 f
    """
    after = redrawn("a? -> b f; b -> c d; c -> e; d -> e; e -> f")
    assert after == "a -> b; b -> c d; c -> e; d -> e; e -> f"


def test_fig_8_6_an_index_that_is_not_dominance_compact_loses_a_uniform_branch():
    r"""
       a?
      / \
     b   c        b dominates d and e; with c between b and d in the index, c is what both edges of b lead to
    / \  |
   d   e |
    \  |/
      f
    """
    cfg = CFG.parse("a -> b c; b -> d e; d -> f; e -> f; c -> f")
    a, b, c, d, e, f = (cfg.block(name) for name in "abcdef")
    bad = partially_linearize(cfg.succs, [a, b, c, d, e, f], {a})
    assert bad[b] == (c, c)
    assert linearized(cfg, {a}).succs[b] == (d, e)


def test_fig_8_7_a_block_of_uniform_predicate_in_unstructured_control_is_skipped():
    r"""
        a                 a
       / \               / \
      b?  c             b   c
     / \ / \     ==>    |  / \
    d   e   |           d /   |
     \  |  /            |/    |
      \ | /             e     |
        f                \   /
                           f
    """
    assert (
        redrawn("a -> b c; b? -> d e; c -> e f; d -> f; e -> f")
        == "a -> b c; b -> d; c -> e f; d -> e; e -> f"
    )


def test_a_divergent_switch_visits_its_targets_in_index_order():
    assert redrawn("s? -> a b c; a -> e; b -> c; c -> e") == "s -> a; a -> b; b -> c; c -> e"


def test_a_latch_that_leaves_its_loop_keeps_both_edges():
    assert redrawn("a -> h; h? -> b l; b -> l; l -> h x") == "a -> h; h -> b; b -> l; l -> h x"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[CFG, set[int], random.Random]:
    """An acyclic graph with one last block, and which of its blocks end in divergent branches."""
    cfg = draw(acyclic_cfgs())
    end = len(cfg)
    succs = [targets or (end,) for targets in cfg.succs]
    cfg = CFG([*succs, ()])
    branches = [b for b, targets in enumerate(cfg.succs) if len(set(targets)) > 1]
    divergent = {b for b in branches if draw(st.booleans())}
    return cfg, divergent, draw(st.randoms(use_true_random=False))


def trace(cfg: CFG, choice: dict[int, int]) -> list[int]:
    block, found = 0, [0]
    while cfg.succs[block]:
        targets = cfg.succs[block]
        block = targets[choice[block]] if len(targets) > 1 else targets[0]
        found.append(block)
    return found


def is_embedded(part: list[int], whole: list[int]) -> bool:
    rest = iter(whole)
    return all(block in rest for block in part)


def choices(cfg: CFG, divergent: set[int], rng: random.Random) -> list[dict[int, int]]:
    """For each of four threads the successor it takes at each block: the same one at uniform branches."""
    common = {b: rng.randrange(len(t)) for b, t in enumerate(cfg.succs) if t}
    return [
        {b: rng.randrange(len(cfg.succs[b])) if b in divergent else c for b, c in common.items()}
        for _ in "1234"
    ]


def uniform_predicates(cfg: CFG, divergent: set[int], blocks: set[int]) -> set[int]:
    """Of `blocks`, a set with one entry, those whose execution no divergent branch in the set decides."""
    order = sorted(blocks)
    number = {b: i for i, b in enumerate(order)}
    end = len(order)
    inner = CFG([*([number.get(t, end) for t in cfg.succs[b]] for b in order), []])
    on = control_dependence(inner).on
    uniform = set()
    for block in order:
        seen: set[int] = set()
        work = [number[block]]
        while work:
            for branch in on[work.pop()]:
                if branch not in seen:
                    seen.add(branch)
                    work.append(branch)
        if not {order[i] for i in seen} & divergent:
            uniform.add(block)
    return uniform


@given(graphs())
def test_theorem_3_each_path_is_part_of_the_path_that_is_taken_instead(graph):
    cfg, divergent, rng = graph
    after = linearized(cfg, divergent)
    threads = choices(cfg, divergent, rng)
    together = trace(after, threads[0])
    for thread in threads:
        assert is_embedded(trace(cfg, thread), together)


@given(graphs())
def test_theorem_4_a_block_of_uniform_predicate_runs_if_and_only_if_it_ran(graph):
    cfg, divergent, rng = graph
    threads = choices(cfg, divergent, rng)
    together = set(trace(linearized(cfg, divergent), threads[0]))
    ran = {block for thread in threads for block in trace(cfg, thread)}
    uniform = uniform_predicates(cfg, divergent, set(range(len(cfg))))
    assert together & uniform == ran & uniform


@given(graphs())
def test_theorem_5_edges_uniform_in_a_dominance_region_stay(graph):
    cfg, divergent, _ = graph
    after = linearized(cfg, divergent)
    dominators = brute_dominators(cfg)
    for head in range(len(cfg)):
        region = {b for b in range(len(cfg)) if head in dominators[b]}
        for block in uniform_predicates(cfg, divergent, region) - divergent:
            for position, target in enumerate(cfg.succs[block]):
                if target in region and target != head:
                    assert after.succs[block][position] == target


@given(graphs())
def test_no_branch_is_added_and_divergent_ones_are_gone(graph):
    cfg, divergent, _ = graph
    after = linearized(cfg, divergent)
    for block in range(len(cfg)):
        assert len(after.succs[block]) == (1 if block in divergent else len(cfg.succs[block]))


@given(graphs())
def test_without_divergent_branches_nothing_changes(graph):
    cfg, _, _ = graph
    assert linearized(cfg, set()).succs == cfg.succs


@given(graphs(), graphs(), st.data())
def test_uniform_loops_stay_loops(outside, inside, data):
    """A block of one graph is replaced by a loop, whose body is another graph, left at its last block."""
    outer, outer_divergent, _ = outside
    body, body_divergent, _ = inside
    place = data.draw(st.integers(0, len(outer) - 2))
    first = len(outer)
    last = first + len(body) - 1
    shifted = [tuple(t + first for t in targets) for targets in body.succs]
    shifted[-1] = (first, last + 1)
    succs = [*outer.succs, *shifted, outer.succs[place]]
    succs[place] = (first,)
    divergent = {last + 1 if b == place else b for b in outer_divergent}
    cfg = CFG(succs)
    after = linearized(cfg, divergent | {b + first for b in body_divergent})
    assert after.succs[last] == (first, last + 1)
    (loop,) = loop_forest(after).loops
    assert (loop.header, loop.latches) == (first, (last,))
    assert set(loop.blocks) <= set(range(first, last + 1))


@pytest.mark.parametrize("cases", [2, 5, 40])
def test_blocks_behind_a_divergent_switch_form_one_chain(cases: int):
    succs = [tuple(range(1, cases + 1)), *[(cases + 1,)] * cases, ()]
    after = linearized(CFG(succs), {0})
    assert after.succs == (*((b + 1,) for b in range(cases + 1)), ())


def test_a_switch_of_thousands_of_targets_takes_no_time():
    """The targets that wait are moved on from one to the next: as sets of blocks that was quadratic."""
    cases = 6000
    succs = [tuple(range(1, cases + 1)), *[(cases + 1,)] * cases, ()]
    start = time.process_time()
    after = partially_linearize(succs, range(cases + 2), {0})
    assert time.process_time() - start < 1.0
    assert after[:-1] == [(b + 1,) for b in range(cases + 1)]
