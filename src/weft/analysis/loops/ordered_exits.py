"""Loops that threads leave in the order of their lanes: ``for i in range(thread, n, threads)``, ``for j in range(i)``.

Such a loop goes on while ``x < n`` holds, where x = x0 + σ is strided over the lanes, σ the lane's number times the
stride s, and n is uniform (or the other way around). Then no vector has to be asked whether all lanes of a group stay:
the lane with the greatest x does. With l the least of the lanes' x, and S = (W - 1)·|s| between the least and the
greatest, all lanes stay if

    l < n - S     and  n - S does not wrap         for ``<`` and ``<=``, where n is known before the loop
    l + S < n     and  l + S does not wrap         for ``<`` and ``<=`` elsewhere
    l > n         and  l + S does not wrap         for ``>`` and ``>=``

in the predicate's own order of numbers, signed or not. What does not wrap makes the lanes' numbers l, l + |s|, ...
those of integers, whatever the analysis knows of it. Where n is the least of a uniform number and of others that are
known before the loop and as far from lane to lane as x is, as in ``for k in range(t * C, min((t + 1) * C, n))``, each
of them is a bound: all lanes stay below such a number m if one does, and m + S does not wrap, either. Passive lanes
count as if they were active; so the question is a stricter one in lane groups that are not full.

The facts are about one function in canonical form, whose loops have one entry and one latch.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.analysis.divergence import Divergence
from weft.analysis.integers.intervals import INVERTED, SWAPPED
from weft.graph.loops import Loop
from weft.ir import BasicBlock, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.effects import is_convergent, may_not_return, may_write
from weft.ir.types import IntType

LARGEST_LOOP = 250
"""Loops of more instructions are not copied for lane groups that are full."""

_ORDERS = {"slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}


class OrderedExit(Struct, frozen=True):
    """How threads leave a loop.

    Parameters
    ----------
    header, latch, blocks
        The loop.
    exiting, exit
        The one edge by which it is left, from its header or its latch.
    staying
        Where threads go from there that stay.
    number, stride
        What is compared, and how far it is from lane to lane.
    predicate, bound
        Threads stay while ``number predicate bound``.
    bound_is_invariant
        Whether the bound is known before the loop.
    moving
        Further bounds, all known before the loop, which are as far from lane to lane as the number is.
    """

    header: BasicBlock
    latch: BasicBlock
    blocks: tuple[BasicBlock, ...]
    exiting: BasicBlock
    exit: BasicBlock
    staying: BasicBlock
    number: Value
    stride: int
    predicate: str
    bound: Value
    bound_is_invariant: bool
    moving: tuple[Value, ...] = ()

    @property
    def type(self) -> IntType:
        """That of the numbers compared."""
        assert isinstance(self.number.type, IntType)
        return self.number.type

    @property
    def order(self) -> str:
        """``s`` or ``u``: whether numbers have signs."""
        return self.predicate[0]

    @property
    def rises(self) -> bool:
        """Whether the lane with the greatest number leaves first."""
        return self.predicate[1] == "l"

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest number there is."""
        bits = self.type.bits
        return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if self.order == "s" else (0, (1 << bits) - 1)

    def span(self, width: int) -> int:
        """From the least to the greatest number of so many lanes."""
        return (width - 1) * abs(self.stride)

    def is_small(self, width: int) -> bool:
        """Whether the numbers of so many lanes can lie in their order at all."""
        return self.span(width) < 1 << (self.type.bits - 1)


def ordered_exit(view: CFGView, loop: Loop, divergence: Divergence) -> OrderedExit | None:
    """How threads leave a divergent loop in the order of their lanes; None where they do not, or nobody can tell.

    The loop is left by one edge, from its latch, or from a header that may run once more than it did.
    """
    if loop.is_irreducible or len(loop.latches) != 1 or len(loop.exit_edges) != 1:
        return None
    header, latch = view.blocks[loop.header], view.blocks[loop.latches[0]]
    (source, target) = loop.exit_edges[0]
    exiting, exit = view.blocks[source], view.blocks[target]
    if exiting is not latch and (exiting is not header or not all(map(_may_run_again, header))):
        return None
    branch = exiting.terminator
    if branch.op != "br" or not branch.operands or not divergence.is_divergent_branch(exiting):
        return None
    blocks = tuple(view.blocks[b] for b in sorted(loop.blocks, key=lambda b: (b != loop.header, b)))
    staying = branch.blocks[1 if branch.blocks[0] is exit else 0]
    compared = _compared(branch.operands[0], divergence)
    if compared is None or any(is_convergent(i) for b in blocks for i in b.instructions):
        return None
    number, predicate, bound, stride = compared
    if branch.blocks[0] is exit:
        predicate = INVERTED[predicate]
    invariant = not isinstance(bound, Instruction) or bound.block not in blocks
    moving: tuple[Value, ...] = ()
    if not divergence.is_uniform(bound):
        parted = _parted(branch.operands[0], predicate, bound, stride, divergence)
        if parted is None or not invariant:
            return None
        predicate, bound, moving = parted
    return OrderedExit(
        header, latch, blocks, exiting, exit, staying, number, stride, predicate, bound, invariant, moving
    )


def _may_run_again(instruction: Instruction) -> bool:
    return (
        instruction.is_phi
        or instruction.is_terminator
        or not (may_write(instruction) or may_not_return(instruction) or instruction.op == "alloca")
    )


def _compared(condition: Value, divergence: Divergence) -> tuple[Value, str, Value, int] | None:
    """The strided number, predicate, uniform number and stride of a comparison; or the least of some numbers."""
    if not isinstance(condition, Instruction) or condition.op != "icmp":
        return None
    predicate = condition.predicate
    a, b = condition.operands
    if predicate not in _ORDERS or not isinstance(a.type, IntType):
        return None
    if divergence.is_uniform(a) or _kind_of_least(a):
        a, b, predicate = b, a, SWAPPED[predicate]
    stride = _stride(a, divergence)
    if not stride or not (divergence.is_uniform(b) or _kind_of_least(b)):
        return None
    return a, predicate, b, stride


def _stride(value: Value, divergence: Divergence) -> int | None:
    shape = divergence.shape(value)
    return shape.stride if len(shape.strides) == 1 and isinstance(shape.stride, int) else None


def _kind_of_least(value: Value) -> str:
    """``s`` or ``u`` for what is the least of two numbers, in that order."""
    name = (value.callee_name or "") if isinstance(value, Instruction) else ""
    return name[5] if name.startswith(("llvm.smin.", "llvm.umin.")) else ""


def _parted(
    condition: Value, predicate: str, bound: Value, stride: int, divergence: Divergence
) -> tuple[str, Value, tuple[Value, ...]] | None:
    """The predicate, and of what a bound is the least: a uniform number, and others that are strided as the number."""
    kind = _kind_of_least(bound)
    if predicate[0] != kind:
        # Numbers of one sign are in the same order either way.
        if not isinstance(condition, Instruction) or "samesign" not in condition.flags:
            return None
        predicate = kind + predicate[1:]
    uniform: list[Value] = []
    moving: list[Value] = []
    work, seen = [bound], set[Value]()
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if divergence.is_uniform(value):
            uniform.append(value)
        elif _stride(value, divergence) == stride:
            moving.append(value)
        elif isinstance(value, Instruction) and _kind_of_least(value) == kind:
            work += value.args
        else:
            return None
    return (predicate, uniform[0], tuple(moving)) if len(uniform) == 1 and predicate[1] == "l" else None


def size_of(blocks: Collection[BasicBlock]) -> int:
    """How many instructions blocks have."""
    return sum(len(block.instructions) for block in blocks)
