"""Rows of lanes' own: accessed strip by strip where nothing can tell."""

import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.loops.row_strips import LINE, StripsFound, row_strips
from weft.analysis.shapes import Shape, domain_named
from weft.interp import Memory, Program, run_function
from weft.ir import Function, Module, Value
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function, write_module
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.strips_of_rows import access_in_strips

WIDTH = 4
STRIP = LINE // 4
ROW = 3 * STRIP
"""Elements from one thread's row to the next one's."""

TOP = """
define void @k(ptr %z, ptr %out, i64 %t, i64 %n, i64 %m) "weft.kernel" "weft.arrays.apart" {{
entry:
  br label %head
head:
  %j = phi i64 [ {start}, %entry ], [ %j.next, %latch ]
  %s = phi i32 [ 1, %entry ], [ %s.next, %latch ]
  %again = icmp slt i64 %j, {bound}
  br i1 %again, label %body, label %done
body:
  {body}
latch:
  %s.odd = mul i32 %s, 31
  %s.next = add i32 %s.odd, %e
  {store}
  %j.next = add nsw i64 %j, {step}
  br label %head
done:
  %s.out = phi i32 [ %s, %head ]
  %last = getelementptr i32, ptr %out, i64 %t
  store i32 %s.out, ptr %last
  ret void
}}
"""
"""
    entry ─▶ head ⇄ latch
              │ ╲     ▲
              │  ▶ body
              ▼
            done
"""

LOAD = f"""%row = mul nsw i64 %t, {ROW}
  %place = add nsw i64 %row, %j
  %at = getelementptr i32, ptr %z, i64 %place
  %e = load i32, ptr %at
  br label %latch"""

STORE = f"""%o.row = mul nsw i64 %t, {ROW}
  %o.place = add nsw i64 %o.row, %j
  %o.behind = add nsw i64 %o.place, {WIDTH}
  %o.at = getelementptr i32, ptr %out, i64 %o.behind
  store i32 %s.next, ptr %o.at"""

IN_PLACE = "store i32 %s.next, ptr %at"

PLAIN = {"start": "0", "bound": "%n", "step": "1", "body": LOAD, "store": STORE}

DECLARED = """
declare void @weft.barrier()
declare void @unknown()
declare void @leave() memory(none)
"""


def turned(text: str) -> str:
    """The loop, tested at its end: it runs at least once."""
    text = text.replace(
        "  %again = icmp slt i64 %j,", "  br label %body\nnever:\n  %again = icmp slt i64 %j,"
    )
    bound = text.split("%again = icmp slt i64 %j, ")[1].split("\n")[0]
    text = text.replace(
        f"never:\n  %again = icmp slt i64 %j, {bound}\n  br i1 %again, label %body, label %done\n", ""
    )
    text = text.replace(
        "  br label %head\ndone",
        f"  %again = icmp slt i64 %j.next, {bound}\n  br i1 %again, label %head, label %done\ndone",
    )
    return text.replace("[ %s, %head ]", "[ %s.next, %latch ]")


def parsed(ending: bool = False, **parts: str) -> tuple[Module, Function]:
    text = textwrap.dedent(TOP.format(**{**PLAIN, **parts})) + DECLARED
    module = read_module(turned(text) if ending else text)
    verify(module)
    return module, module.functions["k"]


def facts(function: Function) -> Divergence:
    domain = domain_named("product", (WIDTH,))
    initial: dict[Value, Shape] = {a: domain.uniform(64, 1) for a in function.args}
    initial[function.args[2]] = domain.strided(1, 64, 1)
    initial[function.args[4]] = domain.varying(64)
    return analyze_divergence(function, domain=domain, initial=initial, width=WIDTH)


def found(function: Function) -> StripsFound:
    return row_strips(facts(function))


def cut(module: Module, function: Function) -> int:
    """How many accesses go in strips."""
    strips = found(function).strips
    access_in_strips(function, strips)
    verify(module)
    assert is_loop_closed(function)
    return sum(len(each.accesses) for each in strips)


def run(module: Module, n: int, active: int, semantics: str = "FR") -> object:
    memory = Memory()
    z = np.random.default_rng(5).integers(0, 1 << 20, WIDTH * ROW).astype(np.int32)
    out = np.zeros(WIDTH + WIDTH * ROW, np.int32)
    mask = np.array([bool(active >> k & 1) for k in range(WIDTH)])
    arguments = [memory.map_array(z), memory.map_array(out), np.arange(WIDTH), n, np.arange(WIDTH)]
    run_function(
        Program(module), "k", arguments, WIDTH, semantics=semantics, memory=memory, active=mask,
        step_limit=200_000,
    )  # fmt: skip
    return z.tolist(), out.tolist()


def test_rows_are_loaded_and_stored_a_line_at_a_time(golden):
    module, function = parsed()
    assert cut(module, function) == 2
    golden(write_function(function), "strips_of_rows.ll")


def test_a_loop_tested_at_its_end_keeps_an_iteration(golden):
    module, function = parsed(ending=True)
    assert cut(module, function) == 2
    golden(write_function(function), "strips_of_rows_turned.ll")


LESS = STORE.replace(f"%o.place, {WIDTH}", "%o.place, 0")
BEFORE = LESS.replace("ptr %out", "ptr %z").replace("%o.place, 0", "%o.place, 1")
CONDITIONAL = f"""%odd = trunc i64 %j to i1
  br i1 %odd, label %take, label %latch
take:
  {LOAD.replace("%e = load", "%loaded = load")}"""

REFUSED = {
    "lanes are neighbours": {"body": LOAD.replace(f"%t, {ROW}", "%t, 1"), "store": ""},
    "lanes are close": {"body": LOAD.replace(f"%t, {ROW}", "%t, 4"), "store": ""},
    "lanes read one row": {"body": LOAD.replace(f"%t, {ROW}", f"%n, {ROW}"), "store": ""},
    "elements are not neighbours": {"step": "2", "store": ""},
    "rows are read backwards": {"body": LOAD.replace("add nsw i64 %row, %j", "sub nsw i64 %row, %j"), "store": ""},
    "the row differs from iteration to iteration": {
        "body": LOAD.replace("mul nsw i64 %t,", "mul nsw i64 %j,"), "store": "",
    },
    "threads have as many iterations as each says": {"bound": "%m"},
    "there are few iterations": {"bound": str(2 * STRIP - 1)},
    "a barrier": {"store": f"{STORE}\n  call void @weft.barrier()"},
    "a call may do anything": {"store": f"{STORE}\n  call void @unknown()"},
    "the program may end": {"body": f"call void @leave()\n  {LOAD}"},
    "volatile": {"body": LOAD.replace("load i32", "load volatile i32"), "store": ""},
    "atomic": {"body": LOAD.replace("load i32, ptr %at", "load atomic i32, ptr %at monotonic, align 4"), "store": ""},
    "the next element is stored to": {"store": BEFORE},
    "bytes": {"body": LOAD.replace("load i32", "load i8").replace("i32, ptr %z", "i8, ptr %z").replace(
        "%e = load i8, ptr %at", "%b = load i8, ptr %at\n  %e = zext i8 %b to i32"), "store": ""},
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_other_rows_stay(why: str):
    _, function = parsed(**REFUSED[why])
    assert not found(function).strips


def test_an_element_under_a_condition_stays():
    text = TOP.format(**{**PLAIN, "body": CONDITIONAL, "store": ""})
    text = text.replace("latch:\n", "latch:\n  %e = phi i32 [ 0, %body ], [ %loaded, %take ]\n")
    module = read_module(text)
    verify(module)
    assert not found(module.functions["k"]).strips


def test_a_row_stored_to_in_place_is_loaded_before():
    module, function = parsed(store=IN_PLACE)
    assert cut(module, function) == 2
    # A store to the element before its load is seen by it.
    body = LOAD.replace("  %e = load", "  store i32 7, ptr %at\n  %e = load")
    _, function = parsed(body=body, store="")
    assert not found(function).strips
    # Nor may two stores to one element change their order.
    _, function = parsed(store=f"{IN_PLACE}\n  store i32 8, ptr %at")
    (strips,) = found(function).strips
    assert [access.op for access in strips.accesses] == ["load"]


def test_arrays_must_be_apart():
    _, function = parsed()
    assert found(function).arrays_apart
    text = TOP.format(**PLAIN).replace('"weft.arrays.apart"', "")
    assert not found(read_module(text).functions["k"]).strips
    text = text.replace("ptr %z, ptr %out", "ptr noalias %z, ptr noalias %out")
    strips = found(read_module(text).functions["k"])
    assert strips.strips and not strips.arrays_apart


def test_loops_behind_guards_are_expected_to_run_in_step():
    guard = (
        "  %mine = icmp slt i64 %t, 3\n  br i1 %mine, label %before, label %out.of\nbefore:\n  br label %head"
    )
    text = TOP.format(**PLAIN).replace("  br label %head\nhead", f"{guard}\nhead", 1)
    text = text.replace("%entry ]", "%before ]").replace(
        "  ret void", "  br label %out.of\nout.of:\n  ret void"
    )
    module = read_module(text)
    verify(module)
    divergence = facts(module.functions["k"])
    assert not row_strips(divergence).strips
    assert row_strips(divergence, behind_guards=True).strips


@given(
    start=st.integers(-2, 5),
    n=st.integers(-3, ROW - WIDTH),
    ending=st.booleans(),
    store=st.sampled_from([STORE, IN_PLACE, ""]),
    active=st.integers(0, (1 << WIDTH) - 1),
)
def test_what_threads_compute_is_the_same(start: int, n: int, ending: bool, store: str, active: int):
    if (ending or n > start) and start < 0:
        return
    module, function = parsed(ending, start=str(start), store=store)
    wanted = run(read_module(write_module(module)), n, active)
    assert cut(module, function) == (2 if store else 1)
    assert run(module, n, active) == wanted
