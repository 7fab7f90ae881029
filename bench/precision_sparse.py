"""What the sparse analyses prove: Fig. 22 and 26(a) of Sampaio et al., for our kernels.

The variables are those of gated SSA, as in the paper: arguments, results, and an η for each value seen behind a loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.kernels import CompiledSource
from weft.analysis.divergence import analyze_divergence
from weft.analysis.gated.gated_ssa import GatedSSA
from weft.analysis.gated.sparse import PolynomialDivergence, polynomial_divergence, simple_divergence
from weft.analysis.shapes import Product
from weft.ir import Function, Instruction
from weft.report.kernels import kernel_program

WIDTH = 16
STATES = ("(0,c)", "(0,⊥)", "(c,c)", "(c,⊥)", "⊥")
"""The kinds of abstract states that the paper counts, for degree one."""

EXAMPLES = "examples."


@dataclass(slots=True)
class Precision:
    """Of one or several kernels: variables, those that are divergent, and states of the affine analysis."""

    variables: int = 0
    simple: int = 0
    affine: int = 0
    with_ranges: int = 0
    states: Counter[str] = field(default_factory=Counter)
    quadratic: Counter[str] = field(default_factory=Counter)
    only_quadratic: int = 0
    only_product: int = 0

    def add(self, other: Precision) -> None:
        for name in ("variables", "simple", "affine", "with_ranges", "only_quadratic", "only_product"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.states += other.states
        self.quadratic += other.quadratic


def measure(sources: Iterable[CompiledSource]) -> dict[str, Precision]:
    """Analyse every kernel, in the view for people."""
    return {
        f"{source.name}{'' if i == 0 else f' ({function.name})'}": measure_function(function)
        for source in sources
        for i, function in enumerate(kernel_program(source.result).functions)
    }


def measure_function(function: Function) -> Precision:
    """Analyse one function."""
    gated = GatedSSA(function)
    simple = simple_divergence(function, gated=gated)
    affine = polynomial_divergence(function, 1, gated=gated)
    quadratic = polynomial_divergence(function, 2, gated=gated, with_ranges=True)
    found = Precision(len(simple.graph.variables), simple.count, affine.count, quadratic.count)
    found.states += Counter(state.state for state in affine.states if state is not None)
    found.quadratic += Counter(state.state for state in quadratic.states if state is not None)
    _compare(function, quadratic, found)
    return found


def _compare(function: Function, quadratic: PolynomialDivergence, found: Precision) -> None:
    """Count of what only polynomials of degree two, or only the product of lattices, have something to say."""
    product = analyze_divergence(function, domain=Product((WIDTH,)))
    for variable in quadratic.graph.variables:
        state = quadratic.state(variable)
        if isinstance(variable, Instruction) and state is not None:
            shape = product.shape(variable)
            found.only_quadratic += not state.is_divergent and shape.is_varying
            found.only_product += state.is_divergent and not shape.is_varying


def total(measured: dict[str, Precision]) -> Precision:
    """All of them together."""
    together = Precision()
    for precision in measured.values():
        together.add(precision)
    return together


def as_text(measured: dict[str, Precision]) -> str:
    """The figures as tables: each kernel of the examples, and the sums."""
    width = max(len(name) for name in measured if name.startswith(EXAMPLES))
    head = f"{'':{width}}{'variables':>11}{'simple':>9}{'affine':>9}" + "".join(f"{s:>8}" for s in STATES)
    lines = ["Fig. 22: share of divergent variables; abstract states of the affine analysis", head]
    lines += [_row(name, width, p) for name, p in measured.items() if name.startswith(EXAMPLES)]
    others = {name: p for name, p in measured.items() if not name.startswith(EXAMPLES)}
    everything = total(measured)
    lines += [_row("conformance tests", width, total(others)), _row("all", width, everything)]
    return "\n".join([*lines, "", _sums(everything)])


def _row(name: str, width: int, p: Precision) -> str:
    n = p.variables
    states = "".join(f"{p.states[s] / n:8.1%}" for s in STATES)
    return f"{name:{width}}{n:11}{p.simple / n:9.1%}{p.affine / n:9.1%}{states}"


def _sums(p: Precision) -> str:
    """Fig. 26(a), and what degrees and ranges make of it."""
    shares = ", ".join(f"{s} {p.states[s] / p.variables:.1%}" for s in STATES)
    beyond = p.quadratic["(⊥,·)"]
    return "\n".join(
        [
            f"Fig. 26(a): {shares}",
            f"  divergent variables: simple {p.simple}, affine {p.affine}, with ranges {p.with_ranges}",
            f"  degree two (and ranges): {beyond} more affine variables, with a factor only known at run time;"
            f" {p.quadratic['polynomial']} of true degree two",
            f"  values of which only degree two says something: {p.only_quadratic};"
            f" only the engine's product of lattices: {p.only_product}",
        ]
    )
