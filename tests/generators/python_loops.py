"""Random loops over one dimension, as text of Python: a plain one, one over `prange`, and a kernel.

Elements are short and long integers and floats, their indices negative, permuted, remainders, or looked up; values have
conditions, quotients and remainders by what is known at run time only, and a table of bytes; inside are short
loops, halvings, minima with their places, and small arrays whose elements change places. In about half of the programs
iterations are in order: these also move elements of arrays, which may overlap, count, and hand numbers on.

Every value has one type, which the text says: plain Python has it, too. Arrays are `PAD` longer than the loop, so that
neighbours are there.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

PAD = 8
SIZES = (2, 9, 33, 70)
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "uint32", "int64")
SPECIAL = (
    np.nan,
    np.inf,
    -np.inf,
    -0.0,
    0.0,
    1e-42,
    3e9,
    -3e9,
    1e19,
    2147483647.0,
    -2147483648.5,
    255.5,
    -1.0,
)
PARAMETERS = "x, y, u, v, index, table, wholes, shorts, reals, counts, carried, d, p, n"

_TEXT = """
import math

import numpy as np
from weft import cuda, prange


def plain({parameters}):
{before}    for i in range(n):
{loop}{behind}

def lanes({parameters}):
    for i in prange(n):
{loop}

def kernel({parameters}):
    i = cuda.grid(1)
    if i < n:
{loop}"""


@dataclass(slots=True)
class PythonLoop:
    """A loop that is drawn by a seed.

    Parameters
    ----------
    seed
        What it is drawn by.
    rng, short, real, in_order
        The source of its choices, the names of the types of short integers and floats, and whether iterations see what
        others do; drawn.
    """

    seed: int
    rng: random.Random = field(init=False)
    short: str = field(init=False)
    real: str = field(init=False)
    in_order: bool = field(init=False)
    _lines: list[str] = field(default_factory=list)
    _depth: int = 2
    _names: int = 0
    _wholes: list[str] = field(default_factory=lambda: ["i", "i", "p"])
    _shorts: list[str] = field(default_factory=list)
    _reals: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(f"python loop {self.seed}")
        self.short, self.real = self._one(*INTEGERS), self._one("float32", "float32", "float64")
        self.in_order = self._one(True, False)

    def text(self) -> str:
        """A module with the functions `plain`, `lanes` and `kernel`; of these only `plain` where loops are in order."""
        self._put("s = int(wholes[i])")
        self._put(f"e = np.{self.real}(0.0)")
        for _ in range(self._one(1, 2, 3, 4)):
            self._statement(2)
        for name in self._wholes[3:] + [f"int({name})" for name in self._shorts]:
            self._put(self._one(f"s = s * 3 + {name}", f"s ^= {name}"))
        for name in self._reals:
            self._put(self._one(f"e += {name}", f"s ^= int({name} * 8.0)"))
        self._put(f"shorts[i] = np.{self.short}(s)")
        self._put("wholes[i] = s")
        self._put("reals[i] = e")
        before = f"    c = 5\n    g = np.{self.real}(1.0)\n" if self.in_order else ""
        behind = "\n    carried[0] = c\n    carried[1] = int(g)\n" if self.in_order else ""
        loop = "\n".join(self._lines)
        return _TEXT.format(parameters=PARAMETERS, before=before, loop=loop, behind=behind)

    def arguments(self, n: int) -> list[Any]:
        """Arguments for `n` iterations, always the same."""
        rng = np.random.default_rng((self.seed, n))
        length = n + PAD
        x, y, reals = (self._floats(rng, length) for _ in range(3))
        u, v, shorts = (self._integers(rng, length) for _ in range(3))
        if self.in_order:
            both = self._floats(rng, length + 3)
            x, reals = (x, reals) if rng.choice(4) else (both[3:], both[:-3])
            both = self._integers(rng, length + 3)
            u, shorts = (u, shorts) if rng.choice(4) else (both[:-3], both[3:])
            v = v if rng.choice(4) else shorts
        elif rng.choice(4) == 0:
            u, x = u[::-1], np.repeat(x, 2)[::2]
        index = rng.integers(0, length, length, dtype=np.int32)
        table = rng.integers(0, 256, 256, dtype=np.uint8)
        wholes, counts = rng.integers(-9, 50, length), np.zeros(16, np.int64)
        kind = np.dtype(self.short).type
        greatest = np.iinfo(kind).max
        divisor = rng.choice(
            [self._integers(rng, 9)[0], kind(greatest - 2), kind(greatest // 4 * 3), kind(7)]
        )
        p = int(rng.choice([0, 1, 5, n, -7, 2**31 - 3, 2**31 + 5, 2**40, -(2**31)]))
        return [x, y, u, v, index, table, wholes, shorts, reals, counts, np.zeros(2, np.int64), divisor, p, n]

    def _integers(self, rng: np.random.Generator, length: int) -> np.ndarray:
        limits = np.iinfo(self.short)
        low, high = [
            (limits.min, limits.max),
            (limits.min, limits.max),
            (max(limits.min, -3), 5),
            (0, min(limits.max, 255)),
            (limits.max - 9, limits.max),
        ][rng.choice(5)]
        return rng.integers(low, high, length, dtype=self.short, endpoint=True)

    def _floats(self, rng: np.random.Generator, length: int) -> np.ndarray:
        found = [rng.normal(size=length) * 10, rng.integers(0, length, length)][rng.choice(2)].astype(
            self.real
        )
        if rng.choice(3) == 0:
            with np.errstate(over="ignore"):
                found[rng.integers(0, length, length // 3)] = rng.choice(SPECIAL, length // 3)
        return found

    def _one(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def _name(self, what: str) -> str:
        self._names += 1
        return f"{what}{self._names}"

    def _put(self, line: str) -> None:
        self._lines.append("    " * self._depth + line)

    def _at(self) -> str:
        """Where an element is, for reading."""
        k = self._one(1, 2, 3, 7)
        return self._one(
            "i", "i", "i", f"i + {k}", f"i - {k}", "n - 1 - i", "-1 - i", "i // 2", f"min(i + {k}, n - 1)",
            f"max(i - {k}, 0)", f"(i + {k}) % n", f"(i - {k}) % n", f"(i + {k} if i + {k} < n else i + {k} - n)",
            "(i * 5) % n", "(i + p) % n", "i - i % 4", "i ^ (i & 1)", "index[i]", f"index[i + {k}]",
            f"{self._one(*self._wholes)} % n", f"min(max({self._one(*self._wholes)}, 0), n - 1)", "0",
        )  # fmt: skip

    def _whole(self, depth: int = 1) -> str:
        """A value of 64 bits."""
        if depth <= 0 or self.rng.random() < 0.2:
            return self._one(
                *self._wholes,
                f"int(u[{self._at()}])",
                f"int(index[{self._at()}])",
                f"int(table[{self._one(*self._wholes)} & 255])",
            )
        a, b, k = self._whole(depth - 1), self._whole(depth - 1), self._one(1, 2, 3, 5, 7, 8, 10)
        return self._one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} // {k})", f"({a} % {k})", f"({a} // {b})",
            f"({a} % {b})", f"({a} >> {k})", f"({a} << {k})", f"({a} & {b})", f"({a} ^ {b})", f"min({a}, {b})",
            f"max({a}, {b})", f"abs({a})", f"({a} if {self._condition(depth - 1)} else {b})",
            f"int({self._short_value(depth)})", f"int({self._short_value(depth)})", f"int({self._real_value(depth)})",
            f"min(max({a}, 0), 255)", f"abs(int({self._short_value(0)}) - int({self._short_value(0)}))",
        )  # fmt: skip

    def _short_value(self, depth: int = 1) -> str:
        """A value of the type of `u`, `v` and `d`."""
        if depth <= 0 or self.rng.random() < 0.2:
            return self._one(f"u[{self._at()}]", f"v[{self._at()}]", "u[i]", "d", *self._shorts)
        a, b, k = self._short_value(depth - 1), self._short_value(depth - 1), self._one(1, 2, 3, 7)
        return self._one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} & {b})", f"({a} ^ {b})", f"({a} + {k})",
            f"({a} % d)", f"({a} % d)", f"({a} // d)", f"({a} // {k})", f"({a} % {k})", f"({a} >> {k})",
            f"min({a}, {b})", f"max({a}, {b})", f"(-{a})", f"({a} if {self._condition(depth - 1)} else {b})",
            f"np.{self.short}({self._whole(depth - 1)})", f"np.{self.short}({self._real_value(depth - 1)})",
        )  # fmt: skip

    def _real_value(self, depth: int = 1) -> str:
        """A value of the type of `x` and `y`."""
        if depth <= 0 or self.rng.random() < 0.2:
            return self._one(f"x[{self._at()}]", f"y[{self._at()}]", "x[i]", "e", *self._reals)
        a, b = self._real_value(depth - 1), self._real_value(depth - 1)
        return self._one(
            f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"min({a}, {b})", f"max({a}, {b})",
            f"abs({a})", f"(-{a})", f"math.sqrt(abs({a}))", f"({a} * 0.5)", f"np.trunc({a})",
            f"({a} if {self._condition(depth - 1)} else {b})", f"np.{self.real}({self._whole(depth - 1)})",
            f"np.{self.real}({self._short_value(depth - 1)})",
        )  # fmt: skip

    def _twin(self, value: str) -> str:
        """A short value, its highest bit a sign."""
        return f"np.{self.short.removeprefix('u')}({value})"

    def _condition(self, depth: int = 1) -> str:
        order, k = self._one("<", "<=", ">", "==", "!="), self._one(1, 2, 3, 8)
        found = self._one(
            f"{self._whole(depth)} {order} {self._whole(0)}",
            f"{self._short_value(depth)} {order} {self._short_value(0)}",
            f"{self._real_value(depth)} {order} {self._real_value(0)}", f"i % {k} == 0", f"0 < i < n - {k}", f"i & {k}",
            f"{self._twin(self._short_value(depth))} < 0", f"{self._twin(self._short_value(0) + ' % d')} {order} 0",
            "x[i] == x[i]",
        )  # fmt: skip
        if depth > 0 and self.rng.random() < 0.2:
            found = f"({found}) {self._one('and', 'or')} ({self._condition(0)})"
        return f"not ({found})" if self.rng.random() < 0.1 else found

    def _statement(self, depth: int) -> None:
        kinds = [self._set, self._set, self._update, self._store]
        if depth:
            kinds += [self._choose, self._loop, self._halve, self._least, self._look_up]
            kinds += [self._swap] * 3 + [self._counted] * 2
        if self.in_order:
            kinds += [self._move, self._move, self._hand_on, self._count]
        self._one(*kinds)(depth)

    def _inside(self, statements: int, depth: int) -> None:
        """Statements whose names are not known behind them."""
        kept = [list(names) for names in (self._wholes, self._shorts, self._reals)]
        self._depth += 1
        for _ in range(statements):
            self._statement(depth)
        self._update(0)
        self._depth -= 1
        self._wholes, self._shorts, self._reals = kept

    def _set(self, depth: int) -> None:
        name, what = self._name("t"), self._one("whole", "short", "real")
        value = {"whole": self._whole, "short": self._short_value, "real": self._real_value}[what](2)
        self._put(f"{name} = {value}")
        {"whole": self._wholes, "short": self._shorts, "real": self._reals}[what].append(name)

    def _update(self, depth: int) -> None:
        self._put(
            self._one(
                f"s {self._one('+', '^', '-')}= {self._whole()}",
                f"s = s * 3 + {self._whole()}",
                f"s += {self._one(1, 3)} if {self._twin(self._short_value(0) + ' % d')} < 0 else 2",
                f"e = e * 0.5 + {self._real_value()}",
                f"e = max(e, {self._real_value()})",
            )
        )

    def _store(self, depth: int) -> None:
        store = self._one(
            f"shorts[i] = {self._short_value()}",
            f"reals[i] = {self._real_value()}",
            f"wholes[i] += {self._whole()}",
        )
        if self.rng.random() < 0.6:
            self._put(f"if {self._condition()}:")
            store = f"    {store}"
        self._put(store)

    def _choose(self, depth: int) -> None:
        self._put(f"if {self._condition()}:")
        self._inside(self._one(0, 1, 2), depth - 1)
        if self._one(True, False):
            self._put("else:")
            self._inside(self._one(0, 1), depth - 1)

    def _loop(self, depth: int) -> None:
        k = self._name("k")
        bounds = self._one(
            "3", "-1, 2", "1, 5", "4, -1, -1", "0, 12, 3", "index[i] & 7", "i % 5", "p & 7",
            "max(i - 3, 0), min(i + 4, n)",
        )  # fmt: skip
        self._put(f"for {k} in range({bounds}):")
        if self.rng.random() < 0.2:
            self._put(f"    if {self._condition(0)}:")
            self._put(f"        {self._one('break', 'continue')}")
        self._wholes.append(k)
        self._inside(self._one(0, 1, 1), depth - 1)
        self._wholes.remove(k)
        at = self._one(f"(i + {k}) % n", f"(i - {k}) % n", f"index[(i + {k}) % n]")
        update = self._one(
            f"s += int(u[{at}])", f"e += x[{at}] * y[{k} & 7]", f"e = min(e, x[{at}])",
            f"s += abs(int(u[{at}]) - int(v[i]))",
        )  # fmt: skip
        self._put(f"    {update}")

    def _counted(self, depth: int) -> None:
        """Remainders of what a loop inside goes on from, by the same divisor each time."""
        q, k = self._name("q"), self._name("k")
        self._put(f"{q} = {self._short_value()}")
        self._put(f"for {k} in range({self._one('3', 'index[i] & 7', 'p & 15')}):")
        step = self._one(
            f"{q} = {q} % d", f"{q} = {q} * 3 + {q} % d", f"{q} = {q} ^ ({q} // d)", f"{q} = {q} + 1"
        )
        self._put(f"    s += {self._one('1', '3', f'int({q} % d)')} if {self._twin(f'{q} % d')} < 0 else {k}")
        self._put(f"    {step}")
        self._shorts.append(q)

    def _halve(self, depth: int) -> None:
        c = self._name("c")
        self._put(f"{c} = abs({self._whole()}) & {self._one(127, 1023)}")
        step = self._one(f"{c} // {self._one(2, 3, 10)}", f"{c} & ({c} - 1)", f"{c} - {self._one(7, 40)}")
        self._put(f"while {c} > 1:")
        self._put(f"    {c} = {step}")
        if self.rng.random() < 0.3:
            self._put(f"    if {c} == {self._one(5, 7, 16)}:")
            self._put("        break")
        self._put(f"    s = s * 3 + {c}")

    def _least(self, depth: int) -> None:
        best, at, k, found = (self._name(what) for what in ("b", "at", "k", "b"))
        real = self._one(True, False)
        self._put(f"{best} = {f'np.{self.real}(1e30)' if real else 'int(p)'}")
        self._put(f"{at} = -1")
        self._put(f"for {k} in range({self._one('4', 'index[i] & 7', 'min(n, 9)')}):")
        value = f"abs(x[{k} % n] - y[i])" if real else f"abs(int(u[{k} % n]) - int(v[i]))"
        self._put(f"    {found} = {value}")
        self._put(f"    if {found} {self._one('<', '<=', '>')} {best}:")
        self._put(f"        {best} = {found}")
        self._put(f"        {at} = {k}")
        self._put(f"s += {at}")
        (self._reals if real else self._wholes).append(best)

    def _look_up(self, depth: int) -> None:
        k, base = self._name("k"), self._name("a")
        self._put(f"{base} = {self._one('p & 127', '16', 'i // 64 * 8', self._whole(0) + ' & 127')}")
        self._put(f"for {k} in range({self._one(2, 4, 5)}):")
        at = self._one(
            f"{base} + {k}", f"{base} + (int(u[(i + {k}) % n]) & 15)", f"({base} ^ {k}) + (i & 15)"
        )
        self._put(f"    s = s * {self._one(1, 3)} + int(table[{at}])")

    def _swap(self, depth: int) -> None:
        """A small array whose elements change places, in a loop or once."""
        a, k, j, size = self._name("a"), self._name("k"), self._name("j"), self._one(3, 4, 8)
        kind = self._one(self.short, self.real)
        array = "u" if kind == self.short else "x"
        self._put(f"{a} = cuda.local.array({size}, np.{kind})")
        fill = (f"for {k} in range({size}):", f"    {a}[{k}] = {array}[i {self._one('+', '+', '-')} {k}]")
        outer = self._one("", "range(3)", f"range({size})", "range(index[i] & 7)", "range(i % 5)")
        refill = outer and self._one(True, True, False)
        if not refill:
            for line in fill:
                self._put(line)
        if outer:
            self._put(f"for {j} in {outer}:")
            self._depth += 1
        if refill:
            for line in fill:
                self._put(line)
        places = ["0", "0", f"i % {size}", f"int({self._short_value(0)}) % {size}"]
        places += [f"{j} % {size}", f"{j} % {size}", f"({j} + 1) % {size}"] if outer else []
        for _ in range(self._one(1, 2)):
            one, other = self._one(*places), self._one(*places)
            self._put(
                self._one(
                    f"{a}[{one}], {a}[{other}] = {a}[{other}], {a}[{one}]",
                    f"{a}[{one}], {a}[{other}] = {a}[{other}], {a}[{one}]",
                    f"{a}[{one}] = {a}[{other}]",
                    f"{a}[{one}] += np.{kind}(1)",
                )
            )
        into = f"s = s * 3 + int({a}[{k}])"
        self._put(f"for {k} in range({size}):")
        self._put(f"    {into if kind == self.short else f'e = e * 0.5 + {a}[{k}]'}")
        self._depth -= bool(outer)

    def _move(self, depth: int) -> None:
        """Elements that other iterations read."""
        array, value = self._one(
            ("shorts", self._short_value), ("reals", self._real_value), ("wholes", self._whole)
        )
        k = self._one(1, 2, 5)
        place = self._one(
            "i", f"i + {k}", f"i - {k}", "n - 1 - i", "index[i]", "i // 2", "0", f"(i + {k}) % n"
        )
        other = self._one("i", f"i + {k}", f"i - {k}", "0", "n - 1", "index[i + 1]", f"(i * {k}) % n")
        move = self._one(
            f"{array}[{place}] = {array}[{other}]",
            f"{array}[{place}], {array}[{other}] = {array}[{other}], {array}[{place}]",
            f"{array}[{place}] = {array}[{other}] + {value()}",
            f"{array}[{place}] = max({array}[{other}], {value()})",
            f"{array}[{place}] = {value()}",
        )
        if self.rng.random() < 0.3:
            self._put(f"if {self._condition()}:")
            move = f"    {move}"
        self._put(move)

    def _hand_on(self, depth: int) -> None:
        self._put(
            self._one(
                f"c = {self._one('c + ', 'c ^ ', 'c * 3 + ')}{self._whole()}",
                f"c = {self._one('min', 'max')}(c, {self._whole()})",
                f"g = {self._one('g + ', 'g * 0.5 + ')}{self._real_value()}",
                f"g = {self._one('min', 'max')}(g, {self._real_value()})",
                f"s += c\n{'    ' * self._depth}c = s",
            )
        )

    def _count(self, depth: int) -> None:
        at = self._one(f"int({self._short_value()}) & 15", f"{self._whole()} % 16", "i // 4 % 16", "3")
        self._put(f"counts[{at}] += {self._one('1', 'i', self._whole(0))}")
