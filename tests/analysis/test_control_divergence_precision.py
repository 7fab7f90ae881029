"""Control divergence against the enumeration of all executions: nothing missed, nothing spurious.

``WEFT_FUZZ=1`` runs the whole census: all reducible graphs of up to 5 blocks and 50,000 random ones.
"""

import itertools
import os
import random
from collections import Counter

from hypothesis import given

from analysis.control_divergence_oracle import Observations, Succs, observe, ranking, reach
from analysis.reducible_graphs import Graph, many_reducible, random_reducible, small_reducible
from random_cfgs import acyclic_cfgs, arbitrary_cfgs, brute_dominators
from weft.analysis.control_divergence import ControlDivergence, SyncResult
from weft.graph.cfg import CFG

WHOLE = "WEFT_FUZZ" in os.environ


def claimed_joins(result: SyncResult) -> set[tuple[int, frozenset[int]]]:
    return {
        (block, frozenset((p, q)))
        for block, groups in result.disjoint_preds.items()
        for one, other in itertools.combinations(groups, 2)
        for p in one
        for q in other
    }


def has_endless_loop(succs: Succs) -> bool:
    ends = {block for block, targets in enumerate(succs) if not targets}
    return any(not reach(succs, block) & ends for block in range(len(succs)))


def judge(graph: Graph, census: Counter[str]) -> None:
    """Compare all branches of a graph; a miss fails, a spurious claim is counted.

    With an endless loop, that a block runs behind it is a claim about nothing: in such graphs no activation
    counts as spurious.
    """
    succs, loops = graph
    returning = {block for block, targets in enumerate(succs) if not targets and block % 2}
    divergence = ControlDivergence(CFG(succs), returning=returning)
    endless = has_endless_loop(succs)
    census["graphs"] += 1
    census["acyclic"] += not loops
    census["with endless loops"] += endless
    for branch in range(len(succs)):
        if len(succs[branch]) < 2:
            continue
        result = divergence.joins(branch)
        other_order = observe(succs, {branch}, ranking(succs, loops), loops)
        same_order = observe(
            succs, {branch}, ranking(succs, loops, divergence.index.number.__getitem__), loops, returning
        )
        claims = {
            "joins": claimed_joins(result),
            "temporal": {(lp.header, block, p) for (p, block), lp in result.divergent_exits.items()},
            "activation": set(result.activation_dependent),
            "apart": set(result.apart),
        }
        facts = {
            "joins": other_order.joins | same_order.joins,
            "temporal": {
                (header, block, p)
                for header, block, preds in other_order.temporal(loops) | same_order.temporal(loops)
                for p in preds
            },
            "activation": same_order.alone,
            "apart": same_order.apart,
        }
        where = f"{divergence.cfg!r}, divergent in {branch}"
        assert facts["joins"] <= claims["joins"], where
        assert facts["activation"] <= claims["activation"], where
        assert facts["apart"] <= claims["apart"], where
        assert_temporal(same_order, loops, result, where)
        assert_temporal(other_order, loops, result, where)
        census["queries"] += 1
        for kind in claims if not endless else ("joins", "temporal"):
            census[kind] += len(claims[kind])
            census[f"spurious {kind}"] += len(claims[kind] - facts[kind])


def assert_temporal(seen: Observations, loops: dict[int, set[int]], result: SyncResult, where: str) -> None:
    """Where threads come together from different iterations, an edge of theirs is divergent for the loop."""
    for header, block, preds in seen.temporal(loops):
        flagged = [result.divergent_exits.get((p, block)) for p in preds]
        assert any(loop is not None and header in loop for loop in flagged), (where, header, block)


def assert_exact(census: Counter[str]) -> None:
    print(dict(census))
    assert census["joins"] and census["temporal"] and census["activation"]
    for kind in ("joins", "temporal", "activation", "apart"):
        assert census[f"spurious {kind}"] == 0


def test_exact_on_small_reducible_graphs():
    census: Counter[str] = Counter()
    for graph in small_reducible(1 if WHOLE else 160):
        judge(graph, census)
    assert_exact(census)


def test_exact_on_random_reducible_graphs_of_up_to_ten_blocks():
    census: Counter[str] = Counter()
    for graph in many_reducible(7, 50_000 if WHOLE else 900):
        judge(graph, census)
    assert_exact(census)


def test_the_effects_of_several_branches_are_the_union_of_the_effects_of_each():
    rng = random.Random(8)
    for _ in range(10_000 if WHOLE else 300):
        succs, loops = random_reducible(rng, rng.randint(3, 8))
        branches = [b for b in range(len(succs)) if len(succs[b]) > 1 and rng.random() < 0.5]
        divergence = ControlDivergence(CFG(succs))
        results = [divergence.joins(branch) for branch in branches]
        seen = observe(succs, branches, ranking(succs, loops, divergence.index.number.__getitem__), loops)
        assert seen.joins <= set().union(*map(claimed_joins, results))
        assert seen.alone <= set().union(*(r.activation_dependent for r in results))
        for header, block, preds in seen.temporal(loops):
            exits = [
                r.divergent_exits[p, block] for r in results for p in preds if (p, block) in r.divergent_exits
            ]
            assert any(header in loop for loop in exits)


@given(acyclic_cfgs())
def test_joins_of_acyclic_graphs_are_the_ends_of_disjoint_paths(cfg: CFG):
    """Theorem 2: two predecessors are in different groups exactly if disjoint paths lead to them."""
    divergence = ControlDivergence(cfg)
    for branch in range(len(cfg)):
        groups = divergence.joins(branch).disjoint_preds
        for block in range(len(cfg)):
            preds = cfg.distinct_preds(block)
            for p, q in itertools.combinations(preds, 2):
                group_of = {source: group for group in groups.get(block, ()) for source in group}
                apart = p in group_of and q in group_of and group_of[p] != group_of[q]
                assert apart == have_disjoint_paths(cfg, branch, (p, block), (q, block))


def have_disjoint_paths(cfg: CFG, branch: int, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether paths from `branch` over different successors end in these edges and share no block before."""

    def paths(end: tuple[int, int]) -> list[list[int]]:
        found: list[list[int]] = []
        work = [[branch]]
        while work:
            path = work.pop()
            if path[-1] == end[0]:
                found.append(path[1:])
            work.extend([*path, target] for target in cfg.distinct_succs(path[-1]) if target != end[1])
        return found

    return any(not set(a) & set(b) for a in paths(one) for b in paths(other))


@given(arbitrary_cfgs(max_blocks=6, max_succs=2))
def test_sound_on_any_graph_and_values_get_stale_only_over_divergent_exits(cfg: CFG):
    """Irreducible graphs included.

    The schedule is that of the compact block index. In loop-closed form, a value defined in ``d`` is used in
    the innermost loop around ``d`` or by φs at its exits. It can be stale there only in a φ behind a
    divergent exit, or in a φ at an entry of an irreducible loop, which has an operand from outside as well.
    """
    divergence = ControlDivergence(cfg)
    dominators = brute_dominators(cfg)
    live = [b for b in range(len(cfg)) if dominators[b]]
    for branch in live:
        if len(cfg.distinct_succs(branch)) < 2:
            continue
        result = divergence.joins(branch)
        seen = observe(cfg.succs, {branch}, divergence.index.slot, live)
        assert seen.joins <= claimed_joins(result)
        assert seen.alone <= result.activation_dependent
        assert seen.apart <= result.apart
        for definition, block, preds in seen.stale:
            if not all(p >= 0 and definition in dominators[p] for p in preds):
                continue
            innermost = divergence.loops.innermost[definition]
            assert innermost is not None
            if not preds <= innermost.blocks:
                continue
            flagged = [result.divergent_exits.get((p, block)) for p in preds]
            if not any(loop is not None and definition in loop for loop in flagged):
                headed = divergence.loops.headed_by[block]
                assert headed in result.divergent_loops
                assert headed is not None
                assert headed.is_irreducible
                assert block in result.join_blocks


def test_threads_are_apart_in_an_irreducible_loop_that_they_never_leave():
    divergence = ControlDivergence(CFG([[1, 2], [2], [1]]))
    assert divergence.joins(0).apart == {1, 2}
