"""Lines that lanes touch: expressions against the definition of the cost model."""

import random

import numpy as np

from weft.analysis.mapping.banks import turns_of_banks
from weft.analysis.mapping.lines import touched_lines
from weft.analysis.symbolic.atoms import Symbol
from weft.analysis.symbolic.expression import Expression, as_expression
from weft.analysis.symbolic.facts import Facts
from weft.machine.transactions import bank_turns, units

START, STRIDE = Symbol("a"), Symbol("c")


def counted(start: int, stride: int, size: int, lanes: int, line: int) -> int:
    base = 1 << 20
    addresses = (base + start + stride * np.arange(lanes)).astype(np.uint64)
    return len(units(addresses, size, line))


def said(count: Expression, start: int, stride: int) -> int:
    return count.evaluate(lambda s: {START: start, STRIDE: stride}[s])


def test_every_form_is_exact() -> None:
    draw = random.Random(1)

    for _ in range(1500):
        size = draw.choice((1, 2, 4, 8, 16, 3, 12))
        line = draw.choice((64, 128))
        lanes = draw.choice((1, 2, 5, 8, 31, 32))
        is_aligned = draw.random() < 0.6
        scale = size if is_aligned else 1
        start, stride = (
            draw.randint(-300, 300),
            draw.choice((0, 1, -1, 2, 3, -2, 7, 16, 31, 33, 64, 100, -40)),
        )
        # The start is a symbol, the stride a symbol or a number.
        first = as_expression(START) * scale
        step = as_expression(STRIDE) * scale if draw.random() < 0.5 else as_expression(stride * scale)
        found = touched_lines(first, step, size, as_expression(lanes), line, Facts())
        wanted = counted(start * scale, stride * scale, size, lanes, line)
        got = said(found.count, start, stride)

        assert found.is_exact and got == wanted, (start, stride, size, lanes, line, scale)


def test_matrix_addition_costs_min_of_32_and_n() -> None:
    # §5.1 as the thesis means it: rows that begin at lines, a warp down a column. It prints N/4.
    n = Symbol("N", low=1)
    found = touched_lines(as_expression(0), as_expression(n) * 4, 4, as_expression(32), 128, Facts())
    for value in range(1, 70):
        assert found.count.evaluate(lambda _, v=value: v) == min(32, value)
    across = touched_lines(as_expression(0), as_expression(4), 4, as_expression(32), 128, Facts())
    assert across.count.constant == 1


def test_partial_warps() -> None:
    lanes = Symbol("lanes", low=1, high=32)
    found = touched_lines(as_expression(START) * 8, as_expression(8), 8, as_expression(lanes), 128, Facts())
    for count in range(1, 33):
        for start in (0, 3, 15, 100):
            got = found.count.evaluate(lambda s, c=count, a=start: c if s is lanes else a)
            assert got == counted(start * 8, 8, 8, count, 128)


def test_banks() -> None:
    assert turns_of_banks(0, 4) == 1
    assert turns_of_banks(4, 4) == 1
    assert turns_of_banks(-4, 4) == 1
    assert [turns_of_banks(4 * k, 4) for k in (2, 3, 16, 32, 33)] == [2, 1, 16, 32, 1]
    assert turns_of_banks(1, 1) == 1
    assert turns_of_banks(8, 8) == bank_turns(np.arange(0, 256, 8, dtype=np.uint64), 8)
