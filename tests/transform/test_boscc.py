"""BOSCC gadgets and all-true twins: the examples of Moll's §9.2, and what a gadget must do to a run.

In drawings ``A?`` ends in a divergent branch, ``G`` tests whether any thread comes, ``T`` whether all lanes do.
"""

import textwrap

import numpy as np
import pytest

from transform.chain import EveryBranch, analysed, check_chain, returned
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import Shape, domain_named
from weft.costs.regions import RegionCosts
from weft.interp import run_function
from weft.ir import Function, Module, Value
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.machine.targets import AVX2, AVX512, SSE4
from weft.transform.boscc.gadget import skip_where_empty
from weft.transform.boscc.insertion import BosccResult, insert_boscc
from weft.transform.linearization.linearize import linearize

WIDTH = 8
LANES = np.arange(WIDTH, dtype=np.int32)


def parsed(text: str) -> tuple[Module, Function]:
    module = read_module(textwrap.dedent(text))
    verify(module)
    return module, next(module.definitions())


def linearized_with(text: str, *edges: str) -> str:
    """The function with gadgets on the edges ``A-B-X`` (B is skipped to X), before and behind linearization."""
    module, function = parsed(text)
    named = {b.name: b for b in function.blocks}
    tests = [
        skip_where_empty(module, *(named[n] for n in edge.split("-")))[0].name for edge in reversed(edges)
    ]
    verify(module)
    before = write_function(function)
    linearize(function, EveryBranch(tests))
    verify(module)
    return f"{before}\n; linearized\n{write_function(function)}"


FIG_9_5 = """
define i32 @one_side(i32 %t, i1 %c) {
a:
  br i1 %c, label %b, label %c1
b:
  %x = mul i32 %t, %t
  br label %c1
c1:
  %r = phi i32 [ %t, %a ], [ %x, %b ]
  ret i32 %r
}
"""

CASCADE = """
define i32 @cascade(i32 %t, i32 %far) {
A:
  %c1 = icmp sgt i32 %t, %far
  br i1 %c1, label %A1, label %B
A1:
  %x1 = mul i32 %t, 3
  br label %X
B:
  %t2 = add i32 %t, 4
  %c2 = icmp sgt i32 %t2, %far
  br i1 %c2, label %B1, label %C
B1:
  %x2 = mul i32 %t2, 5
  br label %X
C:
  %t3 = add i32 %t2, 4
  %c3 = icmp sgt i32 %t3, %far
  br i1 %c3, label %C1, label %D
C1:
  %x3 = mul i32 %t3, 7
  br label %X
D:
  %x4 = mul i32 %t, %t3
  br label %X
X:
  %r = phi i32 [ %x1, %A1 ], [ %x2, %B1 ], [ %x3, %C1 ], [ %x4, %D ]
  ret i32 %r
}
"""

SIDES = """
define i32 @sides(i32 %t, i32 %few, ptr %p) {
A:
  %c = icmp slt i32 %t, %few
  br i1 %c, label %B, label %C
B:
  %at = getelementptr i32, ptr %p, i32 %t
  %x = load i32, ptr %at
  %odd.bit = and i32 %x, 1
  %odd = icmp eq i32 %odd.bit, 1
  br i1 %odd, label %B1, label %B2
B1:
  %x1 = mul i32 %x, 3
  br label %B2
B2:
  %x2 = phi i32 [ %x, %B ], [ %x1, %B1 ]
  br label %X
C:
  %y = sub i32 %t, 7
  br label %X
X:
  %r = phi i32 [ %x2, %B2 ], [ %y, %C ]
  ret i32 %r
}
"""

LOOP = """
define i32 @inside_a_loop(i32 %t, i32 %n) {
P:
  br label %H
H:
  %i = phi i32 [ 0, %P ], [ %i.next, %L ]
  %s = phi i32 [ %t, %P ], [ %s.next, %L ]
  %bit = and i32 %s, 3
  switch i32 %bit, label %L [ i32 1, label %one  i32 2, label %two  i32 3, label %one ]
one:
  %s1 = mul i32 %s, 3
  br label %L
two:
  %deep = icmp sgt i32 %s, 9
  br i1 %deep, label %JP, label %L
JP:
  br label %J
J:
  %j = phi i32 [ 0, %JP ], [ %j.next, %J ]
  %j.next = add i32 %j, 1
  %again = icmp slt i32 %j.next, %i
  br i1 %again, label %J, label %K
K:
  %turns = phi i32 [ %j.next, %J ]
  %s2 = add i32 %s, %turns
  br label %L
L:
  %s.next0 = phi i32 [ %s, %H ], [ %s1, %one ], [ %s, %two ], [ %s2, %K ]
  %s.next = add i32 %s.next0, 1
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %n
  br i1 %more, label %H, label %X
X:
  %out = phi i32 [ %s.next, %L ]
  ret i32 %out
}
"""


def test_fig_9_5_a_block_is_skipped_when_no_thread_comes(golden):
    r"""
      a?              a?                  a
     / \             / \                  |
    b   |           G   |                 G
     \  |    ==>   / \  |      ==>       / \
      c            b  S  |              b   S
                    \ | /                \ /
                      c                   c
    """
    golden(linearized_with(FIG_9_5, "a-b-c1"), "fig_9_5.ll")


def test_fig_9_6_a_cascade_ends_with_the_first_test_that_no_thread_passes(golden):
    r"""
      A?                        A
     /  \                       |
    A1   B?                     A1
    |   /  \                    |
    |  B1   C?                  G---------------+
    |  |   /  \      ==>        |               |
    |  |  C1   D                B               |
    |  |  |    |                |               |
    |  |  |    |                B1              |
     \ |  |   /                 |               |
        X                       G--------+      |
                                |        |      |
                                C        |      |
                                C1       |      |
                                G---+    |      |
                                D   S    S      S
                                 \ /     |      |
                                   X <---+------+
    """
    golden(linearized_with(CASCADE, "A-B-X", "B-C-X", "C-D-X"), "fig_9_6.ll")


def test_both_sides_of_a_branch_and_their_twins(golden):
    r"""
      A?            A
     / \            G----+            G, T before B; B' in B's place without masks
    B?  C           T--+ S
    |\  |    ==>    B  B'|            G, T before C
    |B1 |           B1 B1'
    |/  |           B2 B2'
    B2  |            \ | /
     \  |              G----+
       X               T--+ S
                       C  C'|
                        \ | /
                          X
    """
    module, function = parsed(SIDES)
    result = insert_boscc(module, function, EveryBranch(), (), None)
    verify(module)
    before = write_function(function)
    linearize(function, result)
    verify(module)
    golden(f"{before}\n; linearized\n{write_function(function)}", "boscc_sides.ll")


def blocks_run(text: str, arguments: list[object]) -> set[str]:
    """The blocks that a lane group runs after linearization with gadgets everywhere."""
    module, function = parsed(text)
    linearize(function, insert_boscc(module, function, EveryBranch(), (), None))
    seen: set[str] = set()

    class Blocks:
        def on_block(self, machine, block, active):
            seen.add(block.name)

    for semantics in ("FR", "OBL"):
        run_function(module, function.name, arguments, WIDTH, semantics=semantics, hooks=[Blocks()])
    return {n for n in seen if "." not in n or n.endswith(".full")}


def test_only_blocks_that_threads_come_to_are_run():
    far = {8: "none", 100: "D only"}
    assert blocks_run(CASCADE, [LANES, -1]) >= {"A", "A1.full", "X"}
    assert not blocks_run(CASCADE, [LANES, -1]) & {"B", "C", "D", "B1", "C1", "B.full"}
    assert blocks_run(CASCADE, [LANES, 100]) >= {"D.full", "X"}
    assert not blocks_run(CASCADE, [LANES, 100]) & {"A1", "B1", "C1", "D", "A1.full"}, far


def test_a_twin_runs_for_all_lanes_of_a_group_and_not_for_all_active_ones():
    """A twin has no masks, so it must not run when lanes have not come at all."""
    text = """
    define i32 @nested(i1 %outer, i1 %inner, i32 %t) {
    A:
      br i1 %outer, label %B, label %X
    B:
      br i1 %inner, label %C, label %Y
    C:
      %x = mul i32 %t, 3
      br label %Y
    Y:
      %y = phi i32 [ 1, %B ], [ %x, %C ]
      br label %X
    X:
      %r = phi i32 [ 0, %A ], [ %y, %Y ]
      ret i32 %r
    }
    """
    some, every = np.array([1, 0] * 4, bool), np.ones(WIDTH, bool)
    assert "C" in blocks_run(text, [some, every, LANES])
    assert not blocks_run(text, [some, every, LANES]) & {"C.full", "B.full"}
    assert "C" not in blocks_run(text, [every, every, LANES])


@pytest.mark.spread
@pytest.mark.parametrize("far", [-1, 3, 6, 100])
@pytest.mark.parametrize("text", [FIG_9_5, CASCADE, LOOP])
def test_the_examples_keep_their_results(text: str, far: int):
    for facts in (lambda function: EveryBranch(), analysed(WIDTH)):
        module, function = parsed(text)
        second = far < LANES if text is FIG_9_5 else far
        active = None if far != 6 else np.array([0, 1, 1, 0, 1, 1, 1, 0], bool)
        run = returned(function.name, [LANES, second], WIDTH, active)
        check_chain(module, function.name, run, facts, gadgets=True)


def test_forced_gadgets_are_noted_and_leave_uniform_branches_alone():
    module, function = parsed(LOOP)
    result = insert_boscc(module, function, EveryBranch(["L", "J"]), (), None)
    verify(module)
    assert [g.twin for g in result.gadgets].count(False) == 3
    summary = linearize(function, result)
    assert summary.lost == 0 and summary.kept >= len(result.gadgets)


def chosen(body: str, isa=AVX512, condition: str = "%c = icmp eq i32 %v, 77") -> BosccResult:
    """What the cost model chooses for a region with `body`, behind a branch on a loaded value."""
    text = f"""
    define void @f(i64 %t, ptr %p, i64 %n) "weft.kernel" {{
    A:
      %at = getelementptr i32, ptr %p, i64 %t
      %v = load i32, ptr %at
      %w = zext i32 %v to i64
      %f = uitofp i32 %v to float
      {condition}
      br i1 %c, label %B, label %X
    B:
      {body}
      br label %X
    X:
      ret void
    }}
    declare float @sinf(float) memory(none)
    declare float @helper(i32)
    """
    module, function = parsed(text)
    domain = domain_named("product", (16,))
    strided: dict[Value, Shape] = {function.args[0]: domain.strided(1, 64, 16)}
    divergence = analyze_divergence(function, domain=domain, initial=strided, width=16)
    costs = RegionCosts.of(divergence, 16, isa)
    result = insert_boscc(module, function, divergence, (), costs)
    verify(module)
    return result


GATHER = "%b = getelementptr i32, ptr %p, i64 %w\n%l = load i32, ptr %b\nstore i32 %l, ptr %at"


def test_a_gather_or_a_sine_is_worth_a_branch_and_an_addition_is_not():
    cheap = "%x = add i32 %v, 1\nstore i32 %x, ptr %at"
    assert not chosen(cheap).gadgets
    assert not chosen("%x = call float @helper(i32 %v)").gadgets, "no lane, no call"
    assert [g.twin for g in chosen(GATHER).gadgets] == [False]
    assert [g.twin for g in chosen("%x = call float @sinf(float %f)").gadgets] == [False]


def test_masked_stores_are_worth_a_branch_where_masks_are_no_registers():
    stores = "\n".join(f"%x{k} = add i32 %v, {k}\nstore i32 %x{k}, ptr %at" for k in range(4))
    assert not chosen(stores, isa=AVX512).gadgets
    assert False in [g.twin for g in chosen(stores, isa=AVX2).gadgets]


def test_a_guard_of_the_whole_kernel_is_not_skipped_since_most_groups_pass_it():
    assert not [g for g in chosen(GATHER, condition="%c = icmp slt i64 %t, %n").gadgets if not g.twin]


def test_an_unmasked_copy_pays_where_masked_accesses_are_dear():
    stores = "\n".join(f"%x{i} = add i32 %v, {i}\nstore i32 %x{i}, ptr %at" for i in range(3))
    assert [g for g in chosen(stores, SSE4, "%c = icmp ne i32 %v, 77").gadgets if g.twin]
    assert not [g for g in chosen(stores, AVX512, "%c = icmp eq i32 %v, 77").gadgets if g.twin]
