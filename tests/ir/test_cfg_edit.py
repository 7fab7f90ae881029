"""Edits of the control flow keep programs well-formed; drawings show the graph before and after."""

from __future__ import annotations

import pytest

from weft.ir import Function
from weft.ir.cfg_edit import (
    remove_dead_instructions,
    remove_unreachable_blocks,
    replace_and_erase,
    split_block,
    split_edge,
)
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import problems_of
from weft.ir.writer import write_function

LOOP = """\
define i32 @f(i32 %n, ptr %p) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %c = icmp slt i32 %i, %n
  br i1 %c, label %body, label %exit
body:
  %v = load i32, ptr %p
  %next = add i32 %i, %v
  br label %head
exit:
  ret i32 %i
}
"""
SWITCH = """\
define i32 @f(i32 %n) {
entry:
  switch i32 %n, label %a [
    i32 1, label %join
    i32 2, label %join
  ]
a:
  br label %join
join:
  %r = phi i32 [ 5, %entry ], [ 5, %entry ], [ %n, %a ]
  ret i32 %r
}
"""


def function_of(text: str) -> Function:
    return next(read_module(text).definitions())


def graph(function: Function) -> str:
    assert problems_of(function) == []
    return repr(cfg_of(function).cfg)


def test_view_numbers_blocks_in_order_and_keeps_parallel_edges() -> None:
    function = function_of(SWITCH)
    view = cfg_of(function)
    assert view.blocks == tuple(function.blocks)
    assert view.cfg.succs == ((1, 2, 2), (2,), ())
    assert view.cfg.labels == ("entry", "a", "join")
    assert view.numbers(reversed(view.blocks)) == [2, 1, 0]


def test_split_block_moves_the_rest_and_its_edges() -> None:
    # entry ─▶ head ⇄ body        entry ─▶ head ⇄ rest ◀─ body
    #            └─▶ exit    to             └─▶ exit
    function = function_of(LOOP)
    body = function.blocks[2]
    rest = split_block(body.instructions[1], "rest")
    assert graph(function) == "CFG(entry -> head; head -> body exit; body -> rest; rest -> head)"
    assert [i.name for i in rest.instructions] == ["next", ""]
    assert function.blocks.index(rest) == 3


def test_split_block_shares_a_predicate_defined_above() -> None:
    function = function_of(LOOP.replace("body:", "body: predicate(%c)"))
    body = function.blocks[2]
    rest = split_block(body.instructions[1])
    assert body.predicate is rest.predicate
    assert graph(function)


def test_split_block_takes_a_predicate_along_that_is_defined_below() -> None:
    text = LOOP.replace(
        "body:\n", "body: predicate(%m)\n  %k = total add i32 %n, 1\n  %m = total icmp eq i32 %k, 4\n"
    )
    function = function_of(text)
    body = function.blocks[2]
    rest = split_block(body.instructions[1])
    assert body.predicate is None
    assert rest.predicate is rest.instructions[0]
    assert graph(function)


def test_split_block_does_not_cut_phis() -> None:
    with pytest.raises(AssertionError, match="among its φs"):
        split_block(function_of(LOOP).blocks[1].instructions[0])


def test_split_edge_puts_a_block_on_it() -> None:
    # head ⇄ body   to   head ─▶ body ─▶ latch ─▶ head
    function = function_of(LOOP)
    _, head, body, _ = function.blocks
    middle = split_edge(body, head, "latch")
    assert graph(function) == "CFG(entry -> head; head -> body exit; body -> latch; latch -> head)"
    assert head.instructions[0].incoming_value(middle) is body.instructions[1]


def test_split_edge_takes_all_parallel_edges() -> None:
    # entry ═▶ join ◀─ a ◀─ entry   to   entry ═▶ mid ─▶ join
    function = function_of(SWITCH)
    entry, _, join = function.blocks
    split_edge(entry, join, "mid")
    assert graph(function) == "CFG(entry -> a mid mid; mid -> join; a -> join)"
    assert "phi i32 [ 5, %mid ], [ %n, %a ]" in write_function(function)


def test_unreachable_cycle_is_removed_with_its_phi_entries() -> None:
    function = function_of(LOOP)
    entry, head, _, exit_block = function.blocks
    entry.terminator.set_block(0, exit_block)
    head.remove_phi_source(entry)
    exit_block.terminator.set_operand(0, function.args[0])
    assert remove_unreachable_blocks(function) == 2
    assert graph(function) == "CFG(entry -> exit)"
    assert function.args[1].users == {}


def test_removed_block_leaves_no_value_in_debug_records() -> None:
    text = """
define void @f(i1 %c) {
  br label %end
dead:
  %x = add i32 1, 2
  br label %end
end:
    #dbg_value(i32 %x, !0, !DIExpression(), !1)
  ret void
}
!0 = !DILocalVariable(name: "v", scope: !2)
!1 = !DILocation(line: 1, scope: !2)
!2 = distinct !DISubprogram(name: "f")
"""
    function = function_of(text)
    remove_unreachable_blocks(function)
    assert problems_of(function) == []


DEAD = """\
declare i32 @pure(i32) nounwind willreturn memory(none)
declare i32 @unknown(i32)
define void @f(i32 %n, ptr %p, i1 %c) {
entry:
  %keep = total xor i1 %c, true
  br label %head
head: predicate(%keep)
  %i = phi i32 [ 0, %entry ], [ %next, %head ]
  %next = add i32 %i, 1
  %a = call i32 @pure(i32 %n)
  %b = call i32 @unknown(i32 %n)
  %l = load i32, ptr %p
  %v = load volatile i32, ptr %p
  %s = alloca i32
  store i32 0, ptr %p
  br i1 %c, label %head, label %end
end:
  ret void
}
"""


def test_dead_code_goes_and_effects_and_predicates_stay() -> None:
    function = function_of(DEAD)
    assert remove_dead_instructions(function) == 5
    assert problems_of(function) == []
    assert [i.name for i in function.instructions() if i.name] == ["keep", "b", "v"]


def test_replace_and_erase() -> None:
    function = function_of(LOOP)
    load = function.blocks[2].instructions[0]
    replace_and_erase(load, function.args[0])
    assert problems_of(function) == []
    assert "add i32 %i, %n" in write_function(function)
