"""Random nests over rows and columns, as text of Python: a plain one, one over `prange`, and a kernel.

Loops over columns go up and down, by twos, from the diagonal on, around it, and to a length that the row has. They read
neighbours, wrapped, clamped and negative ones, columns, permuted columns and the diagonal; write elements, in place,
too, change their places, find minima, pack, multiply matrices, sum windows and hand numbers on. In about half of the
programs rows are in order: these also read and write other rows, three times sometimes, and arrays may be the same, or
overlap.

Every value has one type, which the text says: plain Python has it, too.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZES = ((3, 5), (1, 9), (8, 8), (17, 33), (5, 70), (4, 0), (3, 1))
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
PARAMETERS = "A, B, O, Q, line, side, perm, lengths, kept, counts, sums, numbers, h, w, p"

_TEXT = """
import numpy as np
from weft import cuda, prange


def plain({parameters}):
{times}{indent}    for r in range({rows}):
{plain}


def lanes({parameters}):
    for r in prange(h):
{body}


def kernel({parameters}):
    r = cuda.grid(1)
    if r < h:
{body}
"""
_HEADERS = (
    ("w", 0), ("w", 0), ("0, w", 0), ("1, w", 0), ("1, w - 1", 1), ("w - 1", 1), ("w - 2, 0, -1", 1),
    ("w - 1, -1, -1", 0), ("0, w, 2", 0), ("lengths[r]", 0), ("1, lengths[r]", 0), ("min(r, w)", 0),
    ("min(r + 1, w), w", 0), ("1, min(w, 5)", 0), ("max(1, r - 2), min(w - 1, r + 3)", 1), ("w // 2, w", 0),
)  # fmt: skip
"""Bounds of loops, and whether there is a column behind each of theirs."""


@dataclass(slots=True)
class PythonNest:
    """A nest that is drawn by a seed.

    Parameters
    ----------
    seed
        What it is drawn by.
    rng, short, real, in_order
        The source of its choices, the names of the types of integers and floats, and whether rows see what others do;
        drawn.
    """

    seed: int
    rng: random.Random = field(init=False)
    short: str = field(init=False)
    real: str = field(init=False)
    in_order: bool = field(init=False)
    _lines: list[str] = field(default_factory=list)
    _depth: int = 0
    _names: int = 0
    _column: str = ""
    _has_next: int = 0

    def __post_init__(self) -> None:
        self.rng = random.Random(f"python nest {self.seed}")
        self.short, self.real = self._one(*INTEGERS), self._one("float32", "float32", "float64")
        self.in_order = self._one(True, False)

    def text(self) -> str:
        """A module with the functions `plain`, `lanes` and `kernel`; of these only `plain` where rows are in order."""
        for line in ("f = np.{real}(0.0)", "g = 0", "m = 0", "at = -1", "best = np.{real}(100.0)"):
            self._put(line.format(real=self.real))
        for _ in range(self._one(1, 1, 2, 3)):
            self._loop()
        self._put("sums[r] = f")
        self._put("numbers[r] = g * 5 + m + at")
        rows, times = "h", ""
        if self.in_order:
            rows = self._one("h", "h", "1, h - 1", "h - 1, -1, -1")
            times = self._one("", "", "    for t in range(3):\n")
        return _TEXT.format(
            parameters=PARAMETERS,
            times=times,
            indent="    " if times else "",
            rows=rows,
            plain=self._indented(12 if times else 8),
            body=self._indented(8),
        )

    def arguments(self, h: int, w: int) -> list[Any]:
        """Arguments for `h` rows of `w` columns, always the same."""
        rng = np.random.default_rng((self.seed, h, w))
        whole = rng.normal(size=h * w + w + 1).astype(self.real)
        if rng.choice(3) == 0:
            whole = np.round(whole)
        if rng.choice(4) == 0:
            whole[rng.integers(0, whole.size, 3)] = np.nan, np.inf, -0.0
        a, o = self._floats(rng, h, w), self._floats(rng, h, w)
        b, q = self._integers(rng, h, w), rng.integers(0, 50, (h, w)).astype(self.short)
        line, side, kept = self._floats(rng, 1, w)[0], self._floats(rng, 1, h)[0], np.zeros(w, self.real)
        case = int(rng.choice(10))
        if not self.in_order:
            a = (np.asfortranarray(a), np.repeat(a, 2, axis=1)[:, ::2], a)[min(case, 2)]
            b = b[::-1] if case == 3 else b
        elif case < 3:
            shift = (0, w, 1)[case]
            a, o = whole[: h * w].reshape(h, w), whole[shift : shift + h * w].reshape(h, w)
            a, o = (o, a) if rng.choice(2) else (a, o)
        elif case == 3 and h:
            line, kept = o[0], o[h // 2]
        elif case == 4:
            b = q
        lengths = rng.integers(0, w + 1, h, dtype=np.int32)
        counts, sums, numbers = np.zeros(16, np.int64), np.zeros(h, self.real), np.zeros(h, np.int64)
        perm, p = rng.permutation(w).astype(np.int32), int(rng.choice([0, 1, 3, 10]))
        return [a, b, o, q, line, side, perm, lengths, kept, counts, sums, numbers, h, w, p]

    def _floats(self, rng: np.random.Generator, h: int, w: int) -> np.ndarray:
        found = rng.normal(size=(h, w)).astype(self.real)
        if found.size and rng.choice(4) == 0:
            found.ravel()[rng.integers(0, found.size, 4)] = np.nan, np.inf, -0.0, 1e-42
        return found

    def _integers(self, rng: np.random.Generator, h: int, w: int) -> np.ndarray:
        limits = np.iinfo(self.short)
        ranges = [(limits.min, limits.max), (max(limits.min, -3), 5), (0, min(limits.max, 255))]
        low, high = ranges[rng.choice(3)]
        return rng.integers(low, high, (h, w), dtype=self.short, endpoint=True)

    def _indented(self, columns: int) -> str:
        return "\n".join(" " * columns + line for line in self._lines)

    def _one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def _name(self, what: str) -> str:
        self._names += 1
        return f"{what}{self._names}"

    def _put(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def _at(self) -> str:
        """A column."""
        j = self._column
        return self._one(
            j, j, j, f"{j} - 1", f"{j} - 1", *[f"{j} + 1"] * (3 * self._has_next), f"w - 1 - {j}", "0", "w - 1",
            f"{j} // 2", f"({j} * 3) % w", f"(r + {j}) % w", f"{j} & ~1", f"perm[{j}]", f"({j} + 1) % w",
            f"min({j} + 2, w - 1)", f"max({j} - 1, 0)", "r % w", "p % w",
        )  # fmt: skip

    def _row(self) -> str:
        """Any row."""
        return self._one(
            "r", "r", "(r + 1) % h", "h - 1 - r", "max(r - 1, 0)", "min(r + 1, h - 1)", "r - 1", "r // 2", "0"
        )

    def _changed(self) -> str:
        """A row of the arrays that are written to: the own one, unless rows are in order."""
        return self._row() if self.in_order else "r"

    def _real_value(self, depth: int = 1) -> str:
        """A value of the type of `A` and `O`."""
        if depth <= 0 or self.rng.random() < 0.2:
            return self._one(
                f"A[r, {self._column}]", f"A[{self._row()}, {self._at()}]", f"A[r, {self._at()}]",
                f"line[{self._at()}]", "side[r]", f"A[{self._column} % h, r % w]", "f",
                f"O[{self._changed()}, {self._at()}]",
            )  # fmt: skip
        a, b = self._real_value(depth - 1), self._real_value(depth - 1)
        return self._one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} + {b}) * 0.5", f"max({a}, {b})", f"min({a}, {b})",
            f"abs({a})", f"({a} if {self._condition()} else {b})", f"({a} / (abs({b}) + 1.0))",
        )  # fmt: skip

    def _short_value(self, depth: int = 1) -> str:
        """A value of the type of `B` and `Q`."""
        if depth <= 0 or self.rng.random() < 0.2:
            return self._one(
                f"B[r, {self._column}]", f"B[{self._row()}, {self._at()}]", f"Q[{self._changed()}, {self._at()}]",
                f"np.{self.short}({self._one(self._column, 'r', 'p', 'g')})",
            )  # fmt: skip
        a, b, k = self._short_value(depth - 1), self._short_value(depth - 1), self._one(1, 2, 3, 7)
        return self._one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"max({a}, {b})", f"min({a}, {b})", f"({a} ^ {b})",
            f"({a} & {k})", f"({a} >> {k})", f"({a} // {k})", f"({a} % {k})", f"({a} if {self._condition()} else {b})",
            f"np.{self.short}(abs(int({a}) - int({b})))", f"np.{self.short}(min(max(int({a}), 0), 255))",
        )  # fmt: skip

    def _condition(self) -> str:
        j = self._column
        return self._one(
            f"A[r, {j}] > 0.25", f"B[r, {j}] & 1", f"{j} > r", f"{j} == r", f"{j} % 2 == 0", f"r > {self._one(1, 3)}",
            f"0 < {j} < w - 1", f"B[r, {j}] > B[r, {self._at()}]", "p > 2", f"line[{j}] < 0.5",
        )  # fmt: skip

    def _loop(self) -> None:
        self._column = self._name("j")
        bounds, self._has_next = self._one(*_HEADERS)
        self._put(f"for {self._column} in range({bounds}):")
        self._depth += 1
        kinds = [self._write, self._write, self._integer, self._update, self._sum, self._number, self._least]
        kinds += [self._choose, self._pack, self._product, self._window, self._swap, self._leave]
        if self.in_order:
            kinds += [self._keep, self._count, self._write]
        for _ in range(self._one(1, 1, 2, 3)):
            self._one(*kinds)()
        self._depth -= 1

    def _write(self) -> None:
        at = self._at() if self.rng.random() < 0.2 else self._column
        self._put(f"O[{self._changed()}, {at}] = {self._real_value(2)}")

    def _integer(self) -> None:
        at = self._one(self._column, self._column, f"int(B[r, {self._column}]) % w", "0")
        self._put(f"Q[r, {at}] {self._one('=', '=', '+=')} {self._short_value(2)}")

    def _update(self) -> None:
        self._put(f"O[r, {self._column}] {self._one('+', '-', '*')}= {self._real_value()}")

    def _sum(self) -> None:
        value = self._real_value()
        self._put(f"f = {self._one(f'f + {value}', f'max(f, {value})', f'f * 0.5 + {value}')}")

    def _number(self) -> None:
        value = f"int({self._short_value()})"
        self._put(f"g = {self._one(f'g + {value}', f'g ^ {value}', f'max(g, {value})', f'g * 3 + {value}')}")

    def _least(self) -> None:
        self._put(f"if A[r, {self._column}] {self._one('<', '>', '<=')} best:")
        self._put(f"    best = A[r, {self._column}]")
        self._put(f"    at = {self._column}")

    def _choose(self) -> None:
        self._put(f"if {self._condition()}:")
        self._put(f"    O[r, {self._column}] = {self._real_value()}")
        if self._one(True, False):
            self._put("else:")
            self._put(f"    O[r, {self._column}] = {self._real_value()}")

    def _pack(self) -> None:
        self._put(f"if {self._condition()}:")
        self._put(f"    Q[r, m % w] = {self._short_value(0)}")
        self._put("    m += 1")

    def _product(self) -> None:
        j, k, s = self._column, self._name("k"), self._name("s")
        self._put(f"{s} = np.{self.real}(0.0)")
        self._put(f"for {k} in range({self._one('w', 'h', '3', 'min(w, 9)', f'min({j} + 1, w)')}):")
        update = self._one(
            f"{s} += A[r, {k} % w] * A[{k} % h, {j}]",
            f"{s} += A[(r + {k}) % h, ({j} + {k}) % w] * line[{k} % w]",
            f"{s} = max({s}, A[{k} % h, {j}] - line[{k} % w])",
            f"{s} += A[r, ({j} + {k}) % w]",
        )
        self._put(f"    {update}")
        self._put(self._one(f"O[r, {j}] = {s}", f"O[r, {j}] += {s}", f"f += {s}"))

    def _window(self) -> None:
        j, k = self._column, self._name("k")
        self._put(f"for {k} in range(-1, 2):")
        update = self._one(
            f"f += A[min(max(r + {k}, 0), h - 1), min(max({j} + {k}, 0), w - 1)]",
            f"g += int(B[(r + {k}) % h, ({j} - {k}) % w])",
        )
        self._put(f"    {update}")

    def _swap(self) -> None:
        one, other = self._column, self._one(f"w - 1 - {self._column}", "0", self._at())
        self._put(f"O[r, {one}], O[r, {other}] = O[r, {other}], O[r, {one}]")

    def _leave(self) -> None:
        self._put(f"if {self._one(f'B[r, {self._column}] == 3', f'A[r, {self._column}] > 1.5', 'g > 500')}:")
        self._put(f"    {self._one('break', 'break', 'continue')}")

    def _keep(self) -> None:
        self._put(f"kept[{self._column}] = {self._real_value()}")

    def _count(self) -> None:
        at = self._one(f"int(B[r, {self._column}]) & 15", f"({self._column} + r) & 15")
        self._put(f"counts[{at}] += {self._one('1', 'r')}")
