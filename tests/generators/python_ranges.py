"""Random loops over ranges whose ends are near the limits of 32 and 64 bits, as text of Python.

Starts, stops and steps are arguments of several types, elements of arrays, and what is computed of these; steps go up
and down, ranges are empty or short. Counters are compared, divided, shortened, and index arrays less where they began.
No counter leaves 64 bits, which would be undefined.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.python_text import PythonText

SIZES = (0, 1, 7, 37)
PLACES = (0, 1, -5, 2**31, -(2**31), 2**32, 2**53, 2**62, -(2**62), 2**63 - 1200, -(2**63) + 1200)
STEPS = (1, 1, 1, 2, 3, 7, -1, -1, -2, -5)
FAR = np.array([2**62 + 1, -(2**62) - 1, 2**63 - 1200, -(2**63) + 1200, 7, -2])
PARAMETERS = "a, c, ends, far, x, table, wholes, sums, n"

_TEXT = """
import math

import numpy as np
from weft import cuda, prange


def plain({parameters}):
    for i in range({range}):
{loop}

def lanes({parameters}):
    for i in prange({range}):
{loop}

def kernel({parameters}):
    thread = cuda.grid(1)
    if thread < n:
        i = {first} + thread * {step}
{loop}"""


class PythonRange:
    """A loop that is drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.in_order = False
        self._text = PythonText(f"python range {seed}")
        one = self._text.one
        self.place = one(*PLACES)
        self.kind = one(
            "whole", "whole", *(k for k in ("int32", "uint32", "int64", "uint64") if _fits(self.place, k))
        )
        self.step = one(*STEPS)
        self.ends = one(
            *(k for k in ("int32", "uint32", "int64", "int64", "uint64") if _fits(self.place, k)), "int8"
        )

    def text(self) -> str:
        """A module with the functions `plain`, `lanes` and `kernel`."""
        t = self._text
        t.depth = 2
        first = "a" if self.kind == "whole" else "int(a)"
        step = t.one(str(self.step), "c")
        # Counters of the outer loop are those behind which one may still go a step.
        bounds = t.one(
            f"{first}, {first} + n * {step}, {step}",
            f"{first}, {first} + (n - 1) * {step} + {1 if self.step > 0 else -1}, {step}",
        )
        if self.step == 1 and step == "1":
            bounds = t.one(bounds, f"{first}, {first} + n")
        if self.place == 0 and self.step == 1:
            bounds = t.one(bounds, "n")
            first = "0" if bounds == "n" else first
        number = f"(i - {first})" if self.step == 1 and step == "1" else f"((i - {first}) // {step})"
        t.put(f"j = {number}", "s = wholes[j]")
        t.names["whole"] += ["i", "i", "j", "s"]
        for _ in range(t.one(1, 2)):
            t.one(self._loop, self._loop, self._set, self._test)()
        t.put("wholes[j] = s")
        loop = "\n".join(t.lines)
        return _TEXT.format(parameters=PARAMETERS, loop=loop, range=bounds, first=first, step=step)

    def _set(self) -> None:
        t = self._text
        t.keep("whole", t.value("whole", 2))

    def _test(self) -> None:
        t = self._text
        with t.inside(f"if {t.condition(1)}:"):
            t.put(f"s = s * 3 + {t.value('whole')}")

    def _loop(self) -> None:
        """A loop inside, of at most 12 iterations."""
        t = self._text
        k, b = t.name("k"), t.name("b")
        base = t.one("i", "int(a)", "int(ends[j])", "int(ends[j]) + j", "ends[j]")
        many = t.one("3", "5", "(j % 9)", "(int(table[j]) & 7)", "(n % 5)", "(c & 7)", "0")
        size = t.one(1, 1, 2, 3, 9)
        t.put(f"{b} = {base}")
        bounds = t.one(
            f"{b}, {b} + {many} * {size}, {size}",
            f"{b}, {b} - {many} * {size}, -{size}",
            f"{b} - {many}, {b}",
            f"{b} + {many}, {b}, -1",
            f"{b}, {b} + {many}",
            f"{b}, {b} + {many} * c, c",
        )
        if t.maybe(0.2):
            # Of ends that are 2**63 or more apart either nothing is between, or a few steps are taken.
            bounds = f"far[j], far[n - 1 - j], {t.one('c', '1', '5', '-1', '-3')}"
        number = t.name("q") if "far" not in bounds and t.maybe(0.2) else ""
        head = (
            f"for {number}, {k} in enumerate(range({bounds})):" if number else f"for {k} in range({bounds}):"
        )
        if "far" in bounds:
            number = t.name("q")
            t.put(f"{number} = 0")
        with t.inside(head):
            if "far" in bounds:
                t.put(f"{number} += 1", f"if {number} > 5:", "    break")
            t.names["whole"] += [k, k, k] + [f"int({number})"] * bool(number)
            self._use(k, b)
            if t.maybe(0.3):
                with t.inside(f"if {t.condition(1)}:"):
                    t.put(t.one("break", "continue", f"s ^= {t.value('whole')}"))
            if t.maybe(0.5):
                self._use(k, b)

    def _use(self, k: str, b: str) -> None:
        t = self._text
        other = t.one("i", "int(a)", f"int({b})", "s")
        t.put(
            t.one(
                f"s = s * 3 + {t.value('whole', 1)}",
                f"s ^= {k}",
                f"s += int(x[abs({k} - int({b})) % 64])",
                f"s += int(x[({k} - int({b})) & 31])",
                f"s += int(x[{k} % 61])",
                f"s -= int(x[{k} & 63])",
                f"s += {k} // {t.one(2, 3, 7, -3)} + {k} % {t.one(2, 3, 7, -3)}",
                f"s += 1 if {k} {t.one('<', '<=', '>', '==', '!=')} {other} else 2",
                f"s += int(np.{t.one('int32', 'uint32', 'int8', 'uint16', 'float32', 'uint64', 'float64')}({k}))",
                f"s ^= min({k}, {other}) - max({k}, {other})",
                f"s += {k} >> {t.one(1, 31, 33, 62)}",
                f"s ^= abs({k})",
                f"sums[j, ({k} - int({b})) & 7] += {k}",
            )
        )

    def arguments(self, n: int) -> list[Any]:
        """Arguments for `n` iterations, always the same."""
        rng = np.random.default_rng((self.seed, n))
        near = int(rng.choice([0, 0, -1, 1, 5, -7, -20])) if self.place else 0
        if not _fits(self.place + near, self.kind):
            near = 0
        a: Any = self.place + near
        a = a if self.kind == "whole" else np.dtype(self.kind).type(a)
        limits = np.iinfo(self.ends)
        margin = 1200 if limits.bits == 64 else 0
        around = int(np.clip(self.place, limits.min + margin, min(limits.max, 2**63) - margin))
        ends = [
            int(np.clip(around + d, limits.min + margin, min(limits.max, 2**63 - 1) - margin))
            for d in rng.integers(-9, 9, n).tolist()
        ]
        x = rng.integers(-99, 99, 64, dtype=np.int32)
        table = rng.integers(-(2**31), 2**31, n, dtype=np.int32)
        return [
            a, self.step, np.array(ends, self.ends), rng.choice(FAR, n), x, table, rng.integers(-9, 50, n),
            np.zeros((n, 8), np.int64), n,
        ]  # fmt: skip


def _fits(number: int, kind: str) -> bool:
    if kind == "whole":
        return -(2**63) <= number < 2**63
    limits = np.iinfo(kind)
    return bool(limits.min <= number <= limits.max)
