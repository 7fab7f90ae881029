"""Scalar replacement of vectors and aggregates: each component of a value is one scalar SSA value.

A ``<4 x float>`` of one thread cannot become a vector across lanes, its four components can. Each instruction on
composite values becomes one for each component, and what moves components (``insertvalue``, ``shufflevector``, ...)
vanishes. A load or store of a composite value becomes one of each component, side by side in memory, which widening
makes together again (`weft.codegen.widen.interleave`).

Precondition: P-LLVM without predicates, shadows and total instructions. Postcondition: no composite SSA values but
those that only their producer or consumer has: arguments and results of functions, results of ``cmpxchg``, types with
more than `MAX_COMPONENTS` components. Preserves FR.
"""

from __future__ import annotations

from weft.graph.cfg import reverse_postorder
from weft.ir import Argument, Builder, ConstInt, Function, Instruction, Module, Poison, Value
from weft.ir.cfg_edit import remove_dead_instructions
from weft.ir.cfg_view import cfg_of
from weft.ir.constants import Constant
from weft.ir.types import I32, ArrayType, StructType, Type, VectorType
from weft.transform.aggregates.block_writes import expand_block_writes
from weft.transform.aggregates.handlers import HANDLERS
from weft.transform.aggregates.types import components_of, constant_components, is_composite


def take_module_apart(module: Module) -> bool:
    """Replace the composite values of all functions by scalars, small block writes included; whether there were any."""
    changed = [take_apart(function) for function in list(module.definitions())]
    return any(changed)


def take_apart(function: Function) -> bool:
    """Replace the composite values of a function by scalars, small block writes included; whether there were any."""
    expanded = expand_block_writes(function)
    if not any(_has_composite(i) for i in function.instructions()):
        return expanded
    order = [function.blocks[i] for i in reverse_postorder(cfg_of(function).cfg.succs)]
    parts = Parts(function)
    dead: list[Instruction] = []
    phis: list[Instruction] = []
    for block in order:
        for instruction in list(block.instructions):
            if not _has_composite(instruction):
                continue
            if instruction.is_phi:
                if parts.start_phi(instruction):
                    phis.append(instruction)
            elif parts.replace(instruction):
                dead.append(instruction)
    for phi in phis:
        parts.connect_phi(phi)
    for instruction in (*dead, *phis):
        instruction.drop_operands()
    for instruction in (*dead, *phis):
        instruction.erase()
    remove_dead_instructions(function)
    return True


def _has_composite(instruction: Instruction) -> bool:
    return is_composite(instruction.type) or any(is_composite(v.type) for v in instruction.operands)


class Parts:
    """The components of composite values, as far as they are taken apart."""

    def __init__(self, function: Function) -> None:
        assert function.module is not None
        self.function = function
        self.module = function.module
        self._known: dict[Value, list[Value]] = {}

    def of(self, value: Value) -> list[Value] | None:
        """The components of a value, itself if it is a scalar; None when it cannot be taken apart."""
        if not is_composite(value.type):
            return [value]
        if isinstance(value, Constant):
            return constant_components(value)
        known = self._known.get(value)
        if known is None and components_of(value.type) is not None:
            known = self._known[value] = self._extracted(value)
        return known

    def _extracted(self, value: Value) -> list[Value]:
        """The components of what stays whole, taken out right behind its definition."""
        if isinstance(value, Argument):
            builder = Builder.after_phis(self.function.entry)
        else:
            assert isinstance(value, Instruction) and value.block is not None
            following = value.block.instructions
            builder = Builder(before=following[following.index(value) + 1])
        return [extract_component(builder, value, c.path) for c in components_of(value.type) or ()]

    def whole(self, value: Value, before: Instruction) -> Value:
        """A value that is needed whole, put together where it is not."""
        known = self._known.get(value)
        if known is None or (isinstance(value, Instruction) and value.block is None):
            return value
        builder = Builder(before=before)
        result: Value = Poison(value.type)
        for component, part in zip(components_of(value.type) or (), known, strict=True):
            result = insert_component(builder, result, part, component.path)
        return result

    def replace(self, instruction: Instruction) -> bool:
        """Put instructions on components in the place of one; False when it stays, with whole operands."""
        handler = HANDLERS.get(instruction.op)
        replacement = handler(self, instruction) if handler is not None else None
        if replacement is None:
            for i, operand in enumerate(instruction.operands):
                if is_composite(operand.type) and operand in self._known:
                    instruction.set_operand(i, self.whole(operand, instruction))
            return False
        if is_composite(instruction.type):
            self._known[instruction] = replacement
        elif replacement:
            instruction.replace_all_uses(replacement[0])
        return True

    def start_phi(self, phi: Instruction) -> bool:
        """Make the φs of the components; False when there are too many."""
        components = components_of(phi.type)
        assert phi.block is not None
        if components is None:
            return False
        self._known[phi] = [
            phi.block.insert_before(
                phi, Instruction("phi", c.type, name=f"{phi.name}.{k}", flags=phi.flags, loc=phi.loc)
            )
            for k, c in enumerate(components)
        ]
        return True

    def connect_phi(self, phi: Instruction) -> None:
        """Give the φs of the components what arrives."""
        for value, source in phi.incoming():
            arriving = self.of(value)
            assert arriving is not None, "a constant of a type with components has components"
            for part, component in zip(self._known[phi], arriving, strict=True):
                assert isinstance(part, Instruction)
                part.add_incoming(component, source)


def extract_component(builder: Builder, value: Value, path: tuple[int, ...]) -> Value:
    """A component, through structs and arrays first and through a vector last."""
    outer, inner = _split_path(value.type, path)
    if outer:
        value = builder.extract_value(value, outer)
    return builder.extract_element(value, ConstInt(I32, inner)) if inner is not None else value


def insert_component(builder: Builder, whole: Value, part: Value, path: tuple[int, ...]) -> Value:
    """A value with another component, put in where `extract_component` takes it out."""
    outer, inner = _split_path(whole.type, path)
    if inner is None:
        return builder.insert_value(whole, part, outer)
    if not outer:
        return builder.insert_element(whole, part, ConstInt(I32, inner))
    vector = builder.extract_value(whole, outer)
    return builder.insert_value(whole, builder.insert_element(vector, part, ConstInt(I32, inner)), outer)


def _split_path(type: Type, path: tuple[int, ...]) -> tuple[tuple[int, ...], int | None]:
    """The indices of aggregates, and that of a vector's element where the path ends in one."""
    current = type
    for position, index in enumerate(path):
        if isinstance(current, VectorType):
            return path[:position], index
        if isinstance(current, StructType):
            assert current.fields is not None, "an opaque structure has no parts"
            current = current.fields[index]
        else:
            assert isinstance(current, ArrayType)
            current = current.element
    return path, None
