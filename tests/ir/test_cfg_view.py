"""Snapshots of control flow: kept while the function is as it was, and made again once it is not."""

import pytest

from weft.graph.dominators import dominator_tree, post_dominator_tree
from weft.graph.loops import loop_forest
from weft.ir import Function
from weft.ir.builder import Builder
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module

#   entry -> loop <-+
#             |  |--+
#            end
PROGRAM = """
define void @f(i1 %c) {
entry:
  br label %loop
loop:
  br i1 %c, label %loop, label %end
end:
  ret void
}
"""


@pytest.fixture
def function() -> Function:
    return read_module(PROGRAM).functions["f"]


def test_what_is_known_of_a_graph_is_found_once(function: Function) -> None:
    view = cfg_of(function)
    known = loop_forest(view.cfg), dominator_tree(view.cfg), post_dominator_tree(view.cfg)
    again = cfg_of(function)
    assert again is view
    for one, other in zip(
        known,
        (loop_forest(again.cfg), dominator_tree(again.cfg), post_dominator_tree(again.cfg)),
        strict=True,
    ):
        assert one is other


def test_instructions_do_not_matter(function: Function) -> None:
    view = cfg_of(function)
    function.blocks[1].terminator.operands[0].replace_all_uses(function.args[0])
    assert cfg_of(function) is view


def test_edges_blocks_their_order_and_their_names_do(function: Function) -> None:
    before = cfg_of(function)
    assert len(loop_forest(before.cfg).loops) == 1
    _, loop, end = function.blocks
    loop.terminator.erase()
    Builder(loop).br(end)
    changed = cfg_of(function)
    assert changed is not before and changed.cfg.succs == ((1,), (2,), ())
    assert not loop_forest(changed.cfg).loops and changed.blocks == before.blocks
    function.blocks[1:] = [end, loop]
    turned = cfg_of(function)
    assert turned.cfg.succs == ((2,), (), (1,)) and turned.index[loop] == 2
    loop.name = "straight"
    assert cfg_of(function).cfg.labels == ("entry", "end", "straight")
    function.add_block("alone")
    assert len(cfg_of(function).cfg) == 4
