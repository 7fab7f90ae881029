"""Random functions of three numbers of any types, as text of Python: what `vectorize` takes elementwise.

They choose, loop, leave early, and have small arrays; in one module are the function and loops that call it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.python_text import COMPLEX, FLOATS, SIGNED, UNSIGNED, PythonText, numbers

SIZES = (0, 1, 37, 300)
PARAMETERS = "x, y, z, out"

_TEXT = """
import math

import numpy as np
from weft import cuda, prange


def scalar(x, y, z):
{lines}


def plain({parameters}):
    for i in range(out.shape[0]):
        out[i] = scalar(x[i], y[i], z[i])


def lanes({parameters}):
    for i in prange(out.shape[0]):
        out[i] = scalar(x[i], y[i], z[i])


def kernel({parameters}):
    i = cuda.grid(1)
    if i < out.shape[0]:
        out[i] = scalar(x[i], y[i], z[i])
"""


class PythonScalar:
    """A function that is drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.in_order = False
        self._text = t = PythonText(f"python scalar {seed}")
        self.kinds = tuple(t.one(*SIGNED, *UNSIGNED, *FLOATS, *FLOATS, *COMPLEX) for _ in "xyz")
        self.result = t.one(*self.kinds, "int64", "float64", "uint8")

    def text(self) -> str:
        """A module with the functions `scalar`, `plain`, `lanes` and `kernel`."""
        t = self._text
        t.names = {}
        for name, kind in zip("xyz", self.kinds, strict=True):
            t.names.setdefault(kind, []).extend([name, name])
        t.put("s = 1")
        t.names["whole"] = ["int(s)"]
        for _ in range(t.one(1, 2, 3)):
            t.one(self._set, self._set, self._leave, self._choose, self._loop, self._many)()
        t.put(f"return {t.converted(t.value(self.result, 2), self.result, self.result)}")
        return _TEXT.format(parameters=PARAMETERS, lines="\n".join(t.lines))

    def _set(self) -> None:
        t = self._text
        kind = t.one("whole", *self.kinds)
        t.keep(kind, t.value(kind, 3))

    def _update(self) -> None:
        t = self._text
        name, kind = t.one(*zip("xyz", self.kinds, strict=True), ("s", "whole"))
        t.put(f"{name} = {t.value(kind, 2)}")

    def _leave(self) -> None:
        t = self._text
        with t.inside(f"if {t.condition(2)}:"):
            t.put(f"return {t.converted(t.value(self.result), self.result, self.result)}")

    def _choose(self) -> None:
        t = self._text
        with t.inside(f"if {t.condition(2)}:"):
            self._update()
        if t.maybe(0.5):
            with t.inside("else:"):
                self._update()

    def _loop(self) -> None:
        t, k = self._text, self._text.name("k")
        whole = next(
            (f"int({n}) & 7" for n, kind in zip("xyz", self.kinds, strict=True) if kind in SIGNED + UNSIGNED),
            "4",
        )
        with t.inside(f"for {k} in range({t.one('3', '5, 0, -2', whole)}):"):
            t.names["whole"].append(k)
            if t.maybe(0.3):
                t.put(f"if {t.condition(1)}:", f"    {t.one('break', 'continue')}")
            self._update()
            t.put(f"s = s * 3 + {t.value('whole')}")

    def _many(self) -> None:
        """A small array that a number chooses from."""
        t, a = self._text, self._text.name("a")
        kind, size = t.one(*self.kinds), t.one(2, 3, 4)
        t.put(f"{a} = cuda.local.array({size}, np.{kind})")
        t.put(*(f"{a}[{k}] = {t.value(kind)}" for k in range(size)))
        t.names[kind].append(f"{a}[{t.value('whole')} % {size}]")

    def arguments(self, n: int) -> list[Any]:
        """Arguments for `n` numbers, always the same."""
        rng = np.random.default_rng((self.seed, n))
        x, y, z = (numbers(rng, kind, n) for kind in self.kinds)
        return [x, y, z, np.zeros(n, self.result)]
