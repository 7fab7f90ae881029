"""Guards of loops are bounds: the same iterations run that had an effect, whatever the numbers are."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.interp import Memory, run_function
from weft.interp.lanes import Lanes
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_function
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.guard_bounds import bound_guards

# What is returned tells which iterations did something, and in which order.
#
#   entry ─ head ─ done       entry ┬ head.within ─ head ─ head.left ┬ done
#           │  └ body ┐             │               │ └ body         │
#           │     work│             └───────────────│───────┼────────┘
#           └ latch ──┘                             └ latch ┘
LOOP = """
define i32 @f(i8 noundef %a, i8 noundef %b, i8 {sure} %m, i8 {sure} %d) {{
entry:
{before}
  br label %head
head:
  %i = phi i8 [ {start}, %entry ], [ %next, %latch ]
  %s = phi i32 [ 7, %entry ], [ %t, %latch ]
  %more = icmp {test}
  br i1 %more, label %{first}, label %{second}
body:
{guard}
work:
  %wide = zext i8 %i to i32
  %x = mul i32 %s, 3
  %u = add i32 %x, %wide
  br label %latch
latch:
  %t = phi i32 [ %s, %body ], [ %u, %work ]
  %next = add {flags} i8 %i, 1
  br label %head
done:
  ret i32 %s
}}
"""

FORMS = {
    "below": {"test": "slt i8 %i, %b", "start": "0", "flags": "nuw nsw"},
    "from": {"test": "sgt i8 %b, %i", "start": "%a", "flags": "nsw"},
    "up to": {"test": "sle i8 %i, %b", "start": "2", "flags": "nsw"},
    "from up to": {"test": "sle i8 %i, %b", "start": "%a", "flags": "nsw"},
    "no sign": {"test": "ult i8 %i, %b", "start": "0", "flags": "nuw"},
    "from without": {"test": "ult i8 %i, %b", "start": "%a", "flags": "nuw"},
    "same sign": {"test": "samesign ult i8 %i, %b", "start": "%a", "flags": "nuw nsw"},
    "less": {"test": "slt i8 %i, %less", "start": "-3", "flags": "nsw"},
    "not beyond": {"test": "sge i8 %i, %b", "start": "1", "flags": "nsw", "first": "done", "second": "body"},
}
BEFORE = """
  %less = add i8 %b, -1
  %far = add i8 %b, -9
  %sure = add nsw i8 %b, -1
  %behind = add i8 %m, 1
  %risky = add nsw i8 %m, 100
  %flag = icmp slt i8 %m, %d
  %odd = trunc i8 %d to i1
"""
EDGES = np.array([0, 1, 2, 3, 9, 100, 126, 127, 128, 129, 200, 254, 255], np.uint8)
NUMBERS = (0, 1, 2, 5, 126, 127, -128, -127, -1, -2)
PREDICATES = (
    "slt",
    "sle",
    "sgt",
    "sge",
    "ult",
    "ule",
    "ugt",
    "uge",
    "eq",
    "ne",
    "samesign ult",
    "samesign ugt",
)


def text_of(
    form: str, parts: list[str], *, inverted: bool = False, joined: str = "and", sure: str = "noundef"
) -> str:
    fields = {"first": "body", "second": "done", **FORMS[form]}
    lines: list[str] = []
    name = ""
    for number, part in enumerate(parts):
        *before, last = part.split("; ")
        lines += [line.replace("%moved", f"%moved{number}") for line in before]
        lines.append(f"%c{number} = {last.replace('%moved', f'%moved{number}')}")
        if number:
            operands = f"{name}, %c{number}" if joined == "and" else f"{name}, i1 %c{number}, i1 false"
            lines.append(f"%g{number} = {joined} i1 {operands}")
        name = f"%g{number}" if number else "%c0"
    if inverted:
        lines.append(f"%not = xor i1 {name}, true")
        name = "%not"
    ways = ("latch", "work") if inverted else ("work", "latch")
    lines.append(f"br i1 {name}, label %{ways[0]}, label %{ways[1]}")
    return LOOP.format(before=BEFORE, guard="\n".join(f"  {line}" for line in lines), sure=sure, **fields)


class Noted:
    """The lanes that have come to something undefined."""

    reports_uninitialized = False

    def __init__(self) -> None:
        self.lanes: set[int] = set()

    def fault(self, machine, kind, instruction, lanes, message) -> None:
        self.lanes |= set(np.ravel(lanes).tolist())


def ran(module: Module, cases: np.ndarray) -> tuple[np.ndarray, set[int]]:
    noted = Noted()
    arguments = [cases[:, k].copy() for k in range(4)]
    result = run_function(
        module, "f", arguments, len(cases), memory=Memory(), faults=noted, step_limit=10**6
    ).value
    assert isinstance(result, Lanes)
    return np.ravel(result.data), noted.lanes


def agree(text: str, cases: np.ndarray) -> int:
    """Assert that a program does the same with its guards as bounds; how many are."""
    if "sle i8 %i, %b" in text:
        # Such loops have no end.
        cases = cases[cases[:, 1] != 127]
    before, after = read_module(text), read_module(text)
    found = bound_guards(after.functions["f"])
    verify(after)
    wanted, undefined = ran(before, cases)
    made, faults = ran(after, cases)
    defined = [k for k in range(len(cases)) if k not in undefined]
    assert not faults - undefined, cases[sorted(faults - undefined)[0]]
    different = [k for k in defined if wanted[k] != made[k]]
    assert not different, cases[different[0]]
    assert not found or is_loop_closed(after.functions["f"])
    return len(found)


def part(draw: st.DrawFn) -> str:
    other = draw(
        st.sampled_from(("%m", "%d", "%a", "%b", "%less", "%far", "%sure", "%behind", "%risky", *NUMBERS))
    )
    predicate = draw(st.sampled_from(PREDICATES))
    added = draw(st.sampled_from((None, None, "%d", "%a", *NUMBERS)))
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(st.sampled_from(("xor i1 %flag, true", "and i1 %flag, %odd", "or i1 %odd, false")))
    if added is None:
        return (
            f"icmp {predicate} i8 {other}, %i"
            if kind < 3 and other != "%i"
            else f"icmp {predicate} i8 %i, {other}"
        )
    flags = draw(st.sampled_from(("", "nsw ", "nuw ", "nuw nsw ")))
    return f"%moved = add {flags}i8 %i, {added}; icmp {predicate} i8 %moved, {other}"


@st.composite
def programs(draw: st.DrawFn) -> str:
    parts = [part(draw) for _ in range(draw(st.integers(1, 3)))]
    return text_of(
        draw(st.sampled_from(sorted(FORMS))), parts, inverted=draw(st.booleans()),
        joined=draw(st.sampled_from(("and", "select"))), sure=draw(st.sampled_from(("", "noundef"))),
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(programs(), st.integers(0, 2**32 - 1))
def test_random_guards_leave_out_what_does_nothing(text: str, seed: int) -> None:
    agree(text, np.random.default_rng(seed).choice(EDGES, (160, 4)))


CASES = np.array(
    [(a, b, m, d) for a, b, m in product(EDGES, EDGES, EDGES) for d in (0, 1, 127, 128, 255)], np.uint8
)
SOME = CASES[:: len(CASES) // 300 * 2 + 1]

BOUNDS = [
    ["icmp sgt i8 %i, 0", "icmp slt i8 %i, %less"],
    ["icmp ne i8 %i, 0", "icmp slt i8 %i, %sure"],
    ["icmp ne i8 %i, 0", "icmp ne i8 %i, %less"],
    ["icmp sle i8 %i, %m"],
    ["icmp sgt i8 %i, %m"],
    ["icmp eq i8 %i, %m"],
    ["icmp samesign ult i8 %i, %m", "icmp samesign uge i8 %i, %d"],
    ["%moved = add nsw i8 %i, 1; icmp slt i8 %moved, %m"],
    ["%moved = add nsw i8 %i, -2; icmp sge i8 %moved, %m"],
    # Less than the bound by more than a number of the type is.
    ["%moved = add nsw i8 %i, 126; icmp slt i8 %moved, %far"],
    ["%moved = add i8 %i, -1; icmp ult i8 %moved, 5"],
    ["%flag2 = freeze i1 %flag; and i1 %flag2, %odd", "icmp slt i8 %i, %risky"],
]


@pytest.mark.parametrize("parts", BOUNDS, ids=" and ".join)
def test_guards_are_bounds(parts: list[str]) -> None:
    parts = [p.split("; ", 1)[1] if p.startswith("%flag2") else p for p in parts]
    parts = [p.replace("%flag2", "%flag") for p in parts]
    for inverted, joined, sure in product((False,), ("and", "select"), ("", "noundef")):
        text = text_of("below", parts, inverted=inverted, joined=joined, sure=sure)
        assert agree(text, SOME) == 1
        module = read_module(text)
        bound_guards(module.functions["f"])
        inside = write_function(module.functions["f"]).split("body:")[1].split("done:")[0]
        assert "br i1" not in inside


@pytest.mark.parametrize("form", FORMS)
def test_loops_that_count_otherwise_agree(form: str) -> None:
    for parts in (BOUNDS[0], BOUNDS[2], ["icmp uge i8 %i, %m", "icmp ult i8 %i, %d"], ["icmp sle i8 %i, %m"]):
        agree(text_of(form, parts), SOME)


def test_flags_of_the_old_test_do_not_hold_for_other_bounds() -> None:
    text = text_of("same sign", ["icmp slt i8 %m, %i"])
    assert agree(text, np.array([(254, 128, 126, 3)], np.uint8)) == 1


def changed(old: str, new: str) -> str:
    text = text_of("below", ["icmp slt i8 %i, %m"])
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("%t = phi i32 [ %s, %body ]", "%t = phi i32 [ 5, %body ]"),
        ("ret i32 %s", "%w = zext i8 %i to i32\n  ret i32 %w"),
        ("i8 %i, 1\n", "i8 %i, 2\n"),
        ("i8 %i, 1\n", "i8 %i, -1\n"),
        ("icmp slt i8 %i, %b", "icmp ne i8 %i, %b"),
        ("icmp slt i8 %i, %m", "icmp ne i8 %i, %m"),
        ("icmp slt i8 %i, %m", "icmp ugt i8 %i, %i"),
        ("latch:\n", "latch:\n  %keeps = phi i8 [ %i, %body ], [ %m, %work ]\n"),
    ],
)
def test_others_stay(old: str, new: str) -> None:
    text = changed(old, new)
    if "%keeps" in new:
        # The number of the last iteration is handed on.
        text = text.replace("%s = phi", "%kept = phi i8 [ 0, %entry ], [ %keeps, %latch ]\n  %s = phi")
    assert bound_guards(read_module(text).functions["f"]) == []


def test_what_is_done_without_the_guard_stays() -> None:
    text = text_of("below", ["icmp slt i8 %i, %m"]).replace("i8 noundef %a,", "i8 noundef %a, ptr %p,")
    for place in ("body:", "latch:\n  %t = phi i32 [ %s, %body ], [ %u, %work ]"):
        module = read_module(text.replace(place, f"{place}\n  store i8 %i, ptr %p"))
        assert bound_guards(module.functions["f"]) == []


STENCIL = """
define void @f(ptr noalias noundef %x, ptr noalias noundef %y, i64 noundef %n) {
entry:
  %last = add nsw i64 %n, -1
  br label %rows
rows:
  %i = phi i64 [ 0, %entry ], [ %i.next, %rows.latch ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %row, label %exit
row:
  %i.first = icmp ne i64 %i, 0
  %i.last = icmp slt i64 %i, %last
  %inner = select i1 %i.first, i1 %i.last, i1 false
  %place = mul nsw i64 %i, %n
  br label %columns
columns:
  %j = phi i64 [ 0, %row ], [ %j.next, %columns.latch ]
  %goes = icmp slt i64 %j, %n
  br i1 %goes, label %guard, label %rows.latch
guard:
  %j.first = icmp ne i64 %j, 0
  %both = and i1 %inner, %j.first
  %j.last = icmp slt i64 %j, %last
  %all = select i1 %both, i1 %j.last, i1 false
  br i1 %all, label %work, label %columns.latch
work:
  %at = add nsw i64 %place, %j
  %p = getelementptr i64, ptr %x, i64 %at
  %q = getelementptr i8, ptr %p, i64 8
  %v = load i64, ptr %q
  %r = getelementptr i64, ptr %y, i64 %at
  store i64 %v, ptr %r
  br label %columns.latch
columns.latch:
  %j.next = add nuw nsw i64 %j, 1
  br label %columns
rows.latch:
  %i.next = add nuw nsw i64 %i, 1
  br label %rows
exit:
  ret void
}
"""


def test_the_guard_of_a_stencil_is_bounds_of_all_loops(golden) -> None:
    module = read_module(STENCIL)
    function = module.functions["f"]
    assert len(bound_guards(function)) == 2
    verify(module)
    golden(write_function(function), "guard_bounds.ll")
    for n in range(6):
        seen = []
        for each in (read_module(STENCIL), module):
            x, y = np.arange(36), np.zeros(36, np.int64)
            memory = Memory()
            run_function(each, "f", [memory.map_array(x), memory.map_array(y), n], 1, memory=memory)
            seen.append(y.tolist())
        assert seen[0] == seen[1]


TRIANGLE = STENCIL.replace(
    "%all = select i1 %both, i1 %j.last, i1 false", "%all = icmp samesign ule i64 %j, %i"
)


def test_triangles_need_no_minimum() -> None:
    for predicate, ends in (("ule", "add nsw i64 %i, 1"), ("uge", "[ %i, %"), ("ugt", "add nsw i64 %i, 1")):
        module = read_module(TRIANGLE.replace("samesign ule", f"samesign {predicate}"))
        assert len(bound_guards(module.functions["f"])) == 1
        text = write_function(module.functions["f"])
        assert ends in text and "llvm." not in text and "br i1 %all" not in text
