from collections.abc import Iterable

from hypothesis import given

from random_cfgs import arbitrary_cfgs, brute_dominators, brute_reachable, reducible_cfgs
from weft.graph.block_index import BlockIndex, block_index
from weft.graph.cfg import CFG
from weft.graph.loops import Loop, loop_forest


def names(cfg: CFG, index: BlockIndex) -> str:
    return "".join(cfg.labels[b] for b in index.order)


def consecutive(numbers: Iterable[int]) -> bool:
    ordered = sorted(numbers)
    return not ordered or ordered[-1] - ordered[0] == len(ordered) - 1


@given(arbitrary_cfgs())
def test_all_edges_but_back_edges_go_up(cfg: CFG):
    index = block_index(cfg)
    forest = loop_forest(cfg)
    assert sorted(index.order) == sorted(brute_reachable(cfg, 0))
    assert all(index.number[b] == i for i, b in enumerate(index.order))
    for block in index.order:
        for target in cfg.succs[block]:
            assert index.number[block] < index.number[target] or forest.is_back_edge(block, target)


@given(reducible_cfgs())
def test_back_edges_of_reducible_graphs_do_not_go_up(cfg: CFG):
    index = block_index(cfg)
    forest = loop_forest(cfg)
    for block in index.order:
        for target in cfg.succs[block]:
            assert (index.number[block] >= index.number[target]) == forest.is_back_edge(block, target)


@given(arbitrary_cfgs())
def test_loops_are_consecutive_and_begin_with_the_header(cfg: CFG):
    index = block_index(cfg)
    for loop in loop_forest(cfg).loops:
        numbers = [index.number[b] for b in loop.blocks]
        assert consecutive(numbers)
        if not loop.is_irreducible:
            assert index.number[loop.header] == min(numbers)


@given(arbitrary_cfgs())
def test_what_a_block_or_loop_dominates_in_its_level_is_consecutive(cfg: CFG):
    index = block_index(cfg)
    forest = loop_forest(cfg)
    dominators = brute_dominators(cfg)
    nodes: list[tuple[int, Loop | None]] = [(b, forest.innermost[b]) for b in index.order]
    nodes += [(loop.header, loop.parent) for loop in forest.loops if not loop.is_irreducible]
    for node, region in nodes:
        dominated = [b for b in index.order if node in dominators[b] and (region is None or b in region)]
        assert consecutive(index.number[b] for b in dominated)


@given(reducible_cfgs())
def test_dominance_regions_outside_of_loops_are_consecutive_as_a_whole(cfg: CFG):
    index = block_index(cfg)
    forest = loop_forest(cfg)
    dominators = brute_dominators(cfg)
    for block in range(len(cfg)):
        loop = forest.innermost[block]
        if loop is None or (loop.depth == 1 and loop.header == block):
            assert consecutive(index.number[b] for b in range(len(cfg)) if block in dominators[b])


@given(arbitrary_cfgs())
def test_threads_on_back_edges_wait_behind_their_loop_and_before_all_that_follows(cfg: CFG):
    index = block_index(cfg)
    forest = loop_forest(cfg)
    for loop in forest.loops:
        slot = index.latch_slot(loop)
        for block in index.order:
            assert (index.entry_slot(block) < slot) == (
                block in loop or index.number[block] < min(index.number[b] for b in loop.blocks)
            )
        for inner in loop.children:
            assert index.latch_slot(inner) < slot
        for latch in loop.latches:
            for target in cfg.succs[latch]:
                if target in loop.entries:
                    assert index.slot(latch, target) == slot


def test_moll_demands_more_of_dominance_regions_than_there_can_be():
    #      h <----.         Both x and y lie behind the loop, the latch l behind both a and b, so of
    #     / \     |         {a, x} and {b, y} one is torn apart in every order.
    #    a   b    |
    #   / \ / \   |
    #  x   l   y  |
    #      `------'
    cfg = CFG.parse("h -> a b; a -> x l; b -> y l; l -> h")
    assert names(cfg, block_index(cfg)) == "hablxy"


def test_a_break_body_runs_after_its_loop():
    # The body X of the `break` is behind L although the branch to it is in B.
    cfg = CFG.parse("A -> H; H -> B Y; B -> X L; L -> H; X -> Y")
    assert names(cfg, block_index(cfg)) == "AHBLXY"


def test_blocks_keep_source_order_where_the_graph_leaves_the_choice():
    cfg = CFG.parse("A -> B E; B -> C D; C -> F; D -> F; E -> F")
    assert names(cfg, block_index(cfg)) == "ABCDEF"


def test_a_loop_with_a_far_exit_stays_in_one_piece():
    # Reverse postorder alone would put X, the exit, between the header and the latch.
    cfg = CFG.parse("A -> H; H -> X L; L -> H; X -> Y")
    assert names(cfg, block_index(cfg)) == "AHLXY"
