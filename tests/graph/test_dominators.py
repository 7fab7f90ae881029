import networkx as nx
from hypothesis import given

from random_cfgs import arbitrary_cfgs, brute_dominators, brute_reachable
from weft.graph.cfg import CFG, reverse_postorder
from weft.graph.dominators import dominance_frontier, dominator_tree, post_dominator_tree


@given(arbitrary_cfgs())
def test_dominance_is_that_of_path_cutting(cfg: CFG):
    expected = brute_dominators(cfg)
    tree = dominator_tree(cfg)
    for a in range(len(cfg)):
        assert tree.reaches(a) == bool(expected[a])
        for b in range(len(cfg)):
            assert tree.dominates(a, b) == (a in expected[b])
            assert tree.strictly_dominates(a, b) == (a in expected[b] and a != b)


@given(arbitrary_cfgs())
def test_regions_follow_from_dominance(cfg: CFG):
    expected = brute_dominators(cfg)
    tree = dominator_tree(cfg)
    live = [b for b in range(len(cfg)) if expected[b]]
    for a in live:
        region = tree.region(a)
        assert region[0] == a
        assert sorted(region) == [b for b in live if a in expected[b]]


@given(arbitrary_cfgs())
def test_dominance_frontier_is_that_of_its_definition(cfg: CFG):
    tree = dominator_tree(cfg)
    frontier = dominance_frontier(tree, cfg.preds)
    for a in range(len(cfg)):
        expected = {
            b
            for p in range(len(cfg))
            if tree.dominates(a, p)
            for b in cfg.succs[p]
            if not tree.strictly_dominates(a, b)
        }
        assert len(frontier[a]) == len(set(frontier[a]))
        assert set(frontier[a]) == expected


@given(arbitrary_cfgs())
def test_post_dominance_is_dominance_of_the_reversed_graph_with_the_documented_exit(cfg: CFG):
    live = brute_reachable(cfg, 0)
    exit_node = len(cfg)
    graph = nx.DiGraph()
    graph.add_edges_from((t, b) for b in live for t in cfg.succs[b])
    graph.add_nodes_from(live)
    graph.add_edges_from((exit_node, b) for b in live if not cfg.succs[b])
    order = reverse_postorder(cfg.succs)
    for component in list(nx.strongly_connected_components(graph.subgraph(live))):
        if all(cfg.succs[b] and set(cfg.succs[b]) <= component for b in component):
            first = min(component, key=order.index)
            graph.add_edges_from((exit_node, b) for b in component if first in cfg.succs[b])
    expected = nx.immediate_dominators(graph, exit_node)
    tree = post_dominator_tree(cfg)
    assert tree.root == exit_node
    for block in range(len(cfg)):
        assert tree.idom[block] == (expected[block] if block in live else -1)


def test_in_an_endless_loop_arms_do_not_post_dominate_the_header():
    cfg = CFG.parse("A -> H; H -> B C; B -> H; C -> H")
    tree = post_dominator_tree(cfg)
    h, b, c = map(cfg.block, "HBC")
    assert tree.dominates(h, 0)
    assert not tree.dominates(b, h)
    assert not tree.dominates(c, h)


def test_a_ladder_of_early_exits_is_fast_enough_to_number():
    rungs = 3_000
    cfg = CFG([[i + 1, rungs] for i in range(rungs)] + [[]])
    assert dominator_tree(cfg).idom[rungs] == 0
    assert post_dominator_tree(cfg).idom[0] == rungs
