"""The sparse analyses on the examples of Sampaio et al., and their corollary."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from analysis.sampaio_kernels import AVG_SQUARE, ROWS, SUM_TRIANGLE, kernel, value
from analysis.test_sparse_soundness import options_of
from generators.programs import random_program
from weft.analysis.gated.gated_ssa import Eta, GatedSSA, Use
from weft.analysis.gated.polynomial import PolynomialDomain
from weft.analysis.gated.sparse import polynomial_divergence, simple_divergence
from weft.ir import Function
from weft.ir.reader import read_module


def after(gated: GatedSSA, name: str) -> Eta:
    """A variable of a loop, as it is behind the loop."""
    return next(
        eta for eta in gated.etas if isinstance(eta.value, type(eta.value)) and eta.value.name == name
    )  # type: ignore[union-attr]


def variable(function: Function, gated: GatedSSA, name: str) -> Use:
    return after(gated, name.removesuffix(".af")) if name.endswith(".af") else value(function, name)


FIGURE_2 = [
    (AVG_SQUARE, "c", "U", "(0, 0, ⊥)"),
    (AVG_SQUARE, "m", "U", "(0, 0, ⊥)"),
    (AVG_SQUARE, "v", "U", "(0, 0, ⊥)"),
    (AVG_SQUARE, "i", "D", "(0, 1, ⊥)"),
    (AVG_SQUARE, "N", "D", "(0, 1, ⊥)"),
    (AVG_SQUARE, "d0", "U", "(0, 0, 0)"),
    (AVG_SQUARE, "d1", "U", "(0, 0, ⊥)"),
    (AVG_SQUARE, "d1.af", "D", "(0, 0, ⊥)"),
    (SUM_TRIANGLE, "c", "U", "(0, 0, ⊥)"),
    (SUM_TRIANGLE, "m", "U", "(0, 0, ⊥)"),
    (SUM_TRIANGLE, "v", "U", "(0, 0, ⊥)"),
    (SUM_TRIANGLE, "i1", "D", "(0, 1, ⊥)"),
    (SUM_TRIANGLE, "L0", "D", "(0, ⊥, ⊥)"),
    (SUM_TRIANGLE, "d0", "U", "(0, 0, 0)"),
    (SUM_TRIANGLE, "d1", "U", "(0, 0, ⊥)"),
    (SUM_TRIANGLE, "d1.af", "D", "(⊥, ⊥, ⊥)"),
]


@pytest.mark.parametrize(("text", "name", "simple", "polynomial"), FIGURE_2)
def test_figure_2(text: str, name: str, simple: str, polynomial: str):
    """The columns of §3.3 and §3.4 (degree two), both kernels."""
    function = kernel(text)
    gated = GatedSSA(function)
    use = variable(function, gated, name)
    assert "UD"[simple_divergence(function, gated=gated).is_divergent(use)] == simple
    assert str(polynomial_divergence(function, 2, gated=gated).state(use)) == polynomial


def test_the_loop_of_avg_square_is_divergent_only_for_the_simple_analysis():
    function = kernel(AVG_SQUARE)
    loop = next(b for b in function.blocks if b.name == "loop")
    assert simple_divergence(function).is_divergent_branch(loop)
    assert not polynomial_divergence(function).is_divergent_branch(loop)


def test_the_branch_in_the_divergent_loop_of_sum_triangle_is_uniform():
    function = kernel(SUM_TRIANGLE)
    simple = simple_divergence(function)
    divergent = [b.name for b in function.blocks if simple.is_divergent_branch(b)]
    assert divergent == ["entry", "l5"]


def test_figure_11_is_the_dependence_graph():
    function = kernel(SUM_TRIANGLE)
    gated = GatedSSA(function)
    simple = simple_divergence(function, gated=gated)
    graph = simple.graph

    def needs(name: str) -> set[str]:
        number = graph.number[variable(function, gated, name)]
        needed = {*graph.inputs[number], *graph.deciders[number]}
        return {graph.variables[n].name for n in needed}  # type: ignore[union-attr]

    edges = {
        "t0": {"i0"}, "L0": {"t0", "c"}, "i1": {"i0", "i2"}, "i2": {"i1", "c"}, "p0": {"i1", "L0"}, "d0": set(),
        "d1": {"d0", "d2"}, "d2": {"d1"}, "p1": {"r"}, "r": {"d1"}, "d1.af": {"d1", "p0"}, "s3": {"p1", "s2", "s1"},
    }  # fmt: skip
    assert {name: needs(name) for name in edges} == edges
    grey = {name for name in edges if simple.is_divergent(variable(function, gated, name))}
    assert grey == {"t0", "L0", "i1", "i2", "p0", "d1.af", "s3"}


def test_figure_14_are_the_states_of_that_graph():
    function = kernel(SUM_TRIANGLE)
    gated = GatedSSA(function)
    affine = polynomial_divergence(function, 1, gated=gated)
    states = {
        "i0": "(1, 0)", "t0": "(1, 1)", "c": "(0, ⊥)", "L0": "(⊥, ⊥)", "i1": "(1, ⊥)", "i2": "(1, ⊥)", "p0": "(⊥, ⊥)",
        "d0": "(0, 0)", "d1": "(0, ⊥)", "d2": "(0, ⊥)", "p1": "(0, ⊥)", "d1.af": "(⊥, ⊥)",
    }  # fmt: skip
    assert {name: str(affine.state(variable(function, gated, name))) for name in states} == states


FIGURE_15 = {
    "n": ("(0, ⊥)", "(0, 0, ⊥)"),
    "i0": ("(⊥, 0)", "(0, ⊥, 0)"),
    "i1": ("(⊥, ⊥)", "(0, ⊥, ⊥)"),
    "i2": ("(⊥, ⊥)", "(0, ⊥, ⊥)"),
    "k": ("(⊥, ⊥)", "(0, ⊥, ⊥)"),
}


def test_figure_15_degree_two_finds_what_is_affine():
    function = kernel(ROWS)
    first, second = (polynomial_divergence(function, degree) for degree in (1, 2))
    for name, (one, two) in FIGURE_15.items():
        variable = value(function, name)
        a, b = first.state(variable), second.state(variable)
        assert (str(a), str(b)) == (one, two), name
        assert a is not None and b is not None
        assert b.is_affine and (a.is_affine or name != "n")


RULES = """
declare i64 @weft.local.id(i32)
declare i64 @weft.group.id(i32)
define ptx_kernel void @rules(ptr %a, i64 %u, i1 %up) {
entry:
  %tid = call i64 @weft.local.id(i32 0)
  %gid = call i64 @weft.group.id(i32 0)
  %tidd = mul i64 %tid, 3
  %asgd = load i64, ptr %a
  %mine = getelementptr i64, ptr %a, i64 %tid
  %asgd.d = load i64, ptr %mine
  %atmd = atomicrmw add ptr %a, i64 1 monotonic
  %cntd = add i64 4, 5
  %gbzd = xor i64 %u, %gid
  %gbzd.d = xor i64 %u, %tid
  %dp = icmp eq i64 %gbzd.d, 0
  br i1 %up, label %t, label %e
t:
  br label %e
e:
  %gamd = phi i64 [ %u, %t ], [ 0, %entry ]
  %gamd.d = phi i64 [ %tid, %t ], [ 0, %entry ]
  br i1 %dp, label %t2, label %loop
t2:
  br label %loop
loop:
  %pdvd = phi i64 [ %u, %t2 ], [ 0, %e ], [ 0, %loop ]
  %same = phi i64 [ %u, %t2 ], [ %u, %e ], [ 7, %loop ]
  %rmud = phi i64 [ %u, %t2 ], [ %u, %e ], [ %next, %loop ]
  %next = add i64 %rmud, 1
  %uc = icmp ult i64 %next, 100
  br i1 %uc, label %loop, label %loop2
loop2:
  %k = phi i64 [ 0, %loop ], [ %k.next, %loop2 ]
  %k.next = add i64 %k, 1
  %dc = icmp ult i64 %k, %tid
  br i1 %dc, label %loop2, label %end
end:
  %etad = add i64 %next, 0
  %pdvd.eta = add i64 %k, 0
  ret void
}
"""


def test_the_rules_of_figures_10_and_13():
    """Each rule by its name in the paper; ``.d`` where an operand is divergent."""
    function = read_module(RULES).functions["rules"]
    gated = GatedSSA(function)
    simple = simple_divergence(function, gated=gated)
    affine = polynomial_divergence(function, gated=gated)
    states = {
        "tidd": ("D", "(3, 0)"), "asgd": ("U", "(0, ⊥)"), "asgd.d": ("D", "(⊥, ⊥)"), "atmd": ("D", "(⊥, ⊥)"),
        "cntd": ("U", "(0, 9)"), "gbzd": ("U", "(0, ⊥)"), "gbzd.d": ("D", "(⊥, ⊥)"), "gamd": ("U", "(0, ⊥)"),
        "gamd.d": ("D", "(⊥, 0)"), "pdvd": ("D", "(⊥, ⊥)"), "same": ("U", "(0, ⊥)"), "rmud": ("U", "(0, ⊥)"),
        "etad": ("U", "(0, ⊥)"), "k": ("U", "(0, ⊥)"), "pdvd.eta": ("D", "(⊥, ⊥)"),
    }  # fmt: skip
    found = {
        name: ("UD"[simple.is_divergent(value(function, name))], str(affine.state(value(function, name))))
        for name in states
    }
    assert found == states


def test_affine_subsumes_simple():
    """Corollary 3.4, and the same from each degree to the next, on random programs."""
    gained = 0
    for seed in range(120):
        module = random_program(seed, replace(options_of(seed), floats=False))
        for function in module.definitions():
            gated = GatedSSA(function)
            analyses = [simple_divergence(function, gated=gated)]
            analyses += [polynomial_divergence(function, degree, gated=gated) for degree in (1, 2, 3)]
            for weaker, stronger in itertools.pairwise(analyses):
                for variable in analyses[0].graph.variables:
                    assert weaker.is_divergent(variable) or not stronger.is_divergent(variable), (
                        seed,
                        variable,
                    )
                for block in function.blocks:
                    assert weaker.is_divergent_branch(block) or not stronger.is_divergent_branch(block)
            gained += analyses[0].count - analyses[1].count
    assert gained > 0


WARP = """
declare i64 @weft.local.id(i32)
declare i32 @weft.lane.id()
declare i1 @weft.any(i1)
define ptx_kernel void @k(i32 %u) {
  %x = call i64 @weft.local.id(i32 0)
  %y = call i64 @weft.local.id(i32 1)
  %l = call i32 @weft.lane.id()
  %odd = trunc i32 %l to i1
  %any = call i1 @weft.any(i1 %odd)
  %row = mul i64 %y, 100
  %at = add i64 %row, %x
  ret void
}
"""


def test_a_warp_agrees_on_more_than_a_work_group():
    function = read_module(WARP).functions["k"]
    names = ("x", "y", "l", "any", "at")
    lanes = polynomial_divergence(function, 1)
    assert [str(lanes.state(value(function, n))) for n in names] == [
        "(1, 0)", "(0, ⊥)", "(1, ⊥)", "(0, ⊥)", "(1, ⊥)",
    ]  # fmt: skip
    linear = polynomial_divergence(function, 1, dimension=None)
    assert [str(linear.state(value(function, n))) for n in names] == [
        "(⊥, ⊥)", "(⊥, ⊥)", "(1, 0)", "(0, ⊥)", "(⊥, ⊥)",
    ]  # fmt: skip
    group = polynomial_divergence(function, 1, scope="group")
    # Coefficients of the ids z, y, x and the rest.
    assert [str(group.state(value(function, n))) for n in names] == [
        "(0, 0, 1, 0)", "(0, 1, 0, 0)", "(⊥, ⊥, ⊥, ⊥)", "(⊥, ⊥, ⊥, ⊥)", "(0, 100, 1, 0)",
    ]  # fmt: skip
    for scope, divergent in (("lanes", ["x", "l", "at"]), ("group", list(names))):
        simple = simple_divergence(function, scope=scope)
        assert [n for n in names if simple.is_divergent(value(function, n))] == divergent


def test_states_may_be_given_for_arguments():
    text = "define i64 @f(i64 %a, i64 inreg %b) {\n %s = add i64 %a, %b\n ret i64 %s\n}"
    function = read_module(text).functions["f"]
    domain = PolynomialDomain(1, (64,))
    assert str(polynomial_divergence(function).state(value(function, "s"))) == "(⊥, ⊥)"
    initial = {function.args[0]: domain.thread_id(64)}
    result = polynomial_divergence(function, initial=initial, domain=domain)
    assert str(result.state(value(function, "s"))) == "(1, ⊥)"
    assert not simple_divergence(function, divergent=()).is_divergent(value(function, "s"))


CALLS = """
declare i64 @weft.local.id(i32)
define internal i64 @first(i64 %a, i64 %b) {
entry:
  %c = icmp eq i64 %a, 0
  br i1 %c, label %one, label %two
one:
  ret i64 1
two:
  ret i64 2
}
define internal i64 @id() {
  %t = call i64 @weft.local.id(i32 0)
  ret i64 %t
}
define internal i64 @even(i64 %k, i64 %a, i64 %b) {
entry:
  %done = icmp eq i64 %k, 0
  br i1 %done, label %end, label %more
more:
  %less = sub i64 %k, 1
  %r = call i64 @odd(i64 %less, i64 %a, i64 %b)
  br label %end
end:
  %x = phi i64 [ 1, %entry ], [ %r, %more ]
  ret i64 %x
}
define internal i64 @odd(i64 %k, i64 %a, i64 %b) {
entry:
  %done = icmp eq i64 %k, 0
  br i1 %done, label %end, label %more
more:
  %less = sub i64 %k, 1
  %r = call i64 @even(i64 %less, i64 %a, i64 %b)
  br label %end
end:
  %x = phi i64 [ %a, %entry ], [ %r, %more ]
  ret i64 %x
}
define ptx_kernel void @k(i64 %u) {
  %t = call i64 @id()
  %x = call i64 @first(i64 %t, i64 %u)
  %y = call i64 @first(i64 %u, i64 %t)
  %e = call i64 @even(i64 %u, i64 %u, i64 %t)
  %f = call i64 @even(i64 %u, i64 %t, i64 %u)
  %g = call i64 @odd(i64 %t, i64 %u, i64 %u)
  ret void
}
"""


def test_a_call_depends_on_the_arguments_that_its_function_uses():
    function = read_module(CALLS).functions["k"]
    simple = simple_divergence(function)
    assert [n for n in "txyefg" if simple.is_divergent(value(function, n))] == ["t", "x", "f", "g"]
    affine = polynomial_divergence(function)
    assert str(affine.state(value(function, "y"))) == "(0, ⊥)"


def test_a_guard_tells_for_which_threads_a_result_is():
    text = """
    declare i64 @weft.local.id(i32)
    define ptx_kernel void @k(i64 %u) {
      %t = call i64 @weft.local.id(i32 0)
      %g = icmp ult i64 %t, 3
      %x = guard(%g) add i64 %u, 1
      %y = guard(%g) add i64 %t, 1
      ret void
    }"""
    function = read_module(text).functions["k"]
    gated = GatedSSA(function)
    simple = simple_divergence(function, gated=gated)
    affine = polynomial_divergence(function, gated=gated)
    assert not simple.is_divergent(value(function, "x")) and simple.is_divergent(value(function, "y"))
    assert [str(affine.state(value(function, n))) for n in "xy"] == ["(0, ⊥)", "(1, 1)"]


def test_a_multiple_of_four_has_uniform_low_bits():
    """In machine integers only the power of two in a factor survives, and that is enough here."""
    text = """
    declare i64 @weft.local.id(i32)
    define ptx_kernel void @k(i64 %u) {
      %t = call i64 @weft.local.id(i32 0)
      %f = mul i64 %t, 12
      %a = add i64 %f, %u
      %low = and i64 %a, 3
      %three = urem i64 %a, 3
      ret void
    }"""
    function = read_module(text).functions["k"]
    affine = polynomial_divergence(function)
    assert not affine.is_divergent(value(function, "low"))
    assert affine.is_divergent(value(function, "three"))
