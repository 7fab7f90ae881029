"""The examples of Moll's chapter 3, as graphs before and behind the passes.

In drawings ``B?`` ends in a divergent branch; a name in brackets is a block's mask. Figures 3.7, 3.9 to 3.11 and 3.16
show pipelines: the last test has the order of passes.
"""

import numpy as np
import pytest

from transform.chain import analysed, check_chain, returned
from transform.figures import WIDTH, figure, parsed, redrawn
from weft.analysis.shapes import domain_named
from weft.codegen.lanes.lane_passes import vectorize
from weft.codegen.lanes.lane_unit import LaneUnit, SimdForm
from weft.codegen.widen.lanes import LaneSpace
from weft.interp import Memory, run_function
from weft.ir import Module
from weft.ir.writer import write_function
from weft.machine.host import chosen
from weft.passes.runner import Runner

FIG_3_4 = """
define double @sum_where_positive(i64 %t, ptr noalias readonly %B, ptr noalias readonly %C, i64 %n) {
A:
  br label %K
K:
  %k = phi i64 [ 0, %A ], [ %k.next, %L ]
  %a = phi double [ 0.0, %A ], [ %a.next, %L ]
  %b.at = getelementptr double, ptr %B, i64 %k
  %b = load double, ptr %b.at
  %p = fcmp ogt double %b, 0.0
  br i1 %p, label %T, label %L
T:
  %row = mul i64 %k, 4
  %index = add i64 %row, %t
  %c.at = getelementptr double, ptr %C, i64 %index
  %d = load double, ptr %c.at
  %sum = fadd double %a, %d
  br label %L
L:
  %a.next = phi double [ %a, %K ], [ %sum, %T ]
  %k.next = add i64 %k, 1
  %more = icmp slt i64 %k.next, %n
  br i1 %more, label %K, label %X
X:
  %out = phi double [ %a.next, %L ]
  ret double %out
}
"""

FIG_3_5 = """
define i32 @either(i32 %t, i1 PARAMETER) {
A:
  br i1 PARAMETER, label %B, label %C
B:
  br label %D
C:
  br label %D
D:
  %x = phi i32 [ 1, %B ], [ 2, %C ]
  ret i32 %x
}
"""

FIG_3_6 = """
define i32 @chosen(i64 %t, ptr noalias readonly %A, i1 %p, i32 %c) {
C:
  %v.at = getelementptr i32, ptr %A, i64 %t
  %v = load i32, ptr %v.at
  br label %D
D:
  br i1 %p, label %F, label %E
E:
  br label %F
F:
  %x = phi i32 [ %v, %D ], [ %c, %E ]
  ret i32 %x
}
"""

FIG_3_8 = """
define float @myPow(float %t, i32 %y) {
entry:
  br label %H
H:
  %i = phi i32 [ 0, %entry ], [ %i.next, %H ]
  %r = phi float [ 1.0, %entry ], [ %r.next, %H ]
  %r.next = fmul float %r, %t
  %i.next = add i32 %i, 1
  %more = icmp slt i32 %i.next, %y
  br i1 %more, label %H, label %X
X:
  %out = phi float [ %r.next, %H ]
  ret float %out
}
"""

FIG_3_12 = """
define double @odd_elements(i64 %t, ptr noalias readonly %from) {
B:
  %bit = and i64 %t, 1
  %p = icmp ne i64 %bit, 0
  br i1 %p, label %C, label %D
C:
  %at = getelementptr double, ptr %from, i64 %t
  %vC = load double, ptr %at
  br label %D
D:
  %v = phi double [ 2.0, %B ], [ %vC, %C ]
  ret double %v
}
"""

FIG_3_14 = """
define i32 @mixed(i1 %t.q, i1 %p) {
A:
  br i1 %p, label %B, label %E
B:
  br i1 %t.q, label %C, label %D
C:
  br label %D
D:
  %x = phi i32 [ 1, %B ], [ 2, %C ]
  br label %E
E:
  %y = phi i32 [ 0, %A ], [ %x, %D ]
  ret i32 %y
}
"""

FIG_3_15 = """
define i32 @two_branches(i32 %t, i1 %t.p, i1 %t.q) {
A:
  br i1 %t.p, label %B, label %C
B:
  %b = add i32 %t, 1
  br i1 %t.q, label %C, label %D
C:
  %c0 = phi i32 [ %t, %A ], [ %b, %B ]
  %c = mul i32 %c0, 3
  br label %D
D:
  %r = phi i32 [ %b, %B ], [ %c, %C ]
  ret i32 %r
}
"""

SCALING = """
  %scaleUp = fcmp olt float %t, 0x3B50000000000000
  %scaleDown = fcmp ogt float %t, 0x43F0000000000000
"""

FIG_3_17 = f"""
define float @xsqrt(float %t) {{
A:
{SCALING}
  br i1 %scaleUp, label %C, label %D
C:
  %dUp = fmul float %t, 0x44B0000000000000
  br label %D
D:
  %d1 = phi float [ %t, %A ], [ %dUp, %C ]
  %q1 = phi float [ 1.0, %A ], [ 0x3DA0000000000000, %C ]
  br i1 %scaleDown, label %E, label %F
E:
  %dDown = fmul float %d1, 0x3BF0000000000000
  br label %F
F:
  %d2 = phi float [ %d1, %D ], [ %dDown, %E ]
  %q2 = phi float [ %q1, %D ], [ 0x41F0000000000000, %E ]
  %r = fmul float %d2, %q2
  ret float %r
}}
"""

FIG_3_19 = f"""
define float @xsqrt(float %t) {{
A:
{SCALING}
  %either = or i1 %scaleUp, %scaleDown
  %some = call i1 @weft.any(i1 %either)
  br i1 %some, label %B, label %F
B:
  br i1 %scaleUp, label %C, label %D
C:
  %dUp = fmul float %t, 0x44B0000000000000
  br label %D
D:
  %d1 = phi float [ %t, %B ], [ %dUp, %C ]
  %q1 = phi float [ 1.0, %B ], [ 0x3DA0000000000000, %C ]
  br i1 %scaleDown, label %E, label %G
E:
  %dDown = fmul float %d1, 0x3BF0000000000000
  br label %G
G:
  %d2 = phi float [ %d1, %D ], [ %dDown, %E ]
  %q2 = phi float [ %q1, %D ], [ 0x41F0000000000000, %E ]
  br label %F
F:
  %d = phi float [ %t, %A ], [ %d2, %G ]
  %q = phi float [ 1.0, %A ], [ %q2, %G ]
  %r = fmul float %d, %q
  ret float %r
}}
"""

FIG_3_20 = """
define i32 @logstar(double %t) {
A:
  br label %B
B:
  %i = phi i32 [ 0, %A ], [ %i.next, %B ]
  %x = phi double [ %t, %A ], [ %x.next, %B ]
  %i.next = add i32 %i, 1
  %x.next = call double @llvm.log.f64(double %x)
  %more = fcmp ogt double %x.next, 1.0
  br i1 %more, label %B, label %C
C:
  %out = phi i32 [ %i.next, %B ]
  %above = fcmp ogt double %t, 1.0
  %r = select i1 %above, i32 %out, i32 0
  ret i32 %r
}
"""


class Trace:
    """The schedule: each block that runs, with the numbers of the threads that run it actively."""

    def __init__(self) -> None:
        self.blocks: list[tuple[str, list[int]]] = []

    def on_block(self, machine, block, active) -> None:
        self.blocks.append((block.name, np.flatnonzero(active.mask(machine.lanes)).tolist()))


def test_fig_3_4_a_uniform_branch_in_a_uniform_loop_stays(golden):
    r"""
      A             A
      |             |
      K<-+          K<-+
     / \ |   ==>   / \ |       p is the same for all lanes
    T   ||        T   ||
     \ / |         \ / |
      L--+          L--+
      |             |
      X             X
    """
    before, after, _ = redrawn(FIG_3_4)
    assert before == after and "?" not in before
    golden(figure(FIG_3_4), "fig_3_4.txt")


@pytest.mark.parametrize(("parameter", "expected"), [("%p", "A -> B C"), ("%t.p", "A? -> B C")])
def test_fig_3_5_a_branch_is_uniform_or_divergent_as_its_condition_is(parameter: str, expected: str):
    r"""
      A            A           A?          A
     / \          / \         / \          |
    B   C   ==>  B   C       B   C   ==>   B [p]
     \ /          \ /         \ /          |
      D            D           D           C [not p]
                                           |
         p uniform               varying   D
    """
    before, after, _ = redrawn(FIG_3_5.replace("PARAMETER", parameter))
    assert before.splitlines()[0] == expected
    assert [line.partition(" -> ")[2] for line in after.splitlines()] == (
        ["B C", "D", "D", ""] if parameter == "%p" else ["B", "C", "D", ""]
    )


def test_fig_3_6_a_phi_of_a_varying_and_a_uniform_value_varies_without_divergent_control():
    r"""
       C: v varying
       |
       D: p uniform
       |\
       | E: x = c
       |/
       F: x = φ(v, c): varying
    """
    _, function = parsed(FIG_3_6)
    facts = analysed(WIDTH)(function)
    named = {i.name: i for i in function.instructions()}
    assert not facts.is_uniform(named["v"]) and not facts.is_uniform(named["x"])
    assert not any(facts.is_divergent_branch(b) for b in function.blocks)


def test_fig_3_8_a_function_for_a_vector_and_a_scalar(golden):
    module, function = parsed(FIG_3_8)
    domain = domain_named("product", (WIDTH,))
    shapes = {function.args[0]: domain.varying(32)}
    vector = vectorize(
        LaneUnit(module, function, LaneSpace((WIDTH,)), shapes, chosen().isa, form=SimdForm("myPow_vu_v4"))
    )
    assert str(vector.fn_type.params[0]) == "<4 x float>" and str(vector.fn_type.params[1]) == "i32"
    golden(write_function(vector), "fig_3_8.ll")


def test_fig_3_12_and_3_13_if_conversion(golden):
    r"""
      B?            B
     / \            |
    C   |   ==>     C [p]
     \ /            |
      D             D      v = select p, vC, 2.0
    """
    golden(figure(FIG_3_12), "fig_3_13.txt")


def test_fig_3_14_only_the_divergent_branch_is_converted(golden):
    r"""
        A             A
       / \           / \
      B?  |         B   |
     / \  |         |   |
    C   | |   ==>   C   |     [q]
     \ /  |         |   |
      D   |         D   |     x = select q, 2, 1
       \ /           \ /
        E             E       y stays a φ
    """
    golden(figure(FIG_3_14), "fig_3_14.txt")
    _, function = parsed(FIG_3_14)
    named = {i.name: i for i in function.instructions()}
    assert not analysed(WIDTH)(function).is_uniform(named["x"]), "control-induced divergence"


def test_fig_3_15_instructions_that_make_masks_are_total(golden):
    r"""
      A?             A        notp = not p
     / \             |
    B?  |            B [p]    eBC = p and q
    |\  |     ==>    |
    | \ |            C [mC]   mC = notp or eBC
    |   C            |
     \ /             D
      D
    """
    _, _, function = redrawn(FIG_3_15)
    masks = [b.predicate for b in function.blocks if b.predicate is not None]
    made = [m for m in masks if m not in function.args]
    assert made and all(m.total for m in made)  # type: ignore[attr-defined]
    golden(figure(FIG_3_15), "fig_3_15.txt")


def test_fig_3_17_both_scalings_always_run(golden):
    golden(figure(FIG_3_17), "fig_3_17.txt")


def test_fig_3_18_any_keeps_a_branch_around_both_scalings(golden):
    r"""
        A               A
       / \             / \
      B?  |           B   |
     / \  |           |   |
    C   | |           C   |   [scaleUp]
     \ /  |    ==>    |   |
      D?  |           D   |
     / \  |           |   |
    E   | |           E   |   [scaleDown]
     \ /  |           |   |
      G   |           G   |
       \ /             \ /
        F               F
    """
    golden(figure(FIG_3_19), "fig_3_18.txt")


def test_fig_3_19_lock_step_schedule():
    """Two threads; the second is to be scaled down."""
    module, function = parsed(FIG_3_19)
    trace = Trace()
    run_function(module, function.name, [np.array([1, 1e20], np.float32)], 2, hooks=[trace])
    both = [0, 1]
    assert trace.blocks == [("A", both), ("B", both), ("D", both), ("E", [1]), ("G", both), ("F", both)]


LOGSTAR = [np.array([88.38, 1.5])]


def test_fig_3_20_threads_leave_the_loop_in_different_iterations():
    module, function = parsed(FIG_3_20)
    trace = Trace()
    outcome = run_function(module, function.name, LOGSTAR, 2, hooks=[trace])
    assert outcome.data.tolist() == [3, 1]
    assert trace.blocks == [("A", [0, 1]), ("B", [0, 1]), ("B", [0]), ("B", [0]), ("C", [0, 1])]


def test_fig_3_21_simd_lanes_forget_what_they_left_with_and_the_transform_keeps_it(golden):
    """Under OBL, which is what SIMD code does, the original program loses the second thread's count."""
    module, function = parsed(FIG_3_20)
    forgotten = run_function(module, function.name, LOGSTAR, 2, semantics="OBL")
    assert forgotten.flags is not None
    assert np.broadcast_to(forgotten.flags != 0, 2).tolist() == [False, True]
    check_chain(module, function.name, returned(function.name, LOGSTAR, 2), analysed(2))
    golden(figure(FIG_3_20), "fig_3_21.txt")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (FIG_3_5.replace("PARAMETER", "%t.p"), [np.arange(4, dtype=np.int32), np.array([1, 0, 0, 1], bool)]),
        (FIG_3_14, [np.array([1, 0, 0, 1], bool), True]),
        (FIG_3_14, [np.array([1, 0, 0, 1], bool), False]),
        (
            FIG_3_15,
            [np.arange(4, dtype=np.int32), *(np.array(m, bool) for m in ([1, 0, 1, 0], [1, 1, 0, 0]))],
        ),
        (FIG_3_17, [np.array([1, 1e20, 1e-24, 4], np.float32)]),
        (FIG_3_19, [np.array([1, 1e20, 1e-24, 4], np.float32)]),
        (FIG_3_19, [np.array([1, 2, 3, 4], np.float32)]),
    ],
)
def test_the_examples_keep_their_results(text: str, arguments: list[object]):
    module, function = parsed(text)
    check_chain(module, function.name, returned(function.name, arguments, WIDTH), analysed(WIDTH))


@pytest.mark.parametrize(("text", "arrays"), [(FIG_3_4, 2), (FIG_3_6, 1), (FIG_3_12, 1)])
def test_the_examples_with_memory_keep_their_results(text: str, arrays: int):
    def run(module: Module, semantics: str) -> object:
        memory = Memory()
        kind = np.int32 if text is FIG_3_6 else np.float64
        data = [memory.map_array(np.array([-1, 2, 3, -4] * 4, kind) + k) for k in range(arrays)]
        rest = [1, 9] if text is FIG_3_6 else [4][: len(module.functions[name].args) - 1 - arrays]
        outcome = run_function(
            module, name, [np.arange(WIDTH), *data, *rest], WIDTH, memory=memory, semantics=semantics
        )
        return np.broadcast_to(outcome.data, WIDTH).tolist()

    module, function = parsed(text)
    name = function.name
    check_chain(module, name, run, analysed(WIDTH))


def test_figs_3_11_and_3_16_the_order_of_passes():
    """Analysis, uniform loops, linear control, and then only widening."""
    module, function = parsed(FIG_3_20)
    domain = domain_named("product", (WIDTH,))
    seen: list[str] = []
    shapes = {function.args[0]: domain.varying(64)}
    unit = LaneUnit(
        module, function, LaneSpace((WIDTH,)), shapes, chosen().isa, form=SimdForm("logstar_v_v4")
    )
    vectorize(unit, Runner((lambda done, unit: seen.append(done.name),)))
    assert seen[:2] == ["divergent loops", "linearization"]
