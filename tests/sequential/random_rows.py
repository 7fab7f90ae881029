"""Random loops that add up rows in order, through ``--loop auto``: ``python -m sequential.random_rows FIRST LAST``.

From the folder of tests. Rows may be added up several at a time there, each in order. Around and beside the sums stand
statements that read and write elements of the same row, of rows before it and behind it, and sums over rows; float sums
show any other order. Bounds are 0 and less at times, and arrays overlap in some calls.
"""

from __future__ import annotations

import random

import numpy as np

from sequential.drawn import LENGTH, Arguments, both, compiled, difference
from sequential.seeds import go_through
from weft.loops.llvm_ir import vectorize_ir


class RowNest:
    """A function of a loop over rows, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(f"rows {seed}")
        self.name = "nest"

    def text(self) -> str:
        """The function in C."""
        draw = self._draw
        lines: list[str] = []
        for number in range(draw.choice((1, 1, 2))):
            if draw.random() < 0.6:
                lines.append(f"c[i] = {draw.choice(('0', '0', self._value()))};")
            if draw.random() < 0.3:
                lines.append(f"double t{number} = {draw.choice(('0', 'c[i]'))};")
            else:
                number = -1
            first = draw.choice(("0", "0", "1"))
            bound = draw.choice(("j < m", "j < m", "j <= m - 1", "j < n"))
            body = [self._sum(number)]
            if draw.random() < 0.4:
                body.insert(draw.randrange(2), self._other())
            lines.append(f"for (int j = {first}; {bound}; j++) {{ {' '.join(body)} }}")
            if number >= 0:
                lines.append(f"c[i{draw.choice(('', '', ' + 1'))}] = t{number};")
        if draw.random() < 0.4:
            lines.append(f"c[i] = c[i] * 0.5 + {self._value()};")
        rows = draw.choice(("i = 0; i < n", "i = 0; i < n", "i = 1; i <= n - 1", "i = 2; i < n"))
        quals = [draw.choice(("", "restrict ")) for _ in "abc"]
        parameters = ", ".join(f"double *{q}{name}" for q, name in zip(quals, "abc", strict=True))
        inside = "\n    ".join(lines)
        return (
            f"void {self.name}(int n, int m, int q, {parameters}) {{\n"
            f"  for (int {rows}; i++) {{\n    {inside}\n  }}\n}}\n"
        )

    def _value(self) -> str:
        return self._draw.choice(("b[i]", "b[i + 1]", "b[0]", "c[i - 1]", "a[i * 32]", "1.5"))

    def _sum(self, number: int) -> str:
        draw = self._draw
        pitch = draw.choice(("32", "32", "32", "q"))
        target = f"t{number}" if number >= 0 else "c[i]"
        row = draw.choice(("a[i * {0} + j]", "a[i * {0} + j]", "a[(i + 1) * {0} + j]", "b[i * {0} + j]"))
        other = draw.choice(("b[j]", "b[j]", "b[j + 1]", "c[j]", "c[i + 1]"))
        return f"{target} {draw.choice(('+=', '+=', '-='))} {row.format(pitch)} * {other};"

    def _other(self) -> str:
        draw = self._draw
        target = draw.choice(("b[j]", "b[j]", "c[j]", "a[i * 32 + j]", "b[i]"))
        value = draw.choice(("a[i * 32 + j] * 0.25", "c[i] * 0.5", "b[j + 1] * 0.5", "a[(i - 1) * 32 + j]"))
        return f"{target} += {value};" if draw.random() < 0.7 else f"{target} = {value};"


class TriangleNest:
    """A function of a triangular nest, drawn by a seed: sums of a row, of which each needs those before it."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(f"triangles {seed}")
        self.name = "nest"

    def text(self) -> str:
        """The function in C."""
        draw = self._draw
        inside: list[str] = []
        for _ in range(draw.choice((1, 1, 1, 1, 1, 2))):
            bound = draw.choice((*4 * ("k < j",), "k < m", "k < i"))
            inside.append(f"for (int k = 0; {bound}; k++) {{ {self._sum('ijk', 'a[i * 32 + j]')} }}")
        if draw.random() < 0.95:
            inside.append(f"a[i * 32 + j] = a[i * 32 + j] * 0.25 + {self._value()};")
        lines = [f"for (int j = 0; j < i; j++) {{ {' '.join(inside)} }}"]
        if draw.random() < 0.4:
            lines = self._system()
        elif draw.random() < 0.08:
            lines.insert(0, f"c[i] = {self._value()};")
        if draw.random() < 0.5:
            lines.append(f"for (int j = i; j < n; j++) {{ {self._sum('iji', 'a[i * 32 + j]')} }}")
        if draw.random() < 0.6:
            target = draw.choice(("a[i * 32 + i]", "a[i * 32]", "b[i]", "c[i + 1]"))
            lines.append(f"{target} = {target} * 0.5 + {self._value()};")
        quals = [draw.choice(("restrict ", "restrict ", "")) for _ in "abc"]
        parameters = ", ".join(f"double *{q}{name}" for q, name in zip(quals, "abc", strict=True))
        rows = draw.choice(("i = 0; i < n", "i = 1; i < n", "i = 2; i < n"))
        return (
            f"void {self.name}(int n, int m, int q, {parameters}) {{\n"
            f"  for (int {rows}; i++) {{\n    {' '.join(lines)}\n  }}\n}}\n"
        )

    def _system(self) -> list[str]:
        """Sums of elements that rows before have found, as where a triangular system is solved."""
        draw = self._draw
        target = draw.choice(("b[i]", "b[i]", "c[i]", "a[i * 32 + i]", "s", "s"))
        first = f"{'double ' if target == 's' else ''}{target} = {self._value()};"
        other = draw.choice(("", "", "", "c[i] = c[i] * 0.5;", "double t = c[i];"))
        lines = [first, other] if target == "s" or draw.random() < 0.5 else [other]
        found = draw.choice(("b[j]", "b[j]", "b[j]", "c[j]", "a[j * 32 + j]", "b[j + 1]"))
        element = draw.choice(("a[i * 32 + j]", "a[i * 32 + j]", "a[j * 32 + i]"))
        lines.append(f"for (int j = 0; j < i; j++) {{ {target} -= {element} * {found} * 0.01; }}")
        if target == "s":
            lines.append(f"{draw.choice(('b[i]', 'b[i]', 'c[i]', 'a[i * 32 + i]'))} = s * 0.5;")
        if "double t" in other:
            lines.append(f"{draw.choice(('c[i]', 'b[i]'))} += t;")
        return lines

    def _value(self) -> str:
        plain = ("b[i]", "c[i]", "b[0]", "a[i * 32 + i]", "1.5")
        return self._draw.choice((*plain, *plain, "a[(i - 1) * 32]", "c[i + 1]"))

    def _sum(self, names: str, target: str) -> str:
        draw = self._draw
        i, j, k = names
        row = draw.choice((*5 * (f"a[{i} * 32 + {k}]",), f"a[({i} - 1) * 32 + {k}]", f"b[{k}]"))
        others = (f"a[{j} * 32 + {k}]", f"a[{k} * 32 + {j}]", f"b[{k}]", f"c[{k} + 1]", f"b[{i}]")
        return f"{target} {draw.choice(('-=', '+='))} {row} * {draw.choice(others)} * 0.01;"


def check_triangles(first: int, last: int, counts: dict[str, int]) -> list[str]:
    """Compare the triangular nests of some seeds; what is wrong, with the source."""
    return check(first, last, counts, TriangleNest, "begin together")


def check(
    first: int,
    last: int,
    counts: dict[str, int],
    drawn: type[RowNest | TriangleNest] = RowNest,
    note: str = "add up their rows together",
) -> list[str]:
    """Compare the nests of some seeds; what is wrong, with the source."""
    found: list[str] = []
    for seed, nest, source, original in compiled(first, last, drawn, "-ffp-contract=off"):
        made = vectorize_ir(original, nest.name, loop="auto")
        counts["nests"] = counts.get("nests", 0) + 1
        together = any(note in r.message for r in made.remarks)
        counts["together"] = counts.get("together", 0) + together
        if not made.loops and not together:
            continue
        codes = both(nest.name, original, made)
        wrong = difference(seed, nest.name, codes, _arguments, apart="restrict" in source)
        if wrong is not None:
            found.append(f"{wrong}\n{source}")
    return found


def _arguments(draw: np.random.Generator) -> Arguments:
    sizes = [int(s) for s in draw.integers(-1, 30, 2)]
    sizes.append(int(draw.choice((32, 32, 40, 3, 0))))
    return Arguments(sizes, draw.integers(-50, 50, 5 * LENGTH) / 7)


if __name__ == "__main__":
    go_through(lambda *seeds: check(*seeds) + check_triangles(*seeds))
