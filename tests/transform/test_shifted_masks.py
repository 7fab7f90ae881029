"""Masks that clear low bits of what is shifted to the right become quotients and multiples, which have shapes."""

import numpy as np
import pytest

import weft
from pairs import pairs
from weft import cuda, prange
from weft.interp import Lanes, run_function
from weft.ir.reader import read_module
from weft.ir.verifier import verify
from weft.ir.writer import write_module
from weft.transform.numbers.shifted_masks import separate_multiples

NUMBERS = np.arange(256, dtype=np.uint8)


def program(shift: str, mask: int, amount: int, known: str = "", cut: bool = False) -> str:
    type, bits = ("i4", 4) if cut else ("i8", 8)
    first = f"  %c = trunc i8 %s to {type}\n" if cut else ""
    return (
        f"define i8 @f(i8 {known} %x) {{\n  %s = {shift} i8 %x, {amount}\n{first}"
        f"  %m = and {type} %{'c' if cut else 's'}, {mask % (1 << bits)}\n"
        + ("  %r = zext i4 %m to i8\n  ret i8 %r\n}\n" if cut else "  ret i8 %m\n}\n")
    )


def results(text: str, numbers: np.ndarray) -> list[int]:
    return run_function(read_module(text), "f", [Lanes(numbers)], numbers.size).data.tolist()


@pytest.mark.parametrize(
    ("shift", "amount", "cut", "natural"),
    pairs(["lshr", "ashr", "lshr exact"], [1, 3, 6], [False, True], [False, True]),
)
def test_all_numbers_and_masks(shift: str, amount: int, cut: bool, natural: bool) -> None:
    numbers = NUMBERS[:128] if natural else NUMBERS
    numbers = numbers & ~np.uint8((1 << amount) - 1) if "exact" in shift else numbers
    for mask in range(2, 16 if cut else 256, 2):
        text = program(shift, mask, amount, "range(i8 0, -128)" if natural else "", cut)
        module = read_module(text)
        count = separate_multiples(module.functions["f"])
        verify(module)
        assert results(write_module(module), numbers) == results(text, numbers), text
        cleared = (mask & -mask).bit_length() - 1
        assert count == (amount + cleared < 8)


@pytest.mark.parametrize(
    ("shift", "mask", "known"),
    [("lshr", -16, ""), ("ashr", -16, ""), ("lshr", 0x3FFFFFF0, "range(i64 0, 4294967296)")],
)
def test_nothing_is_left_of_a_mask_that_clears_no_more(shift: str, mask: int, known: str) -> None:
    module = read_module(
        f"define i64 @f(i64 {known} %x) {{\n  %s = {shift} i64 %x, 3\n  %m = and i64 %s, {mask}\n  ret i64 %m\n}}\n"
    )
    assert separate_multiples(module.functions["f"]) == 1
    text = write_module(module)
    assert " and " not in text and f"{shift} i64 %x, 7" in text and "shl" in text


def test_masks_of_low_bits_stay() -> None:
    text = "define i64 @f(i64 %x) {\n  %s = lshr i64 %x, 3\n  %m = and i64 %s, 15\n  ret i64 %m\n}\n"
    assert separate_multiples(read_module(text).functions["f"]) == 0


def by_16(table, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = table[(i // 128) * 16] + table[((i >> 3) & ~15) + 5]


def rows_of_16(table, out):
    for i in prange(out.size):
        row = (i // 128) * 16
        total = np.float32(0)
        for j in range(16):
            total += table[row + j]
        out[i] = total


def test_lanes_share_what_they_load_by_such_numbers() -> None:
    kernel = cuda.jit("void(float32[::1], float32[::1])")(by_16)
    line = next(s for s in str(kernel.report()).splitlines() if "out[i] = table" in s)
    assert "uniform" in line and "gather" not in line and "neighbours" not in line
    table, out = np.random.default_rng(3).random(64, np.float32), np.zeros(300, np.float32)
    kernel[3, 128](table, out)
    places = np.arange(300) // 128 * 16
    np.testing.assert_array_equal(out, table[places] + table[places + 5])


def test_loops_share_them() -> None:
    table, out = np.random.default_rng(3).random(64, np.float32), np.zeros(300, np.float32)
    function = weft.jit(rows_of_16)
    function(table, out)
    sums = np.array([np.add.accumulate(row)[-1] for row in table.reshape(4, 16)])
    np.testing.assert_array_equal(out, sums[np.arange(300) // 128])
    assert "gather" not in str(function.report())
