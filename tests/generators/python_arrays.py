"""Random functions of whole arrays, as text of Python that NumPy runs.

Slices have ends beyond the array's, negative ones, and steps back; what is assigned overlaps what is read; views of
views are changed in place; sums, extrema and their places are taken along axes, of expressions and of parts; masks
choose. Numbers are whole and small, so that sums have one result in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.python_text import PythonText

SIZES = ((0, 1, 3), (1, 1, 1), (7, 3, 5), (20, 6, 4))
PARAMETERS = "a, b, m, o, found, k, j"

_TEXT = """
import numpy as np
from weft import prange


def plain({parameters}):
    n = a.shape[0]
    s = 0
    t = 0.0
{lines}
    found[0] += s
    found[1] += int(t)
"""


class PythonArrays:
    """A function that is drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.in_order = True
        self._text = t = PythonText(f"python arrays {seed}")
        self.kind = t.one("int32", "int64", "float32", "float64", "float64")

    def text(self) -> str:
        """A module with the function `plain`."""
        t = self._text
        for _ in range(t.one(1, 2, 3, 4)):
            self._statement(1)
        return _TEXT.format(parameters=PARAMETERS, lines="\n".join(t.lines))

    def _statement(self, depth: int) -> None:
        t = self._text
        kinds = [
            self._assign,
            self._assign,
            self._shift,
            self._plane,
            self._plane,
            self._reduce,
            self._reduce,
            self._mask,
            self._view,
            self._each,
            self._methods,
        ]
        if depth and t.maybe(0.25):
            head = t.one("for i in range(3):", "if a.sum() > k:", "if n > 4:", "for i in range(n // 4):")
            with t.inside(head):
                t.one(*kinds)()
            return
        t.one(*kinds)()

    def _end(self) -> str:
        return self._text.one(
            "", "", "1", "2", "-1", "-2", "k", "j", "n", "n - 1", "n // 2", "99", "-99", "k - n", "min(k, n)"
        )

    def _slice(self) -> str:
        step = self._text.one("", "", "", ":2", ":-1", ":3", ":-2")
        return f"{self._end()}:{self._end()}{step}"

    def _vector(self, cut: str = "", depth: int = 1) -> str:
        """An expression with as many elements as each of the two arrays, all cut in one way."""
        t = self._text
        part = f"[{cut}]" if cut else ""
        if depth <= 0:
            return t.one(f"a{part}", f"b{part}", f"a{part}", "2", "k")
        x, y = self._vector(cut, depth - 1), self._vector(cut, depth - 1)
        array = t.one(f"a{part}", f"b{part}")
        return t.one(
            f"({array} + {y})",
            f"({array} - {y})",
            f"({array} * 2)",
            f"np.abs({array})",
            f"np.maximum({array}, {y})",
            f"np.minimum({array}, {y})",
            f"np.where({array} > {x}, {array}, {y})",
            f"(-{array})",
            f"({array} + b{part}[::-1])",
            f"np.clip({array}, -3, 9)",
            f"a{part}[::-1]",
            f"{array}.astype(np.{self.kind})",
            f"({array} % 5)",
        )

    def _assign(self) -> None:
        t, cut = self._text, self._slice()
        target = t.one("a", "b", "a")
        t.put(f"{target}[{cut}] {t.one('=', '=', '+=', '-=', '*=')} {self._vector(cut)}")

    def _shift(self) -> None:
        t = self._text
        x, y = t.one("ab", "aa", "aa", "ba")
        d = t.one(1, 2, 3)
        t.put(
            t.one(
                f"{x}[{d}:] = {y}[:-{d}] + 1",
                f"{x}[:-{d}] = {y}[{d}:] * 2",
                f"{x}[:] = {y}[::-1]",
                f"{x} += {y}[::-1]",
                f"{x}[{d}:] += {y}[:-{d}]",
                f"{x}[:-{d}] -= {y}[{d}:]",
                f"{x}[::2] = {y}[: (n + 1) // 2] + 0",
                f"{x}[: n // 2] = {y}[n - n // 2 :]",
                f"{x}[:] = {t.one('k', '3', f'{y}[0] if n > 0 else 1')}",
                f"{x}[k:j] = j",
                f"{x}[:], {y}[:] = {y} + 1, {x} - 1",
                f"{x}.fill(k)",
            )
        )

    def _plane(self) -> None:
        t = self._text
        cut = f"{t.one('', '1', '-2', '1')}:{t.one('', '-1', '3', '2')}"
        other = f"{t.one('', '1', '-2', '1')}:{t.one('', '-1', '3', '2')}{t.one('', ':-1')}"
        t.put(
            t.one(
                f"m[{cut}, {other}] = o[{cut}, {other}] + m[{cut}, {other}]",
                f"m[{cut}] += o[{cut}]",
                "m[:] = o.T[:, :].T * 2",
                f"m[:, {other}] -= k",
                "m[1:] = m[:-1] + o[1:]",
                "m[:-1] += m[1:]",
                "m[:, 1:] = m[:, :-1]",
                "m[1:-1, 1:-1] = m[:-2, 1:-1] + m[2:, 1:-1] - m[1:-1, :-2]",
                "m[:] = m[::-1, ::-1]",
                "m += o[:1]",
                "m[:] = o.sum(axis=0)",
                "m[:, 0] = m.sum(axis=1)",
                "m[:] = m - m.max()",
                "m[:] = (m * o).sum(axis=0)",
                "m.T[:] = o.T + 1",
                "m[:] = o[:, ::-1]",
                "m[:] += m[:, :1]",
                "m.T[1:] = m.T[:-1]",
                "m[:] = np.where(m > o, m, o[::-1])",
                "m[:, -1] = m[:, 0] + 1",
                "m[-1] = m[0]",
                "m[:, :1] = m[:, 1:2] * 2",
            )
        )

    def _reduce(self) -> None:
        t, cut = self._text, self._slice()
        part = t.one(
            "a",
            "b",
            f"a[{cut}]",
            "m",
            "m[1:]",
            "m.T",
            "m[:, ::-1]",
            "o[::-1]",
            "m[:, 0]",
            self._vector(),
            f"(a[{cut}] * b[{cut}])",
        )
        guard = f"if ({part}).size > 0:\n{'    ' * (t.depth + 1)}"
        t.put(
            t.one(
                f"s += int(({part}).sum())",
                f"s += int(np.sum({part}))",
                f"s += np.count_nonzero({part})",
                f"t += ({part}).sum()",
                f"s += int(np.any({part} > 3)) * 2 + int(np.all({part} > -3))",
                f"s += int(np.prod({part} % 2))",
                f"{guard}s += int(({part}).max()) * 3 + int(({part}).min())",
                f"{guard}s += int(np.argmax({part})) * 3 + int(np.argmin({part}))",
                f"s += len({part})",
                f"s += ({part}).size",
            )
        )

    def _mask(self) -> None:
        t = self._text
        x, y = t.one("ab", "ba")
        t.put(
            t.one(
                f"{x}[{x} > {t.one('3', 'k', y)}] = {t.one('0', 'k')}",
                f"s += int({x}[{x} < {y}].sum())",
                f"s += {x}[{x} > 0].size",
                f"{x}[:] = np.where({x} == {y}, k, {x})",
                f"s += int(({x} > {y}).sum())",
                f"m[m < {t.one('0', 'k')}] = 1",
                f"s += int((({x} > 0) & ({y} < 5)).sum())",
                f"s += int(np.sum(~({x} > 1)))",
            )
        )

    def _view(self) -> None:
        t, v, w = self._text, self._text.name("v"), self._text.name("w")
        t.put(f"{v} = {t.one(f'a[{self._slice()}]', f'b[{self._slice()}]', 'm[:, 0]', 'm.T[0]', 'm[:, -1]')}")
        t.put(
            *t.one(
                (f"{v} += 1",),
                (f"{v}[:] = {v}[::-1] * 2",),
                (f"{w} = {v}[{t.one('1:', ':-1', '::2', '::-1')}]", f"{w} -= k", f"s += int({v}.sum())"),
                (f"{v}[1:] += {v}[:-1]",),
                (f"{w} = {v}.copy()", f"{w}[:] = {w} + {v}", f"s += int({w}.sum())"),
                (f"{w} = {v} * 3", f"{v}[:] = {w} - {v}"),
                (f"for i in range({v}.shape[0]):", f"    {v}[i] += {v}[-1 - i]"),
            )
        )

    def _each(self) -> None:
        t = self._text
        t.put(
            *t.one(
                ("for x in a[::-1]:", "    s = s % 1000 * 3 + int(x)"),
                (f"for i, x in enumerate(b[{self._slice()}]):", "    s += i * int(x)"),
                (f"for x, y in zip(a[{self._slice()}], b[1:]):", "    s += int(x * y)"),
                ("for row in m:", "    row += 1", "    s += int(row[0])"),
                (f"for x in reversed(a[{self._slice()}]):", "    s = s % 1000 * 3 + int(x)"),
                (
                    f"for i in reversed(range({t.one('n', '1, n, 2', 'k, j', '-1, n, 3')})):",
                    "    s = s % 1000 * 3 + i",
                ),
                ("for i, row in enumerate(m.T):", "    row -= i"),
            )
        )

    def _methods(self) -> None:
        t = self._text
        x = t.one("a", "b", "m[:, 0]")
        t.put(
            *t.one(
                (f"c = np.sort({x})", "s += int((c * np.arange(c.size)).sum())"),
                (f"c = np.cumsum({x})", "s += int(c[-1]) if c.size > 0 else 0"),
                ("c = np.empty_like(a)", "c[:] = 1", "c[k:j] = a[k:j]", "b[:] = c"),
                ("c = np.zeros((n, 2))", "c[:, 1] = a", "s += int(c.sum())"),
                (
                    f"s += int(np.dot(a[{self._slice()}], {t.one('a', 'b')}[0:0]))"
                    if False
                    else "s += int(np.dot(a, b))",
                ),
                ("c = m.ravel()", "s += int((c[1:] - c[:-1]).sum()) + c.size"),
                ("c = m.flatten()", "c += 1", "s += int(c.sum())"),
                ("c = a + b", "s += int(c.sum())"),
                ("c = m.sum(axis=1)", "s += int((c * c).sum())"),
                ("c = m.max(axis=1)", "s += int(c.sum())"),
                ("c = m.T @ m" if self.kind.startswith("float") else "c = m * m", "s += int(c.sum())"),
                ("c = np.arange(k, j, 2)", "s += int(c.sum()) + c.size"),
                ("c = np.argmax(m, axis=1)", "s += int(c.sum())"),
                ("c = m.reshape(m.size)", "c[::2] += 1"),
            )
        )

    def arguments(self, size: tuple[int, int, int]) -> list[Any]:
        """Arguments of a size, always the same; there is a row and a column at least."""
        n, h, w = size
        rng = np.random.default_rng((self.seed, *size))
        a, b = (rng.integers(-9, 10, n).astype(self.kind) for _ in range(2))
        m, o = (rng.integers(-9, 10, (h, w)).astype(self.kind) for _ in range(2))
        layout = self.seed % 6
        if layout == 1:
            a = np.repeat(a, 2)[::2]
        elif layout == 2:
            m = np.asfortranarray(m)
        elif layout == 3 and n:
            both = rng.integers(-9, 10, n + 2).astype(self.kind)
            a, b = both[2:], both[:-2]
        elif layout == 4:
            a, m = a[::-1], m[::-1]
        k, j = (int(x) for x in rng.choice([0, 1, 3, 5, -1, -4, n, n + 5, -n - 3], 2))
        return [a, b, m, o, np.zeros(2, np.int64), k, j]
