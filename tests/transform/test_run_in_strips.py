"""A loop of which a part hands something on runs in strips, part by part; what it does stays the same."""

import numpy as np
import pytest

from weft.analysis.loops.counted_loops import CountedLoop, counted_loop
from weft.analysis.loops.loop_parts import Component, LoopBody, assign
from weft.graph.loops import loop_forest
from weft.interp import Memory, run_function
from weft.ir import Function, Instruction
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.loops.close_loops import close_loops, is_loop_closed
from weft.transform.loops.run_in_strips import STRIP, run_in_strips

# The root is taken in lanes, the sum is formed in order, what comes of it is divided in lanes.
#
#   entry ─ loop ─ exit        entry ─ strips ─ exit
#           │  └ body                  │   └ begin ─ loop.part0 ─ loop.part1 ─ loop.part2 ─ end
#           └────┘                     └──────────────────────────────────────────────────┘
PLAIN = """
define double @sum(ptr %x, ptr %y, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %body ]
  %s = phi double [ 1.0, %entry ], [ %s.next, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %exit
body:
  %at = sext i32 %i to i64
  %from = getelementptr double, ptr %x, i64 %at
  %a = load double, ptr %from
  %root = call double @llvm.sqrt.f64(double %a)
  %half = fmul double %s, 5.000000e-01
  %s.next = fadd double %half, %root
  %quotient = fdiv double %root, %s.next
  %to = getelementptr double, ptr %y, i64 %at
  store double %quotient, ptr %to
  %i.next = add nsw i32 %i, 1
  br label %loop
exit:
  ret double %s
}
declare double @llvm.sqrt.f64(double) memory(none) willreturn nounwind
"""

# The condition, and what is chosen under it, is computed in lanes; what it adds to is handed on, under it.
#
#   body ─ some ─ latch
#       └──────────┘
BRANCH = """
define double @sum(ptr %x, ptr %y, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i.next, %latch ]
  %s = phi double [ 1.0, %entry ], [ %s.next, %latch ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %exit
body:
  %at = sext i32 %i to i64
  %from = getelementptr double, ptr %x, i64 %at
  %a = load double, ptr %from
  %root = call double @llvm.sqrt.f64(double %a)
  %low = fcmp olt double %root, 2.000000e+00
  br i1 %low, label %some, label %latch
some:
  %part = fdiv double %root, 3.000000e+00
  %grown = fadd double %s, %part
  br label %latch
latch:
  %s.next = phi double [ %s, %body ], [ %grown, %some ]
  %to = getelementptr double, ptr %y, i64 %at
  %quotient = fdiv double %s.next, %root
  store double %quotient, ptr %to
  %i.next = add nsw i32 %i, 1
  br label %loop
exit:
  ret double %s
}
declare double @llvm.sqrt.f64(double) memory(none) willreturn nounwind
"""

FORMS = {"plain": PLAIN, "branch": BRANCH}


def graph(text: str, before: tuple[tuple[str, str], ...] = (), again: tuple[tuple[str, str], ...] = ()):
    function = read_module(text).functions["sum"]
    close_loops(function)
    view = cfg_of(function)
    (loop,) = loop_forest(view.cfg).loops
    counted = counted_loop(view, loop)
    assert isinstance(counted, CountedLoop), counted
    named = {i.name: i for i in function.instructions()}
    pairs = [[(named[a], named[b]) for a, b in each] for each in (before, again)]
    return function, LoopBody(view, counted, (), *pairs)


def parts_of(body: LoopBody) -> dict[int, list[Instruction]]:
    assert body.build()
    placed = assign(body, body.components(), lambda c: c.in_order)
    parts: dict[int, list[Instruction]] = {}
    for component, number in sorted(placed.items(), key=lambda each: each[1]):
        parts.setdefault(number, []).extend(component.nodes)
    return parts


def in_strips(text: str) -> Function:
    function, body = graph(text)
    run_in_strips(function, body, [body.slice(nodes) for nodes in parts_of(body).values()])
    close_loops(function)
    verify(function)
    assert is_loop_closed(function)
    return function


def ran(function: Function, n: int) -> tuple[np.ndarray, float]:
    x = np.random.default_rng(n).integers(1, 9, max(n, 1)).astype(float)
    y = np.zeros(max(n, 1))
    memory = Memory()
    assert function.module is not None
    arguments = [memory.map_array(x), memory.map_array(y), n]
    result = run_function(function.module, "sum", arguments, 1, memory=memory)
    return y, float(result.value.data[0])


def test_the_graph_of_a_loop() -> None:
    _, body = graph(PLAIN)
    parts = parts_of(body)
    assert {n: [i.name or i.op for i in nodes] for n, nodes in parts.items()} == {
        0: ["root"],
        1: ["s", "half", "s.next"],
        2: ["quotient", "store"],
    }
    first, second, third = (body.slice(nodes) for nodes in parts.values())
    assert [i.name for i in first.given] == []
    assert [i.name for i in second.given] == ["root"]
    assert [i.name for i in third.given] == ["root", "s.next"]


def test_what_decides_goes_with_what_it_decides() -> None:
    _, body = graph(BRANCH)
    parts = parts_of(body)
    names = {n: [i.name or i.op for i in nodes] for n, nodes in parts.items()}
    assert names == {0: ["root", "low", "part"], 1: ["s", "grown", "s.next"], 2: ["quotient", "store"]}
    in_order, behind = (body.slice(parts[n]) for n in (1, 2))
    assert [i.name for i in in_order.given] == ["low", "part"] and len(in_order.branches) == 1
    assert [i.name for i in behind.given] == ["root", "s.next"] and not behind.branches


def test_iterations_that_meet_are_one_component() -> None:
    text = PLAIN.replace("store double %quotient", "%old = load double, ptr %to\n  store double %old")
    _, body = graph(text, (("old", "a"), ("a", "old")))
    assert body.build()
    (component,) = (c for c in body.components() if any(i.name == "a" for i in c.nodes))
    assert component.in_order and {i.name for i in component.nodes} == {"a", "old"}


def test_lanes_of_one_loop_do_not_turn_accesses_around() -> None:
    text = PLAIN.replace("%half = fmul double %s, 5.000000e-01", "%half = fmul double %a, 5.000000e-01")
    _, body = graph(text)
    plain = parts_of(body)
    _, body = graph(text, (("a", "root"),), (("a", "root"),))
    apart = parts_of(body)
    place = {i.name: n for n, nodes in plain.items() for i in nodes}
    assert place["root"] == 0
    place = {i.name: n for n, nodes in apart.items() for i in nodes}
    assert (place["a"], place["root"]) == (0, 2)


@pytest.mark.parametrize("form", FORMS)
def test_the_program(form: str, golden) -> None:
    golden(write_function(in_strips(FORMS[form])), f"strips_{form}.ll")


@pytest.mark.spread
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n", [0, 1, 2, STRIP - 1, STRIP, STRIP + 1, 2 * STRIP, 2 * STRIP + 3])
def test_strips_do_what_the_loop_does(form: str, n: int) -> None:
    wanted, got = ran(graph(FORMS[form])[0], n), ran(in_strips(FORMS[form]), n)
    assert wanted[1] == got[1]
    np.testing.assert_array_equal(wanted[0], got[0])


@pytest.mark.parametrize(
    "more",
    [
        "%y.own = alloca double",
        "%now = load volatile double, ptr %from",
        "%f = call double @unknown(double %a)",
    ],
)
def test_bodies_that_do_more_stay(more: str) -> None:
    text = PLAIN.replace("  %root =", f"  {more}\n  %root =") + "declare double @unknown(double)\n"
    assert not graph(text)[1].build()


def test_a_component_is_known_by_its_nodes() -> None:
    _, body = graph(PLAIN)
    assert body.build()
    assert len(set(body.components())) == len(body.components())
    assert all(isinstance(c, Component) for c in body.components())
