"""What the divergence analyses cost.

Of the engine the time an instruction, for programs of 100 to 20,000 instructions; of the sparse analyses the time a
variable, for the largest kernels that there are. Run as ``python -m bench.analysis [--rounds N]``.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench import analysis_sparse, output
from bench.analysis_programs import program
from bench.harness import Comparison, Measurement, Status
from bench.kernels import all_kernels
from bench.output import Goal
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import DOMAINS
from weft.ir import Function
from weft.report.kernels import kernel_program

SIZES = (100, 300, 1000, 3000, 10_000, 20_000)
WIDTH = 16
LIMITS = {"basic": 50e-6, "stride-alignment": 50e-6, "product": 120e-6}
"""Most seconds an instruction."""
RANGE = 2.0
"""Most that times an instruction may differ by over all sizes."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds an instruction, by number of instructions."""

    name: str
    per_instruction: dict[int, float]

    @property
    def spread(self) -> float:
        return max(self.per_instruction.values()) / min(self.per_instruction.values())

    @property
    def most(self) -> float:
        return max(self.per_instruction.values())


def per_instruction(
    analyze: Callable[[Function], object], functions: dict[int, Function], rounds: int
) -> dict[int, float]:
    """Time an analysis on each function; the least of the rounds, since everything else is noise."""
    found: dict[int, float] = {}
    for size, function in functions.items():
        # Small programs are repeated, so that each measurement takes a while.
        repeat = max(1, 2000 // size)
        taken: list[float] = []
        for _ in range(rounds):
            gc.collect()
            begin = time.process_time()
            for _ in range(repeat):
                analyze(function)
            taken.append((time.process_time() - begin) / repeat)
        found[size] = min(taken) / size
    return found


def lattices(functions: dict[int, Function], rounds: int) -> list[Timing]:
    """Time the engine under each lattice."""

    def analysis(name: str) -> Callable[[Function], object]:
        # A new domain for each run: results of transfer functions are cached in the domain.
        return lambda function: analyze_divergence(function, domain=DOMAINS[name]((WIDTH,)))

    return [Timing(name, per_instruction(analysis(name), functions, rounds)) for name in DOMAINS]


def wanted(timings: list[Timing]) -> list[Goal]:
    """Hold the figures against what is wanted of them."""
    goals = []
    for timing in timings:
        limit = LIMITS.get(timing.name)
        if limit is not None:
            text = f"{timing.name}: at most {limit * 1e6:.0f} µs an instruction"
            goals.append(Goal(text, timing.most <= limit))
            goals.append(Goal(f"{timing.name}: within a factor of {RANGE:.0f}", timing.spread <= RANGE))
    return goals


def table(timings: list[Timing]) -> str:
    """The times as a table."""
    sizes = list(timings[0].per_instruction)
    rows = [f"{'instructions':18}" + "".join(f"{size:10}" for size in sizes) + "     range"]
    for timing in timings:
        times = "".join(f"{output.duration(t):>10}" for t in timing.per_instruction.values())
        rows.append(f"{timing.name:18}{times}{timing.spread:8.2f} x")
    return "\n".join(rows)


def comparison(timings: list[Timing]) -> Comparison:
    """The times in the form that results are kept in."""
    return Comparison(
        "divergence analysis, seconds an instruction",
        [
            Measurement(f"{timing.name}, {size}", Status.MEASURED, seconds=[seconds])
            for timing in timings
            for size, seconds in timing.per_instruction.items()
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the analyses.")
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    programs = (program(size) for size in SIZES)
    functions = {sum(1 for _ in function.instructions()): function for function in programs}
    timings = lattices(functions, rounds)
    print(table(timings), end="\n\n")
    kernels = [f for source in all_kernels() for f in kernel_program(source.result).functions]
    costs = [analysis_sparse.measure(group, rounds) for group in (kernels, functions.values())]
    for group in costs:
        print(analysis_sparse.as_text(group), end="\n\n")
    goals = wanted(timings)
    print(output.goals(goals))
    comparisons = [comparison(timings), *map(analysis_sparse.comparison, costs)]
    print(f"figures: {output.save('analysis', comparisons, goals)}")


if __name__ == "__main__":
    main()
