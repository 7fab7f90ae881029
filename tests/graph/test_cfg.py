import networkx as nx
import pytest
from hypothesis import given

from random_cfgs import arbitrary_cfgs, brute_reachable
from weft.graph.cfg import CFG, postorder, reachable, reverse_postorder, strongly_connected_components


def test_parse_numbers_blocks_by_first_mention():
    cfg = CFG.parse("A -> C B; B -> C\n C -> A D D")
    assert cfg.labels == ("A", "C", "B", "D")
    assert cfg.succs == ((1, 2), (0, 3, 3), (1,), ())
    assert repr(cfg) == "CFG(A -> C B; C -> A D D; B -> C)"


def test_repeated_edges_count_in_preds_and_are_once_in_distinct():
    cfg = CFG.parse("A -> B B C; C -> B")
    b = cfg.block("B")
    assert cfg.preds[b] == (0, 0, cfg.block("C"))
    assert cfg.distinct_preds(b) == (0, cfg.block("C"))
    assert cfg.distinct_succs(0) == (b, cfg.block("C"))


def test_reverse_postorder_lists_the_first_successor_first():
    cfg = CFG.parse("A -> B C; B -> D; C -> D; D -> E F; E -> G; F -> G")
    assert [cfg.labels[b] for b in reverse_postorder(cfg.succs)] == list("ABCDEFG")


@pytest.mark.parametrize("length", [5_000])
def test_long_chains_need_no_recursion(length: int):
    succs = [[i + 1] for i in range(length)] + [[0]]
    assert reverse_postorder(succs) == list(range(length + 1))
    assert len(strongly_connected_components(succs, range(length + 1))) == 1


@given(arbitrary_cfgs())
def test_postorder_visits_what_is_reachable_and_ends_cycles_only_by_retreating_edges(cfg: CFG):
    order = postorder(cfg.succs)
    assert sorted(order) == sorted(brute_reachable(cfg, 0))
    assert [b for b, flag in enumerate(reachable(cfg.succs)) if flag] == sorted(order)
    position = {b: i for i, b in enumerate(order)}
    # An edge to a block that is finished later closes a cycle: the block is an ancestor in the search.
    for block in order:
        for target in cfg.succs[block]:
            assert position[target] < position[block] or block in brute_reachable(cfg, target)


@given(arbitrary_cfgs())
def test_components_are_those_of_networkx_in_reverse_topological_order(cfg: CFG):
    region = [b for b in range(len(cfg)) if b % 4 != 3]
    found = strongly_connected_components(cfg.succs, region)
    graph = nx.DiGraph()
    graph.add_nodes_from(region)
    inside = set(region)
    graph.add_edges_from((b, t) for b in region for t in cfg.succs[b] if t in inside)
    assert {frozenset(c) for c in found} == {frozenset(c) for c in nx.strongly_connected_components(graph)}
    where = {b: i for i, component in enumerate(found) for b in component}
    assert all(where[t] <= where[b] for b, t in graph.edges)
