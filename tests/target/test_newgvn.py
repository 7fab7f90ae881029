"""LLVM's NewGVN is kept from functions with so many loops that it would end the process."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from weft import cuda
from weft.target.machine import TargetSpec
from weft.target.newgvn import MOST_LOOPS
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
