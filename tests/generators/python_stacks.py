"""Random loops whose iterations have a stack of their own, or walk through sparse rows, as text of Python.

Stacks are small local arrays with a number of elements, which are pushed and popped in `while` loops: trees,
intervals, and numbers that are taken apart. Rows are those of compressed matrices: some are empty, columns are counted
from the end where they are negative, and rows are walked through forwards, backwards, with early ends, and two at a
time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.python_text import PythonText, numbers

SIZES = (0, 1, 9, 40)
PARAMETERS = "pointers, columns, values, x, left, right, wholes, reals, p, n"

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


class PythonStack:
    """A loop that is drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.in_order = False
        self._text = t = PythonText(f"python stack {seed}")
        self.real = t.one("float32", "float32", "float64", "int32", "uint8")
        self.index = t.one("int32", "int32", "int64", "uint32", "int16")
        self.items = t.one("int32", "int64", "int16", "uint8")
        t.names = {"whole": ["i", "s", "p"], self.real: ["e", "x[i]"]}

    def text(self) -> str:
        """A module with the functions `plain`, `lanes` and `kernel`."""
        t = self._text
        t.depth = 2
        t.put("s = wholes[i]", "e = reals[i]")
        for _ in range(t.one(1, 2)):
            t.one(
                self._tree, self._stack, self._intervals, self._row, self._row, self._two_rows, self._queue
            )()
        t.put("wholes[i] = s", "reals[i] = e")
        return _TEXT.format(parameters=PARAMETERS, loop="\n".join(t.lines))

    def _update(self, *more: str) -> str:
        t = self._text
        return t.one(
            f"s = s * 3 + {t.value('whole')}", f"e = e + {t.value(self.real)}", f"e = max(e, {t.value(self.real)})",
            *more,
        )  # fmt: skip

    def _tree(self) -> None:
        """A binary tree by a stack of nodes, which is deep enough for all of them."""
        t = self._text
        a, h, k = t.name("a"), t.name("h"), t.name("k")
        t.put(f"{a} = cuda.local.array(24, np.int32)", f"{h} = {t.one(1, 0)}")
        if t.lines[-1].endswith("1"):
            t.put(f"{a}[0] = {t.one('0', 'i % 15', '0')}")
        else:
            t.put(f"{a}[{h}] = {t.one('0', 'i % 15')}", f"{h} += 1")
        with t.inside(f"while {h} {t.one('> 0', '!= 0', '>= 1')}:"):
            t.put(*t.one((f"{h} -= 1", f"{k} = {a}[{h}]"), (f"{k} = {a}[{h} - 1]", f"{h} = {h} - 1")))
            t.names["whole"].append(f"int({k})")
            t.names[self.real].append(f"x[{k} % n]")
            if t.maybe(0.3):
                t.put(f"if {t.condition(1)}:", f"    {t.one('continue', 'break', self._update())}")
            t.put(self._update())
            for child in t.one(("left", "right"), ("right", "left"), ("left",)):
                condition = f"{child}[{k}] >= 0"
                if t.maybe(0.4):
                    condition = f"{condition} and {t.condition(0)}"
                with t.inside(f"if {condition}:"):
                    t.put(f"{a}[{h}] = {child}[{k}]", f"{h} += 1")

    def _stack(self) -> None:
        """Numbers are pushed, and popped, as conditions say."""
        t = self._text
        a, h, f = t.name("a"), t.name("h"), t.name("f")
        size = t.one(2, 4, 8, 13)
        t.put(f"{a} = cuda.local.array({size}, np.{self.items})", f"{h} = 0", f"{f} = 0")
        t.names["whole"] += [f"int({h})", f"int({f})"]
        with t.inside(f"while {f} < {t.one(3, 9, 'i % 17', 'p & 15')}:"):
            t.put(f"{f} += 1")
            t.put(
                f"if {h} < {size} and {t.condition(1)}:",
                f"    {a}[{h}] = {t.value('whole')}",
                f"    {h} += 1",
            )
            if t.maybe(0.5):
                t.put(f"elif {h} > 1 and {t.condition(0)}:")
                t.put(*(f"    {line}" for line in t.one(
                    (f"{a}[{h} - 2] = {a}[{h} - 2] {t.one('+', '-', '*', '^')} {a}[{h} - 1]", f"{h} -= 1"),
                    (f"{a}[{h} - 1], {a}[{h} - 2] = {a}[{h} - 2], {a}[{h} - 1]",),
                    (f"{a}[{h} - 1] += 1", f"{h} -= 1"),
                )))  # fmt: skip
            t.put(f"elif {h} > 0:", f"    {h} -= 1", f"    s = s * 3 + int({a}[{h}])")
            if t.maybe(0.2):
                t.put(f"if {t.condition(0)}:", f"    {t.one('break', 'continue')}")
        if t.maybe(0.7):
            t.put(f"while {h} > 0:", f"    {h} -= 1", f"    s = s * 5 + int({a}[{h}])")
        else:
            t.put(f"for k in range({h}):", f"    s = s * 5 + int({a}[{t.one('k', f'{h} - 1 - k')}])")

    def _intervals(self) -> None:
        """Pairs of ends, as sorting has."""
        t = self._text
        a, h, lo, hi, m = (t.name(what) for what in ("a", "h", "lo", "hi", "m"))
        t.put(
            f"{a} = cuda.local.array((12, 2), np.{self.items})",
            f"{h} = 1",
            f"{a}[0, 0] = 0",
            f"{a}[0, 1] = {t.one('i % 33', '17', 'p & 31')}",
        )
        with t.inside(f"while {h} > 0:"):
            t.put(f"{h} -= 1", f"{lo} = int({a}[{h}, 0])", f"{hi} = int({a}[{h}, 1])")
            t.names["whole"] += [lo, hi]
            t.put(f"s = s * 3 + {lo} * 7 + {hi}" if t.maybe(0.5) else self._update())
            with t.inside(f"if {hi} - {lo} > {t.one(1, 2, 3)}:"):
                t.put(f"{m} = ({lo} + {hi}) {t.one('// 2', '>> 1')}")
                pushes = [((lo, m), ""), ((m, hi), "")]
                if t.maybe(0.5):
                    pushes.reverse()
                for (one, other), _ in pushes:
                    line = [f"{a}[{h}, 0] = {one}", f"{a}[{h}, 1] = {other}", f"{h} += 1"]
                    if t.maybe(0.4):
                        t.put(f"if {t.condition(1)}:", *(f"    {text}" for text in line))
                    else:
                        t.put(*line)

    def _queue(self) -> None:
        """A ring of numbers, and those that were last."""
        t = self._text
        a, k, size = t.name("a"), t.name("k"), t.one(2, 3, 4, 5)
        t.put(
            f"{a} = cuda.local.array({size}, np.{self.items})",
            f"for {k} in range({size}):",
            f"    {a}[{k}] = {t.value('whole', 0)}",
        )
        with t.inside(f"for {k} in range({t.one('p & 15', '7', 'i % 9')}):"):
            t.names["whole"] += [k, f"int({a}[{k} % {size}])"]
            if t.maybe(0.3):
                t.put(f"if {t.condition(0)}:", f"    {t.one('break', 'continue')}")
            t.put(t.one(
                f"{a}[{k} % {size}] = {t.value('whole')}", f"{a}[{k} % {size}] += {a}[({k} + 1) % {size}]",
                f"{a}[{t.value('whole')} % {size}] = {k}", f"{a}[-1 - {k} % {size}] ^= {a}[0]",
            ))  # fmt: skip
            t.put(self._update(f"s ^= int({a}[({k} + {t.one(1, 2)}) % {size}])"))
        t.put(f"for {k} in range({size}):", f"    s = s * 3 + int({a}[{k}])")

    def _row(self) -> None:
        t = self._text
        k, c, v = t.name("k"), t.name("c"), t.name("v")
        row = t.one("i", "i", "n - 1 - i", "wholes[i] % n")
        begin, end = f"pointers[{row}]", f"pointers[{row} + 1]"
        if t.maybe(0.3):
            b, e = t.name("b"), t.name("b")
            t.put(f"{b} = {begin}", f"{e} = {end}")
            begin, end = b, e
        forward = t.maybe(0.8)
        if t.maybe(0.75):
            head = (
                f"for {k} in range({begin}, {end}):"
                if forward
                else f"for {k} in range(int({end}) - 1, int({begin}) - 1, -1):"
            )
            step = ""
        else:
            t.put(f"{k} = {f'int({begin})' if t.maybe(0.5) else begin}")
            head, step = f"while {k} < {end}:", f"{k} += 1"
        with t.inside(head):
            t.put(f"{c} = columns[{k}]", f"{v} = values[{k}]")
            if step:
                t.put(step)
            t.names["whole"] += [f"int({c})"]
            t.names[self.real] += [v, v, f"x[{c}]", f"x[{c}]"]
            if t.maybe(0.3):
                t.put(f"if {t.condition(1)}:", f"    {t.one('break', 'continue')}")
            t.put(
                self._update(
                    f"e += {v} * x[{c}]",
                    f"e += {v} * x[{c}]",
                    f"s += int(wholes.shape[0]) + int({c})",
                    f"e = e + {v}",
                )
            )
            if t.maybe(0.4):
                t.put(self._update())

    def _two_rows(self) -> None:
        """Two sorted rows are merged: how many columns both have, or what these add up to."""
        t = self._text
        j, k, a, b = (t.name(what) for what in ("j", "k", "a", "b"))
        other = t.one("n - 1 - i", "0", "i // 2", "min(i + 1, n - 1)")
        t.put(f"{j} = int(pointers[i])", f"{k} = int(pointers[{other}])")
        with t.inside(f"while {j} < pointers[i + 1] and {k} < pointers[{other} + 1]:"):
            t.put(f"{a} = columns[{j}]", f"{b} = columns[{k}]")
            t.put(
                f"if {a} == {b}:",
                f"    {t.one('s += 1', f'e += values[{j}] * values[{k}]', f's = s * 3 + int({a})')}",
                f"    {j} += 1",
                f"    {k} += 1",
            )
            t.put(f"elif {a} < {b}:", f"    {j} += 1", "else:", f"    {k} += 1")

    def arguments(self, n: int) -> list[Any]:
        """Arguments for `n` iterations, always the same."""
        rng = np.random.default_rng((self.seed, n))
        lengths = rng.integers(0, [3, 9, 1, 20][rng.choice(4)], n) if n else np.zeros(0, np.int64)
        if rng.choice(3) == 0:
            lengths[rng.integers(0, 2, n) == 0] = 0
        pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(self.index)
        count = int(lengths.sum())
        low = -n if rng.choice(3) == 0 else 0
        if np.dtype(self.index).kind == "u":
            low = 0
        columns = rng.integers(low, max(n, 1), count)
        if rng.choice(2) and count:
            for first, last in zip(pointers[:-1].tolist(), pointers[1:].tolist(), strict=True):
                columns[first:last].sort()
        left, right = (np.where(rng.integers(0, 4, 15) > 0, np.arange(15) * 2 + d, -1) for d in (1, 2))
        left[left > 14], right[right > 14] = -1, -1
        x, values, reals = (
            numbers(rng, self.real, n),
            numbers(rng, self.real, count),
            numbers(rng, self.real, n),
        )
        return [
            pointers, columns.astype(self.index), values, x, left.astype(np.int32), right.astype(np.int32),
            rng.integers(-9, 50, n), reals, int(rng.choice([0, 3, 5, -7, 2**31 + 5, 2**40 + 9])), n,
        ]  # fmt: skip
