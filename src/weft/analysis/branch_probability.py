"""How likely a branch is to go each way, guessed from the program text.

The heuristics of Ball and Larus ("Branch prediction for free", PLDI 1993), each with the hit rate that Wu and Larus
measured ("Static branch frequency and program profile analysis", MICRO 1994), combined as independent evidence
(Dempster and Shafer). They are guesses about one thread; what a whole lane group does is for the caller to derive.
"""

from __future__ import annotations

from msgspec import Struct

from weft.graph.cfg import CFG
from weft.graph.dominators import DominatorTree, post_dominator_tree
from weft.graph.loops import LoopForest, loop_forest
from weft.ir import FALSE, TRUE, BasicBlock, Constant, ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView, cfg_of
from weft.ir.constants import ConstFloat

_LOOP_BRANCH, _LOOP_HEADER, _CALL, _STORE, _RETURN, _OPCODE, _GUARD = 0.88, 0.75, 0.22, 0.45, 0.28, 0.16, 0.62
"""How often a branch goes to a successor that stays in the loop, enters a loop, calls, stores, returns, is reached
when an unlikely comparison holds, or uses a value that was compared."""

_UNLIKELY = {"eq": "any", "slt": "zero", "sle": "zero", "oeq": "any", "ueq": "any"}
_LIKELY = {"ne": "any", "sgt": "zero", "sge": "zero", "une": "any", "one": "any"}


class BranchProbability(Struct, frozen=True):
    """Probabilities of the edges of one function, computed when they are asked for."""

    view: CFGView
    loops: LoopForest
    post_dominators: DominatorTree

    @classmethod
    def of(cls, function: Function) -> BranchProbability:
        """Of `function` as it is now."""
        view = cfg_of(function)
        return cls(view, loop_forest(view.cfg), post_dominator_tree(view.cfg))

    def taken(self, source: BasicBlock, target: BasicBlock) -> float:
        """How likely a thread in `source` is to go to `target`."""
        targets = source.terminator.successors
        if len(set(targets)) < 2:
            return 1.0
        if len(targets) > 2:
            return targets.count(target) / len(targets)
        other = targets[1] if target is targets[0] else targets[0]
        likely = self._evidence(source, target)
        against = self._evidence(source, other)
        yes = no = 0.5
        for p in (*likely, *(1 - p for p in against)):
            yes, no = yes * p, no * (1 - p)
        when_true = _of_condition(source.terminator.operands[0])
        p = when_true if target is targets[0] else 1 - when_true
        yes, no = yes * p, no * (1 - p)
        return yes / (yes + no)

    def _evidence(self, source: BasicBlock, target: BasicBlock) -> list[float]:
        """What speaks for going to `target`, or against it where the number is below a half."""
        number = self.view.index
        here, there = number[source], number[target]
        loop = self.loops.innermost[here]
        found: list[float] = []
        if loop is not None and (there in loop.blocks) != all(
            t in loop.blocks for t in self._cfg.succs[here]
        ):
            found.append(_LOOP_BRANCH if there in loop.blocks else 1 - _LOOP_BRANCH)
        if self.post_dominators.dominates(there, here):
            return found
        if any(self.loops.headed_by[s] for s in (there, *self._cfg.succs[there])):
            found.append(_LOOP_HEADER)
        if any(i.op == "call" and not _is_intrinsic(i) for i in target.instructions):
            found.append(_CALL)
        if any(i.op in ("store", "atomicrmw") for i in target.instructions):
            found.append(_STORE)
        if target.terminator.op == "ret":
            found.append(_RETURN)
        if _uses_what_was_compared(source, target):
            found.append(_GUARD)
        return found

    @property
    def _cfg(self) -> CFG:
        return self.view.cfg


def _of_condition(condition: Value) -> float:
    """How likely a comparison is to hold: equality and being negative are rare."""
    if not isinstance(condition, Instruction):
        return 0.5
    if condition.op == "xor" and condition.operands[1] == TRUE:
        return 1 - _of_condition(condition.operands[0])
    if condition.op == "select" and condition.operands[2] == FALSE:
        return _of_condition(condition.operands[0]) * _of_condition(condition.operands[1])
    if condition.op not in ("icmp", "fcmp"):
        return 0.5
    predicate = condition.predicate
    other = condition.operands[1]
    if condition.operands[0].type.is_pointer and predicate in ("eq", "ne"):
        return 0.4 if predicate == "eq" else 0.6
    for table, probability in ((_UNLIKELY, _OPCODE), (_LIKELY, 1 - _OPCODE)):
        kind = table.get(predicate)
        if kind == "any" and isinstance(other, Constant):
            return probability
        if kind == "zero" and _is_zero(other):
            return probability
    return 0.5


def _is_zero(value: Value) -> bool:
    return isinstance(value, (ConstInt, ConstFloat)) and not value.value


def _is_intrinsic(call: Instruction) -> bool:
    return (call.callee_name or "").startswith(("llvm.", "weft."))


def _uses_what_was_compared(source: BasicBlock, target: BasicBlock) -> bool:
    condition = source.terminator.operands[0]
    if not isinstance(condition, Instruction) or condition.op not in ("icmp", "fcmp"):
        return False
    compared = [v for v in condition.operands if isinstance(v, Instruction)]
    return any(u.block is target for v in compared for u in v.instruction_users())
