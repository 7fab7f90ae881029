"""Loads are moved before stores, and what each iteration writes over is written by the last one alone."""

import numpy as np
import pytest

from loops.test_auto import agree, auto, runs_in_lanes

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")

SIZES = (0, 1, 2, 3, 63, 64, 65, 300)


def split_nodes(a, b, c, d):
    for i in range(b.size):
        a[i] = b[i] + c[i] * d[i]
        b[i] = a[i] + d[i] * c[i]
        a[i] = b[i] + a[i + 1] * d[i]


def farther(a, b, c, d):
    for i in range(b.size - 2):
        a[i + 1] = b[i] * 2.0
        c[i] = a[i + 1] + d[i]
        d[i] = a[i + 2] + a[i + 3]


def written_over(a, b, c, d):
    for i in range(b.size):
        a[0] = b[i] - d[i]
        c[i] = a[0] + d[i]


def downwards(a, b, c, d):
    for i in range(b.size - 1, -1, -1):
        a[1] = b[i] - d[i]
        c[i] = a[1] * d[i]


def some_only(a, b, c, d):
    for i in range(b.size):
        if d[i] > 3.0:
            a[0] = b[i]
        c[i] = b[i] + d[i]


def read_again(a, b, c, d):
    for i in range(b.size):
        c[i] = a[0] + d[i]
        a[0] = b[i]


@pytest.mark.parametrize("function", [split_nodes, farther, written_over, downwards, some_only, read_again])
def test_results_are_those_of_the_loop(function) -> None:
    draw = np.random.default_rng(1)
    compiled = auto(function)
    for n in SIZES:
        agree(compiled, *(draw.integers(0, 9, k).astype(float) for k in (n + 3, n, n, n)))
    if function not in (some_only, read_again):
        assert runs_in_lanes(compiled)


def test_arrays_that_overlap() -> None:
    for function in (split_nodes, written_over):
        compiled = auto(function)
        x = np.random.default_rng(2).integers(0, 9, 200).astype(float)
        agree(compiled, x, x[:-3], x[2:-1], x[1:-2])
        agree(compiled, x, x[3:], x[:-3], np.ones(197))
