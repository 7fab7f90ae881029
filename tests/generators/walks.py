"""Random walks down trees by stacks, as text of Python: as a loop over `prange`, and as a kernel.

What is visited, in which order, is in what comes out: an integer and a float that depend on it. Trees are tables of
up to four children a node; children are put on the stack one by one, in a loop or at once, in either order, all of them
or those that the node, or the thread, chooses. Mostly all threads that put something there put the same; with some
programs the thread decides on the order. Stacks have a second part sometimes, and walks are left early. The functions
take ``children, values, keys, sums, totals``.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np

NODES = 40
SLOTS = 4

_LOOP = """
import numpy as np
from weft import cuda, prange


def loop(children, values, keys, sums, totals):
    for i in prange(sums.size):
{loop}


def kernel(children, values, keys, sums, totals):
    i = cuda.grid(1)
    if i < sums.size:
{kernel}
"""


def random_tree(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The children of nodes, 0 where there is none, and a number for each node."""
    rng = np.random.default_rng(seed)
    children = np.zeros((NODES, SLOTS), np.int32)
    for node in range(1, NODES):
        parent = int(rng.integers(max(0, node // 3 - 1), node))
        while children[parent].all():
            parent -= 1
        free = np.flatnonzero(children[parent] == 0)
        children[parent, rng.choice(free)] = node
    return children, rng.random(NODES)


def random_walk(seed: int) -> str:
    """The text of a module with `loop` and `kernel`."""
    return _Walk(random.Random(f"walk {seed}")).text()


@dataclass(slots=True)
class _Walk:
    rng: random.Random
    lines: list[str] = field(default_factory=list)

    def text(self) -> str:
        rng = self.rng
        parts = ["nodes", "levels"] if rng.random() < 0.4 else ["nodes"]
        roots = rng.choice((1, 1, 1, 2))
        body = [f"{part} = ARRAY({NODES + 4}, np.int32)" for part in parts]
        for root in range(roots):
            # Some nodes are seen twice then.
            body.append(f"nodes[{root}] = {0 if root == 0 else rng.randint(1, 5)}")
            body += [f"levels[{root}] = {rng.randint(0, 3)}"] if len(parts) > 1 else []
        body += [f"top = {roots}", "key = keys[i]", "sum = 0", "total = 0.0", "while top > 0:"]
        step = ["top -= 1", "node = nodes[top]", *(["level = levels[top]"] if len(parts) > 1 else [])]
        step += self._visit(len(parts) > 1)
        body += [f"    {line}" for line in [*step, *self._choose(len(parts) > 1)]]
        body += ["sums[i] = sum", "totals[i] = total"]

        def shown(array: str) -> str:
            return "\n".join(f"        {line}".replace("ARRAY", array) for line in body)

        return _LOOP.format(loop=shown("np.empty"), kernel=shown("cuda.local.array"))

    def _visit(self, levels: bool) -> list[str]:
        rng = self.rng
        more = " + level" if levels else ""
        visits = [f"sum = (sum * 31 + node{more}) & 0xFFFFFF", "total = total * 0.75 + values[node]"]
        kept = [line for line in visits if rng.random() < 0.8] or visits[:1]
        if rng.random() < 0.3:
            kept = ["if values[node] * 64 < key & 63:", *(f"    {line}" for line in kept)]
        if rng.random() < 0.25:
            kept += [f"if sum & 15 == {rng.randint(0, 15)} and key & 32:", "    break"]
        return kept

    def _choose(self, levels: bool) -> list[str]:
        """Whether children are put on the stack, and what is done otherwise."""
        rng = self.rng
        condition = rng.choice(
            (
                "(key >> (node & 15)) & 1",
                "values[node] * 16 < key & 15",
                "(key >> (node & 7)) & 1 and values[node] < 0.9",
                "values[node] < 0.8",
                "(key & 3) + (node & 1) > 0",
            )
        )
        puts = [f"    {line}" for line in self._put(levels)]
        if rng.random() < 0.15:
            return [f"if not ({condition}):", "    continue", *(line[4:] for line in puts)]
        other = ["else:", "    total = total + values[node] / (1.0 + total)"] if rng.random() < 0.4 else []
        return [f"if {condition}:", *puts, *other]

    def _put(self, levels: bool) -> list[str]:
        """What puts children there."""
        rng = self.rng
        level = rng.choice(("level + 1", "level ^ node", "level")) if levels else ""

        def put(what: str, place: str = "top") -> list[str]:
            lines = [f"nodes[{place}] = {what}"]
            return [*lines, f"levels[{place}] = {level}"] if levels else lines

        form = rng.randint(0, 3)
        if form == 0:
            first, second = rng.sample(("2 * node + 1", "2 * node + 2"), 2)
            lines = [*put(first), *put(second, "top + 1"), "top += 2"]
            if rng.random() < 0.2:
                lines = ["a = 2 * node + 1", "b = 2 * node + 2", "if key & 64:", "    a, b = b, a",
                         *put("a"), *put("b", "top + 1"), "top += 2"]  # fmt: skip
            return [f"if 2 * node + 2 < {NODES}:", *(f"    {line}" for line in lines)]
        wanted = rng.choice(
            (
                "below > 0",
                "below > 0",
                "below > 0 and below & 3 != 1",
                "below > 0 and (key >> (below & 7)) & 1",
            )
        )
        at = rng.choice(("c", f"{SLOTS - 1} - c"))
        if form == 1:
            lines = []
            for c in rng.sample(range(SLOTS), SLOTS):
                lines += [f"below = children[node, {c}]", f"if {wanted}:",
                          *(f"    {line}" for line in [*put("below"), "top += 1"])]  # fmt: skip
            return lines
        return [f"for c in range({SLOTS}):", f"    below = children[node, {at}]", f"    if {wanted}:",
                *(f"        {line}" for line in [*put("below"), "top += 1"])]  # fmt: skip
