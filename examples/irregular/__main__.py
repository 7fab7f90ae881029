"""Runs the examples named on the command line, or all, or prints their statistics."""

from __future__ import annotations

import argparse
import importlib
import time

from examples.irregular.problem import Problem
from examples.irregular.statistics import table

NAMES = (
    "mandelbrot",
    "collatz",
    "binary_search",
    "binary_tree",
    "kd_tree",
    "barnes_hut",
    "ambient_occlusion",
    "cross_sections",
    "nab_cascade",
    "barrier_option",
)


def problems_of(name: str, size: int | None = None) -> list[Problem]:
    """Return the problems of an example, at its own size unless another is given."""
    module = importlib.import_module(f"examples.irregular.{name}")
    return module.problems(size or module.SIZE)


def run(problem: Problem) -> None:
    """Launch twice, the first time to compile; check and print the time of the second."""
    problem.launch()
    begin = time.perf_counter()
    problem.launch()
    seconds = time.perf_counter() - begin
    name = problem.kernel.py_func.__name__
    complaint = problem.complaint(problem.expected())
    if complaint:
        raise SystemExit(f"{name}: {complaint}")
    print(f"{name}: {seconds * 1e3:.2f} ms, agrees with the reference")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Kernels of irregular control flow, checked against NumPy and SciPy."
    )
    parser.add_argument("names", nargs="*", choices=[*NAMES, []], help="which examples (default: all)")
    parser.add_argument("--size", type=int, help="problem size, in the example's own unit")
    parser.add_argument(
        "--statistics", action="store_true", help="print what vectorization made of them instead"
    )
    options = parser.parse_args()
    if options.statistics:
        print(
            table(problem for name in options.names or NAMES for problem in problems_of(name, options.size))
        )
        return
    for name in options.names or NAMES:
        for problem in problems_of(name, options.size):
            run(problem)


if __name__ == "__main__":
    main()
