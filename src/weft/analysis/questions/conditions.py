"""What is known of the threads that ask a question: the conditions of the arms they are in.

A load in an arm is asked for by the threads that take the arm. Above the branch these are some of the threads that
are there, and elsewhere a branch on the same condition tells where they come from::

    if (c)  x = a[i];                    the threads that read here have read there, if c is the same
    ...
    if (c)  y = a[i];

Fukuhara and Takimoto (2021) ask for all threads that come to a block, so that a value in an arm is known in the arm
alone. Here a state may *assume* conditions. They are expressions over what is not computed from other values without
effects: two branches on equal expressions go the same way, wherever each of them computes its condition. Backwards over
an edge φs in an assumption become what they take, a branch adds its condition, and no assumed thread comes from an edge
that its branch does not take. Above the computation of what it is made of an assumption is dropped: then the value is
asked for all threads, which is more.

Assumptions that hold for all threads of a block, since an edge dominates it, are not written down. That is well
defined: between such an edge and the block nothing that its condition is made of is computed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from weft.analysis.questions.assumptions import Assumed, Assumption, Expression, order_of
from weft.analysis.questions.regions import Regions
from weft.graph.loops import LoopForest
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.effects import is_speculatable
from weft.ir.types import I1, Type

MAX_SIZE = 12
"""Instructions and leaves of an expression."""

MAX_ASSUMED = 3
"""Assumptions of a state; what is more is dropped."""

_OPPOSITE = {
    "icmp": {"ne": "eq", "sge": "slt", "sle": "sgt", "uge": "ult", "ule": "ugt"},
    "fcmp": {
        "une": "oeq",
        "uge": "olt",
        "ule": "ogt",
        "ugt": "ole",
        "ult": "oge",
        "ueq": "one",
        "uno": "ord",
    },
}


class Conditions(Struct):
    """The conditions of one function.

    Parameters
    ----------
    regions
        Its graph.
    loops
        Its loops.
    """

    regions: Regions
    loops: LoopForest
    _expressions: dict[tuple[object, ...], Expression] = field(default_factory=dict)
    _of_value: dict[Value, Expression] = field(default_factory=dict)
    _of_edge: dict[tuple[BasicBlock, BasicBlock], frozenset[Assumption]] = field(default_factory=dict)
    _implied: dict[int, frozenset[Assumption]] = field(default_factory=dict)
    _again: frozenset[Expression] | None = None

    def of_edge(self, source: BasicBlock, target: BasicBlock) -> frozenset[Assumption]:
        """What holds for the threads that take an edge, by the branch that it leaves."""
        key = source, target
        known = self._of_edge.get(key)
        if known is None:
            known = frozenset[Assumption]()
            branch = source.terminator
            if branch.op == "br" and len(set(source.successors)) == 2:
                known = self.conjuncts(branch.operands[0], source.successors[0] is target)
            self._of_edge[key] = known
        return known

    def implied(self, block: BasicBlock) -> frozenset[Assumption]:
        """What holds for all threads of a block, by the edges that dominate it; tests of loops are left out."""
        view, idom = self.regions.view, self.regions.dominators.idom
        chain: list[int] = []
        here = view.index[block]
        while here >= 0 and here not in self._implied:
            chain.append(here)
            here = idom[here]
        known = self._implied.get(here, frozenset[Assumption]())
        for here in reversed(chain):
            sources = view.cfg.distinct_preds(here)
            if len(sources) == 1 and not self._is_loop_test(sources[0]):
                known |= self.of_edge(view.blocks[sources[0]], view.blocks[here])
            self._implied[here] = known
        return known

    def before(self, assumed: Assumed, source: BasicBlock, target: BasicBlock) -> Assumed | None:
        """The assumptions at the end of `source` for the threads that go on to `target`; None if none of them does."""
        found = self._converted(assumed, source, target)
        if found is None:
            return None
        if not self._is_loop_test(self.regions.view.index[source]):
            found = found | self.of_edge(source, target)
        return self._chosen(found - self.implied(source), found)

    def on_edge(self, assumed: Assumed, source: BasicBlock, target: BasicBlock) -> Assumed | None:
        """What a thread has to be tested for that is on the edge; None if that cannot be computed there."""
        found = self._converted(assumed, source, target)
        if found is None:
            return None
        rest = found - self.of_edge(source, target) - self.implied(source)
        leaves = (leaf for a in rest for leaf in a.test.leaves)
        if not all(self.regions.dominates(leaf, source) for leaf in leaves):
            return None
        return tuple(sorted(rest, key=order_of))

    def is_met(self, wanted: Assumed, given: Assumed, source: BasicBlock, target: BasicBlock) -> bool:
        """Whether all that is `wanted` behind an edge is so of threads that take it and are as `given` before."""
        found = self._converted(wanted, source, target)
        if found is None:
            return False
        return found - self.of_edge(source, target) - self.implied(source) <= set(given)

    def at_start(self, assumed: Assumed, block: BasicBlock) -> Assumed:
        """Those assumptions at the end of a block that can be said at its beginning."""
        return tuple(a for a in assumed if not any(v.block is block and not v.is_phi for v in a.test.leaves))

    def after(self, assumed: Assumed, source: BasicBlock, target: BasicBlock) -> Assumed | None:
        """The assumptions at the beginning of `target` of threads from `source`; None if none of them goes there."""
        known = {*assumed, *self.implied(source)}
        if self._contradicts(known, source, target):
            return None
        kept = {
            a for a in {*known, *self.of_edge(source, target)}
            if all(self.regions.is_valid(leaf, target) for leaf in a.test.leaves)
        }  # fmt: skip
        return self._chosen(frozenset(kept) - self.implied(target), frozenset(assumed))

    def is_asked_again(self, block: BasicBlock) -> bool:
        """Whether a condition of the arm that a block is in can be the same elsewhere, or an iteration later."""
        wanted = self.implied(block)
        if wanted and self._again is None:
            self._again = frozenset(self._repeated())
        return any(a.test in (self._again or ()) for a in wanted)

    def conjuncts(self, value: Value, holds: bool) -> frozenset[Assumption]:
        """What holds if a truth value is so, each part by itself."""
        found: set[Assumption] = set()
        pending = [(value, holds)]
        while pending:
            value, holds = pending.pop()
            if isinstance(value, ConstInt):
                continue
            parts = _parts(value, holds)
            if parts is not None and len(found) + len(pending) < 2 * MAX_ASSUMED:
                pending.extend(parts)
            else:
                found.add(self._assumption(self.expression(value), holds))
        return frozenset(found)

    def expression(self, value: Value) -> Expression:
        """What a value is computed from, as far as that has no effects."""
        pending = [value]
        while pending:
            current = pending[-1]
            if current in self._of_value:
                pending.pop()
                continue
            if not _is_looked_into(current):
                self._of_value[current] = self._leaf(current)
                continue
            assert isinstance(current, Instruction)
            missing = [v for v in current.operands if v not in self._of_value]
            if missing:
                pending.extend(missing)
                continue
            operands = tuple(self._of_value[v] for v in current.operands)
            if sum(e.size for e in operands) >= MAX_SIZE:
                operands = tuple(map(self._leaf, current.operands))
            self._of_value[current] = self._node(
                current.op, current.type, tuple(sorted(current.attrs.items())), operands
            )
        return self._of_value[value]

    def _repeated(self) -> set[Expression]:
        """Expressions that several branches test, or one in a loop that does not change them."""
        view = self.regions.view
        found: set[Expression] = set()
        seen: set[Expression] = set()
        for number, block in enumerate(view.blocks):
            if len(set(view.cfg.succs[number])) < 2 or self._is_loop_test(number):
                continue
            tests = {a.test for target in block.successors for a in self.of_edge(block, target)}
            found |= tests & seen
            seen |= tests
            loop = self.loops.innermost[number]
            if loop is not None:
                inside = {view.blocks[b] for b in loop.blocks}
                found.update(t for t in tests if not any(v.block in inside for v in t.leaves))
                header = view.blocks[loop.header]
                found.update(t for t in tests if isinstance(t.leaf, Instruction) and t.leaf.block is header)
        return found

    def _is_loop_test(self, block: int) -> bool:
        loop = self.loops.innermost[block]
        return loop is not None and any(b not in loop.blocks for b in self.regions.view.cfg.succs[block])

    def _converted(
        self, assumed: Assumed, source: BasicBlock, target: BasicBlock
    ) -> frozenset[Assumption] | None:
        taken: dict[Value, Value] = {phi: phi.incoming_value(source) for phi in target.phis()}
        found: set[Assumption] = set()
        for assumption in assumed:
            if taken.keys().isdisjoint(assumption.test.leaves):
                found.add(assumption)
                continue
            leaf = assumption.test.leaf
            if leaf is not None:
                value = taken[leaf]
                if isinstance(value, ConstInt) and bool(value.value) is not assumption.holds:
                    return None
                found |= self.conjuncts(value, assumption.holds)
                continue
            test = self._substituted(assumption.test, taken)
            if test.size <= MAX_SIZE:
                found.add(self._assumption(test, assumption.holds))
        known = found | self.implied(source)
        return None if self._contradicts(known, source, target) else frozenset(found)

    def _contradicts(self, known: Iterable[Assumption], source: BasicBlock, target: BasicBlock) -> bool:
        """Whether no thread for which all is so that is `known` takes an edge."""
        known = set(known)
        if any(a.opposite in known for a in self.of_edge(source, target)):
            return True
        if any(a.opposite in known for a in known):
            return True
        for other in source.successors:
            if other is not target:
                needed = self.of_edge(source, other)
                return bool(needed) and needed <= known
        return False

    def _chosen(self, found: frozenset[Assumption], first: Iterable[Assumption]) -> Assumed:
        """As many as a state may have, those of `first` before others."""
        if len(found) > MAX_ASSUMED:
            preferred = set(first)
            ranked = sorted(found, key=lambda a: (a not in preferred, order_of(a)))
            found = frozenset(ranked[:MAX_ASSUMED])
        return tuple(sorted(found, key=order_of))

    def _assumption(self, test: Expression, holds: bool) -> Assumption:
        opposite = _OPPOSITE.get(test.op, {}).get(str(dict(test.attrs).get("predicate")))
        if opposite is not None:
            attrs = tuple((k, opposite if k == "predicate" else v) for k, v in test.attrs)
            test, holds = self._node(test.op, test.type, attrs, test.operands), not holds
        return Assumption(test, holds)

    def _substituted(self, expression: Expression, taken: Mapping[Value, Value]) -> Expression:
        if expression.leaf is not None:
            value = taken.get(expression.leaf)
            return expression if value is None else self.expression(value)
        operands = tuple(self._substituted(e, taken) for e in expression.operands)
        return self._node(expression.op, expression.type, expression.attrs, operands)

    def _leaf(self, value: Value) -> Expression:
        leaves = frozenset((value,)) if isinstance(value, Instruction) else frozenset[Instruction]()
        key = "", value
        known = self._expressions.get(key)
        if known is None:
            known = Expression(value, "", value.type, (), (), leaves, 1, len(self._expressions))
            self._expressions[key] = known
        return known

    def _node(
        self, op: str, type: Type, attrs: tuple[tuple[str, object], ...], operands: tuple[Expression, ...]
    ) -> Expression:
        key = op, type, attrs, operands
        known = self._expressions.get(key)
        if known is None:
            leaves = frozenset[Instruction]().union(*(e.leaves for e in operands))
            size = 1 + sum(e.size for e in operands)
            known = Expression(None, op, type, attrs, operands, leaves, size, len(self._expressions))
            self._expressions[key] = known
        return known


_INTO = frozenset(
    (
        "icmp", "fcmp", "and", "or", "xor", "add", "sub", "mul", "shl", "lshr", "ashr", "trunc", "zext", "sext",
        "fadd", "fsub", "fmul", "select",
    )
)  # fmt: skip


def _is_looked_into(value: Value) -> bool:
    return (
        isinstance(value, Instruction)
        and value.op in _INTO
        and value.block is not None
        and not value.type.is_vector
        and is_speculatable(value)
    )


def _parts(value: Value, holds: bool) -> list[tuple[Value, bool]] | None:
    """Truth values that all are so if and only if this one is."""
    if not isinstance(value, Instruction) or value.type != I1:
        return None
    if value.op == "xor":
        for a, b in (value.operands, reversed(value.operands)):
            if isinstance(b, ConstInt):
                return [(a, holds is not bool(b.value))]
    if value.op == ("and" if holds else "or"):
        return [(v, holds) for v in value.operands]
    if value.op == "select":
        condition, then, otherwise = value.operands
        constant = otherwise if holds else then
        if isinstance(constant, ConstInt) and bool(constant.value) is not holds:
            return [(condition, holds), (then if holds else otherwise, holds)]
    return None
