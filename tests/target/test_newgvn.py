"""LLVM's NewGVN is kept from functions with so many loops that it would end the process, and takes no stores away."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import weft
from weft import cuda
from weft.target.machine import TargetSpec
from weft.target.newgvn import MOST_LOOPS, has_lost_stores
from weft.target.passes import PassList, optimize

NEWGVN = PassList("newgvn", ("newgvn",))
LOOP = """
header{n}:
  %i{n} = phi i32 [ 0, %exit{before} ], [ %j{n}, %latch{n} ]
  %s{n} = phi i32 [ %t{before}, %exit{before} ], [ %u{n}, %latch{n} ]
  br label %latch{n}
latch{n}:
  %u{n} = add i32 %s{n}, {n}
  %j{n} = add i32 %i{n}, 1
  %c{n} = icmp eq i32 %j{n}, 3
  br i1 %c{n}, label %exit{n}, label %header{n}
exit{n}:
  %t{n} = add i32 %u{n}, %a
  %d{n} = add i32 %u{n}, %a
  store i32 %d{n}, ptr %p
  br label %{following}
"""


def loops(count: int) -> str:
    bodies = [
        LOOP.format(n=n, before=n - 1, following=f"header{n + 1}" if n < count else "done")
        for n in range(1, count + 1)
    ]
    head = "define i32 @f(i32 %a, ptr %p) {\nexit0:\n  %t0 = add i32 %a, 1\n  br label %header1\n"
    return f"{head}{''.join(bodies)}done:\n  ret i32 %t{count}\n}}\n"


@pytest.mark.parametrize("count", [3, 40, MOST_LOOPS, MOST_LOOPS + 1, 150])
def test_many_loops_do_without(count: int) -> None:
    found = optimize(loops(count), NEWGVN, TargetSpec.host().machine)
    merged = not any(f"%d{n} =" in found for n in range(1, count + 1))
    assert merged == (count <= MOST_LOOPS)


def test_a_kernel_of_many_loops_is_compiled() -> None:
    lines = ["def f(x, y):", "    i = cuda.grid(1)", "    if i < x.size:", "        s = x[i]"]
    for n in range(110):
        lines += [f"        for q in range({n % 3 + 2}):", f"            s = s * 0.5 + x[i] * {n}.0"]
    text = "\n".join([*lines, "        y[i] = s"])
    linecache.cache["<many loops>"] = (len(text), None, text.splitlines(True), "<many loops>")
    scope: dict[str, Any] = {"cuda": cuda}
    exec(compile(text, "<many loops>", "exec"), scope)
    x = np.linspace(0, 1, 5, dtype=np.float32)
    y = np.zeros_like(x)
    cuda.jit(scope["f"])[1, 8](x, y)
    s = x.copy()
    for n in range(110):
        for _ in range(n % 3 + 2):
            s = (s * 0.5 + x * float(n)).astype(np.float32)
    np.testing.assert_allclose(y, s, rtol=1e-5)


SWAP = """
define void @f(ptr %a, ptr noalias %b, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i1, %swap ]
  %c = icmp slt i64 %i, %n
  br i1 %c, label %fill, label %exit
fill:
  %k = phi i64 [ 0, %head ], [ %k1, %filled ]
  %d = icmp slt i64 %k, 4
  br i1 %d, label %filled, label %swap
filled:
  %ak = getelementptr T, ptr %a, i64 %k
  %x = load T, ptr %ak
  store T %x, ptr %ak
  %k1 = add i64 %k, 1
  br label %fill
swap:
  %q = getelementptr T, ptr %a, i64 %i
  %t = load T, ptr %q
  %s = load T, ptr %a
  store T %t, ptr %a
  %u = load T, ptr %a
  store T %u, ptr %b
  store T %s, ptr %q
  %i1 = add i64 %i, 1
  br label %head
exit:
  ret void
}
"""


@pytest.mark.parametrize("type", ["float", "i64", "ptr", "i24", "<4 x float>"])
def test_stores_stay(type: str) -> None:
    found = optimize(SWAP.replace("T", type), NEWGVN, TargetSpec.host().machine)
    assert f"store {type} %t, ptr %a" in found and f"store {type} %s, ptr %q" in found
    assert "atomic" not in found
    # What was stored is known, but where NewGVN cannot be given the stores.
    assert (f"store {type} %t, ptr %b" in found) == (type in ("float", "i64", "ptr"))


def test_stores_to_null_in_dead_blocks_do_not_count() -> None:
    before = "{\n  store i64 %a, ptr %p, align 8\n  store i64 %b, ptr %q, align 8\n}"
    dead = "\n  store i8 poison, ptr null, align 1"
    assert has_lost_stores(before, before.replace("\n  store i64 %b, ptr %q, align 8", dead))
    assert not has_lost_stores(before, before.replace("\n}", f"{dead}\n}}"))


def test_unordered_stores_stay_unordered() -> None:
    text = SWAP.replace("T", "i32").replace("i32 %u, ptr %b", "atomic i32 %u, ptr %b unordered, align 4")
    found = optimize(text, NEWGVN, TargetSpec.host().machine)
    assert "store atomic i32 %u, ptr %b unordered, align 4" in found
    assert "store i32 %t, ptr %a" in found


def swaps(x, a, o, n):
    for i in range(n):
        for k in range(4):
            a[k] = x[i + k]
        a[0], a[i] = a[i], a[0]
        for k in range(4):
            o[i, k] = a[k]


def kernel_of_swaps(x, a, o, n):
    t = cuda.grid(1)
    if t < 3:
        for i in range(n):
            for k in range(4):
                a[t, k] = x[i + k]
            a[t, 0], a[t, i] = a[t, i], a[t, 0]
            for k in range(4):
                o[t, i, k] = a[t, k]


@pytest.mark.parametrize("door", ["jit", "auto", "kernel"])
def test_elements_change_places_behind_a_loop(door: str) -> None:
    x, n = np.arange(1.0, 9.0), 4
    a, wanted = np.zeros(n), np.zeros((n, n))
    swaps(x, a, wanted, n)
    if door == "kernel":
        got = np.zeros((3, n, n))
        cuda.jit(kernel_of_swaps)[1, 32](x, np.zeros((3, n)), got, n)
        wanted = np.broadcast_to(wanted, got.shape)
    else:
        got = np.zeros((n, n))
        weft.jit(swaps, parallel="auto" if door == "auto" else True)(x, np.zeros(n), got, n)
    np.testing.assert_array_equal(got, wanted)
