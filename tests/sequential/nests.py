"""Random loop nests in C, with the arguments to run them with."""

from __future__ import annotations

import random

HEAD = """
static int twice(int x) { return 2 * x + 1; }
static int clamp(int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; }
static void put(int *p, int at, int v) { p[at] = v & 15; }
"""

PARAMETERS = "int n, int m, int k, unsigned u, unsigned long z, int *a, int *b, short *c, unsigned char *d"


class Nest:
    """One random function."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.counters: list[str] = []
        self.values: list[str] = []
        self.serial = 0
        self.name = f"nest{seed}"
        self.has_scalar = self.random.random() < 0.4

    def text(self) -> str:
        self.line(f"int {self.name}({PARAMETERS}) {{")
        self.line("int s = 1, q = 0;")
        for _ in range(self.random.choice((1, 1, 2))):
            self.loop(1)
        self.line("return s + q; }")
        return "\n".join(self.lines) + "\n"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def fresh(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    def number(self) -> str:
        return str(self.random.choice((0, 1, 1, 2, 3, 4, 5)))

    def bound(self) -> str:
        options = ["n", "m", "n + 1", "n - 1", "n + m", "6", "2 * m", "n * 2", "n / 2", "(int)u"]
        if self.counters:
            counter = self.random.choice(self.counters)
            options += [counter, f"{counter} + 2", f"n - {counter}", f"{counter} + m"] * 2
        return self.random.choice(options)

    def loop(self, depth: int) -> None:
        i = self.fresh("i")
        step = self.random.choice((1, 1, 1, 1, 2, 3))
        add = f"{i}++" if step == 1 else f"{i} += {step}"
        sub = f"{i}--" if step == 1 else f"{i} -= {step}"
        start = self.pick("0", "0", "0", "1", "2", "-n", "m", *(f"{c}" for c in self.counters))
        kind = self.random.random()
        close = "}"
        if kind < 0.55:
            self.line(f"for (int {i} = {start}; {i} {self.pick('<', '<', '<=')} {self.bound()}; {add}) {{")
        elif kind < 0.67:
            self.line(
                f"for (int {i} = {self.bound()}; {i} {self.pick('>', '>=')} {self.pick('0', '0', '1', '-m')}; {sub}) {{"
            )
        elif kind < 0.75:
            self.line(f"for (unsigned {i} = 0; {i} < u; {add}) {{")
        elif kind < 0.82:
            self.line(f"for (unsigned long {i} = 0; {i} < z; {i}++) {{")
        elif kind < 0.88:
            self.line(f"int {i} = 0; do {{")
            close = f"{i}++; }} while ({i} < {self.bound()});"
        elif kind < 0.94:
            self.line(f"int {i} = 0; while ({i} < {self.bound()}) {{")
            close = f"{i}++; }}"
        else:
            self.line(f"for (int {i} = 0; {i} != {self.pick('6', '4', '3')}; {i}++) {{")
        outer = list(self.values)
        self.counters.append(i)
        self.values.append(i)
        for _ in range(self.random.choice((1, 1, 2, 3))):
            self.statement(depth)
        if depth < 3 and self.random.random() < 0.5:
            self.loop(depth + 1)
            if self.random.random() < 0.3:
                self.statement(depth)
        if self.random.random() < 0.05:
            self.line(f"if ({self.element()} == 7) break;")
        self.counters.pop()
        self.values = outer
        self.line(close)

    def index(self) -> str:
        counters = [f"(int){c}" for c in self.counters]
        one, other = self.random.choice(counters), self.random.choice(counters)
        return self.pick(
            one, one, one, f"{one} + 1", f"{one} - 1", f"2 * {one}", f"2 * {one} + 1", f"{one} + {other}",
            f"{one} * n + {other}", f"{one} * 8 + {other}", f"{one} * m + {other}", f"n - {one}", f"{one} + m",
            f"{one} / 2", f"{one} % 3", f"{one} & 3", f"({one} * n + {other}) * 2 + 1", f"twice({one})",
            f"clamp({one}, 0, n)", f"({one} < m ? {one} : m)", "k", self.number(), f"{one} * k", f"{one} >> 1",
            f"b[{one}]" if self.random.random() < 0.3 else one, f"{one} * {other}", f"7 - {one}", f"{one} + 4",
            *self.values,
        )  # fmt: skip

    def element(self) -> str:
        return f"{self.pick('a', 'b', 'c', 'd')}[{self.index()}]"

    def value(self) -> str:
        return self.pick(
            self.element(), self.element(), f"{self.element()} + {self.number()}",
            f"{self.element()} + {self.element()}", self.number(),
            f"(int){self.random.choice(self.counters)}", f"{self.element()} * k",
        )  # fmt: skip

    def condition(self) -> str:
        counter = f"(int){self.random.choice(self.counters)}"
        return self.pick(
            f"{counter} < m", f"{counter} > 1", f"{self.element()} > 3", f"{counter} == 2", f"{counter} != n",
            f"{counter} % 2 == 0", f"{counter} >= 1 && {counter} < n", f"{counter} < k || {counter} > m", "n > 2",
            f"{counter} + m < n", f"!({counter} < 0 || {counter} >= m)",
        )  # fmt: skip

    def statement(self, depth: int) -> None:
        kind = self.random.random()
        if kind < 0.42:
            self.line(f"{self.element()} = ({self.value()}) & 15;")
        elif kind < 0.5:
            name = self.fresh("t")
            self.line(f"int {name} = {self.index()};")
            self.values.append(name)
        elif kind < 0.56:
            self.line(f"{self.element()} += {self.value()};")
        elif kind < 0.62:
            self.line(f"s += {self.value()};")
        elif kind < 0.66:
            self.line(
                f"if ({self.condition()}) {{ {self.pick('a', 'c', 'd')}[q++] = ({self.value()}) & 7; }}"
            )
        elif kind < 0.7:
            self.line(f"int {self.fresh('w')}; put({self.pick('a', 'b')}, {self.index()}, {self.value()});")
        elif kind < 0.74:
            self.line(f"s = s > {self.element()} ? s : {self.element()};")
        elif kind < 0.78:
            array, index = self.pick("a", "b", "d"), self.index()
            self.line(f"{array}[{index}] = {array}[{index}] + 1;")
        elif kind < 0.81:
            name = self.fresh("t")
            self.line(f"int {name} = s; s = ({self.value()}) & 15; {self.element()} = {name};")
        elif kind < 0.84:
            name = self.fresh("own")
            self.line(f"int {name}[4]; for (int x = 0; x < 4; x++) {name}[x] = x + {self.number()};")
            self.line(f"{self.element()} = {name}[{self.number()} & 3];")
        else:
            outer = list(self.values)
            self.line(f"if ({self.condition()}) {{")
            self.statement(depth)
            self.values = list(outer)
            if self.random.random() < 0.3:
                self.line("} else {")
                self.statement(depth)
                self.values = outer
            self.line("}")


def arguments(seed: int) -> dict[str, int]:
    """Numbers to call a nest with."""
    draw = random.Random(seed)
    return {
        "n": draw.choice((-1, 0, 1, 2, 3, 4, 5, 6, 7)),
        "m": draw.choice((-2, 0, 1, 2, 3, 4, 5)),
        "k": draw.choice((-1, 0, 1, 2, 3)),
        "u": draw.choice((0, 1, 2, 3, 5)),
        "z": draw.choice((0, 1, 3, 4)),
    }
