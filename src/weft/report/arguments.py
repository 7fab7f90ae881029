"""Shapes that a user gives for arguments, as the analysis takes them."""

from __future__ import annotations

from collections.abc import Mapping

from weft.analysis.shapes import Domain, Shape, Signature
from weft.diag.errors import ArgumentError
from weft.ir import Argument, Function, Instruction, Value
from weft.ir.layout import DataLayout
from weft.ir.types import IntType, PointerType


def initial_shapes(
    function: Function,
    shapes: Signature,
    domain: Domain,
    layout: DataLayout,
    element_bytes: Mapping[Value, int],
) -> dict[Value, Shape]:
    """The shape of each argument; uniform where none was given.

    Raises
    ------
    ArgumentError
        There are more shapes than arguments.
    """
    if len(shapes.arguments) > len(function.args):
        raise ArgumentError(
            f"{function.name} has {len(function.args)} arguments, and shapes were given for"
            f" {len(shapes.arguments)} ({shapes})"
        )
    found: dict[Value, Shape] = {}
    for argument in function.args:
        size = element_bytes.get(argument)
        if size is None:
            size = accessed_bytes(argument, layout) if isinstance(argument.type, PointerType) else 1
        given = shapes.argument(argument.index)
        found[argument] = given.shape(domain, _bits(argument, layout), size)
    return found


def _bits(argument: Argument, layout: DataLayout) -> int:
    if isinstance(argument.type, IntType):
        return argument.type.bits
    if isinstance(argument.type, PointerType):
        return 8 * layout.pointer_size(argument.type.space)
    return 0


def accessed_bytes(pointer: Value, layout: DataLayout) -> int:
    """The size of what is read or written through a pointer, or of what it is indexed by; 1 if neither is seen."""
    for user in pointer.instruction_users():
        size = _size_at(user, pointer, layout)
        if size:
            return size
    return 1


def _size_at(user: Instruction, pointer: Value, layout: DataLayout) -> int:
    if user.op == "load" or (user.op == "store" and user.pointer is pointer):
        return layout.size(user.accessed_type)
    if user.op == "getelementptr" and user.operands[0] is pointer:
        return layout.size(user.source_type)
    return 0
