"""Random nests of `prange`: what brushes have to get right.

Two and three loops, up and down, by steps; accesses to neighbours, transposed, of other types, of fewer dimensions,
through an index; branches on counters, on what was loaded, on numbers; inner loops of fixed, uniform and varying
length; sums and maxima over the nest. Every array has room beyond what the loops cover, no two iterations write one
element, and all numbers are small integers, so that sums are exact in any order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

MARGIN = 3
"""Elements of each array beyond either end of what the loops cover."""


@dataclass(slots=True)
class Nest:
    """Writes one function ``nest(a, b, c, index, row, out, n)``.

    `a`, `b` and `out` have as many dimensions as there are loops, `a` and `out` of float64 and `b` of float32; `c` has
    the dimensions the other way round; `index` and `row` are of one dimension and of integers.

    Parameters
    ----------
    rng
        Decides.
    depth
        How many loops there are.
    """

    rng: random.Random
    depth: int = 2
    lines: list[str] = field(default_factory=list)
    reduced: str = ""

    @property
    def counters(self) -> list[str]:
        return ["i", "j", "k"][: self.depth]

    def source(self) -> str:
        """The text of the function."""
        rng = self.rng
        self.lines = ["def nest(a, b, c, index, row, out, n):"]
        self.reduced = rng.choice(["", "", "sum", "max"])
        if self.reduced:
            self._add(1, "total = 0")
        for d, counter in enumerate(self.counters):
            size = f"out.shape[{d}] - {2 * MARGIN}"
            ranges = [
                f"{size}",
                f"0, {size}, {rng.randint(2, 3)}",
                f"{rng.randint(0, 2)}, {size}",
                f"{size} - 1, -1, -1",
            ]
            self._add(1 + d, f"for {counter} in prange({rng.choice(ranges)}):")
            if d == 0 and rng.random() < 0.3:
                self._add(2, "between = 2 * i + n")
        depth = 1 + self.depth
        self._add(depth, f"x = {self._load()}")
        self._add(depth, f"y = {self._load()}")
        for _ in range(rng.randint(1, 3)):
            self._statement(depth, 2)
        place = self._place("out", [0] * self.depth)
        if rng.random() < 0.3:
            self._add(depth, f"if {self._condition()}:")
            self._add(depth + 1, f"{place} = x + 2 * y")
        else:
            self._add(depth, f"{place} = x - y")
        if rng.random() < 0.3:
            self._add(depth, f"c[{', '.join(f'{v} + {MARGIN}' for v in reversed(self.counters))}] = x + 1")
        if self.reduced == "sum":
            if rng.random() < 0.5:
                self._add(depth, f"if {self._condition()}:")
                depth += 1
            self._add(depth, "total += int(x) % 7")
        elif self.reduced == "max":
            self._add(depth, "total = max(total, int(y) + i)")
        self._add(1, "return total" if self.reduced else "return 0")
        return "\n".join(self.lines) + "\n"

    def _add(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _place(self, array: str, offsets: list[int], order: list[str] | None = None) -> str:
        counters = order or self.counters
        return f"{array}[{', '.join(f'{v} + {MARGIN + o}' for v, o in zip(counters, offsets, strict=True))}]"

    def _load(self) -> str:
        rng = self.rng
        offsets = [rng.choice([0, 0, 0, 1, -1, 2, -2]) for _ in self.counters]
        kind = rng.random()
        if kind < 0.5:
            return self._place("a", offsets)
        if kind < 0.65:
            return self._place("b", offsets)
        if kind < 0.8:
            # `c` is written at the same places by the same iterations only.
            return self._place("row", [0], [rng.choice(self.counters)])
        if kind < 0.9:
            place = [
                f"index[{self.counters[-1]} + {MARGIN}]",
                *[f"{v} + {MARGIN}" for v in self.counters[1:]],
            ]
            return f"a[{', '.join(place)}]"
        return rng.choice([*self.counters, "n", " + ".join(self.counters)])

    def _condition(self) -> str:
        rng = self.rng
        last = self.counters[-1]
        return rng.choice(
            [
                "x > y",
                f"{last} % 3 != 1",
                "i % 2 == 0",
                f"i + {last} < n",
                "n > 3",
                f"{last} > i",
                "x * 2 < 5 + y",
            ]
        )

    def _statement(self, depth: int, nesting: int) -> None:
        rng = self.rng
        kind = rng.random()
        if kind < 0.3 or not nesting:
            self._add(
                depth, rng.choice([f"x = x + {self._load()}", f"y = {self._load()} - y", "x = x * 2 - y"])
            )
        elif kind < 0.6:
            self._add(depth, f"if {self._condition()}:")
            self._statement(depth + 1, nesting - 1)
            if rng.random() < 0.5:
                self._add(depth, "else:")
                self._statement(depth + 1, nesting - 1)
        elif kind < 0.85:
            turn = f"t{nesting}"
            length = rng.choice(["2", "n", f"{self.counters[-1]} % 3", f"row[i + {MARGIN}] % 4"])
            self._add(depth, f"for {turn} in range({length}):")
            place = [f"{v} + {MARGIN}" for v in self.counters[:-1]] + [f"{self.counters[-1]} + {turn}"]
            add = rng.choice(
                [f"x = x + a[{', '.join(place)}]", f"y = y + {turn}", f"x = x + row[{turn}] * 2"]
            )
            self._add(depth + 1, add)
            if rng.random() < 0.3:
                self._add(depth + 1, f"if {self._condition()}:")
                self._add(depth + 2, rng.choice(["break", "continue", "y = y + 1"]))
        else:
            self._add(depth, f"while x > {rng.randint(3, 6)}:")
            self._add(depth + 1, f"x = x - {rng.randint(2, 4)}")
