"""What the sparse analyses cost: Fig. 21 of Sampaio et al., for our kernels.

Time against the number of variables in gated SSA, with a line fitted by least squares, and how much longer the affine
analysis takes than the simple one. As in the paper it is the time of the analyses alone, from the dependence graph of
the function to the result; what comes before, gated SSA and that graph, is shown beside it.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bench.harness import Comparison, Measurement, Status
from weft.analysis.divergence import Scope
from weft.analysis.gated.gated_ssa import GatedSSA
from weft.analysis.gated.polynomial_solver import PolynomialSolver
from weft.analysis.gated.sparse import PolynomialDivergence, SimpleDivergence, ids_domain
from weft.analysis.loops.dependence import DependenceGraph, varying_arguments
from weft.ir import Function

LARGEST = 100
"""As many kernels as the paper shows."""
DEGREE = 2
"""As in the paper's measurement."""
PAPER_RATIO = 1.39


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds for one function: building gated SSA, its dependence graph, and the two analyses."""

    variables: int
    gated: float
    graph: float
    simple: float
    affine: float


@dataclass(frozen=True, slots=True)
class Line:
    """A least-squares line through points, and the share of their variance that it explains."""

    slope: float
    intercept: float
    r_squared: float


def fit(points: Sequence[tuple[float, float]]) -> Line:
    """The line through (x, y)."""
    xs, ys = zip(*points, strict=True)
    line = statistics.linear_regression(xs, ys)
    return Line(line.slope, line.intercept, statistics.correlation(xs, ys) ** 2)


def measure(functions: Iterable[Function], rounds: int) -> list[Cost]:
    """The costs of the largest functions, the smallest of them first."""
    gated = sorted((GatedSSA(f) for f in functions), key=lambda g: len(DependenceGraph(g).variables))
    return [_measure(g, rounds) for g in gated[-LARGEST:]]


def _measure(gated: GatedSSA, rounds: int) -> Cost:
    divergent = varying_arguments(gated.function)

    def graph() -> DependenceGraph:
        return DependenceGraph(gated, divergent=divergent)

    known = graph()
    return Cost(
        len(known.variables),
        least(lambda: GatedSSA(gated.function, gated.view), rounds),
        least(graph, rounds),
        least(lambda: SimpleDivergence(known), rounds),
        least(lambda: PolynomialDivergence(PolynomialSolver(known, ids_domain(DEGREE, Scope.LANES))), rounds),
    )


def least(run: Callable[[], object], rounds: int) -> float:
    """Seconds of processor time, the least of several rounds, since everything else is noise."""
    taken: list[float] = []
    # The heap holds all kernels: collecting it would be all that is measured.
    gc.disable()
    try:
        for _ in range(rounds):
            begin = time.process_time()
            run()
            taken.append(time.process_time() - begin)
    finally:
        gc.enable()
    return min(taken)


def as_text(costs: Sequence[Cost]) -> str:
    """The fitted lines and the ratios."""
    sizes = f"{costs[0].variables} to {costs[-1].variables}"
    lines = [
        f"Fig. 21: {len(costs)} functions of {sizes} variables",
        f"{'':20}{'µs a variable':>14}{'R²':>8}",
    ]
    for name in ("gated", "graph", "simple", "affine"):
        line = fit([(cost.variables, getattr(cost, name)) for cost in costs])
        mean = sum(getattr(cost, name) for cost in costs) / sum(cost.variables for cost in costs)
        lines.append(f"{_NAMES[name]:20}{mean * 1e6:14.2f}{line.slope * 1e6:8.2f}{line.r_squared:8.3f}")
    alone = [cost.affine / cost.simple for cost in costs]
    whole = [(cost.graph + cost.affine) / (cost.graph + cost.simple) for cost in costs]
    lines.append(
        f"affine over simple (median): {statistics.median(alone):.1f} alone, {statistics.median(whole):.2f} with the"
        f" dependence graph that both need; {PAPER_RATIO} in the paper"
    )
    return "\n".join(lines)


def comparison(costs: Sequence[Cost]) -> Comparison:
    """The times in the form that results are kept in."""
    return Comparison(
        f"sparse divergence analyses, seconds for {len(costs)} functions",
        [
            Measurement(
                f"{label}, {cost.variables} variables", Status.MEASURED, seconds=[getattr(cost, name)]
            )
            for cost in costs
            for name, label in _NAMES.items()
        ],
    )


_NAMES = {
    "gated": "gated SSA",
    "graph": "dependence graph",
    "simple": "simple",
    "affine": f"affine, degree {DEGREE}",
}
