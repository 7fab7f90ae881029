"""The overlay of gating functions, in its printed form. What gates mean is tested in `test_gating`."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from analysis.sampaio_kernels import SUM_TRIANGLE, kernel
from analysis.test_sparse_soundness import options_of
from generators.programs import random_program
from weft.analysis.gated.gated_ssa import Eta, GatedSSA, Mu
from weft.analysis.gated.gated_text import gated_text
from weft.ir import Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function


def gating_lines(function: Function) -> list[str]:
    """The lines of gating functions, each behind the label of its block."""
    found: list[str] = []
    block = ""
    for line in gated_text(GatedSSA(function)).splitlines():
        if not line.startswith(" "):
            block = line
        elif re.search("[γμη]\\(", line):
            found.append(f"{block}{line[1:]}")
    return found


def parse(text: str) -> Function:
    return next(iter(read_module(text).definitions()))


def test_figure_9():
    """The paper's program in gated SSA. Behind the loop it has s4 and d3 where there is ``.out`` here."""
    assert gating_lines(kernel(SUM_TRIANGLE)) == [
        "l5: %i1 = μ(%i0, %i2)",
        "l5: %s1 = μ(0.000000e+00, %s3)",
        "l5: %d1 = μ(%d0, %d2)",
        "l12: %s3 = γ(%p1, %s2, %s1)",
        "l16: %d1.out = η(%p0, %d1)",
        "l16: %s1.out = η(%p0, %s1)",
    ]


def test_uses_behind_a_loop_show_its_eta():
    text = gated_text(GatedSSA(kernel(SUM_TRIANGLE)))
    assert "%t2 = sub nsw i32 %d1.out, 1" in text
    assert "store float %s1.out, ptr %vd" in text
    assert "%r = srem i32 %d1, 2" in text


def test_an_unstructured_join():
    r"""A branch into the arm of another:

        a
       / \
      b   |
     / \  |
    c   \ |
     \   d
      \ /
       e
    """
    function = parse("""
    define i32 @f(i1 %p, i1 %q) {
    a:
      br i1 %p, label %b, label %d
    b:
      br i1 %q, label %c, label %d
    c:
      br label %e
    d:
      %x = phi i32 [ 1, %a ], [ 2, %b ]
      br label %e
    e:
      %y = phi i32 [ 3, %c ], [ %x, %d ]
      ret i32 %y
    }""")
    # To c and d threads come by different decisions; b decides nothing for those that go to d by a.
    assert gating_lines(function) == ["d: %x = γ(%p, γ(%q, ∅, 2), 1)", "e: %y = γ(%p, γ(%q, 3, %x), %x)"]


def test_a_loop_with_two_exits_decides_over_both():
    r"""

    entry -> head <----- latch
             |   \       / |
            one   ------>  two
              \           /
               ---> end <-
    """
    function = parse("""
    define i32 @f(i32 %n, i32 %m) {
    entry:
      br label %head
    head:
      %i = phi i32 [ 0, %entry ], [ %next, %latch ]
      %p = icmp eq i32 %i, %n
      br i1 %p, label %one, label %latch
    latch:
      %next = add i32 %i, 1
      %q = icmp eq i32 %next, %m
      br i1 %q, label %two, label %head
    one:
      %a = add i32 %i, 10
      br label %end
    two:
      %b = add i32 %i, 20
      br label %end
    end:
      %r = phi i32 [ 1, %one ], [ 2, %two ]
      %s = add i32 %i, %r
      ret i32 %s
    }""")
    assert gating_lines(function) == [
        "head: %i = μ(0, %next)",
        # Leaving by one exit is one thing, by any of them another.
        "one: %i.out = η(γ(%p, leave, γ(%q, ∅, stay)), %i)",
        "two: %i.out.1 = η(γ(%p, ∅, γ(%q, leave, stay)), %i)",
        "end: %i.out.2 = η(γ(%p, leave, γ(%q, leave, stay)), %i)",
        "end: %r = γ(%head; %head-%one: 1, %latch-%two: 2)",
    ]


def test_a_value_that_leaves_two_loops_at_once():
    function = parse("""
    define i32 @f(i1 %p, i1 %q, i1 %r) {
    entry:
      br label %outer
    outer:
      %i = phi i32 [ 0, %entry ], [ %x, %latch ]
      br label %inner
    inner:
      %j = phi i32 [ %i, %outer ], [ %x, %again ]
      %x = add i32 %j, 1
      br i1 %p, label %end, label %again
    again:
      br i1 %q, label %inner, label %latch
    latch:
      br i1 %r, label %outer, label %end
    end:
      ret i32 %x
    }""")
    gated = GatedSSA(function)
    (last,) = [eta for eta in gated.etas if isinstance(eta.value, Eta)]
    assert [gated.view.blocks[source].name for source, _ in last.exits] == ["inner", "latch"]
    assert gating_lines(function) == [
        "outer: %i = μ(0, %x.out)",
        "inner: %j = μ(%i, %x)",
        "latch: %x.out = η(γ(%p, ∅, γ(%q, stay, leave)), %x)",
        "end: %x.out.1 = η(γ(%p, leave, γ(%q, stay, leave)), %x)",
        "end: %x.out.2 = η(γ(%inner; %inner-%end: leave, %again-%latch: γ(%r, stay, leave)), %x.out.1)",
    ]


def test_a_header_with_several_entries_from_outside_and_several_latches():
    function = parse("""
    define void @f(i1 %p, i1 %q, i1 %r) {
    entry:
      br i1 %p, label %a, label %b
    a:
      br label %head
    b:
      br label %head
    head:
      %x = phi i32 [ 1, %a ], [ 2, %b ], [ 3, %c ], [ 4, %d ]
      br i1 %q, label %c, label %d
    c:
      br label %head
    d:
      br i1 %r, label %head, label %end
    end:
      ret void
    }""")
    assert gating_lines(function) == ["head: %x = μ(γ(%p, 1, 2), γ(%q, 3, γ(%r, 4, ∅)))"]
    assert all(isinstance(phi, Mu) for phi in GatedSSA(function).phis.values())


def test_a_switch_names_its_targets():
    function = parse("""
    define i32 @f(i32 %k) {
    entry:
      switch i32 %k, label %other [ i32 0, label %zero  i32 1, label %one  i32 2, label %zero ]
    zero:
      br label %end
    one:
      br label %end
    other:
      br label %end
    end:
      %x = phi i32 [ 7, %zero ], [ 8, %one ], [ 9, %other ]
      ret i32 %x
    }""")
    assert gating_lines(function) == ["end: %x = γ(%k; %other: 9, %zero: 7, %one: 8)"]


def test_decisions_over_equal_values_or_poison_are_not_there():
    function = parse("""
    define i32 @f(i1 %p, i1 %q, i32 %u) {
    entry:
      br i1 %p, label %a, label %b
    a:
      br i1 %q, label %c, label %end
    b:
      br label %end
    c:
      br label %end
    end:
      %x = phi i32 [ %u, %a ], [ poison, %b ], [ %u, %c ]
      %y = phi i32 [ %u, %a ], [ 1, %b ], [ %u, %c ]
      ret i32 %x
    }""")
    assert gating_lines(function) == ["end: %x = γ(%p, %u, ∅)", "end: %y = γ(%p, %u, 1)"]


def test_an_irreducible_loop_decides_over_its_own_values():
    function = parse("""
    define i32 @f(i1 %p, i1 %q) {
    entry:
      br i1 %p, label %a, label %b
    a:
      %x = phi i32 [ 1, %entry ], [ %y, %b ]
      br label %b
    b:
      %y = phi i32 [ 2, %entry ], [ %x, %a ]
      br i1 %q, label %a, label %end
    end:
      ret i32 %y
    }""")
    gated = GatedSSA(function)
    assert gating_lines(function)[:2] == [
        "a: %x = γ(%b; %entry-%a: 1, %b-%a: %y)",
        "b: %y = γ(%b; %entry-%b: 2, %a-%b: %x)",
    ]
    (phi, *_) = gated.phis.values()
    assert not isinstance(phi, Mu)
    assert [use.name for use in gated.conditions(phi.gate)] == ["p", "q"]  # type: ignore[union-attr]


def test_what_is_shared_is_written_once():
    function = parse("""
    define i32 @f(i1 %p, i1 %q, i1 %r) {
    entry:
      br i1 %p, label %a, label %b
    a:
      br i1 %q, label %one, label %c
    b:
      br i1 %r, label %two, label %c
    c:
      br i1 %q, label %one, label %two
    one:
      br label %end
    two:
      br label %end
    end:
      %x = phi i32 [ 1, %one ], [ 2, %two ]
      ret i32 %x
    }""")
    assert gating_lines(function) == ["end: %x = γ(%p, γ(%q, 1, g1), γ(%r, 2, g1)) where g1 = γ(%q, 1, 2)"]


def test_long_chains_of_decisions_are_no_problem():
    rungs = 3000
    lines = ["define i32 @f(i1 %p) {"]
    for i in range(rungs):
        lines += [f"b{i}:", f"br i1 %p, label %fail, label %b{i + 1}"]
    edges = ", ".join(f"[ {i}, %b{i} ]" for i in range(rungs))
    lines += [
        f"b{rungs}:",
        "br label %fail",
        "fail:",
        f"%x = phi i32 {edges}, [ -1, %b{rungs} ]",
        "ret i32 %x",
        "}",
    ]
    function = parse("\n".join(lines))
    assert len(gated_text(GatedSSA(function)).splitlines()[-2]) > rungs


@given(st.integers(0, 400))
def test_the_function_stays_as_it_is(seed: int):
    kernel = random_program(seed, options_of(seed)).functions["kernel"]
    before = write_function(kernel)
    gated = GatedSSA(kernel)
    gated_text(gated)
    assert write_function(kernel) == before
    verify(kernel)
    assert set(gated.phis) == {i for i in kernel.instructions() if i.op == "phi"}
