"""Random kernels over grids of two and three dimensions, and walks of a grid, as text of Python.

Threads outside of an array are kept out by conditions of several forms. Inside they transpose, read neighbours at
places that are clamped, wrapped, or guarded, and windows of these; in walks each thread goes over elements in steps as
long as the grid. Arrays are transposed, reversed, and parts of others. Each element is written by one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from generators.python_text import PythonText, numbers

LAUNCHES: dict[int, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = {
    1: (((3,), (32,)), ((1,), (64,)), ((5,), (7,)), ((2,), (1,)), ((2,), (16,))),
    2: (
        ((3, 4), (8, 4)),
        ((2, 2), (16, 16)),
        ((1, 1), (32, 2)),
        ((5, 1), (3, 5)),
        ((1, 6), (1, 8)),
        ((2, 3), (4, 4)),
    ),
    3: (((2, 2, 2), (4, 2, 3)), ((1, 2, 3), (8, 4, 1)), ((2, 1, 1), (5, 3, 2))),
}
PARAMETERS = "x, y, out, totals, index, m, h, w, n"

_TEXT = """
import math

import numpy as np
from weft import cuda


def kernel({parameters}):
{lines}
"""


class PythonGrid:
    """A kernel that is drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._text = t = PythonText(f"python grid {seed}")
        self.dimensions = t.one(1, 1, 2, 2, 2, 3)
        self.walks = self.dimensions == 1 or t.maybe(0.25)
        self.grid, self.block = t.one(*LAUNCHES[self.dimensions])
        self.real = t.one("float32", "float32", "float64", "int32", "uint8", "int16", "uint64")
        self.is_checked = t.is_checked = t.maybe(0.5)

    def text(self) -> str:
        """A module with `kernel`."""
        t = self._text
        if self.dimensions == 1:
            self._walk()
        elif self.dimensions == 2:
            self._plane()
        else:
            self._space()
        return _TEXT.format(parameters=PARAMETERS, lines="\n".join(t.lines))

    def _walk(self) -> None:
        """Over numbers of elements, from which rows and columns come by division."""
        t = self._text
        t.put(*t.one(
            ("first = cuda.grid(1)", "stride = cuda.gridsize(1)"),
            (
                "first = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x",
                "stride = cuda.gridDim.x * cuda.blockDim.x",
            ),
        ))  # fmt: skip
        bound = t.one("n", "h * w", "out.size", "h * w - 3")
        if t.maybe(0.65):
            t.put(f"for i in range(first, {bound}, stride):")
            last = ""
        elif t.maybe(0.5):
            t.put(f"for i in range({bound} - 1 - first, -1, -stride):")
            last = ""
        else:
            t.put("i = first", f"while i < {bound}:")
            last = "i += stride"
        t.depth += 1
        if t.maybe(0.7):
            t.put("r = i // w", f"c = {t.one('i % w', 'i - r * w')}")
        else:
            t.put("c = i // h", "r = i % h")
        self._element()
        if last:
            t.put(last)

    def _plane(self) -> None:
        t = self._text
        names = t.one("c, r", "c, r", "r, c")
        t.put(f"{names} = cuda.grid(2)")
        if self.walks:
            t.put("dx, dy = cuda.gridsize(2)")
            one, other = (name.strip() for name in names.split(","))
            ends = {"c": "w", "r": "h"}
            # The walks begin anew in each row.
            t.put(f"for {other}_ in range({other}, {ends[other]}, dy):")
            t.depth += 1
            t.put(f"for {one}_ in range({one}, {ends[one]}, dx):")
            t.depth += 1
            t.put(f"{one}w = {one}_", f"{other}w = {other}_")
            self._element("rw", "cw")
            return
        guard = t.one(
            "r < h and c < w", "c < w and r < h", "r >= h or c >= w", "0 < r < h - 1 and 0 < c < w - 1", "nested",
            "r < h and c < w and (r + c) % 2 == m % 2", "r < h and c <= r and c < w",
            "r < out.shape[0] and c < out.shape[1]",
        )  # fmt: skip
        if guard == "nested":
            t.put("if r < h:", "    if c < w:")
            t.depth += 2
        elif guard == "r >= h or c >= w":
            t.put(f"if {guard}:", "    return")
        else:
            t.put(f"if {guard}:")
            t.depth += 1
        self._element()

    def _space(self) -> None:
        t = self._text
        t.put(
            "c, r, d = cuda.grid(3)" if t.maybe(0.7) else "c, d, r = cuda.grid(3)", "depth = totals.shape[0]"
        )
        t.put("if r < h and c < w and d < depth:")
        t.depth += 1
        t.put("totals[d, r, c] = totals[d, r, c] * 3 + d * 100 + r * 10 + c")
        t.put(f"if {t.one('d == 0', 'd == m % depth', 'd == depth - 1')}:")
        t.depth += 1
        self._element()

    def _element(self, r: str = "r", c: str = "c") -> None:
        t = self._text
        self._r, self._c = r, c
        t.names = {"whole": [r, c, "m"], self.real: ["e", f"x[{r}, {c}]", f"y[{c}, {r}]"]}
        t.put("s = 0", f"e = x[{r}, {c}]")
        for _ in range(t.one(1, 2, 3)):
            t.one(self._near, self._near, self._window, self._set, self._guarded, self._line)()
        t.put(
            t.one(
                f"out[{r}, {c}] = e",
                f"out[{r}, {c}] = e",
                f"if {t.condition(1)}:\n{'    ' * t.depth}    out[{r}, {c}] = e",
            )
        )
        depth = "d" if self.dimensions == 3 else "0"
        t.put(f"totals[{depth}, {r}, {c}] += s + int({t.value(self.real, 1)})")

    def _row(self, d: int | str) -> str:
        r = self._r
        return self._text.one(
            f"max({r} - {d}, 0)", f"min({r} + {d}, h - 1)", f"({r} + {d}) % h", f"({r} - {d}) % h", f"h - 1 - {r}", r,
            r, f"{r} // 2", f"-1 - {r}", f"min(max({r} + {d} - 2, 0), h - 1)", f"index[{r}]", "m % h",
        )  # fmt: skip

    def _column(self, d: int | str) -> str:
        c = self._c
        return self._text.one(
            f"max({c} - {d}, 0)", f"min({c} + {d}, w - 1)", f"({c} + {d}) % w", f"({c} - {d}) % w", f"w - 1 - {c}", c,
            c, f"{c} // 2", f"-1 - {c}", f"min(max({c} + {d} - 2, 0), w - 1)", f"index[{c}] % w", "m % w",
            f"({c} + {d} if {c} + {d} < w else {c} + {d} - w)", f"{c} - {c} % 2",
        )  # fmt: skip

    def _read(self) -> str:
        d = self._text.one(1, 1, 2, 3)
        return self._text.one(
            f"x[{self._row(d)}, {self._column(d)}]",
            f"x[{self._row(d)}, {self._column(d)}]",
            f"y[{self._column(d)}, {self._row(d)}]",
        )

    def _near(self) -> None:
        t = self._text
        t.put(
            t.one(
                f"e = e + {self._read()}",
                f"e = {self._read()} - {self._read()}",
                f"e = max(e, {self._read()})",
                f"s = s * 3 + int({self._read()})",
            )
        )

    def _set(self) -> None:
        t = self._text
        kind = t.one("whole", self.real)
        t.keep(kind, t.value(kind, 2))

    def _window(self) -> None:
        t, a, b = self._text, self._text.name("a"), self._text.name("b")
        low = t.one("-1, 2", "-2, 3", "3", "0, 3", "2, -1, -1")
        r, c = f"{self._r} + {a}", f"{self._c} + {b}"
        columns = t.one(low, "2")
        with t.inside(f"for {a} in range({low}):"), t.inside(f"for {b} in range({columns}):"):
            if t.maybe(0.4):
                t.put(f"if {r} >= 0 and {r} < h and 0 <= {c} < w:", f"    e = e + x[{r}, {c}]")
            else:
                column = t.one(f"min(max({c}, 0), w - 1)", f"({c}) % w")
                t.put(f"e = e + x[min(max({r}, 0), h - 1), {column}]")
            if t.maybe(0.2):
                t.put(f"if {t.condition()}:", f"    {t.one('break', 'continue')}")

    def _guarded(self) -> None:
        t, d = self._text, self._text.one(1, 2)
        with t.inside(
            f"if {t.one(f'{self._r} >= {d}', f'{self._c} >= {d}', f'{self._c} > {d - 1} and {self._r} > {d - 1}')}:"
        ):
            at = t.lines[-1]
            r = f"{self._r} - {d}" if f"{self._r} >" in at else self._r
            c = f"{self._c} - {d}" if f"{self._c} >" in at else self._c
            t.put(t.one(f"e = e + x[{r}, {c}]", f"s = s * 3 + int(x[{r}, {c}])"))

    def _line(self) -> None:
        """Along a row or a column."""
        t, k = self._text, self._text.name("k")
        end = t.one("w", "h", "min(h, w)", self._c, "m")
        at = {"w": f"x[{self._r}, {k}]", "h": f"x[{k}, {self._c}]"}.get(end, f"x[{k} % h, {k} % w]")
        with t.inside(f"for {k} in range({end}):"):
            t.put(t.one(f"e = e + {at}", f"s = s * 3 + int({at})", f"e = max(e, {at})"))

    def launches(self) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
        return [(self.grid, self.block)] * 2

    def arguments(self, number: int) -> list[Any]:
        """Arguments of a launch, always the same."""
        rng = np.random.default_rng((self.seed, number))
        sizes = [1, 2, 5, 9, 16, 23] if self.walks else [1, 3, 8, 12, 17]
        h, w = (int(rng.choice(sizes)) for _ in range(2))
        x, y, out = (self._array(rng, *shape) for shape in ((h, w), (w, h), (h, w)))
        index = rng.integers(0, h, max(h, w), dtype=np.int32)
        return [
            x,
            y,
            out,
            np.zeros((int(rng.choice([1, 3])), h, w), np.int64),
            index,
            int(rng.integers(0, 9)),
            h,
            w,
            h * w,
        ]

    def _array(self, rng: np.random.Generator, h: int, w: int) -> np.ndarray:
        """By the seed, all launches have arrays that lie the same way."""
        found = numbers(rng, self.real, h * w).reshape(h, w)
        layout = self.seed % 5
        if layout == 1:
            return np.asfortranarray(found)
        if layout == 2:
            return np.repeat(np.repeat(found, 2, 0), 2, 1)[::2, 1::2]
        if layout == 3 and self.seed % 2:
            return found[::-1, ::-1]
        return found
