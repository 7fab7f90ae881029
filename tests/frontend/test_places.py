"""Where the front end takes a block to be below another one, the dominators of the finished function agree."""

import numpy as np
import pytest

from frontend.kernels import compiled
from weft.frontend.python.lowering.context import Lowering
from weft.graph.dominators import dominator_tree
from weft.ir.cfg_view import cfg_of


def left(a, n):
    for i in range(n):
        if a[i] < 0:
            continue
        if a[i] > 5 or (a[i] > 3 and i > 2):
            break
        while n > i:
            n -= 1 if a[i] > 1 else 2
            if n == 7:
                return i
        else:
            n += 3
    else:
        return n
    return -n


def early(a, n):
    if n < 0:
        return 1
    if not n or n == 3:
        if a[0]:
            return 2
    else:
        for _ in range(2):
            if a[n - 1]:
                return left(a, n)
    x = a + 1.0 if n > 1 else a * a[:1]
    while True:
        x = x + a[:n]
        if x.sum() > n:
            break
        for v in a:
            if v and (n > 2 or v > 3):
                break
        else:
            continue
        x = x - a
    return n if min(x[0], n, 3) < x.max() <= 4 else left(x, n)


def dead(a, n):
    while n:
        if a[0] > 1:
            return 1
        break
        n = 3
    for i in range(n):
        return i
    return 4


@pytest.mark.parametrize("function", [left, early, dead])
def test_blocks_are_below_their_dominators(function, monkeypatch):
    walks = []
    begin = Lowering.start_body
    monkeypatch.setattr(Lowering, "start_body", lambda low: (walks.append(low), begin(low))[1])
    compiled(function, np.zeros(8), 8, device=True)
    compared = 0
    for low in walks:
        if not low.function.blocks or not all(
            b.instructions and b.instructions[-1].is_terminator for b in low.function.blocks
        ):
            continue
        view = cfg_of(low.function)
        tree = dominator_tree(view.cfg)
        places = {block: low.places.at(block) for block in view.blocks}
        for one in view.blocks:
            for other in view.blocks:
                if places[one] and places[other] and places[one].dominates(places[other]):
                    assert tree.dominates(view.index[one], view.index[other])
                    compared += one is not other
    assert compared > len(walks)
