"""Functions that are called run in their own versions in parallel loops and in vectorized functions, too."""

import re

import numpy as np

import weft
from weft.loops.llvm_ir import vectorize_ir

STEPS = """
define i32 @steps(i32 %n) {
entry:
  %done = icmp slt i32 %n, 1
  br i1 %done, label %exit, label %again
exit:
  ret i32 0
again:
  %half = sdiv i32 %n, 2
  %r = call i32 @steps(i32 %half)
  %s = add i32 %r, 1
  ret i32 %s
}
"""


@weft.jit
def collatz(n):
    if n <= 1:
        return 0
    return 1 + (collatz(n // 2) if n % 2 == 0 else collatz(3 * n + 1))


@weft.jit(width=8)
def collatz_of_each(x, out):
    for i in weft.prange(x.size):
        out[i] = collatz(x[i])


def test_recursive_functions_in_parallel_loops() -> None:
    x, out = np.arange(1, 60), np.zeros(59, np.int64)
    collatz_of_each(x, out)

    def length(n: int) -> int:
        return 0 if n <= 1 else 1 + length(n // 2 if n % 2 == 0 else 3 * n + 1)

    assert out.tolist() == [length(int(n)) for n in x]


def test_a_recursive_function_calls_its_own_version() -> None:
    for mask in ("none", "last"):
        text = vectorize_ir(STEPS, "steps", args="T", width=8, mask=mask).llvm
        inner = re.findall(r"define [^@\n]*@(_ZGV\w+_steps[.\d]*)\(<8 x i32>", text)
        assert len(inner) == 2, text
        assert "extractelement <8 x i32>" not in text
