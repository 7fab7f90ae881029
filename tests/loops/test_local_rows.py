"""Rows that iterations change in place are copied to the stack; results stay the same, and nothing else is accessed."""

import mmap
import random

import numpy as np
import pytest

import weft
from loops.python_doors import functions, levels
from loops.test_auto import agree
from pairs import WHOLE, pairs
from weft import prange

LEVELS = levels()


def bitonic(a):
    for r in prange(a.shape[0]):
        k = 2
        while k <= 16:
            j = k // 2
            while j > 0:
                for i in range(16):
                    partner = i ^ j
                    if partner > i:
                        u, v = a[r, i], a[r, partner]
                        if ((i & k) == 0) == (u > v):
                            a[r, i] = v
                            a[r, partner] = u
                j //= 2
            k *= 2


def bitonic_of_any(a):
    n = a.shape[1]
    for r in prange(a.shape[0]):
        k = 2
        while k <= n:
            j = k // 2
            while j > 0:
                for i in range(n):
                    partner = i ^ j
                    if partner > i:
                        u, v = a[r, i], a[r, partner]
                        if ((i & k) == 0) == (u > v):
                            a[r, i] = v
                            a[r, partner] = u
                j //= 2
            k *= 2


def odd_even(a):
    for r in prange(a.shape[0]):
        for s in range(24):
            for i in range(s & 1, 23, 2):
                if a[r, i] > a[r, i + 1]:
                    a[r, i], a[r, i + 1] = a[r, i + 1], a[r, i]


def walsh(a):
    n = a.shape[1]
    for r in prange(a.shape[0]):
        h = 1
        while h < n:
            for i in range(0, n, 2 * h):
                for j in range(i, i + h):
                    u, v = a[r, j], a[r, j + h]
                    a[r, j] = u + v
                    a[r, j + h] = u - v
            h *= 2


def curves(a, t, points):
    n = a.shape[1]
    for r in prange(a.shape[0]):
        for s in range(1, n):
            for i in range(n - s):
                a[r, i] = a[r, i] * (1 - t[r]) + a[r, i + 1] * t[r]
        points[r] = a[r, 0]


def some(a, wanted):
    total = 0
    for r in prange(1, a.shape[0] - 1):
        if wanted[r] > 0:
            for s in range(24):
                for i in range(s & 1, 23, 2):
                    if a[r + 1, i] > a[r + 1, i + 1]:
                        a[r + 1, i], a[r + 1, i + 1] = a[r + 1, i + 1], a[r + 1, i]
            total += a[r + 1, 3]
    return total


def both(x, y):
    for r in prange(x.shape[0]):
        for _ in range(12):
            for i in range(19):
                x[r, i + 1] = x[r, i] + y[r, i + 1]
                y[r, i] = y[r, i + 1] - x[r, i]


def pages(a, p):
    for r in prange(a.shape[1]):
        for s in range(20):
            for i in range(s & 1, 19, 2):
                if a[p, r, i] > a[p, r, i + 1]:
                    a[p, r, i], a[p, r, i + 1] = a[p, r, i + 1], a[p, r, i]


def copied(compiled) -> int:
    return sum("works on a copy" in r.message for r in compiled.remarks)


@pytest.fixture(params=LEVELS)
def level(request, monkeypatch) -> str:
    monkeypatch.setenv("WEFT_CPU", request.param)
    return request.param


TYPES = ("int8", "uint16", "int32", "int64", "float32", "float64")


@pytest.mark.spread
@pytest.mark.parametrize(("level", "type"), pairs(LEVELS, TYPES), indirect=["level"])
def test_sorted_rows_are_those_of_python(level, type) -> None:
    draw = np.random.default_rng(1)
    function, n = (bitonic, 16) if TYPES.index(type) % 2 else (odd_even, 24)
    compiled = weft.jit(function)
    for rows in (0, 7, 70):
        agree(compiled, draw.integers(0, 99, (rows, n)).astype(type))
    assert copied(compiled) >= 1


def test_it_can_be_left_out() -> None:
    compiled = weft.jit(bitonic, without=("local-rows",))
    agree(compiled, np.random.default_rng(1).random((40, 16)))
    assert copied(compiled) == 0


def test_rows_may_be_as_long_as_there_is_room(level) -> None:
    draw = np.random.default_rng(2)
    for function, type in ((bitonic_of_any, "int32"), (walsh, "float64")):
        compiled, as_written = weft.jit(function), weft.jit(function, without=("local-rows",))
        for n in (64, 256, 512, 1024):
            a = draw.integers(-99, 99, (33, n)).astype(type)
            wanted = a.copy()
            as_written(wanted)
            compiled(a)
            np.testing.assert_array_equal(a, wanted)
        assert copied(compiled) >= 1


def test_longer_arrays_keep_what_is_behind_the_row(level) -> None:
    draw = np.random.default_rng(3)
    compiled = weft.jit(odd_even)
    for n in (24, 25, 40):
        agree(compiled, draw.integers(0, 99, (40, n)).astype(np.int16))
    # Rows that are parts of others have steps of their own.
    agree(compiled, draw.integers(0, 99, (40, 60)).astype(np.int16)[:, 10:40])
    assert copied(compiled) >= 1


def test_other_arrays_are_read_beside_the_row(level) -> None:
    draw = np.random.default_rng(4)
    compiled = weft.jit(curves)
    for n in (5, 40):
        agree(compiled, draw.random((50, n)), draw.random(50), np.zeros(50))
    assert copied(compiled) >= 1


def test_rows_under_a_condition_and_what_they_hand_on(level) -> None:
    draw = np.random.default_rng(5)
    compiled = weft.jit(some)
    for rows in (2, 3, 20, 61):
        agree(compiled, draw.integers(0, 99, (rows, 24)), draw.integers(0, 2, rows))
    assert copied(compiled) >= 1


def test_rows_of_a_page(level) -> None:
    draw = np.random.default_rng(6)
    compiled = weft.jit(pages)
    a = draw.integers(0, 99, (3, 50, 20))
    for p in range(3):
        agree(compiled, a, p)
    assert copied(compiled) >= 1


def test_rows_that_overlap_are_found(level) -> None:
    """Each iteration goes on from what it has itself stored by way of the other array."""
    draw = np.random.default_rng(7)
    compiled = weft.jit(both)
    memory = draw.integers(-9, 9, 60 * 20)
    x = memory[: 40 * 20].reshape(40, 20)
    agree(compiled, x, draw.integers(-9, 9, (40, 20)))
    agree(compiled, x, x)
    agree(compiled, x[:1], memory[7 : 7 + 20].reshape(1, 20))
    assert copied(compiled) >= 1


def beyond(a, lengths):
    for r in prange(lengths.size):
        for s in range(lengths[0]):
            for i in range(s & 1, 23, 2):
                if a[r, i] > a[r, i + 1]:
                    a[r, i], a[r, i + 1] = a[r, i + 1], a[r, i]


def test_no_row_is_copied_that_is_not_in_the_array(level) -> None:
    """What lies behind the array is no memory: iterations that access nothing must not copy their rows."""
    page = mmap.PAGESIZE
    memory = np.frombuffer(mmap.mmap(-1, 4 * page), np.int16)
    rows = memory.size // 24
    a = memory[memory.size - rows * 24 :].reshape(rows, 24)
    compiled = weft.jit(beyond)
    compiled(a, np.full(100_000, 0))
    a[:] = np.arange(24, 0, -1)
    compiled(a, np.full(rows, 24))
    assert (a == np.arange(1, 25)).all()
    assert copied(compiled) >= 1


def next_row(a):
    for r in prange(a.shape[0] - 1):
        for s in range(9):
            for i in range(1, a.shape[1] - 1):
                a[r + 1, i - 1] = a[r + 1, i] - a[r + 1, i + 1] * s


def two_rows(a):
    for r in prange(a.shape[0] // 2):
        for s in range(9):
            for i in range(a.shape[1] - 1):
                a[2 * r, i] = a[2 * r + 1, i + 1] - a[2 * r, i + 1] * s


def window(a, m):
    flat = a.ravel()
    for r in prange(a.shape[0] - 1):
        row = flat[r * a.shape[1] :]
        for s in range(9):
            for i in range(m):
                if s + i < a.shape[1] - 1:
                    row[i + s] = row[i + s + 1] * s - row[i]


def by_data(a, starts):
    for r in prange(a.shape[0]):
        for s in range(9):
            for i in range(starts[r], 15):
                a[r, i] = a[r, i + 1] - a[r, i] * s


def some_columns(a, rows):
    for r in prange(rows.size):
        for s in range(9):
            for i in range(7):
                a[rows[r], i] = a[rows[r], i + 1] - a[rows[r], i] * s


def one_column(a):
    for r in prange(a.shape[0]):
        for s in range(9):
            for i in range(a.shape[1]):
                a[r, i] = a[r, i] * 3 - s


def once(a):
    for r in prange(a.shape[0]):
        for k in range(2):
            for i in range(0, 14, 2):
                a[r, i + k] = a[r, i + 1] + 1


def test_rows_of_other_numbers_stay_right() -> None:
    """Short rows have lengths that are numbers in the code, where the next row is a few elements behind this one."""
    draw = np.random.default_rng(8)
    for n in (3, 8, 40):
        for function in (next_row, two_rows):
            agree(weft.jit(function), draw.integers(-99, 99, (40, n)))
        agree(weft.jit(window), draw.integers(-99, 99, (2, n)), n)
    agree(weft.jit(by_data), draw.integers(-99, 99, (40, 16)), draw.integers(0, 15, 40))
    agree(weft.jit(some_columns), draw.integers(-99, 99, (40, 16)), draw.permutation(40))


@pytest.mark.parametrize("function", [one_column, two_rows, once], ids=lambda f: f.__name__)
def test_what_does_not_pay_or_is_not_known_stays(function) -> None:
    compiled = weft.jit(function)
    compiled(np.arange(40 * 40).reshape(40, 40))
    assert copied(compiled) == 0


def test_columns_that_differ_from_row_to_row_stay() -> None:
    for function, more in ((by_data, np.zeros(40, np.int64)), (some_columns, np.arange(40))):
        compiled = weft.jit(function)
        compiled(np.arange(40 * 40).reshape(40, 40), more)
        assert copied(compiled) == 0


def test_columns_that_are_long_sums_of_shared_parts_take_no_longer() -> None:
    """Each number is the sum of the two before it: there are more ways to the last one than anyone can go."""
    text = "\n".join(
        (
            "from weft import prange",
            "def drawn(a, c):",
            "    for r in prange(a.shape[0]):",
            "        for s in range(9):",
            "            for i in range(15):",
            "                u, v = c[i], c[i + 1]",
            *["                u, v = v, u + v"] * 60,
            "                a[r, v] = a[r, i] - a[r, i + 1] * s",
        )
    )
    compiled = weft.jit(functions(text, "<sums of shared parts>")["drawn"])
    agree(compiled, np.arange(20 * 16).reshape(20, 16), np.zeros(16, np.int64))


def test_each_pass_is_right(monkeypatch) -> None:
    """The interpreter compares the programs before and behind each pass."""
    monkeypatch.setenv("WEFT_CHECK", "1")
    monkeypatch.setenv("WEFT_CACHE", "0")
    draw = np.random.default_rng(9)
    compiled = weft.jit(walsh)
    compiled(draw.integers(0, 99, (18, 32)))
    assert copied(compiled) >= 1
    compiled = weft.jit(some)
    compiled(draw.integers(0, 99, (20, 24)), draw.integers(0, 2, 20))
    assert copied(compiled) >= 1


def _source(seed: int) -> tuple[str, int]:
    """A function that changes rows in rounds, at columns and under conditions that are drawn."""
    rng = random.Random(f"local rows {seed}")
    n = rng.choice((8, 13, 24, 40))
    columns = [
        "i",
        f"i + {rng.randrange(3)}",
        f"{n - 1} - i",
        "i ^ 1",
        f"i + s % {rng.randrange(1, 4)}",
        "(i * 3) % 7",
    ]
    lines = [
        "from weft import prange",
        "def drawn(a, b):",
        f"    for r in prange({rng.choice(('a.shape[0]', '1, a.shape[0]', 'a.shape[0] - 1'))}):",
        *([f"        if b[r, {rng.randrange(n)}] > 0:"] if rng.random() < 0.3 else ["        if True:"]),
        f"            for s in range({rng.choice(('5', 'a.shape[1] // 2', '9'))}):",
        f"                for i in range({rng.choice(('0', 's & 1', '1'))}, {n - 4}, {rng.choice((1, 1, 2))}):",
    ]
    row = rng.choice(("r", "r", "r - 1", "r + 0"))
    row = row if "1, a" in lines[2] or row == "r" else "r"
    for _ in range(rng.randrange(1, 4)):
        to, x, y = (rng.choice(columns) for _ in range(3))
        if rng.random() < 0.5:
            lines.append(f"                    if a[{row}, {x}] > b[r, i] + s:")
        else:
            lines.append("                    if s != 3:")
        lines.append(
            f"                        a[{row}, {to}] = (a[{row}, {y}] * 3 - a[{row}, {x}] + s) % 100"
        )
    return "\n".join(lines), n


@pytest.mark.skipif(not LEVELS, reason="levels are those of x86-64")
@pytest.mark.parametrize("seed", range(200 if WHOLE else 9))
def test_drawn_rounds_are_those_of_python(seed, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", LEVELS[seed % len(LEVELS)])
    text, n = _source(seed)
    name = f"<local rows {seed}>"
    compiled = weft.jit(functions(text, name)["drawn"])
    draw = np.random.default_rng(seed)
    for rows in (2, 19, 40):
        agree(compiled, draw.integers(0, 99, (rows, n)), draw.integers(-9, 99, (rows, n)))
