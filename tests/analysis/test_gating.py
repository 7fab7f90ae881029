"""Gates against walks of single threads, and against all lock-step executions of two."""

import itertools
import os
import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from analysis.control_divergence_oracle import Observations, observe, ranking
from analysis.reducible_graphs import Graph, many_reducible, small_reducible
from random_cfgs import arbitrary_cfgs, brute_dominators, reducible_cfgs
from weft.analysis.gated.gates import NEVER, Edge, Gamma, Gate, Leaf, outcomes, parts
from weft.analysis.gated.gating import LEAVE, Gating
from weft.graph.cfg import CFG
from weft.graph.loops import Loop

WHOLE = "WEFT_FUZZ" in os.environ


class Walk:
    """One thread that goes through a graph, with the edge over which it last left each block and loop."""

    def __init__(self, gating: Gating) -> None:
        self.gating = gating
        self.last: dict[int | Loop, Edge] = {}
        self.block = 0

    def go(self, target: int) -> None:
        edge = (self.block, target)
        self.last[self.block] = edge
        for loop in self.gating.loops.loops:
            if edge in loop.exit_edges:
                self.last[loop] = edge
        self.block = target

    def outcome(self, gate: Gate) -> object:
        """What the decisions of this thread mean for `gate`."""
        while isinstance(gate, Gamma):
            gate = dict(gate.arms)[self.last[gate.decision]]
        assert isinstance(gate, Leaf)
        return NEVER if gate is NEVER else gate.outcome


@given(reducible_cfgs(), st.randoms(use_true_random=False))
def test_a_gate_names_the_edge_over_which_a_thread_arrives(cfg: CFG, rng: random.Random):
    gating = Gating(cfg)
    walk = Walk(gating)
    for _ in range(60):
        if not cfg.succs[walk.block]:
            break
        edge = (walk.block, rng.choice(cfg.succs[walk.block]))
        walk.go(edge[1])
        loop = gating.loops.headed_by[edge[1]]
        if loop is not None and edge[0] in loop.blocks:
            assert walk.outcome(gating.going_on(loop)) == edge
        else:
            assert walk.outcome(gating.arriving(edge[1])) == edge


@given(reducible_cfgs(), st.randoms(use_true_random=False))
def test_the_gate_of_an_exit_tells_leaving_from_going_on(cfg: CFG, rng: random.Random):
    gating = Gating(cfg)
    walk = Walk(gating)
    for _ in range(60):
        if not cfg.succs[walk.block]:
            break
        edge = (walk.block, rng.choice(cfg.succs[walk.block]))
        walk.go(edge[1])
        for loop in gating.loops.loops:
            for exits in ((e,) for e in loop.exit_edges):
                if edge in loop.exit_edges:
                    expected = LEAVE if edge in exits else NEVER
                    assert walk.outcome(gating.leaving(loop, exits)) == expected
                elif gating.loops.headed_by[edge[1]] is loop and edge[0] in loop.blocks:
                    assert walk.outcome(gating.leaving(loop, exits)) is loop


@given(reducible_cfgs())
def test_every_edge_is_an_outcome_and_no_decision_is_idle(cfg: CFG):
    gating = Gating(cfg)
    for block in gating.index.order[1:]:
        loop = gating.loops.headed_by[block]
        gate = gating.arriving(block)
        live = [p for p in cfg.distinct_preds(block) if gating.index.number[p] >= 0]
        assert sorted(outcomes(gate)) == [(p, block) for p in sorted(live) if not loop or p not in loop]
        for part in (*parts(gate), *parts(gating.table.thin(gate))):
            if isinstance(part, Gamma):
                assert len({arm for _, arm in part.arms}) > 1
                assert any(outcomes(arm) for _, arm in part.arms)


def between(gating: Gating, block: int, one: int, other: int) -> tuple[int, ...]:
    """The decisions that part threads which enter `block` from two given predecessors."""
    loop = gating.loops.headed_by[block]
    inside = [loop is not None and pred in loop for pred in (one, other)]
    if gating.irreducible_around(loop) is not None:
        gate = gating.arriving(block)
    elif inside == [True, True]:
        assert loop is not None
        gate = gating.going_on(loop)
    elif True in inside:
        # The first iteration begins for all threads together, and so do the others.
        return ()
    else:
        gate = gating.arriving(block)
    chosen = {(one, block), (other, block)}
    table = gating.table
    kept = table.replace(gate, lambda edge: table.leaf(edge) if edge in chosen else NEVER)
    return gating.decisions(kept)


def leaving_for_good(gating: Gating, loop: Loop, exits: list[Edge]) -> set[int]:
    """The decisions that part threads which leave over `exits`, in this loop or in those around it."""
    decisions: set[int] = set()
    for left in loop.ancestors():
        if exits[0][1] in left:
            break
        decisions.update(gating.decisions(gating.leaving(left, exits)))
    return decisions


def judge(graph: Graph, census: Counter[str]) -> None:
    succs, loops = graph
    gating = Gating(CFG(succs))
    parting = {
        (block, frozenset((p, q))): between(gating, block, p, q)
        for block in range(len(succs))
        for p, q in itertools.combinations(gating.cfg.distinct_preds(block), 2)
    }
    exits = {
        (loop, block, frozenset(preds)): leaving_for_good(gating, loop, [(p, block) for p in preds])
        for loop in gating.loops.loops
        for block in loop.exits
        for count in (1, 2)
        for preds in itertools.combinations([p for p, to in loop.exit_edges if to == block], count)
    }
    census["graphs"] += 1
    for branch in range(len(succs)):
        if len(succs[branch]) < 2:
            continue
        seen = Observations()
        for rank in (ranking(succs, loops), ranking(succs, loops, gating.index.number.__getitem__)):
            more = observe(succs, {branch}, rank, range(len(succs)))
            seen.joins |= more.joins
            seen.stale |= more.stale
        where = f"{gating.cfg!r}, divergent in {branch}"
        claims = {join for join, decisions in parting.items() if branch in decisions}
        assert seen.joins <= claims, where
        census["joins"] += len(claims)
        census["spurious joins"] += len(claims - seen.joins)
        temporal = {
            (loop.header, block, preds)
            for (loop, block, preds), decisions in exits.items()
            if branch in decisions
        }
        of_headers = {stale for stale in seen.stale if stale[0] in loops}
        facts = Observations(stale=of_headers).temporal(loops)
        assert facts <= temporal, where
        census["temporal"] += len(temporal)
        census["spurious temporal"] += len(temporal - facts)
        check_uses(gating, branch, seen, where)


def check_uses(gating: Gating, branch: int, seen: Observations, where: str) -> None:
    """A value that may be stale where it is seen is behind an exit that this branch decides."""
    dominators = brute_dominators(gating.cfg)
    for definition, block, _ in seen.stale:
        if definition not in dominators[block] or definition == block:
            continue
        loop = gating.loops.innermost[definition]
        around = gating.loops.common(loop, gating.loops.innermost[block])
        if around is not None and any(outer.is_irreducible for outer in around.ancestors()):
            # There the φs are varying, and with them all that changes from round to round.
            continue
        deciding: set[int] = set()
        while loop is not None and block not in loop.blocks:
            deciding.update(gating.decisions(gating.leaving(loop, gating.exits_to(loop, block))))
            loop = loop.parent
        assert branch in deciding, (where, definition, block)


def assert_exact(census: Counter[str]) -> None:
    print(dict(census))
    assert census["joins"] and census["temporal"]
    assert census["spurious joins"] == census["spurious temporal"] == 0


def test_exact_on_small_reducible_graphs():
    census: Counter[str] = Counter()
    for graph in small_reducible(1 if WHOLE else 320):
        judge(graph, census)
    assert_exact(census)


def test_exact_on_random_reducible_graphs_of_up_to_ten_blocks():
    census: Counter[str] = Counter()
    for graph in many_reducible(11, 50_000 if WHOLE else 400):
        judge(graph, census)
    assert_exact(census)


@given(arbitrary_cfgs(max_blocks=6, max_succs=2))
def test_sound_on_any_graph(cfg: CFG):
    """Irreducible loops included, where the loop itself is the decision."""
    gating = Gating(cfg)
    live = set(gating.index.order)
    for branch in live:
        if len(cfg.distinct_succs(branch)) < 2:
            continue
        seen = observe(cfg.succs, {branch}, gating.index.slot, live)
        where = f"{cfg!r}, divergent in {branch}"
        for block, preds in seen.joins:
            if len(preds) > 1 and -1 not in preds:
                assert branch in between(gating, block, *preds), where
        check_uses(gating, branch, seen, where)


def ladder(rungs: int) -> CFG:
    """A chain of branches of which each may leave to one common block, as the checks of an error path do."""
    return CFG([[i + 1, rungs + 1] for i in range(rungs)] + [[rungs + 1], []])


def nested(depth: int) -> CFG:
    """Ifs within ifs: block i opens the i-th, block 2n - i closes it."""
    succs = [[i + 1, 2 * depth - i] for i in range(depth)] + [[depth + 1]]
    return CFG(succs + [[i + 1] for i in range(depth + 1, 2 * depth)] + [[]])


def chain(length: int) -> CFG:
    """Ifs behind ifs."""
    succs: list[list[int]] = []
    for i in range(length):
        succs += [[3 * i + 1, 3 * i + 2], [3 * i + 3], [3 * i + 3]]
    return CFG([*succs, []])


def test_the_search_is_linear_in_the_graph_where_gates_are():
    for make in (ladder, nested, chain):
        cost = []
        for size in (500, 2_000):
            gating = Gating(make(size))
            for block in gating.index.order[1:]:
                gating.arriving(block)
            cost.append(gating.steps / size)
        assert cost[1] < 1.1 * cost[0] < 20, make.__name__
