"""Random loops and nests whose counters are far from the places that they lead to, as text of Python.

Counters begin near the limits of 32 and 64 bits, go up and down, and index arrays less where they began, or added to
one that began at the opposite end. Elements move between iterations, along rows, columns and diagonals, so that what
is found out about order depends on numbers that are known at run time only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.python_text import PythonText, numbers

SIZES = (0, 1, 5, 26)
PAD = 8
PLACES = (0, 3, -7, 2**31 - 5, -(2**31) - 2, 2**32, 2**53 + 1, 2**62, -(2**62), 2**63 - 1200, -(2**63) + 1200)
PARAMETERS = "a, b, c, p, w, v, x, y, wholes, n, m"

_TEXT = """
import math

import numpy as np
from weft import cuda, prange


def plain({parameters}):
{before}    for i in range({range}):
{loop}{behind}

def lanes({parameters}):
    for i in prange({range}):
{loop}

def kernel({parameters}):
    thread = cuda.grid(1)
    if thread < n:
        i = {first} + thread * {step}
{loop}"""


class PythonFarNest:
    """A loop or a nest of two that is drawn by a seed; of the latter the inner one may be left early."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._text = t = PythonText(f"python far nest {seed}")
        self.in_order = t.maybe(0.6)
        self.real = t.one("float32", "float64", "int32", "int64", "uint8", "int16")
        self.place, self.other = t.one(*PLACES), t.one(*PLACES)
        self.step, self.inner = t.one(1, 1, 1, 2, -1, -3), t.one(1, 1, 1, 2, -1, -3)
        self.is_opposite = t.maybe(0.4) and self.step == self.inner == 1
        if self.is_opposite:
            self.other = -self.place
        self.kind = "int32" if abs(self.place) < 2**31 - 100 and t.maybe(0.3) else "whole"

    def text(self) -> str:
        """A module with the functions `plain`, `lanes` and `kernel`; of these only `plain` where loops are in order."""
        t = self._text
        t.depth = 2
        step = t.one(str(self.step), "c") if self.step == -3 else str(self.step)
        # The arguments are of one type, and the number of rows is that of iterations.
        bounds = f"a, a + n * {step}, {step}" if step != "1" else "a, a + n"
        r = "(i - a)" if step == "1" else f"((i - a) // {step})"
        self._row = r
        t.names = {"whole": ["s", "p"], self.real: [f"x[{r}]"]}
        t.put(f"s = wholes[{r}]")
        before, behind = "", ""
        if self.in_order:
            before, behind = "    g = 1\n", "\n    wholes[0] = g\n"
            t.names["whole"].append("g")
        for _ in range(t.one(1, 1, 2)):
            t.one(self._move if self.in_order else self._set, self._nest, self._nest, self._set)()
        t.put(f"wholes[{r}] = s")
        if self.in_order and t.maybe(0.3):
            t.put(f"g = {t.one('g + ', 'g ^ ', 'g * 3 + ')}{t.value('whole')}")
        return _TEXT.format(
            parameters=PARAMETERS,
            before=before,
            behind=behind,
            loop="\n".join(t.lines),
            range=bounds,
            first="a",
            step=step,
        )

    def _near(self, place: str, count: str) -> str:
        """A place of an array that is `PAD` longer than a loop."""
        d = self._text.one(1, 2, 5)
        return self._text.one(
            place, place, f"{place} + {d}", f"{place} + p", f"{count} - 1 - {place}", f"{place} - {d}", f"{place} // 2",
            f"({place} + {d}) % {count}", f"max({place} - {d}, 0)", "0", "p",
        )  # fmt: skip

    def _set(self) -> None:
        t, r = self._text, self._row
        t.put(f"y[{r}] = {t.value(self.real)}", f"s = s * 3 + {t.value('whole')}")

    def _move(self) -> None:
        t = self._text
        one, other = self._near(self._row, "n"), self._near(self._row, "n")
        line = t.one(
            f"w[{one}] = w[{other}] + {t.value(self.real)}",
            f"w[{one}] = w[{other}]",
            f"w[{one}], w[{other}] = w[{other}], w[{one}]",
            f"w[{one}] = {t.value(self.real)}",
            f"w[{one}] = max(w[{other}], {t.value(self.real)})",
            f"w[{one}] += x[{other}]",
        )
        if t.maybe(0.3):
            t.put(f"if {t.condition(1)}:", f"    {line}")
        else:
            t.put(line)

    def _nest(self) -> None:
        t, k, r = self._text, self._text.name("k"), self._row
        step = str(self.inner)
        bounds = t.one(f"b, b + m * {step}, {step}" if step != "1" else "b, b + m")
        column = f"({k} - b)" if step == "1" else f"(({k} - b) // {step})"
        if self.is_opposite:
            column = t.one(column, f"({k} + i - {r})", f"({k} + a)")
        if t.maybe(0.3):
            bounds = bounds.replace("m", t.one(f"min({r}, m)", "(s & 7)", f"max(m - {r}, 0)"))
        with t.inside(f"for {k} in range({bounds}):"):
            t.names["whole"] += [k, f"({k} + i)" if abs(self.place + self.other) < 2**62 else k]
            t.names[self.real] += [f"v[{r}, {column}]", f"w[{column}]"]
            if t.maybe(0.2):
                t.put(f"if {t.condition(1)}:", f"    {t.one('break', 'continue')}")
            across = self._near(r, "n") if self.in_order else r
            along = self._near(column, "m")
            value = t.value(self.real)
            t.put(
                t.one(
                    f"v[{r}, {column}] = {value}",
                    f"v[{r}, {along}] = v[{across}, {self._near(column, 'm')}] + x[{r}]",
                    f"v[{across}, {along}] = {value}",
                    f"v[{r}, {column}] += x[{self._near(column, 'm')}] * w[{r}]",
                    f"y[{r}] += v[{r}, {column}]",
                    f"s = s * 3 + {t.value('whole')}",
                    f"w[{column}] += v[{r}, {column}]" if self.in_order else f"y[{r}] += x[{column}]",
                )
            )
            if t.maybe(0.4):
                t.put(f"s ^= {t.one(k, f'int(v[{r}, {column}])', t.value('whole'))}")

    def arguments(self, n: int) -> list[Any]:
        """Arguments for `n` iterations, always the same."""
        rng = np.random.default_rng((self.seed, n))
        m = int(rng.choice([0, 1, 4, 9, 17]))
        length = max(n, m) + PAD
        w, x, y = (numbers(rng, self.real, length) for _ in range(3))
        if self.in_order and rng.choice(4) == 0:
            both = numbers(rng, self.real, length + 3)
            w, x = both[3:], both[:-3]
        v = numbers(rng, self.real, (n + PAD) * (m + PAD)).reshape(n + PAD, m + PAD)
        p = int(rng.choice([0, 1, 2, 3, 5, -1, -3]))
        a = np.int32(self.place) if self.kind == "int32" else self.place
        return [a, self.other, self.step, p, w, v, x, y, rng.integers(-9, 50, n + PAD), n, m]
