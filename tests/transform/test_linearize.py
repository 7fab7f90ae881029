"""Masks and selects that linearization builds; in drawings ``a?`` ends in a divergent branch."""

import textwrap

import numpy as np
import pytest

from transform.chain import EveryBranch, check_chain, returned
from weft.interp import run_function
from weft.ir import BasicBlock, Function, Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.linearization.linearize import LinearizationSummary, linearize
from weft.transform.linearization.unify_conditions import unify_conditions
from weft.transform.ssa_repair import ReachingDefinition


def parsed(text: str) -> tuple[Module, Function]:
    module = read_module(
        textwrap.dedent(text) + "\ndeclare i1 @weft.mask() convergent willreturn memory(none)"
    )
    return module, next(module.definitions())


def linearized(text: str, *uniform: str) -> tuple[Function, LinearizationSummary]:
    module, function = parsed(text)
    summary = linearize(function, EveryBranch(uniform))
    verify(module)
    return function, summary


def masks(function: Function) -> dict[str, str]:
    """For each block the name of its mask; 1 where all threads run it."""
    return {b.name: "1" if b.predicate is None else b.predicate.name or "?" for b in function.blocks}


DIAMOND = """
define i32 @f(i32 %t, i1 %c, i1 %u) {
a:
  br i1 %c, label %b, label %d
b:
  br i1 %u, label %b1, label %b2
b1:
  %x1 = add i32 %t, 1
  br label %b3
b2:
  %x2 = mul i32 %t, 3
  br label %b3
b3:
  %x = phi i32 [ %x1, %b1 ], [ %x2, %b2 ]
  br label %d
d:
  %r = phi i32 [ %t, %a ], [ %x, %b3 ]
  ret i32 %r
}
"""


def test_fig_8_4_phis_become_selects_where_edges_are_gone_and_stay_where_they_are_not(golden):
    r"""
        a?              a
       / \              |
      b   |             b  c
     / \  |            / \
    b1 b2 |    ==>   b1   b2      each: c
     \ /  |            \ /
     b3   |            b3  c      x stays a φ
       \  |             |
         d              d         r = select
    """
    function, summary = linearized(DIAMOND, "b")
    golden(write_function(function), "fig_8_4.ll")
    assert summary == LinearizationSummary(folded=1, kept=1, lost=0)


def test_a_block_that_always_runs_when_its_dominator_does_has_its_mask():
    function, _ = linearized(DIAMOND, "b")
    assert masks(function) == {"a": "1", "b": "c", "b1": "c", "b2": "c", "b3": "c", "d": "1"}
    every, summary = linearized(DIAMOND)
    assert (masks(every)["b3"], masks(every)["d"]) == ("c", "1")
    assert summary == LinearizationSummary(folded=2, kept=0, lost=0)


def test_a_uniform_branch_that_cannot_stay_is_counted_as_lost():
    r"""
      a?
     / \
    b-->c      the edges of b to c and d join what a has deferred
     \ /
      d
    """
    text = """
    define i32 @f(i32 %t, i1 %c, i1 %u) {
    a:
      br i1 %c, label %b, label %c1
    b:
      br i1 %u, label %c1, label %d
    c1:
      %x = phi i32 [ 1, %a ], [ 2, %b ]
      br label %d
    d:
      %r = phi i32 [ %x, %c1 ], [ 3, %b ]
      ret i32 %r
    }
    """
    _, summary = linearized(text, "b")
    assert summary == LinearizationSummary(folded=1, kept=0, lost=1)
    module, _function = parsed(text)
    given = [np.arange(8, dtype=np.int32), np.array([1, 0] * 4, bool), True]
    check_chain(module, "f", returned("f", given, 8), lambda function: EveryBranch("b"))


def test_a_kept_condition_under_a_mask_is_frozen():
    function, _ = linearized(DIAMOND, "b")
    branch = next(b for b in function.blocks if b.name == "b").terminator
    assert branch.operands[0].op == "freeze" and branch.operands[0].total


def test_a_shadow_is_what_threads_outside_the_mask_get():
    text = """
    define i32 @f(i32 %t, i1 %c, i1 %u) {
    a:
      br i1 %c, label %b, label %d
    b:
      %s = phi i32 [ 7, %a ] shadow(9)
      br label %d
    d:
      %r = phi i32 [ %s, %a ], [ %s, %b ]
      ret i32 %r
    }
    """
    module, function = parsed(text)
    expected = [7, 9, 7, 9]
    given = [np.zeros(4, np.int32), np.array([1, 0, 1, 0], bool), True]
    linearize(function, EveryBranch())
    for semantics in ("FR", "OBL"):
        outcome = run_function(module, "f", given, 4, semantics=semantics)
        assert outcome.data.tolist() == expected


def test_the_mask_intrinsic_becomes_the_mask():
    text = """
    define i1 @f(i1 %c) {
    a:
      br i1 %c, label %b, label %d
    b:
      %m = call i1 @weft.mask()
      br label %d
    d:
      %r = phi i1 [ false, %a ], [ %m, %b ]
      ret i1 %r
    }
    """
    function, _ = linearized(text)
    assert not [i for i in function.instructions() if i.callee_name == "weft.mask"]


def test_conditions_that_an_analysis_takes_for_varying_become_any_of_themselves():
    text = """
    define i32 @f(i32 %t, i32 %n) {
    a:
      switch i32 %n, label %d [ i32 1, label %b i32 2, label %c i32 5, label %b ]
    b:
      %x = phi i32 [ 4, %a ], [ 4, %a ]
      br label %d
    c:
      br label %d
    d:
      %r = phi i32 [ %t, %a ], [ %x, %b ], [ 6, %c ]
      %more = icmp sgt i32 %r, %n
      ret i32 %r
    }
    """
    for n in (0, 1, 2, 5):
        module, function = parsed(text)
        run = returned("f", [np.full(4, 3, np.int32), n], 4)
        expected = run(module, "FR")
        assert unify_conditions(module, function, EveryBranch()) == 1
        verify(module)
        assert unify_conditions(module, function, EveryBranch()) == 0
        assert run(module, "FR") == run(module, "OBL") == expected


COUNTING = """
define i32 @f(i32 %t, i1 %c, i1 %u, i1 %w) {
a:
  br i1 %c, label %b, label %e
b:
  %more = add i32 %t, 1
  br i1 %u, label %d, label %e
d:
  %d.more = mul i32 %t, 3
  br label %e
e:
  %r = phi i32 [ %t, %a ], [ %more, %b ], [ %BROUGHT, %d ]
  br label %g
g:
  ret i32 %r
}
"""


@pytest.mark.parametrize(("brought", "selects"), [("more", 1), ("d.more", 2)])
def test_what_two_edges_bring_is_chosen_once_and_by_masks_of_blocks(brought: str, selects: int):
    r"""
        a?
       /  \
      b?   |      u is uniform; only threads of b set what they bring, and where they go on to d, set it again
     /  \  |
    d    \ |
     \    \|
      ----- e
    """
    text = COUNTING.replace("BROUGHT", brought)
    function, _ = linearized(text, "b")
    chosen = [i for i in function.instructions() if i.op == "select" and i.type == function.args[0].type]
    assert len(chosen) == selects and {i.operands[0].name for i in chosen} == {"c"}
    for uniform in (True, False):
        module, _function = parsed(text)
        given = [np.arange(8, dtype=np.int32), np.array([1, 0] * 4, bool), uniform, True]
        check_chain(module, "f", returned("f", given, 8), lambda function: EveryBranch("b"))


def test_a_blend_that_keeps_the_rest_is_not_blended_again():
    r"""
          a?
         /  \
        b    |       threads that wait keep t, and so do those of b that do not go to d
       / \   |
      d   |  |
       \ /   |
        e    |
         \  /
          g
    """
    text = """
    define i32 @f(i32 %t, i1 %c, i1 %v) {
    a:
      br i1 %c, label %b, label %g
    b:
      %some = call i1 @weft.any(i1 %v)
      br i1 %some, label %some.b, label %e
    some.b:
      br i1 %v, label %d, label %e1
    d:
      %more = add i32 %t, 1
      br label %e1
    e1:
      %x1 = phi i32 [ %t, %some.b ], [ %more, %d ]
      br label %e
    e:
      %x = phi i32 [ %t, %b ], [ %x1, %e1 ]
      br label %g
    g:
      %r = phi i32 [ %t, %a ], [ %x, %e ]
      ret i32 %r
    }
    declare i1 @weft.any(i1)
    """
    function, _ = linearized(text, "b")
    number = function.args[0].type
    assert len([i for i in function.instructions() if i.op == "select" and i.type == number]) == 1
    module, _function = parsed(text)
    given = [np.arange(8, dtype=np.int32), np.array([1, 0] * 4, bool), np.array([1, 1, 0, 0] * 2, bool)]
    check_chain(module, "f", returned("f", given, 8), lambda function: EveryBranch("b"))


def _row_of_ifs(count: int) -> str:
    """Divergent ifs one behind the other, each with a uniform one in an arm, so that its sources are no chain."""
    text = "define i32 @f(i32 %t, i1 %c, i1 %u) {\nstart:\n  br label %a0\n"
    last = "%t"
    for k in range(count):
        text += f"""a{k}:
  br i1 %c, label %b{k}, label %e{k}
b{k}:
  br i1 %u, label %p{k}, label %q{k}
p{k}:
  %x{k} = add i32 {last}, 1
  br label %m{k}
q{k}:
  %y{k} = mul i32 {last}, 3
  br label %m{k}
e{k}:
  %z{k} = xor i32 {last}, {k}
  br label %m{k}
m{k}:
  %r{k} = phi i32 [ %x{k}, %p{k} ], [ %y{k}, %q{k} ], [ %z{k}, %e{k} ]
  br label %a{k + 1}
"""
        last = f"%r{k}"
    return text + f"a{count}:\n  ret i32 {last}\n}}\n"


def test_what_is_looked_at_grows_with_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each φ was searched through all of the function above it."""
    looked = 0
    before = ReachingDefinition._before

    def counted(self: ReachingDefinition, block: BasicBlock) -> list[BasicBlock]:
        nonlocal looked
        looked += 1
        return before(self, block)

    monkeypatch.setattr(ReachingDefinition, "_before", counted)
    counts: list[int] = []
    for count in (10, 20, 40):
        looked = 0
        linearized(_row_of_ifs(count), *(f"b{k}" for k in range(count)))
        counts.append(looked)
    assert counts[1] <= 2.2 * counts[0] and counts[2] <= 2.2 * counts[1]


def test_a_row_of_ifs_means_the_same() -> None:
    module, _function = parsed(_row_of_ifs(5))
    given = [np.arange(8, dtype=np.int32), np.array([1, 0, 0, 1] * 2, bool), np.ones(8, bool)]
    uniform = [f"b{k}" for k in range(5)]
    check_chain(module, "f", returned("f", given, 8), lambda function: EveryBranch(uniform))
