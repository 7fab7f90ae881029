"""Divergence analysis on gated SSA, as published by Sampaio et al. (TOPLAS 2013).

`simple_divergence` (§3.3) asks only whether a variable is uniform: graph reachability in the dependence graph from
what is different in each thread. `polynomial_divergence` (§3.4) computes for each variable a polynomial in the ids of
the thread; degree 1 is the affine analysis of the paper. Where operands cancel, it finds conditions uniform that the
simple one cannot, and with them what they decide.

Both are about the threads of a set that execute an instruction together: a lane group (the paper's warp), a
work-group, or the grid. A variable is named by a value of the function, where it is defined, or by an `Eta`, where it
is seen behind a loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from weft.analysis.divergence.threads import Scope
from weft.analysis.gated.gated_ssa import GatedSSA, Use
from weft.analysis.gated.polynomial import MAX_THREADS, Polynomial, PolynomialDomain
from weft.analysis.gated.polynomial_solver import PolynomialSolver
from weft.analysis.integers.ranges import Ranges
from weft.analysis.loops.dependence import DependenceGraph, varying_arguments
from weft.ir import BasicBlock, Function, Value


class SimpleDivergence:
    """Which variables are divergent."""

    __slots__ = ("_divergent", "graph")

    def __init__(self, graph: DependenceGraph) -> None:
        self.graph = graph
        self._divergent = _reachable(graph.dependents, graph.divergent)

    def is_divergent(self, variable: Use) -> bool:
        """Whether threads may disagree on a variable; False for constants and code that is never reached."""
        number = self.graph.number.get(variable)
        return number is not None and bool(self._divergent[number])

    def is_divergent_branch(self, block: BasicBlock) -> bool:
        """Whether threads that execute `block` together may leave it to different successors."""
        return any(map(self.is_divergent, _deciding(self.graph, block)))

    @property
    def count(self) -> int:
        """The number of divergent variables."""
        return sum(self._divergent)


def _deciding(graph: DependenceGraph, block: BasicBlock) -> Iterable[Use]:
    """What decides to which of several successors threads leave `block`."""
    terminator = block.terminator
    return graph.gated.uses(terminator) if len(set(terminator.blocks)) > 1 else ()


def _reachable(dependents: Sequence[Sequence[int]], sources: Iterable[int]) -> bytearray:
    found = bytearray(len(dependents))
    work = list(sources)
    for variable in work:
        found[variable] = 1
    while work:
        for dependent in dependents[work.pop()]:
            if not found[dependent]:
                found[dependent] = 1
                work.append(dependent)
    return found


def simple_divergence(
    function: Function,
    *,
    scope: Scope | str = Scope.LANES,
    dimension: int | None = 0,
    divergent: Iterable[Value] | None = None,
    gated: GatedSSA | None = None,
) -> SimpleDivergence:
    """The simple analysis of §3.3.

    Parameters
    ----------
    function
        Any function in SSA form whose opcodes are in the opcode table.
    scope, dimension
        The set of threads, as for `weft.analysis.divergence.analyze_divergence`.
    divergent
        Values that differ from thread to thread beside those that are known to; by default the arguments of a function
        that is no kernel.
    gated
        The gated SSA of the function, where there is one: each `Eta` belongs to the one that made it.
    """
    if divergent is None:
        divergent = varying_arguments(function)
    return SimpleDivergence(DependenceGraph(gated or GatedSSA(function), Scope(scope), dimension, divergent))


class PolynomialDivergence:
    """The polynomial of each variable."""

    __slots__ = ("_states", "domain", "graph")

    def __init__(self, solver: PolynomialSolver) -> None:
        self.graph = solver.graph
        self.domain = solver.domain
        self._states = solver.run()

    def state(self, variable: Use) -> Polynomial | None:
        """The abstract state; None (⊤) for constants and code that is never reached."""
        number = self.graph.number.get(variable)
        return None if number is None else self._states[number]

    def is_divergent(self, variable: Use) -> bool:
        """Whether threads may disagree on a variable (though perhaps in a known way)."""
        state = self.state(variable)
        return state is not None and not state.is_uniform

    def is_divergent_branch(self, block: BasicBlock) -> bool:
        """Whether threads that execute `block` together may leave it to different successors."""
        return any(map(self.is_divergent, _deciding(self.graph, block)))

    @property
    def count(self) -> int:
        """The number of divergent variables."""
        return sum(state is not None and not state.is_uniform for state in self._states)

    @property
    def states(self) -> list[Polynomial | None]:
        """The states of all variables of the graph, in its order."""
        return self._states


def polynomial_divergence(
    function: Function,
    degree: int = 1,
    *,
    scope: Scope | str = Scope.LANES,
    dimension: int | None = 0,
    initial: Mapping[Value, Polynomial] | None = None,
    domain: PolynomialDomain | None = None,
    gated: GatedSSA | None = None,
    with_ranges: bool = False,
) -> PolynomialDivergence:
    """The analysis of §3.4 with polynomials up to `degree`.

    Parameters
    ----------
    function, scope, dimension, gated
        As for `simple_divergence`.
    initial
        States of arguments, of `domain`. All others are uniform in a kernel or where marked ``inreg``, else divergent.
    domain
        By default that of all ids which differ in the set of threads (`ids_domain`).
    with_ranges
        Use ranges of integers as well, which the paper does not: for constants, and where nothing wraps.
    """
    scope = Scope(scope)
    domain = domain or ids_domain(degree, scope, dimension)
    given = initial or {}
    divergent = [a for a in varying_arguments(function) if a not in given]
    gated = gated or GatedSSA(function)
    graph = DependenceGraph(gated, scope, dimension, divergent)
    ranges = Ranges(function, gated.view, gated.gating.index) if with_ranges else None
    return PolynomialDivergence(PolynomialSolver(graph, domain, given, ranges))


def ids_domain(degree: int, scope: Scope, dimension: int | None = 0) -> PolynomialDomain:
    """Polynomials in what tells the threads of a set apart.

    In a lane group along a dimension that is the id along it, else the position in the group; in a work-group, and for
    what is known of the threads of a grid, the three ids.
    """
    if scope is not Scope.LANES:
        return PolynomialDomain(degree, MAX_THREADS)
    return PolynomialDomain(degree, (MAX_THREADS[dimension or 0],))
