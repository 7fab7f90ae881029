"""Loops of which one iteration stands in the way are cut there (``parallel="auto"``); results stay the same."""

import numpy as np
import pytest

from loops.test_auto import agree, auto, runs_in_lanes

pytest.importorskip("islpy", reason="dependences are tested with integer sets (extra 'loops')")


def shortest(p):
    for k in range(p.shape[0]):
        for i in range(p.shape[0]):
            for j in range(p.shape[0]):
                if p[i, k] + p[k, j] < p[i, j]:
                    p[i, j] = p[i, k] + p[k, j]


def by_middle(x, y):
    for i in range(100):
        x[i] = x[50] * 2.0 + y[i]


def downwards(x, y):
    for i in range(99, -1, -1):
        x[i] = x[50] * 2.0 + y[i]


def last_row(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] += a[a.shape[0] - 1, j] * 0.5


def cuts(compiled) -> int:
    (code,) = compiled.overloads.values()
    return sum("runs alone" in r.message for r in code.remarks())


def test_shortest_paths_run_in_lanes_on_all_cores(monkeypatch) -> None:
    # Nine loops in the place of one: each pass would be checked for all of them.
    monkeypatch.setenv("WEFT_CHECK", "0")
    compiled = auto(shortest)
    draw = np.random.default_rng(1)
    for n in (0, 1, 2, 9, 33):
        agree(compiled, draw.integers(1, 100, (n, n)))
    assert cuts(compiled) >= 2
    assert any("all cores share" in r.message for r in compiled.remarks)


@pytest.mark.parametrize("function", [by_middle, downwards], ids=lambda f: f.__name__)
def test_the_iteration_may_be_a_number(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(2)
    agree(compiled, draw.random(100), draw.random(100))
    memory = draw.random(150)
    for shift in (1, 17, 50):
        agree(compiled, memory[:100], memory[shift : shift + 100])
    assert cuts(compiled) == 1
    assert runs_in_lanes(compiled)


def test_the_iteration_may_be_the_last_one() -> None:
    compiled = auto(last_row)
    draw = np.random.default_rng(3)
    for shape in ((0, 4), (1, 5), (6, 40)):
        agree(compiled, draw.random(shape))


def elsewhere(x, y, m):
    for i in range(x.size):
        x[i] = x[m] * 2.0 + y[i]


def handed_on(x, y):
    s = 0.0
    for i in range(100):
        s = s * 0.5 + x[50]
        x[i] = s + y[i]
    return s


def twice(x, y):
    for i in range(100):
        x[i] = x[50] * 2.0 + x[51] + y[i]


@pytest.mark.parametrize("function", [elsewhere, handed_on, twice], ids=lambda f: f.__name__)
def test_others_stay_whole(function) -> None:
    compiled = auto(function)
    draw = np.random.default_rng(4)
    arguments = (draw.random(100), draw.random(100), 150)[: function.__code__.co_argcount]
    if function is elsewhere:
        arguments = (*arguments[:2], 7)
    agree(compiled, *arguments)
    assert not cuts(compiled)
