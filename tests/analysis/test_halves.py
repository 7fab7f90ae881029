"""Ranges of the ends of what loops search by halves (`halves`)."""

import itertools

import numpy as np
import pytest

from weft.analysis.integers.halves import halved_ranges
from weft.analysis.integers.ranges import Ranges
from weft.graph.block_index import block_index
from weft.graph.loops import loop_forest
from weft.interp import Memory, Program, run_function
from weft.ir import Function
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module

#   entry ──> head <──> body
#              └─> done
SEARCH = """
define void @f(ptr %a, i8 %x, iN range(iN -1, LIMIT) %to, ptr %seen) {
entry:
  br label %head
head:
  %low = phi iN [ 0, %entry ], [ %low1, %body ]
  %high = phi iN [ %to, %entry ], [ %high1, %body ]
  TEST
  br i1 %more, label %body, label %done
body:
  MIDDLE
  %at = getelementptr i8, ptr %a, iN %middle
  %y = load i8, ptr %at
  %above = icmp sgt i8 %y, %x
  %after = add iN %middle, 1
  %before = add iN %middle, -1
  %high1 = select i1 %above, iN UP, iN %high
  %low1 = select i1 %above, iN %low, iN DOWN
  br label %head
done:
  %ends = insertvalue { iN, iN } poison, iN %low, 0
  %both = insertvalue { iN, iN } %ends, iN %high, 1
  store { iN, iN } %both, ptr %seen
  ret void
}
"""
TESTS = {
    "apart": "%between = sub iN %high, %low\n  %more = icmp sgt iN %between, 1",
    "above": "%more = icmp sgt iN %high, %low",
    "below": "%more = icmp slt iN %low, %high",
    "up to": "%more = icmp sle iN %low, %high",
}
MIDDLES = {
    "sum": "%sum = add iN %low, %high\n  %middle = ashr iN %sum, 1",
    "sum, shift": "%sum = add iN %high, %low\n  %middle = lshr iN %sum, 1",
    "sum, division": "%sum = add iN %low, %high\n  %middle = sdiv iN %sum, 2",
    "distance": "%d = sub iN %high, %low\n  %half = lshr iN %d, 1\n  %middle = add iN %low, %half",
}
ENDS = {("apart", "%middle", "%middle"), ("above", "%middle", "%after"), ("below", "%middle", "%after")}
ENDS |= {("up to", "%before", "%after"), ("above", "%before", "%after")}


def program(test: str, middle: str, up: str, down: str, bits: int = 64, limit: int = 100) -> str:
    text = SEARCH.replace("TEST", TESTS[test]).replace("MIDDLE", MIDDLES[middle])
    text = text.replace("UP", up).replace("DOWN", down).replace("LIMIT", str(limit))
    return text.replace("iN", f"i{bits}")


def found(function: Function) -> dict[str, tuple[int, int]]:
    view = cfg_of(function)
    ranges = Ranges(function, view, block_index(view.cfg))
    (loop,) = loop_forest(view.cfg).loops
    halved = halved_ranges(loop, view, {a: r for a in function.args if (r := ranges.of(a)) is not None})
    return {i.name: (bounds.lo, bounds.hi) for i, bounds in halved.items()}


@pytest.mark.parametrize("middle", MIDDLES)
@pytest.mark.parametrize(("test", "up", "down"), sorted(ENDS))
def test_ends_and_middles_stay_in_the_range_that_is_searched(
    test: str, up: str, down: str, middle: str
) -> None:
    function = read_module(program(test, middle, up, down)).functions["f"]
    known = found(function)
    assert known == {"low": (0, 100), "high": (-1, 99), "middle": (0, 99)}
    view = cfg_of(function)
    ranges = Ranges(function, view, block_index(view.cfg))
    for i in function.instructions():
        if i.name in known:
            bounds = ranges.of(i)
            assert bounds is not None and known[i.name][0] <= bounds.lo and bounds.hi <= known[i.name][1]


@pytest.mark.parametrize(("test", "up", "down"), sorted(ENDS))
def test_the_interpreter_stays_in_these_ranges(test: str, up: str, down: str) -> None:
    random = np.random.default_rng(5)
    for middle, size in itertools.product(MIDDLES, (0, 1, 2, 3, 7, 8, 100)):
        module = read_module(program(test, middle, up, down))
        known = found(module.functions["f"])
        for data in (np.sort(random.integers(-9, 9, size)), random.integers(-9, 9, size)):
            memory, array, seen = Memory(), np.append(data, 0).astype(np.int8), np.zeros(2, np.int64)
            arguments = [
                memory.map_array(array),
                int(random.integers(0, 9)),
                size - 1,
                memory.map_array(seen),
            ]
            run_function(Program(module), "f", arguments, 1, memory=memory)
            assert known["low"][0] <= seen[0] <= known["low"][1]
            assert known["high"][0] <= seen[1] <= known["high"][1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[ 0, %entry ]", "[ -1, %entry ]"),  # it begins before the first
        ("range(i64 -1, 100) ", ""),  # the sum could wrap around
        ("sgt i64 %high, %low", "ugt i64 %high, %low"),  # ends are not in order as signed numbers
        ("sgt i64 %high, %low", "ne i64 %high, %low"),
        ("br i1 %more, label %body, label %done", "br i1 %more, label %done, label %body"),
        ("i64 %low, i64 %after", "i64 %low, i64 %before"),  # the lower end falls
        ("i64 %middle, i64 %high", "i64 %after, i64 %high"),  # the upper one rises
        ("%middle = ashr i64 %sum, 1", "%middle = ashr i64 %sum, 2"),
        ("%sum = add i64 %low, %high", "%sum = sub i64 %low, %high"),
    ],
)
def test_of_other_loops_nothing_is_known(old: str, new: str) -> None:
    text = program("above", "sum", "%middle", "%after")
    assert old in text
    assert not found(read_module(text.replace(old, new)).functions["f"])


def test_sums_and_differences_that_could_wrap_around_tell_nothing() -> None:
    text = program("apart", "sum", "%middle", "%middle", bits=32, limit=2**31 - 1)
    assert not found(read_module(text).functions["f"])
    never = text.replace("%sum = add", "%sum = add nsw")
    assert found(read_module(never).functions["f"])["middle"] == (0, 2**31 - 2)
    far = never.replace("range(i32 -1,", "range(i32 -2147483640,")
    assert not found(read_module(far).functions["f"])
    assert found(read_module(far.replace("= sub i32", "= sub nsw i32")).functions["f"])
