"""Updates of elements that may be the same (histograms), marked so that each thread can make them in memory of its own.

    for i: h[f(i)] += w(i)        own = weft.updated(h, begin, end)
                                  for i: own[f(i)] += w(i), as one instruction

``weft.updated`` gives its pointer back. It says that the loop touches what it reaches through the result only to update
elements, each by the same operation, and that these lie in the bytes from `begin` to `end`; where both are 0, nobody
knows. `weft.codegen.parallel.private_launch` gives each thread a copy of these bytes (privatization; Juravle, §4.1: a
histogram is "atomic or privatized").

Precondition: nothing else in the loop meets the elements (`weft.passes.forms.lock_step_form`); the operation may be
done in any order. Postcondition: as above; the updates are lane updates (`weft.ir.lane_updates`). Preserves the program
under FR and OBL.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from weft.ir import BasicBlock, Builder, Function, Instruction, Module, Value
from weft.ir.lane_updates import RMW_OF, build_lane_update
from weft.ir.types import I64, PTR, FunctionType

UPDATED = "weft.updated"


class Update(Struct, frozen=True):
    """An element that an iteration combines with something."""

    load: Instruction
    operation: Instruction
    store: Instruction

    @property
    def name(self) -> str:
        """The opcode of the operation, or the name of its intrinsic without the type."""
        return operation_name(self.operation)

    def in_one(self) -> Instruction:
        """Let one instruction update the element; it."""
        operation = self.operation
        operands = list(operation.args if operation.op == "call" else operation.operands)
        operands.remove(self.load)
        builder = Builder(before=self.store)
        builder.loc = self.store.loc
        made = build_lane_update(
            builder, RMW_OF[self.name], self.store.pointer, operands[0], self.store.alignment
        )
        for instruction in (self.store, operation, self.load):
            instruction.erase()
        return made


def operation_name(operation: Instruction) -> str:
    """The opcode of an operation, or the name of its intrinsic without the type."""
    return (operation.callee_name or "").rpartition(".")[0] if operation.op == "call" else operation.op


def root_outside(pointer: Value, inside: Collection[BasicBlock]) -> Value | None:
    """The pointer from outside of a loop that an address is computed from by steps; None for another address."""
    while isinstance(pointer, Instruction) and pointer.block in inside:
        if pointer.op != "getelementptr":
            return None
        pointer = pointer.operands[0]
    return pointer


def mark_private(
    builder: Builder, update: Update, begin: Value, end: Value, inside: Collection[BasicBlock]
) -> None:
    """Mark an update of a loop; `builder` builds in front of the loop, where the bytes are known."""
    made = update.in_one()
    root = root_outside(made.pointer, inside)
    assert root is not None
    own = builder.call(_updated(builder.module), (root, begin, end))
    if made.pointer is root:
        made.replace_operand(root, own)
        return
    place = Builder(before=made)
    place.loc = made.loc
    made.replace_operand(made.pointer, _address(place, made.pointer, root, own))


def updated_pointers(values: Collection[Value]) -> list[Instruction]:
    """Those of some values that are marked."""
    return [v for v in values if isinstance(v, Instruction) and v.callee_name == UPDATED]


def _address(builder: Builder, pointer: Value, root: Value, own: Value) -> Value:
    """An address computed once more, from another pointer."""
    if pointer is root:
        return own
    assert isinstance(pointer, Instruction)
    copy = pointer.clone()
    copy.set_operand(0, _address(builder, pointer.operands[0], root, own))
    return builder.insert(copy)


def _updated(module: Module) -> Function:
    found = module.functions.get(UPDATED)
    if found is not None:
        return found
    function = Function(UPDATED, FunctionType(PTR, (PTR, I64, I64)), ("pointer", "begin", "end"))
    function.linkage.linkage = "internal"
    function.attributes = ("nounwind", "willreturn", "memory(none)")
    module.add_function(function)
    Builder(function.add_block("entry")).ret(function.args[0])
    return function
