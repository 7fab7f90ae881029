"""Remainders of what is near the divisor: which are choices, and that they are what divisions give."""

import numpy as np
import pytest

import weft
from weft import cuda, prange
from weft.interp import Lanes, Memory, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.near_remainders import replace_near_remainders

LEVELS = ("x86-64", "x86-64-v3", "x86-64-v4")
FLOORED = (
    "%r = srem i64 %v, %n\n  %low = icmp slt i64 %r, 0\n  %more = select i1 %low, i64 %n, i64 0\n"
    "  %index = add i64 %r, %more\n  %is_low = icmp slt i64 %index, 0\n  %end = select i1 %is_low, i64 %n, i64 0\n"
    "  %result = add i64 %index, %end"
)
"""As Python's ``a[v % n]``."""


def program(number: str, remainder: str, guard: str = "icmp ult i64 %x, %n") -> str:
    return f"""
define i64 @f(i64 range(i64 0, 1024) %x, i64 range(i64 0, 1024) %n) {{
entry:                              ;   entry
  %near = {guard}                   ;   |   |
  br i1 %near, label %in, label %no ;   in  no
in:
  {number}
  {remainder}
  ret i64 %result
no:
  ret i64 -7
}}
"""


def results(text: str) -> list[int]:
    """What comes of all numbers to 6 and divisors from 1 to 6."""
    x, n = (part.reshape(-1) for part in np.meshgrid(np.arange(7), np.arange(1, 7)))
    lanes = [Lanes(part.astype(np.uint64)) for part in (x, n)]
    return run_function(read_module(text), "f", lanes, x.size).data.tolist()


@pytest.mark.parametrize(
    ("number", "remainder"),
    [
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, 0", "%result = urem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, 1", "%result = srem i64 %v, %n"),
        ("%s = add nuw nsw i64 %x, %n\n  %v = add nsw i64 %s, -1", "%result = urem i64 %v, %n"),
        ("%s = add nsw i64 %n, -1\n  %v = add nsw i64 %x, %s", "%result = srem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, %x", "%result = urem i64 %v, %n"),
        ("%v = add nuw nsw i64 %x, 1", FLOORED),
        ("%v = add nsw i64 %x, -1", FLOORED),
        ("%v = sub nsw i64 %x, %n", FLOORED),
    ],
)
@pytest.mark.parametrize("guard", ["icmp ult i64 %x, %n", "icmp slt i64 %x, %n"])
def test_what_is_near_is_chosen(number: str, remainder: str, guard: str) -> None:
    text = program(number, remainder, guard)
    module = read_module(text)
    assert replace_near_remainders(module.functions["f"]) == 1
    verify(module)
    made = write_module(module)
    assert "rem" not in made and "is_low" not in made
    assert results(made) == results(text)


@pytest.mark.parametrize(
    ("number", "remainder", "guard"),
    [
        # n may be 1.
        ("%v = add nuw nsw i64 %x, 2", "%result = urem i64 %v, %n", "icmp ult i64 %x, %n"),
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n", "icmp ule i64 %x, %n"),
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n", "icmp ugt i64 %x, %n"),
        # Its remainder is -1 or 0, which is not set right.
        ("%v = add nsw i64 %x, -1", "%result = srem i64 %v, %n", "icmp ult i64 %x, %n"),
        ("%v = add nsw i64 %x, -2", FLOORED, "icmp ult i64 %x, %n"),
        ("%v = add nsw i64 %x, -1", FLOORED, "icmp ule i64 %x, %n"),
        (
            "%v = add nsw i64 %x, -1",
            "%r = srem i64 %v, %n\n  %low = icmp slt i64 %r, 0\n  %more = select i1 %low, i64 %x, i64 0\n"
            "  %result = add i64 %r, %more",
            "icmp ult i64 %x, %n",
        ),
        ("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, 9", "icmp ult i64 %x, 9"),
    ],
)
def test_what_may_be_further_away_is_divided(number: str, remainder: str, guard: str) -> None:
    module = read_module(program(number, remainder, guard))
    before = write_module(module)
    assert replace_near_remainders(module.functions["f"]) == 0
    assert write_module(module) == before


@pytest.mark.parametrize(
    ("guard", "left"), [("icmp slt i64 %x, %n", 0), ("icmp ne i64 %x, %n", 1), ("icmp sgt i64 %x, %n", 1)]
)
@pytest.mark.parametrize("asks_for_zero", [False, True])
def test_divisors_that_a_guard_says_are_positive(guard: str, left: int, asks_for_zero: bool) -> None:
    """As Python's remainder of numbers is written of whose sign nothing else is known."""
    floored = (
        "%r = srem i64 %v, %n\n  %both = xor i64 %r, %n\n  %differ = icmp slt i64 %both, 0\n"
        "  %some = icmp ne i64 %r, 0\n  %low = and i1 %some, %differ\n  %more = select i1 %low, i64 %n, i64 0\n"
        "  %result = add i64 %r, %more"
    )
    if asks_for_zero:
        tested = (
            "%following = add i64 %n, 1\n  %none = icmp ult i64 %following, 2\n"
            "  %d = select i1 %none, i64 1, i64 %n\n  "
        )
        floored = tested + floored.replace("%n", "%d")
    text = program("%v = add nsw i64 %x, -1", floored, guard).replace("range(i64 0, 1024) %n", "%n")
    module = read_module(text)
    assert replace_near_remainders(module.functions["f"]) == 1 - left
    verify(module)
    written = write_module(module)
    assert ("xor" in written) == bool(left) and results(written) == results(text)


def test_numbers_of_32_bits() -> None:
    text = program("%v = add nuw nsw i64 %x, 1", "%result = urem i64 %v, %n")
    text = text.replace("i64", "i32")
    assert replace_near_remainders(read_module(text).functions["f"]) == 1


IN_PLACES = """
define i64 @f(i64 range(i64 0, 1024) %x, i64 range(i64 0, 1024) %n, ptr %rows) {
entry:                              ;   entry
  %near = icmp ult i64 %x, %n       ;   |   |
  br i1 %near, label %in, label %no ;   in  no
in:
  %v = add nsw i64 %x, -1
  %r = srem i64 %v, %n
  %low = icmp slt i64 %r, 0
  %cut = trunc i64 %n to i32
  %more = select i1 %low, i32 %cut, i32 0
  %added = zext nneg i32 %more to i64
  PLACES
  %first = load i64, ptr %p
  %second = load i64, ptr %q
  %result = add i64 %first, %second
  ret i64 %result
no:
  ret i64 -7
}
"""
"""``a[(x - 1) % n]`` of two rows, as LLVM writes it where it knows that n fits 32 bits."""

PLACES = """%other = getelementptr i64, ptr %rows, i64 7
  %a = getelementptr i64, ptr %rows, i64 %r
  %p = getelementptr i64, ptr %a, i64 %added
  %b = getelementptr inbounds i64, ptr %other, i64 %added
  %q = getelementptr inbounds i64, ptr %b, i64 %r"""


def test_places_of_what_is_near_are_chosen() -> None:
    text = IN_PLACES.replace("PLACES", PLACES)
    module = read_module(text)
    assert replace_near_remainders(module.functions["f"]) == 1
    verify(module)
    made = write_module(module)
    # On the way to an element there may be a place outside of the array.
    assert "srem" not in made and "inbounds" not in made

    def sums(program: str) -> list[int]:
        x, n = (part.reshape(-1) for part in np.meshgrid(np.arange(7), np.arange(1, 7)))
        memory = Memory()
        rows = memory.map_array((np.arange(14) ** 2).astype(np.int64))
        lanes = [Lanes(part.astype(np.uint64)) for part in (x, n, np.full(x.size, rows))]
        return run_function(read_module(program), "f", lanes, x.size, memory=memory).data.tolist()

    assert sums(made) == sums(text)


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("ptr %a, i64 %added", "ptr %a, i64 %x"),
        ("%p = getelementptr i64", "%p = getelementptr i32"),
        ("ptr %other, i64 %added", "ptr %other, i64 %x"),
        ("%b = getelementptr inbounds i64", "%b = getelementptr inbounds i16"),
        ("ptr %other, i64 %added\n", "ptr %other, i64 %added\n  store i64 0, ptr %b\n"),
        ("%p = getelementptr", "store i64 %added, ptr %rows\n  %p = getelementptr"),
        ("%p = getelementptr", "store i64 %r, ptr %rows\n  %p = getelementptr"),
        ("range(i64 0, 1024) %n", "range(i64 0, 9999999999) %n"),
        ("i64 %n to i32", "i64 %x to i32"),
    ],
)
def test_places_of_other_sums_are_divided_for(there: str, here: str) -> None:
    text = IN_PLACES.replace("PLACES", PLACES)
    assert there in text
    assert replace_near_remainders(read_module(text.replace(there, here)).functions["f"]) == 0


def spread(u, out):
    x, y = cuda.grid(2)
    high, wide = u.shape
    if y < high and x < wide:
        out[y, x] = u[(y + 1) % high, x] + 2 * u[(y - 1) % high, x] + 3 * u[y, (x + 1) % wide]
        out[y, x] += 5 * u[y, (x + wide - 1) % wide]


def spread_in_loops(u, out):
    high, wide = u.shape
    for y in prange(high):
        for x in prange(wide):
            out[y, x] = u[(y + 1) % high, x] + 2 * u[(y - 1) % high, x] + 3 * u[y, (x + 1) % wide]
            out[y, x] += 5 * u[y, (x + wide - 1) % wide]


@pytest.mark.parametrize("level", LEVELS)
def test_arrays_that_go_on_at_their_other_end(level: str, monkeypatch) -> None:
    monkeypatch.setenv("WEFT_CPU", level)
    kernel, loop = cuda.jit(spread), weft.jit(spread_in_loops)
    for shape in ((1, 1), (3, 1), (1, 40), (4, 33)):
        u = np.random.default_rng(3).integers(0, 99, shape)
        wanted = np.roll(u, -1, 0) + 2 * np.roll(u, 1, 0) + 3 * np.roll(u, -1, 1) + 5 * np.roll(u, 1, 1)
        for run in (kernel[(2, 2), (32, 2)], loop):
            out = np.zeros_like(u)
            run(u, out)
            assert (out == wanted).all()
    assert " rem" not in loop.inspect_llvm() and "srem" not in str(loop.inspect_llvm())


def life(u, out):
    x, y = cuda.grid(2)
    high, wide = u.shape
    if y < high and x < wide:
        around = 0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if dy != 0 or dx != 0:
                    around += u[(y + dy) % high, (x + dx) % wide]
        out[y, x] = 1 if around == 3 or (around == 2 and u[y, x] == 1) else 0


@pytest.mark.parametrize("level", LEVELS)
def test_kernels_of_cells_that_go_on_divide_for_none(level: str, monkeypatch) -> None:
    """Positions that LLVM freezes are near all the same, and the guard is a bound of their rows."""
    monkeypatch.setenv("WEFT_CPU", level)
    kernel = cuda.jit(life)
    for shape in ((1, 1), (3, 1), (1, 40), (9, 67)):
        u = np.random.default_rng(3).integers(0, 2, shape)
        around = sum(np.roll(u, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1)) - u
        out = np.full_like(u, 7)
        kernel[(3, 5), (32, 2)](u, out)
        assert (out == ((around == 3) | ((around == 2) & (u == 1)))).all()
    assert any("this guard is a bound" in remark.message for remark in kernel.remarks)
    assert "srem" not in str(kernel.inspect_llvm())
