"""Searches by halves have a version without branches for short ranges (`bisections`)."""

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda
from weft.analysis.loops.bisections import bisections
from weft.ir.cfg_view import cfg_of
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.loops.bisections import NEAR, choose_in_short_ranges

#   entry ──> head <──> body
#              └─> done
SEARCH = """
define i64 @f(ptr %a, i64 %from, i64 %to, double %x) {
entry:
  br label %head
head:
  %low = phi i64 [ %from, %entry ], [ %low1, %body ]
  %high = phi i64 [ %to, %entry ], [ %high1, %body ]
  %between = sub i64 %high, %low
  %more = icmp sgt i64 %between, 1
  br i1 %more, label %body, label %done
body:
  %sum = add i64 %low, %high
  %middle = ashr i64 %sum, 1
  %at = getelementptr double, ptr %a, i64 %middle
  %y = load double, ptr %at
  %above = fcmp ogt double %y, %x
  %high1 = select i1 %above, i64 %middle, i64 %high
  %low1 = select i1 %above, i64 %low, i64 %middle
  br label %head
done:
  %found = phi i64 [ %low, %head ]
  ret i64 %found
}
"""


def test_the_size_of_the_range_says_which_version_runs() -> None:
    module = read_module(SEARCH)
    function = module.functions["f"]
    assert choose_in_short_ranges(function) == 1
    verify(module)
    text = write_module(module)
    assert text.count(f", {NEAR // 8}") == 2
    assert text.count("!unpredictable") == 2 and text.count("select") == 4


def test_what_is_searched_for_may_be_loaded_in_the_loop() -> None:
    text = SEARCH.replace(
        "  %above = fcmp ogt double %y, %x", "  %z = load double, ptr %p\n  %above = fcmp ogt double %y, %z"
    )
    function = read_module(text.replace("double %x", "ptr %p")).functions["f"]
    (found,) = bisections(function, cfg_of(function))
    assert {phi.name for phi in found.bounds} == {"low", "high"} and found.size == 8


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i64 %low, i64 %middle", "i64 %middle, i64 %middle"),  # the range is empty at once
        ("ptr %a, i64 %middle", "ptr %a, i64 %low"),  # it looks at an end
        ("fcmp ogt double %y, %x", "icmp sgt i64 %middle, %to"),  # what is loaded does not decide
        ("icmp sgt i64 %between, 1", "fcmp ogt double %x, 1.0"),  # nor do the ends when it is left
    ],
)
def test_other_loops_are_none(old: str, new: str) -> None:
    text = SEARCH.replace(old, new)
    if old.startswith("i64"):
        text = text.replace("%low1 = select i1 %above, i64 %middle, i64 %middle", "%low1 = add i64 %low, 0")
    function = read_module(text).functions["f"]
    assert text != SEARCH and not list(bisections(function, cfg_of(function)))


def search(keys, wanted, found):
    for i in weft.prange(found.size):
        low = 0
        high = keys.size
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low


def search_kernel(keys, wanted, found):
    i = cuda.grid(1)
    if i < found.size:
        low = 0
        high = keys.size
        while low < high:
            middle = (low + high) // 2
            if keys[middle] < wanted[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = low


@pytest.mark.parametrize(
    ("form", "width", "size"),
    pairs(["loop", "kernel"], [1, None], [0, 1, 2, 1000, NEAR // 8 - 1, NEAR // 8, NEAR // 8 + 1, NEAR]),
)
def test_keys_are_found_in_short_and_long_ranges(form: str, width: int | None, size: int) -> None:
    rng = np.random.default_rng(size)
    keys, wanted = np.sort(rng.integers(0, 3 * size + 1, size)), rng.integers(-1, 3 * size + 2, 40)
    found = np.zeros(wanted.size, np.int64)
    if form == "loop":
        weft.jit(search, width=width)(keys, wanted, found)
    else:
        cuda.jit(search_kernel, width=width)[2, 32](keys, wanted, found)
    assert (found == np.searchsorted(keys, wanted)).all()
