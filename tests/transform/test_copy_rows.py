"""Rows that each thread reads again and again: copied when they are read first."""

import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transform.chain import check_chain
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.loops.reread_rows import LEAST_LENGTH, RereadRows, reread_rows
from weft.analysis.shapes import Shape, domain_named
from weft.interp import Memory, Program, run_function
from weft.ir import Function, Module, Value
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function, write_module
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.copy_rows import copy_rows

WIDTH = 4
ROW = 12
"""Elements from one thread's row to the next one's."""

NEST = """
define void @k(ptr %rows, ptr %out, i64 %t, i64 %m, i64 %n) "weft.kernel" {{
entry:
  br label %outer
outer:
  %i = phi i64 [ 0, %entry ], [ %i.next, %outer.latch ]
  %s = phi i32 [ 0, %entry ], [ %s.row, %outer.latch ]
  %more = icmp slt i64 %i, %m
  br i1 %more, label %before, label %done
before:
  {before}
inner:
  %j = phi i64 [ {start}, %enter ], [ %j.next, %inner.latch ]
  %r = phi i32 [ %s, %enter ], [ %r.next, %inner.latch ]
  %again = icmp {predicate} i64 %j, {bound}
  br i1 %again, label %body, label %left
body:
  {body}
inner.latch:
  %odd = mul i32 %r, 31
  %v = zext i8 {value} to i32
  %r.next = add i32 %odd, %v
  %j.next = add nsw i64 %j, {step}
  br label %inner
left:
  %r.out = phi i32 [ %r, %inner ]
  br label %outer.latch
outer.latch:
  %s.row = phi i32 [ %r.out, %left ]{skipped}
  {latch}
  %i.next = add nsw i64 %i, 1
  br label %outer
done:
  %all = phi i32 [ %s, %outer ]
  %own = getelementptr i32, ptr %out, i64 %t
  store i32 %all, ptr %own
  ret void
}}
"""
"""
    entry ─▶ outer ◀────────────── outer.latch     m times
               │  ╲                     ▲
               ▼   ▶ done               │
             before ─▶ enter ─▶ inner ─▶ left      along the row
                                 │  ▲
                                 ▼  │
                               body ─▶ inner.latch
"""

LOAD = f"""%row = mul nsw i64 %t, {ROW}
  %first = getelementptr i8, ptr %rows, i64 %row
  %at = getelementptr i8, ptr %first, i64 %j
  %e = load i8, ptr %at
  br label %inner.latch"""

PLAIN = {
    "before": "br label %enter\nenter:\n  br label %inner",
    "start": "0",
    "predicate": "slt",
    "bound": "10",
    "body": LOAD,
    "value": "%e",
    "step": "1",
    "skipped": "",
    "latch": "",
}


def parsed(**parts: str) -> tuple[Module, Function]:
    module = read_module(textwrap.dedent(NEST.format(**{**PLAIN, **parts})))
    return module, module.functions["k"]


def facts(function: Function) -> Divergence:
    """Of the kernel in lanes, of which each has its own `n` where it is cut short, and else all have one."""
    domain = domain_named("product", (WIDTH,))
    initial: dict[Value, Shape] = {a: domain.uniform(64, 1) for a in function.args}
    initial[function.args[2]] = domain.strided(1, 64, 1)
    if any(i.name == "short" for i in function.instructions()):
        initial[function.args[3]] = initial[function.args[4]] = domain.varying(64)
    return analyze_divergence(function, domain=domain, initial=initial, width=WIDTH)


def found(function: Function) -> RereadRows:
    return reread_rows(facts(function))


def copied(module: Module, function: Function, room: int = 1 << 14) -> int:
    """How many rows are copied."""
    rows = found(function).fitting(room, WIDTH)
    copy_rows(function, rows)
    verify(module)
    assert is_loop_closed(function)
    return len(rows)


def runs(active: int, m: int | np.ndarray, n: int | np.ndarray):
    """Runs the kernel with rows that end where memory does; what is seen is the output."""

    def run(module: Module, semantics: str) -> object:
        memory = Memory()
        rows = np.random.default_rng(5).integers(0, 256, WIDTH * ROW, np.uint8)
        out = np.zeros(WIDTH, np.int32)
        mask = np.array([bool(active >> k & 1) for k in range(WIDTH)])
        arguments = [memory.map_array(rows), memory.map_array(out), np.arange(WIDTH), m, n]
        run_function(
            Program(module), "k", arguments, WIDTH, semantics=semantics, memory=memory, active=mask,
            step_limit=200_000,
        )  # fmt: skip
        return out.tolist()

    return run


def test_a_row_is_copied_when_it_is_read_first(golden):
    module, function = parsed()
    assert copied(module, function) == 1
    golden(write_function(function), "copy_rows.ll")


def test_of_a_row_of_any_length_the_room_is_asked_for(golden):
    module, function = parsed(bound="%n")
    assert copied(module, function) == 1
    golden(write_function(function), "copy_rows_tested.ll")


def test_a_row_that_does_not_fit_stays():
    module, function = parsed()
    assert copied(module, function, 10 * WIDTH - 1) == 0
    assert copied(module, function, 10 * WIDTH) == 1


@pytest.mark.parametrize("length", [*range(LEAST_LENGTH, 10), 16])
def test_rows_that_fill_memory_are_copied(length: int):
    """Their elements are `length` apart in neighbouring lanes; those of 5 to 8 were gathered lane by lane."""
    text = {"body": LOAD.replace("%t, 12", f"%t, {length}"), "bound": str(length)}
    module, function = parsed(**text)
    assert copied(module, function) == 1


CONDITIONAL = f"""%odd.one = trunc i64 %j to i1
  br i1 %odd.one, label %take, label %inner.latch
take:
  {LOAD.replace("%inner.latch", "%took")}
took:
  br label %inner.latch"""

REFUSED = {
    "the address changes in the outer loop": {"body": LOAD.replace("%t, 12", "%i, 12")},
    "lanes are neighbours": {"body": LOAD.replace("%t, 12", "%t, 1")},
    "lanes are close": {"body": LOAD.replace("%t, 12", "%t, 4")},
    "lanes read one row": {"body": LOAD.replace("%t, 12", "%m, 12")},
    "few elements are written out": {"bound": str(LEAST_LENGTH - 1)},
    "rows end elsewhere in each iteration": {"bound": "%i"},
    "rows begin elsewhere in each iteration": {"start": "%i"},
    "the row is stored to": {
        "latch": "%first.too = getelementptr i8, ptr %rows, i64 %i\n  store i8 7, ptr %first.too"
    },
    "something else is stored to, which may be the row": {"latch": "store i8 7, ptr %out"},
    "others may store behind a barrier": {"latch": "call void @weft.barrier()"},
    "a call may do anything": {"latch": "call void @unknown()"},
    "the program may end before the load": {"body": f"call void @leave()\n  {LOAD}"},
    "elements are loaded under a condition": {
        "body": CONDITIONAL,
        "value": "%chosen",
    },
    "not all iterations read the row": {
        "before": "%odd.row = trunc i64 %i to i1\n  br i1 %odd.row, label %enter, label %outer.latch\n"
        "enter:\n  br label %inner",
        "skipped": ", [ %s, %before ]",
    },
    "a volatile load": {"body": LOAD.replace("load i8", "load volatile i8")},
}
DECLARED = """
declare void @weft.barrier()
declare void @unknown()
declare void @leave() memory(none)
"""


@pytest.mark.parametrize("why", REFUSED)
def test_other_rows_stay(why: str):
    text = NEST.format(**{**PLAIN, **REFUSED[why]})
    if "%chosen" in text:
        chosen = "  %chosen = phi i8 [ 0, %body ], [ %e, %took ]\n"
        text = text.replace("inner.latch:\n", f"inner.latch:\n{chosen}")
    module = read_module(text + DECLARED)
    verify(module)
    assert not found(module.functions["k"]).rows


def test_stores_to_other_objects_do_not_matter():
    latch = "%place = getelementptr i32, ptr %mine, i64 %i\n  store i32 %s.row, ptr %place"
    text = NEST.format(**{**PLAIN, "latch": latch})
    text = text.replace("entry:\n", "entry:\n  %mine = alloca [64 x i32]\n")
    assert found(read_module(text).functions["k"]).rows
    # Arrays are apart where the launcher sees to it.
    text = NEST.format(**{**PLAIN, "latch": "store i8 7, ptr %out"}).replace(
        '"weft.kernel"', '"weft.kernel" "weft.arrays.apart"'
    )
    rows = found(read_module(text).functions["k"])
    assert rows.rows and rows.arrays_apart


SECOND = f"""left:
  %r.out = phi i32 [ %r, %inner ]
  %odd.row = trunc i64 %i to i1
  br i1 %odd.row, label %enter.too, label %join
enter.too:
  br label %inner.too
inner.too:
  %k = phi i64 [ {{start}}, %enter.too ], [ %k.next, %body.too ]
  %q = phi i32 [ %r.out, %enter.too ], [ %q.next, %body.too ]
  %k.more = icmp {{predicate}} i64 %k, {{bound}}
  br i1 %k.more, label %body.too, label %left.too
body.too:
  %row.too = mul nsw i64 %t, {ROW}
  %first.too = getelementptr i8, ptr %rows, i64 %row.too
  %at.too = getelementptr i8, ptr %first.too, i64 %k
  %e.too = load i8, ptr %at.too
  %q.odd = mul i32 %q, 17
  %e.wide = zext i8 %e.too to i32
  %q.next = add i32 %q.odd, %e.wide
  %k.next = add nsw i64 %k, {{step}}
  br label %inner.too
left.too:
  %q.out = phi i32 [ %q, %inner.too ]
  br label %join
join:
  %r.all = phi i32 [ %r.out, %left ], [ %q.out, %left.too ]
  br label %outer.latch
"""
"""Behind the loop along the row, in some iterations, another one along it::

    left ─▶ enter.too ─▶ inner.too ⇄ body.too
      ╲                      ▼
       ╲▶ join ◀──────── left.too
           ▼
       outer.latch
"""


def with_second(text: str, **parts: str) -> str:
    """A nest with the second loop."""
    old = "left:\n  %r.out = phi i32 [ %r, %inner ]\n  br label %outer.latch\n"
    assert old in text
    second = SECOND.format(**{name: parts[name] for name in ("start", "predicate", "bound", "step")})
    return text.replace("[ %r.out, %left ]", "[ %r.all, %join ]").replace(old, second)


def second_reads_copy(text: str) -> bool:
    (row,) = found(read_module(text).functions["k"]).rows
    return len(row.reads) == 2


def test_a_loop_behind_reads_the_copy_too():
    assert second_reads_copy(with_second(NEST.format(**PLAIN), **PLAIN))
    tested = {**PLAIN, "bound": "%n"}
    assert second_reads_copy(with_second(NEST.format(**tested), **tested))


@pytest.mark.parametrize("other", [{"start": "1"}, {"bound": "9"}, {"step": "2"}, {"predicate": "sle"}])
def test_a_loop_behind_with_other_iterations_does_not(other: dict[str, str]):
    text = with_second(NEST.format(**PLAIN), **{**PLAIN, **other})
    rows = found(read_module(text).functions["k"]).rows
    assert [len(row.reads) for row in rows] == [1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%row.too = mul nsw i64 %t, 12", "%row.too = mul nsw i64 %t, 11"),
        ("getelementptr i8, ptr %first.too", "getelementptr i16, ptr %first.too"),
        ("ptr %first.too, i64 %k", "ptr %first.too, i64 %t"),
    ],
)
def test_another_row_is_not_read_from_the_copy(old: str, new: str):
    text = with_second(NEST.format(**PLAIN), **PLAIN)
    assert old in text
    assert not second_reads_copy(text.replace(old, new))


@given(
    start=st.integers(-3, 12),
    bound=st.sampled_from(["%n", "%n", "%short", "-2", "0", "9", "10", "12"]),
    step=st.sampled_from([1, 1, 2, 3, -1, -2]),
    twice=st.booleans(),
    m=st.integers(0, 3),
    n=st.integers(-4, 13),
    room=st.sampled_from([1 << 14, 40 * WIDTH, 9 * WIDTH]),
    active=st.integers(0, (1 << WIDTH) - 1),
    behind=st.booleans(),
)
def test_what_threads_compute_is_the_same(
    start: int, bound: str, step: int, twice: bool, m: int, n: int, room: int, active: int, behind: bool
):
    end = {"%n": n, "%short": 11}.get(bound) or int(bound.strip("%n") or 0)
    places = range(start, end, step)
    if places and not 0 <= min(places) <= max(places) < ROW:
        return
    text = {**PLAIN, "start": str(start), "bound": bound, "step": str(step)}
    text["predicate"] = "slt" if step > 0 else "sgt"
    if twice:
        # What is read twice in an iteration is copied once.
        text["body"] = LOAD.replace("  br", "  %other = load i8, ptr %at\n  %both = mul i8 %e, %other\n  br")
        text["value"] = "%both"
    nest = NEST.format(**text)
    if behind:
        nest = with_second(nest, **text)
    if bound == "%short":
        nest = nest.replace("entry:\n", "entry:\n  %short = and i64 %n, 11\n")
    module = read_module(nest)
    function = module.functions["k"]
    verify(module)
    run = runs(active, m, n)
    if bound == "%short":
        run = runs(active, np.arange(m, m + WIDTH), np.arange(n, n + WIDTH))
    expected, before = run(module, "FR"), write_module(module)
    copied(module, function, room)
    assert run(module, "FR") == expected, before + write_module(module)
    check_chain(module, "k", run, facts)


def test_lanes_may_leave_both_loops_at_different_times():
    text = NEST.format(**{**PLAIN, "bound": "%short"}).replace(
        "entry:\n", "entry:\n  %short = and i64 %n, 11\n"
    )
    module = read_module(text)
    run = runs(15, np.array([3, 0, 1, 7]), np.array([9, 11, 0, 3]))
    expected = run(module, "FR")
    assert copied(module, module.functions["k"]) == 1
    assert run(module, "FR") == expected
    check_chain(module, "k", run, facts)
