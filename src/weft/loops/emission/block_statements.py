"""The statements of a block, and those on the edges between blocks."""

from __future__ import annotations

from weft.ir import BasicBlock, Instruction
from weft.ir.effects import may_write
from weft.loops.emission.kernel import KernelParts
from weft.loops.emission.tree import Assign, Node, Statement, Store, Variable, names_in, substituted
from weft.loops.emission.values import Values


class BlockStatements:
    """Writes blocks of a nest, and what φs ask for on edges.

    Parameters
    ----------
    parts, values
        The kernel.
    """

    def __init__(self, parts: KernelParts, values: Values) -> None:
        self._parts = parts
        self._values = values

    def is_written(self, instruction: Instruction) -> bool:
        """Whether an instruction is a statement of the kernel."""
        if instruction.is_phi:
            return False
        is_store = instruction.op == "store" and not self._parts.nest.is_dry
        return is_store or self._parts.variable(instruction) is not None or (
            instruction.op == "call" and may_write(instruction) and instruction in self._parts.variables.live
        )  # fmt: skip

    def compute(self, block: BasicBlock, body: list[Statement]) -> None:
        for instruction in block.instructions:
            if instruction.op == "store":
                if not self._parts.nest.is_dry:
                    body.append(self._store(instruction))
            elif not instruction.is_phi and instruction in self._parts.variables.live:
                variable = self._parts.variable(instruction)
                if variable is not None:
                    value = self._values.operation(instruction)
                    turn = self._values.signed if variable.reading == "s" else self._values.unsigned
                    body.append(Assign(variable, turn(value)))
                elif instruction.op == "call" and may_write(instruction):
                    name = instruction.callee_name or "a function through a pointer"
                    raise self._values.error(instruction, f"the call of {name} has no form in the kernel")

    def _store(self, store: Instruction) -> Store:
        target = self._parts.element(store)
        update = self._parts.nest.updates.get(store)
        if update is not None:
            values = tuple(map(self._values.of, update.values))
            value = values[0] if len(values) == 1 else Node("*", target.type, values)
            return Store(target, value, update.operation)
        return Store(target, self._values.of(store.stored_value))

    def copies(self, source: BasicBlock, target: BasicBlock) -> list[tuple[Variable, Node]]:
        """What φs ask for on an edge."""
        found: list[tuple[Variable, Node]] = []
        for phi in target.phis():
            if phi not in self._parts.variables.live or self._parts.is_counter(phi):
                continue
            variable = self._parts.variable(phi)
            if variable is None:
                continue
            self._parts.place = source
            value = self._values.of(phi.incoming_value(source))
            turn = self._values.signed if variable.reading == "s" else self._values.unsigned
            value = turn(value)
            if not (value.op == "name" and value.text == variable.name):
                found.append((variable, value))
        return found

    def assign(self, source: BasicBlock, target: BasicBlock, body: list[Statement]) -> None:
        """Assign variables of φs as if at the same time."""
        left = self.copies(source, target)
        while left:
            ready = next(
                (c for c in left if not any(c[0].name in names_in(o[1]) for o in left if o is not c)), None
            )
            if ready is None:
                # All are read by others: one is kept under another name.
                variable = left[0][0]
                kept = Variable(self._parts.unique(f"old_{variable.name}"), variable.type, variable.reading)
                body.append(Assign(kept, variable.node))
                ready = left[0]
                others = [(v, substituted(n, {variable.name: kept.node})) for v, n in left[1:]]
                left = [left[0], *others]
            body.append(Assign(ready[0], ready[1]))
            left = [c for c in left if c is not ready]
