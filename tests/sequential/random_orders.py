"""Random nests of three loops through ``--loop auto``: ``python -m sequential.random_orders FIRST LAST``.

From the folder of tests. Loops may change places or be taken apart there; what the function does to memory is what it
does in the order in which it is written: statements like ``c[x] = c[x] * 3 + ...`` show any other order. Loops count up
and down, some by two, bounds are 0 and less at times, and arrays overlap in some calls.
"""

from __future__ import annotations

import random
from unittest.mock import patch

import numpy as np

from sequential.drawn import LENGTH, Arguments, both, compiled, difference
from sequential.seeds import go_through
from weft.loops.llvm_ir import vectorize_ir
from weft.passes.nests import loop_splits, loop_tiles, packed_columns

SAID = {
    "tiled": "are a tile",
    "copied": "is copied for",
    "cut": "runs alone",
    "taken apart": "a loop of its own",
    "changed": "have changed places",
}
"""What remarks say of what was done."""


class OrderNest:
    """A function of three loops, drawn by a seed."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)
        self._beside = random.Random(f"beside {seed}")
        self._square = random.Random(f"square {seed}")
        self._rows = random.Random(f"rows {seed}")
        self.name = "nest"

    def text(self) -> str:
        """The function in C."""
        draw = self._draw
        counters = draw.sample("ijk", 3)
        is_product = self._beside.random() < 0.3
        target = f"{counters[0]} * 32 + {counters[2]}" if is_product else None
        count = 1 if is_product else draw.choice((1, 1, 1, 2))
        body = "".join(f"      {self._statement(target)}\n" for _ in range(count))
        bounds = draw.sample("nmp", 3)
        if self._square.random() < 0.3:
            # Iterations that one of them stands in the way of.
            bounds = ["n"] * 3
        lines = [self._loop(c, bound) for c, bound in zip(counters, bounds, strict=True)]
        if self._rows.random() < 0.25:
            return self._triangle(counters, lines)
        before, behind = (self._loop_beside(counters[0]) for _ in range(2))
        parameters = "int n, int m, int p, int q, int *a, int *b, int *c"
        if self._square.random() < 0.25:
            # A sum with statements beside it.
            place = f"{counters[0]} * 32 + {counters[1]}"
            ends = [self._square.choice(("", f"c[{place}] = {v};")) for v in ("4", f"c[{place}] * 5 + 1")]
            return (
                f"void {self.name}({parameters}) {{\n  {lines[0]}\n  {lines[1]} {{\n    {ends[0]}\n"
                f"    {lines[2]} {{\n      {self._statement(place)}\n    }}\n    {ends[1]}\n  }}\n}}\n"
            )
        return (
            f"void {self.name}({parameters}) {{\n  {lines[0]} {{\n{before}"
            f"    {lines[1]}\n    {lines[2]} {{\n{body}    }}\n{behind}  }}\n}}\n"
        )

    def _triangle(self, counters: list[str], lines: list[str]) -> str:
        """A sum over rows of which some are read across, mostly of a triangle."""
        draw = self._rows
        i, j, k = counters
        lines = list(lines)
        start, test = draw.choice(
            (
                ("0", f"<= {i}"),
                ("0", f"< {i}"),
                (i, "< m"),
                (f"{i} + 1", "<= m"),
                ("1", "< m"),
                ("0", f"< {i} - 1"),
                (i, f"< {i} + 3"),
                ("2", f"< m - {i}"),
            )
        )
        lines[1] = f"for (int {j} = {start}; {j} {test}; {j}++)"
        if draw.random() < 0.5:
            lines[1:] = lines[:0:-1]
        sources = draw.choice(("a b", "a b", "b b", "c a")).split()
        places = [
            f"{i} * 32 + {k}",
            f"({j}{draw.choice(('', '', ' + 1', ' - 1'))}) * {draw.choice(('q', '32', '32'))} + {k}",
        ]
        value = " + ".join(
            f"{s}[{p}]{draw.choice(('', ' * q'))}" for s, p in zip(sources, places, strict=True)
        )
        target = f"c[{i} * 32 + {j}]"
        return (
            f"void {self.name}(int n, int m, int p, int q, int *a, int *b, int *c) {{\n  {lines[0]}\n    {lines[1]}\n"
            f"      {lines[2]} {{\n        {target} = {target} * 3 + {value};\n      }}\n}}\n"
        )

    def _loop_beside(self, outer: str) -> str:
        """Mostly nothing, or a loop that stands beside the two inner ones."""
        draw = self._beside
        if draw.random() < 0.7:
            return ""
        row = draw.choice(("c", "c", "a"))
        value = f"{draw.choice('abc')}[{outer} * 32 + l{draw.choice(('', '', ' + 1'))}]"
        target = f"{row}[{outer} * 32 + l]"
        return (
            f"    for (int l = 0; l < {draw.choice('nmp')}; l++)\n      {target} = {target} * 3 + {value};\n"
        )

    def _loop(self, counter: str, bound: str) -> str:
        return self._draw.choice(
            (
                f"for (int {counter} = 0; {counter} < {bound}; {counter}++)",
                f"for (int {counter} = 0; {counter} < {bound}; {counter}++)",
                f"for (int {counter} = {bound} - 1; {counter} >= 0; {counter}--)",
                f"for (int {counter} = 1; {counter} < {bound}; {counter} += 2)",
            )
        )

    def _index(self, counters: str) -> str:
        draw = self._draw
        row, column = draw.sample(counters, 2) if len(counters) > 1 else (counters, counters)
        moved = [f"({c}{draw.choice(('', '', '', '', '', ' + 1', ' - 1'))})" for c in (row, column)]
        pitch = draw.choice(("q", "32", "32"))
        if len(counters) == 1:
            return f"{moved[0]}"
        return f"{moved[0]} * {pitch} + {moved[1]}"

    def _statement(self, target: str | None) -> str:
        draw = self._draw
        target = target or self._index("".join(draw.sample("ijk", draw.choice((1, 2, 2, 2)))))
        first, second = (self._index("".join(draw.sample("ijk", 2))) for _ in "ab")
        sources = draw.choice(("a b", "a b", "a b", "a c", "c b")).split()
        value = f"{sources[0]}[{first}] + {sources[1]}[{second}]"
        if draw.random() < 0.7:
            return f"c[{target}] = c[{target}] * 3 + {value};"
        return f"c[{target}] = {value};"


def check(first: int, last: int, counts: dict[str, int]) -> list[str]:
    """Compare the nests of some seeds; what is wrong, with the source."""
    found: list[str] = []
    for seed, nest, source, original in compiled(first, last, OrderNest):
        # Loops are short here.
        sizes = (128, 2, 5)[seed % 3], (4, 1)[seed % 2]
        with (
            patch.object(loop_tiles, "TILE", sizes[0]),
            patch.object(loop_splits, "LEAST_SUM", sizes[1]),
            patch.object(packed_columns, "REGISTERS", 1),
            patch.object(packed_columns, "LEAST_DEPTH", sizes[0]),
        ):
            made = vectorize_ir(original, nest.name, loop="auto")
        counts["nests"] = counts.get("nests", 0) + 1
        if not made.loops:
            continue
        counts["in lanes"] = counts.get("in lanes", 0) + 1
        for what, said in SAID.items():
            counts[what] = counts.get(what, 0) + any(said in r.message for r in made.remarks)
        wrong = difference(seed, nest.name, both(nest.name, original, made), _arguments, apart=False)
        if wrong is not None:
            found.append(f"{wrong}\n{source}")
    return found


def _arguments(draw: np.random.Generator) -> Arguments:
    sizes = [int(s) for s in draw.integers(-1, 12, 3)]
    sizes.append(int(draw.choice((32, 32, 40, 3, 0))))
    return Arguments(sizes, draw.integers(-50, 50, 5 * LENGTH).astype(np.int32))


if __name__ == "__main__":
    go_through(check)
