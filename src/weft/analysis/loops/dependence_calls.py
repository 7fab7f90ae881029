"""What results of called functions depend on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from weft.analysis.gated.gated_ssa import GatedSSA, Use
from weft.analysis.sources import OPERANDS, THREAD, Source
from weft.graph.control_dependence import control_dependence
from weft.ir import Function, Instruction

if TYPE_CHECKING:
    from weft.analysis.divergence import Scope

Summary = tuple[bool, tuple[int, ...]]
"""Whether the result is divergent whatever the arguments are, and the arguments it depends on."""


class Calls:
    """Summaries of the functions of a module, for one kind of thread set; may be shared by analyses.

    Reachability is additive, so one summary of a function holds for all calls. Those of recursive functions are the
    least fixed point.
    """

    __slots__ = ("_assumed", "_dimension", "_final", "_open", "_round", "_scope")

    def __init__(self, scope: Scope, dimension: int | None) -> None:
        self._scope = scope
        self._dimension = dimension
        self._final: dict[Function, Summary] = {}
        self._assumed: dict[Function, Summary] = {}
        self._round: dict[Function, Summary] = {}
        self._open: set[Function] = set()

    def dependences(self, call: Instruction, uses: Sequence[Use]) -> tuple[Source, Sequence[Use]]:
        """The origin of a call's result, and the arguments that count, of those in `uses`."""
        callee = call.callee
        assert isinstance(callee, Function)
        if callee.fn_type.vararg:
            return THREAD, ()
        divergent, needed = self._summary(callee)
        return (THREAD, ()) if divergent else (OPERANDS, [uses[i] for i in needed])

    def _summary(self, function: Function) -> Summary:
        known = self._final.get(function)
        if known is not None:
            return known
        if self._open:
            return self._visit(function)
        # A round looks at each function that can be called once; what is still open counts as in the round before.
        self._assumed = {}
        while True:
            self._round = {}
            self._visit(function)
            if self._round == self._assumed:
                break
            self._assumed = self._round
        self._final |= self._round
        return self._final[function]

    def _visit(self, function: Function) -> Summary:
        if function in self._round:
            return self._round[function]
        if function in self._open:
            return self._assumed.get(function, (False, ()))
        self._open.add(function)
        summary = self._round[function] = self._summarize(function)
        self._open.remove(function)
        return summary

    def _summarize(self, function: Function) -> Summary:
        from weft.analysis.loops.dependence import DependenceGraph

        gated = GatedSSA(function)
        graph = DependenceGraph(gated, self._scope, self._dimension, calls=self)
        blocks = [gated.view.blocks[number] for number in gated.gating.index.order]
        returns = [block for block in blocks if block.terminator.op == "ret"]
        work: list[Use] = [use for block in returns for use in gated.uses(block.terminator)]
        if len(returns) > 1:
            # Which of them is reached is decided by all that they depend on by control.
            on = control_dependence(gated.view.cfg).on
            deciding = {gated.view.index[block] for block in returns}
            for block in (ordered := list(deciding)):
                ordered += [b for b in on[block] if b not in deciding]
                deciding.update(on[block])
                work += [
                    use for branch in on[block] for use in gated.uses(gated.view.blocks[branch].terminator)
                ]
        reached = {graph.number[use] for use in work if use in graph.number}
        for variable in (order := list(reached)):
            for needed in (*graph.inputs[variable], *graph.deciders[variable]):
                if needed not in reached:
                    reached.add(needed)
                    order.append(needed)
        arguments = tuple(a.index for a in function.args if graph.number[a] in reached)
        return not reached.isdisjoint(graph.divergent), arguments
