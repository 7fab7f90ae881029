"""Loops that nvcc has unrolled and turned around, against the checking interpreter, which runs them as they are."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pairs import WHOLE, in_turn
from weft import ptx
from weft.diag.errors import WeftError

TEXT = Path(__file__).with_name("turned_loops.ptx").read_text()
UNROLLED = "it is one loop again"
Arguments = Callable[[int], list[Any]]


def _saxpy(n: int) -> list[Any]:
    return [n, np.float32(2), np.arange(99, dtype=np.float32), np.ones(99, np.float32)]


def _row_sums(n: int) -> list[Any]:
    return [n, np.arange(900, dtype=np.int32) * 7 % 13, np.zeros(64, np.int32)]


def _nearest(n: int) -> list[Any]:
    draw = np.random.default_rng(n + 9)
    return [40, n, draw.random(40, np.float32), draw.random(99, np.float32), np.zeros(40, np.int32)]


def _products(n: int) -> list[Any]:
    draw = np.random.default_rng(n + 9)
    return [20, 3, n, draw.random(2000), draw.random(300), np.zeros(60)]


def _search(n: int) -> list[Any]:
    text = np.random.default_rng(n + 9).integers(97, 99, 80).astype(np.uint8)
    return [72, n, text, text[9:25].copy(), np.zeros(99, np.int32)]


def _nearest_wide(n: int) -> list[Any]:
    draw = np.random.default_rng(n + 9)
    return [20, n, draw.random(2000, np.float32), draw.random(99, np.float32), np.zeros(20, np.int32)]


def _aligned(n: int) -> list[Any]:
    draw = np.random.default_rng(n + 9)
    return [1, n % 2, *draw.integers(97, 99, (2, 128)).astype(np.uint8), np.zeros(1, np.int32)]


def _filtered(n: int) -> list[Any]:
    return [abs(n), np.random.default_rng(n + 9).random(99 * 64, np.float32), np.zeros(99 * 64, np.float32)]


def _walked(n: int) -> list[Any]:
    draw = np.random.default_rng(n + 9)
    return [
        40,
        max(n, 1),
        2 * draw.random(99, np.float32),
        2 * draw.random(40, np.float32),
        np.zeros(40, np.int32),
    ]


def _row_maxima(n: int) -> list[Any]:
    draw = np.random.default_rng(n + 9)
    rows = draw.choice(
        np.float32([0, -0.0, -2, -np.inf, np.nan, 1]), 99 * 6, p=[0.2, 0.2, 0.2, 0.1, 0.2, 0.1]
    )
    rows[: n * 3] = -np.abs(rows[: n * 3])
    return [6, n, rows, np.zeros(6, np.float32)]


CASES: dict[str, tuple[Arguments, tuple[int, int], int]] = {
    "saxpy": (_saxpy, (2, 8), 1),
    "scaled": (_saxpy, (2, 8), 0),
    "row_sums": (_row_sums, (2, 32), 1),
    "nearest": (_nearest, (2, 32), 1),
    "products": (_products, (1, 32), 2),
    "search": (_search, (3, 32), 0),
    "nearest_wide": (_nearest_wide, (1, 32), 1),
    "aligned": (_aligned, (1, 1), 1),
    "filtered": (_filtered, (4, 32), 1),
    "walked": (_walked, (2, 32), 0),
    "warp_max": (_row_maxima, (2, 96), 1),
}


def _module(text: str, name: str, **options: Any) -> Callable[[int], list[Any]]:
    """What runs a kernel, and gives the arrays behind it."""
    make, (grid, block), _ = CASES[name]
    kernel = getattr(ptx.Module(text, **options), name)

    def run(n: int) -> list[Any]:
        arguments = make(n)
        kernel[grid, block](*arguments)
        return [a for a in arguments if isinstance(a, np.ndarray)]

    return run


def _agree(ours: list[Any], theirs: list[Any]) -> bool:
    return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_loops_are_found(name: str) -> None:
    remarks = getattr(ptx.Module(TEXT), name).remarks
    assert sum(UNROLLED in remark.message for remark in remarks) == CASES[name][2]
    left_out = getattr(ptx.Module(TEXT, without=("turned-loops",)), name)
    assert not any(UNROLLED in remark.message for remark in left_out.remarks)


def test_stacks_and_rows_are_seen_in_local_memory() -> None:
    """Local memory is bytes in PTX; threads walk by one stack in it, and numbers in it get fewer bits."""
    module = ptx.Module(TEXT)
    assert any("walk by one stack" in remark.message for remark in module.walked.remarks)
    assert any(
        "each of the threads reads this row again" in remark.message for remark in module.aligned.remarks
    )


@pytest.mark.parametrize("name", CASES)
def test_results_are_those_of_the_text(name: str) -> None:
    widths = (None, *in_turn((1, 8), list(CASES).index(name), 2))
    compiled = {width: _module(TEXT, name, width=width) for width in widths}
    checked = _module(TEXT, name, debug=True)
    for n in (-3, 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 33, 99):
        if n <= {"products": 90, "search": 16, "aligned": 2, "walked": 33, "filtered": 8}.get(name, 99):
            expected = checked(n)
            for width, run in compiled.items():
                assert _agree(run(n), expected), (n, width)


def _mutated(draw: random.Random, name: str) -> str:
    """The text with a number, a predicate or an operand of the kernel changed."""
    begin = TEXT.index(f".entry {name}(")
    end = TEXT.index("\n}", begin)
    lines = TEXT[begin:end].split("\n")
    for _ in range(50):
        at = draw.randrange(len(lines))
        line = lines[at]
        change = draw.choice((_other_number, _other_predicate, _other_register))
        made = change(draw, line) if re.match(r"\s+[a-z@]", line) and "param" not in line else line
        if made != line:
            lines[at] = made
            break
    return TEXT[:begin] + "\n".join(lines) + TEXT[end:]


def _other_number(draw: random.Random, line: str) -> str:
    if re.search(r"add|mov.u32|setp.(eq|ne)", line):
        # Loops would end behind 2³² rounds.
        return line
    numbers = list(re.finditer(r"(?<=[ +])-?\d+(?=[;,\]])", line))
    if not numbers:
        return line
    chosen = draw.choice(numbers)
    other = int(chosen[0]) + draw.choice((-4, -1, 1, 4, 8))
    return line[: chosen.start()] + str(other) + line[chosen.end() :]


def _other_predicate(draw: random.Random, line: str) -> str:
    """Another comparison of floats: loops go on by those of integers."""
    return re.sub(r"setp\.\w\w(?=\.f)", f"setp.{draw.choice(('eq', 'ne', 'lt', 'le', 'gt', 'ge'))}", line)


def _other_register(draw: random.Random, line: str) -> str:
    """Two registers of a kind that are read change places; the counts of loops do not."""
    found = list(re.finditer(r"%(rd|f|fd)(\d+)\b", line))[1:]
    if len(found) < 2:
        return line
    a, b = draw.sample(found, 2)
    if a[1] != b[1] or a.start() > b.start():
        return line
    return line[: a.start()] + b[0] + line[a.end() : b.start()] + a[0] + line[b.end() :]


# A walk may have no end.
@pytest.mark.parametrize("name", [name for name in CASES if name != "walked"])
def test_texts_that_are_almost_those_of_loops(name: str) -> None:
    """A loop whose parts differ anywhere is left, or turned to what does the same."""
    draw = random.Random(name)
    for _ in range(100 if WHOLE else 1):
        text = _mutated(draw, name)
        compiled, checked = _module(text, name), _module(text, name, debug=True)
        for n in (1, 6, 11):
            try:
                expected = checked(n)
            except WeftError:
                # Undefined, as it reads or writes what is not there.
                continue
            assert _agree(compiled(n), expected), text
