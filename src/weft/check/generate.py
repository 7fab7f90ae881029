"""Arguments for functions that nobody calls: numbers, and arrays of what is read through their pointers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.analysis.shapes import Shape
from weft.check.inputs import LaunchInputs, Operand, region_of
from weft.diag.errors import ArgumentError, UnsupportedError
from weft.interp.lanes import dtype_of
from weft.ir import Argument, Function, Instruction, Value
from weft.ir.types import FloatType, IntType, PointerType, Type
from weft.runtime.arguments import POINTER

Array = NDArray[Any]

ELEMENTS = 1 << 9
"""Elements of an array that is made up."""

NUMBERS = ((19, 17), (5, 7), (2, 3), (1, 1))
"""What integers are, one after the other: large numbers first, smaller ones where these lead out of arrays."""

_ALIGNMENT = 64


class Arguments:
    """Arguments of a function for one lane, or for several.

    Parameters
    ----------
    function
        The function.
    shapes
        How its parameters differ from lane to lane, with one lane not at all.
    lanes
        How many there are.
    given
        Arrays and numbers of the user, one for each parameter: an array for a pointer, and for a number that varies one
        with an element for each lane. None makes them up.

    Attributes
    ----------
    names
        Of the parameters.
    """

    def __init__(
        self,
        function: Function,
        shapes: dict[Value, Shape] | None = None,
        lanes: int = 1,
        given: Sequence[Any] | None = None,
    ) -> None:
        self._args = function.args
        self._shapes = shapes or {}
        self._lanes = lanes
        self._given = given
        if given is not None and len(given) != len(function.args):
            raise ArgumentError(
                f"{function.name} has {len(function.args)} parameters, and {len(given)} values were given to check with"
            )

    def attempts(self) -> Iterator[tuple[LaunchInputs, tuple[Array, ...]]]:
        """Inputs, with arrays to be kept as long; each pointer of several lanes has a slot for each of them.

        Raises
        ------
        UnsupportedError
            A parameter is of a type of which none are made up.
        """
        if self._given is not None:
            yield self._of([self._from_user(a, v) for a, v in zip(self._args, self._given, strict=True)])
            return
        for numbers in NUMBERS:
            yield self._of([self._made_up(a, numbers[k % 2]) for k, a in enumerate(self._args)])

    def _of(self, values: list[Array]) -> tuple[LaunchInputs, tuple[Array, ...]]:
        operands: list[Operand] = []
        slots: list[Any] = []
        formats: list[str] = []
        for argument, value in zip(self._args, values, strict=True):
            is_pointer = isinstance(argument.type, PointerType)
            formats += [POINTER if is_pointer else "q"] * self._lanes
            if not is_pointer:
                slots += list(np.broadcast_to(value, (self._lanes,)))
                continue
            address = value.ctypes.data
            operands.append(
                Operand(
                    argument.name or f"parameter {argument.index}", address, value.shape, value.strides, value.dtype,
                    address, address + value.nbytes, True,
                )
            )  # fmt: skip
            slots += [address + self._offset(argument, value, lane) for lane in range(self._lanes)]
        regions = tuple(region_of([operand]) for operand in operands)
        return LaunchInputs(tuple(slots), tuple(formats), regions), tuple(values)

    def _offset(self, argument: Argument, array: Array, lane: int) -> int:
        """Where a lane's pointer leads in an array."""
        shape = self._shapes.get(argument)
        if shape is None or shape.is_uniform:
            return 0
        if shape.is_strided:
            return int(shape.stride) * lane  # type: ignore[arg-type]
        if self._given is not None and array.ndim > 1:
            return array.strides[0] * lane
        return array.nbytes // self._lanes // _ALIGNMENT * _ALIGNMENT * lane

    def _from_user(self, argument: Argument, value: Any) -> Array:
        if isinstance(argument.type, PointerType):
            if not isinstance(value, np.ndarray) or not value.size:
                raise ArgumentError(
                    f"the parameter {argument.name} is a pointer, and takes an array to check with"
                )
            return _aligned(np.ascontiguousarray(value))
        return self._by_lane(argument, np.asarray(value).reshape(-1)[: self._lanes])

    def _made_up(self, argument: Argument, number: int) -> Array:
        type = argument.type
        random = np.random.default_rng(argument.index + 1)
        if isinstance(type, PointerType):
            element = accessed_type(argument) or IntType(64)
            return _aligned(_elements(element, ELEMENTS, number, random))
        shape = self._shapes.get(argument)
        count = self._lanes if shape is not None and shape.is_varying else 1
        values = _elements(type, count, number, random) if count > 1 else _one(type, number)
        return self._by_lane(argument, values)

    def _by_lane(self, argument: Argument, values: Array) -> Array:
        shape = self._shapes.get(argument)
        if shape is not None and not shape.is_varying:
            values = values[:1]
            if isinstance(argument.type, IntType):
                alignment = max(1, shape.alignment)
                values = -(-values.astype(np.int64) // alignment) * alignment
            if shape.is_strided:
                return values[0] + np.arange(self._lanes) * int(shape.stride)  # type: ignore[arg-type]
        return np.broadcast_to(values[:1], (self._lanes,)) if values.size < self._lanes else values


def accessed_type(pointer: Value) -> Type | None:
    """The type of what is read or written through a pointer; None where that is not seen."""
    seen, left = {pointer}, [pointer]
    while left:
        value = left.pop(0)
        for user in value.instruction_users():
            if user.op == "load":
                return user.type
            if user.op == "store" and user.operands[1] is value:
                return user.operands[0].type
            if _leads_on(user, value) and user not in seen:
                seen.add(user)
                left.append(user)
    return None


def _leads_on(user: Instruction, value: Value) -> bool:
    return user.op in ("phi", "select", "freeze") or (
        user.op == "getelementptr" and user.operands[0] is value
    )


def _one(type: Type, number: int) -> Array:
    if isinstance(type, FloatType):
        return np.array([number / 4], dtype_of(type))
    if isinstance(type, IntType) and type.bits <= 64:
        return np.array([number & ((1 << type.bits) - 1)])
    raise UnsupportedError(f"arguments of type {type} are not made up: give some to check with")


def _elements(type: Type, count: int, number: int, random: np.random.Generator) -> Array:
    """Elements of an array: floats around 0, and integers that are places in short arrays."""
    if isinstance(type.scalar, FloatType):
        return random.normal(scale=3.0, size=count).astype(dtype_of(type.scalar))
    if isinstance(type.scalar, IntType) and type.scalar.bits <= 64:
        # As many in a row as there are iterations are different places.
        return np.resize(random.permutation(number + 1), count).astype(dtype_of(type.scalar))
    raise UnsupportedError(f"arrays of {type} are not made up: give some to check with")


def _aligned(array: Array) -> Array:
    """A copy that begins at a multiple of 64 bytes."""
    room = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
