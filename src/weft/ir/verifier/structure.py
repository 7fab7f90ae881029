"""Blocks, terminators, φs and use lists: what must hold before anything else can be looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from weft.ir.block import BasicBlock
from weft.ir.constants import Constant
from weft.ir.function import Function
from weft.ir.instruction import Instruction
from weft.ir.opcodes import OPCODES
from weft.ir.values import Value
from weft.ir.verifier.problem import Problem


def check_structure(function: Function) -> Iterator[Problem]:
    """Blocks in one piece, one definition each, φs that fit the predecessors, use lists that are right."""
    blocks = set(function.blocks)
    if len(blocks) != len(function.blocks):
        yield Problem("a block stands twice in the function", function.name)
    if [a.type for a in function.args] != list(function.fn_type.params):
        yield Problem("the arguments do not fit the function's type", function.name)
    found: list[Problem] = []
    for block in function.blocks:
        found += _check_block(function, block, blocks)
    found += _check_definitions(function)
    if not found:
        found += _check_entry(function)
        found += _check_phis(function)
        found += _check_uses(function)
    yield from found


def _check_block(function: Function, block: BasicBlock, blocks: set[BasicBlock]) -> Iterator[Problem]:
    name = function.name
    if block.function is not function:
        yield Problem("the block does not know its function", name, block=block)
    if not block.instructions:
        yield Problem("the block is empty", name, block=block)
        return
    if not block.instructions[-1].is_terminator:
        yield Problem("the block does not end with a terminator", name, block.instructions[-1], block)
    body = False
    for instruction in block.instructions:
        if instruction.op not in OPCODES:
            yield Problem(f"opcode {instruction.op!r} is not in the table", name, block=block)
            continue
        if instruction.block is not block:
            yield Problem("the instruction does not know its block", name, instruction, block)
        if instruction.is_terminator and instruction is not block.instructions[-1]:
            yield Problem("a terminator stands before the end of the block", name, instruction, block)
        if instruction.is_phi and body:
            yield Problem("a φ stands behind other instructions", name, instruction, block)
        if instruction.is_phi and len(instruction.operands) != len(instruction.blocks):
            yield Problem("a φ has as many values as incoming blocks", name, instruction, block)
        body = body or not instruction.is_phi
        if any(target not in blocks for target in instruction.blocks):
            yield Problem("a block of another function is referred to", name, instruction, block)


def _check_definitions(function: Function) -> Iterator[Problem]:
    instructions = list(function.instructions())
    if len(set(instructions)) == len(instructions):
        return
    for instruction, count in Counter(instructions).items():
        if count > 1:
            yield Problem(f"the instruction stands at {count} places", function.name, instruction)


def _check_entry(function: Function) -> Iterator[Problem]:
    entry = function.entry
    if entry.predecessors:
        yield Problem("the entry block has a predecessor", function.name, block=entry)
    for phi in entry.phis():
        yield Problem("the entry block has a φ", function.name, phi)


def _check_phis(function: Function) -> Iterator[Problem]:
    predecessors: dict[BasicBlock, Counter[BasicBlock]] = {b: Counter() for b in function.blocks}
    for block in function.blocks:
        for successor in block.terminator.successors:
            predecessors[successor][block] += 1
    for block in function.blocks:
        expected = predecessors[block]
        for phi in block.phis():
            given = Counter(phi.blocks)
            for source in expected:
                if given[source] != expected[source]:
                    message = f"{expected[source]} edges from %{source.name}, {given[source]} in the φ"
                    yield Problem(message, function.name, phi)
            for source in given:
                if source not in expected:
                    message = f"%{source.name} is no predecessor of %{block.name}"
                    yield Problem(message, function.name, phi)
            values: dict[BasicBlock, Value] = {}
            for value, source in phi.incoming():
                if values.setdefault(source, value) != value:
                    yield Problem(f"two values on the edges from %{source.name}", function.name, phi)


def _check_uses(function: Function) -> Iterator[Problem]:
    """Operands belong to the function, and each value's users are those that use it."""
    name = function.name
    local: list[Value] = [*function.args, *function.blocks, *function.instructions()]
    counted: dict[Value, dict[Value, int]] = {value: {} for value in local}
    for block in function.blocks:
        if block.predicate is not None and not isinstance(block.predicate, Constant):
            if block.predicate not in counted:
                yield Problem("the predicate is not defined in the function", name, block=block)
            else:
                _count(counted[block.predicate], block)
        for instruction in block.instructions:
            for used in (*instruction.used_values(), *instruction.blocks):
                if isinstance(used, Constant):
                    continue
                if used not in counted:
                    yield Problem("an operand is not defined in the function", name, instruction)
                else:
                    _count(counted[used], instruction)
            yield from _check_records(function, instruction, counted)
    for value, users in counted.items():
        if users != value.users:
            message = f"the use list of {value!r} is wrong"
            yield Problem(message, name, value if isinstance(value, Instruction) else None)


def _count(users: dict[Value, int], user: Value) -> None:
    users[user] = users.get(user, 0) + 1


def _check_records(
    function: Function, instruction: Instruction, local: Mapping[Value, object]
) -> Iterator[Problem]:
    for record in instruction.debug_records:
        for value in record.values:
            if isinstance(value, Constant):
                continue
            if value not in local:
                yield Problem("a debug record describes a value of no function", function.name, instruction)
            elif record not in value.records:
                message = f"a debug record of {value!r} is not in its list"
                yield Problem(message, function.name, instruction)
