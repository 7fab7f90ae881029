"""Copies of blocks, functions and modules.

Each copy is made through a map from original to copy, which the caller may fill beforehand (an argument that
becomes a constant, say) and read afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from weft.ir.block import BasicBlock
from weft.ir.clone_metadata import DeepMetadata, LocalScopes, MetadataMap
from weft.ir.constants import ConstAggregate, ConstExpr, ConstMetadata, ConstSplat, Poison
from weft.ir.function import Function, GlobalAlias, GlobalVariable, Module
from weft.ir.instruction import Instruction
from weft.ir.metadata import DbgRecord, Metadata
from weft.ir.values import Value

ValueMap = dict[Value, Value]


class _Cloner:
    """Maps values through `values`, constants member by member, and metadata through `metadata`."""

    def __init__(self, values: ValueMap, metadata: MetadataMap) -> None:
        self.values = values
        self.metadata = metadata

    def value(self, value: Value) -> Value:
        mapped = self.values.get(value)
        if mapped is not None:
            return mapped
        if isinstance(value, ConstExpr):
            operands = self.list(value.operands)
            return ConstExpr(value.op, value.type, operands, value.flags, value.attrs)
        if isinstance(value, ConstAggregate):
            return ConstAggregate(value.type, self.list(value.elements))
        if isinstance(value, ConstSplat):
            return ConstSplat(value.type, self.value(value.element))  # type: ignore[arg-type]
        if isinstance(value, ConstMetadata):
            return ConstMetadata(value.type, self.metadata.node(value.node))
        return value

    def list(self, values: Sequence[Value]) -> list[Value]:
        return [self.value(v) for v in values]

    def blocks(self, blocks: Sequence[BasicBlock], function: Function) -> list[BasicBlock]:
        copies: list[BasicBlock] = []
        for block in blocks:
            made = function.add_block(block.name)
            self.values[block] = made
            copies.append(made)
        instructions: list[tuple[Instruction, Instruction]] = []
        for block, made in zip(blocks, copies, strict=True):
            for instruction in block.instructions:
                duplicate = made.append(instruction.clone())
                self.values[instruction] = duplicate
                instructions.append((instruction, duplicate))
        for block, made in zip(blocks, copies, strict=True):
            if block.predicate is not None:
                made.set_predicate(self.value(block.predicate))
        for instruction, duplicate in instructions:
            self._remap(instruction, duplicate, function)
        return copies

    def _remap(self, instruction: Instruction, duplicate: Instruction, function: Function) -> None:
        values = self.values
        for i, operand in enumerate(duplicate.operands):
            mapped = self.value(operand)
            if mapped is not operand:
                duplicate.set_operand(i, mapped)
        for i, block in enumerate(duplicate.blocks):
            duplicate.set_block(i, values.get(block, block))  # type: ignore[arg-type]
        if duplicate.shadow is not None:
            duplicate.set_shadow(self.value(duplicate.shadow))
        if duplicate.guard is not None:
            duplicate.set_guard(self.value(duplicate.guard))
        if duplicate.loc is not None:
            duplicate.loc = self.metadata.location(duplicate.loc)
        if duplicate.metadata:
            duplicate.metadata = {k: self.metadata.node(node) for k, node in duplicate.metadata.items()}
        if instruction.debug_records:
            foreign = instruction.function is not function
            duplicate.debug_records = [self._record(r, foreign) for r in instruction.debug_records]

    def _record(self, record: DbgRecord, foreign: bool) -> DbgRecord:
        """A debug record; what it says about a value that has no copy in another function is unknown there."""
        values: list[Value] = []
        for value in record.values:
            mapped = self.value(value)
            lost = foreign and mapped is value and value.tracks_users
            values.append(Poison(value.type) if lost else mapped)
        operands: list[Metadata | None] = [o and self.metadata.node(o) for o in record.operands]
        loc = record.loc and self.metadata.location(record.loc)
        return DbgRecord(record.kind, values, operands, loc, record.is_arg_list)


def clone_blocks(
    blocks: Sequence[BasicBlock],
    function: Function,
    values: ValueMap,
    metadata: MetadataMap | None = None,
) -> list[BasicBlock]:
    """Append copies of `blocks` to `function`, which may be the one they are in.

    References among the blocks go to the copies, through `values`, which is extended by them. References to
    what is not in the map stay: values and blocks outside, incoming edges of φs from outside included, so the
    caller has to see to them. Metadata is shared unless `metadata` says otherwise.
    """
    return _Cloner(values, metadata or MetadataMap()).blocks(blocks, function)


def clone_function(function: Function, name: str, values: ValueMap | None = None) -> Function:
    """A copy of a definition under a new name, in the same module.

    Its debug information describes the copy as a function of its own. Calls of the function to itself call
    the original, unless `values` maps it.
    """
    result = Function(name, function.fn_type, tuple(a.name for a in function.args))
    _copy_header(function, result)
    values = {} if values is None else values
    for argument, made in zip(function.args, result.args, strict=True):
        values.setdefault(argument, made)
    scopes = LocalScopes(function.subprogram)
    result.metadata = [(kind, scopes.node(node)) for kind, node in function.metadata]
    _Cloner(values, scopes).blocks(function.blocks, result)
    if function.module is not None:
        function.module.add_function(result)
    return result


def _copy_header(function: Function, result: Function) -> None:
    result.linkage = copy(function.linkage)
    result.attributes = function.attributes
    result.return_attributes = function.return_attributes
    result.calling_convention = function.calling_convention
    result.gc = function.gc
    result.personality = function.personality
    for argument, made in zip(function.args, result.args, strict=True):
        made.attributes = argument.attributes


def clone_module(module: Module, values: ValueMap | None = None) -> Module:
    """A copy of a module that shares nothing with it that can change."""
    values = {} if values is None else values
    result = Module(module.name, module.source_filename, module.datalayout, module.triple, list(module.asm))
    result.types = dict(module.types)
    result.comdats = dict(module.comdats)
    metadata = DeepMetadata()
    cloner = _Cloner(values, metadata)
    metadata.map_value = cloner.value
    for variable in module.globals.values():
        values[variable] = result.add_global(_variable(variable))
    for alias in module.aliases.values():
        made = result.aliases[alias.name] = GlobalAlias(alias.name, alias.type, alias.value_type)
        made.linkage = copy(alias.linkage)
        values[alias] = made
    for function in module.functions.values():
        duplicate = Function(function.name, function.fn_type, tuple(a.name for a in function.args))
        _copy_header(function, duplicate)
        values[function] = result.add_function(duplicate)
        values.update(zip(function.args, duplicate.args, strict=True))
    for symbol in (*module.globals.values(), *module.aliases.values(), *module.functions.values()):
        _finish_symbol(symbol, values[symbol], cloner)
    for function in module.definitions():
        duplicate = result.functions[function.name]
        cloner.blocks(function.blocks, duplicate)
    for name, nodes in module.named_metadata.items():
        result.named_metadata[name] = [metadata.node(node) for node in nodes]
    metadata.finish()
    return result


def _variable(variable: GlobalVariable) -> GlobalVariable:
    made = GlobalVariable(variable.name, variable.value_type, is_constant=variable.is_constant)
    made.type = variable.type
    made.linkage = copy(variable.linkage)
    made.externally_initialized = variable.externally_initialized
    return made


def _finish_symbol(symbol: Any, made: Any, cloner: _Cloner) -> None:
    """What a symbol says about other symbols, which all have their copies now."""
    made.metadata = [(kind, cloner.metadata.node(node)) for kind, node in symbol.metadata]
    if isinstance(symbol, GlobalVariable):
        made.initializer = symbol.initializer and cloner.value(symbol.initializer)
    elif isinstance(symbol, GlobalAlias):
        made.aliasee = symbol.aliasee and cloner.value(symbol.aliasee)
    elif symbol.personality is not None:
        made.personality = cloner.value(symbol.personality)
