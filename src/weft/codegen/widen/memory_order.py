"""Structures that need not be taken apart: all members are loaded, the same is done to each, and all are stored.

``out[i] = a[i] + b[i]`` on vectors of four numbers does one operation four times, on members that lie side by side.
Which element of a vector has which lane's member does not matter then, as long as it is the same for all operands:
the vector of the k-th member takes the k-th of the registers that the lanes' structures fill. So loads and stores need
no shuffles. Shapes of values, masks and lanes mean the order of lanes; values in the order of memory have no other
users, are never kept as scalars, and what is done to them asks for no mask.

What is done to each member is found from the stores: a *row* has one value per member. It is good if its values are one
uniform value, all members of loads that are made together, in their order, or one operation each, whose operands are
good rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct, field

from weft.analysis.divergence.row_divisions import DIVISIONS
from weft.codegen.widen.access_groups import MAX_UNITS, AccessGroup
from weft.codegen.widen.context import Widening
from weft.codegen.widen.division import divides_as_floats
from weft.codegen.widen.elementwise import is_elementwise
from weft.codegen.widen.intrinsics import has_form
from weft.ir import Function, Instruction, Value
from weft.ir.types import PointerType
from weft.machine.vecmath import math_function

_Row = tuple[Value, ...]


def in_memory_order(w: Widening, groups: Iterable[AccessGroup]) -> list[AccessGroup]:
    """Those of the groups of a block that are accessed without shuffles."""
    groups = [g for g in groups if _is_whole(w, g) and _may_be_wide(w, g)]
    loads = {m.access: g for g in groups if g.op == "load" for m in g.members}
    found = [_Stored(w, g, loads) for g in groups if g.op == "store"]
    found = [stored for stored in found if stored.is_good(_row(stored.group))]
    while True:
        inside = {value for stored in found for value in stored.values}
        inside.update(m.access for stored in found for m in stored.group.members)
        kept = [s for s in found if all(inside.issuperset(v.users) for v in s.values)]
        if len(kept) == len(found):
            break
        found = kept
    chosen = {id(g): g for stored in found for g in (stored.group, *stored.loads)}
    return list(chosen.values())


def _is_whole(w: Widening, group: AccessGroup) -> bool:
    """Whether each lane's structure is all members, of one type, and all lanes' structures lie side by side."""
    types = {m.access.accessed_type for m in group.members}
    return (
        group.stride > 0
        and group.run == w.lanes.width
        and len(types) == 1
        and not isinstance(next(iter(types)), PointerType)
        and group.units == len(group.members) == len({m.offset for m in group.members})
        and group.high - group.low == group.stride
    )


def _may_be_wide(w: Widening, group: AccessGroup) -> bool:
    """Whether the machine can access registers under a mask, if there is one."""
    block = group.leader.block
    assert block is not None
    return group.units <= MAX_UNITS and (block.predicate is None or w.isa.masked_memory)


def _row(group: AccessGroup) -> _Row:
    """What a group of stores stores, in the order of memory."""
    return tuple(m.access.stored_value for m in sorted(group.members, key=lambda m: m.offset))


class _Stored(Struct):
    """Stores, and the values that they are made of.

    Attributes
    ----------
    values
        What is computed and loaded for them alone.
    loads
        The groups of loads among these.
    """

    w: Widening
    group: AccessGroup
    groups: Mapping[Instruction, AccessGroup]
    values: set[Instruction] = field(default_factory=set)
    loads: list[AccessGroup] = field(default_factory=list)
    _good: set[_Row] = field(default_factory=set)

    def is_good(self, row: _Row) -> bool:
        """Whether the values of a row may be in the order of memory; all that they are made of is collected."""
        pending = [row]
        while pending:
            row = pending.pop()
            if row in self._good or self._is_uniform(row):
                continue
            operations = [v for v in row if isinstance(v, Instruction) and v not in self.w.kept]
            if len(operations) < len(row) or len(set(operations)) < len(row):
                return False
            if operations[0] in self.groups:
                if not self._is_loaded(operations):
                    return False
            elif not self._is_one_operation(operations):
                return False
            else:
                pending += zip(*(_data(i) for i in operations), strict=True)
            self._good.add(row)
            self.values.update(operations)
        return True

    def _is_uniform(self, row: _Row) -> bool:
        return self.w.is_uniform(row[0]) and all(v == row[0] for v in row)

    def _is_loaded(self, loads: Collection[Instruction]) -> bool:
        """Whether these are the members of a group, in their order."""
        group = self.groups[next(iter(loads))]
        members = sorted(group.members, key=lambda m: m.offset)
        if [m.access for m in members] != list(loads):
            return False
        self.loads.append(group)
        return True

    def _is_one_operation(self, operations: Collection[Instruction]) -> bool:
        first = next(iter(operations))
        block = self.group.leader.block
        return self._is_in_any_order(first) and all(
            (i.op, i.type, i.flags, i.attrs, i.block, i.callee_name, len(i.operands))
            == (first.op, first.type, first.flags, first.attrs, block, first.callee_name, len(first.operands))
            for i in operations
        )

    def _is_in_any_order(self, operation: Instruction) -> bool:
        """Whether an operation is the same whichever element has which lane's value."""
        block = self.group.leader.block
        assert block is not None
        if operation.op == "call":
            return has_form(self.w, operation) or (block.predicate is None and _is_math(operation))
        if operation.op == "getelementptr" or not is_elementwise(operation):
            return False
        if operation.op in DIVISIONS:
            return block.predicate is None or divides_as_floats(self.w, operation)
        return True


def _is_math(call: Instruction) -> bool:
    callee = call.callee
    return isinstance(callee, Function) and not callee.blocks and math_function(callee.name) is not None


def _data(operation: Instruction) -> tuple[Value, ...]:
    return tuple(operation.args if operation.op == "call" else operation.operands)
