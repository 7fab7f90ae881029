"""Random kernels of work-groups, as text of Python: shared memory, barriers, votes, shuffles and atomics.

What is behind a barrier reads what was in front of it: neighbours, mirrored and permuted places, trees and scans.
Barriers are in loops and choices that the group takes together, operations of warps in those that warps do. Atomics are
those whose order shows nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from generators.python_text import PythonText, numbers
from generators.python_warps import warp_operation

BLOCKS: tuple[tuple[int, ...], ...] = (
    (32,),
    (64,),
    (8,),
    (48,),
    (33,),
    (128,),
    (8, 8),
    (16, 4),
    (4, 3, 4),
    (1,),
    (20,),
)
WARPS: tuple[tuple[int, ...], ...] = ((32,), (64,), (128,), (8, 8), (16, 4), (4, 4, 4))
PARAMETERS = "x, y, out, results, counts, tops, m, n"

_TEXT = """
import math

import numpy as np
from weft import cuda


def kernel({parameters}):
{lines}
"""


class PythonGroup:
    """A kernel that is drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._text = t = PythonText(f"python group {seed}")
        self.has_warps = t.maybe(0.5)
        self.block = t.one(*(WARPS if self.has_warps else BLOCKS))
        self.size = int(np.prod(self.block))
        self.grid = t.one((1,), (2,), (3,))
        self.kind = t.one(
            "int32", "int32", "int64", "uint8", "int16", "uint32", "uint64", "float32", "float64", "float16"
        )
        self.is_checked = t.is_checked = t.maybe(0.5)

    def text(self) -> str:
        """A module with `kernel`."""
        t, size = self._text, self.size
        linear = (
            "cuda.threadIdx.x",
            " + cuda.blockDim.x * cuda.threadIdx.y",
            " + cuda.blockDim.x * cuda.blockDim.y * cuda.threadIdx.z",
        )
        t.put(f"t = {''.join(linear[: len(self.block)])}", "b = cuda.blockIdx.x", f"i = b * {size} + t")
        t.put("s = int(y[i])", "e = x[i]", f"mine = cuda.shared.array({size}, np.{self.kind})")
        t.put(f"many = cuda.shared.array(({size}, 3), np.int64)", "bins = cuda.shared.array(8, np.int32)")
        t.put("if t < 8:", "    bins[t] = 0")
        if size < 8:
            t.put("if t == 0:", "    for k in range(8):", "        bins[k] = 0")
        t.put("mine[t] = x[i]", "for k in range(3):", "    many[t, k] = k + t", "cuda.syncthreads()")
        t.names = {"whole": ["t", "b", "i", "s", "s", "m"], self.kind: ["e", "e", "x[i]"], "int32": ["y[i]"]}
        if self.kind == "int32":
            t.names["int32"] += ["e", "x[i]"]
        for _ in range(t.one(2, 3, 4)):
            self._statement(2)
        t.put("out[i] = e", "results[i] = s", "cuda.syncthreads()", "if t == 0:", "    for k in range(8):")
        t.put("        counts[8 + k + 8 * b] = bins[k]")
        return _TEXT.format(parameters=PARAMETERS, lines="\n".join(t.lines))

    def _statement(self, depth: int) -> None:
        kinds = [
            self._exchange,
            self._exchange,
            self._many,
            self._tree,
            self._count,
            self._add,
            self._add,
            self._alone,
            self._keep,
        ]
        if self.has_warps:
            kinds += [self._operate] * 6
        if depth:
            kinds += [self._together, self._together, self._repeat, self._repeat]
            kinds += [self._warps] if self.has_warps else []
        self._text.one(*kinds)(*([depth] if depth else [0]))

    def _place(self) -> str:
        """Where an element of shared memory is."""
        k = self._text.one(1, 2, 3, 5)
        size = self.size
        return self._text.one(
            "t", f"(t + {k}) % {size}", f"(t - {k}) % {size}", f"{size - 1} - t", "-1 - t", f"min(t + {k}, {size - 1})",
            f"max(t - {k}, 0)", f"(t * {k}) % {size}", "0", "t // 2", f"(t + m) % {size}", f"s % {size}",
            f"int(y[i]) % {size}", f"min(t ^ {k}, {size - 1})", f"m % {size}", f"t - {size}", "t // 32 * 32",
        )  # fmt: skip

    def _update(self, value: str) -> str:
        return self._text.one(
            f"e = e + {value}", f"e = max(e, {value})", f"e = {value}", f"s = s * 3 + int({value})"
        )

    def _exchange(self, depth: int) -> None:
        t = self._text
        if t.maybe(0.7):
            value = t.value(self.kind)
            # What the value reads is written only when all have read it.
            t.put(
                f"v = {value}",
                "cuda.syncthreads()",
                "mine[t] = v" if t.maybe(0.7) else f"mine[{self.size - 1} - t] = v",
                "cuda.syncthreads()",
            )
        for _ in range(t.one(1, 2)):
            t.put(self._update(f"mine[{self._place()}]"))
        if t.maybe(0.2):
            with t.inside(f"if {t.condition(1)}:"):
                t.put(self._update(f"mine[{self._place()}]"))
        if t.maybe(0.3):
            t.put(f"for k in range({t.one(3, 'm % 5', 't % 4', 'y[i] & 3')}):")
            t.put(f"    {self._update(f'mine[(t + k) % {self.size}]')}")
        t.put("cuda.syncthreads()")

    def _many(self, depth: int) -> None:
        t = self._text
        k = t.one(0, 1, 2)
        t.put(f"w = {t.value('whole')}", "cuda.syncthreads()", f"many[t, {k}] = w", "cuda.syncthreads()")
        t.put(f"s += many[{self._place()}, {t.one(k, k, -1, 't % 3', 'm % 3')}]", "cuda.syncthreads()")

    def _tree(self, depth: int) -> None:
        """A reduction, or a scan."""
        t, d = self._text, self._text.name("d")
        what = t.one(
            "many[t, 0] += many[t + {d}, 0]",
            "many[t, 0] = max(many[t, 0], many[t + {d}, 0])",
            "mine[t] = min(mine[t], mine[t + {d}])",
            "mine[t] += mine[t + {d}]",
        )
        if t.maybe(0.6):
            t.put(f"{d} = {max(1, self.size // 2)}", f"while {d} > 0:")
            t.put(
                f"    if t < {d} and t + {d} < {self.size}:",
                f"        {what.format(d=d)}",
                "    cuda.syncthreads()",
                f"    {d} {t.one('//= 2', '>>= 1')}",
            )
        else:
            t.put(
                f"{d} = 1",
                f"while {d} < {self.size}:",
                "    w = 0",
                f"    if t >= {d}:",
                f"        w = many[t - {d}, 1]",
            )
            t.put("    cuda.syncthreads()", "    many[t, 1] += w", "    cuda.syncthreads()", f"    {d} *= 2")
        t.put(
            "s += many[0, 0] + many[t, 1]",
            "e = mine[0]" if t.maybe(0.3) else "s ^= int(mine[0])",
            "cuda.syncthreads()",
        )

    def _count(self, depth: int) -> None:
        t = self._text
        t.put(f"s = s * 3 + int(cuda.syncthreads_{t.one('count', 'and', 'or')}({t.condition(1)}))")

    def _add(self, depth: int) -> None:
        """Atomics; what they return is looked at where nobody else writes."""
        t = self._text
        at = t.one(f"({t.value('whole')} & 7)", "(t & 7)", "i % 8", "3", "(m & 7)", "(int(y[i]) & 7)")
        what = t.one("add", "add", "sub", "max", "min", "xor", "and_", "or_")
        bins = {
            "max": "tops, 8 + ",
            "min": "tops, 0 + ",
            "xor": "tops, 16 + ",
            "and_": "tops, 24 + ",
            "or_": "tops, 32 + ",
        }
        array = bins.get(what, t.one("bins, ", "counts, "))
        line = f"cuda.atomic.{what}({array}{at}, np.int32({t.value('whole')}))"
        if t.maybe(0.3):
            line = f"cuda.atomic.{t.one('add', 'sub')}({t.one('bins', 'counts')}, {at}, 1)"
        if t.maybe(0.25):
            own = t.one("add", "max", "min", "exch", "sub")
            line = f"s ^= int(cuda.atomic.{own}(results, i, {t.value('whole')}))"
        with t.inside(
            f"if {t.condition(1)}:"
            if t.maybe(0.5)
            else f"for k in range({t.one('2', 'm % 4', 't % 3', 'y[i] & 3')}):"
        ):
            t.put(line)

    def _alone(self, depth: int) -> None:
        """What each thread does for itself."""
        t = self._text
        head = t.one(
            f"if {t.condition(1)}:", "for k in range(y[i] & 7):", "for k in range(t % 5):", "while s > 100:"
        )
        with t.inside(head):
            t.put(
                "s //= 7" if head.startswith("while") else f"s = s * 3 + {t.value('whole')}",
                self._update(t.value(self.kind)),
            )

    def _keep(self, depth: int) -> None:
        kind = self._text.one("whole", self.kind, "int32")
        self._text.keep(kind, self._text.value(kind, 2))

    def _together(self, depth: int) -> None:
        """A choice of the whole group."""
        t = self._text
        with t.inside(f"if {t.one('m > 3', 'b % 2 == 0', 'm & 1', 'b == m', 'b + m < 4')}:"):
            self._statement(depth - 1)
        if t.maybe(0.3):
            with t.inside("else:"):
                self._statement(depth - 1)

    def _repeat(self, depth: int) -> None:
        """A loop of the whole group."""
        t, k = self._text, self._text.name("r")
        with t.inside(f"for {k} in range({t.one('3', 'm % 4', '2', 'b + 1', '4, 0, -1')}):"):
            t.names["whole"].append(k)
            self._statement(depth - 1)
            if t.maybe(0.3):
                t.put(f"if {k} + b > {t.one(1, 2, 3)}:", f"    {t.one('break', 'continue')}")
            if t.maybe(0.5):
                self._statement(depth - 1)

    def _warps(self, depth: int) -> None:
        """A choice of whole warps."""
        t = self._text
        with t.inside(
            f"if {t.one('t // 32 % 2 == 0', 't < 32', 't >= 32', '(t >> 5) + m > 3', 'i // 32 % 2')}:"
        ):
            for _ in range(t.one(1, 2)):
                t.one(self._operate, self._operate, self._operate, self._alone)(0)

    def _operate(self, depth: int) -> None:
        warp_operation(self._text, self.kind)

    def launches(self) -> Sequence[tuple[tuple[int, ...], tuple[int, ...]]]:
        return [(self.grid, self.block)] * 2

    def arguments(self, number: int) -> list[Any]:
        """Arguments of a launch, always the same."""
        rng = np.random.default_rng((self.seed, number))
        threads = self.grid[0] * self.size
        x, y = numbers(rng, self.kind, threads), numbers(rng, "int32", threads)
        return [
            x, y, np.zeros_like(x), np.zeros(threads, np.int64), np.zeros(40, np.int32),
            rng.integers(-9, 9, 40, dtype=np.int32), int(rng.integers(0, 9)), threads,
        ]  # fmt: skip
