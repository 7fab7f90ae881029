"""Which values are known not to be poison, so that a branch on them may come earlier."""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.integers.intervals import Interval, full
from weft.analysis.integers.ranges import Ranges
from weft.graph.dominators import dominator_tree
from weft.ir import Argument, BasicBlock, Constant, Instruction, Poison, Undef, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import IntType

MAX_DEPTH = 6
"""How deep a value is taken apart."""

_PLAIN = frozenset(("and", "or", "xor", "add", "sub", "mul", "icmp", "sext", "zext", "trunc", "select"))


class CertainValues:
    """Answers for a block of a function.

    Parameters
    ----------
    view, ranges
        The function.
    block
        What is asked is whether a value is poison where this block ends.
    least
        What numbers are at least there, beside what ranges know.
    """

    __slots__ = ("_block", "_dominators", "_least", "_ranges", "_view")

    def __init__(self, view: CFGView, ranges: Ranges, block: BasicBlock, least: Mapping[Value, int]) -> None:
        self._view, self._ranges, self._block, self._least = view, ranges, block, least
        self._dominators = dominator_tree(view.cfg)

    def is_certain(self, value: Value, depth: int = MAX_DEPTH) -> bool:
        """Whether a number is known not to be poison."""
        if isinstance(value, Constant):
            return not isinstance(value, Poison | Undef) and isinstance(value.type, IntType)
        if isinstance(value, Argument):
            return "noundef" in value.attributes
        if not isinstance(value, Instruction):
            return False
        if value.op == "freeze" or self._is_branched_on(value):
            return True
        if not depth or value.op not in _PLAIN or not self._keeps_flags(value):
            return False
        return all(self.is_certain(v, depth - 1) for v in value.operands)

    def _is_branched_on(self, value: Instruction) -> bool:
        """Whether a branch on the way here compares the number: with poison there would be no way."""
        here = self._view.index[self._block]
        for user in value.instruction_users():
            for branch in user.instruction_users() if user.op == "icmp" else ():
                if branch.op != "br" or branch.block is None or branch.block is self._block:
                    continue
                if self._dominators.dominates(self._view.index[branch.block], here):
                    return True
        return False

    def _keeps_flags(self, value: Instruction) -> bool:
        """Whether ranges show what an instruction's flags say."""
        if not value.flags:
            return True
        if value.op not in ("add", "sub") or not isinstance(value.type, IntType):
            return False
        a, b = map(self._range, value.operands)
        low, high = (a.lo + b.lo, a.hi + b.hi) if value.op == "add" else (a.lo - b.hi, a.hi - b.lo)
        if "nuw" in value.flags and (min(a.lo, b.lo) < 0 or low < 0):
            return False
        everything = full(value.type.bits)
        return everything.lo <= low and high <= everything.hi

    def _range(self, value: Value) -> Interval:
        assert isinstance(value.type, IntType)
        known = self._ranges.at(value, self._block) or full(value.type.bits)
        return Interval(max(known.lo, self._least.get(value, known.lo)), known.hi)
