"""NewGVN is not told what a branch compares that others have decided: it would end the process, or be wrong."""

from __future__ import annotations

import numpy as np
import pytest

import weft
from weft.target.known_conditions import with_hidden_conditions, with_shown_conditions
from weft.target.machine import TargetSpec
from weft.target.passes import PassList, optimize

NEWGVN = PassList("newgvn", ("newgvn",))
NEST = """define i64 @f(i64 %w, i1 %again) {{
entry:
  br label %outer

outer:                                            ; preds = %behind, %entry
  %x = phi i64 [ 5, %entry ], [ %following, %behind ]
  %y = {computed}
  %c = icmp slt i64 {first}, %w
  br i1 %c, label %before, label %done

before:                                           ; preds = %outer
  br label %inner

inner:                                            ; preds = %more, %before
  %z = {computed}
  br i1 %again, label %asked, label %behind

asked:                                            ; preds = %inner
  %d = icmp {test} i64 {second}, %w
  {branch}

least:                                            ; preds = %asked
  %e = icmp eq i64 %w, {known}
  %s = select i1 %e, i64 7, i64 0
  call void @g(i64 %s)
  br label %more

more:                                             ; preds = %least, %asked
  br label %inner

behind:                                           ; preds = %inner
  %following = add i64 %x, -1
  br label %outer

done:                                             ; preds = %outer
  ret i64 %x
}}

declare void @g(i64)
"""
PLAIN = "br i1 %d, label %least, label %more"


def nest(
    test: str = "slt",
    first: str = "%x",
    second: str = "%x",
    branch: str = PLAIN,
    computed: str = "add i64 %x, 0",
    known: int = 5,
) -> str:
    return NEST.format(test=test, first=first, second=second, branch=branch, computed=computed, known=known)


@pytest.mark.parametrize(
    "text",
    [
        nest(),
        nest("ne"),
        nest("sge", branch="br i1 %d, label %more, label %least"),
        nest(first="%y", second="%z", computed="mul i64 %x, 3", known=15),
        nest(branch="%both = and i1 %d, %again\n  br i1 %both, label %least, label %more"),
        nest(branch="%both = select i1 %d, i1 %again, i1 false\n  br i1 %both, label %least, label %more"),
    ],
)
def test_what_is_compared_is_asked_behind_the_same_comparison(text: str) -> None:
    hidden = with_hidden_conditions(text)
    assert hidden is not None and hidden.count(" = freeze i1 ") == 1
    assert with_shown_conditions(hidden) == text
    # Without the branch hidden llvmlite's wheels end the process here.
    found = optimize(text, NEWGVN, TargetSpec.host().machine)
    assert " = icmp eq i64 %w, " in found
    assert "weft.hidden" not in found


@pytest.mark.parametrize(
    "text",
    [
        # The same condition.
        nest(branch="br i1 %c, label %least, label %more"),
        # What is compared is something else, or never changes.
        nest(second="%again.number"),
        nest(first="7", second="7"),
        nest().replace("br i1 %c, label %before, label %done", "br i1 %c, label %before, label %before"),
    ],
)
def test_others_stay(text: str) -> None:
    assert with_hidden_conditions(text) is None


def test_branches_beside_each_other_stay() -> None:
    text = """define void @f(ptr %p, i64 %w) {
  %x = load i64, ptr %p, align 8
  %c = icmp slt i64 %x, %w
  br i1 %c, label %a, label %b

a:
  br label %b

b:
  %d = icmp slt i64 %x, %w
  br i1 %d, label %a2, label %b2

a2:
  br label %b2

b2:
  ret void
}
"""
    assert with_hidden_conditions(text) is None
    inside = text.replace(
        "a:\n  br label %b\n", "a:\n  %e = icmp sgt i64 %w, %x\n  br i1 %e, label %b, label %b\n"
    )
    hidden = with_hidden_conditions(inside)
    assert hidden is not None and "  %weft.hidden.0 = freeze i1 %e\n  br i1 %weft.hidden.0," in hidden


def test_a_loop_that_asks_its_guard_again_is_compiled() -> None:
    @weft.jit
    def nearest(found, out, w, h, k):
        for y in weft.prange(h):
            for x in weft.prange(w):
                best = found[y, x]
                least = 1 << 30
                for dy in range(-1, 2):
                    for dx in range(-1, 2):
                        xx = x + dx * k
                        yy = y + dy * k
                        if xx >= 0 and xx < w and yy >= 0 and yy < h:
                            s = found[yy, xx]
                            if s >= 0:
                                ex = s % w - x
                                ey = s // w - y
                                d = ex * ex + ey * ey
                                if d < least:
                                    least = d
                                    best = s
                out[y, x] = best

    h, w, k = 9, 21, 4
    rng = np.random.default_rng(5)
    found = np.where(rng.random((h, w)) < 0.3, np.arange(h * w).reshape(h, w), -1).astype(np.int32)
    out, expected = np.empty_like(found), np.empty_like(found)
    nearest(found, out, w, h, k)
    nearest.py_func(found, expected, w, h, k)
    assert np.array_equal(out, expected)


def test_a_counter_that_runs_down_passes_what_it_did_not_begin_with() -> None:
    @weft.jit
    def count(w, out):
        for i in weft.prange(out.size):
            seen = 0
            for x in range(5, -1, -1):
                if x < w:
                    for _ in range(i):
                        # The inner question stands behind the repeated one.
                        if x < w:
                            seen += 2 if w == 5 else 1
            out[i] = seen

    for w in (0, 5, 6, 3):
        out = np.empty(5, np.int64)
        count(w, out)
        assert out.tolist() == [i * (10 if w == 5 else w if w < 6 else 6) for i in range(5)]
