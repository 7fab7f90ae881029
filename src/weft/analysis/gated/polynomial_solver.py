"""The fixed point of the polynomial analysis on the dependence graph (Sampaio et al. Fig. 13).

All variables start at ⊤ and go down; a variable is looked at again when one that it depends on has changed. Variables
wait in the order of the graph, operands first, so that a loop is done before what is behind it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Any

from msgspec import Struct

from weft.analysis.divergence.threads import Scope
from weft.analysis.gated.gated_ssa import Use
from weft.analysis.gated.polynomial import Polynomial, PolynomialDomain
from weft.analysis.gated.polynomial_transfer import apart, transfer
from weft.analysis.integers.ranges import Ranges
from weft.analysis.integers.wrapping import no_wrap
from weft.analysis.loops.dependence import DependenceGraph
from weft.analysis.memory.addresses import decompose
from weft.analysis.shapes import ACTIVE
from weft.analysis.sources import Origin, Source
from weft.ir import ConstInt, ConstNull, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, PointerType, Type

State = Polynomial | None
"""None is ⊤: not computed yet."""

WRAPPING = {"add", "sub", "mul", "shl"}
_EXTREMUM = re.compile(r"llvm\.(umin|umax|smin|smax)\.")


class Rule(Struct, frozen=True, eq=False):
    """Which transfer function is to be applied; parameters as `polynomial_transfer.transfer` has them.

    A solver has one object for equal rules, so that results are looked up by identity.
    """

    op: str
    flags: tuple[str, ...] = ()
    bits: int = 0
    predicate: str | None = None
    scales: tuple[int, ...] = ()
    offset: int = 0


class Plan(Struct, frozen=True):
    """How a variable is computed: a rule, or for φ and η None; operands are variables or states of constants."""

    rule: Rule | None
    bits: int
    operands: tuple[int | Polynomial, ...]
    deciders: tuple[int, ...]


class PolynomialSolver:
    """One run on one dependence graph.

    Parameters
    ----------
    graph, domain
        What to analyse; the abstract domain.
    initial
        States that are given. They stay.
    ranges
        Ranges of integers: they tell constants, and where arithmetic does not wrap.
    """

    def __init__(
        self,
        graph: DependenceGraph,
        domain: PolynomialDomain,
        initial: Mapping[Value, Polynomial] | None = None,
        ranges: Ranges | None = None,
    ) -> None:
        self.graph = graph
        self.domain = domain
        self._ranges = ranges
        self._layout = graph.gated.function.layout
        self._given: dict[Use, Polynomial] = dict(initial.items()) if initial else {}
        self._cache: dict[tuple[Rule, tuple[Polynomial, ...]], Polynomial] = {}
        self._rules: dict[tuple[object, ...], Rule] = {}
        divergent = set(graph.divergent)
        self._plans = [
            self._fixed(variable, number, number in divergent) or self._plan(variable, number)
            for number, variable in enumerate(graph.variables)
        ]

    def run(self) -> list[State]:
        """The state of each variable."""
        plans, dependents = self._plans, self.graph.dependents
        states: list[State] = [None] * len(plans)
        queued = bytearray(b"\1" * len(plans))
        waiting = list(range(len(plans)))
        meet = self.domain.meet
        while waiting:
            number = heappop(waiting)
            queued[number] = 0
            plan = plans[number]
            new = self._evaluate(plan, states) if isinstance(plan, Plan) else plan
            old = states[number]
            if new is old or new is None:
                continue
            if old is not None:
                new = meet(old, new)
                if new is old:
                    continue
            states[number] = new
            for dependent in dependents[number]:
                if not queued[dependent]:
                    queued[dependent] = 1
                    heappush(waiting, dependent)
        return states

    def _evaluate(self, plan: Plan, states: list[State]) -> State:
        operands = [states[o] if isinstance(o, int) else o for o in plan.operands]
        rule = plan.rule
        if rule is None:
            return self._merge(plan, [o for o in operands if o is not None], states)
        values = tuple(operands)
        if None in values:
            return None
        key = (rule, values)
        found = self._cache.get(key)  # type: ignore[arg-type]
        if found is None:
            found = self._cache[key] = transfer(  # type: ignore[index]
                self.domain, rule.op, rule.flags, rule.bits, values, rule.predicate, rule.scales, rule.offset  # type: ignore[arg-type]
            )  # fmt: skip
        return found

    def _merge(self, plan: Plan, values: list[Polynomial], states: list[State]) -> State:
        """φ and η: one of the values, the same for all threads if what decides is uniform (GAMA, ETAA, PDVA, RMUA)."""
        if not values:
            return None if plan.operands else self.domain.uniform(plan.bits)
        for decider in plan.deciders:
            state = states[decider]
            if state is not None and not state.is_uniform:
                return apart(values)
        result = values[0]
        for value in values[1:]:
            result = self.domain.meet(result, value)
        return result

    def _fixed(self, variable: Use, number: int, divergent: bool) -> Polynomial | None:
        """The state of a variable that does not depend on others."""
        given = self._given.get(variable)
        if given is not None:
            return given
        bits = width(variable.type, self._layout) if isinstance(variable, Value) else 0
        bounds = (
            self._ranges.of(variable)
            if self._ranges is not None and isinstance(variable, Instruction)
            else None
        )
        if bounds is not None and bounds.is_constant:
            return self.domain.constant(bits, bounds.lo)
        source = self.graph.sources[number]
        if divergent:
            return self._id(source, bits) or self.domain.divergent(bits)
        return self.domain.uniform(bits) if source.origin not in _COMPUTED else None

    def _id(self, source: Source, bits: int) -> Polynomial | None:
        """A thread id, or another one at a fixed distance to it."""
        domain, graph = self.domain, self.graph
        if not bits:
            return None
        if graph.scope is Scope.LANES:
            if graph.dimension is None:
                return domain.thread_id(bits) if source.origin is Origin.LANE_ID else None
            if source.origin is Origin.LANE_ID:
                id = domain.thread_id(bits, base=None)
                return domain.make(bits, id.coefficients, ACTIVE, ACTIVE)
            dimension = 0 if source.dimension == graph.dimension else None
        else:
            dimension = source.dimension
        if dimension is None or dimension >= len(domain.extents):
            return None
        if source.origin is Origin.LOCAL_ID:
            return domain.thread_id(bits, dimension)
        if source.origin is Origin.GLOBAL_ID and graph.scope is not Scope.GRID:
            return domain.thread_id(bits, dimension, base=None)
        return None

    def _plan(self, variable: Use, number: int) -> Plan:
        graph = self.graph
        operands, deciders = graph.operands[number], graph.deciders[number]
        if not isinstance(variable, Instruction) or variable.op == "phi":
            bits = width(variable.type, self._layout) if isinstance(variable, Value) else 0
            return Plan(None, bits, self._operands(operands), deciders)
        bits = width(variable.type, self._layout)
        op, flags = variable.op, variable.flags
        predicate: str | None = variable.attrs.get("predicate")
        scales: tuple[int, ...] = ()
        offset = 0
        if op == "getelementptr" and bits:
            address = decompose(variable.operands, variable.source_type, self._layout)
            seen = dict(zip(variable.operands, operands, strict=False))
            operands = (seen[variable.operands[0]], *(seen[index] for index in address.indices))
            scales, offset = address.scales, address.offset
        elif op == "call":
            match = _EXTREMUM.match(variable.callee_name or "")
            op, flags = (match[1] if match else op), ()
            operands = operands[:2] if match else operands
        elif graph.sources[number].origin is Origin.COPY:
            return Plan(None, bits, self._operands(operands), ())
        elif op in WRAPPING and bits:
            flags = (*flags, *self._proved(variable, bits))
        return Plan(
            self._rule(op, flags, bits, predicate, scales, offset), bits, self._operands(operands), ()
        )

    def _rule(self, *content: Any) -> Rule:
        rule = self._rules.get(content)
        if rule is None:
            rule = self._rules[content] = Rule(*content)
        return rule

    def _proved(self, variable: Instruction, bits: int) -> list[str]:
        """The flags that ranges of the operands justify."""
        if self._ranges is None:
            return []
        x, y = (self._ranges.at(operand, variable.block) for operand in variable.operands)
        if x is None or y is None:
            return []
        return [
            flag
            for flag, holds in zip(("nsw", "nuw"), no_wrap(variable.op, bits, x, y), strict=True)
            if holds
        ]

    def _operands(self, uses: tuple[Use, ...]) -> tuple[int | Polynomial, ...]:
        number = self.graph.number
        return tuple(number[use] if use in number else self._constant(use) for use in uses)

    def _constant(self, use: Use) -> Polynomial:
        assert isinstance(use, Value)
        bits = width(use.type, self._layout)
        if isinstance(use, ConstInt):
            return self.domain.constant(bits, use.value)
        if isinstance(use, ConstNull):
            return self.domain.constant(bits, 0)
        return self.domain.uniform(bits)


_COMPUTED = (Origin.OPERANDS, Origin.COPY)


def width(type: Type, layout: DataLayout) -> int:
    """Bits of an integer or pointer; 0 for all other types."""
    if isinstance(type, IntType):
        return type.bits
    return layout.pointer_size(type.space) * 8 if isinstance(type, PointerType) else 0
