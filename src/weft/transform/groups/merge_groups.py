"""Merging of work-groups into long rows of threads.

A kernel does the same in whichever group a thread is if everything that it computes stays as it is when thread t of
group g along a dimension becomes thread ``g*S + t`` of group 0, S being the size of groups. That is found out by how
much each value would change, in multiples of ``g*S``: ``t`` by 1, ``g*S`` by -1, ``g*S + t`` not at all, and
nothing but sums and multiples may change.

Precondition: ids are parameters (`weft.transform.groups.work_items`), canonical form. Postcondition, where it can be
done: parameter ``tid.<d>`` may be the thread's position in the grid along dimension d, ``gid.<d>`` being 0 then, so
that lane groups may go on from one work-group to the next. Karrenberg and Hack (§2.2) leave the size of groups to the
driver when a kernel has no barrier; this is that freedom, while the kernel still sees the sizes the user asked for.
Preserves the program under FR and OBL.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from msgspec import Struct

from weft.graph.cfg import reverse_postorder
from weft.ir import Argument, ConstInt, Function, Instruction, Value
from weft.ir.cfg_edit import replace_and_erase
from weft.ir.cfg_view import cfg_of
from weft.ir.types import I64
from weft.transform.groups.work_items import WorkItems
from weft.transform.loops.guess_ranges import keeps_lanes_together

GRID_RANGE = "range(i64 0, 2199023255552)"
"""Positions in a grid: at most 2^31 - 1 groups of at most 1024 threads along a dimension."""

MAX_FACTOR = 1 << 16
"""Multiples of positions in a grid beyond this are not followed: smaller ones do not wrap."""

_ZERO = ConstInt(I64, 0)


class GroupMerge(Struct, frozen=True):
    """That groups can be merged: those of `size` threads along the dimension, or those of any size where it is None."""

    size: int | None = None


def merge_groups(function: Function, dimension: int) -> GroupMerge | None:
    """Let `function` run on rows of whole grids along `dimension` (0 for x); None if it cannot."""
    merge = find_merge(function, dimension)
    if merge is None:
        return None
    ids = _Ids.of(function, dimension)
    changes = _Changes(function, ids, merge.size)
    for instruction in changes.changed():
        # Where the sum does not wrap, its parts may.
        instruction.flags = ()
    ids.thread.attributes = (*(a for a in ids.thread.attributes if not a.startswith("range(")), GRID_RANGE)
    if merge.size is None:
        ids.group.replace_all_uses(_ZERO)
        _fold_zeros(function)
    return merge


def find_merge(function: Function, dimension: int) -> GroupMerge | None:
    """Which groups `merge_groups` can merge along `dimension`; None if none."""
    items = WorkItems.of(function)
    if items.shared.is_used or items.shared_dynamic.is_used:
        return None
    if any(keeps_lanes_together(i) for i in function.instructions()):
        return None
    ids = _Ids.of(function, dimension)
    for size in (None, *sorted(_constant_sizes(ids.group))):
        if _Changes(function, ids, size).stay_inside():
            return GroupMerge(size)
    return None


class _Ids(Struct, frozen=True):
    """The parameters of one dimension."""

    thread: Argument
    group: Argument
    size: Argument

    @classmethod
    def of(cls, function: Function, dimension: int) -> _Ids:
        items = WorkItems.of(function)
        return cls(items.tid[dimension], items.gid[dimension], items.lsize[dimension])


def _constant_sizes(group: Argument) -> set[int]:
    """Sizes of groups that a kernel may be written for: what it multiplies the group's number by, or parts of it."""
    factors = [c for user in group.instruction_users() if (c := _constant_factor(user, group)) is not None]
    return {
        f >> shift for f in factors for shift in range(5) if f >> shift <= 1024 and f % (1 << shift) == 0
    } - {0}


def _constant_factor(instruction: Instruction, value: Value) -> int | None:
    """By which constant the instruction multiplies `value`."""
    if instruction.op not in ("mul", "shl"):
        return None
    first, second = instruction.operands
    if first is not value or not isinstance(second, ConstInt):
        return None
    return second.signed if instruction.op == "mul" else 1 << second.value


class _Changes:
    """By how much values change, in multiples of the group's number times the size, when groups are merged.

    `size` is None for what the kernel reads as the size of its group.
    """

    def __init__(self, function: Function, ids: _Ids, size: int | None) -> None:
        self._ids = ids
        self._size = size
        self._layout = function.layout
        self._by: dict[Value, Fraction] = {ids.thread: Fraction(1)}
        if size is not None:
            self._by[ids.group] = Fraction(-1, size)
        # No φ changes, so that operands come first in this order, and each instruction is looked at once: a sum of
        # shared sums is twice as many ways from the ids with each.
        view = cfg_of(function)
        moved: set[Value] = {ids.group, ids.thread}
        for block in reverse_postorder(view.cfg.succs):
            for instruction in view.blocks[block].instructions:
                if not moved.isdisjoint(instruction.operands) and (change := self._change(instruction)):
                    self._by[instruction] = change
                    moved.add(instruction)

    def changed(self) -> Iterator[Instruction]:
        """The instructions whose values change."""
        return (v for v, change in self._by.items() if change and isinstance(v, Instruction))

    def stay_inside(self) -> bool:
        """Whether nothing that shows changes."""
        if self._size is None and any(not self._is_start(u) for u in self._ids.group.instruction_users()):
            return False
        users = {u for v, change in self._by.items() if change for u in v.instruction_users()}
        return all(self._change(u) is not None for u in users)

    def _is_start(self, instruction: Instruction) -> bool:
        """Whether it is the position of the group's first thread."""
        return instruction.op == "mul" and set(instruction.operands) == {self._ids.group, self._ids.size}

    def _change(self, instruction: Instruction) -> Fraction | None:
        """How the instruction's value changes; None if that is no multiple, or shows."""
        if self._size is None and self._is_start(instruction):
            return Fraction(-1)
        changes = [self._by.get(v, Fraction(0)) for v in instruction.operands]
        total: Fraction | None = None
        if instruction.op == "getelementptr":
            element = self._layout.size(instruction.source_type)
            total = changes[0] + element * changes[1] if len(changes) == 2 else None
        elif instruction.op in ("add", "sub") and instruction.type == I64:
            total = changes[0] + (changes[1] if instruction.op == "add" else -changes[1])
        elif (factor := _constant_factor(instruction, instruction.operands[0])) is not None:
            total = factor * changes[0]
        if total is None:
            return None if any(changes) else Fraction(0)
        return total if abs(total) <= MAX_FACTOR else None


def _fold_zeros(function: Function) -> None:
    """Simplify what a group number of 0 leaves to simplify."""
    for block in function.blocks:
        for instruction in list(block.instructions):
            operands = instruction.operands
            if (
                instruction.op in ("mul", "shl")
                and operands
                and _ZERO in operands[: 2 if instruction.op == "mul" else 1]
            ):
                replace_and_erase(instruction, _ZERO)
            elif instruction.op == "add" and _ZERO in operands:
                replace_and_erase(instruction, operands[1] if operands[0] == _ZERO else operands[0])
            elif instruction.op == "getelementptr" and operands[1:] == [_ZERO]:
                replace_and_erase(instruction, operands[0])
