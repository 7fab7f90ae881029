"""Stores that go behind their loop: when they may, what stands in their place, and that results stay."""

import numpy as np
import pytest

from weft import cuda
from weft.analysis.divergence import analyze_divergence
from weft.ir import FALSE, TRUE, Function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.transform.scalar_replacement.notes import Note
from weft.transform.scalar_replacement.policy import POLICIES, PolicyName
from weft.transform.scalar_replacement.replacement import replace_loads

DECLARATIONS = """
declare void @weft.barrier() convergent nounwind willreturn
declare void @may.end() memory(none)
declare float @reads(ptr) nounwind willreturn memory(read)
declare float @pure(float) nounwind willreturn memory(none)
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
    assert any("done once, behind the loop" in r.message for r in kernel.remarks)
