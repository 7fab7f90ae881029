"""Traversals by stacks of their own become one by a stack that the threads of a lane group share.

What the programs below visit is a sum that depends on the order, so each thread has to visit what it has always
visited, when it has always visited it.
"""

import os
import re
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transform.chain import check_chain, returned
from weft.analysis.divergence import Divergence, analyze_divergence
from weft.analysis.loops.traversals import traversals
from weft.analysis.shapes import Shape, domain_named
from weft.ir import Function, Module, Value
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.share_stacks import share_stacks

WIDTH = 8
LANES = np.arange(WIDTH, dtype=np.int64)
EXAMPLES = 200 if os.environ.get("WEFT_FUZZ") else 5

WALK = """
define i64 @walk(i64 %t, i64 %u) {
entry:
  %stack = alloca [32 x i32]
  store i32 1, ptr %stack
  br label %H
H:
  %height = phi i64 [ 1, %entry ], [ %height.next, %L ]
  %sum = phi i64 [ 0, %entry ], [ %sum.next, %L ]
  %go = icmp sgt i64 %height, 0
  br i1 %go, label %B, label %X
B:
  %top = add nsw i64 %height, -1
  %at = getelementptr i32, ptr %stack, i64 %top
  %node = load i32, ptr %at
  %wide = zext i32 %node to i64
  %mixed = mul i64 %sum, 31
  %sum.next = add i64 %mixed, %wide
  %own = lshr i64 %t, %wide
  %bit = and i64 %own, 1
  %wants = icmp ne i64 %bit, 0
  br i1 %wants, label %P, label %L
P:
  %left = shl i32 %node, 1
  %right = or disjoint i32 %left, 1
  %inside = icmp ult i32 %right, 63
  br i1 %inside, label %Q, label %L
Q:
  store i32 %right, ptr %at
  %above = getelementptr i32, ptr %stack, i64 %height
  store i32 %left, ptr %above
  %more = add i64 %height, 1
  br label %L
L:
  %height.next = phi i64 [ %top, %B ], [ %top, %P ], [ %more, %Q ]
  br label %H
X:
  %out = phi i64 [ %sum, %H ]
  ret i64 %out
}
"""
"""
        entry                  Nodes are numbered as in a heap; thread t opens node n if bit n of t is set.
          |
    X <-- H <-----+
          |       |
          B ----->L
          |      /|
          P ----+ |
          |       |
          Q ------+
"""


def analyze(function: Function) -> Divergence:
    domain = domain_named("product", (WIDTH,))
    shapes: dict[Value, Shape] = {
        a: domain.varying(64) if a.name == "t" else domain.uniform(64) for a in function.args
    }
    return analyze_divergence(function, domain=domain, initial=shapes, width=WIDTH)


def parsed(text: str) -> tuple[Module, Function]:
    module = read_module(textwrap.dedent(text))
    return module, next(module.definitions())


def shared(module: Module, function: Function, *, may_write: bool = True) -> int:
    places = share_stacks(function, analyze(function), analyze, WIDTH, may_write=may_write)
    verify(module)
    assert [f.name for f in module.definitions()] == [function.name]
    return len(places)


def check(text: str, ts: np.ndarray, active: np.ndarray | None = None, u: int = 0, loops: int = 1) -> None:
    """The traversal is shared, and threads compute the same, then and behind each pass that follows."""
    module, function = parsed(text)
    run = returned("walk", [ts, np.int64(u)], WIDTH, active)
    expected, before = run(module, "FR"), write_module(module)
    assert isinstance(expected, list) and "poison" not in expected
    assert shared(module, function) == loops, before
    assert run(module, "FR") == expected, before + write_module(module)
    check_chain(module, "walk", run, lambda f: analyze(f))


def refused(text: str) -> None:
    """The program stays as it was."""
    module, function = parsed(text)
    before = write_module(module)
    assert shared(module, function) == 0
    assert write_module(module) == before


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


SEVERAL = np.array([-1, 0, 2, 6, 0b1011_0110, 0b1110, -1, 1 << 40 | 0b1010_1110], np.int64)


def test_threads_visit_what_they_have_always_visited():
    check(WALK, SEVERAL)


def test_what_is_taken_is_read_once_for_all():
    module, function = parsed(WALK)
    shared(module, function)
    divergence = analyze(function)
    divergent = {b.name for b in function.blocks if divergence.is_divergent_branch(b)}
    assert divergent == {"B", "B.rest"}
    assert all(divergence.shape(i).is_uniform for i in function.instructions() if i.op == "load")


@settings(max_examples=EXAMPLES)
@given(
    ts=st.lists(st.integers(-(1 << 62), 1 << 62), min_size=WIDTH, max_size=WIDTH), active=st.integers(1, 255)
)
def test_whatever_threads_want_and_whichever_run(ts: list[int], active: int):
    check(WALK, np.array(ts, np.int64), (active >> LANES & 1).astype(bool))


LOOP = replaced(
    WALK,
    ("%inside = icmp ult i32 %right, 63", "%inside = icmp ult i32 %right, 31"),
    (
        """  store i32 %right, ptr %at
  %above = getelementptr i32, ptr %stack, i64 %height
  store i32 %left, ptr %above
  %more = add i64 %height, 1
  br label %L
""",
        """  br label %H2
H2:
  %child = phi i32 [ 0, %Q ], [ %child.next, %L2 ]
  %h2 = phi i64 [ %top, %Q ], [ %h2.next, %L2 ]
  %again = icmp ult i32 %child, COUNT
  br i1 %again, label %B2, label %X2
B2:
  %below = add i32 %left, %child
  CHOOSE
  br i1 %chosen, label %P2, label %L2
P2:
  %wrap = lshr i64 %h2, 59
  %off = and i64 %wrap, 32
  %at2 = getelementptr i32, ptr %stack, i64 %h2
  %at3 = getelementptr i32, ptr %at2, i64 %off
  store i32 %below, ptr %at3
  %h3 = add i64 %h2, 1
  br label %L2
L2:
  %h2.next = phi i64 [ %h2, %B2 ], [ %h3, %P2 ]
  %child.next = add i32 %child, 1
  br label %H2
X2:
  %more = phi i64 [ %h2, %H2 ]
  br label %L
""",
    ),
    ("[ %more, %Q ]", "[ %more, %X2 ]"),
)
"""As `WALK`, but children are put on the stack one by one, in a loop."""

CHOICES = {
    "all": "%chosen = icmp ult i32 %child, 9",
    "by the node": "%rest = and i32 %node, 2\n  %chosen = icmp eq i32 %rest, 0",
    "by the thread": "%rest = and i64 %t, 1024\n  %chosen = icmp eq i64 %rest, 0",
}
COUNTS = {"2": "2", "by the thread": "%few"}


@pytest.mark.spread
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("count", COUNTS)
@settings(max_examples=EXAMPLES)
@given(ts=st.lists(st.integers(-(1 << 62), 1 << 62), min_size=WIDTH, max_size=WIDTH))
def test_children_that_a_loop_puts_there(choice: str, count: str, ts: list[int]):
    text = replaced(LOOP, ("COUNT", COUNTS[count]), ("CHOOSE", CHOICES[choice]))
    if count != "2":
        few = "  %some = lshr i64 %t, 50\n  %few64 = and i64 %some, 3\n  %few = trunc i64 %few64 to i32\n"
        text = replaced(text, ("entry:\n", f"entry:\n{few}"))
    check(text, np.array(ts, np.int64))


@pytest.mark.parametrize(
    ("choice", "ahead"), [("all", True), ("by the node", True), ("by the thread", False)]
)
def test_what_all_threads_put_there_or_none_is_put_without_a_branch(choice: str, ahead: bool):
    module, function = parsed(replaced(LOOP, ("COUNT", "2"), ("CHOOSE", CHOICES[choice])))
    shared(module, function)
    (block,) = [b for b in function.blocks if b.name == "P2"]
    assert (len(block.instructions) == 1) == ahead


STAY = {
    "three places": (
        ("store i32 %left, ptr %above", "store i32 %left, ptr %above\n"
         "  %third = getelementptr i32, ptr %above, i64 1\n  store i32 62, ptr %third"),
        ("%more = add i64 %height, 1", "%more = add i64 %height, 2"),
    ),
    "it is computed with effects": (("  store i32 %right, ptr %at\n", "  %odd = udiv i32 %right, %left\n"
                                     "  %same = mul i32 %odd, %right\n  store i32 %same, ptr %at\n"),),
    "two ways lead there": (
        ("  br i1 %inside, label %Q, label %L\n", "  %odd = icmp eq i32 %left, 2\n  br i1 %odd, label %Q, label %P1\n"
         "P1:\n  br i1 %inside, label %Q, label %L\n"),
        ("[ %top, %P ]", "[ %top, %P1 ]"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ["", *STAY])
def test_what_stays_behind_a_branch(what: str):
    text = replaced(WALK, *STAY.get(what, ()))
    check(text, SEVERAL)
    module, function = parsed(text)
    shared(module, function)
    (block,) = [b for b in function.blocks if b.name == "Q"]
    assert any(i.op == "store" for i in block) == bool(what)


RECORDS = replaced(
    WALK,
    ("alloca [32 x i32]", "alloca [32 x { i32, i64 }]"),
    (
        "  store i32 1, ptr %stack\n",
        "  store i32 1, ptr %stack\n  %deep = getelementptr i8, ptr %stack, i64 8\n  store i64 7, ptr %deep\n",
    ),
    ("getelementptr i32, ptr %stack, i64", "getelementptr { i32, i64 }, ptr %stack, i64"),
    (
        "%node = load i32, ptr %at\n",
        "%node = load i32, ptr %at\n  %at.level = getelementptr i8, ptr %at, i64 8\n"
        "  %level = load i64, ptr %at.level\n  %level.next = add i64 %level, 3\n",
    ),
    (
        "%sum.next = add i64 %mixed, %wide",
        "%both = add i64 %mixed, %wide\n  %sum.next = xor i64 %both, %level",
    ),
    (
        "  store i32 %right, ptr %at\n",
        "  store i32 %right, ptr %at\n  store i64 %level.next, ptr %at.level\n",
    ),
    (
        "  store i32 %left, ptr %above\n",
        "  store i32 %left, ptr %above\n  %above.level = getelementptr i8, ptr %above, i64 8\n"
        "  store i64 %level, ptr %above.level\n",
    ),
)


def test_records_on_the_stack():
    check(RECORDS, SEVERAL)


def test_two_nodes_at_first():
    check(
        replaced(
            WALK,
            ("  store i32 1, ptr %stack\n", "  store i32 2, ptr %stack\n  %s = getelementptr i32, ptr %stack, i64 1\n"
             "  store i32 3, ptr %s\n"),
            ("phi i64 [ 1, %entry ]", "phi i64 [ 2, %entry ]"),
        ),
        SEVERAL,
    )  # fmt: skip


def _twice() -> str:
    """The walk, and another by the same stack, of which a number that stays the same chooses one."""
    head, rest = WALK.split("  br label %H\n", 1)
    loop, _ = rest.split("X:\n", 1)
    loop = "Y:\n  br label %H\n" + loop.replace("%entry", "%Y")
    loop += "X:\n  %out = phi i64 [ %sum, %H ]\n  br label %end\n"
    other = re.sub(r"%(?!stack\b|t\b|u\b|end\b)([\w.]+)", r"%\1.again", loop)
    other = re.sub(r"^(\w+):", r"\1.again:", other, flags=re.M)
    start = "  %asks = icmp sgt i64 %u, 5\n  br i1 %asks, label %Y, label %Y.again\n"
    other = other.replace("mul i64 %sum.again, 31", "mul i64 %sum.again, 29")
    end = "end:\n  %all = phi i64 [ %out, %X ], [ %out.again, %X.again ]\n  ret i64 %all\n}\n"
    return head + start + loop + other + end


TWICE = _twice()


@pytest.mark.parametrize("u", [0, 9])
def test_two_loops_of_which_threads_come_to_one_have_one_stack(u: int):
    check(TWICE, SEVERAL, u=u, loops=2)


@pytest.mark.parametrize("u", [0, 9])
def test_what_is_there_at_first_stays_for_a_loop_that_is_none(u: int):
    both = replaced(TWICE, ("add i64 %mixed.again, %wide.again", "add i64 %mixed.again, %height.again"))
    check(both, SEVERAL, u=u)


def test_a_loop_that_threads_come_to_behind_the_other_keeps_its_stack():
    refused(
        replaced(
            TWICE,
            ("  br label %end\nY.again:", "  br label %Y.again\nY.again:"),
            ("[ %out, %X ], [ %out.again, %X.again ]", "[ %out.again, %X.again ]"),
        )
    )


EARLY = replaced(
    WALK,
    ("br i1 %wants, label %P, label %L\n", "%found = icmp eq i32 %node, 22\n  %lucky = icmp slt i64 %t, 0\n"
     "  %leaves = and i1 %found, %lucky\n  br i1 %leaves, label %X1, label %B1\nB1:\n"
     "  br i1 %wants, label %P, label %L\n"),
    ("[ %top, %B ]", "[ %top, %B1 ]"),
    ("%out = phi i64 [ %sum, %H ]\n", "%last = phi i64 [ %sum, %H ]\n  br label %end\nX1:\n"
     "  %then = phi i64 [ %sum.next, %B ]\n  br label %end\nend:\n  %out = phi i64 [ %last, %X ], [ %then, %X1 ]\n"),
)  # fmt: skip


@settings(max_examples=EXAMPLES)
@given(ts=st.lists(st.integers(-(1 << 62), 1 << 62), min_size=WIDTH, max_size=WIDTH))
def test_threads_may_leave_before_they_have_seen_everything(ts: list[int]):
    check(EARLY, np.array(ts, np.int64))


WITHOUT = {
    "what is put differs": ("store i32 %left, ptr %above", "store i32 %other, ptr %above"),
    "what is there at first differs": ("store i32 1, ptr %stack\n", "store i32 %mine, ptr %stack\n"),
    "the height is used": ("add i64 %mixed, %wide", "add i64 %mixed, %height"),
    "a place is left out": ("%more = add i64 %height, 1", "%more = add i64 %height, 2"),
    "a place is put twice": ("ptr %stack, i64 %height", "ptr %stack, i64 %top"),
    "it is left with something there": ("icmp sgt i64 %height, 0", "icmp sgt i64 %height, 1"),
    "nothing is taken": ("ptr %stack, i64 %top", "ptr %stack, i64 0"),
    "it is looked at below the top": ("%top = add nsw i64 %height, -1", "%top = add nsw i64 %height, -2"),
    "threads vote": ("%wants = icmp ne i64 %bit, 0", "%one = icmp ne i64 %bit, 0\n"
                     "  %wants = call i1 @weft.any(i1 %one)"),
    "it may be read elsewhere": ("  store i32 1, ptr %stack\n", "  store i32 1, ptr %stack\n"
                                 "  call void @see(ptr %stack)\n"),
    "it is read behind": ("  ret i64 %out", "  %again = load i64, ptr %stack\n  ret i64 %again"),
    "a volatile access": ("%node = load i32", "%node = load volatile i32"),
    "parts overlap": ("%wide = zext i32 %node to i64", "%narrow = load i16, ptr %at\n"
                      "  %wide = zext i16 %narrow to i64"),
}  # fmt: skip


@pytest.mark.parametrize("what", WITHOUT)
def test_what_is_no_traversal_stays(what: str):
    text = replaced(WALK, WITHOUT[what])
    text = replaced(
        text,
        ("entry:\n", "entry:\n  %mine = trunc i64 %t to i32\n"),
        ("  %inside =", "  %swap = or i32 %left, %mine\n  %other = and i32 %swap, 63\n  %inside ="),
    )
    refused(text + "declare i1 @weft.any(i1) convergent nounwind memory(none)\ndeclare void @see(ptr)\n")


def test_places_that_a_number_is_too_narrow_for():
    text = replaced(
        WALK,
        ("[32 x i32]", "[200 x i32]"),
        ("%at = getelementptr i32, ptr %stack, i64 %top", "%thin = trunc i64 %top to i8\n"
         "  %back = sext i8 %thin to i64\n  %at = getelementptr i32, ptr %stack, i64 %back"),
    )  # fmt: skip
    refused(text)
    module, function = parsed(text.replace("[200 x i32]", "[100 x i32]"))
    assert shared(module, function) == 1


def test_a_loop_by_a_uniform_stack_stays():
    refused(replaced(WALK, ("%own = lshr i64 %t, %wide", "%own = lshr i64 %u, %wide")))


STORES = replaced(
    WALK,
    ("(i64 %t, i64 %u)", "(i64 %t, ptr %u)"),
    ("  %own = lshr", "  store i64 %sum, ptr %u\n  %own = lshr"),
)


def test_stores_to_memory_of_others_have_to_be_in_any_order():
    module, function = parsed(STORES)
    (found,) = traversals(function)
    assert found.writes
    assert shared(module, function, may_write=False) == 0
    assert shared(module, function) == 1
    assert not next(traversals(parsed(WALK)[1])).writes


LOADS = replaced(
    WALK,
    ("(i64 %t, i64 %u)", "(i64 %t, ptr %u)"),
    (
        "  %own = lshr",
        "  %there = getelementptr i64, ptr %u, i64 PLACE\n  %read = load i64, ptr %there\n  %own = lshr",
    ),
    ("%sum.next = add i64 %mixed, %wide", "%both = add i64 %mixed, %wide"),
    ("  %own = lshr", "  %sum.next = xor i64 %both, %read\n  %own = lshr"),
)


@pytest.mark.parametrize(
    ("place", "waits"),
    [("%wide", False), ("%t", False), ("%sum", True), ("%mixed", True)],
)
def test_lanes_that_wait_read_what_others_or_they_have_read(place: str, waits: bool):
    module, function = parsed(LOADS.replace("PLACE", place))
    shared(module, function)
    (block,) = [b for b in function.blocks if any(i.name == "read" for i in b)]
    assert block.name == ("B.rest" if waits else "B")
