"""Which registers an instruction reads and writes, and how to put others in their place."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeAlias

from weft.ptx.instructions import variant_of
from weft.ptx.syntax import (
    Address,
    AddressBase,
    Function,
    Group,
    Guard,
    Instruction,
    Negated,
    Operand,
    Pair,
    Register,
    RegisterDeclaration,
    Vector,
)

Replacement: TypeAlias = Callable[[Register], Operand]
"""What stands for a register."""


def reads(instruction: Instruction) -> tuple[str, ...]:
    """The registers that an instruction reads, in the order of its operands, each once; its guard's is the first.

    A register in an address is read, whatever happens to the memory there. What a guarded instruction writes is not
    among them, although its old value stays where the guard is false: see `kills`.

    Raises
    ------
    PtxError
        The table has no such instruction.
    """
    found: dict[str, None] = {}
    if instruction.guard is not None:
        found[instruction.guard.register.name] = None
    for register, read, _ in _registers_of(instruction):
        if read:
            found[register.name] = None
    return tuple(found)


def writes(instruction: Instruction) -> tuple[str, ...]:
    """The registers that an instruction writes, in the order of its operands, each once.

    Raises
    ------
    PtxError
        The table has no such instruction.
    """
    return tuple(
        dict.fromkeys(register.name for register, _, written in _registers_of(instruction) if written)
    )


def updates(instruction: Instruction) -> tuple[str, ...]:
    """The registers of operands that are read and written, such as an accumulator: one register has to do both."""
    return tuple(
        dict.fromkeys(
            register.name for register, read, written in _registers_of(instruction) if read and written
        )
    )


def kills(instruction: Instruction) -> tuple[str, ...]:
    """The registers whose old value is gone for certain.

    That is what is written, but for a component of a vector register, and nothing where a guard may be false.
    """
    if instruction.guard is not None:
        return ()
    written = [register for register, _, written in _registers_of(instruction) if written]
    partial = {register.name for register in written if register.component}
    return tuple(dict.fromkeys(register.name for register in written if register.name not in partial))


def replace_registers(
    instruction: Instruction, read: Replacement, written: Replacement | None = None
) -> Instruction:
    """The instruction with other operands for its registers.

    Parameters
    ----------
    instruction
        It stays as it is.
    read, written
        What stands for a register that is read, and for one that is written; without `written`, `read` for both. An
        operand that is read and written is asked for as written. A guard has to stay a register.
    """
    written = written or read
    forms = variant_of(instruction).operands
    operands = [
        _replaced(operand, written if form.writes else read, read)
        for operand, form in zip(instruction.operands, forms, strict=False)
    ]
    guard = instruction.guard
    if guard is not None:
        register = read(guard.register)
        if not isinstance(register, Register):
            raise TypeError(f"{register} cannot be a guard")
        guard = Guard(register, guard.negated)
    return dataclasses.replace(instruction, operands=tuple(operands), guard=guard)


def register_types(function: Function) -> dict[str, str]:
    """The type of each register of a function whose scopes are gone (`weft.ptx.scopes`); of vectors, an element's."""
    types = {
        parameter.name: parameter.type
        for parameter in (*function.returns, *function.parameters)
        if parameter.space == "reg"
    }
    for statement in function.body or ():
        if type(statement) is RegisterDeclaration:
            for name in statement.names():
                types[name] = statement.type
    return types


def _registers_of(instruction: Instruction) -> Iterator[tuple[Register, bool, bool]]:
    """The registers in the operands, each with whether it is read and whether it is written."""
    forms = variant_of(instruction).operands
    for operand, form in zip(instruction.operands, forms, strict=False):
        yield from _registers(operand, form.reads, form.writes)


def _registers(operand: Operand, reads: bool, writes: bool) -> Iterator[tuple[Register, bool, bool]]:
    match operand:
        case Register():
            yield operand, reads, writes
        case Vector(parts) | Group(parts):
            for part in parts:
                yield from _registers(part, reads, writes)
        case Pair(first, second):
            yield from _registers(first, reads, writes)
            yield from _registers(second, reads, writes)
        case Negated(inner):
            yield from _registers(inner, reads, writes)
        case Address(base, _, more):
            for part in (base, *more):
                yield from _registers(part, True, False)
        case _:
            pass


def _replaced(operand: Operand, replacement: Replacement, in_address: Replacement) -> Operand:
    match operand:
        case Register():
            return replacement(operand)
        case Vector(parts) | Group(parts):
            return type(operand)(tuple(_replaced(part, replacement, in_address) for part in parts))
        case Pair(first, second):
            return Pair(_replaced(first, replacement, in_address), _replaced(second, replacement, in_address))
        case Negated(inner, sign):
            return Negated(_replaced(inner, replacement, in_address), sign)
        case Address(base, _, more):
            new = _replaced(base, in_address, in_address)
            if not isinstance(new, AddressBase):
                raise TypeError(f"{new} cannot be the base of an address")
            parts = tuple(_replaced(part, in_address, in_address) for part in more)
            return dataclasses.replace(operand, base=new, more=parts)
        case _:
            return operand
