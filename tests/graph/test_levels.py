from hypothesis import given

from random_cfgs import arbitrary_cfgs, brute_dominators, reducible_cfgs
from weft.graph.block_index import block_index
from weft.graph.cfg import CFG
from weft.graph.levels import Level, levels, node_at
from weft.graph.loops import Loop, LoopForest, loop_forest


def all_levels(cfg: CFG) -> tuple[LoopForest, dict[Loop | None, Level]]:
    forest = loop_forest(cfg)
    return forest, levels(cfg, forest, block_index(cfg, loops=forest))


def test_an_inner_loop_is_one_node():
    cfg = CFG.parse("a -> b; b -> c; c -> b d; d -> a e; e ->")
    forest, found = all_levels(cfg)
    outer, inner = forest.loops
    assert found[None].nodes == (outer, cfg.block("e"))
    assert found[outer].nodes == (cfg.block("a"), inner, cfg.block("d"))
    assert found[inner].nodes == (cfg.block("b"), cfg.block("c"))


def test_edges_that_leave_or_go_back_lead_to_the_end():
    cfg = CFG.parse("a -> b; b -> c e; c -> b d; d -> e; e ->")
    forest, found = all_levels(cfg)
    (loop,) = forest.loops
    level = found[loop]
    b, c, d, e = (cfg.block(x) for x in "bcde")
    assert level.edges[level.position[b]] == (((b, c), level.position[c]), ((b, e), level.end))
    assert level.edges[level.position[c]] == (((c, b), level.end), ((c, d), level.end))
    # The loop's two exits are edges of its node, one level further out.
    around = found[None]
    exits = around.edges[around.position[loop]]
    assert exits == (((b, e), around.position[e]), ((c, d), around.position[d]))


def test_the_top_of_a_node_is_where_all_paths_to_it_begin():
    cfg = CFG.parse("a -> b c; b -> d; c -> d; d -> e f; e -> g; f -> g; g -> h i; h ->; i ->")
    _, found = all_levels(cfg)
    level = found[None]

    def top(label: str) -> str:
        node = level.nodes[level.top(level.position[cfg.block(label)])]
        assert isinstance(node, int)
        return cfg.labels[node]

    assert [top(label) for label in "abcdefghi"] == ["a", "b", "c", "a", "e", "f", "a", "h", "i"]


@given(arbitrary_cfgs())
def test_every_edge_is_in_the_level_of_its_source_and_of_each_loop_it_leaves(cfg: CFG):
    forest, found = all_levels(cfg)
    index = block_index(cfg)
    for source in index.order:
        for target in cfg.distinct_succs(source):
            edge = (source, target)
            regions = [r for r, level in found.items() if any(edge == e for es in level.edges for e, _ in es)]
            innermost = forest.innermost[source]
            left = [loop for loop in forest.loops if source in loop and target not in loop]
            expected = {innermost, *left, *(loop.parent for loop in left)}
            assert set(regions) == expected


@given(arbitrary_cfgs())
def test_levels_are_acyclic_and_hold_each_block_once(cfg: CFG):
    forest, found = all_levels(cfg)
    blocks = [node for level in found.values() for node in level.nodes if isinstance(node, int)]
    loops = [node for level in found.values() for node in level.nodes if not isinstance(node, int)]
    assert sorted(blocks) == sorted(block_index(cfg).order)
    assert set(loops) == set(forest.loops) and len(loops) == len(forest.loops)
    for level in found.values():
        for position, edges in enumerate(level.edges):
            assert all(position < target <= level.end for _, target in edges)


@given(reducible_cfgs())
def test_dominance_in_a_level_is_that_of_the_graph(cfg: CFG):
    forest, found = all_levels(cfg)
    dominators = brute_dominators(cfg)

    def entry(node: int | Loop) -> int:
        return node if isinstance(node, int) else node.header

    for region, level in found.items():
        for a, node in enumerate(level.nodes):
            for b, other in enumerate(level.nodes):
                assert level.dominates(a, b) == (entry(node) in dominators[entry(other)])
            assert node_at(forest, region, entry(node)) == node
