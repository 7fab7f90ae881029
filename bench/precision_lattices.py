"""What each shape lattice proves: shares of values and accesses by class, over many kernels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.kernels import CompiledSource
from weft.analysis.divergence import analyze_divergence
from weft.analysis.shapes import DOMAINS
from weft.ir import Function
from weft.ir.types import VOID
from weft.report.facts import access_form, access_instructions, has_choice, shape_class
from weft.report.kernels import kernel_program

WIDTH = 16


@dataclass(slots=True)
class LatticeCounts:
    """Of one lattice: values by class, accesses by form, and branches that are uniform."""

    values: Counter[str] = field(default_factory=Counter)
    accesses: Counter[str] = field(default_factory=Counter)
    uniform_branches: int = 0
    branches: int = 0


def measure(sources: Iterable[CompiledSource]) -> dict[str, LatticeCounts]:
    """Analyse every kernel, in the view for people, under every lattice."""
    counts = {name: LatticeCounts() for name in DOMAINS}
    for source in sources:
        program = kernel_program(source.result)
        for name, found in counts.items():
            for function in program.functions:
                _count(function, name, found)
    return counts


def _count(function: Function, lattice: str, found: LatticeCounts) -> None:
    divergence = analyze_divergence(function, domain=DOMAINS[lattice]((WIDTH,)))
    for instruction in function.instructions():
        if instruction.type is not VOID:
            found.values[shape_class(divergence.shape(instruction))] += 1
    for access in access_instructions(function):
        form, _ = access_form(divergence, access)
        found.accesses[form.value] += 1
    for block in function.blocks:
        if has_choice(block):
            found.branches += 1
            found.uniform_branches += not divergence.is_divergent_branch(block)


def as_text(counts: dict[str, LatticeCounts]) -> str:
    """The counts as a table of shares."""
    classes, forms = (
        ("uniform", "strided", "affine", "varying"),
        ("uniform", "contiguous", "strided", "private"),
    )
    lines = [
        f"{'':18}{'values:':>9}" + "".join(f"{c:>11}" for c in classes)
        + "   accesses:" + "".join(f"{f:>11}" for f in forms) + f"{'irregular':>11}   uniform branches"
    ]  # fmt: skip
    for name, found in counts.items():
        values, accesses = found.values.total(), found.accesses.total()
        irregular = found.accesses["gather"] + found.accesses["scatter"]
        shares = "".join(f"{found.values[c] / values:11.1%}" for c in classes)
        access_shares = "".join(f"{found.accesses[f] / accesses:11.1%}" for f in forms)
        lines.append(
            f"{name:18}{values:9}{shares}{accesses:12}{access_shares}{irregular / accesses:11.1%}"
            f"{found.uniform_branches:12} of {found.branches}"
        )
    return "\n".join(lines)
