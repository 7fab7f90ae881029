"""Loops that threads leave in the order of their lanes: copies without masks for full lane groups."""

import textwrap

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from transform.chain import check_chain, returned
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.shapes import domain_named
from weft.graph.loops import loop_forest
from weft.ir import Function, Module
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function, write_module
from weft.transform.loops.full_groups import run_full_groups

WIDTH = 8
LANES = np.arange(WIDTH)

TOP = """
define i32 @walk(i32 %t, i32 %n, i32 %step) {
P:
  br label %H
H:
  %i = phi i32 [ %t, %P ], [ %next, %B ]
  %s = phi i32 [ 0, %P ], [ %more, %B ]
  %c = icmp slt i32 %i, %n
  br i1 %c, label %B, label %X
B:
  %more = add i32 %s, %i
  %next = add i32 %i, %step
  br label %H
X:
  %out = phi i32 [ %s, %H ]
  ret i32 %out
}
"""

BOTTOM = """
define i32 @walk(i32 %t, i32 %n, i32 %step) {
P:
  br label %H
H:
  %i = phi i32 [ %t, %P ], [ %next, %H ]
  %s = phi i32 [ 0, %P ], [ %more, %H ]
  %more = add i32 %s, %i
  %next = add i32 %i, %step
  %c = icmp sge i32 %next, %n
  br i1 %c, label %X, label %H
X:
  %out = phi i32 [ %more, %H ]
  ret i32 %out
}
"""


TWO = """
define i32 @walk(i32 %t, i32 %n, i32 %step) {
P:
  br label %H
H:
  %i = phi i32 [ %t, %P ], [ %next, %H ]
  %next = add i32 %i, %step
  %c = icmp sge i32 %next, %n
  br i1 %c, label %Q, label %H
Q:
  %s = phi i32 [ %next, %H ]
  br label %L
L:
  %j = phi i32 [ %t, %Q ], [ %after, %M ]
  %sum = phi i32 [ %s, %Q ], [ %more, %M ]
  %d = icmp slt i32 %j, %n
  br i1 %d, label %M, label %X
M:
  %more = add i32 %sum, %j
  %after = add i32 %j, %step
  br label %L
X:
  %out = phi i32 [ %sum, %L ]
  ret i32 %out
}
"""


def facts(stride: int):
    def analyze(function: Function) -> Divergence:
        domain = domain_named("product", (WIDTH,))
        shapes = {a: domain.strided(stride if a.name == "t" else 0, 32, 1, False) for a in function.args}
        return analyze_divergence(function, domain=domain, initial=shapes, width=WIDTH)

    return analyze


def parsed(text: str) -> tuple[Module, Function]:
    module = read_module(textwrap.dedent(text))
    return module, next(module.definitions())


def transformed(module: Module, function: Function, stride: int) -> int:
    analyze = facts(stride)
    copies = len(run_full_groups(function, analyze(function), lambda: analyze(function), WIDTH))
    verify(module)
    return copies


@pytest.mark.parametrize(("text", "name"), [(TOP, "full_top.ll"), (BOTTOM, "full_bottom.ll")])
def test_the_copy_runs_while_the_last_lane_stays(golden, text: str, name: str):
    module, function = parsed(text)
    assert transformed(module, function, 1) == 1
    golden(write_function(function), name)


@pytest.mark.parametrize("text", [TOP, BOTTOM])
def test_the_copy_is_uniform_and_the_loop_goes_on_divergent(text: str):
    module, function = parsed(text)
    transformed(module, function, 1)
    divergence = facts(1)(function)
    view = cfg_of(function)
    divergent = {
        view.blocks[loop.header].name: divergence.is_divergent_loop(view.blocks[loop.header])
        for loop in loop_forest(view.cfg).loops
    }
    assert divergent == {"H": True, "H.full": False}


@pytest.mark.parametrize("n", [-3, 2, 9, 30])
def test_loops_apart_from_each_other_are_found_by_one_analysis(n: int):
    module, function = parsed(TWO)
    run = returned("walk", [LANES, n, 8], WIDTH)
    expected = run(module, "FR")
    assert len(run_full_groups(function, facts(1)(function), lambda: pytest.fail("once more"), WIDTH)) == 2
    verify(module)
    assert run(module, "FR") == expected


PREDICATES = {
    "slt": np.less, "sle": np.less_equal, "sgt": np.greater, "sge": np.greater_equal,
    "ult": np.less, "ule": np.less_equal, "ugt": np.greater, "uge": np.greater_equal,
}  # fmt: skip
EDGES = [-(1 << 31), -(1 << 31) + 5, -20, -3, 0, 2, 20, (1 << 31) - 9, (1 << 31) - 1]
MOST = 30


@given(
    predicate=st.sampled_from(sorted(PREDICATES)),
    bottom=st.booleans(),
    one_block=st.booleans(),
    swapped=st.booleans(),
    moves=st.sampled_from([0, 0, 1, -5]),
    stride=st.sampled_from([1, 2, -1, -3, 1 << 20]),
    start=st.sampled_from(EDGES) | st.integers(-40, 40),
    bound=st.sampled_from(EDGES) | st.integers(-40, 40),
    step=st.sampled_from([1, 8, 64, -1, -9, 1 << 29]),
    active=st.integers(1, (1 << WIDTH) - 1),
)
def test_what_threads_compute_is_the_same_and_numbers_that_wrap_have_no_order(
    predicate: str, bottom: bool, one_block: bool, swapped: bool, moves: int, stride: int, start: int, bound: int,
    step: int, active: int,
):  # fmt: skip
    lanes = (start + stride * LANES.astype(np.int64)).astype(np.int32)
    assume(_all_leave(predicate, bottom, swapped, moves, lanes, bound, step))
    number = "%next" if bottom else "%i"
    test = f"""
      %limit = add i32 %n, {"%moved" if moves else "0"}
      %in = icmp {predicate} i32 {f"%limit, {number}" if swapped else f"{number}, %limit"}
      br i1 %in, label %{"H" if bottom else "B"}, label %X"""
    text = f"""
    define i32 @walk(i32 %t, i32 %n, i32 %step) {{
    P:
      br label %H
    H:
      %i = phi i32 [ %t, %P ], [ %next, %B ]
      %moved = phi i32 [ 0, %P ], [ %moves, %B ]
      %s = phi i32 [ 1, %P ], [ %more, %B ]
      {"br label %B" if bottom else test}
    B:
      %odd = mul i32 %s, 31
      %more = add i32 %odd, %i
      %next = add i32 %i, %step
      %moves = add i32 %moved, {moves}
      {test if bottom else "br label %H"}
    X:
      %out = phi i32 [ {"%more, %B" if bottom else "%s, %H"} ]
      ret i32 %out
    }}
    """
    if bottom and one_block:
        text = text.replace("br label %B\n    B:", "").replace("%B", "%H")
    module, function = parsed(text)
    run = returned("walk", [lanes, bound, step], WIDTH, np.array([bool(active >> k & 1) for k in range(8)]))
    expected, before = run(module, "FR"), write_module(module)
    assert transformed(module, function, stride) == 1, before
    assert run(module, "FR") == expected, before + write_module(module)
    check_chain(module, "walk", run, facts(stride))


def _all_leave(
    predicate: str, bottom: bool, swapped: bool, moves: int, lanes: np.ndarray, bound: int, step: int
) -> bool:
    """Whether all threads leave the loop after a few iterations."""
    kind = np.uint32 if predicate[0] == "u" else np.int32
    i, stay = lanes.astype(np.int64), np.ones(WIDTH, bool)
    for k in range(MOST):
        tested = (i + step if bottom else i).astype(np.int32).astype(kind)
        limit = np.int64(bound + moves * k).astype(np.int32).astype(kind)
        holds = PREDICATES[predicate](*((limit, tested) if swapped else (tested, limit)))
        stay &= holds
        i += step
    return not stay.any()


CHUNKS = """
define i32 @walk(i32 %t, i32 %n, i32 %step) {{
P:
  %behind = add i32 %t, {chunk}
  %end = call i32 @llvm.{kind}min.i32(i32 {least})
  br label %H
H:
  %i = phi i32 [ %t, %P ], [ %next, %B ]
  %s = phi i32 [ 1, %P ], [ %more, %B ]
  %c = icmp {predicate} i32 {compared}
  br i1 %c, label %B, label %X
B:
  %odd = mul i32 %s, 31
  %more = add i32 %odd, %i
  %next = add i32 %i, %step
  br label %H
X:
  %out = phi i32 [ %s, %H ]
  ret i32 %out
}}
declare i32 @llvm.smin.i32(i32, i32)
declare i32 @llvm.umin.i32(i32, i32)
"""


def chunks(
    predicate: str, kind: str, chunk: int, swapped: bool = False, least: str = "%n, i32 %behind"
) -> str:
    compared, condition = "%i, %end", predicate
    if swapped:
        words = predicate.split()
        words[-1] = words[-1].replace("l", "g")
        compared, condition = "%end, %i", " ".join(words)
    return CHUNKS.format(chunk=chunk, kind=kind, predicate=condition, compared=compared, least=least)


@given(
    kind=st.sampled_from("su"),
    equal=st.booleans(),
    swapped=st.booleans(),
    stride=st.sampled_from([1, 4, -3, 4096, 1 << 20]),
    start=st.sampled_from(EDGES) | st.integers(-40, 40),
    bound=st.sampled_from(EDGES) | st.integers(-40, 40),
    chunk=st.sampled_from(EDGES) | st.integers(-3, 40),
    step=st.sampled_from([1, 2, 7, 1 << 29]),
    active=st.integers(1, (1 << WIDTH) - 1),
)
def test_each_of_the_numbers_is_a_bound_of_which_one_is_the_least(
    kind: str,
    equal: bool,
    swapped: bool,
    stride: int,
    start: int,
    bound: int,
    chunk: int,
    step: int,
    active: int,
):
    lanes = (start + stride * LANES.astype(np.int64)).astype(np.int32)
    predicate = f"{kind}l{'e' if equal else 't'}"
    number = np.uint32 if kind == "u" else np.int32
    behind = (lanes.astype(np.int64) + chunk).astype(np.int32).astype(number)
    ends = np.minimum(behind, np.int64(bound).astype(np.int32).astype(number))
    assume(_all_leave_before(predicate, lanes, ends, step))
    module, function = parsed(chunks(predicate, kind, chunk, swapped))
    run = returned("walk", [lanes, bound, step], WIDTH, np.array([bool(active >> k & 1) for k in range(8)]))
    expected, before = run(module, "FR"), write_module(module)
    assert transformed(module, function, stride) == 1, before
    assert run(module, "FR") == expected, before + write_module(module)
    check_chain(module, "walk", run, facts(stride))


def _all_leave_before(predicate: str, lanes: np.ndarray, ends: np.ndarray, step: int) -> bool:
    i, stay = lanes.astype(np.int64), np.ones(WIDTH, bool)
    for _ in range(MOST):
        stay &= PREDICATES[predicate](i.astype(np.int32).astype(ends.dtype), ends)
        i += step
    return not stay.any()


@pytest.mark.parametrize(
    ("predicate", "kind", "copies"),
    [
        ("slt", "s", 1),
        ("samesign ult", "s", 1),
        # Which number is the least depends on the order, as long as their signs may differ.
        ("ult", "s", 0),
        ("slt", "u", 0),
        # No lane's number is beyond both bounds if it is beyond the greatest.
        ("sgt", "s", 0),
    ],
)
def test_the_least_number_in_the_order_of_the_comparison(predicate: str, kind: str, copies: int):
    module, function = parsed(chunks(predicate, kind, 20))
    run = returned("walk", [4 * LANES, 30, 3], WIDTH)
    expected = run(module, "FR") if "gt" not in predicate else None
    assert transformed(module, function, 4) == copies
    assert expected is None or run(module, "FR") == expected


def test_several_uniform_bounds_and_others_that_move_otherwise_are_no_such_bounds():
    both = "  %both = call i32 @llvm.smin.i32(i32 %behind, i32 %step)\n"
    text = chunks("slt", "s", 20, least="%n, i32 %both").replace("  %end =", both + "  %end =")
    module, function = parsed(text)
    assert transformed(module, function, 4) == 0
    text = chunks("slt", "s", 20).replace("%behind = add i32 %t, 20", "%behind = mul i32 %t, 20")
    module, function = parsed(text)
    assert transformed(module, function, 4) == 0
