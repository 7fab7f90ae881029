"""What vectorization made of the examples, in the columns of Moll's Fig. 13.1, with width, values and access forms."""

from __future__ import annotations

from collections.abc import Iterable

from examples.irregular.problem import Problem
from weft.codegen.lanes.vectorization import VectorizationSummary
from weft.codegen.said.statistics import Mask

COLUMNS = (
    "kernel",
    "width",
    "branches uni",
    "div",
    "loops uni",
    "div",
    "exits uni",
    "div",
    "loads none",
    "uni",
    "var",
    "stores none",
    "uni",
    "var",
    "objects uni",
    "var",
    "values scalar",
    "vector",
    "access forms",
)


def table(problems: Iterable[Problem]) -> str:
    """Return one line a kernel as a table in Markdown; kernels that run thread after thread are left out."""
    lines = [COLUMNS, tuple("---" for _ in COLUMNS)]
    for problem in problems:
        summary = problem.kernel.specialize(*problem.arguments).lowered().summary
        if summary is not None:
            lines.append((problem.kernel.py_func.__name__, *map(str, _numbers(summary)), _forms(summary)))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _numbers(summary: VectorizationSummary) -> list[int]:
    divergent = [loop for loop in summary.loops if loop.divergent]
    memory, notes = summary.memory, summary.notes
    return [
        summary.width,
        summary.branches.kept + summary.branches.lost,
        summary.branches.folded,
        len(summary.loops) - len(divergent),
        len(divergent),
        sum(loop.kept_exits for loop in divergent),
        sum(loop.rebound_exits for loop in divergent),
        *(memory.loads[mask] for mask in Mask),
        *(memory.stores[mask] for mask in Mask),
        memory.uniform_objects,
        memory.varying_objects,
        notes.scalar,
        notes.vector,
    ]


def _forms(summary: VectorizationSummary) -> str:
    return ", ".join(f"{count} {form}" for form, count in sorted(summary.memory.forms.items()))
