"""Loops that run in 32 bits while their numbers fit: they compute what 64 bits compute, whatever the numbers are."""

import math
import os
import random
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.machine.host import chosen

LEVELS = {"x86-64": "sse2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}
PROGRAMS = 400 if os.environ.get("WEFT_FUZZ") else 3


def divisors(a, b, out):
    for i in prange(a.size):
        x, y = a[i], b[i]
        while y != 0:
            x, y = y, x % y
        out[i] = x


def hailstones(a, b, out):
    for i in prange(a.size):
        x, k = a[i], 0
        while x > 1 and k < 200:
            x = 3 * x + 1 if x % 2 else x // 2
            k += 1
        out[i] = k


def digits(a, b, out):
    for i in prange(a.size):
        x, total = a[i], 0
        while x > 0:
            total += x % 10
            x //= 10
        out[i] = total


def powers(a, b, out):
    for i in prange(a.size):
        m = (abs(b[i]) & 0x3FFFFFFF) + 1
        r, x, k = 1, a[i] % m, b[i] & 0xFFFF
        while k > 0:
            if k & 1:
                r = r * x % m
            x = x * x % m
            k >>= 1
        out[i] = r


def factors(a, b, out):
    for i in prange(a.size):
        n, d = abs(a[i]) & 0x3FFFFFFFFFF, 2
        while d * d <= n and d < 300:
            if n % d == 0:
                break
            d += 1
        out[i] = d


FUNCTIONS = [divisors, hailstones, digits, powers, factors]


def numbers(count: int, seed: int = 1) -> np.ndarray:
    """Numbers of which most are small, and some of all sizes."""
    rng = np.random.default_rng(seed)
    small = rng.integers(-9, 100_000, count)
    of_any_size = rng.integers(-(1 << 62), 1 << 62, count) >> rng.integers(0, 62, count)
    near = (1 << rng.integers(28, 34, count)) + rng.integers(-3, 4, count)
    kind = rng.integers(0, 12, count)
    return np.where(kind < 10, small, np.where(kind == 10, of_any_size, near))


def use(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if LEVELS[level] not in chosen().features:
        pytest.skip("this machine does not have that level")
    monkeypatch.setenv("WEFT_CPU", level)


def as_python_does(function, a: np.ndarray, b: np.ndarray) -> list[int]:
    out = [0] * a.size
    function(_List(a), _List(b), out)
    return out


class _List(list):
    """An array whose numbers do not wrap around."""

    def __init__(self, values: np.ndarray) -> None:
        super().__init__(int(v) for v in values)

    @property
    def size(self) -> int:
        return len(self)


@pytest.mark.spread
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_loops_compute_what_python_does(function, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(level, monkeypatch)
    monkeypatch.setenv("WEFT_CHECK", "0")
    a, b = numbers(300), numbers(300, seed=2)
    if function is hailstones:
        # Python's numbers would not wrap around.
        a = np.minimum(a, 1 << 40)
    found = np.zeros(300, np.int64)
    compiled = weft.jit(function)
    compiled(a, b, found)
    assert found.tolist() == as_python_does(function, a, b)
    assert any("32 bits while its numbers fit" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_pass_does_the_same(function, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", "1")
    a, b = np.minimum(numbers(40), 1 << 40), numbers(40, seed=2)
    found = np.zeros(40, np.int64)
    weft.jit(width=8)(function)(a, b, found)
    assert found.tolist() == as_python_does(function, a, b)


@pytest.mark.parametrize("left_out", ["guessed-ranges", "narrowing"])
def test_what_a_user_leaves_out_is_left_out(left_out: str) -> None:
    """Without narrowing guesses would be for nothing."""
    compiled = weft.jit(without=(left_out,))(divisors)
    out = np.zeros(9, np.int64)
    compiled(np.arange(9), np.arange(9) + 2, out)
    assert not any("while its numbers fit" in r.message for r in compiled.remarks)
    assert out.tolist() == [math.gcd(i, i + 2) for i in range(9)]


@pytest.mark.parametrize("left_out", ["guessed-ranges", "narrowing"])
def test_what_a_user_leaves_out_of_a_kernel_is_left_out(left_out: str) -> None:
    compiled = cuda.jit(without=(left_out,))(kernel)
    compiled[1, 64](np.arange(60), np.arange(60) + 2, np.zeros(60, np.int64))
    assert not any("while its numbers fit" in r.message for r in compiled.remarks)


def kernel(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        x, y = a[i], b[i]
        k = 0
        while y != 0 and k < 50:
            x, y = y, x % y
            k += 1
        out[i] = 100 * x + k


@pytest.mark.parametrize("check", ["0", "1"])
def test_kernels(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEFT_CHECK", check)
    a, b = numbers(100) >> 8, numbers(100, seed=2) >> 8
    found, wanted = np.zeros((2, 100), np.int64)
    compiled = cuda.jit(kernel)
    compiled[2, 64](a, b, found)
    assert any("32 bits while its numbers fit" in r.message for r in compiled.remarks)
    cuda.jit(debug=True)(kernel)[2, 64](a, b, wanted)
    np.testing.assert_array_equal(found, wanted)


def test_elementwise_functions() -> None:
    @weft.vectorize(["int64(int64, int64)"])
    def common(x, y):
        while y != 0:
            x, y = y, x % y
        return x

    a, b = abs(numbers(300)), abs(numbers(300, seed=2))
    assert common(a, b).tolist() == [math.gcd(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    assert any("32 bits while its numbers fit" in r.message for r in common.remarks)


EXPRESSIONS = (
    "x + y", "x - y", "3 * x + 1", "x // 3", "x % 7", "x % (y | 1)", "x // (y | 3)", "y - 5", "x >> 1", "x & 0xFFFF",
    "max(x, y)", "min(x, y) + 2", "x if x > y else y - x", "x * y % 1009", "y ^ x", "x * x", "-x", "abs(y) + k",
    "x << 2", "k + y", "(x + n) // 2", "n % (x | 1)", "n - y", "x & (x - 1)",
)  # fmt: skip
CONDITIONS = ("x != y", "x > 0", "x * 3 > y", "x % 5 != 1", "y < n", "k * k <= abs(n)", "x != 1", "True")
PROGRAM = """
from weft import prange


def program(a, b, out):
    for i in prange(a.size):
        x, y, k, n = a[i], b[i], 0, a[(7 * i + 3) % a.size]
        while {condition} and k < {rounds}:
            {statements}
            k += 1
        out[i] = 31 * x + 7 * y + k
"""


def random_program(rng: random.Random) -> str:
    statements = [f"x, y = {rng.choice(EXPRESSIONS)}, {rng.choice(EXPRESSIONS)}"]
    if rng.random() < 0.4:
        statements.append(f"if {rng.choice(CONDITIONS)}:\n                y = {rng.choice(EXPRESSIONS)}")
    if rng.random() < 0.3:
        statements.append(f"if {rng.choice(CONDITIONS[:-1])} and k > 3:\n                break")
    return PROGRAM.format(
        condition=rng.choice(CONDITIONS),
        rounds=rng.choice((3, 17, 60)),
        statements="\n            ".join(statements),
    )


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_loops(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rng = random.Random(seed)
    monkeypatch.setenv("WEFT_CHECK", "1" if seed % 3 == 0 else "0")
    use(list(LEVELS)[seed % len(LEVELS)], monkeypatch)
    text = random_program(rng)
    file = tmp_path / f"guessed{seed}.py"
    file.write_text(text)
    program = runpy.run_path(str(file))["program"]
    a, b = numbers(60, seed), numbers(60, seed + 1)
    found, wanted = np.zeros((2, 60), np.int64)
    weft.jit(width=rng.choice((4, 8, 16)))(program)(a, b, found)
    weft.jit(width=1, without=("guessed-ranges", "narrowing"))(program)(a, b, wanted)
    np.testing.assert_array_equal(found, wanted, err_msg=text)


def rooted(a, b, out):
    for i in prange(a.size):
        n, k = abs(a[i]) & 0xFFFFFFFF, 0
        while n != 1 and k < 300:
            n = 3 * n + 1 if n & 1 else n >> 1
            k += 1
        out[i] = n + k


def falling(a, b, out):
    for i in prange(a.size):
        n, k = abs(a[i]) & 0xFFFFFFFF, 0
        while n != 3 and k < 15:
            n = 3 * n - 40 if n & 1 else 7 - (n >> 1)
            k += 1
        out[i] = n + k


@pytest.mark.spread
@pytest.mark.parametrize("function", [rooted, falling])
@pytest.mark.parametrize("level", LEVELS)
def test_what_begins_natural_may_stay_so_or_not(
    function, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(level, monkeypatch)
    monkeypatch.setenv("WEFT_CHECK", "0")
    a = numbers(300)
    found = np.zeros(300, np.int64)
    compiled = weft.jit(function)
    compiled(a, a, found)
    assert found.tolist() == as_python_does(function, a, a)
    assert any("32 bits while its numbers fit" in r.message for r in compiled.remarks)


def climbing(a, b, out):
    for i in prange(out.size):
        n, k = i + 1, 0
        while n != 1 and k < 120:
            n = 5 * n + 1 if n & 1 else n >> 1
            k += 1
        out[i] = n + k


@pytest.mark.parametrize("level", LEVELS)
def test_counters_of_loops_from_zero_are_natural(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins with them, and stays so, is asked for a bound on one side."""
    use(level, monkeypatch)
    monkeypatch.setenv("WEFT_CHECK", "0")
    found = np.zeros(150, np.int64)
    compiled = weft.jit(climbing)
    compiled(found, found, found)
    climbing(_List(found), _List(found), counted := _List(np.zeros(150)))
    assert found.tolist() == list(counted)
    text = compiled.inspect_llvm()
    text = text if isinstance(text, str) else "\n".join(text.values())
    # Of both signs, numbers would be moved by a power of two first.
    assert "lshr <" in text and not re.search(r"add <\d+ x i32> %\S+, splat \(i32 -?\d{7,}\)", text)


def from_a_parameter(a, b, out):
    first = a[0]
    for i in prange(first, first + out.size):
        n, k = i + 1, 0
        while n != 1 and n != -1 and k < 120:
            n = 5 * n + 1 if n & 1 else n >> 1
            k += 1
        out[i - first] = n + k


@pytest.mark.parametrize("level", LEVELS)
def test_counters_that_begin_anywhere_may_be_negative(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(level, monkeypatch)
    monkeypatch.setenv("WEFT_CHECK", "0")
    a, found = np.array([-70]), np.zeros(150, np.int64)
    weft.jit(from_a_parameter)(a, a, found)
    from_a_parameter(_List(a), _List(a), counted := _List(np.zeros(150)))
    assert found.tolist() == list(counted)
