import networkx as nx
from hypothesis import given

from random_cfgs import arbitrary_cfgs, brute_dominators, brute_reachable, reducible_cfgs
from weft.graph.cfg import CFG
from weft.graph.loops import is_reducible, loop_forest


def brute_is_reducible(cfg: CFG) -> bool:
    """Hecht and Ullman: without the edges to dominators nothing cyclic is left."""
    dominators = brute_dominators(cfg)
    live = brute_reachable(cfg, 0)
    graph = nx.DiGraph()
    graph.add_edges_from((b, t) for b in live for t in cfg.succs[b] if t not in dominators[b])
    return nx.is_directed_acyclic_graph(graph)


@given(arbitrary_cfgs())
def test_reducibility_is_that_of_hecht_and_ullman(cfg: CFG):
    assert is_reducible(cfg) == brute_is_reducible(cfg)


@given(reducible_cfgs())
def test_loops_of_reducible_graphs_are_merged_natural_loops(cfg: CFG):
    assert is_reducible(cfg)
    dominators = brute_dominators(cfg)
    expected: dict[int, set[int]] = {}
    for source in range(len(cfg)):
        for header in set(cfg.succs[source]) & dominators[source]:
            natural = {
                b
                for b in range(len(cfg))
                if header in dominators[b] and source in brute_reachable(cfg, b, without=header)
            }
            expected.setdefault(header, {header}).update(natural | {source})
    forest = loop_forest(cfg)
    assert {loop.header: set(loop.blocks) for loop in forest.loops} == expected


@given(arbitrary_cfgs())
def test_each_loop_is_described_by_its_blocks(cfg: CFG):
    forest = loop_forest(cfg)
    live = brute_reachable(cfg, 0)
    for loop in forest.loops:
        inside = loop.blocks
        edges = [(b, t) for b in sorted(live) for t in cfg.distinct_succs(b)]
        assert set(loop.entries) == {t for b, t in edges if b not in inside and t in inside} | ({0} & inside)
        assert loop.header == loop.entries[0]
        assert loop.is_irreducible == (len(loop.entries) > 1)
        assert set(loop.exit_edges) == {(b, t) for b, t in edges if b in inside and t not in inside}
        assert len(set(loop.exit_edges)) == len(loop.exit_edges)
        assert set(loop.exits) == {t for _, t in loop.exit_edges}
        assert set(loop.exiting) == {b for b, _ in loop.exit_edges}
        assert set(loop.latches) == {b for b, t in edges if b in inside and t in loop.entries}
        assert loop.depth == len(list(loop.ancestors()))
        if loop.parent:
            assert loop in loop.parent.children
            assert inside < loop.parent.blocks
            assert not set(loop.entries) & set(loop.parent.entries)
    for block in range(len(cfg)):
        around = [loop for loop in forest.loops if block in loop]
        innermost = forest.innermost[block]
        assert forest.depth(block) == len(around)
        assert list(innermost.ancestors() if innermost else ()) == around[::-1]


@given(arbitrary_cfgs())
def test_every_cycle_takes_a_back_edge(cfg: CFG):
    forest = loop_forest(cfg)
    graph = nx.DiGraph()
    for block in brute_reachable(cfg, 0):
        graph.add_edges_from((block, t) for t in cfg.succs[block] if not forest.is_back_edge(block, t))
    assert nx.is_directed_acyclic_graph(graph)


def test_an_irreducible_loop_lists_all_its_entries():
    cfg = CFG.parse("A -> B C; B -> C; C -> B D")
    (loop,) = loop_forest(cfg).loops
    assert loop.is_irreducible
    assert {cfg.labels[b] for b in loop.entries} == {"B", "C"}
    assert not is_reducible(cfg)


def test_a_loop_inside_an_irreducible_loop_is_found():
    cfg = CFG.parse("A -> B C; B -> I; I -> I C; C -> B D")
    outer, inner = loop_forest(cfg).loops
    assert outer.is_irreducible
    assert not inner.is_irreducible
    assert inner.parent is outer
    assert inner.blocks == {cfg.block("I")}


def test_common_loop_of_siblings_is_their_parent():
    cfg = CFG.parse("A -> H; H -> I; I -> I J; J -> J K; K -> H X")
    forest = loop_forest(cfg)
    i, j, h, x = (forest.innermost[cfg.block(name)] for name in "IJHX")
    assert forest.common(i, j) is h
    assert forest.common(i, h) is h
    assert forest.common(i, x) is None
