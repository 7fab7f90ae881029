"""Sums in loops that do not wrap around because the first iteration has accessed memory nearby.

``text[i + k]`` of a k that counts from zero, with 32 bits that may wrap around, is accessed at ``text + i`` in the
first iteration. That place and every later one are in the same object of less than 2 GiB. A sum that wraps around is
2³² away from where it belongs, so that it would be 2 GiB or more from the first place, whatever i and k are: the access
is outside the object, which is undefined.

So of an extended sum it must be known that

* all of its terms are the same in all iterations, but for one that is added and zero in the first,
* whoever has computed it comes to an access at that place, or to nothing more (`accessed_indices.first_access`),
* every iteration comes to that access.

The terms that stay the same may wrap around among themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from weft.analysis.memory.alias import locate
from weft.graph.dominators import DominatorTree, dominator_tree
from weft.graph.loops import Loop, loop_forest
from weft.ir import ConstInt, Function, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.transform.numbers.accessed_indices import first_access

_MAX_DEPTH = 4
_KEEPING_ZERO = ("shl", "trunc", "sext", "zext")


class AnchoredSums:
    """Finds such sums of one function.

    Parameters
    ----------
    function
        The function, in canonical form.
    view
        Its blocks, which stay as they are.
    """

    def __init__(self, function: Function, view: CFGView) -> None:
        self._function = function
        self._view = view

    @cached_property
    def _tree(self) -> DominatorTree:
        return dominator_tree(self._view.cfg)

    @cached_property
    def _innermost(self) -> Sequence[Loop | None]:
        return loop_forest(self._view.cfg).innermost

    def moving_term(self, extension: Instruction, terms: Sequence[tuple[Value, int]]) -> int | None:
        """Which term of an extended sum, given with signs, moves while it does not wrap around; None: it may."""
        assert extension.block is not None
        block = self._view.index.get(extension.block)
        loop = None if block is None else self._innermost[block]
        while loop is not None:
            moving = [k for k, (term, _) in enumerate(terms) if self._is_inside(term, loop)]
            if moving:
                return (
                    moving[0]
                    if len(moving) == 1 and self._is_anchored(extension, terms[moving[0]], loop)
                    else None
                )
            loop = loop.parent
        return None

    def _is_anchored(self, extension: Instruction, term: tuple[Value, int], loop: Loop) -> bool:
        """Whether the term is zero in the first iteration, and each iteration accesses memory at the sum."""
        assert extension.block is not None
        if term[1] < 0 or loop.is_irreducible or not self._begins_at_zero(term[0], loop):
            return False
        block = self._view.index[extension.block]
        if not all(self._tree.dominates(block, latch) for latch in loop.latches):
            return False
        access = first_access(extension, self._function)
        # A variable of the loop's own would be another one in each iteration.
        return access is not None and not self._is_inside(
            locate(access.pointer, self._function.layout).base, loop
        )

    def _begins_at_zero(self, value: Value, loop: Loop, depth: int = 0) -> bool:
        """Whether a number of a loop is zero in its first iteration, unless it is poison."""
        if isinstance(value, ConstInt):
            return value.value == 0
        if not isinstance(value, Instruction) or value.block is None or depth > _MAX_DEPTH:
            return False
        if value.op == "phi":
            return self._view.index[value.block] == loop.header and all(
                isinstance(arriving, ConstInt) and arriving.value == 0
                for arriving, source in value.incoming()
                if self._view.index.get(source) not in loop
            )
        # A counter of 64 bits is cut short where a sum of 32 is extended: zero stays zero.
        factors = (
            value.operands if value.op == "mul" else value.operands[:1] if value.op in _KEEPING_ZERO else ()
        )
        return any(self._begins_at_zero(factor, loop, depth + 1) for factor in factors)

    def _is_inside(self, value: Value, loop: Loop) -> bool:
        return (
            isinstance(value, Instruction)
            and value.block is not None
            and self._view.index[value.block] in loop
        )
