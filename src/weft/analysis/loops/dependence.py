"""The dependence graph of a function in gated SSA (Sampaio et al. §3.3, Fig. 11).

The variables are those of gated SSA: arguments, results of instructions, and an η for each value that is seen behind
a loop it comes from. A variable depends on what it is computed from, and as gating functions show what they decide by,
on the conditions that decide which operand a φ takes and when a loop is left: control dependence has become data
dependence, and a forward analysis needs no more than this graph.

What a block of P-LLVM with predicates adds: a φ with a shadow is varying, since threads that are elsewhere get the
shadow. Programs that these analyses are for have none yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.analysis.divergence import Scope, is_kernel
from weft.analysis.gated.gated_ssa import Eta, GatedSSA, Mu, Use
from weft.analysis.gated.gates import outcomes
from weft.analysis.loops.dependence_calls import Calls
from weft.analysis.sources import THREAD, Origin, Source, source_of
from weft.ir import Argument, ConstExpr, Function, GlobalVariable, Instruction, Poison, Value
from weft.ir.types import VOID


class DependenceGraph:
    """Variables by number, and what they depend on.

    Parameters
    ----------
    calls
        What calls give; None where they are looked up.

    Attributes
    ----------
    gated
        The function in gated SSA.
    scope, dimension
        The set of threads in which variables are asked to be the same.
    variables, number
        All variables, in an order in which operands come first but for loops; and back.
    operands
        Per variable, what its value is a function of, constants included: operands as they are seen, of an η the
        value, of a φ all that it may take.
    inputs
        The variables among these.
    deciders
        Per variable, those on which it depends which of several inputs is taken, or in which iteration.
    dependents
        Per variable, the variables of which it is an input or a decider.
    sources
        Per variable the origin of its value.
    divergent
        The variables that are different from thread to thread whatever the others are.
    """

    __slots__ = (
        "_calls", "deciders", "dependents", "dimension", "divergent", "gated", "inputs", "number", "operands", "scope",
        "sources", "variables",
    )  # fmt: skip

    def __init__(
        self,
        gated: GatedSSA,
        scope: Scope = Scope.LANES,
        dimension: int | None = 0,
        divergent: Iterable[Value] = (),
        calls: Calls | None = None,
    ) -> None:
        self.gated = gated
        self.scope = scope
        self.dimension = dimension
        self._calls = calls or Calls(scope, dimension)
        self.variables = _variables(gated)
        self.number: dict[Use, int] = {variable: i for i, variable in enumerate(self.variables)}
        self.sources: list[Source] = []
        self.operands: list[tuple[Use, ...]] = []
        self.inputs: list[tuple[int, ...]] = []
        self.deciders: list[tuple[int, ...]] = []
        given = set(divergent)
        self.divergent: list[int] = []
        for i, variable in enumerate(self.variables):
            source, operands, deciders = self._dependences(variable)
            if variable in given or _is_divergent(source, scope, dimension) or _is_per_thread(variable):
                self.divergent.append(i)
            self.sources.append(source)
            self.operands.append(tuple(operands))
            self.inputs.append(self._numbers(operands))
            self.deciders.append(self._numbers(deciders))
        self.dependents: list[list[int]] = [[] for _ in self.variables]
        for i, (inputs, deciders) in enumerate(zip(self.inputs, self.deciders, strict=True)):
            for needed in {*inputs, *deciders}:
                self.dependents[needed].append(i)

    def _numbers(self, uses: Iterable[Use]) -> tuple[int, ...]:
        return tuple(self.number[use] for use in uses if use in self.number)

    def _dependences(self, variable: Use) -> Dependences:
        gated = self.gated
        if isinstance(variable, Eta):
            return _COPY, (variable.value,), gated.conditions(variable.gate)
        if isinstance(variable, Argument):
            return _ARGUMENT, (), ()
        assert isinstance(variable, Instruction)
        if variable.op == "phi":
            return self._dependences_of_phi(variable)
        # A guard tells for which threads the result is, not what it is.
        source, uses = source_of(variable), list(gated.uses(variable))[: len(variable.operands)]
        if source.origin is Origin.CALL:
            return (*self._calls.dependences(variable, uses), ())
        if source.origin is Origin.VOTE:
            source = Source(Origin.LANES if self.scope is Scope.LANES else Origin.OPERANDS)
        elif source.origin is Origin.MATCH:
            source = Source(Origin.OPERANDS if self.scope is Scope.LANES else Origin.THREAD)
        elif source.origin is Origin.SHUFFLE:
            source, uses = Source(Origin.OPERANDS), uses[:1]
        elif source.origin is Origin.COPY:
            uses = uses[:1]
        return (source, uses, ()) if source.origin in _DEPENDENT else (source, (), ())

    def _dependences_of_phi(self, phi: Instruction) -> Dependences:
        if phi.shadow is not None and not isinstance(phi.shadow, Poison):
            return THREAD, (), ()
        gating = self.gated.phis[phi]
        gates = (gating.initial, gating.carried) if isinstance(gating, Mu) else (gating.gate,)
        values: dict[Use, None] = dict.fromkeys(value for gate in gates for value in outcomes(gate))  # type: ignore[misc]
        conditions = dict.fromkeys(c for gate in gates for c in self.gated.conditions(gate))
        return _COPY, list(values), list(conditions)


Dependences = tuple[Source, Sequence[Use], Sequence[Use]]
_COPY = Source(Origin.COPY)
_ARGUMENT = Source(Origin.GRID)
_DEPENDENT = (Origin.OPERANDS, Origin.COPY)


def _variables(gated: GatedSSA) -> tuple[Use, ...]:
    """Variables in the order of blocks, each η right behind its value."""
    behind: dict[Use, list[Eta]] = {}
    for eta in gated.etas:
        behind.setdefault(eta.value, []).append(eta)
    found: list[Use] = []
    work: list[Use] = list(gated.function.args)
    for number in gated.gating.index.order:
        work += [i for i in gated.view.blocks[number].instructions if i.type is not VOID]
    work.reverse()
    while work:
        variable = work.pop()
        found.append(variable)
        work += reversed(behind.get(variable, ()))
    return tuple(found)


def _is_divergent(source: Source, scope: Scope, dimension: int | None) -> bool:
    """Whether a result of this origin differs among the threads of a set."""
    match source.origin:
        case Origin.THREAD | Origin.LANE_ID:
            return True
        case Origin.LOCAL_ID | Origin.GLOBAL_ID:
            # Lanes along a dimension agree in the ids of the others.
            along = scope is Scope.LANES and dimension is not None and source.dimension is not None
            return not along or source.dimension == dimension
        case Origin.LANES:
            return scope is not Scope.LANES
        case Origin.GROUP:
            return scope is Scope.GRID
        case _:
            return False


def _is_per_thread(variable: Use) -> bool:
    """Whether an operand is an address that each thread has for itself."""
    if isinstance(variable, Argument):
        return any(text.startswith("byval") for text in variable.attributes)
    return isinstance(variable, Instruction) and any(map(_is_thread_local, variable.operands))


def _is_thread_local(value: Value) -> bool:
    if isinstance(value, ConstExpr):
        return any(map(_is_thread_local, value.operands))
    return isinstance(value, GlobalVariable) and bool(value.linkage.thread_local)


def varying_arguments(function: Function) -> list[Argument]:
    """The arguments that differ between threads: none of a kernel's, all others but those marked ``inreg``."""
    return [] if is_kernel(function) else [a for a in function.args if "inreg" not in a.attributes]
