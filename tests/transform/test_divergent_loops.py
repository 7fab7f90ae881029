"""The divergent loop transform on the examples of Moll's chapter 9, with the program before linearization and behind
it as golden text, and the rules settled for empty masks and for horizontal operations behind ``break``."""

import textwrap
from collections.abc import Iterable

import numpy as np
import pytest

from transform.chain import EveryBranch, analysed, check_chain, returned
from weft.ir import Function, Instruction, Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.linearization.linearize import linearize
from weft.transform.loops.divergent_loops import make_loops_uniform

WIDTH = 8
LANES = np.arange(WIDTH, dtype=np.int32)
DECLARATIONS = """
declare i1 @weft.any(i1) convergent nounwind willreturn memory(none)
declare i64 @weft.ballot(i1) convergent nounwind willreturn memory(none)
"""


def parsed(text: str) -> tuple[Module, Function]:
    module = read_module(textwrap.dedent(text) + DECLARATIONS)
    function = next(module.definitions())
    verify(module)
    return module, function


def both_steps(text: str, uniform: Iterable[str] = ()) -> str:
    module, function = parsed(text)
    facts = EveryBranch(uniform)
    make_loops_uniform(module, function, facts)
    loops = write_function(function)
    linearize(function, facts)
    verify(module)
    return f"{loops}\n; linearized\n{write_function(function)}"


FIG_9_1 = """
define i32 @one_exit(i32 %t, i32 %n) {
P:
  br label %H
H:
  %x = phi i32 [ %t, %P ], [ %xn, %B ]
  %c = icmp sgt i32 %x, 20
  br i1 %c, label %X, label %B
B:
  %xn = add i32 %x, 7
  br label %H
X:
  %out = phi i32 [ %x, %H ]
  ret i32 %out
}
"""

FIG_9_3 = """
define i32 @two_exits(i32 %t, i32 %n) {
P:
  br label %H
H:
  %i = phi i32 [ 0, %P ], [ %i.next, %L ]
  %s = phi i32 [ %t, %P ], [ %s.next, %L ]
  %c1 = icmp sgt i32 %s, 30
  br i1 %c1, label %X1, label %B
B:
  %s.next = add i32 %s, %i
  %i.next = add i32 %i, 1
  %c2 = icmp eq i32 %s.next, 21
  br i1 %c2, label %X2, label %L
L:
  br label %H
X1:
  %s1 = phi i32 [ %s, %H ]
  br label %R
X2:
  %i2 = phi i32 [ %i.next, %B ]
  br label %R
R:
  %r = phi i32 [ %s1, %X1 ], [ %i2, %X2 ]
  ret i32 %r
}
"""

COUNTED = """
define i32 @counted(i32 %t, i32 %n) {
P:
  br label %H
H:
  %i = phi i32 [ 0, %P ], [ %i.next, %L ]
  %at.end = icmp sge i32 %i, %n
  br i1 %at.end, label %X1, label %B
B:
  %sum = add i32 %i, %t
  %found = icmp eq i32 %sum, 9
  br i1 %found, label %X2, label %L
L:
  %i.next = add i32 %i, 1
  br label %H
X1:
  br label %R
X2:
  %where = phi i32 [ %i, %B ]
  br label %R
R:
  %r = phi i32 [ -1, %X1 ], [ %where, %X2 ]
  ret i32 %r
}
"""

NESTED = """
define i32 @nested(i32 %t, i32 %n) {
P:
  br label %H
H:
  %i = phi i32 [ 0, %P ], [ %i.next, %HL ]
  br label %J
J:
  %j = phi i32 [ 0, %H ], [ %j.next, %JL ]
  %sum = add i32 %i, %j
  %far = icmp sgt i32 %sum, %t
  br i1 %far, label %X2, label %JL
JL:
  %j.next = add i32 %j, 2
  %inner = icmp slt i32 %j.next, %t
  br i1 %inner, label %J, label %JX
JX:
  %last = phi i32 [ %j.next, %JL ]
  %i.next = add i32 %i, %last
  br label %HL
HL:
  %outer = icmp slt i32 %i.next, %n
  br i1 %outer, label %H, label %X1
X1:
  %i1 = phi i32 [ %i.next, %HL ]
  br label %R
X2:
  %j2 = phi i32 [ %j, %J ]
  br label %R
R:
  %r = phi i32 [ %i1, %X1 ], [ %j2, %X2 ]
  ret i32 %r
}
"""

GUARDED = """
define i32 @some_run_it(i32 %t, i32 %n) {
entry:
  %few = icmp sgt i32 %t, 5
  br i1 %few, label %P, label %join
P:
  br label %H
H:
  %i = phi i32 [ 0, %P ], [ %i.next, %H ]
  %s = phi i32 [ %t, %P ], [ %s.next, %H ]
  %s.next = add i32 %s, %i
  %i.next = add i32 %i, 1
  %again = icmp ne i32 %i.next, %n
  br i1 %again, label %H, label %X
X:
  %out = phi i32 [ %s.next, %H ]
  br label %join
join:
  %r = phi i32 [ %t, %entry ], [ %out, %X ]
  ret i32 %r
}
"""


BISECTION = """
define i32 @bisection(i32 %t, i32 %n) {
P:
  br label %H
H:
  %lo = phi i32 [ 0, %P ], [ %lo.next, %B ]
  %hi = phi i32 [ %n, %P ], [ %hi.next, %B ]
  %open = icmp slt i32 %lo, %hi
  br i1 %open, label %B, label %X
B:
  %sum = add i32 %lo, %hi
  %mid = lshr i32 %sum, 1
  %square = mul i32 %mid, %mid
  %below = icmp slt i32 %square, %t
  %above = add i32 %mid, 1
  %lo.next = select i1 %below, i32 %above, i32 %lo
  %hi.next = select i1 %below, i32 %hi, i32 %mid
  br label %H
X:
  %found = phi i32 [ %lo, %H ]
  ret i32 %found
}
"""


def test_a_value_that_each_iteration_may_leave_alone_is_kept_where_it_is(golden):
    r"""As Fig. 9.2 for ``hi``; ``lo`` has no tracker:

    H.live   lo = [0, P] [lo.held, latch]
    latch    lo.held = select live.next, lo.next, lo
    """
    module, function = parsed(BISECTION)
    (summary,) = make_loops_uniform(module, function, EveryBranch(), lambda value: True)
    verify(module)
    assert summary.trackers == 0
    golden(write_function(function), "held.ll")
    module, function = parsed(BISECTION)
    (summary,) = make_loops_uniform(module, function, EveryBranch(), lambda value: value.name != "lo")
    assert summary.trackers == 1


def test_a_cast_of_such_a_value_is_made_behind_the_loop():
    text = BISECTION.replace("i32 @bisection", "i64 @bisection").replace(
        "%open = icmp", "%wide = sext i32 %lo to i64\n  %open = icmp"
    )
    text = text.replace("%found = phi i32 [ %lo,", "%found = phi i64 [ %wide,").replace("ret i32", "ret i64")
    module, function = parsed(text)
    check_chain(module, "bisection", returned("bisection", [LANES * 9, 20], WIDTH), analysed(WIDTH))
    (cast,) = [i for i in function.instructions() if i.op == "sext" and i.users]
    assert cast.block is not None and cast.block.name == "H.dispatch"


NEWTON = """
define float @root(i32 %t, i32 %n) {
P:
  %square = uitofp i32 %t to float
  br label %H
H:
  %x = phi float [ 1.5, %P ], [ %x.next, %B ]
  %sum = phi float [ 0.0, %P ], [ %sum.next, %B ]
  %i = phi i32 [ 0, %P ], [ %i.next, %B ]
  %x.x = fmul float %x, %x
  %error = fsub float %x.x, %square
  %size = call float @llvm.fabs.f32(float %error)
  %done = fcmp CONDITION
  br i1 %done, label %X, label %B
B:
  %twice = fadd float %x, %x
  %step = fdiv float %error, %twice
  %x.next = fsub float %x, %step
  %sum.next = fadd float %sum, %x
  %i.next = add i32 %i, 1
  br label %H
X:
  %out = phi float [ %sum, %H ]
  ret float %out
}
declare float @llvm.fabs.f32(float) nounwind willreturn memory(none)
"""


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        ("olt float %size, 0.0625", ["x.held"]),
        ("ogt float 0.0625, %size", ["x.held"]),
        ("ole float %size, %square", ["x.held"]),
        ("ole float %error, %square", []),
        ("olt float %error, 2.0", []),
        ("ogt float %size, 0.0625", []),
    ],
)
def test_numbers_that_go_to_zero_stay_as_they_are_in_lanes_that_have_left(condition: str, kept: list[str]):
    """Otherwise products of them become subnormal, for which processors take hundreds of cycles."""
    module, function = parsed(NEWTON.replace("CONDITION", condition))
    (summary,) = make_loops_uniform(module, function, EveryBranch(), lambda value: value.name != "i")
    verify(module)
    assert [i.name for i in function.instructions() if (i.name or "").endswith(".held")] == kept
    assert summary.trackers == 1
    if kept and "0.0625" in condition:
        module, function = parsed(NEWTON.replace("CONDITION", condition))
        check_chain(module, "root", returned("root", [LANES + 1, 20], WIDTH), analysed(WIDTH))


def test_fig_9_1_and_9_2_a_loop_with_one_exit(golden):
    r"""
    P                 P
    |                 |
    H<-+           H.live<----+
    |\ |            |    \    |
    X B+    ==>     |     H?  |
                    |    / \  |
                    |   E   B |
                    |    \ /  |
                    |  latch--+
                 dispatch
                    |
                    X
    """
    golden(both_steps(FIG_9_1), "fig_9_2.ll")


def test_fig_9_3_a_loop_with_two_exits(golden):
    r"""
      P                 P
      |                 |
      H?<--+         H.live<-----+
     / \   |          |   \      |
    X1  B? |          |    H?    |
    |  / \ |   ==>    |   / \    |
    | X2  L+          |  E1  B?  |
     \ |              |  |  / \  |
       R              |  | E2  L |
                      |   \ | /  |
                      |   latch--+
                   dispatch
                     /  \
                    X1   X2
                     \  /
                      R
    """
    golden(both_steps(FIG_9_3), "fig_9_3.ll")


def test_an_exit_that_all_live_threads_take_stays_an_exit(golden):
    golden(both_steps(COUNTED, uniform="H"), "uniform_exit.ll")


def test_a_complex_loop_nest_with_an_exit_to_two_depths(golden):
    golden(both_steps(NESTED), "nested.ll")


def test_a_uniform_loop_that_some_threads_run_is_guarded(golden):
    r"""
    entry?            entry
    |   \               |
    P    |              P----+      any(mask)
    |    |    ==>       |    |
    H<+  |              H<+ skip
    |-+  |              |-+  |
    X    |              X----+
     \  /               |
     join              join
    """
    golden(both_steps(GUARDED, uniform="H"), "guarded.ll")


@pytest.mark.spread
@pytest.mark.parametrize("text", [FIG_9_1, FIG_9_3, COUNTED, NESTED, GUARDED, BISECTION])
@pytest.mark.parametrize("n", [1, 6, 13])
def test_the_examples_keep_their_results(text: str, n: int):
    for facts in (lambda function: EveryBranch(), analysed(WIDTH)):
        module, function = parsed(text)
        check_chain(module, function.name, returned(function.name, [LANES, n], WIDTH), facts)


def test_no_thread_in_a_uniform_loop_means_that_it_is_skipped():
    """With n = 0 the loop would count through all numbers; no thread has t > 5, so it must not run."""
    module, function = parsed(GUARDED)
    run = returned(function.name, [LANES % 4, 0], WIDTH)
    check_chain(module, function.name, run, analysed(WIDTH))


def test_counters_stay_uniform_and_only_what_leaves_is_blended():
    module, function = parsed(COUNTED)
    facts = analysed(WIDTH)
    make_loops_uniform(module, function, facts(function))
    after = facts(function)
    named = {i.name: i for i in function.instructions()}
    assert after.is_uniform(named["i"]) and after.is_uniform(named["i.next"])
    assert not after.is_uniform(named["where"])


def test_masks_are_combined_without_and():
    """An ``and`` with a condition that is poison in passive threads would make the mask poison."""
    for text in (FIG_9_1, FIG_9_3, COUNTED, NESTED, GUARDED):
        module, function = parsed(text)
        make_loops_uniform(module, function, EveryBranch())
        linearize(function, EveryBranch())
        masks = [b.predicate for b in function.blocks if b.predicate is not None]
        work = list(masks)
        seen = set(work)
        while work:
            mask = work.pop()
            if isinstance(mask, Instruction) and mask.op in ("select", "phi"):
                fresh = [v for v in mask.used_values() if v not in seen]
                seen.update(fresh)
                work.extend(fresh)
        assert not [v for v in seen if isinstance(v, Instruction) and v.op in ("and", "or")]


def test_what_stands_behind_a_break_runs_once_for_all_threads_that_took_it():
    """Threads leave in different iterations; ``ballot`` behind the loop sees them together."""
    text = """
    define i64 @behind(i32 %t, i32 %n) {
    P:
      br label %H
    H:
      %i = phi i32 [ 0, %P ], [ %i.next, %L ]
      %found = icmp eq i32 %i, %t
      br i1 %found, label %break, label %L
    L:
      %i.next = add i32 %i, 1
      %more = icmp slt i32 %i.next, %n
      br i1 %more, label %H, label %X
    break:
      %even.bit = and i32 %t, 1
      %even = icmp eq i32 %even.bit, 0
      %together = call i64 @weft.ballot(i1 %even)
      br label %R
    X:
      br label %R
    R:
      %r = phi i64 [ %together, %break ], [ -1, %X ]
      ret i64 %r
    }
    """
    module, function = parsed(text)
    run = returned(function.name, [LANES, 6], WIDTH)
    assert run(module, "FR") == [0b010101] * 6 + [(1 << 64) - 1] * 2
    check_chain(module, function.name, run, analysed(WIDTH))


def test_threads_that_do_not_reach_the_loop_are_not_live_in_it():
    module, function = parsed(GUARDED)
    for active in ([0, 0, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 1, 0]):
        module, function = parsed(GUARDED)
        run = returned(function.name, [LANES, 4], WIDTH, np.array(active, bool))
        check_chain(module, function.name, run, lambda function: EveryBranch())
