"""Symbolic range analysis (Juravle, §8.3): bounds, in parameters and iterations, of values without a closed form.

What has an expression has the range of the expression (`weft.analysis.symbolic.extent`). What is left are φs that
merge different values, ``select``, and φs of loop headers that do not count: symbols to `Reconstruction`. Their
ranges are a sparse fixed point. The lattice by symbol is that of `extent.Range`: ⊥, then intervals with symbolic
ends, ordered by inclusion, with open ends at the top. A φ is the join over its edges of the range of what comes
over them, under what holds on the edge; it is visited until nothing changes, with widening at the headers of loops
after two changes, then twice more with narrowing (Table 8.3). Chains are finite: widening gives up an end for good,
and another φ takes at most as many ends as it has operands, else it is given up too.

The transfer functions are those of expressions, by `extent`. Corrections of the thesis:

* Figure 8.7(h): for ``a < b`` with b in [b_lo, b_hi], a is at most b_hi - 1, in the other branch at least b_lo. It
  prints b_lo - 1 and b_hi, which leave out values. Here conditions relate the expressions themselves,
  ``b - a - 1 >= 0``, and bounds of a follow by elimination of b.
* Table 8.4: ``mod`` is from 0 to ``min(a_hi, d_hi - 1)`` for values that are not negative, not the divisor's range; a
  negative dividend gives a remainder down to ``-(d_hi - 1)``. ⊕ is ``[a + c, b + d]``, ⊗ takes the least and
  greatest of the products of ends, by sign. They follow from `extent` too, and are tested against enumeration.

A φ of a header that changes by an amount between two numbers in each iteration is bounded by them times the iteration:
``k += 1`` under a condition is at most the number of the iteration, which widening alone does not find.
"""

from __future__ import annotations

from weft.analysis.sequential.reconstruction import Reconstruction
from weft.analysis.sequential.scope import LoopContext, Scope
from weft.analysis.symbolic.expression import Expression, Symbol, as_expression
from weft.analysis.symbolic.extent import TOP, Range, extent, join, narrow, widen
from weft.analysis.symbolic.facts import Facts
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.types import IntType

WIDEN_AFTER = 2
NARROWING_PASSES = 2
MAX_ROUNDS = 8
MAX_DEPENDENT = 24
"""More symbols that depend on each other are not looked at."""


class SymbolicRanges:
    """Ranges of the integer symbols of one program."""

    __slots__ = ("_known", "_reconstruction")

    def __init__(self, reconstruction: Reconstruction) -> None:
        self._reconstruction = reconstruction
        self._known: dict[Symbol, list[Expression]] = {}

    def inequalities(self, symbol: Symbol) -> list[Expression]:
        """What the analysis says of a symbol, as inequalities; nothing where it has no merge behind it."""
        known = self._known.get(symbol)
        if known is None:
            self._known[symbol] = []
            known = self._known[symbol] = self._find(symbol)
        return known

    def complete(self, facts: Facts, expressions: list[Expression]) -> Facts:
        """Facts, and what ranges say of the symbols in expressions and in each other's bounds."""
        seen: set[Symbol] = set()
        work = [s for e in expressions for s in e.symbols()]
        found: list[Expression] = []
        while work:
            symbol = work.pop()
            if symbol in seen:
                continue
            seen.add(symbol)
            for inequality in self.inequalities(symbol):
                found.append(inequality)
                work += inequality.symbols() - seen
        return facts.also(sorted(found, key=lambda e: e.key)) if found else facts

    def range_of(
        self, scope: Scope, value: Value, block: BasicBlock, *, inside: LoopContext | None = None
    ) -> Range:
        """The range of a value in a block, in what does not change in `inside`, or in the function's parameters."""
        made = self._reconstruction
        expression = made.at(scope, value, block)
        facts = self.complete(made.facts(scope, block), [expression])

        def is_eliminated(symbol: Symbol) -> bool:
            if symbol.loop is not None and (inside is None or inside.contains(symbol.loop)):
                return True
            return self._is_merge(symbol)

        return extent(expression, is_eliminated, facts)

    def _is_merge(self, symbol: Symbol) -> bool:
        origin = symbol.origin
        return isinstance(origin, Instruction) and origin.op in ("phi", "select")

    def _find(self, symbol: Symbol) -> list[Expression]:
        origin = symbol.origin
        if not isinstance(origin, Instruction) or not isinstance(origin.type, IntType):
            return []
        scope = self._scope_of(symbol)
        if scope is None or origin.op not in ("phi", "select"):
            return []
        found = self._by_steps(symbol, origin, scope)
        group = self._group(symbol, scope)
        if group is None:
            return found
        # In iterations, and in parameters, where conditions on the way over an edge count.
        for in_parameters in (False, True):
            for member, range in self._solve(group, scope, in_parameters).items():
                mine = found if member is symbol else self._known.setdefault(member, [])
                if range.low is not None:
                    mine.append(as_expression(member) - range.low)
                if range.high is not None:
                    mine.append(range.high - as_expression(member))
        return found

    def _scope_of(self, symbol: Symbol) -> Scope | None:
        return self._reconstruction.scope_of(symbol)

    def _by_steps(self, symbol: Symbol, phi: Instruction, scope: Scope) -> list[Expression]:
        """Bounds of a φ of a header that changes by an amount between two numbers in each iteration."""
        assert phi.block is not None
        header = scope.view.index[phi.block]
        loop = scope.forest.headed_by[header]
        if phi.op != "phi" or loop is None or loop.is_irreducible:
            return []
        context, made = scope.loops[loop], self._reconstruction
        starts = {v for v, b in phi.incoming() if scope.view.index[b] not in loop.blocks}
        if len(starts) != 1:
            return []
        signed = symbol.low is None or symbol.low < 0 or symbol is made.symbol(scope, phi, True)
        changes: list[int] = []
        for value, block in phi.incoming():
            if scope.view.index[block] in loop.blocks:
                for expression in made.possible(scope, value, signed, whole=phi):
                    change = (expression - as_expression(symbol)).constant
                    if change is None:
                        return []
                    changes.append(change)
        start = made.at(scope, starts.pop(), phi.block, signed)
        here, count = as_expression(symbol), as_expression(context.iteration)
        return [here - start - count * min(changes), start + count * max(changes) - here]

    def _group(self, symbol: Symbol, scope: Scope) -> list[Symbol] | None:
        """The symbol and all merges that its operands depend on; None where they are too many."""
        group = [symbol]
        for member in group:
            for _, _, expression in self._incoming(member, scope):
                for other in expression.symbols():
                    if self._is_merge(other) and other not in group and self._scope_of(other) is scope:
                        group.append(other)
            if len(group) > MAX_DEPENDENT:
                return None
        return group

    def _incoming(
        self, symbol: Symbol, scope: Scope
    ) -> list[tuple[BasicBlock, BasicBlock | None, Expression]]:
        """What a merge may be: from which block, over which edge, and which expression."""
        origin, made = symbol.origin, self._reconstruction
        assert isinstance(origin, Instruction) and origin.block is not None
        signed = symbol is made.symbol(scope, origin, True)
        if origin.op == "select":
            return [
                (origin.block, None, made.at(scope, v, origin.block, signed)) for v in origin.operands[1:]
            ]
        return [
            (b, origin.block, made.at(scope, v, b if v is not origin else origin.block, signed))
            for v, b in origin.incoming()
        ]

    def _solve(self, group: list[Symbol], scope: Scope, in_parameters: bool) -> dict[Symbol, Range]:
        ranges: dict[Symbol, Range | None] = dict.fromkeys(group)
        changes = dict.fromkeys(group, 0)
        for _ in range(MAX_ROUNDS):
            stable = True
            for member in reversed(group):
                old = ranges[member]
                new = self._merged(member, ranges, scope, in_parameters)
                joined = join(old, new, Facts())
                if joined is None or joined == old:
                    continue
                changes[member] += 1
                if old is not None and changes[member] > WIDEN_AFTER:
                    joined = widen(old, joined)
                ranges[member] = joined
                stable = False
            if stable:
                break
        else:
            ranges = dict.fromkeys(group, TOP)
        found = {member: range or TOP for member, range in ranges.items()}
        for _ in range(NARROWING_PASSES):
            for member in reversed(group):
                new = self._merged(member, found, scope, in_parameters)
                if new is not None:
                    found[member] = narrow(found[member], new)
        return found

    def _merged(
        self,
        symbol: Symbol,
        ranges: dict[Symbol, Range | None] | dict[Symbol, Range],
        scope: Scope,
        in_parameters: bool,
    ) -> Range | None:
        """The join over the edges of a merge, with the ranges of the others as they are."""
        made, origin = self._reconstruction, symbol.origin
        assert isinstance(origin, Instruction) and origin.block is not None
        heads = origin.op == "phi" and scope.forest.headed_by[scope.view.index[origin.block]] is not None
        common = made.facts(scope, origin.block)
        result: Range | None = None
        for source, target, expression in self._incoming(symbol, scope):
            facts = made.facts(scope, source)
            if target is not None:
                facts = facts.also(
                    e for g in scope.edge_guards(source, target) for e in made.guard_inequalities(scope, g)
                )
            else:
                facts = facts.also(self._arm_facts(symbol, expression, scope))
            known: list[Expression] = []
            is_reached = True
            for other in expression.symbols() | {s for f in facts.inequalities for s in f.symbols()}:
                if other in ranges:
                    bound = ranges[other]
                    if bound is None:
                        is_reached &= other not in expression.symbols()
                        continue
                    if bound.low is not None:
                        known.append(as_expression(other) - bound.low)
                    if bound.high is not None:
                        known.append(bound.high - as_expression(other))
            if not is_reached:
                continue
            loop = symbol.loop

            def is_eliminated(s: Symbol, loop: LoopContext | None = loop) -> bool:
                if s in ranges or (in_parameters and s.loop is not None):
                    return True
                # What arrives at a header is from the iteration before.
                return s.loop is not None and (not s.loop.contains(loop) or (heads and s.loop is loop))

            found = extent(expression, is_eliminated, facts.also(known))
            result = join(result, found, common)
        return result

    def _arm_facts(self, symbol: Symbol, expression: Expression, scope: Scope) -> list[Expression]:
        """What the condition of a ``select`` says for one of its operands."""
        made, select = self._reconstruction, symbol.origin
        assert isinstance(select, Instruction) and select.block is not None
        arms = self._incoming(symbol, scope)
        if arms[0][2] == arms[1][2]:
            return []
        holds = expression == arms[0][2]
        return [
            e
            for g in scope.value_guards(select.operands[0], holds, select.block)
            for e in made.guard_inequalities(scope, g)
        ]
