"""Guards of whole kernels become bounds of the loop over threads."""

import numpy as np
import pytest

from weft.interp import Memory, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.groups.guard_splitting import split_guards
from weft.transform.groups.merge_groups import merge_groups
from weft.transform.groups.work_items import lower_work_items

I64_MIN, I64_MAX = -(1 << 63), (1 << 63) - 1

DECLARATIONS = """
declare i64 @weft.local.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.group.id(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.local.size(i32) nounwind speculatable willreturn memory(none)
declare i64 @weft.num.groups(i32) nounwind speculatable willreturn memory(none)
declare ptr addrspace(3) @weft.shared(i32) nounwind speculatable willreturn memory(none)
declare i1 @weft.any(i1) nounwind convergent
declare void @weft.syncwarp() nounwind convergent
"""

POSITION = """
  %group = call i64 @weft.group.id(i32 0)
  %size = call i64 @weft.local.size(i32 0)
  %start = mul nuw nsw i64 %group, %size
  %thread = call i64 @weft.local.id(i32 0)
  %i = add nuw nsw i64 %start, %thread
"""


def guarded(condition: str, branch: str = "br i1 %c, label %body, label %exit", before: str = "") -> str:
    """A kernel that counts the visits of each thread under a guard."""
    return f"""
define void @k(ptr %out, i64 %a, i64 %b, i64 range(i64 0, {I64_MIN}) %n) {{
entry:
{POSITION}
  {before}
  {condition}
  {branch}
body:
  %at = getelementptr i8, ptr %out, i64 %i
  %old = load i8, ptr %at
  %new = add i8 %old, 1
  store i8 %new, ptr %at
  br label %exit
exit:
  ret void
}}
{DECLARATIONS}
"""


THREADS = 24


def visited(module, threads, args, extra=()):
    """Which of the threads ``tid.x`` = `threads` of group 0 store something."""
    memory = Memory()
    out = np.zeros(THREADS, np.int8)
    address = memory.map_array(out, "out")
    work_items = [threads, 0, 0, 0, 0, 0, THREADS, 1, 1, 1, 1, 1, 0, 0, 0]
    run_function(module, "k", [address, *args, *work_items], threads.size, memory=memory)
    return np.flatnonzero(out)


def bounds_of(module, args):
    """What the bounds function says of the row 0 to `THREADS`."""
    work_items = [0, 0, 0, 0, 0, 0, THREADS, 1, 1, 1, 1, 1, 0, 0, 0]
    result = run_function(module, "k.bounds", [0, *args, *work_items, 0, THREADS], 1)
    first, last = (int(part.data.astype(np.int64)[0]) for part in result.value.members)
    return first, last


def split(text, merged=False):
    """The kernel before and after the pass, and what the pass says."""
    before, module = read_module(text), read_module(text)
    for program in (before, module):
        lower_work_items(program, program.functions["k"])
    if merged:
        assert merge_groups(module.functions["k"], 0)
    result = split_guards(module, module.functions["k"], 0)
    verify(module)
    return before, module, result


CONDITIONS = [
    *(f"%c = icmp {p} i64 %i, %a" for p in ("slt", "sle", "sgt", "sge", "eq")),
    *(f"%c = icmp {p} i64 %a, %i" for p in ("slt", "sge")),
    *(f"%c = icmp samesign {p} i64 %i, %n" for p in ("ult", "ule", "ugt", "uge")),
    *(f"%c = icmp {p} i64 %i, %{b}" for p in ("ult", "ule", "ugt", "uge") for b in "an"),
    "%c = icmp ult i64 %i, 7",
    "%c = icmp ne i64 %i, 0",
    "%m = sub i64 %a, 1\n %x = icmp ne i64 %i, 0\n %y = icmp slt i64 %i, %m\n %c = select i1 %x, i1 %y, i1 false",
    "%m = add nsw i64 %i, 3\n %c = icmp slt i64 %m, %a",
    "%m = add nsw i64 %i, -3\n %c = icmp sge i64 %m, %a",
    *(
        f"%z = icmp eq i64 %a, 0\n %d = select i1 %z, i64 1, i64 %a\n %m = {op} i64 100, %d\n"
        " %c = icmp slt i64 %i, %m"
        for op in ("sdiv", "udiv", "srem", "urem")
    ),
    "%x = icmp sge i64 %i, %a\n %y = icmp slt i64 %i, %b\n %c = and i1 %x, %y",
    "%c = icmp slt i64 %a, %b",
    *(
        f"%j = trunc nuw nsw i64 %i to i32\n %k = trunc i64 %a to i32\n %c = icmp {p} i32 %j, %k"
        for p in ("slt", "sle", "sgt", "sge", "eq")
    ),
    "%j = trunc nuw nsw i64 %i to i32\n %k = trunc i64 %a to i32\n %m = add nsw i32 %j, 3\n"
    " %c = icmp sgt i32 %k, %m",
    "%j = trunc nuw nsw i64 %i to i32\n %m = add nsw i32 %j, -3\n %c = icmp sge i32 %m, 4",
    "%j = trunc nuw nsw i64 %i to i32\n %c = icmp ult i32 %j, 7",
    "%j = trunc nuw nsw i64 %i to i32\n %k = trunc i64 %a to i32\n %c = icmp uge i32 %k, %j",
    "%j = trunc nuw nsw i64 %i to i32\n %c = icmp ne i32 %j, 0",
    "%x = icmp slt i64 %a, %b\n %y = icmp sge i64 %i, %n\n %z = select i1 %x, i1 true, i1 %y\n %c = xor i1 %z, true",
]
NUMBERS = (I64_MIN, I64_MIN + 2, -1, 0, 1, 11, THREADS, I64_MAX - 3, I64_MAX)


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize(
    ("branch", "merged"),
    [("br i1 %c, label %body, label %exit", True), ("br i1 %c, label %exit, label %body", False)],
    ids=["if", "unless"],
)
def test_the_threads_within_the_bounds_are_those_that_pass(condition, branch, merged):
    text = guarded(condition, branch)
    before, module, result = split(text, merged)
    negated_interval = branch.endswith("%body") and (
        "eq" in condition or "\n" in condition or "ne i64" in condition
    )
    if result is None:
        assert negated_interval
        return
    whole = not [i for i in module.functions["k"].instructions() if i.op == "icmp"]
    threads = np.arange(THREADS)
    for a in NUMBERS:
        for b in (3, I64_MAX) if "%b" in condition else (3,):
            n = max(a, 0)
            first, last = bounds_of(module, (a, b, n))
            assert first >= 0 and last <= THREADS
            inside = threads[first:last] if first < last else threads[:0]
            wanted = visited(before, threads, (a, b, n))
            assert set(wanted) <= set(inside)
            got = visited(module, inside, (a, b, n)) if inside.size else inside
            assert list(got) == list(wanted)
            if whole:
                assert list(inside) == list(wanted)


def test_a_whole_guard_leaves_no_comparison_and_no_branch():
    _, module, result = split(guarded("%c = icmp slt i64 %i, %a"))
    kernel = module.functions["k"]
    assert result is not None and len(result.guards) == 1
    assert not [i for i in kernel.instructions() if i.op == "icmp" or (i.op == "br" and i.operands)]


def test_of_a_conjunction_what_cannot_be_split_stays():
    condition = """%x = icmp slt i64 %i, %a
  %odd = trunc i64 %i to i1
  %c = select i1 %x, i1 %odd, i1 false"""
    before, module, result = split(guarded(condition))
    assert result is not None and not result.guards
    assert bounds_of(module, (5, 0, 0)) == (0, 5)
    got = visited(module, np.arange(5), (5, 0, 0))
    assert list(got) == list(visited(before, np.arange(THREADS), (5, 0, 0))) == [1, 3]


@pytest.mark.parametrize(
    ("condition", "before"),
    [
        pytest.param("%c = icmp slt i64 %i, %m", "%m = load i64, ptr %out", id="bound from memory"),
        pytest.param("%c = icmp slt i64 %m, %a", "%m = add i64 %i, %b", id="sum that may wrap"),
        pytest.param("%c = icmp ult i64 %m, %n", "%m = add nsw i64 %i, -1", id="unsigned, below zero"),
        pytest.param("%c = icmp slt i64 %i, %a", "store i8 0, ptr %out", id="store before the guard"),
        pytest.param("%c = icmp slt i64 %m, %a", "%m = mul nsw i64 %i, %i", id="not consecutive"),
        pytest.param("%c = icmp ne i64 %i, %a", "", id="not one run"),
        pytest.param("%c = icmp slt i32 %m, 9", "%m = trunc i64 %i to i32", id="bits may be lost"),
        pytest.param("%c = icmp slt i32 %m, 9", "%m = trunc nuw i64 %i to i32", id="may be below zero"),
        pytest.param("%c = call i1 @weft.any(i1 %m)", "%m = icmp slt i64 %i, %a", id="horizontal"),
        pytest.param("%c = icmp slt i64 %m, %a", "%m = udiv i64 %i, %b", id="may trap"),
    ],
)
def test_other_guards_stay(condition, before):
    assert split(guarded(condition, before=before))[2] is None


def test_a_guard_around_less_than_the_kernel_stays():
    text = guarded("%c = icmp slt i64 %i, %a").replace("exit:\n", "exit:\n  store i8 7, ptr %out\n")
    assert split(text)[2] is None


def test_guards_behind_each_other_are_all_split():
    text = f"""
define void @k(ptr %out, i64 %a, i64 %b, i64 %n) {{
entry:
{POSITION}
  %c = icmp sge i64 %i, %a
  br i1 %c, label %exit, label %next
next:
  %loaded = load i8, ptr %out
  %d = icmp slt i64 %i, %b
  br i1 %d, label %exit, label %body
body:
  %at = getelementptr i8, ptr %out, i64 %i
  %new = add i8 %loaded, 1
  store i8 %new, ptr %at
  br label %exit
exit:
  ret void
}}
{DECLARATIONS}
"""
    _, module, result = split(text)
    assert result is not None and len(result.guards) == 2
    assert bounds_of(module, (20, 3, 0)) == (3, 20)


@pytest.mark.parametrize("first", ["icmp slt i64 0, %b", "icmp slt i64 %i, %a"])
def test_what_only_some_threads_divide_by_is_not_divided_by_for_rows(first: str) -> None:
    text = guarded(f"%c = {first}").replace(
        "body:",
        """body:
  %m = udiv i64 %n, %b
  %d = icmp slt i64 %i, %m
  br i1 %d, label %inside, label %exit
inside:""",
    )
    _, module, result = split(text)
    assert result is not None
    assert not [i for i in module.functions["k.bounds"].instructions() if i.op == "udiv"]
    assert bounds_of(module, (5, 0, 20)) == ((0, 5) if "%i" in first else (0, 0))


IMAGE = f"""
define void @k(ptr %out, i64 %width, i64 %height) {{
entry:
{POSITION}
  %group.y = call i64 @weft.group.id(i32 1)
  %size.y = call i64 @weft.local.size(i32 1)
  %start.y = mul nuw nsw i64 %group.y, %size.y
  %thread.y = call i64 @weft.local.id(i32 1)
  %j = add nuw nsw i64 %start.y, %thread.y
  %left = icmp slt i64 %i, 1
  %right = icmp sge i64 %i, %width
  %below = icmp sge i64 %j, %height
  %side = select i1 %left, i1 true, i1 %right
  %outside = select i1 %side, i1 true, i1 %below
  br i1 %outside, label %exit, label %body
body:
  %row = mul nsw i64 %j, %width
  %index = add nsw i64 %row, %i
  %at = getelementptr i8, ptr %out, i64 %index
  store i8 1, ptr %at
  br label %exit
exit:
  ret void
}}
{DECLARATIONS}
"""


def test_bounds_of_a_picture_without_its_left_column(golden):
    """The guard in ``x`` becomes two bounds, the one in ``y`` empties rows.

    ::

        entry ── outside ──▶ exit          entry
          │                   ▲              │
          ▼                   │     ──▶      ▼          + k.bounds
         body ────────────────┘             body
                                             │
                                             ▼
                                            exit
    """
    module = read_module(IMAGE)
    lower_work_items(module, module.functions["k"])
    assert merge_groups(module.functions["k"], 0) is not None
    assert split_guards(module, module.functions["k"], 0) is not None
    verify(module)
    golden(write_module(module, plain=True), "guard_of_a_picture.ll")
