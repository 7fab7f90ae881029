"""Searches by halves of four iterations go on together (`searches_together`)."""

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda
from weft.interp import Memory, Program, run_function
from weft.ir import Module
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.machine.targets import AVX2, AVX512, SSE2
from weft.transform.loops.bisections import choose_in_short_ranges
from weft.transform.loops.close_loops import is_loop_closed
from weft.transform.loops.searches_together import TOGETHER, has_narrow_searches, search_together

#                                      ┌──────────────────────────────────────────────────┐
#                           entry ──> four ──> before ──> search <──> round               │
#                                      │                    │                              │
#  entry ──> each <──────────┐        rest                 left ──> alone <──> round ...   │
#             │ └─> grid     │         │                                      │            │
#             │      │       │        each <──> ...                          behind ...────┘
#             │     head <──> body     │
#            done    │       │        done
#                    └─> behind
SUMS = """
define void @f(ptr %starts, ptr %grids, ptr %wanted, i64 %from, i64 %count, ptr %total) {
entry:
  %own = alloca [2 x double]
  store double 0.0, ptr %own
  br label %each
each:
  %k = phi i64 [ %from, %entry ], [ %next, %behind ]
  %sum = phi double [ 0.0, %entry ], [ %sum1, %behind ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %grid, label %done
grid:
  %first = getelementptr i64, ptr %starts, i64 %k
  %start = load i64, ptr %first
  %second = getelementptr i64, ptr %first, i64 1
  %end = load i64, ptr %second
  %what = getelementptr double, ptr %wanted, i64 %k
  %x = load double, ptr %what
  br label %head
head:
  %low = phi i64 [ %start, %grid ], [ %low1, %body ]
  %high = phi i64 [ %end, %grid ], [ %high1, %body ]
  %between = sub i64 %high, %low
  %on = icmp sgt i64 %between, 1
  br i1 %on, label %body, label %behind
body:
  %both = add i64 %low, %high
  %middle = ashr i64 %both, 1
  %at = getelementptr double, ptr %grids, i64 %middle
  %y = load double, ptr %at
  %above = fcmp ogt double %y, %x
  %high1 = select i1 %above, i64 %middle, i64 %high
  %low1 = select i1 %above, i64 %low, i64 %middle
  br label %head
behind:
  %found = phi i64 [ %low, %head ]
  %place = sitofp i64 %found to double
  %twice = fmul double %sum, 2.0
  %sum1 = fadd double %twice, %place
  %before = load double, ptr %own
  %more.own = fadd double %before, %x
  store double %more.own, ptr %own
  %next = add nsw i64 %k, 1
  br label %each
done:
  %result = phi double [ %sum, %each ]
  store double %result, ptr %total
  %last = load double, ptr %own
  %behind.it = getelementptr double, ptr %total, i64 1
  store double %last, ptr %behind.it
  ret void
}
"""


def run(module: Module, starts: np.ndarray, grids: np.ndarray, wanted: np.ndarray, first: int) -> list[float]:
    memory, total = Memory(), np.zeros(2)
    arrays = [memory.map_array(a) for a in (starts, grids, wanted)]
    arguments = [*arrays, first & (1 << 64) - 1, len(wanted), memory.map_array(total)]
    run_function(Program(module), "f", arguments, 1, memory=memory)
    return total.tolist()


@pytest.mark.parametrize("count", range(2 * TOGETHER + 3))
def test_searches_find_what_they_found(count: int) -> None:
    random = np.random.default_rng(count)
    before, after = read_module(SUMS), read_module(SUMS)
    assert search_together(after.functions["f"]) == 1
    verify(after)
    assert is_loop_closed(after.functions["f"])
    for most in (2, 9, 40):
        # Some ranges are empty, some hold one number: these must not be looked at.
        starts = np.cumsum(np.append(0, random.integers(0, most, count)))
        grids, wanted = random.random(starts[-1]), random.random(count)
        if most == 40:
            grids.sort()
            wanted[::3] = np.nan
        for first in (0, min(1, count)):
            expected = run(before, starts, grids, wanted, first)
            np.testing.assert_array_equal(run(after, starts, grids, wanted, first), expected)


def test_the_loop_does_what_is_left() -> None:
    module = read_module(SUMS)
    function = module.functions["f"]
    assert search_together(function) == 1
    assert write_module(module).count("!unpredictable") == 4 * TOGETHER
    # Only the search that is left for itself has versions for short and long ranges.
    assert choose_in_short_ranges(function) == 1
    verify(module)


def test_searches_in_narrow_numbers_are_not_for_superwords() -> None:
    """LLVM would make vectors of them, whose places it takes out for each load."""
    wide = read_module(SUMS)
    assert search_together(wide.functions["f"]) and not has_narrow_searches(wide, AVX2)
    text = SUMS.replace("%between = sub i64", "%between = sub i32").replace(
        "%both = add i64", "%both = add i32"
    )
    text = text.replace("sgt i64 %between", "sgt i32 %between").replace(
        "%middle = ashr i64", "%middle = ashr i32"
    )
    text = text.replace("phi i64 [ %start,", "phi i32 [ %start32,").replace(
        "phi i64 [ %end,", "phi i32 [ %end32,"
    )
    text = text.replace("i64 %middle, i64 %high\n", "i32 %middle, i32 %high\n")
    text = text.replace("i64 %low, i64 %middle\n", "i32 %low, i32 %middle\n")
    text = text.replace("ptr %grids, i64 %middle", "ptr %grids, i32 %middle")
    text = text.replace("phi i64 [ %low, %head ]", "phi i32 [ %low, %head ]").replace(
        "sitofp i64 %found", "sitofp i32 %found"
    )
    ends = "  %start32 = trunc i64 %start to i32\n  %end32 = trunc i64 %end to i32\n  br label %head\nhead:"
    narrow = read_module(text.replace("  br label %head\nhead:", ends, 1))
    assert not has_narrow_searches(narrow, AVX2)
    assert search_together(narrow.functions["f"]) and has_narrow_searches(narrow, AVX2)
    verify(narrow.functions["f"])
    again = read_module(write_module(narrow))
    assert has_narrow_searches(again, AVX512) and not has_narrow_searches(again, SSE2)


def test_a_loop_that_is_left_by_an_unsigned_test() -> None:
    text = SUMS.replace("icmp slt i64 %k", "icmp ult i64 %k").replace("%next = add nsw", "%next = add nuw")
    module = read_module(text)
    assert search_together(module.functions["f"]) == 1
    verify(module)
    starts, grids = np.arange(0, 71, 10), np.sort(np.random.default_rng(1).random(70))
    arguments = starts, grids, np.linspace(0, 1, 7), 0
    assert run(module, *arguments) == run(read_module(text), *arguments)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # What the loop has found decides where it searches next, and for what.
        ("%start, %grid ]", "%from.last, %grid ]"),
        ("ogt double %y, %x", "ogt double %y, %sum"),
        # It writes to memory that it may read later.
        ("store double %more.own, ptr %own", "store double %more.own, ptr %wanted"),
        # It counts by another step.
        ("%next = add nsw i64 %k, 1", "%next = add nsw i64 %k, 2"),
        ("icmp slt i64 %k, %count", "icmp ne i64 %k, %count"),
        # The search is in memory that it has, or writes.
        ("getelementptr double, ptr %grids", "getelementptr double, ptr %own"),
        ("%y = load double, ptr %at", "%y = load volatile double, ptr %at"),
        # What is called may not return.
        ("%twice = fmul double %sum, 2.0", "%twice = call double @g(double %sum)"),
    ],
)
def test_other_loops_stay(old: str, new: str) -> None:
    assert old in SUMS
    text = SUMS.replace(old, new)
    if "from.last" in new:
        text = text.replace(
            "  %sum = phi",
            "  %from.last = phi i64 [ 0, %entry ], [ %found, %behind ]\n  %sum = phi",
        )
    module = read_module(text + "declare double @g(double) memory(none)\n")
    verify(module)
    assert search_together(module.functions["f"]) == 0


def look_up(starts, tables, keys, grids, which, sums):
    i = cuda.grid(1)
    if i < keys.size:
        total = keys[i] * 0
        for k in range(starts[i], starts[i + 1]):
            grid = which[k]
            low = 0
            high = grids.shape[1] - 1
            while high - low > 1:
                middle = (low + high) // 2
                if grids[grid, middle] > keys[i]:
                    high = middle
                else:
                    low = middle
            total = total * 3 + tables[grid, low] * low
        sums[i] = total


def look_up_in_a_loop(starts, tables, keys, grids, which, sums):
    for i in weft.prange(keys.size):
        total = keys[i] * 0
        for k in range(starts[i], starts[i + 1]):
            grid = which[k]
            low = 0
            high = grids.shape[1]
            while low < high:
                middle = (low + high) >> 1
                if grids[grid, middle] <= keys[i]:
                    low = middle + 1
                else:
                    high = middle
            low = max(low, 1) - 1
            total = total * 3 + tables[grid, low] * low
        sums[i] = total


def looked_up(starts, tables, keys, grids, which):
    sums = np.zeros_like(keys)
    for i, key in enumerate(keys):
        for k in range(starts[i], starts[i + 1]):
            low = max(int(np.searchsorted(grids[which[k]], key, "right")) - 1, 0)
            sums[i] = sums[i] * 3 + tables[which[k], low] * low
    return sums


@pytest.mark.spread
@pytest.mark.parametrize(
    ("door", "width", "size", "type"),
    pairs(["kernel", "loop"], [1, None], [2, 3, 17, 64], [np.int32, np.int64, np.float64]),
)
def test_tables_are_looked_up(door: str, width: int | None, size: int, type: type) -> None:
    random = np.random.default_rng(size)
    starts = np.append(0, np.cumsum(random.integers(0, 11, 19))).astype(np.int32)
    keys = random.integers(0, 50, 19).astype(type)
    # The last number is above all keys, so that no search ends there.
    grids = np.sort(random.integers(0, 50, (6, size)), axis=1).astype(type)
    grids[:, -1] = 99
    tables = random.integers(0, 3, (6, size)).astype(type)
    which = random.integers(-6, 6, starts[-1]).astype(np.int32)
    sums = np.zeros_like(keys)
    arguments = starts, tables, keys, grids, which, sums
    if door == "kernel":
        cuda.jit(look_up, width=width)[2, 16](*arguments)
    else:
        weft.jit(look_up_in_a_loop, width=width)(*arguments)
    np.testing.assert_array_equal(sums, looked_up(starts, tables, keys, grids, which))
