"""Random loops with numbers of every type, as text of Python: half precision, complex, unsigned, and mixed ones.

Three kinds of numbers meet in expressions, conditions, loops inside and small arrays. Conversions between them, of
numbers near the limits of their types and of NaN and infinities, are those of the language.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.python_text import COMPLEX, FLOATS, SIGNED, UNSIGNED, PythonText, numbers

SIZES = (0, 1, 11, 70)
PARAMETERS = "x, y, z, out, others, wholes, p, q, n"

_TEXT = """
import math

import numpy as np
from weft import cuda, prange


def plain({parameters}):
    for i in range(n):
{loop}

def lanes({parameters}):
    for i in prange(n):
{loop}

def kernel({parameters}):
    i = cuda.grid(1)
    if i < n:
{loop}"""


class PythonKinds:
    """A loop that is drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.in_order = False
        self._text = t = PythonText(f"python kinds {seed}")
        unusual = t.one("float16", "complex64", "complex128", "uint64", "uint64", "float16", *UNSIGNED)
        self.kinds = (unusual, t.one(*SIGNED, *UNSIGNED, *FLOATS), t.one(unusual, *SIGNED, *FLOATS, *COMPLEX))

    def text(self) -> str:
        """A module with the functions `plain`, `lanes` and `kernel`."""
        t = self._text
        t.depth = 2
        first, second, _ = self.kinds
        t.names["whole"] += ["i", "s", "p"]
        for array, kind in zip("xyz", self.kinds, strict=True):
            t.names.setdefault(kind, []).extend(
                [f"{array}[i]", f"{array}[i]", f"{array}[n - 1 - i]", f"{array}[(i + p) % n]"]
            )
        t.names[first] += ["e", "e", "q"]
        t.names[second] += ["f"]
        t.put("s = wholes[i]", "e = x[i]", "f = y[i]")
        for _ in range(t.one(1, 2, 3)):
            t.one(self._set, self._set, self._mixed, self._choose, self._loop, self._array)()
        t.put(f"out[i] = {t.value(first, 1)}", "others[i] = f", "wholes[i] = s")
        return _TEXT.format(parameters=PARAMETERS, loop="\n".join(t.lines))

    def _update(self) -> None:
        t = self._text
        t.put(
            t.one(
                f"e = {t.value(self.kinds[0], 2)}",
                f"f = {t.value(self.kinds[1], 2)}",
                f"s = {t.value('whole', 2)}",
            )
        )

    def _set(self) -> None:
        t = self._text
        kind = t.one("whole", *self.kinds)
        t.keep(kind, t.value(kind, 3))

    def _mixed(self) -> None:
        """Numbers of two types, of which NumPy finds a common one."""
        t = self._text
        one, other = t.one(*self.kinds), t.one("whole", *self.kinds, *SIGNED, *UNSIGNED, *FLOATS)
        a, b = t.value(one), t.value(other)
        if one in COMPLEX or other in COMPLEX:
            kind = t.one(*COMPLEX)
            t.keep(kind, f"np.{kind}({a} {t.one('+', '-', '*')} {b})")
        elif t.maybe(0.4):
            t.put(f"s = s * 3 + (1 if {a} {t.one('<', '<=', '>', '==', '!=')} {b} else 2)")
        else:
            kind = t.one(one, "float64", "int64")
            t.keep(kind, f"np.{kind}({a} {t.one('+', '-', '*', '/', '//', '%')} {b})")

    def _choose(self) -> None:
        t = self._text
        with t.inside(f"if {t.condition(2)}:"):
            self._update()
        if t.maybe(0.4):
            with t.inside("else:"):
                self._update()

    def _loop(self) -> None:
        t, k = self._text, self._text.name("k")
        with t.inside(f"for {k} in range({t.one('3', 'i % 5', 'wholes[i] & 7', '4, 0, -1')}):"):
            t.names["whole"].append(k)
            if t.maybe(0.3):
                t.put(f"if {t.condition(1)}:", f"    {t.one('break', 'continue')}")
            self._update()
            t.put(f"f = f + y[(i + {k}) % n]" if t.maybe(0.5) else f"e = e - x[(i + {k}) % n]")

    def _array(self) -> None:
        t, a, k = self._text, self._text.name("a"), self._text.name("k")
        kind, size = t.one(*self.kinds), t.one(2, 3, 4)
        t.put(f"{a} = cuda.local.array({size}, np.{kind})")
        with t.inside(f"for {k} in range({size}):"):
            t.names["whole"].append(k)
            t.put(f"{a}[{k}] = {t.value(kind)}")
        t.put(
            f"{a}[{t.one('i', 's', 'p')} % {size}] = {t.value(t.one(kind, 'whole' if kind not in COMPLEX else kind))}"
        )
        t.names.setdefault(kind, []).extend([f"{a}[{t.one(0, 1, -1)}]", f"{a}[i % {size}]"])

    def arguments(self, n: int) -> list[Any]:
        """Arguments for `n` iterations, always the same."""
        rng = np.random.default_rng((self.seed, n))
        x, y, z = (numbers(rng, kind, n) for kind in self.kinds)
        q = numbers(rng, self.kinds[0], 1)[0]
        p = int(rng.choice([0, 1, -7, 2**31 - 3, 2**40, 2**63 - 9, -(2**63)]))
        return [x, y, z, np.zeros_like(x), np.zeros_like(y), rng.integers(-9, 50, n), p, q, n]
