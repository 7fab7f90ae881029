"""What ``weft loops`` costs: the time for each loop nest, of functions of 1 to 64 nests, and of nests with long bodies.

Run as ``python -m bench.sequential_loops [--rounds N]``; it needs the extras ``clang`` and ``loops``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import output
from bench.harness import Comparison, Measurement, Status
from bench.output import Goal
from weft.frontend.clang import compile_c
from weft.ir import Module
from weft.ir.reader import read_module
from weft.report.loops.nests import report_on_loops
from weft.target.machine import TargetSpec
from weft.target.passes import SEQUENTIAL, optimize

NESTS = (1, 2, 4, 8, 16, 32, 64)
STATEMENTS = (1, 2, 4, 8, 16)
RANGE = 2.0
"""Most that times for each nest may differ by, of functions with 4 nests and more."""

_NEST = """
  for (int i = 1; i < n - 1; i++)
    for (int j = 1; j < m - 1; j++)
      a{0}[i * m + j] = b[i * m + j - 1] + b[(i + 1) * m + j] * {1}.0;
"""


def with_nests(count: int) -> str:
    """A function with so many nests, one behind the other."""
    arrays = ", ".join(f"double *restrict a{k % 4}" for k in range(4))
    body = "".join(_NEST.format(k % 4, k) for k in range(count))
    return f"void kernel(int n, int m, {arrays}, double *restrict b) {{{body}}}\n"


def with_statements(count: int) -> str:
    """A nest whose body has so many statements on arrays of their own."""
    arrays = ", ".join(f"double *restrict a{k}" for k in range(count))
    body = "".join(f"a{k}[i * m + j] = b[i * m + j] + {k}.0;\n" for k in range(count))
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
    return f"void kernel(int n, int m, {arrays}, double *restrict b) {{ {loops} {{ {body} }} }}\n"


@dataclass(frozen=True, slots=True)
class Curve:
    """Seconds by the size of a program."""

    name: str
    seconds: dict[int, float]

    @property
    def spread(self) -> float:
        """How much seconds for each unit of size differ, the smallest programs apart."""
        each = [s / n for n, s in self.seconds.items() if n >= 4]
        return max(each) / min(each)


def measure(name: str, program: Callable[[int], str], sizes: tuple[int, ...], rounds: int) -> Curve:
    """Time the analysis and the report, without clang; the least of the rounds."""
    found: dict[int, float] = {}
    for size in sizes:
        module = _module(program(size))
        taken: list[float] = []
        for _ in range(rounds):
            begin = time.process_time()
            report_on_loops(module, module.definitions(), "kernel.c").to_json()
            taken.append(time.process_time() - begin)
        found[size] = min(taken)
    return Curve(name, found)


def _module(text: str) -> Module:
    spec = TargetSpec.chosen()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.c"
        file.write_text(text)
        return read_module(optimize(compile_c(file, spec.triple), SEQUENTIAL, spec.machine))


def table(curve: Curve) -> str:
    """A curve as lines."""
    rows = [f"{curve.name:12} {'in all':>10} {'each':>10}"]
    rows += [
        f"{n:12} {output.duration(s):>10} {output.duration(s / n):>10}" for n, s in curve.seconds.items()
    ]
    return "\n".join([*rows, f"range {curve.spread:.2f} x"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the analysis of sequential loops.")
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    curves = [
        measure("nests", with_nests, NESTS, rounds),
        measure("statements", with_statements, STATEMENTS, rounds),
    ]
    for curve in curves:
        print(table(curve), end="\n\n")
    goals = [Goal(f"{c.name}: within a factor of {RANGE:.0f}", c.spread <= RANGE) for c in curves]
    print(output.goals(goals))
    comparison = Comparison(
        "analysis of sequential loops, seconds",
        [
            Measurement(f"{c.name}, {size}", Status.MEASURED, seconds=[seconds])
            for c in curves
            for size, seconds in c.seconds.items()
        ],
    )
    print(f"figures: {output.save('sequential_loops', [comparison], goals)}")


if __name__ == "__main__":
    main()
