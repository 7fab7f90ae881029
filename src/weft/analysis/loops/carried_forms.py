"""Values that a loop hands on in a way that lanes can follow, group after group: scans, compactions, and plain ones.

* *Scan*: the next value is this one combined with what does not depend on it, in every iteration. All values on the
  way may be used: ``s += x[i]; y[i] = s``. Iterations may hand it on in memory, too: ``a[i] = a[i - 1] + x[i]``.
* *Compaction*: a counter that grows by one number in some iterations, and is used only in those:
  ``if (c) out[k++] = x[i]``.
* *Handed on*: what an iteration has computed without it, for the next one: ``y[i] = x[i] - last; last = x[i]``, also
  called a first-order recurrence, or a variable that wraps around (Wolfe, *High Performance Compilers*, 1996, §4.5).
  What an iteration was handed may be handed on again: ``before = last; last = x[i]``.

Which of them need others first, and what has to be computed earlier for that, is in
`weft.analysis.loops.carried_places`.

Precondition: a counted loop of canonical, loop-closed P-LLVM.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec import Struct

from weft.analysis.loops.counted_loops import CountedLoop
from weft.analysis.loops.quiet_iterations import depending_on
from weft.graph.dominators import DominatorTree
from weft.ir import BasicBlock, ConstInt, Instruction, Value
from weft.ir.cfg_view import CFGView
from weft.ir.types import FloatType, IntType

_OPERATIONS = {
    **{op: op for op in ("add", "mul", "and", "or", "xor", "fadd", "fmul")},
    "sub": "add",
    "fsub": "fadd",
}
_CALLS = ("llvm.smin", "llvm.smax", "llvm.umin", "llvm.umax")
_INTEGER_BITS = (8, 16, 32, 64)


class Scan(Struct, frozen=True):
    """A value that every iteration combines with another one.

    Parameters
    ----------
    phi, update
        The φ of the header, or the load of what the iteration before has stored; and what combines it.
    operation
        How, by the name that `weft.ir.intrinsics.prefix_name` takes.
    operand
        What it is combined with, to be negated where the update is a difference.
    before
        What needs it.
    moved
        What has to be computed earlier, before the first of these: the operand.
    """

    phi: Instruction
    update: Instruction
    operation: str
    operand: Value
    before: tuple[Instruction, ...] = ()
    moved: tuple[Instruction, ...] = ()

    @property
    def is_rounded(self) -> bool:
        """Whether another order could give other bits."""
        return isinstance(self.phi.type, FloatType) and not {"reassoc", "fast"} & set(self.update.flags)


class Compaction(Struct, frozen=True):
    """A counter of what is kept.

    Parameters
    ----------
    phi, merge
        The φ of the header, and that of where iterations which count and others meet.
    growth
        Counts.
    step
        By how much.
    head
        The block from which on an iteration is one that counts.
    """

    phi: Instruction
    merge: Instruction
    growth: Instruction
    step: int
    head: BasicBlock


class HandedOn(Struct, frozen=True):
    """A value of one iteration that the next one has.

    Parameters
    ----------
    phi, value
        The φ of the header, and the value, which does not depend on it: one of the body, or another φ of the header
        that is a scan or handed on.
    before
        What needs it.
    moved
        What has to be computed earlier, before the first of these: the value.
    """

    phi: Instruction
    value: Instruction
    before: tuple[Instruction, ...] = ()
    moved: tuple[Instruction, ...] = ()


def scan_of(
    view: CFGView,
    dominators: DominatorTree,
    loop: CountedLoop,
    phi: Instruction,
    store: Instruction | None = None,
) -> Scan | None:
    """The scan that a φ of the header is, or a load of what the iteration before has stored."""
    inside = set(loop.blocks)
    update = phi.incoming_value(loop.latch) if store is None else store.stored_value
    if not isinstance(update, Instruction) or update.block not in inside or not _has_lanes(phi):
        return None
    operation, others = _OPERATIONS.get(update.op), list(update.operands)
    if update.op == "call":
        name = (update.callee_name or "").rpartition(".")[0]
        operation, others = (name.removeprefix("llvm.") if name in _CALLS else None), list(update.args)
    if operation is None or others.count(phi) != 1 or (update.op in ("sub", "fsub") and others[0] is not phi):
        return None
    others.remove(phi)
    assert update.block is not None
    if others[0] in depending_on([phi], loop):
        return None
    if not dominators.dominates(view.index[update.block], view.index[loop.latch]):
        return None
    return Scan(phi, update, operation, others[0])


def handed_on(
    view: CFGView, dominators: DominatorTree, loop: CountedLoop, phi: Instruction
) -> HandedOn | None:
    """What a φ of the header hands on to the next iteration, if that is computed without it."""
    inside = set(loop.blocks)
    value = phi.incoming_value(loop.latch)
    if not isinstance(value, Instruction) or value.block not in inside or not _has_lanes(phi):
        return None
    if value in depending_on([phi], loop):
        return None
    if value.is_phi:
        return HandedOn(phi, value) if value.block is loop.header else None
    if not dominators.dominates(view.index[value.block], view.index[loop.latch]):
        return None
    return HandedOn(phi, value)


def is_read_at_end(loop: CountedLoop, carried: Collection[tuple[Instruction, Instruction]]) -> bool:
    """Whether behind the loop only values are read that the last iteration hands on; φs and what they have next."""
    inside = set(loop.blocks)
    last = {phi if loop.top_tested else following for phi, following in carried if phi.is_phi}
    return all(
        value in last and user.is_phi and user.block is loop.exit
        for pair in carried
        for value in pair
        for user in value.instruction_users()
        if user.block not in inside
    )


def _has_lanes(phi: Instruction) -> bool:
    type = phi.type
    if isinstance(type, IntType):
        return type.bits in _INTEGER_BITS
    return isinstance(type, FloatType) and type.bits in (32, 64)


def compaction_of(
    view: CFGView, dominators: DominatorTree, loop: CountedLoop, phi: Instruction
) -> Compaction | None:
    """The compaction that a φ of the header counts for."""
    inside = set(loop.blocks)
    merge = phi.incoming_value(loop.latch)
    if not isinstance(phi.type, IntType) or not isinstance(merge, Instruction) or not merge.is_phi:
        return None
    if merge.block not in inside or merge.block is loop.header or merge.block is None:
        return None
    if not dominators.dominates(view.index[merge.block], view.index[loop.latch]):
        return None
    grown = [(value, source) for value, source in merge.incoming() if value is not phi]
    if len(grown) != 1 or any(u is not phi for u in merge.instruction_users() if u.block in inside):
        return None
    growth, source = grown[0]
    if not isinstance(growth, Instruction) or growth.op != "add" or growth.operands[0] is not phi:
        return None
    step = growth.operands[1]
    if (
        not is_read_at_end(loop, [(phi, merge)])
        or not isinstance(step, ConstInt)
        or growth.block is None
        or growth.block not in inside
    ):
        return None
    chain = list(_upwards(source, inside, loop.header))
    if growth.block not in chain:
        return None
    head = chain[-1]
    if len(head.predecessors) != 1:
        return None
    for value in (phi, growth):
        for user in value.instruction_users():
            if user.block not in inside or user is merge or user is growth:
                continue
            if user.is_phi or not dominators.dominates(view.index[head], view.index[user.block]):
                return None
    return Compaction(phi, merge, growth, step.signed, head)


def _upwards(block: BasicBlock, inside: Collection[BasicBlock], header: BasicBlock) -> Iterator[BasicBlock]:
    """A block, and those before it from which nothing else is reached."""
    while block in inside and block is not header:
        yield block
        before = block.predecessors
        if len(before) != 1 or len(before[0].successors) != 1:
            return
        block = before[0]
