"""Stores that go behind their loop: when they may, what stands in their place, and that results stay."""

import numpy as np
import pytest

from codegen.machine_code import AVX2, compile_kernel
from weft import cuda
from weft.analysis.divergence import analyze_divergence
from weft.graph.loops import loop_forest
from weft.ir import FALSE, TRUE, Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.switches import Switches
from weft.target.machine import TargetSpec
from weft.transform.scalar_replacement.notes import Note
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName
from weft.transform.scalar_replacement.replacement import replace_loads

DECLARATIONS = """
declare void @weft.barrier() convergent nounwind willreturn
declare void @may.end() memory(none)
declare float @reads(ptr) nounwind willreturn memory(read)
declare float @pure(float) nounwind willreturn memory(none)
"""


COUNTS = """
define void @kernel(ptr %out, i32 %u) "weft.kernel" nounwind {
entry:
  %tid = call i64 @weft.local.id(i32 0)
  %t = trunc i64 %tid to i32
  %most = urem i32 %t, 5
  %far = getelementptr i32, ptr %out, i64 16
  %place = getelementptr i32, ptr %far, i64 %tid
  %here = getelementptr i32, ptr %out, i64 %tid
  br label %again
again:
  %k = phi i32 [ 0, %entry ], [ %next, %again ]
  %next = add nuw nsw i32 %k, 1
  store i32 %u, ptr %place, align 4
  %more = icmp ult i32 %next, %most
  br i1 %more, label %again, label %end
end:
  store i32 %next, ptr %here, align 4
  ret void
}
declare i64 @weft.local.id(i32)
"""

NESTED = """
define void @f(ptr noalias %a, ptr noalias %b, i64 %n, i64 %t) {
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.latch ]
  %p = getelementptr float, ptr %a, i64 %i
  br label %inner
inner:
  %j = phi i64 [ 0, %outer ], [ %j.next, %inner.latch ]
  store float 1.0, ptr %p
  %leave = icmp eq i64 %j, %t
  br i1 %leave, label %left, label %inner.latch
inner.latch:
  %j.next = add nsw i64 %j, 1
  %more = icmp slt i64 %j.next, %n
  br i1 %more, label %inner, label %outer.latch
outer.latch:
  %j.inner = phi i64 [ %j.next, %inner.latch ]
  %q = getelementptr i64, ptr %b, i64 %j.inner
  store i64 %j.inner, ptr %q
  %i.next = add nsw i64 %i, 1
  %on = icmp slt i64 %i.next, %n
  br i1 %on, label %outer, label %exit
left:
  %i.left = phi i64 [ %i, %inner ]
  store i64 %i.left, ptr %b
  ret void
exit:
  ret void
}
"""


def loop(body: str, then: str = "") -> str:
    """A loop that tests at its head; `a` and `b` are apart, `c` may lead anywhere."""
    return f"""
define void @f(ptr noalias %a, ptr noalias %b, ptr %c, i64 %n, i64 %t, i1 %d) {{
entry:
  %p = getelementptr float, ptr %c, i64 %t
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %exit
body:
  %q = getelementptr float, ptr %a, i64 %i
  {body}
  br i1 %d, label %then, label %latch
then:
  {then}
  br label %latch
latch:
  %next = add nsw i64 %i, 1
  br label %head
exit:
  ret void
}}
{DECLARATIONS}"""


def sunk(text: str) -> tuple[int, Function]:
    """How many stores are sunk, and the function."""
    module = read_module(text)
    function = next(module.definitions())
    summary = replace_loads(
        function, POLICIES[PolicyName.SSRQP], lambda: analyze_divergence(function, width=8)
    )
    verify(module)
    assert (Note.SUNK in [n.kind for n in summary.notes]) == bool(summary.sunk)
    return summary.sunk, function


def stores(function: Function) -> list[str]:
    return [b.name for b in function.blocks for i in b if i.op == "store"]


def test_behind_a_loop_that_may_run_no_iteration_the_store_is_guarded() -> None:
    count, function = sunk(loop("store float 1.0, ptr %p"))
    assert count == 1 and stores(function) == ["head.stores"]
    flag = next(i for i in function.instructions() if i.is_phi and i.type.bits == 1)
    assert set(flag.operands) == {TRUE, FALSE}


def test_where_each_iteration_stores_before_the_loop_is_left_there_is_no_guard() -> None:
    text = loop("store float 1.0, ptr %p").replace("br label %head\nhead", "br label %latch\nhead")
    text = text.replace("%i = phi i64 [ 0, %entry ], [ %next, %latch ]", "%i = add i64 %j, 0")
    text = text.replace("latch:\n", "latch:\n  %j = phi i64 [ 0, %entry ], [ %i, %then ], [ %i, %body ]\n")
    text = text.replace("latch:\n", "latch:\n", 1).replace(
        "%next = add nsw i64 %i, 1\n", "store float 2.0, ptr %p\n"
    )
    text = text.replace("%i = add i64 %j, 0", "%i = add nsw i64 %j, 1")
    count, function = sunk(text)
    assert count == 2 and stores(function) == ["head.leaves"]


def test_stores_in_arms_are_done_by_the_threads_that_did_one() -> None:
    count, function = sunk(loop("%x = load float, ptr %q", "store float %x, ptr %p"))
    assert count == 1 and stores(function) == ["head.stores"]


def test_the_value_that_a_replaced_load_has_is_carried_once() -> None:
    text = loop(
        "%x = load float, ptr %b\n%y = load float, ptr %q\n%z = fadd float %x, %y\nstore float %z, ptr %b"
    )
    count, function = sunk(text)
    assert count == 1
    head = next(b for b in function.blocks if b.name == "head")
    assert sum(phi.type.is_float for phi in head.phis()) == 1


@pytest.mark.parametrize(
    ("between", "sinks"),
    [
        ("%v = load float, ptr %q", True),
        ("%v = load float, ptr %c", False),
        ("store float 2.0, ptr %q", True),
        ("store float 2.0, ptr %c", False),
        ("store i8 1, ptr %p", False),
        ("store volatile float 2.0, ptr %a", False),
        ("call void @weft.barrier()", False),
        ("call void @may.end()", False),
        ("%v = call float @reads(ptr %a)", False),
        ("%v = call float @pure(float 1.0)", True),
        ("fence acquire", False),
        ("%v = atomicrmw add ptr %a, i32 1 monotonic", True),
        ("%v = atomicrmw add ptr %a, i32 1 acq_rel", False),
        ("%v = load atomic i32, ptr %c monotonic, align 4", False),
    ],
)
def test_what_reads_changes_or_shows_the_place_keeps_stores_in_the_loop(between: str, sinks: bool) -> None:
    assert bool(sunk(loop(f"store float 1.0, ptr %p\n{between}"))[0]) is sinks


def test_places_that_change_stay() -> None:
    assert sunk(loop("store float 1.0, ptr %q"))[0] == 0


def sums(a, out, n):
    t = cuda.grid(1)
    if t < out.size:
        out[t] = 1
        for i in range(t % n):
            if a[i, t] > 0.5:
                out[t] += a[i, t]


def test_threads_that_leave_apart_and_store_at_times_get_the_same() -> None:
    a = np.random.default_rng(1).random((16, 100), np.float32)
    given = np.arange(100, dtype=np.float32)
    results = []
    for policy in ("off", "ssrqp"):
        out = given.copy()
        kernel = cuda.jit(scalar_replacement=policy)(sums)
        kernel[4, 32](a, out, 16)
        results.append(out)
    np.testing.assert_array_equal(*results)
    # Where masked stores are taken apart, a store under a mask stays where it is.
    sinks = "avx" in TargetSpec.chosen().isa.features
    assert any("done once, behind the loop" in r.message for r in kernel.remarks) == sinks


@pytest.mark.parametrize("policy", ["off", "srqp", "ssrqp"])
def test_what_threads_leave_a_loop_with_stays_their_own_where_its_stores_are_sunk(policy: str) -> None:
    """The block that stores is the exit then, and has to have the φs of the one that was."""
    code = compile_kernel(COUNTS, 4, AVX2, level=0, switches=Switches(scalar_replacement=policy))
    out = np.zeros(32, np.int32)
    code((out, 7), 16)
    np.testing.assert_array_equal(out, [*(max(t % 5, 1) for t in range(16)), *[7] * 16])


def test_loops_are_closed_where_stores_leave_several() -> None:
    count, function = sunk(NESTED)
    assert count == 1
    view = cfg_of(function)
    loops = loop_forest(view.cfg).loops
    assert len(loops) == 2
    for loop in loops:
        inside = {view.blocks[b] for b in loop.blocks}
        for value in (i for block in inside for i in block):
            for user in value.instruction_users():
                assert user.block in inside or (user.is_phi and set(user.blocks) <= inside), (value, user)
