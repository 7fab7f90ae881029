"""Random loops over time through ``--loop auto``: ``python -m sequential.random_times FIRST LAST``.

From the folder of tests. Each step goes over rows, in one to three parts, which read rows and columns beside those that
they write; some are one loop over a single row. Statements like ``a[x] = a[x] * 3 + ...`` show any order but that in
which they are written. Steps are done in waves where that is proved to be right; bounds are 0 and less at times, and
arrays overlap in some calls.
"""

from __future__ import annotations

import random
from unittest.mock import patch

import numpy as np

from sequential.drawn import LENGTH, Arguments, both, compiled, difference
from sequential.seeds import go_through
from weft.loops.llvm_ir import vectorize_ir
from weft.passes.nests import time_skews


class TimeNest:
    """A function of a loop over time, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(f"times {seed}")
        self._in_order = self._draw.random() < 0.3
        self._arrays = "a" if self._in_order else self._draw.choice(("a", "ab", "ab", "abc"))
        self._reach = self._draw.choice((1, 1, 2))
        self._pitch = self._draw.choice(("32", "32", "32", "q"))
        self.name = "nest"

    def text(self) -> str:
        """The function in C."""
        draw = self._draw
        count = 1 if self._in_order else draw.choice((1, 2, 2, 3))
        rows = [self._part(number, count) for number in range(count)]
        single = "    for (int j = 0; j < m; j++)\n      " + self._single() + "\n"
        if draw.random() < 0.25:
            rows.insert(draw.randrange(len(rows) + 1), single)
        parameters = ", ".join(f"int *{draw.choice(('', 'restrict '))}{name}" for name in "abc")
        time = draw.choice(("t = 0; t < p", "t = 0; t <= p - 1", "t = 1; t <= p", "t = 0; t < 9"))
        return (
            f"void {self.name}(int n, int m, int p, int q, {parameters}) {{\n"
            f"  for (int {time}; t++) {{\n{''.join(rows)}  }}\n}}\n"
        )

    def _part(self, number: int, count: int) -> str:
        draw = self._draw
        row = draw.choice((*("i = 1; i < n", "i = 0; i < n", "i = 2; i <= n") * 3, "i = n - 1; i >= 0"))
        column = draw.choice(("j = 1; j < m", "j = 0; j < m", "j = 1; j <= m - 1", "j = m - 1; j > 0"))
        steps = ["--" if ">" in text else "++" for text in (row, column)]
        target = self._arrays[(number if draw.random() < 0.8 else 0) % len(self._arrays)]
        sources = [self._element() for _ in range(draw.choice((1, 2, 2, 3)))]
        place = f"{target}[i * {self._pitch} + j]"
        if self._in_order:
            # Rows and columns depend on those before them.
            sources += [f"a[i * {self._pitch} + j - 1]", f"a[(i - 1) * {self._pitch} + j]"]
        value = " + ".join([f"{place} * 3" if draw.random() < 0.7 else "5", *sources])
        return (
            f"    for (int {row}; i{steps[0]})\n      for (int {column}; j{steps[1]})\n"
            f"        {place} = {value};\n"
        )

    def _element(self) -> str:
        draw = self._draw
        row, column = (draw.choice((0, *range(-self._reach, self._reach + 1))) for _ in "ij")
        return f"{draw.choice(self._arrays)}[(i + {row}) * {self._pitch} + j + {column}]"

    def _single(self) -> str:
        draw = self._draw
        array, other = draw.choice(self._arrays), draw.choice(self._arrays)
        row = draw.choice((0, 0, 1))
        return f"{array}[{row} * {self._pitch} + j] = {other}[{draw.choice((0, 1))} * {self._pitch} + j] * 5 + 1;"


def check(first: int, last: int, counts: dict[str, int]) -> list[str]:
    """Compare the nests of some seeds; what is wrong, with the source."""
    found: list[str] = []
    for seed, nest, source, original in compiled(first, last, TimeNest):
        with (
            patch.object(time_skews, "LARGE", 0),
            patch.object(time_skews, "LENGTH", (8, 3)[seed % 2]),
            patch.object(time_skews, "MOST_LENGTH", (4, 16, 7)[seed % 3]),
        ):
            made = vectorize_ir(original, nest.name, loop="auto")
        counts["nests"] = counts.get("nests", 0) + 1
        cached, at_once = (
            any(what in r.message for r in made.remarks)
            for what in ("so that rows stay in the cache", "and run at the same time")
        )
        counts["in waves"] = counts.get("in waves", 0) + cached
        counts["at once"] = counts.get("at once", 0) + at_once
        if not made.loops and not cached:
            continue
        codes = both(nest.name, original, made)
        wrong = difference(seed, nest.name, codes, _arguments, apart="restrict" in source)
        if wrong is not None:
            found.append(f"{wrong}\n{source}")
    return found


def _arguments(draw: np.random.Generator) -> Arguments:
    sizes = [int(s) for s in (*draw.integers(-1, 20, 2), draw.integers(-1, 24))]
    sizes.append(int(draw.choice((32, 32, 40, 3, 0))))
    return Arguments(sizes, draw.integers(-50, 50, 5 * LENGTH).astype(np.int32))


if __name__ == "__main__":
    go_through(check)
